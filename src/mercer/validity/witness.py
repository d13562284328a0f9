"""Counter-examples: points and a vector c with c'Kc < 0, checked exactly, in intervals, or far beyond rounding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError
from mercer.inputs import Graph, Rows, as_vectors, is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.claims import Disturbed
from mercer.validity.arithmetic import Interval, IntervalArithmetic, Rational, RationalArithmetic, UndecidedError
from mercer.validity.observed import Observer
from mercer.validity.proofs import name

COUNTS = {1: "One point is", 2: "Two points are", 3: "Three points are"}


@dataclass(frozen=True, eq=False)
class CounterExample:
    """Points at which a function fails to be a kernel: c'Kc < 0 for the vector c, or k(x, z) != k(z, x).

    `kind` is how it was checked: "exact" (in fractions), "interval" (the upper end of an enclosure is below 0),
    "numerical" (values of a Python function, far beyond rounding), or "asymmetric": then value = k(x1, x2) - k(x2, x1).

    >>> from mercer import Bilinear
    >>> found = Bilinear([[1.0, 2.0], [2.0, 1.0]]).certificate().counterexample
    >>> x, c = found.points, found.vector
    >>> found.kind, found.value == float(c @ x @ [[1.0, 2.0], [2.0, 1.0]] @ x.T @ c) < 0
    ('exact', True)
    """

    kernel: Kernel
    points: Any
    vector: Floats
    value: float
    gram: Floats
    kind: str
    proven: Fraction | Interval | None = field(default=None, repr=False)

    def __str__(self) -> str:
        n = len(self.vector)
        lines = [f"{name(self.kernel)} is not a kernel. {COUNTS.get(n, f'{n} points are')} enough:"]
        shown = [show_point(point) for point in items(self.points)]
        lines += [f"  x{i} = {text}" for i, text in enumerate(shown, 1)]
        lines += _matrix(self.gram)
        return "\n".join(lines + (self._asymmetry() if self.kind == "asymmetric" else self._form()))

    def _form(self) -> list[str]:
        n, K = len(self.vector), self.gram
        lines = [f"  c = ({', '.join(map(show_number, self.vector))})", f"  c'Kc = {self._shown_value()}"]
        reason = "but c'Kc is the squared length of sum_i c_i phi(x_i), and cannot be negative."
        if n == 1:
            lines[0:1] = []
            lines[0] = f"  k(x1, x1) = {self._shown_value()}"
            reason = "but k(x1, x1) is the squared length of phi(x1), and cannot be negative."
        elif n == 2:
            left, right = K[0, 1] * K[1, 0], K[0, 0] * K[1, 1]
            if f"{left:.6g}" != f"{right:.6g}":
                reason += f"\n  (Cauchy-Schwarz fails: k(x1, x2)^2 = {left:.6g} > {right:.6g} = k(x1, x1) k(x2, x2).)"
        return [*lines, f"  {reason}"]

    def _asymmetry(self) -> list[str]:
        K = self.gram
        return [
            f"  k(x1, x2) - k(x2, x1) = {self._shown_value()}",
            f"  since k(x1, x2) = {K[0, 1]:.6g} and k(x2, x1) = {K[1, 0]:.6g}, but a kernel is symmetric.",
        ]

    def _shown_value(self) -> str:
        if isinstance(self.proven, Fraction):
            short = self.proven.numerator.bit_length() + self.proven.denominator.bit_length() <= 80
            text = str(self.proven) if short and len(str(self.proven)) <= 24 else f"{self.value:.6g}"
            return f"{text} < 0, computed in exact arithmetic,"
        if self.proven is not None:
            return f"{self.value:.6g} < 0, in interval arithmetic at most {self.proven.hi!r},"
        return f"{self.value:.6g} < 0, in floating point, far beyond rounding errors,"

    def to_dict(self) -> dict[str, Any]:
        """Return the counter-example as plain data for JSON."""
        return {
            "kind": self.kind,
            "points": [_plain(point) for point in items(self.points)],
            "vector": self.vector.tolist(),
            "value": self.value,
            "gram": self.gram.tolist(),
        }


def items(points: Any) -> list[Any]:
    """The points one by one."""
    if sp.issparse(points):
        return list(points.toarray())
    if is_frame(points):
        names = [str(name) for name in points.columns]
        return [dict(zip(names, row, strict=True)) for row in points.to_numpy().tolist()]
    return [points[i] for i in range(len(Rows(points)))]


def show_number(value: float) -> str:
    """A number as short as it can be: 2 for 2.0, six digits otherwise."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{value:.6g}"


def show_point(point: Any) -> str:
    """A point as text: (1, -1), 'abab', a graph, a row of a table."""
    if isinstance(point, np.ndarray):
        shown = [str(v.item()) if float(v) == round(float(v), 12) else repr(float(v)) for v in point[:20]]
        short = [text.removesuffix(".0") for text in shown]
        more = f", … ({len(point)} in all)" if len(point) > 20 else ""
        return f"({', '.join(short)}{more})"
    if isinstance(point, int):
        return f"row {point}"
    text = repr(point)
    return text if len(text) <= 200 else text[:197] + "…"


def _matrix(K: Floats) -> list[str]:
    if len(K) > 12:
        return [f"  K = k(x_i, x_j), a {len(K)} x {len(K)} matrix"]
    cells = [[show_number(v) for v in row] for row in K]
    width = max(len(cell) for row in cells for cell in row)
    rows = ["[ " + "  ".join(cell.rjust(width) for cell in row) + " ]" for row in cells]
    return [("  K = " if i == 0 else "      ") + row for i, row in enumerate(rows)]


