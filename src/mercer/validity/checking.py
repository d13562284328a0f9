"""Is c'Kc really below 0? Exactly, in intervals, or for Python functions far beyond anything that rounding can do."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError
from mercer.inputs import as_vectors
from mercer.kernels.algebra import Wrapper
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.numeric.encodings import Encoding
from mercer.validity.intervals import Interval, IntervalArithmetic, UndecidedError
from mercer.validity.rationals import Rational, RationalArithmetic
from mercer.validity.witness import CounterExample

#: A numerical witness must exceed n eps max|K| ||c||^2 by this factor.
MARGIN = 100.0

#: Noisy evaluations, and how far beyond their spread a numerical witness must lie.
TRIALS, SPREAD = 4, 30.0

DOUBLE, SINGLE = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)

#: A violation above LARGE of the values' size, at coordinates up to MODERATE[eps], is believed without moving the points.
LARGE, MODERATE = 1e-3, {DOUBLE: 1e3, SINGLE: 10.0}

#: Coordinates times entries of K beyond which nothing is enclosed: it would take seconds.
ENCLOSED_ENTRIES = 400_000


def values(kernel: Kernel, points: Any) -> Floats | None:
    """k(points) in float64, or None if the function cannot be computed there."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            K = np.asarray(kernel(points), dtype=np.float64)
    except Exception:  # functions of the user's own raise what they like on points they were not made for
        return None
    return K if np.isfinite(K).all() else None


def confirm(kernel: Kernel, points: Any, c: Floats, scale: float = 0.0) -> CounterExample | None:
    """Return the counter-example if c'Kc < 0 stands up to the check that its kernel allows.

    `scale` is the size of values at neighboring points: a 1 x 1 matrix that should be 0 and is -1e-17 looks large beside
    itself.
    """
    K = values(kernel, points)
    if K is None:
        return None
    try:
        total = enclose(kernel, points, c)
    except CapabilityError:
        return _numerical(kernel, points, c, K, scale)
    if total is None or not _top(total) < 0:
        return None
    if not float(c @ K @ c) < 0.0:  # rounded values would contradict what is shown beside them
        K = _enclosed_gram(kernel, points)
    return CounterExample(kernel, points, c, _middle(total), K, _kind(total), total)


def confirm_asymmetry(kernel: Kernel, points: Any) -> CounterExample | None:
    """Return the counter-example if k(x1, x2) - k(x2, x1) < 0 by more than rounding."""
    K, W = values(kernel, points), np.array([[0.0, 1.0], [-1.0, 0.0]])
    if K is None or not K[1, 0] - K[0, 1] > MARGIN * 2 * epsilon(K) * np.abs(K).max():
        return None
    c = np.array([1.0, -1.0])
    try:
        total = enclose(kernel, points, W)
    except CapabilityError:
        value = float(K[0, 1] - K[1, 0])
        trusted = _outlasts(kernel, points, W, value, float(np.abs(K).max()))
        return CounterExample(kernel, points, c, value, K, "asymmetric") if trusted else None
    if total is None or not _top(total) < 0:
        return None
    return CounterExample(kernel, points, c, _middle(total), K, "asymmetric", total)


def enclose(kernel: Kernel, points: Any, weights: Floats) -> Fraction | Interval | None:
    """Return sum_ij w_ij k(x_i, x_j) as a fraction, else as an interval, else None; CapabilityError without a formula.

    weights are w (n, n), or c (n,) with w_ij = c_i c_j: that product must not be rounded, or w is not psd.
    """
    try:
        X = as_vectors(points, "points")
    except InputError:
        raise CapabilityError(f"{type(kernel).__name__}: the points are not vectors.") from None
    X = X.toarray() if sp.issparse(X) else X
    if X.size * len(X) > ENCLOSED_ENTRIES:
        return None
    for arithmetic in (RationalArithmetic(), IntervalArithmetic()):
        try:
            total = _weighted_sum(kernel, X, weights, arithmetic)
        except UndecidedError:
            continue
        return total.value if isinstance(total, Rational) else total
    return None


def _weighted_sum(kernel: Kernel, X: Array, weights: Floats, m: Any) -> Any:
    points = [[m.number(float(v)) for v in row] for row in X]
    total = m.number(0.0)
    folded = bool(kernel._symmetric)  # then k(x_i, x_j) and k(x_j, x_i) are one number, and half the work is enough
    for i, x in enumerate(points):
        for j, z in enumerate(points[: i + 1] if folded else points):
            weight = _weight(weights, i, j, m)
            if folded and i != j:
                weight = weight + _weight(weights, j, i, m)
            total = total + weight * kernel._value(x, z, m)
    return total


