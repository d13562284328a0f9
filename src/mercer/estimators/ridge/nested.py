"""Leave-one-out residuals of a ridge together with the choice of its parameters, in closed form.

The residual of row i comes from the fit without row i, with the kernel and alpha that leave-one-out without row i would have
chosen. For that choice the residuals of all pairs of held-out rows are needed, which follow from 2 x 2 blocks of C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg

from mercer.arrays import Array, Floats
from mercer.estimators.ridge.problem import RidgeProblem
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.held_out import held_out_pairs, leave_one_out

#: Up to this many rows the choice is repeated without each row. Beyond, its effect on intervals is below one percent.
NESTED_ROWS = 200


def nested_residuals(problem: RidgeProblem, kernels: Sequence[Kernel], alphas: Array) -> Floats:  # (L,) -> (n, t)
    """Return y_i - f(x_i) for rows of weight > 0; f is fitted, and its parameters are chosen, without row i."""
    known = np.flatnonzero(problem.counted > 0)
    problem = problem.part(known, problem.counted[known])
    n, Y = problem.n, problem.Y.reshape(problem.n, -1)
    least, residuals = np.full(n, np.inf), np.full(Y.shape, np.nan)
    for kernel in kernels:
        K = np.asarray(kernel(problem.X), dtype=np.float64)
        for C in _inverses(K, problem, np.sort(alphas)[::-1]):
            dual = C @ Y
            pairs = held_out_pairs(C, dual)  # (n, n, t)
            errors = np.einsum("ijt,j->i", pairs**2, problem.counted)
            better = np.where(np.isfinite(errors), errors, np.inf) < least
            least[better] = errors[better]
            residuals[better] = leave_one_out(dual, C.diagonal())[better]
    return residuals


def _inverses(K: Floats, problem: RidgeProblem, alphas: Array) -> Iterator[Floats]:
    """C for each alpha: the dual coefficients are C Y."""
    root = np.sqrt(problem.counted)
    values, vectors = scipy.linalg.eigh(root[:, None] * K * root)
    basis = root[:, None] * vectors
    for alpha in alphas:
        C = (basis / (np.maximum(values, 0.0) + alpha)) @ basis.T
        if problem.fit_intercept:
            sums = C.sum(axis=1)
            C -= np.outer(sums, sums) / sums.sum()
        yield C
