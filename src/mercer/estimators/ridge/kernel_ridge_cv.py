"""Kernel ridge regression that chooses its own alpha and kernel parameters on the exact cross-validated surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError, install_command
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet
from mercer.estimators.progress import Meter
from mercer.estimators.ridge import surface as ridge_surface
from mercer.estimators.ridge.grid_narrowing import dense_kernel, grid_seconds, narrow_grid
from mercer.estimators.ridge.kernel_ridge import RidgeFacts, RidgeModel
from mercer.estimators.ridge.large import BLOCK_NUMBERS, components, fit_sums, large_route, large_surface
from mercer.estimators.ridge.large import SURFACES as LARGE
from mercer.estimators.ridge.narrowing import (
    FINE_ROWS,
    LANDMARK_ROWS,
    MOST_EXACT,
    SCORED_ROWS,
    Narrowed,
    ScoredGrid,
    narrow_exact,
    narrow_landmarks,
    narrowed_seconds,
)
from mercer.estimators.ridge.problem import Choice, RidgeData, SolvedRidge
from mercer.estimators.ridge.routes import chunk_routes, fit_ridge, ridge_routes
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.fourier_grid import MOST_COLUMNS, frequencies_for, has_grid, has_transform
from mercer.inputs import Rows, widened
from mercer.kernels.base import Kernel
from mercer.kernels.fields import MEDIAN
from mercer.numeric.memory import within
from mercer.planning import LOADING, Route, Shape, gemm_rate
from mercer.registry import estimator
from mercer.selection.scoring import Scoring, as_scoring
from mercer.selection.surface import (
    SAMPLE,
    Surface,
    alpha_axis,
    choose_per_target,
    choose_point,
    length_scale_paths,
    read_grid,
    read_splits,
    tabulate,
)

#: Up to this many rows a budget that no exact route fits is an error, as the data are small enough to do better.
FEWEST_ROWS = 10_000

#: The solver that computes the exact surface on all rows, however many there are.
EXACT = "exact"


class TunedRidge(RidgeFacts):
    """Abstract: a ridge that can choose alpha and kernel parameters on a cross-validated surface."""

    _stored: ClassVar[dict[str, str]] = {
        "surface_": "absent | a Surface",
        "best_index_": "absent | each _: int | array",
        "best_alpha_": "absent | real | array",
        "best_params_": "absent | a dict",
        "best_length_scale_": "absent | None | real | array | each _: real",
        "best_score_": "absent | real | array",
        "cv_results_": "absent | a dict",
    }

    alphas: Sequence[float] | None
    length_scales: Sequence[float] | None
    param_grid: Mapping[str, Sequence[Any]] | None
    cv: Any
    n_components: int | None
    rule: str = "best"
    alpha_per_target: bool = False

    def _tune(self, kernel: Kernel, data: RidgeData, scoring: Scoring, route: Route, meter: Meter) -> SolvedRidge:
        """Compute the surface, choose a point on it, and fit there on all rows."""
        narrowed = self._narrowed(kernel, data, scoring, route, meter)
        if narrowed is None and self._compares_groups(route, data):
            route = replace(route, solver="eigh")
        surface = self._explore(kernel, data, scoring, route, meter) if narrowed is None else narrowed.surface
        row, column = index = choose_point(surface, self.rule)
        alpha = np.asarray(surface.alphas[column])
        loo = None if surface.loo is None else surface.loo[row, column]
        if self.alpha_per_target and data.Y.ndim == 2:
            columns = choose_per_target(surface, row)
            alpha = surface.alphas[columns]
            loo = None if surface.loo is None else np.stack([surface.loo[row, c, :, j] for j, c in enumerate(columns)], 1)
        solver = surface.route if surface.route in ("primal", *LARGE) else "eigh" if alpha.min() == 0 else "cholesky"
        problem = data.problem(surface.kernels[row], alpha, n_components=self.n_components)
        summed = narrowed.fits[row] if narrowed is not None and narrowed.fits else None
        reason = f"surface of {len(surface.kernels)} kernels x {len(surface.alphas)} alphas by {surface.route}, then one fit"
        taken = Route(solver, route.bytes, 0.0, reason, route.exact, route.passes)
        fitted = fit_ridge(problem, solver, meter) if summed is None else fit_sums(problem, summed.features, summed.sums)
        return SolvedRidge(problem, fitted, loo, choice=Choice(surface, index, taken))

    def _narrowed(self, kernel: Kernel, data: RidgeData, scoring: Scoring, route: Route, meter: Meter) -> Narrowed | None:
        """Return the surface of a grid of our own on many rows, and None where all settings are compared on all rows."""
        if data.chunked or not self._narrows(len(data.Y)) or data.splits is not None or route.solver == "primal":
            return None
        grid = read_grid(kernel, None, None)
        what = ScoredGrid(grid, alpha_axis(None, kernel, data.rows), scoring, self.rule, meter)
        if route.solver == "fourier" and has_grid(kernel, data.X.shape[1]):
            return narrow_grid(what, data)
        if route.solver in LARGE:
            return narrow_landmarks(what, data, route.solver, self.n_components)
        return narrow_exact(what, data) if route.solver == "cholesky" else None

    def _compares_groups(self, route: Route, data: RidgeData) -> bool:
        """Whether groups, unknown when the route was chosen, need the surface of all rows, and eigenvectors fit for it."""
        n = len(data.Y)
        own = route.solver == "cholesky" and self._narrows(n) and data.splits is not None
        return own and within(ridge_surface.route_bytes("eigh", n, None), self.memory)

    def _narrows(self, n: int) -> bool:
        """Whether settings are compared on fewer rows first: only grids of our own, on many rows, by leave-one-out."""
        given = any(g is not None for g in (self.alphas, self.length_scales, self.param_grid))
        return n > MOST_EXACT and not given and self.cv is None and self.solver != EXACT

    def _explore(self, kernel: Kernel, data: RidgeData, scoring: Scoring, route: Route, meter: Meter) -> Surface:
        """Return the scores of every kernel setting and alpha."""
        grid = read_grid(kernel, self.length_scales, self.param_grid)
        axis = alpha_axis(self.alphas, kernel, data.rows)

        def evaluate(settings: list[dict[str, Any]], part: RidgeData) -> Surface:
            kernels = [kernel.set_params(**params) for params in settings]
            if route.solver in LARGE:
                return large_surface(settings, kernels, part, axis, scoring, route.solver, self.n_components, meter)
            return ridge_surface.surface(settings, kernels, part, axis, scoring, route.solver, meter)

        return grid.explore(evaluate, data, self.rule)

    def _store(self, data: TrainingSet, solution: SolvedRidge) -> None:
        super()._store(data, solution)
        choice = solution.choice
        if choice is None:
            return
        surface, (row, _) = choice.surface, choice.index
        self.route_, self.surface_, self.best_index_ = choice.route, surface, choice.index
        self.best_alpha_ = solution.problem.alpha[()]
        self.best_params_ = {**surface.params[row], "alpha": self.best_alpha_}
        scales = [surface.kernels[row].get_params()[path] for path in length_scale_paths(surface.kernels[row])]
        self.best_length_scale_ = scales[0] if len(scales) == 1 else None
        self.best_score_ = float(surface.mean_scores[choice.index])
        self.cv_results_ = tabulate(surface)

    def _surface_routes(self, shape: Shape) -> tuple[Route, ...]:
        """Return the routes to a surface: explicit features if they are few, else by the number of alphas and by memory."""
        alphas = np.ones(21) if self.alphas is None else np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        best = ridge_surface.route_for(alphas, shape.n, shape.n_features, self.cv is None)
        n, d, rate = float(shape.n), float(shape.n_features or 1), gemm_rate()
        factor = 1.0 if self.cv is None else 1.7  # folds need the whole inverse, leave-one-out its diagonal
        flops = {"primal": 10 * n * d**2, "tridiagonal": 6 * n**3, "eigh": 9 * n**3, "cholesky": len(alphas) * factor * n**3}
        settings = self._n_settings()
        reason = f"{len(alphas)} alphas per kernel setting; seconds are for {settings} settings"
        narrows = self._narrows(shape.n)
        if self.solver in LARGE:
            return (self._feature_route(len(alphas), shape, self.solver, narrows),)
        if narrows and best != "primal":
            far = "nystroem" if shape.n_frequencies is None else "fourier"
            return (self._narrow_route(shape), self._feature_route(len(alphas), shape, far, narrows))
        names = [best] if best == "primal" else [best, *[name for name in ("eigh", "cholesky") if name != best]]
        size = {name: ridge_surface.route_bytes(name, shape.n, shape.n_features) for name in names}
        exact = tuple(Route(name, size[name], settings * flops[name] / rate, reason) for name in names)
        if shape.n <= FEWEST_ROWS or alphas.min() <= 0:
            return exact
        if self.solver == EXACT:
            return exact
        return (*exact, self._feature_route(len(alphas), shape, "nystroem"))

    def _narrow_route(self, shape: Shape) -> Route:
        """Return the route of an exact fit whose parameters are chosen on some of the rows."""
        (fit,) = ridge_routes(shape, "cholesky", False)
        reason = f'settings compared on {SAMPLE} and {FINE_ROWS} rows, then one factorization; solver="exact" compares all'
        seconds = narrowed_seconds(self._n_settings()) + fit.seconds
        return replace(fit, seconds=seconds, reason=reason)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X, y)
        own = self.solver in ("auto", "fourier") and self._narrows(shape.n) and shape.width <= MOST_COLUMNS
        if not own or not has_transform() or (self.solver == "auto" and within(8 * shape.n**2, self.memory)):
            return shape
        kernel, data = self._resolved(X), np.asarray(X)
        if not has_grid(kernel, shape.width):
            return shape
        part = RidgeData(Rows(data), np.empty(shape.n), None, True)
        return replace(shape, n_frequencies=frequencies_for([dense_kernel(read_grid(kernel, None, None), part)], data))

    def _n_settings(self) -> int:
        """Return how many kernels the grid compares; 10 if the length scales will be chosen from the data."""
        if self.param_grid is not None:
            return prod(len(values) for values in self.param_grid.values())
        return 10 if self.length_scales is None else len(self.length_scales)

    def _feature_route(self, n_alphas: int, shape: Shape, solver: str, narrows: bool = False) -> Route:
        """Return the route by features: two passes per kernel setting, and the residuals of every alpha."""
        route = large_route(solver, shape, self.n_components)
        if narrows and shape.n_frequencies is not None:
            reason = f"{route.reason}; settings compared on {SAMPLE} rows and in neighborhoods, the best on all rows"
            return replace(route, seconds=grid_seconds(shape, self._n_settings(), route) + route.seconds, reason=reason)
        if narrows:
            few = large_route(solver, replace(shape, n=min(shape.n, LANDMARK_ROWS)), self.n_components)
            reason = f"{route.reason}; settings compared on {SAMPLE} and {min(shape.n, LANDMARK_ROWS)} rows before"
            if solver == "nystroem" and shape.width <= MOST_COLUMNS and not has_transform():
                reason += f"; a grid of frequencies needs {install_command('large')}"
            scored = 8 * n_alphas * SCORED_ROWS * (2 + 4 * shape.n_targets)
            seconds = narrowed_seconds(self._n_settings(), few, components(shape, self.n_components)) + route.seconds
            return replace(route, bytes=route.bytes + scored, seconds=seconds, reason=reason)
        n_components, settings = components(shape, self.n_components), self._n_settings()
        reason = f"{route.reason}, twice per kernel setting; seconds are for {settings} settings"
        turned = 16 * min(shape.n * n_components, BLOCK_NUMBERS)  # a block of features in the basis of eigenvectors, twice
        held = route.bytes + turned + 8 * (n_alphas + 2) * shape.n * shape.n_targets
        return replace(route, bytes=held, seconds=LOADING + 3 * settings * (route.seconds - LOADING), reason=reason)


@estimator
class KernelRidgeCV(TunedRidge, RidgeModel):
    """Kernel ridge regression with alpha and kernel parameters chosen by exact cross-validation.

    One decomposition per kernel setting gives every alpha and every held-out residual in closed form: no refits.
    `KernelRidgeCV().fit(X, y)` needs no argument: length scales in steps of sqrt(2) around the median distance, alphas over
    ten orders of magnitude, exact leave-one-out, an intercept.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    alphas : sequence of floats, optional
    length_scales : sequence of floats, optional
        Replace the single length scale of the kernel; for several, use param_grid={"0__length_scale": […], …}.
    param_grid : dict of parameter name to values, optional
        Any kernel parameters, by the names of kernel.get_params(), all combinations.
    cv : None, int, or a splitter, optional
        None is exact leave-one-out, m is m-fold. With `fit(..., groups=)` groups are never split: None is exact
        leave-one-group-out, m is m folds of whole groups. For rows in time order give TimeSeriesSplit.
    scoring : None, name or function, optional
        None is the negative mean squared error.
    fit_intercept : bool or None
        None fits one when the grids are chosen from the data, and none when they are given, so that given grids mean
        exactly KernelRidge(kernel, alpha=…).
    rule : "best" or "one_standard_error"
        The second takes the largest alpha whose score is within one standard error of the best.
    alpha_per_target : bool
        Choose an alpha for every target.
    solver : "auto", "exact", "nystroem" or "fourier"
        "auto" takes the exact surface where its matrix fits `memory`, else landmarks with exact leave-one-out of their own.
        On more than 5,000 rows a grid of its own choosing is compared on some of the rows first: all settings on 2,000, and
        those that can still win (within two standard errors) on 3,400, or with landmarks on 20,000 and then on all rows.
        `cv_results_["n_rows"]` says on how many each was scored. "exact" compares all of them on all rows.
    n_components, memory, verbose : as in KernelRidge.

    Attributes
    ----------
    best_alpha_, best_length_scale_, best_params_, best_score_, cv_results_, surface_, loo_residuals_ and all of KernelRidge.

    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> model = KernelRidgeCV().fit(X, np.sin(X[:, 0]))
    >>> bool(np.sqrt(np.mean(model.loo_residuals_**2)) < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        alphas: Sequence[float] | None = None,
        length_scales: Sequence[float] | None = None,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool | None = None,
        rule: str = "best",
        alpha_per_target: bool = False,
        solver: str = "auto",
        n_components: int | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.alphas = alphas
        self.length_scales = length_scales
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.rule = rule
        self.alpha_per_target = alpha_per_target
        self.solver = solver
        self.n_components = n_components
        self.memory = memory
        self.verbose = verbose

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> KernelRidgeCV:
        """Compute the surface, choose, and fit on all rows."""
        return self._fit(X, y, sample_weight, groups=groups)

    def _check_parameters(self) -> None:
        if self.rule not in ("best", "one_standard_error"):
            raise InputError(f'rule must be "best" or "one_standard_error"; got {self.rule!r}.')
        if self.solver not in ("auto", EXACT, *LARGE):
            names = ", ".join(("auto", EXACT, *LARGE))
            raise InputError(f"solver must be one of {names} for a surface; got {self.solver!r}.")

    def _read(self, X: Any, reset: bool) -> Any:
        # small alphas drown in the rounding of a float32 Gram
        return widened(super()._read(X, reset)) if reset else super()._read(X, reset)

    def _read_y(self, y: Any, n: int) -> Floats:
        if n < 2:
            raise InputError(f"{type(self).__name__} needs at least two rows to hold one out; got n_samples = {n}.")
        return super()._read_y(y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> SolvedRidge:
        splits = None if data.chunked else read_splits(self.cv, data.X, data.y, data.more["groups"])
        part = RidgeData(data.rows, data.y, data.weights, self._intercept(), splits)
        return self._tune(data.kernel, part, as_scoring(self.scoring), route, meter)

    def _explore(self, kernel: Kernel, data: RidgeData, scoring: Scoring, route: Route, meter: Meter) -> Surface:
        """Leave-one-out leaves out equal rows together: a copy of a held-out row must not be in the training part."""
        distinct = data.distinct()
        surface = super()._explore(kernel, distinct, scoring, route, meter)
        return surface if distinct is data else replace(surface, loo=None)

    def _intercept(self) -> bool:
        given = any(g is not None for g in (self.alphas, self.length_scales, self.param_grid))
        return not given if self.fit_intercept is None else bool(self.fit_intercept)

    def _compared(self) -> tuple[Sequence[Kernel], Array] | None:
        alphas = self.surface_.alphas
        return None if self.surface_.route in LARGE or alphas.min() <= 0 else (self.surface_.kernels, alphas)

    def _kernels_on_grid(self, X: Any) -> list[Kernel]:
        kernel = self._resolved(X)
        return [kernel.set_params(**params) for params in read_grid(kernel, self.length_scales, self.param_grid).settings]

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return self._surface_routes(shape)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        if self.cv is not None:
            raise InputError("KernelRidgeCV on chunks chooses by leave-one-out; leave cv=None.")
        if rows.once:
            raise InputError("KernelRidgeCV goes through the rows several times per kernel; an iterator is read once.")
        solver = "nystroem" if self.solver == "auto" else self.solver
        (route,) = chunk_routes(shape, rows, self._given_kernel(), solver, 1.0, self.n_components)
        kernel = self._given_kernel()
        unknown = [name for name, value in kernel.get_params().items() if isinstance(value, str) and value == MEDIAN]
        known = kernel.set_params(**dict.fromkeys(unknown, 1.0))  # any number will do to count
        grid = read_grid(known, self.length_scales, self.param_grid)
        own = grid.path is not None
        settings = 3 if own and shape.n > SAMPLE else len(grid.settings)
        each = 3 if solver == "nystroem" else 2  # landmarks, sums, held-out residuals
        passes = rows.passes_before(kernel) + int(own and shape.n > SAMPLE) + each * settings + each - 1
        return (replace(route, passes=passes, seconds=3 * settings * route.seconds),)
