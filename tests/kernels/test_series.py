"""Kernels on time series: against sums over alignments and iterated integrals that are written out, and in estimators."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import iv

import mercer
from mercer import SVC, Gaussian, GaussianProcessRegressor, GlobalAlignment, Linear, Matern, Polynomial, Signature, parse
from mercer.errors import InputError
from mercer.inputs.series import as_series
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
SERIES = [0.4 * RNG.normal(size=(length, 2)).cumsum(axis=0) for length in (4, 6, 3, 1, 5, 4)]
PATHS = [one for one in SERIES if len(one) > 1]


def alignments(n: int, m: int) -> list[tuple[tuple[int, int], ...]]:
    """All monotone paths from (0, 0) to (n - 1, m - 1) with steps (1, 0), (0, 1), (1, 1)."""

    @cache
    def paths(i: int, j: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        if (i, j) == (0, 0):
            return (((0, 0),),)
        before = [(i - 1, j), (i, j - 1), (i - 1, j - 1)]
        return tuple((*path, (i, j)) for a, b in before if a >= 0 and b >= 0 for path in paths(a, b))

    return list(paths(n - 1, m - 1))


def alignment_twin(K: np.ndarray, band: int | None) -> float:
    """The sum over all alignments, each written out."""
    total = 0.0
    for path in alignments(*K.shape):
        product = 1.0
        for i, j in path:
            b = K[i, j] * (1.0 if band is None else max(0.0, 1.0 - abs(i - j) / band))
            product *= (b / 2) / (1 - b / 2)
        total += product
    return total


@pytest.mark.parametrize("band", [None, 2, 5])
def test_global_alignment_is_the_sum_over_alignments(band: int | None) -> None:
    base = Gaussian(0.8)
    raw = np.array([[alignment_twin(base(x, z), band) for z in SERIES] for x in SERIES])
    own = np.sqrt(np.diagonal(raw))
    K = GlobalAlignment(base, band=band)(SERIES)
    assert np.allclose(K, raw / np.outer(own, own), rtol=1e-10, atol=1e-300)
    if band == 2:
        assert K[0, 1] == 0.0  # lengths 4 and 6


def levels(x: np.ndarray, depth: int) -> list[np.ndarray]:
    """Iterated integrals of orders 1 … depth of a piecewise linear path, word by word."""
    steps = np.diff(x, axis=0)
    found = []
    for level in range(1, depth + 1):
        total = np.zeros((x.shape[1],) * level)
        for places in itertools.combinations_with_replacement(range(len(steps)), level):
            weight = 1.0 / math.prod(math.factorial(c) for c in Counter(places).values())
            term = np.array(weight)
            for place in places:
                term = np.multiply.outer(term, steps[place])
            total += term
        found.append(total)
    return found


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_truncated_signature_is_the_product_of_iterated_integrals(depth: int) -> None:
    features = [levels(x, depth) for x in PATHS]
    expected = [[1.0 + sum(float(np.sum(a * b)) for a, b in zip(f, g, strict=True)) for g in features] for f in features]
    assert np.allclose(Signature(Linear(), depth=depth)(PATHS), expected, rtol=1e-12)


def test_the_signature_of_straight_lines_is_a_bessel_function() -> None:
    for slope in (0.3, 2.0, 7.0):
        x, z = np.array([[0.0, 0.0], [slope, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.5]])
        exact = iv(0, 2.0 * math.sqrt(slope + 0.5))
        assert Signature(Linear(), depth=20)([x], [z])[0, 0] == pytest.approx(exact, rel=1e-10)
        errors = [abs(Signature(Linear(), refinement=r)([x], [z])[0, 0] / exact - 1.0) for r in (2, 5, 6, 7)]
        assert errors[0] < 5e-3 and errors[3] < 1e-4  # of second order: half the step, a quarter of the error
        assert 3.0 < errors[1] / errors[2] < 5.0 and 3.0 < errors[2] / errors[3] < 5.0


def test_goursat_and_truncated_signatures_converge_to_the_same_kernel() -> None:
    deep = Signature(Gaussian(1.0), depth=15)(PATHS)
    errors = [np.abs(Signature(Gaussian(1.0), refinement=r)(PATHS) - deep).max() for r in (4, 5, 6)]
    assert errors[2] < errors[1] / 3 < errors[0] / 9 and errors[2] < 1e-4


def test_long_series_do_not_overflow() -> None:
    long = [RNG.normal(size=(3000, 1)).cumsum(axis=0) for _ in range(2)]
    for kernel in (GlobalAlignment(Gaussian(50.0)), GlobalAlignment(Gaussian(0.2))):
        K = kernel(long)
        assert np.isfinite(K).all() and (np.diagonal(K) == 1.0).all() and 0.0 <= K[0, 1] < 1.0


def test_series_taken_together_equal_single_ones() -> None:
    several = [RNG.normal(size=(length, 2)).cumsum(axis=0) for length in (60, 45, 60, 52, 1)]
    for kernel in (GlobalAlignment(Gaussian(3.0)), GlobalAlignment(Gaussian(3.0), band=20)):
        single = [[kernel([x], [z])[0, 0] for z in several] for x in several]  # one pair has the loop with exponents
        assert np.allclose(kernel(several), single, rtol=1e-11, atol=0.0)


def test_a_pair_that_does_not_fit_in_memory_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = GlobalAlignment(Gaussian(1.0))(SERIES), Signature(Linear(), depth=3)(PATHS)
    monkeypatch.setattr("mercer.kernels.series.MOST_VALUES", 7)
    assert np.allclose(GlobalAlignment(Gaussian(1.0))(SERIES), whole[0], rtol=1e-14)
    assert np.allclose(Signature(Linear(), depth=3)(PATHS), whole[1], rtol=1e-14)


KERNELS = [
    GlobalAlignment(Gaussian(0.9)),
    GlobalAlignment(Gaussian(0.9) * Matern(1.5, length_scale=2.0), band=6),
    GlobalAlignment(Gaussian(0.9).on(1)),
    Signature(Linear(), depth=3),
    Signature(Gaussian(1.1), depth=2).normalized(),
    Signature(Gaussian(1.1), depth=3).time(),
    2.0 * GlobalAlignment(Gaussian(0.9)).lead_lag() + Signature(Linear(), depth=2).base_point(),
    GlobalAlignment(Gaussian(0.9)).on(0).tanimoto(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_laws(kernel: Any) -> None:
    check_kernel(kernel, PATHS)
    assert kernel.certificate().status == "valid" and parse(repr(kernel)) == kernel


@pytest.mark.parametrize("kernel", [Signature(Gaussian(1.1)), Signature(Linear(), refinement=1).normalized()], ids=repr)
def test_the_whole_signature_is_not_called_proven(kernel: Any) -> None:
    certificate = kernel.certificate()
    assert certificate.status == "unproven" and "limit of fine steps is a kernel" in str(certificate)
    W = RNG.normal(size=(5, 5))
    theta, h = kernel.theta, 1e-6
    slopes = [
        (np.sum(W * kernel.with_theta(theta + h * e)(PATHS)) - np.sum(W * kernel.with_theta(theta - h * e)(PATHS))) / (2 * h)
        for e in np.eye(len(theta))
    ]
    assert np.allclose(kernel.pullback(PATHS, weights=W), slopes, rtol=1e-5, atol=1e-6)


def test_maps_of_series() -> None:
    x = np.array([[1.0], [3.0], [2.0]])
    plain = Signature(Linear(), depth=2)
    assert np.array_equal(plain.time()([x]), plain([np.column_stack([[0.0, 0.5, 1.0], x])]))
    assert np.array_equal(plain.base_point()([x]), plain([np.vstack([[[0.0]], x])]))
    path = np.array([[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [2.0, 3.0], [2.0, 2.0]])
    assert np.array_equal(plain.lead_lag()([x]), plain([path]))
    assert np.array_equal(plain.on(1)(PATHS), plain([one[:, [1]] for one in PATHS]))


def test_median_grows_with_the_length() -> None:
    short = [RNG.normal(size=(16, 1)) for _ in range(8)]
    steps = np.concatenate(short)
    found = GlobalAlignment(Gaussian("median")).resolve(short).base.length_scale  # type: ignore[attr-defined]
    assert found == pytest.approx(0.5 * 4.0 * Gaussian("median").resolve(steps).length_scale)  # type: ignore[attr-defined]


def test_forms_of_a_collection() -> None:
    equal = [RNG.normal(size=(7, 2)) for _ in range(4)]
    kernel = GlobalAlignment(Gaussian(1.0))
    assert np.array_equal(kernel(np.stack(equal)), kernel(equal))
    assert np.array_equal(kernel([x[:, 0] for x in equal]), kernel([x[:, [0]] for x in equal]))


def test_series_in_estimators(tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    slow = [np.sin(np.linspace(0.0, 3.0, n))[:, None] + 0.1 * rng.normal(size=(n, 1)) for n in rng.integers(20, 30, 15)]
    fast = [np.sin(np.linspace(0.0, 9.0, n))[:, None] + 0.1 * rng.normal(size=(n, 1)) for n in rng.integers(20, 30, 15)]
    X, y = slow[:10] + fast[:10], ["slow"] * 10 + ["fast"] * 10
    model = SVC(GlobalAlignment(Gaussian("median")), C=10.0).fit(X, y)
    assert model.predict(slow[10:] + fast[10:]).tolist() == ["slow"] * 5 + ["fast"] * 5
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()
    gp = GaussianProcessRegressor(GlobalAlignment(Gaussian("median")), n_restarts=0, max_iter=5)
    lengths = np.array([float(len(x)) for x in X])
    assert np.corrcoef(gp.fit(X, lengths).predict(X), lengths)[0, 1] > 0.5
    ridge = mercer.KernelRidge(Signature(Linear(), depth=3).time().normalized(), alpha=0.1).fit(X, lengths)
    assert np.isfinite(ridge.predict(fast)).all()


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ([np.zeros((0, 2))], r"X\[0\] is a series of length 0"),
        ([np.zeros((3, 2)), np.zeros((3, 1))], r"X\[1\] has 1 channel, but X\[0\] has 2"),
        ([np.zeros((3, 0))], r"X\[0\] has shape \(3, 0\)"),
        ([np.array([[0.0], [np.nan]])], r"X\[0\] has nan at step 1, channel 0; fill holes"),
        ([["a", "b"]], r"X\[0\] is .*, not a series"),
        ([np.zeros((2, 2, 2))], "a series is an array"),
    ],
)
def test_what_is_no_series_is_named(series: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_series(series)


def test_signatures_need_two_steps() -> None:
    with pytest.raises(InputError, match=r"Signature: X\[3\] has 1 step, and a signature is made of increments.*base_point"):
        Signature(Linear(), depth=2)(SERIES)
    assert Signature(Linear(), depth=2).base_point()(SERIES).shape == (6, 6)
    assert GlobalAlignment(Gaussian(1.0))(SERIES)[3, 3] == 1.0


def test_offsets_do_not_cost_signatures_their_digits() -> None:
    path = [np.array([[0.0], [1.0], [3.0]]), np.array([[2.0], [0.5], [1.0], [1.25]])]
    for depth in (3, None):
        kernel = Signature(Linear(), depth=depth)
        np.testing.assert_allclose(kernel([x + 2.0**32 for x in path]), kernel(path), rtol=1e-12)


def test_landmarks_of_series() -> None:
    X = [np.sin(speed * np.linspace(0.0, 1.0, 20))[:, None] for speed in np.linspace(2.0, 9.0, 30)]
    kernel = GlobalAlignment(Gaussian("median")).resolve(X)
    Z = mercer.Nystroem(kernel, n_components=30, random_state=0).fit_transform(X)
    assert np.allclose(Z @ Z.T, kernel(X), atol=1e-6)


def test_bases_that_leave_the_unit_interval_are_refused() -> None:
    for base in (Linear(), Polynomial(2), 2.0 * Gaussian(1.0), Gaussian(1.0) + Gaussian(2.0)):
        with pytest.raises(InputError, match=r"needs values in \[0, 1\]"):
            GlobalAlignment(base)
    with pytest.raises(InputError, match=r"Linear\(\), a term of"):
        GlobalAlignment(Gaussian(1.0) * Linear())
    with pytest.raises(InputError, match="base must be a kernel on steps"):
        GlobalAlignment("rbf")
    with pytest.raises(InputError, match="depth is at most 20"):
        Signature(Linear(), depth=30)
    with pytest.raises(InputError, match="there is no channel 2"):
        Signature(Linear(), depth=2).on(2)(SERIES)
