"""A preconditioner for K + D by landmarks: F F' + D with F from randomly pivoted Cholesky.

The inverse is D^-1 - D^-1 F (I + F'D^-1 F)^-1 F'D^-1. When the trace of K - F F' is below that of D the number of
iterations no longer depends on the rows (Diaz, Epperly, Frangella, Tropp and Webber 2023).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.estimators.ridge.problem import Problem
from mercer.grams.low_rank import low_rank
from mercer.linalg.cholesky import definite_factor

#: Below this many rows the diagonal alone is taken: products are cheap, and a factor would cost as much as they save.
#: Row: flights-nystroem.
FEWEST_ROWS = 5000

#: One landmark per this many rows, and at most this many.
ROWS_PER_LANDMARK, MOST = 20, 1000

#: Rows whose part of the diagonal of the inverse is made at a time.
ROWS = 4096


def rank_for(n: int, asked: int | None = None) -> int:
    """How many landmarks the preconditioner takes; 0 is the diagonal."""
    if asked is not None:
        return min(int(asked), n)
    return 0 if n < FEWEST_ROWS else min(MOST, n // ROWS_PER_LANDMARK)


class LandmarkPreconditioner:
    """R -> (F F' + diag(shift))^-1 R."""

    def __init__(self, F: Array, shift: Array) -> None:  # (n, m), which is used up, and (n,)
        self._root = np.sqrt(shift)[:, None]
        F /= self._root
        self._F = F
        inner = F.T @ F
        inner[np.diag_indices_from(inner)] += 1.0
        self._inner = definite_factor(inner)

    def __call__(self, R: Array) -> Array:  # (n, t) -> (n, t)
        scaled = R / self._root
        back = la.cho_solve((self._inner, True), self._F.T @ scaled, check_finite=False)
        return np.asarray((scaled - self._F @ back) / self._root)

    def inverse_diagonal(self) -> Array:  # -> (n,)
        """The diagonal of the inverse."""
        out = np.empty(len(self._F))
        for start in range(0, len(out), ROWS):
            part = slice(start, start + ROWS)
            half = la.solve_triangular(self._inner, self._F[part].T, lower=True, check_finite=False)
            out[part] = (1.0 - np.sum(half**2, axis=0)) / self._root[part, 0] ** 2
        return out


def landmark_preconditioner(problem: Problem, shift: Array, rank: int) -> LandmarkPreconditioner | None:  # shift (n,)
    """With `rank` landmarks; None where the diagonal will do."""
    if rank == 0 or not (shift > 0).all():
        return None
    F = low_rank(problem.kernel, problem.X, rank, rng=np.random.default_rng(0), memory=float("inf")).factor
    return LandmarkPreconditioner(F, shift)
