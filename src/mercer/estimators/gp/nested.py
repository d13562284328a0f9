"""How far hyper-parameters that were fitted to few rows make a Gaussian process too certain.

Row i is predicted by the process without it, with hyper-parameters fitted again without its part of the rows. The ratio
of its error and its standard deviation is 1 in the mean square if the process is calibrated. With few rows the likelihood
chooses parameters that fit these rows too well, and it is larger.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import NumericalError
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.problem import GPParameters, GPProblem
from mercer.estimators.gp.search import climb
from mercer.estimators.progress import Meter
from mercer.linalg.evidence import leave_one_out
from mercer.selection.folds import group_folds, row_digests

#: Up to this many rows hyper-parameters are fitted again, without each of up to 20 parts of the rows.
NESTED_ROWS, PARTS, SEED = 100, 20, 0

#: Tolerance and steps of these fits, which start at the hyper-parameters of all rows.
TOLERANCE, STEPS = 1e-2, 30


def widening(problem: GPProblem, parameters: GPParameters, vector: Floats, meter: Meter) -> Floats:  # (p,) -> (t,)
    """Return the root mean square of (y_i - m_i) / s_i for each target; m_i and s_i are of the process without row i.

    Equal rows with equal targets are left out together, and count once.
    """
    groups = _groups(problem)
    n_parts = min(PARTS, int(groups.max()) + 1)
    parts = group_folds(groups, n_parts, np.random.default_rng(SEED))
    once = np.isin(np.arange(problem.n), np.unique(groups, return_index=True)[1])
    near = replace(parameters, start=np.clip(vector, parameters.low, parameters.high))
    squares = []
    for number in range(n_parts):
        meter(number, n_parts)
        others, held = np.flatnonzero(parts != number), np.flatnonzero((parts == number) & once)
        kernel, noise = parameters.setting(_without(problem.part(others), near))
        alone = problem.part(np.append(others, held))
        found = leave_one_out(ExactEngine().posterior(alone, kernel, noise).factor, alone.columns, alone.n_targets)
        squares.append(found.residuals[len(others) :] ** 2 / found.variance[len(others) :, None])
    known = np.vstack(squares)
    known = known[np.isfinite(known).all(axis=1)]
    return np.sqrt(known.mean(axis=0)) if len(known) else np.ones(problem.n_targets)


def _without(problem: GPProblem, parameters: GPParameters) -> Floats:  # -> (p,)
    """The hyper-parameters of some rows, found from those of all rows."""
    try:
        return climb(
            problem, parameters, ExactEngine(), n_restarts=0, seed=0, tol=TOLERANCE, max_iter=STEPS, meter=Meter("", False)
        ).vector
    except NumericalError:
        return parameters.start


def _groups(problem: GPProblem) -> Indices:  # -> (n,)
    """A number for each row, the same for equal rows with equal targets."""
    digests, targets = row_digests(problem.X), row_digests(problem.columns)
    if digests is None or targets is None:
        return np.arange(problem.n)
    both: Array = np.char.add(digests, targets)
    return np.unique(both, return_inverse=True)[1].ravel()
