"""Decision values of functions that share support vectors, and predicted classes at the speed of float32."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.svm.one_vs_one import pair_values, sides, winners
from mercer.grams.dual_function import counted_product
from mercer.inputs import count
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count
from mercer.numeric.tiles import SIDE, walk

#: Nanoseconds that compiled loops save per kernel value over all predictions that follow: worth loading from 2^18 on.
#: Row: svc-predict-*.
PER_VALUE = 32

#: Support vectors of one tile: wider than high, since a tile of few columns costs less than the calls around it.
#: Row: svc-predict-*.
WIDTH = 1920


@dataclass(frozen=True)
class SupportFunctions:
    """Functions f(x) = sum_i coef_i k(x_i, x) + intercept on one set of support vectors.

    With counts of several classes they are those of all pairs of classes, and coefficients stand in LIBSVM's order.
    """

    kernel: Kernel
    support: Any  # (S rows), class after class; their numbers where kernel values are given
    coef: Array  # (S, functions), or (S, k - 1)
    counts: Array  # (1,), or (k,) support vectors of each class
    intercepts: Array  # (functions,)

    def __call__(self, new: Any) -> Array:  # (m rows) -> (m, functions)
        if len(self.coef) == 0:
            return np.tile(self.intercepts, (count(new), 1))
        sums = sums_per_class(self.kernel, new, self.support, self.coef, self.counts)
        return sums[:, 0] + self.intercepts if len(self.counts) == 1 else pair_values(sums, self.intercepts)

    @property
    def classes(self) -> int:
        """The number of classes that these functions tell apart."""
        return max(2, len(self.counts))


def sums_per_class(kernel: Kernel, new: Any, support: Any, coef: Array, counts: Array) -> Array:
    # (m rows), (S rows), (S, r), (k,) -> (m, k, r)
    """sum over the support vectors of class c of k(x, x_i) coef_i; support vectors stand class after class.

    >>> from mercer import Linear
    >>> sums_per_class(Linear(), [[2.0]], [[1.0], [3.0]], np.array([[1.0], [1.0]]), np.array([1, 1])).ravel().tolist()
    [2.0, 6.0]
    """
    through_weights = counted_product(kernel, new, support, _by_class(coef, counts))
    if through_weights is not None:
        return through_weights.reshape(-1, len(counts), coef.shape[1])
    values = Evaluation(kernel, new, support)
    values.pair.compiled |= worth(values.shape[0] * values.shape[1], PER_VALUE)
    coef = np.ascontiguousarray(coef)
    ends = np.cumsum(counts)
    starts = ends - counts
    out = np.zeros((values.shape[0], len(counts), coef.shape[1]))

    def visit(rows: slice, cols: slice, tile: Array) -> None:
        first = int(np.searchsorted(ends, cols.start, side="right"))
        for c in range(first, len(counts)):
            if starts[c] >= cols.stop:
                break
            a, b = max(int(starts[c]), cols.start), min(int(ends[c]), cols.stop)
            if a < b:
                out[rows, c] += tile[:, a - cols.start : b - cols.start] @ coef[a:b]

    side = min(SIDE, max(16, -(-values.shape[0] // cpu_count())))  # few new rows are shared between the cores too
    walk(values.block, values.shape, visit, side=side, width=WIDTH)
    return out


def _by_class(coef: Array, counts: Array) -> Array:  # (S, r), (k,) -> (S, k r)
    """The coefficients with columns of their own for every class, 0 for support vectors of other classes."""
    out = np.zeros((len(coef), len(counts), coef.shape[1]))
    out[np.arange(len(coef)), np.repeat(np.arange(len(counts)), counts)] = coef
    return out.reshape(len(coef), -1)


#: Fewer kernel values than this are made in float64 at once. Row: svc-predict-*.
LEAST = 2**20

#: Rows on which the error of float32 is measured: this many spread over all, and this many of the farthest.
ROWS_MEASURED = 32

#: The largest error seen is multiplied by this.
SAFETY = 8.0


def worth_screening(functions: SupportFunctions, new: Any) -> bool:
    """Whether float32 can stand in: dense float64 vectors, many of them, and a kernel of bounded values."""
    support, kernel = functions.support, functions.kernel
    dense = all(isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 for X in (new, support))
    if not dense or len(new) * len(support) < LEAST or len(new) < 8 * ROWS_MEASURED:
        return False
    return "stationary" in kernel.facts() and kernel.views == {"vectors"}


def screened_classes(functions: SupportFunctions, new: Array) -> Array | None:  # (m, d) -> (m,)
    """The winning class numbers, as float64 values would have them; None where float32 is too coarse."""
    k, shift = functions.classes, functions.support.mean(axis=0)
    rows, support = (new - shift).astype(np.float32), (functions.support - shift).astype(np.float32)
    coarse = replace(functions, support=support, coef=functions.coef.astype(np.float32))
    if not np.isfinite(rows).all() or not np.isfinite(coarse.coef).all():
        return None
    values, sample = coarse(rows), _sample(rows)
    error = SAFETY * float(np.abs(values[sample] - functions(new[sample])).max())
    undecided = np.flatnonzero(~_decided(values, error, k))
    if len(undecided) > 0.25 * len(new):
        return None
    found = winners(values, k)
    if len(undecided):
        found[undecided] = winners(functions(new[undecided]), k)
    return found


def _sample(coarse: Array) -> Array:
    norms = np.einsum("ij,ij->i", coarse, coarse)
    farthest = np.argpartition(norms, len(norms) - ROWS_MEASURED)[-ROWS_MEASURED:]
    return np.unique(np.concatenate([farthest, np.linspace(0, len(norms) - 1, ROWS_MEASURED).astype(np.intp)]))


def _decided(values: Array, error: float, k: int) -> Array:  # (m, P) -> (m,) bool
    """Rows whose class is the same for all values within `error` of these.

    >>> _decided(np.array([[0.5], [0.01]]), 0.1, 2).tolist()
    [True, False]
    """
    if k == 2:
        return np.abs(values[:, 0]) > error
    close = np.abs(values) <= error
    decided: Array = np.logical_not(close.any(axis=1))
    rows = np.flatnonzero(~decided)
    if len(rows) == 0:
        return decided
    first, second = sides(k)
    unsure, wins = close[rows].astype(np.float32), ((values[rows] >= 0) & ~close[rows]).astype(np.float32)
    least = wins @ first + (1.0 - wins - unsure) @ second
    most, winner, place = least + unsure @ (first + second), least.argmax(axis=1), np.arange(len(rows))
    # a tie goes to the first class, so an earlier one must stay strictly behind
    needed = most + (np.arange(k) < winner[:, None])
    needed[place, winner] = -1.0
    decided[rows] = least[place, winner] >= needed.max(axis=1)
    return decided
