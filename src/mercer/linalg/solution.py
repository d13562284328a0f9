"""What a solver hands back: the value, and whether and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Solution:
    """The answer of a solver; convergence is a field, never a print.

    ``residual`` is what the solver drives to zero, relative to its right-hand side: ``||b - A x|| / ||b||``, the
    worst over columns.

    >>> Solution(np.zeros(2), True, 3, 1e-12, "converged").converged
    True
    """

    value: Array  # (n,) or (n, t)
    converged: bool
    n_iter: int
    residual: float
    message: str


@dataclass(frozen=True)
class RidgeSolution:
    """A ridge fit at one alpha per target: ``f(x) = <value, features or kernel row of x> + intercept``.

    ``jitter`` is what had to be added to the diagonal (0 almost always), ``rank`` the number of directions that
    carry the fit, ``condition`` an estimate of the condition number of the system that was solved.
    """

    value: Array  # (n, *t) dual coefficients, or (d, *t) primal weights
    intercept: Array  # (*t)
    converged: bool
    n_iter: int
    residual: float
    message: str
    jitter: float
    rank: int
    condition: float


def relative_residual(residual: Array, target: Array) -> float:  # (n, t), (n, t) -> worst column of ||r|| / ||b||
    """``max_j ||r_j|| / ||b_j||``, with 0/0 = 0 (a zero target is solved by zero).

    >>> relative_residual(np.array([[3.0], [4.0]]), np.array([[0.0], [10.0]]))
    0.5
    """
    norms = np.sqrt(np.einsum("ij,ij->j", target, target, dtype=np.float64))
    errors = np.sqrt(np.einsum("ij,ij->j", residual, residual, dtype=np.float64))
    if errors.size == 0:
        return 0.0
    # A zero target leaves nothing to be relative to: its error counts as it is.
    return float(np.max(errors / np.where(norms > 0, norms, 1.0)))
