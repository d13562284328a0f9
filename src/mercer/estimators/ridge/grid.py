"""Ridge on an equispaced grid of frequencies: the normal equations are Toeplitz, and solved without the rows.

With Phi_ij = weight_j e^(2 pi i h j'x_i) the fit is (D T D + alpha I) beta = D F*y. T and F*y do not depend on the kernel
while the grid stays, so that a search over length scales and penalties no longer depends on the number of rows. Single
leverages would need a solve per row: their mean tr H / n is estimated by random vectors, and r_i / (1 - tr H / n) stands for
the leave-one-out residual (generalized cross-validation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.problem import Diagnosis, RidgeData, RidgeFit, RidgeProblem, by_mean_leverage
from mercer.estimators.ridge.surface import assemble
from mercer.grams.fourier_grid import FEW_FREQUENCIES, FourierGrid, GridFactor, ToeplitzSystem, grid_for, grid_traces
from mercer.kernels.base import Kernel
from mercer.linalg.conjugate_gradient import Progress, conjugate_gradient
from mercer.linalg.solution import Solution
from mercer.planning import Route, Shape, gemm_rate
from mercer.selection.folds import random_folds
from mercer.selection.scoring import Scores, Scoring, over_folds
from mercer.selection.surface import PenaltyAxis, Splits, Surface

#: Residuals of the system below this are far below the error of the grid; steps of few frequencies cost nothing.
TOLERANCE, FINE = 1e-5, 1e-8

#: Tolerance while parameters are searched for.
SEARCH_TOLERANCE = 1e-4

#: Random vectors for the trace of the hat matrix.
PROBES = 8

#: Folds that replace leave-one-out if the trace is too expensive.
FOLDS = 5


def grid_route(shape: Shape, frequencies: int) -> Route:
    """Return memory and time of a grid of frequencies; its transform uses a grid twice as fine in every column."""
    n, t, d, M = shape.n, shape.n_targets, shape.width, frequencies
    padded = 2**d * M
    needed = 16 * 2**d * padded + 24 * padded + 8 * M * (10 + 6 * t) + 8 * n * (2 * d + 2 * t + 6)
    work = 60.0 * (t + 1) * 10.0 * padded * float(np.log2(max(padded, 2)))
    seconds = work / (0.1 * gemm_rate()) + 1e-8 * 8.0**d * n * (t + 3)  # a row touches some points per column
    return Route("fourier", int(needed), seconds, f"{M} frequencies on a grid, the rows transformed", exact=False)


def grid_of(problem: RidgeProblem) -> FourierGrid:
    """The grid of a problem, from the box of its rows."""
    if np.any(problem.alpha == 0):
        raise InputError('solver="fourier" needs alpha > 0: features that stand for the kernel have no exact interpolant.')
    if problem.features is not None:
        return problem.features
    low, high = (np.asarray(edge, dtype=np.float64) for edge in (problem.X.min(axis=0), problem.X.max(axis=0)))
    return grid_for([problem.kernel], low, high)[0]


class GridRows:
    """Two transforms of the rows, which serve every kernel on the same grid."""

    def __init__(self, grid: FourierGrid, X: Any, Y: Array, weights: Array | None, fit_intercept: bool) -> None:
        self.n, self.fit_intercept = len(Y), fit_intercept
        self.weights = np.ones(len(Y)) if weights is None else weights
        targets = Y.reshape(len(Y), -1)
        strengths = (self.weights[:, None] * targets).T  # (t, n)
        if fit_intercept:
            strengths = np.vstack([strengths, self.weights])
        self.moments = grid.adjoint(X, strengths).reshape(len(strengths), -1)  # (t | t + 1, M)
        self.system = ToeplitzSystem(grid.adjoint(X, self.weights[None], doubled=True)[0], grid)
        self.sums = self.weights @ targets  # (t,)
        self.squares = self.weights @ targets**2  # (t,)
        self.total = float(self.weights.sum())

    def solve(
        self, grid: FourierGrid, alpha: float, tol: float, max_iter: int | None, watch: Callable[[Progress], None] | None
    ) -> tuple[Array, Array, Solution]:  # -> beta (t, M), intercept (t,)
        """The weights of the features of a grid, and the intercept."""
        rhs = grid.pack(grid.weights * self.moments)
        solution = conjugate_gradient(
            self.system.with_grid(grid), rhs, shift=alpha, tol=tol, max_iter=max_iter or 2000, callback=watch
        )
        if not self.fit_intercept:
            beta = grid.unpack(solution.value)
            return beta, np.zeros(len(beta)), solution
        ones, own = solution.value[:, -1], rhs[:, -1]
        intercept = (self.sums - own @ solution.value[:, :-1]) / (self.total - own @ ones)
        beta = grid.unpack(solution.value[:, :-1] - np.outer(ones, intercept))
        return beta, intercept, solution

    def residual_squares(self, grid: FourierGrid, beta: Array, intercept: Array) -> Array:  # -> (t,)
        """sum_i w_i (y_i - f(x_i))^2 from the sums alone."""
        flat, moments = grid.pack(beta), grid.pack(grid.weights * self.moments)
        fitted = np.sum(flat * (self.system.with_grid(grid) @ flat), axis=0)
        found = self.squares - 2.0 * np.sum(flat * moments[:, : len(beta)], axis=0) + fitted
        if self.fit_intercept:
            found += intercept * (intercept * self.total - 2.0 * self.sums + 2.0 * moments[:, -1] @ flat)
        return np.maximum(found, 0.0)

    def without(self, part: GridRows) -> GridRows:
        """The sums without some of the rows."""
        left = copy(self)
        left.n = self.n - part.n
        left.moments, left.sums = self.moments - part.moments, self.sums - part.sums
        left.squares, left.total = self.squares - part.squares, self.total - part.total
        left.system = self.system.without(part.system)
        return left

    def traced(self, grid: FourierGrid, alpha: float) -> bool:
        """Whether the trace of the hat matrix is exact, or random vectors for it cost little."""
        few = len(grid.weights) <= FEW_FREQUENCIES
        return few or GridFactor.matter(self.system.with_grid(grid), alpha) is not None

    def effective_dof(self, grid: FourierGrid, alpha: float, probes: int, tol: float) -> float:
        """tr (D T D)(D T D + alpha I)^-1, plus 1 with an intercept."""
        system = self.system.with_grid(grid)
        factor = GridFactor.of(system, alpha)
        inverse = grid_traces(system, alpha, probes, tol)[1] if factor is None else factor.traces()[1]
        return float(np.clip(1.0 - alpha * inverse, 0.0, 1.0).sum()) + float(self.fit_intercept)


def fit_grid(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    """Solve on the grid of a problem."""
    grid = grid_of(problem)
    rows = GridRows(grid, problem.X, problem.Y, problem.weights, problem.fit_intercept)
    Y = problem.Y.reshape(problem.n, -1)
    beta, intercept = np.empty((Y.shape[1], len(grid.weights)), np.complex128), np.empty(Y.shape[1])

    def watch(state: Progress) -> None:
        meter(state.n_iter, state.max_iter)

    solutions, enough = [], FINE if len(grid.weights) <= FEW_FREQUENCIES else TOLERANCE
    for alpha in np.unique(problem.alpha):
        mine = np.broadcast_to(problem.alpha == alpha, Y.shape[1:])
        found = rows.solve(grid, float(alpha), max(problem.tol, enough), problem.max_iter, watch)
        beta[mine], intercept[mine] = found[0][mine], found[1][mine]
        solutions.append(found[2])
    coefficients = beta * grid.weights
    residuals = Y - grid.values(problem.X, coefficients) - intercept
    dual = rows.weights[:, None] * residuals / problem.alpha
    shape = problem.Y.shape
    note = f"{solutions[-1].message}; the kernel is off by {grid.missed:.1e} at lag zero"
    return RidgeFit(
        dual.reshape(shape), intercept.reshape(shape[1:]), residuals.reshape(shape),
        np.sum(np.abs(beta) ** 2, axis=1).reshape(shape[1:]), 0.0, all(s.converged for s in solutions),
        max(s.n_iter for s in solutions), note, weights=coefficients.T.reshape(-1, *shape[1:]), features=grid,
    )  # fmt: skip


def predict_grid(grid: FourierGrid, X: Any, coefficients: Array, intercept: Any) -> Array:
    """f at new rows."""
    values = grid.values(np.asarray(X), coefficients.reshape(len(grid.weights), -1).T) + intercept
    return values if coefficients.ndim == 2 else values[:, 0]


def diagnose_grid(problem: RidgeProblem, residuals: Array) -> Diagnosis:
    """Leave-one-out residuals and leverages with the mean leverage for every row."""
    grid = grid_of(problem)
    rows = GridRows(grid, problem.X, problem.Y, problem.weights, problem.fit_intercept)
    Y = problem.Y.reshape(problem.n, -1)
    dof = np.empty(Y.shape[1])
    for alpha in np.unique(problem.alpha):
        mine = np.broadcast_to(problem.alpha == alpha, Y.shape[1:])
        dof[mine] = rows.effective_dof(grid, float(alpha), PROBES, 1e-3)
    return by_mean_leverage(problem, residuals, dof)


def grid_surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: RidgeData,
    axis: PenaltyAxis,
    scoring: Scoring,
    step: Callable[[int, int], None],
) -> Surface:
    """Scores of every kernel and alpha on one grid: squared errors follow from sums over the rows, which are made once.

    Leave-one-out is generalized cross-validation where the frequencies that matter are few enough for an exact trace.
    Otherwise random vectors would take hundreds of times as long as the fit, and folds, whose sums add up to those of all
    rows, measure the same error.
    """
    low, high = (np.asarray(edge, dtype=np.float64) for edge in (data.X.min(axis=0), data.X.max(axis=0)))
    grids = grid_for(kernels, low, high)
    rows = GridRows(grids[0], data.X, data.Y, data.weights, data.fit_intercept)
    how, splits = "", data.splits
    if splits is None and not all(rows.traced(grid, float(axis.values.min())) for grid in grids):
        splits = _folds(len(data.Y))
        how = f"{FOLDS} splits, in place of leave-one-out with {len(grids[0].weights)} frequencies,"
    if splits is None:
        found = []
        for number, grid in enumerate(grids):
            found.append(_generalized(rows, grid, axis.values, data, scoring))
            step(number + 1, len(grids))
    else:
        found = _by_folds(rows, grids, axis.values, data, splits, scoring, step)
    return replace(assemble(params, kernels, axis, found, "fourier", scoring.name), how=how)


def _generalized(rows: GridRows, grid: FourierGrid, alphas: Array, data: RidgeData, scoring: Scoring) -> Scores:
    """Generalized cross-validation at every alpha."""
    squares, held = np.empty((len(alphas), len(rows.sums))), []
    for j, alpha in enumerate(alphas):
        beta, intercept, _ = rows.solve(grid, float(alpha), SEARCH_TOLERANCE, None, None)
        share = max(1.0 - rows.effective_dof(grid, float(alpha), PROBES, SEARCH_TOLERANCE) / rows.total, 1e-6)
        if scoring.squared:
            squares[j] = rows.residual_squares(grid, beta, intercept) / rows.total / share**2
        else:
            held.append(residuals_on_grid(grid, beta, intercept, data.X, data.Y) / share)
    if not scoring.squared:
        return scoring.evaluate(data.Y, [np.stack(held)], [np.arange(rows.n)], rows.weights, leave_one_out=True)
    mean = -squares.reshape(len(alphas), *data.Y.shape[1:])
    deviation = np.abs(mean) * 2.0**0.5  # of squares of normal residuals
    return scoring.of_squares(Scores(mean, deviation / rows.total**0.5, deviation, None))


def _by_folds(
    rows: GridRows,
    grids: Sequence[FourierGrid],
    alphas: Array,
    data: RidgeData,
    splits: Splits,
    scoring: Scoring,
    step: Callable[[int, int], None],
) -> list[Scores]:
    """Scores on held-out rows, one split after the other: the sums of a test part taken from those of all rows."""
    values: list[list[Array]] = [[] for _ in grids]
    for number, (train, test) in enumerate(splits):
        held = GridRows(grids[0], data.X[test], data.Y[test], rows.weights[test], data.fit_intercept)
        if data.closed_form:
            learned = rows.without(held)
        else:
            learned = GridRows(grids[0], data.X[train], data.Y[train], rows.weights[train], data.fit_intercept)
        for i, grid in enumerate(grids):
            found = []
            for alpha in alphas:
                beta, intercept, _ = learned.solve(grid, float(alpha), SEARCH_TOLERANCE, None, None)
                if scoring.squared:
                    mean = held.residual_squares(grid, beta, intercept) / held.total
                    found.append(-mean.reshape(data.Y.shape[1:]))
                else:
                    errors = residuals_on_grid(grid, beta, intercept, data.X[test], data.Y[test])[None]
                    own = [np.arange(len(test))]
                    found.append(scoring.evaluate(data.Y[test], [errors], own, held.weights, leave_one_out=False).mean[0])
            values[i].append(np.stack(found))
            step(number * len(grids) + i + 1, len(splits) * len(grids))
    scores = [over_folds(np.stack(parts)) for parts in values]
    return [scoring.of_squares(score) if scoring.squared else score for score in scores]


def residuals_on_grid(grid: FourierGrid, beta: Array, intercept: Array, X: Any, Y: Array) -> Array:  # -> (n, *t)
    """y - f at some rows."""
    values = grid.values(np.asarray(X), beta * grid.weights) + intercept
    return Y - values.reshape(Y.shape)


def _folds(n: int) -> Splits:
    """(train, test) rows of FOLDS seeded random folds."""
    place = random_folds(n, FOLDS, np.random.default_rng(0))
    return tuple((np.flatnonzero(place != fold), np.flatnonzero(place == fold)) for fold in range(FOLDS))
