"""Decision values of functions that share one set of support vectors: one pass over k(new, support), whatever their number.

One against one, a support vector of class c has k - 1 coefficients, one per other class, so that k(k-1)/2 functions cost
k - 1 columns per support vector and not k(k-1)/2: the products are made class by class and added pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.svm.one_vs_one import pair_values
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