def _weight(weights: Floats, i: int, j: int, m: Any) -> Any:
    if weights.ndim == 2:
        return m.number(float(weights[i, j]))
    return m.number(float(weights[i])) * m.number(float(weights[j]))


def _enclosed_gram(kernel: Kernel, points: Any) -> Floats:
    """k(x_i, x_j), each correctly rounded or nearly so."""
    n = len(points)
    weights = [np.zeros((n, n)) for _ in range(n * n)]
    for place, single in enumerate(weights):
        single.flat[place] = 1.0
    totals = [enclose(kernel, points, single) for single in weights]
    return np.array([np.nan if total is None else _middle(total) for total in totals]).reshape(n, n)


def _top(total: Fraction | Interval) -> float | Fraction:
    return total.hi if isinstance(total, Interval) else total


def _middle(total: Fraction | Interval) -> float:
    """A float near it, of the same sign: neither 0 nor infinite."""
    if isinstance(total, Interval):
        return total.lo / 2 + total.hi / 2
    if total == 0:
        return 0.0
    size = min(abs(total), Fraction(np.finfo(np.float64).max))
    return math.copysign(max(float(size), 5e-324), 1 if total > 0 else -1)


def _kind(total: Fraction | Interval) -> str:
    return "interval" if isinstance(total, Interval) else "exact"


def _numerical(kernel: Kernel, points: Any, c: Floats, K: Floats, scale: float) -> CounterExample | None:
    value = float(c @ K @ c)
    size = max(float(np.abs(K).max()), scale) * float(c @ c)
    if not -value > MARGIN * len(c) * epsilon(K) * size or not _outlasts(kernel, points, np.outer(c, c), value, size):
        return None
    return CounterExample(kernel, points, c, value, K, "numerical")


def epsilon(K: Floats) -> float:
    """The rounding unit of computed values: that of float32 if all of them are float32 numbers but not whole ones."""
    with np.errstate(over="ignore"):
        single = np.array_equal(K, K.astype(np.float32))
    counts = np.array_equal(K, np.rint(K)) and np.abs(K).max(initial=0.0) < 2.0**20
    return SINGLE if single and not counts else DOUBLE


def _outlasts(kernel: Kernel, points: Any, weights: Floats, value: float, size: float) -> bool:
    """True if `value` stays far below 0 when terms and coordinates are disturbed by their own rounding units.

    max|K| alone does not see what has been lost inside. A centered kernel is a small difference of large values; exp(k)
    multiplies the relative error of k by |k|; distances of points far from 0, expanded into squares, are mostly noise.
    """
    noise = Noise()
    spread = max(abs(_sum(noise.on(kernel), points, weights) - value) for _ in range(TRIALS))
    moderate = -value > LARGE * size and _largest(points) <= MODERATE[noise.unit]
    # a function may jump, and then cannot bear moved points: a large violation at moderate points is believed without
    if isinstance(points, np.ndarray) and points.dtype.kind == "f" and not moderate:
        moved = [points * (1.0 + noise.unit * noise.rng.choice([-1.0, 1.0], points.shape)) for _ in range(TRIALS)]
        spread = max(spread, *[abs(_sum(kernel, at, weights) - value) for at in moved])
    return -value > SPREAD * spread


def _sum(kernel: Kernel, points: Any, weights: Floats) -> float:
    K = values(kernel, points)
    return np.inf if K is None else float((weights * K).sum())


def _largest(points: Any) -> float:
    return float(np.abs(points).max(initial=0.0)) if isinstance(points, np.ndarray) and points.dtype.kind == "f" else 0.0


class Noise:
    """Noise of the size of rounding errors; `unit` is the coarsest rounding unit met so far."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.unit = DOUBLE

    def on(self, kernel: Kernel) -> Kernel:
        """The same kernel with noise on every term."""
        if kernel.children:
            kernel = kernel._with_children(tuple(self.on(child) for child in kernel.children))
        return Disturbed(kernel, self)

    def shake(self, exact: Array) -> Array:
        """Values plus noise of eps max|K|, with the eps in which they seem to have been computed."""
        eps = epsilon(np.asarray(exact, dtype=np.float64))
        self.unit = max(self.unit, eps)
        noise = self.rng.uniform(-1.0, 1.0, exact.shape)
        return np.asarray(exact + eps * np.abs(exact).max(initial=0.0) * noise)


@dataclass(frozen=True, repr=False, eq=False)
class Disturbed(Wrapper):
    """k(x, z) plus noise of the size of its rounding error."""

    inner: Kernel
    noise: Noise

    def _block(self, pair: Pair) -> Array:
        return self.noise.shake(self.inner._block(pair))

    def _diag(self, encoding: Encoding) -> Array:
        return self.noise.shake(self.inner._diag(encoding))
