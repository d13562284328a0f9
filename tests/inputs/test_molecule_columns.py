"""Columns of molecules: which columns they are, and what is said of cells that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from mercer.errors import InputError
from mercer.inputs.frames import CATEGORY, MOLECULE, TEXT, like, noted, read_columns
from mercer.inputs.molecules import fault, looks_like_molecules, unreadable
from mercer.inputs.tables import Table

pytest.importorskip("rdkit")

SMILES = [f"{'C' * (i % 7 + 1)}{group}" for i in range(8) for group in ("O", "N", "(=O)O", "c1ccccc1", "C#N")]


def _words(n: int) -> list[str]:
    return [f"word {i} of the text" for i in range(n)]


def test_columns_of_smiles_are_molecules() -> None:
    frame = pl.DataFrame({"a": SMILES, "b": _words(len(SMILES)), "c": ["CCO", "CN"] * (len(SMILES) // 2)})
    assert [column.kind for column in read_columns(frame)] == [MOLECULE, TEXT, CATEGORY]  # few different cells: categories


@pytest.mark.parametrize(
    "cells",
    [
        ["Oslo", "Rome", "Paris", "Bonn"],
        ["NO", "ON", "CO", "SOS"],  # words that happen to be SMILES
        ["GATTACA", "TACAT", "CCCC"],
        ["12-3", "(4)", "5=6"],
        ["CCO", None],
        [],
    ],
)
def test_other_texts_are_not(cells: list[str]) -> None:
    assert not looks_like_molecules(cells)


def test_a_table_may_decide() -> None:
    data = {"a": np.array(SMILES, dtype=object), "few": np.array(["CCO", "CN"] * (len(SMILES) // 2), dtype=object)}
    table = Table(data, kinds={"a": TEXT, "few": MOLECULE})
    assert [column.kind for column in read_columns(table)] == [TEXT, MOLECULE]
    assert [column.kind for column in read_columns(table[np.arange(30)][["few", "a"]])] == [MOLECULE, TEXT]


def test_unreadable_cells_are_named() -> None:
    from rdkit import Chem

    cells: list[Any] = ["CCO", "C1CC", None, "", "C(C)(C)(C)(C)C", 5, "C" * 20_001, "C" * 1001, Chem.Mol(), "C" * 1000]
    assert unreadable(cells).tolist() == [1, 3, 4, 5, 6, 7, 8]
    assert fault("C1CC") == "is no valid SMILES"
    assert fault("C" * 1001) == "has 1,001 atoms, and at most 1,000 are read"
    assert fault("C" * 20_001) == "has 20,001 characters, and at most 20,000 are read"
    cells = [*SMILES, "C1CC", "xx"]
    with pytest.raises(InputError, match="'a' holds molecules, and 'C1CC' at row 40 is no valid SMILES, and 1 more cells"):
        read_columns(pl.DataFrame({"a": cells}))
    table = Table({"a": np.array(cells, dtype=object)})[np.arange(10, 42)]
    with pytest.raises(InputError, match="at row 41 is no valid"):  # rows of a file count from 1
        read_columns(table)
    assert read_columns(table, unchecked=True)[0].kind == MOLECULE


def test_new_tables_have_the_kinds_of_training() -> None:
    trained = noted(read_columns(pl.DataFrame({"a": SMILES})))
    assert like(read_columns(pl.DataFrame({"a": ["CCO", "CN"]})), trained)[0].kind == MOLECULE
    with pytest.raises(InputError, match="'CNN1' at row 1"):
        like(read_columns(pl.DataFrame({"a": ["CCO", "CNN1"]})), trained)


def test_rdkit_molecules_are_kept_as_text() -> None:
    from rdkit import Chem

    frame = {"a": np.array([Chem.MolFromSmiles(s) for s in SMILES], dtype=object)}
    column = read_columns(Table(frame))[0]
    assert column.kind == MOLECULE and column.cells[0] == "CO" and all(isinstance(cell, str) for cell in column.cells)
