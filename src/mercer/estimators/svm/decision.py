"""Decision values of machines that share one set of support vectors: one pass over k(new, support), whatever their number.

One against one, a support vector of class c has k - 1 coefficients, one per other class, so that k(k-1)/2 functions cost
k - 1 columns per support vector and not k(k-1)/2: the products are made class by class and added pair by pair.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count
from mercer.numeric.tiles import SIDE, walk

Array = NDArray[Any]

#: Nanoseconds that compiled loops save per kernel value over all predictions that follow: worth loading from 2^18 on.
PER_VALUE = 32

#: Support vectors of one tile: wider than high, since a tile of few columns costs less than the calls around it.
WIDTH = 1920


def pairs(classes: int) -> list[tuple[int, int]]:
    """The pairs of classes in the order of decision values and intercepts: (0, 1), (0, 2), …, (1, 2), ….

    >>> pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(classes), 2))


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


def pair_values(sums: Array, intercepts: Array) -> Array:  # (m, k, k - 1), (P,) -> (m, P)
    """The decision values of all pairs (i, j), positive for class i."""
    k = sums.shape[1]
    flat = sums.reshape(len(sums), -1)
    first = np.array([i * (k - 1) + j - 1 for i, j in pairs(k)])
    second = np.array([j * (k - 1) + i for i, j in pairs(k)])
    out = flat.take(first, axis=1)
    out += flat.take(second, axis=1)
    out += intercepts
    return out


def votes(decisions: Array, classes: int) -> Array:  # (m, P) -> (m, k)
    """How many of its pairs each class wins; a decision of 0 goes to the first class of its pair.

    >>> votes(np.array([[1.0, 1.0, -2.0]]), 3).tolist()
    [[2.0, 0.0, 1.0]]
    """
    first, second = sides(classes)
    # whole numbers, exact in float32
    return (decisions >= 0).astype(np.float32) @ (first - second) + second.sum(axis=0)


def one_against_rest(decisions: Array, classes: int) -> Array:  # (m, P) -> (m, k)
    """Votes, with ties broken by the sum of a class's decision values squeezed into (-1/3, 1/3): scikit-learn's values."""
    first, second = sides(classes)
    confidence = decisions @ (first - second).astype(np.float64)
    return votes(decisions, classes) + confidence / (3.0 * (np.abs(confidence) + 1.0))


def sides(classes: int) -> tuple[Array, Array]:  # (P, k) each
    """Which class is the first, and which the second, of every pair."""
    first, second = np.zeros((2, classes * (classes - 1) // 2, classes), dtype=np.float32)
    for p, (i, j) in enumerate(pairs(classes)):
        first[p, i] = second[p, j] = 1.0
    return first, second
