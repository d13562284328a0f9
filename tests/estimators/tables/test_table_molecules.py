"""Columns of molecules in table models: missing cells, other columns beside them, and the importance of one column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import TableClassifier, TableRegressor
from mercer.estimators.tables.candidates import of_molecules
from mercer.estimators.tables.kernels import product_kernel
from mercer.inputs.frames import read_columns
from mercer.inputs.tables import Table

pytest.importorskip("rdkit", reason="RDKit is not installed (extra graphs)")

SMILES = [f"{'C' * (i % 6 + 1)}{group}" for i in range(6) for group in ("O", "N", "(=O)O", "c1ccccc1", "C#N")]
HOLES = (4, 11)


def _table(**columns: Any) -> Table:
    cells: list[Any] = [None if i in HOLES else text for i, text in enumerate(SMILES)]
    return Table({"smiles": np.array(cells, dtype=object), **columns}, kinds={"smiles": "molecule"})


def test_missing_molecules_are_similar_to_each_other_only() -> None:
    columns = read_columns(_table())
    values = np.array(columns[0].cells, dtype=object)[:, None]
    for candidate in of_molecules(columns):
        K = candidate.kernel(values)
        assert candidate.kernel.certificate().status == "valid" and np.linalg.eigvalsh(K).min() > -1e-12
        seen = np.array([i for i in range(len(SMILES)) if i not in HOLES])
        assert (K[np.ix_(HOLES, HOLES)] == 1.0).all() and (K[np.ix_(HOLES, seen)] == 0.0).all()
    factor = product_kernel(columns, values)
    assert factor(values)[4, 11] == 2.0 and factor(values)[4, 5] == 1.0  # never 0: other columns still count


def test_models_with_missing_molecules(tmp_path: Path) -> None:
    y = np.array([len(text) + 0.2 * i for i, text in enumerate(SMILES)])
    alone = TableRegressor(random_state=0).fit(_table(), y)
    assert {attempt.label.split(" of ")[0] for attempt in alone.result_.attempts} == {
        "substructures", "substructures and size"
    }  # fmt: skip
    assert alone.feature_importances_.tolist() == [1.0]
    new = Table({"smiles": np.array([None, "CCCCO"], dtype=object)}, kinds={"smiles": "molecule"})
    assert np.isfinite(alone.predict_interval(new)).all()
    mercer.save(alone, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(new), alone.predict(new))
    x = np.random.default_rng(0).normal(size=len(y))
    both = TableRegressor(random_state=0, time=2).fit(_table(x=x), y + 5.0 * x)
    assert np.isfinite(both.predict(_table(x=x))).all()
    classes = TableClassifier(random_state=0, time=2).fit(_table(), np.where(y > np.median(y), "large", "small"))
    assert np.isfinite(classes.predict_proba(new)).all()
