"""check_gram and repair: verdicts, reasons, messages, and new rows that change as the matrix did."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mercer
from mercer.errors import InputError, NumericalError
from mercer.validity import check_gram, repair


def _indefinite(n: int = 12, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(n, n))
    return (A + A.T) / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_grams_of_kernels_are_psd_in_their_own_precision(dtype: type) -> None:
    X = np.random.default_rng(1).normal(size=(150, 2)).astype(dtype)
    for k in (mercer.Gaussian(3.0), mercer.Linear(), mercer.Polynomial(4), mercer.Matern(2.5)):
        report = check_gram(k(X))
        assert report.psd and report.status == "valid" and report.witness is None
        assert report.dtype == np.dtype(dtype).name


def test_a_float32_matrix_is_not_judged_by_the_rounding_of_float64() -> None:
    X = np.random.default_rng(2).normal(size=(200, 2))
    K = mercer.Gaussian(3.0)(X).astype(np.float32)
    report = check_gram(K)
    assert report.psd and report.smallest_eigenvalue < -10 * 200 * np.finfo(np.float64).eps


def test_the_standing_example() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    report = check_gram(K)
    assert (report.psd, report.symmetric, report.rank) == (False, True, 2)
    assert report.smallest_eigenvalue == pytest.approx(-1.0)
    assert report.condition == pytest.approx(3.0)
    assert report.witness is not None and report.witness @ K @ report.witness < 0
    text = str(report)
    assert "not a Gram matrix" in text and "-1 < -" in text and "10 n eps max|K|" in text and "repair" in text


def test_the_boundary_is_where_it_is_said_to_be() -> None:
    eps = np.finfo(float).eps
    assert check_gram(np.diag([1.0, -5 * 2 * eps])).psd
    assert not check_gram(np.diag([1.0, -20 * 2 * eps])).psd


def test_rank_condition_and_duplicates() -> None:
    X = np.random.default_rng(3).normal(size=(9, 2))
    X[4], X[7], X[8] = X[1], X[1], X[2]
    report = check_gram(mercer.Linear()(X))
    assert report.rank == 2 and report.condition == np.inf and "singular" in str(report)
    assert report.duplicates == ((1, 4, 7), (2, 8)) and "1 = 4 = 7" in str(report)
    assert check_gram(np.eye(5)).duplicates == () and check_gram(np.eye(5)).condition == 1.0
    assert check_gram(np.ones((30, 30))).duplicates == (tuple(range(30)),)


def test_near_duplicates_are_not_duplicates() -> None:
    X = np.array([[0.0], [1e-6], [1.0]])
    assert check_gram(mercer.Exponential()(X)).duplicates == ()


def test_asymmetry_and_negative_diagonal_are_named() -> None:
    skew = check_gram([[1.0, 0.5], [0.0, 1.0]])
    assert not skew.symmetric and not skew.psd and skew.asymmetry == 0.5 and "symmetric: no" in str(skew)
    negative = check_gram([[1.0, 0.0], [0.0, -2.0]])
    assert negative.negative_diagonal == (1,) and "k(x, x) < 0 at 1" in str(negative)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([[1.0, 2.0]], r"square, \(n, n\); got shape \(1, 2\)"),
        ([1.0, 2.0], "square"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN at row 0, column 1"),
        ([[np.inf, 0.0], [0.0, 1.0]], "infinite value at row 0"),
        (np.zeros((0, 0)), "no rows"),
        ([[1.0 + 1j]], "complex"),
        ([[1.0, 2.0], [1.0]], "ragged"),
        ([["a"]], "not a number"),
    ],
)
def test_bad_matrices_get_a_sentence(K: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_gram(K)
    with pytest.raises(InputError, match=message):
        repair(K)


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_training_rows_map_to_the_repaired_rows(method: str) -> None:
    K = _indefinite()
    mended = repair(K, method=method)
    assert check_gram(mended.gram).psd
    np.testing.assert_allclose(mended.rows(K), mended.gram, atol=1e-12)
    np.testing.assert_allclose(mended.rows(K[3:5]), mended.gram[3:5], atol=1e-12)
    again = repair(mended.gram, method=method)
    np.testing.assert_allclose(again.gram, mended.gram, atol=1e-12)


def test_clip_is_the_nearest_psd_matrix() -> None:
    K = _indefinite()
    mended, rng = repair(K, method="clip"), np.random.default_rng(4)
    best = np.linalg.norm(mended.gram - K)
    assert mended.change == pytest.approx(best / np.linalg.norm(K))
    for _ in range(50):
        A = rng.normal(size=K.shape) * 0.1
        other = mended.gram + A @ A.T
        assert np.linalg.norm(other - K) >= best


def test_flip_keeps_the_sizes_of_eigenvalues_and_shift_the_values() -> None:
    K = _indefinite()
    flipped = np.linalg.eigvalsh(repair(K, method="flip").gram)
    np.testing.assert_allclose(np.sort(np.abs(np.linalg.eigvalsh(K))), flipped, atol=1e-12)
    shifted = repair(K, method="shift")
    off = ~np.eye(len(K), dtype=bool)
    assert np.array_equal(shifted.gram[off], K[off]) and check_gram(shifted.gram).psd
    assert shifted.shift == pytest.approx(-np.linalg.eigvalsh(K)[0])
    new = np.random.default_rng(5).normal(size=(3, len(K)))
    assert np.array_equal(shifted.rows(new), new)


def test_a_psd_matrix_comes_back_as_it_is_and_a_report_is_used() -> None:
    K = mercer.Gaussian()(np.random.default_rng(6).normal(size=(8, 2)))
    for method in ("clip", "flip", "shift"):
        assert np.array_equal(repair(K, method=method).gram, K)
        assert np.array_equal(repair(K, method=method).rows(K), K)
    bad = _indefinite()
    report = check_gram(bad)
    assert np.array_equal(repair(bad, report=report).gram, repair(bad).gram)
    with pytest.raises(InputError, match="report is on a 12 x 12"):
        repair(np.eye(3), report=report)


def test_repair_says_what_it_takes() -> None:
    with pytest.raises(InputError, match="clip, flip, shift"):
        repair(np.eye(2), method="square")
    with pytest.raises(InputError, match="5 columns for 12 training objects"):
        repair(_indefinite()).rows(np.ones((2, 5)))


def test_the_callers_matrix_is_not_touched() -> None:
    K = _indefinite()
    before = K.copy()
    for method in ("clip", "flip", "shift"):
        repair(K, method=method)
    assert np.array_equal(K, before)


def test_report_as_plain_data() -> None:
    data = json.loads(json.dumps(check_gram([[1.0, 2.0], [2.0, 1.0]]).to_dict()))
    assert data["status"] == "invalid" and data["rank"] == 2 and len(data["witness"]) == 2
    assert check_gram(np.ones((2, 2))).to_dict()["condition"] is None


def test_the_zero_matrix_is_a_gram_matrix() -> None:
    for dtype in (np.float32, np.float64):
        report = check_gram(np.zeros((3, 3), dtype))
        assert report.psd and report.status == "valid" and report.rank == 0 and report.witness is None
        assert np.array_equal(repair(np.zeros((3, 3), dtype)).gram, np.zeros((3, 3)))


@pytest.mark.parametrize("size", [1e308, 1e300, 1e-300, 3e-310])
@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_repair_at_the_ends_of_the_range_of_floats(size: float, method: str) -> None:
    K = np.array([[1.0, 1.4], [1.4, 1.0]]) * size
    assert not check_gram(K).psd
    mended, expected = repair(K, method), repair(np.array([[1.0, 1.4], [1.4, 1.0]]), method)
    np.testing.assert_allclose(mended.gram / size, expected.gram, rtol=1e-9)
    np.testing.assert_allclose(mended.rows(K) / size, expected.rows(K / size), rtol=1e-9)
    assert check_gram(mended.gram).psd


def test_what_is_larger_than_any_float_is_said_so() -> None:
    K = (np.full((3, 3), 1.7) - 0.7 * np.eye(3)) * 1e308
    assert np.isposinf(check_gram(np.full((3, 3), 1.7e308)).largest_eigenvalue)
    assert check_gram(np.full((3, 3), 1.7e308)).to_dict()["largest_eigenvalue"] is None
    with pytest.raises(NumericalError, match="larger than any float"):
        repair(K, "flip")
