"""Ridge on an equispaced grid of frequencies: the normal equations are Toeplitz, and solved without the rows.

With Phi_ij = weight_j e^(2 pi i h j'x_i) the fit is (D T D + alpha I) beta = D F*y. T and F*y do not depend on the kernel
while the grid stays, so that a search over length scales and penalties no longer depends on the number of rows. Single
leverages would need a solve per row: their mean tr H / n is estimated by random vectors, and r_i / (1 - tr H / n) stands for
the leave-one-out residual (generalized cross-validation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.problem import Array, Diagnosis, Problem, RidgeFit
from mercer.estimators.ridge.surface import Data
from mercer.gram.fourier_grid import FEW_FREQUENCIES, FourierGrid, GridFactor, ToeplitzSystem, grid_for, grid_traces
from mercer.kernels.base import Kernel
from mercer.linalg.conjugate_gradient import Progress, conjugate_gradient
from mercer.linalg.solution import Solution
from mercer.plan import Route, Shape, gemm_rate
from mercer.selection.scoring import Scoring
from mercer.selection.surface import PenaltyAxis, Surface, over_targets

#: Residuals of the system below this are far below the error of the grid; steps of few frequencies cost nothing.
TOLERANCE, FINE = 1e-5, 1e-8

#: While parameters are searched for, this will do.
SEARCH_TOLERANCE = 1e-4

#: Random vectors for the trace of the hat matrix.
PROBES = 8
SEARCH_PROBES = 4


def grid_route(shape: Shape, frequencies: int) -> Route:
    """What a grid of frequencies takes: its transform is made on a grid twice as fine in every column."""
    n, t, d, M = shape.n, shape.n_targets, shape.width, frequencies
    padded = 2**d * M
    needed = 16 * 2**d * padded + 24 * padded + 8 * M * (10 + 6 * t) + 8 * n * (2 * d + 2 * t + 6)
    work = 60.0 * (t + 1) * 10.0 * padded * float(np.log2(max(padded, 2)))
    seconds = work / (0.1 * gemm_rate()) + 2e-7 * 2.0**d * n * (t + 3)
    return Route("fourier", int(needed), seconds, f"{M} frequencies on a grid, the rows transformed", exact=False)


def grid_of(problem: Problem) -> FourierGrid:
    """The grid of a problem, from the box of its rows."""
    if problem.features is not None:
        return problem.features
    low, high = (np.asarray(edge, dtype=np.float64) for edge in (problem.X.min(axis=0), problem.X.max(axis=0)))
    return grid_for([problem.kernel], low, high)[0]


class GridRows:
    """What a grid needs to know of the rows: two transforms, whatever the kernel."""

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

    def effective_dof(self, grid: FourierGrid, alpha: float, probes: int, tol: float) -> float:
        """tr (D T D)(D T D + alpha I)^-1, plus 1 with an intercept."""
        system = self.system.with_grid(grid)
        factor = GridFactor.of(system, alpha)
        inverse = grid_traces(system, alpha, probes, tol)[1] if factor is None else factor.traces()[1]
        return float(np.clip(1.0 - alpha * inverse, 0.0, 1.0).sum()) + float(self.fit_intercept)


def fit_grid(problem: Problem, meter: Meter) -> RidgeFit:
    """Solve on the grid of a problem."""
    if np.any(problem.alpha == 0):
        raise InputError('solver="fourier" needs alpha > 0: features that stand for the kernel have no exact interpolant.')
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


def diagnose_grid(problem: Problem, residuals: Array) -> Diagnosis:
    """Leave-one-out residuals and leverages with the mean leverage for every row."""
    grid = grid_of(problem)
    rows = GridRows(grid, problem.X, problem.Y, problem.weights, problem.fit_intercept)
    Y = problem.Y.reshape(problem.n, -1)
    dof = np.empty(Y.shape[1])
    for alpha in np.unique(problem.alpha):
        mine = np.broadcast_to(problem.alpha == alpha, Y.shape[1:])
        dof[mine] = rows.effective_dof(grid, float(alpha), PROBES, 1e-3)
    share = rows.weights[:, None] * dof / rows.total  # a weight counts a row that often
    loo = residuals.reshape(Y.shape) / (1.0 - share)
    leverage = share if problem.alpha.ndim else share[:, 0]
    return Diagnosis(loo.reshape(problem.Y.shape), leverage, dof if problem.alpha.ndim else float(dof[0]))


def grid_surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: Data,
    axis: PenaltyAxis,
    scoring: Scoring,
    step: Callable[[int, int], None],
) -> Surface:
    """Generalized cross-validation of every kernel and alpha on one grid: after two transforms, nothing depends on n."""
    if scoring.name != "neg_mean_squared_error":
        raise InputError(f"a search on a grid of frequencies scores by squared error; got scoring={scoring.name!r}.")
    low, high = (np.asarray(edge, dtype=np.float64) for edge in (data.X.min(axis=0), data.X.max(axis=0)))
    grids = grid_for(kernels, low, high)
    rows = GridRows(grids[0], data.X, data.Y, data.weights, data.fit_intercept)
    scores = np.empty((len(kernels), len(axis.values), len(rows.sums)))
    for i, grid in enumerate(grids):
        for j, alpha in enumerate(axis.values):
            beta, intercept, _ = rows.solve(grid, float(alpha), SEARCH_TOLERANCE, None, None)
            dof = rows.effective_dof(grid, float(alpha), SEARCH_PROBES, 10 * SEARCH_TOLERANCE)
            mean_square = rows.residual_squares(grid, beta, intercept) / rows.total
            scores[i, j] = -mean_square / max(1.0 - dof / rows.total, 1e-6) ** 2
        step(i + 1, len(kernels))
    found = scores[:, :, 0] if data.Y.ndim == 1 else scores
    errors = np.abs(found) * np.sqrt(2.0 / rows.total)  # of a mean of squares of normal residuals
    deviations = over_targets(errors * np.sqrt(rows.total))
    return Surface(tuple(params), tuple(kernels), axis, found, errors, "fourier", scoring.name, deviations)
