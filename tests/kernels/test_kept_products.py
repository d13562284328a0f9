"""Inner products of counts that are kept, and rows that are taken with what is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer import CircularSubstructures, Gaussian, Spectrum
from mercer.inputs import Rows
from mercer.kernels.counting import profile

WORDS = ["GATTACA", "TACAT", "ACGTACGT", "CATTAG", "TTT", "GATTAGATTA", "C", "TACA"]
PARTS: list[Any] = [slice(2, 6), np.array([7, 0, 3, 3]), np.arange(8) % 2 == 0, np.array([-1, 1])]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [Spectrum(2), Spectrum(3, shortest=1, weights=(0.3, 0.5, 1.0)), Spectrum(2).tanimoto(), Spectrum(2).normalized()],
)
def test_kept_products_are_the_computed_ones(kernel: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled:
        monkeypatch.setattr("mercer.numeric.compiling.LOADING", 0)
    rows, fresh = Rows(WORDS), kernel(WORDS)
    K = [kernel(rows) for _ in range(4)]
    assert all(np.array_equal(again, fresh) for again in K)
    shared = next(one for one in rows._memo.values() if isinstance(one, profile.Profile)).shared
    assert (shared._products is not None) == ("weights" not in repr(kernel))  # sums of fractions depend on their order
    assert np.array_equal(kernel.diag(rows), kernel.diag(WORDS))


def test_many_objects_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "KEPT_OBJECTS", 7)
    rows = Rows(WORDS)
    for _ in range(3):
        Spectrum(2)(rows)
    assert all(one.shared._products is None for one in rows._memo.values() if isinstance(one, profile.Profile))


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_taken_with_their_columns(part: Any) -> None:
    X = np.random.default_rng(0).normal(size=(8, 3))
    kernel = Gaussian(1.0).on(0) * Gaussian(2.0).on(1, 2)
    rows = Rows(X)
    kernel(rows)
    assert np.array_equal(kernel(rows.take(part)), kernel(X[part]))
    assert np.array_equal(kernel(rows.take(part), rows), kernel(X[part], X))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kept", [False, True])
def test_rows_are_taken_with_their_substructures(part: Any, kept: bool) -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed (extra graphs)")
    smiles = np.array(["CCO", "CCN", "c1ccccc1O", "C*", "[Na+].[Cl-]", "CC(=O)O", "CCCCO", "CC(=O)Oc1ccccc1C(=O)O"], object)
    table = np.column_stack([smiles, np.arange(8)]).astype(object)
    kernel = (CircularSubstructures(2).tanimoto() + Gaussian(5.0).descriptors() + CircularSubstructures(kind="pairs")).on(0)
    rows = Rows(table)
    for _ in range(3 if kept else 0):
        kernel(rows)
    kernel.encode(rows)
    taken = rows.take(part)
    assert np.array_equal(kernel(taken), kernel(table[part]))
    assert np.array_equal(kernel(taken, rows), kernel(table[part], table))
    assert np.array_equal(kernel(taken.take(slice(0, 1)), rows.branch()), kernel(table[part][:1], table))
    column = CircularSubstructures(2).on(0)
    inside = column.feature_map(taken)
    assert np.array_equal((inside @ inside.T).toarray(), column(table[part]))


def test_a_search_gives_the_same_model_with_and_without_kept_products(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed (extra graphs)")
    smiles = [f"{'C' * (i % 9 + 1)}{group}" for i in range(18) for group in ("O", "N", "(=O)O")]
    X = {"smiles": [f"C{text}" for text in dict.fromkeys(smiles)]}
    y = np.array([len(text) + 0.5 * text.count("O") for text in X["smiles"]])
    table = mercer.inputs.tables.Table({"smiles": np.array(X["smiles"], dtype=object)}, kinds={"smiles": "molecule"})
    first = mercer.TableRegressor(random_state=0).fit(table, y).predict(table)
    monkeypatch.setattr(profile, "KEPT_OBJECTS", 0)
    np.testing.assert_array_equal(mercer.TableRegressor(random_state=0).fit(table, y).predict(table), first)
