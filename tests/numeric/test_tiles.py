"""Tiles cover a matrix exactly once, whatever its shape and whoever fills it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.numeric import tiles


@given(n=st.integers(1, 40), m=st.integers(1, 40), side=st.integers(1, 17))
def test_every_entry_lies_in_one_tile(n: int, m: int, side: int) -> None:
    hits = np.zeros((n, m), int)
    cut = list(tiles.tiles((n, m), False, side))
    for rows, cols in cut:
        hits[rows, cols] += 1
    assert (hits == 1).all()
    assert len(cut) == tiles.count((n, m), False, side)


@given(n=st.integers(1, 40), side=st.integers(1, 17))
def test_the_upper_triangle_is_covered(n: int, side: int) -> None:
    hits = np.zeros((n, n), int)
    cut = list(tiles.tiles((n, n), True, side))
    for rows, cols in cut:
        hits[rows, cols] += 1
    assert (hits[np.triu_indices(n)] == 1).all()
    assert len(cut) == tiles.count((n, n), True, side)


def block_of(matrix: Any) -> Any:
    return lambda rows, cols: matrix[rows, cols].copy()


@pytest.mark.parametrize("n", [1, tiles.SIDE - 1, tiles.SIDE, tiles.SIDE + 1, 600])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_fill(n: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "cpu_count", lambda: threads)
    A = np.random.default_rng(0).normal(size=(n, 300))
    assert np.array_equal(tiles.fill(block_of(A), np.full(A.shape, np.nan), False), A)
    S = np.random.default_rng(0).normal(size=(n, n))
    out = tiles.fill(block_of(S), np.full((n, n), np.nan), True)
    assert np.array_equal(np.triu(out), np.triu(S))  # the upper triangle decides
    assert np.array_equal(out, out.T)


@pytest.mark.parametrize("threads", [1, 3])
def test_products_and_sums_without_the_matrix(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "cpu_count", lambda: threads)
    rng = np.random.default_rng(0)
    A, V = rng.normal(size=(600, 520)), rng.normal(size=(520, 3))
    assert np.allclose(tiles.product(block_of(A), A.shape, V, False), A @ V, rtol=0, atol=1e-11)
    S = A[:520] + A[:520].T
    assert np.allclose(tiles.product(block_of(S), S.shape, V, True), S @ V, rtol=0, atol=1e-11)
    total = tiles.total(lambda r, c: np.array([A[r, c].sum(), 1.0]), A.shape, 2)
    assert np.allclose(total, [A.sum(), tiles.count(A.shape, False)])


def test_sums_of_single_precision_run_in_double() -> None:
    A = np.full((600, 600), 0.1, dtype=np.float32)
    found = tiles.product(block_of(A), A.shape, np.ones((600, 1)), False)
    assert found.dtype == np.float64
    assert np.allclose(found, 600 * float(np.float32(0.1)), rtol=1e-12)


def test_progress_counts_the_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    tiles.fill(block_of(np.ones((600, 600))), np.empty((600, 600)), True, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_symmetric_total_counts_the_upper_tiles_twice(rng: np.random.Generator) -> None:
    A = rng.normal(size=(500, 500))
    A = A + A.T

    def term(rows: slice, cols: slice) -> np.ndarray:
        return np.array([A[rows, cols].sum()])

    whole = tiles.total(term, A.shape, 1)
    np.testing.assert_allclose(tiles.total(term, A.shape, 1, symmetric=True), whole, rtol=1e-10, atol=1e-9)
