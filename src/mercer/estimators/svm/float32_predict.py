"""Predicted classes of float64 data at the speed of float32: the few rows whose vote rounding could turn are done again.

Float32 halves the cost of products and exponentials, and its errors are far below most decision values. How large they
are is measured on a sample of the rows, those farthest from the support vectors' mean among them, where rounding is worst.
A row whose class could change within eight times the largest error seen is evaluated in float64. Only for stationary
kernels, whose values are bounded: elsewhere one huge row could err by more than any sample shows. And only for votes:
ties that decision values break would need all their digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.svm.decision import pair_values, sides, sums_per_class
from mercer.kernels.base import Kernel

Array = NDArray[Any]

#: Fewer kernel values than this are made in float64 at once.
LEAST = 2**20

#: Rows on which the error of float32 is measured: so many spread over all, and so many of the farthest.
SAMPLE = 32

#: The largest error seen is multiplied by this.
SAFETY = 8.0


def worth_screening(kernel: Kernel, new: Any, support: Any) -> bool:
    """Whether float32 can stand in: dense float64 vectors, many of them, and a kernel of bounded values."""
    dense = all(isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 for X in (new, support))
    if not dense or len(new) * len(support) < LEAST or len(new) < 8 * SAMPLE:
        return False
    return "stationary" in kernel._facts() and kernel._views() == {"vectors"}


def screened_classes(model: Any, new: Array) -> Array | None:  # (m, d) -> (m,)
    """The winning class numbers, as `model._winners` of float64 values would have them; None where float32 is too coarse."""
    support, k = model.support_vectors_, len(model.classes_)
    shift = support.mean(axis=0)
    coarse = (new - shift).astype(np.float32)
    counts = model.n_support_ if k > 2 else model.n_support_.sum(keepdims=True)
    coef = model.dual_coef_.T.astype(np.float32)
    if not np.isfinite(coarse).all() or not np.isfinite(coef).all():
        return None
    sums = sums_per_class(model.kernel_, coarse, (support - shift).astype(np.float32), coef, counts)
    values = pair_values(sums, model.intercept_) if k > 2 else sums[:, 0] + model.intercept_
    sample = _sample(coarse)
    error = SAFETY * float(np.abs(values[sample] - model._through_support(new[sample])).max())
    open_rows = np.flatnonzero(~_decided(values, error, k))
    if len(open_rows) > 0.25 * len(new):
        return None
    winners = model._winners(values)
    if len(open_rows):
        winners[open_rows] = model._winners(model._through_support(new[open_rows]))
    return winners


def _sample(coarse: Array) -> Array:
    norms = np.einsum("ij,ij->i", coarse, coarse)
    farthest = np.argpartition(norms, len(norms) - SAMPLE)[-SAMPLE:]
    return np.unique(np.concatenate([farthest, np.linspace(0, len(norms) - 1, SAMPLE).astype(np.intp)]))


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
