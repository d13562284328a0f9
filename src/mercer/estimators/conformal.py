"""Prediction intervals from leave-one-out residuals: the jackknife and the jackknife+, with exact ranks.

With n residuals and coverage c the rank is r = ceil(c (n + 1)). If r > n no finite interval has the coverage, and the
answer is infinite. A residual that is NaN (leverage 1) counts as infinite: what is unknown is not assumed small.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.errors import InputError
from mercer.linalg.solution import Array


def conformal_rank(n: int, coverage: float) -> int:
    """``ceil(coverage (n + 1))``, the rank of the residual that bounds the interval; n + 1 stands for infinity.

    >>> conformal_rank(9, 0.9), conformal_rank(19, 0.9), conformal_rank(8, 0.9)
    (9, 18, 9)
    """
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must be between 0 and 1, such as 0.9; got {coverage:g}.")
    # 0.7 * 10 is 7.000000000000001 or 6.999999999999999 depending on the day: whole numbers are meant.
    return min(math.ceil(round(coverage * (n + 1), 9)), n + 1)


def _absolute(loo: Array) -> Array:  # (n,) -> (n,)
    loo = np.asarray(loo, dtype=np.float64)
    if loo.ndim != 1:
        raise InputError(f"leave-one-out residuals must have shape (n,), one target at a time; got {loo.shape}.")
    return np.where(np.isnan(loo), np.inf, np.abs(loo))


def jackknife_radius(loo: Array, coverage: float) -> float:  # (n,)
    """The ceil(coverage (n + 1))-th smallest |leave-one-out residual|: the jackknife's interval is f(x) -+ this.

    It is infinite when n is too small.

    >>> jackknife_radius(np.array([1.0, -4.0, 2.0, 3.0]), 0.8), jackknife_radius(np.ones(4), 0.9)
    (4.0, inf)
    """
    size = _absolute(loo)
    rank = conformal_rank(size.size, coverage)
    return float(np.partition(size, rank - 1)[rank - 1]) if rank <= size.size else math.inf


def jackknife_plus(prediction: Array, influence: Array, loo: Array, coverage: float) -> Array:
    # (m,), (m, n), (n,) -> (m, 2)
    """The jackknife+ of Barber et al. (2021), which covers with probability >= 1 - 2 (1 - coverage) for any data.

    The fit without row i predicts f_i(x) = f(x) - e_i d f(x)/d y_i. The interval runs from the (n + 1 - r)-th smallest
    of f_i(x) - |e_i| to the r-th smallest of f_i(x) + |e_i|. Rows of ``prediction`` and ``influence`` are new points,
    so a large set is done tile by tile. After tuning on the same residuals the guarantee is approximate.

    >>> jackknife_plus(np.array([0.0]), np.zeros((1, 4)), np.array([1.0, -4.0, 2.0, 3.0]), 0.8)
    array([[-4.,  4.]])
    """
    size = _absolute(loo)
    center = np.asarray(prediction, dtype=np.float64)
    if np.shape(influence) != (center.size, size.size) or center.ndim != 1:
        raise InputError(
            f"influence must have one row per prediction and one column per residual, {(center.size, size.size)}; "
            f"got {np.shape(influence)}."
        )
    rank = conformal_rank(size.size, coverage)
    if rank > size.size:
        return np.broadcast_to([-np.inf, np.inf], (center.size, 2)).copy()
    known = np.where(np.isfinite(size), np.asarray(loo, dtype=np.float64), 0.0)
    without = center[:, None] - np.asarray(influence) * known
    upper = np.partition(without + size, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(without - size, size.size - rank, axis=1)[:, size.size - rank]
    return np.stack([lower, upper], axis=1)
