"""Shipped tables: complete, of the kinds they should have, and with a license that is said."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.datasets.dataset import FOLDER
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
