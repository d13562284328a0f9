"""Shipped tables: complete, of the kinds they should have, and with a license that is said."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.datasets.tables import FOLDER
from mercer.errors import InputError
from mercer.inputs.frames import read_columns


def test_penguins_have_every_kind_of_column() -> None:
    penguins = mercer.datasets.load_penguins()
    kinds = {column.name: column.kind for column in read_columns(penguins.table)}
    assert set(kinds.values()) == {"number", "category", "date", "text"}
    assert kinds["Date Egg"] == "date" and kinds["Species"] == "category" and kinds["Individual ID"] == "text"
    holes = {column.name: int(column.holes.sum()) for column in read_columns(penguins.table)}
    assert holes["Sex"] == 11 and holes["Body Mass (g)"] == 2 and holes["Comments"] == 290
    assert "CC0" in penguins.license


def test_a_target_is_split_off_where_it_is_known() -> None:
    penguins = mercer.datasets.load_penguins()
    X, y = penguins.split()
    assert penguins.target not in X.columns and len(X) == len(y) == 342 and np.isfinite(y).all()
    assert len(penguins.split("Sex")[1]) == 333
    with pytest.raises(InputError, match="has no column 'Weight'"):
        penguins.split("Weight")


def test_every_file_has_its_license() -> None:
    said = (FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    for path in FOLDER.iterdir():
        assert path.name == "LICENSES.md" or f"`{path.name}`" in said


def test_strings_graphs_and_numbers() -> None:
    names, solubility, airfoil = (getattr(mercer.datasets, f"load_{name}")() for name in ("names", "solubility", "airfoil"))
    X, y = names.split()
    assert len(X) == len(y) == 20_050 and len(set(y)) == 18
    graphs, targets = mercer.datasets.load_solubility_graphs()
    assert len(graphs) == len(targets) == len(solubility.table) and np.array_equal(solubility.split()[1], targets)
    assert airfoil.split()[0].shape == (1503, 5)
    assert all("MIT" in data.license for data in (names, solubility, airfoil))


def test_graphs_are_those_of_their_strings() -> None:
    pytest.importorskip("rdkit")
    graphs, _ = mercer.datasets.load_solubility_graphs()
    words = mercer.datasets.load_solubility().table["smiles"].to_numpy()
    for i in range(0, 1128, 97):
        made = mercer.Graph.from_smiles(str(words[i]))
        assert (made.n_nodes, made.edges, made.node_labels) == (graphs[i].n_nodes, graphs[i].edges, graphs[i].node_labels)


def test_all_together_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000
