"""Points and their distances: never negative, exact zeros, near duplicates, offsets."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.errors import InputError
from mercer.numeric.points import Points, center, manhattan_distances, squared_distances


def distances(A: Points, B: Points, refine: bool = True, compiled: bool = False) -> Any:
    return squared_distances(A, slice(0, len(A)), B, slice(0, len(B)), refine, compiled)


def exact(X: Any, Z: Any) -> Any:
    return ((X[:, None].astype(np.longdouble) - Z.astype(np.longdouble)) ** 2).sum(axis=2)


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.floats(-1e3, 1e3)))
def test_never_negative_and_zero_on_the_diagonal(X: Any) -> None:
    points = Points(X)
    for refine, compiled in product((False, True), repeat=2):
        d2 = distances(points, points, refine, compiled)
        assert (d2 >= 0).all()
        assert (np.diagonal(d2) == 0).all()


@pytest.mark.parametrize("d", [1, 3, 4, 40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("compiled", [False, True])
def test_refined_distances_are_good_to_all_digits(d: int, offset: float, compiled: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, d)) + offset
    X[1], X[2], X[3] = X[0], X[0] + 1e-9, X[0] + 1e-6
    found = distances(Points(X), Points(X), compiled=compiled)
    true = exact(X, X).astype(np.float64)
    # relative, except for what a distance of zero allows
    assert np.abs(found - true).max() <= 1e-12 * true.max()
    near = true < 1e-6
    assert np.allclose(found[near], true[near], rtol=1e-6, atol=1e-30)


def test_two_collections_share_one_center() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 5)) + 1e6, rng.normal(size=(8, 5)) + 1e6
    for A, B in ((X, Z), (Z, X)):
        left, right = Points(A).align(Points(B))
        assert left.shift is right.shift
        assert np.abs(distances(left, right) - exact(A, B)).max() < 1e-8  # the data themselves carry 1e-10


@pytest.mark.parametrize("mixed", [False, True])
def test_sparse_points(mixed: bool) -> None:
    X = np.random.default_rng(0).normal(size=(9, 6)) * (np.random.default_rng(1).random((9, 6)) < 0.5)
    left, right = Points(sp.csr_array(X)).align(Points(X[:4] if mixed else sp.csr_array(X[:4])))
    assert np.allclose(distances(left, right), exact(X, X[:4]).astype(float), rtol=1e-13, atol=1e-14)


def test_scales_divide_the_columns() -> None:
    X, scale = np.random.default_rng(0).normal(size=(7, 5)), np.linspace(0.5, 3.0, 5)
    for raw in (X, sp.csr_array(X)):
        assert np.allclose(distances(Points(raw, scale), Points(raw, scale)), exact(X / scale, X / scale).astype(float))


def test_taking_rows_keeps_the_shift() -> None:
    X = np.random.default_rng(0).normal(size=(7, 5)) + 100
    points = Points(X)
    part = points.take(slice(2, 5))
    assert part.shift is points.shift
    assert np.array_equal(part.array, points.array[2:5])


def test_rows_in_common_are_zero_in_any_tile() -> None:
    points = Points(np.random.default_rng(0).normal(size=(20, 30)) * 1e3)
    tile = squared_distances(points, slice(5, 15), points, slice(8, 20), refine=False)
    rows, cols = np.nonzero(tile == 0)
    assert (rows + 5 == cols + 8).all()
    assert len(rows) == 7


@pytest.mark.parametrize("compiled", [False, True])
def test_many_duplicates_are_taken_in_portions(compiled: bool) -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(2, 5000)), 40, axis=0)
    points = Points(X)
    d2 = distances(points, points, compiled=compiled)
    assert (d2[:40, :40] == 0).all()
    assert (d2[:40, 40:] > 1).all()


def test_manhattan() -> None:
    X, Z = np.random.default_rng(0).normal(size=(9, 6)), np.random.default_rng(1).normal(size=(4, 6))
    for dtype in (np.float64, np.float32):
        left, right = Points(X.astype(dtype)).align(Points(Z.astype(dtype)))
        found = manhattan_distances(left, slice(1, 9), right, slice(0, 3))
        assert found.dtype == dtype
        assert np.allclose(found, np.abs(X[1:, None] - Z[:3]).sum(axis=2), rtol=1e-5)


@pytest.mark.parametrize(("value", "dtype"), [(1e160, np.float64), (1e20, np.float32)])
def test_what_overflows_when_squared_is_refused(value: float, dtype: Any) -> None:
    with pytest.raises(InputError, match="overflow when squared"):
        Points(np.array([[value], [-value]], dtype=dtype)).form  # noqa: B018


@pytest.mark.parametrize("compiled", [False, True])
def test_outliers_are_refined_among_themselves(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:3] = 1e4 + 1e-4 * rng.normal(size=(3, 5))  # near duplicates far from everything
    P = Points(X)
    everything = slice(0, 60)
    refined = squared_distances(P, everything, P, everything, True, compiled)
    true = exact(X, X).astype(np.float64)
    np.testing.assert_allclose(refined[:3, :3], true[:3, :3], rtol=1e-4, atol=1e-22)
    np.testing.assert_allclose(refined, true, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [None, np.array([0.5, 2.0, 1.0, 3.0, 1.5])])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_few_rows_are_compared_by_differences(dtype: Any, scale: Any, rows: int) -> None:
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 5)).astype(dtype) + dtype(1000.0) for n in (rows, 40))
    Z[3] = X[0]
    A, B = Points(X, scale).align(Points(Z, scale))
    found = distances(A, B)
    assert A._form is None and B._form is None  # nothing was made ready for a product
    unit = 1.0 if scale is None else scale
    wanted = (((X[:, None].astype(np.float64) - Z) / unit) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, wanted, rtol=20 * np.finfo(dtype).eps)
    assert found[0, 3] == 0.0 and found.dtype == dtype
    np.testing.assert_allclose(distances(*Points(Z, scale).align(Points(X, scale))), found.T, rtol=1e-6)
    assert np.array_equal(A.shift, B.shift)  # whoever asks for the arrays gets comparable ones


def test_a_few_rows_that_overflow_are_refused() -> None:
    left, right = Points(np.array([[1e160, 0.0]])).align(Points(np.array([[-1e160, 0.0], [1.0, 1.0]])))
    with pytest.raises(InputError, match="overflow when squared"):
        distances(left, right)


@pytest.mark.parametrize("d", [2, 12])
@pytest.mark.parametrize("size", [1e4, 1e6, 1e9])
@pytest.mark.parametrize("scaled", [False, True])
def test_an_outlier_does_not_cost_other_rows_their_digits(d: int, size: float, scaled: bool) -> None:
    """In float32 a center that the outlier moves would round every other row by eps times the center."""
    X = np.random.default_rng(0).normal(size=(200, d)).astype(np.float32)
    X[0] = size
    scale = np.linspace(0.7, 1.7, d) if scaled else None
    points, eps = Points(X, scale), float(np.finfo(np.float32).eps)
    rows = X.astype(np.float64) / (1.0 if scale is None else scale)
    squares, sums = exact(rows, rows)[1:, 1:], np.abs(rows[:, None] - rows).sum(axis=2)[1:, 1:]
    reach = (rows[1:] ** 2).sum(axis=1).max()
    # a product of d + 2 terms, each at most 2 reach, and the rounding of shifted and scaled rows
    assert np.abs(distances(points, points)[1:, 1:] - squares).max() <= 4 * (d + 6) * eps * reach
    every = slice(0, 200)
    assert np.abs(manhattan_distances(points, every, points, every)[1:, 1:] - sums).max() <= 4 * (d + 2) * eps * sums.max()


def test_two_distant_clusters_keep_their_differences() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    X[30:] += 1e4
    points, every = Points(X), slice(0, 60)
    eps = float(np.finfo(np.float32).eps)
    assert (np.abs(distances(points, points) - exact(X, X)) <= 4 * eps * exact(X, X)).all()
    sums = np.abs(X[:, None].astype(float) - X).sum(axis=2)
    assert (np.abs(manhattan_distances(points, every, points, every) - sums) <= 2 * eps * sums).all()


def test_the_center_of_whole_numbers_is_whole_and_no_outlier_moves_it() -> None:
    X = np.random.default_rng(0).integers(0, 9, (5000, 3)).astype(np.float32)
    X[::7] = 1e12
    found = center(X)
    assert (found == np.round(found)).all()
    assert (found < 9).all()
