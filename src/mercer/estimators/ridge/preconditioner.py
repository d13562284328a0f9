"""A preconditioner for K + D by landmarks: F F' + D with F from randomly pivoted Cholesky.

The inverse is D^-1 - D^-1 F (I + F'D^-1 F)^-1 F'D^-1. When the trace of K - F F' is below that of D the number of
iterations no longer depends on the rows (Diaz, Epperly, Frangella, Tropp and Webber 2023).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from mercer.estimators.ridge.problem import Array, Problem
from mercer.gram.low_rank import low_rank

#: Below this many rows the diagonal alone is taken: products are cheap, and a factor would cost as much as they save.
#: Row: flights-nystroem.
FEWEST_ROWS = 5000

#: One landmark per this many rows, and at most this many.
ROWS_PER_LANDMARK, MOST = 20, 1000


def rank_for(n: int, asked: int | None = None) -> int:
    """How many landmarks the preconditioner takes; 0 is the diagonal."""
    if asked is not None:
        return min(int(asked), n)
    return 0 if n < FEWEST_ROWS else min(MOST, n // ROWS_PER_LANDMARK)


def landmark_preconditioner(problem: Problem, shift: Array) -> Callable[[Array], Array] | None:  # shift (n,)
    """R -> (F F' + diag(shift))^-1 R; None where the diagonal will do."""
    rank = rank_for(problem.n, problem.n_components)
    if rank == 0 or not (shift > 0).all():
        return None
    F = low_rank(problem.kernel, problem.X, rank, rng=np.random.default_rng(0), memory=float("inf")).factor
    root = np.sqrt(shift)[:, None]
    F /= root
    inner = F.T @ F
    inner[np.diag_indices_from(inner)] += 1.0
    factor = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

    def apply(R: Array) -> Array:  # (n, t) -> (n, t)
        scaled = R / root
        return np.asarray((scaled - F @ la.cho_solve(factor, F.T @ scaled, check_finite=False)) / root)

    return apply
