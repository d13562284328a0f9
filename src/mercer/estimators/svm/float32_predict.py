"""Predicted classes of float64 data at the speed of float32: the few rows whose vote rounding could turn are done again.

Float32 halves the cost of products and exponentials, and its errors are far below most decision values. How large they
are is measured on a sample of the rows, those farthest from the support vectors' mean among them, where rounding is worst.
A row whose class could change within eight times the largest error seen is evaluated in float64. Only for stationary
kernels, whose values are bounded: elsewhere one huge row could err by more than any sample shows. And only for votes:
ties that decision values break would need all their digits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.svm.decision import SupportFunctions
from mercer.estimators.svm.one_vs_one import sides, winners

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
    return "stationary" in kernel._facts() and kernel._views() == {"vectors"}


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