def _plain(point: Any) -> Any:
    if isinstance(point, np.ndarray):
        return [float(v) for v in point] if point.dtype.kind in "fiub" else [str(v) for v in point]
    if isinstance(point, Graph):
        labels = None if point.node_labels is None else [str(v) for v in point.node_labels]
        return {"n_nodes": point.n_nodes, "edges": [list(e) for e in point.edges], "node_labels": labels}
    if isinstance(point, dict):
        return {name: v if isinstance(v, (int, float, str, bool)) else str(v) for name, v in point.items()}
    if isinstance(point, (int, str)):
        return point
    return [str(v) for v in point] if isinstance(point, (list, tuple)) else repr(point)


#: A numerical witness must exceed n eps max|K| ||c||^2 by this factor.
MARGIN = 100.0

#: Noisy evaluations, and how far beyond their spread a numerical witness must lie.
TRIALS, SPREAD = 4, 30.0

#: A function whose operations were observed must violate by this multiple of the largest noise of each of its values.
OBSERVED = 10.0

DOUBLE, SINGLE = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)

#: A violation above LARGE of the values' size, at coordinates up to MODERATE[eps], is accepted without moving the points.
LARGE, MODERATE = 1e-3, {DOUBLE: 1e3, SINGLE: 10.0}

#: A function whose operations cannot be observed must violate by QUARTER of its values, and by HALF of 1 and of the largest
#: <x, x>: it may hold terms that cancel, such as the 1 of exp(u) - 1, with as many of the digits of float64. A cancellation
#: can round alike at all neighbors: (k + c <x, z>) - c <x, z> is k rounded to a multiple of the rounding unit of c <x, z>.
QUARTER, HALF, CONSTANT = DOUBLE**0.25, DOUBLE**0.5, 1.0

#: A function that cannot be observed is evaluated at this many neighbors, up to REACH rounding units away. At a distance of
#: one unit the same roundings often occur again, and a value that is nothing but rounding looks stable.
NEIGHBORS, REACH = 16, 1000

#: Coordinates times entries of K beyond which nothing is enclosed: it would take seconds.
ENCLOSED_ENTRIES = 400_000


def values(kernel: Kernel, points: Any) -> Floats | None:
    """k(points) in float64, or None if the function cannot be computed there."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            K = np.asarray(kernel(points), dtype=np.float64)
    except Exception:  # user-defined functions may raise anything on points outside their domain
        return None
    return K if np.isfinite(K).all() else None


def confirm(kernel: Kernel, points: Any, c: Floats, scale: float = 0.0) -> CounterExample | None:
    """Return the counter-example if c'Kc < 0 passes the check that its kernel allows.

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
    folded = bool(kernel.symmetric)  # then k(x_i, x_j) and k(x_j, x_i) are one number, and half the work is enough
    for i, x in enumerate(points):
        for j, z in enumerate(points[: i + 1] if folded else points):
            weight = _weight(weights, i, j, m)
            if folded and i != j:
                weight = weight + _weight(weights, j, i, m)
            total = total + weight * kernel.formula(x, z, m)
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
    """Return a finite float near a number, 0 only for 0; the middle of an interval."""
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
    exact, noisy = values(kernel, points), [values(noise.on(kernel), points) for _ in range(TRIALS)]
    if exact is None or any(K is None for K in noisy):
        return False
    errors = np.array(noisy) - exact
    spread = float(np.abs((weights * errors).sum(axis=(1, 2))).max())
    if noise.functions and noise.observer.complete:
        largest = float((np.abs(weights) * np.abs(errors).max(axis=0)).sum())
        return -value > max(SPREAD * spread, OBSERVED * largest)
    hidden = max(CONSTANT, _largest(points) ** 2) * float(np.abs(weights).sum())
    if noise.functions and not -value > max(QUARTER * size, HALF * hidden):
        return False
    moderate = -value > LARGE * size and _largest(points) <= MODERATE[noise.unit]
    # a function may jump if points move: a large violation at moderate points is accepted without moving them
    if isinstance(points, np.ndarray) and points.dtype.kind == "f" and not moderate:
        trials, reach = (NEIGHBORS, REACH) if noise.functions else (TRIALS, 1)
        steps = [
            noise.rng.choice([-1.0, 1.0], points.shape) * noise.rng.integers(1, reach + 1, points.shape)
            for _ in range(trials)
        ]
        spread = max(spread, *[abs(_sum(kernel, points * (1.0 + noise.unit * step), weights) - value) for step in steps])
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
        self.observer = Observer(self.rng)
        self.unit = DOUBLE
        self.functions = False

    def on(self, kernel: Kernel) -> Kernel:
        """The same kernel with noise on every term, and on every operation of a Python function."""
        if kernel.children:
            kernel = kernel.with_children(tuple(self.on(child) for child in kernel.children))
        return Disturbed(kernel.calling(self.watched), self.shake)

    def watched(self, f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """f with noise on its operations."""
        self.functions = True
        return partial(self.observer.call, f)

    def shake(self, exact: Array) -> Array:
        """Values plus noise of eps max|K|, with the eps in which they seem to have been computed."""
        eps = epsilon(np.asarray(exact, dtype=np.float64))
        self.unit = max(self.unit, eps)
        noise = self.rng.uniform(-1.0, 1.0, exact.shape)
        return np.asarray(exact + eps * np.abs(exact).max(initial=0.0) * noise)
