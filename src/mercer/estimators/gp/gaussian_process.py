"""Gaussian process regression: kernel ridge with standard deviations, and hyper-parameters by marginal likelihood."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError, check_choice, check_number, check_whole, describe
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted, whole_or_nothing
from mercer.estimators.gp.chunked import ChunkedProblem
from mercer.estimators.gp.diagnosis import diagnose_fit, log_likelihood
from mercer.estimators.gp.exact import ExactEngine, condition
from mercer.estimators.gp.fourier import check_kernel
from mercer.estimators.gp.laplace import FAMILIES, LaplaceEngine, check_mode, read_exposure
from mercer.estimators.gp.latent_regression import LIKELIHOODS, LatentFit, latent_targets, read_latent_y
from mercer.estimators.gp.model import GaussianProcessModel, ProcessFit, ReadProcess
from mercer.estimators.gp.problem import (
    AnyProblem,
    EngineSettings,
    GPParameters,
    GPProblem,
    MeanFunction,
    SummedProblem,
    TargetUnits,
    read_parameters,
)
from mercer.estimators.gp.routes import announce, chunk_route, engine, gp_routes, laplace_route, task_routes
from mercer.estimators.gp.search import Climb, climb, further_starts
from mercer.estimators.gp.tasks import TaskTargets, is_product, named, pair_kernel, pairs
from mercer.estimators.progress import Meter
from mercer.grams import gram
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.fourier_grid import frequencies_for
from mercer.inputs import Rows, append, columns_of, count, take
from mercer.inputs.chunks import ReadTargets
from mercer.inputs.targets import read_targets
from mercer.kernels.base import Kernel
from mercer.kernels.tables.tasks import has_tasks
from mercer.linalg.cholesky import append_rows, remove_rows
from mercer.linalg.evidence import log_evidence, profile
from mercer.numeric.memory import parse_bytes
from mercer.planning import Route, Shape, choose_route
from mercer.registry import estimator


@estimator
class GaussianProcessRegressor(GaussianProcessModel):
    """Condition y = m(x) + f(x) + e, f ~ GP(0, k), e ~ N(0, noise), on rows: E f(x) = m(x) + k_x' (K + noise I)^-1 (y - m).

    The mean is that of KernelRidge with alpha = noise; the variance is k(x, x) - k_x' (K + noise I)^-1 k_x, plus the
    uncertainty of the coefficients of the mean function. Hyper-parameters maximize the log marginal likelihood
    -1/2 (y'G^-1 y + log det G + n log 2 pi), G = K + noise I, plus weak priors. X is never scaled: length scales are in
    the units of the columns. Kernel and noise are in the units of y (several targets: each divided by its standard
    deviation, unless normalize_y is False).

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
        The search starts at its positive parameters. A kernel without an overall scale gets one, unless nothing is fitted
        or `fixed` names "scale".
    noise : "fit", number >= 0 or (n,) array
        The noise variance: fitted, given, or given for every row.
    likelihood : "gaussian", "student", "poisson", "negative-binomial", "ordinal" or "censored"
        "student" is noise with outliers (4 degrees of freedom); counts have the mean exp(f) times an exposure; "ordinal"
        are ordered levels; "censored" takes y as (n, 2) bounds, equal if observed, infinite if open, with Gaussian noise.
        They use Laplace's approximation, a constant latent mean (none for mean="zero") and no scaling of y. Predictions
        and intervals are those of y; survival analysis beyond censored targets is not covered.
    noise_start : number > 0, optional
        Where the search of the noise starts, if noise="fit"; by default a tenth of the variance of y, and a
        two-hundredth in one of the further starts.
    mean : "constant", "zero" or "linear"
        m(x) is 0, b, or b + w'x; the coefficients are set to their best values by generalized least squares.
    normalize_y : bool, default True
        Subtract the average of y even if mean is "zero", and give several targets the same spread.
    n_restarts : int, default 2
        Further starts: one from the data, the others random. From 400 rows on they are compared on half, at most 400.
    bounds : dict, optional
        {"length_scale": (0.1, 10.0), "noise": (1e-4, 1.0)}: parameter paths of the kernel, "scale", "noise".
    fixed : sequence of str
        Parameters that keep their value.
    priors : "weak", None or dict
        "weak" puts a normal prior of standard deviation 3 on every logarithm, around a value taken from the data. A dict
        {"noise": (median, factor)} replaces single ones.
    optimizer : "bfgs" or None
        BFGS with bounds on the logarithms; None fits nothing.
    solver : "auto", "exact", "inducing", "vecchia" or "fourier"
        "auto" is exact up to 10,000 rows if the n x n matrix fits `memory`. "fourier" is for stationary kernels in one to
        three columns (extra "large"): the cost of its search does not depend on the number of rows.
    n_inducing, n_neighbors : int, optional
        For the solvers "inducing" and "vecchia".
    tol, max_iter : float, int
        The search ends when a step gains less than `tol` and the next one would gain less too, or after `max_iter` steps.
    memory : bytes or text such as "4 GB", optional
        Budget of the fit beyond the data; 8 GiB if not given. The exact route keeps 8 n^2 bytes, for variances.
    random_state : int, default 0
        Seeds the random starts and the choice of rows.
    verbose : bool or None

    Attributes
    ----------
    kernel_, noise_, theta_ (logarithms, in the order of theta_names_), log_marginal_likelihood_value_ (in the units of y,
    without priors), dual_coef_ (alpha_), X_fit_ (X_train_), intercept_, coef_ (of the mean function), rkhs_norm_, route_,
    jitter_, n_iter_; diagnosis_ reports how the fit went; loo_, loo_mean_, loo_std_ are computed at first use.

    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessRegressor, KernelRidge
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.sin(np.arange(8.0))
    >>> gp = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, mean="zero", normalize_y=False, optimizer=None).fit(X, y)
    >>> bool(np.allclose(gp.predict(X), KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, y).predict(X), atol=1e-12))
    True
    """

    _takes_chunks = True

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        noise: Any = "fit",
        likelihood: str = "gaussian",
        noise_start: float | None = None,
        mean: str = "constant",
        normalize_y: bool = True,
        n_restarts: int = 2,
        bounds: Any = None,
        fixed: Any = (),
        priors: Any = "weak",
        optimizer: str | None = "bfgs",
        solver: str = "auto",
        n_inducing: int | None = None,
        n_neighbors: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.likelihood = likelihood
        self.noise_start = noise_start
        self.mean = mean
        self.normalize_y = normalize_y
        self.n_restarts = n_restarts
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.optimizer = optimizer
        self.solver = solver
        self.n_inducing = n_inducing
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, noise: Any = None, exposure: Any = None) -> GaussianProcessRegressor:
        """Fit to rows X with targets y, (n,) or (n, t); `noise` (n,) gives variances per row instead of the parameter's.

        NaN in a target (n, t) is a cell that was not observed. With `Tasks()` in the kernel, such as Tasks(rank=1) *
        Gaussian("median"), the columns of y are correlated by a learned matrix, otherwise they share the kernel only.

        `exposure` (n,) multiplies the mean of counts, such as days of observation.

        Rows in `chunks` or in Dask collections are fitted through inducing rows, with two passes for every setting.
        """
        return self._fit(X, y, noise=self.noise if noise is None else noise, exposure=exposure)

    def _check_parameters(self) -> None:
        self._check_settings()

    def _read_training(self, X: Any, y: Any, sample_weight: Any, more: Mapping[str, Any]) -> TrainingSet:
        if not self._reads_cells(y):
            return super()._read_training(X, y, sample_weight, more)
        if np.ndim(more["noise"]) > 0:
            raise InputError("noise per row is not available for several tasks; give one number, or noise='fit'.")
        X = self._read(X, reset=True)
        Y = read_targets(type(self).__name__, y, count(X), holes=True)
        targets = TaskTargets.of(Y, self.mean, self.normalize_y)
        kernel = pair_kernel(named(self._given_kernel(), targets.n_tasks).resolve(X), X)
        cells = pairs(X, targets.rows, targets.tasks)
        tasked = {**more, "tasks": targets, "rows of tasks": X}
        return TrainingSet(cells, Y, None, kernel, Rows(cells), tasked)

    def _read_y(self, y: Any, n: int) -> Floats:
        if self.likelihood != "gaussian":
            return read_latent_y(type(self).__name__, self.likelihood, y, n, self.mean == "constant")
        return self._read_targets(y, n)

    def _choose_route(self, data: TrainingSet) -> Route:
        if "tasks" in data.more:
            offered = self._routes(self._shape(data.more["rows of tasks"], data.y))
            route = choose_route(offered, self.memory, type(self).__name__)
        else:
            route = super()._choose_route(data)
        announce(route, self.solver, data.n, data.chunked)
        return route

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> ProcessFit | LatentFit:
        if self.likelihood != "gaussian":
            return self._solve_latent(data, meter)
        self._refuse_exposure(data.more["exposure"])
        level, ratios = self._read_noise(data.more["noise"], data.n)
        problem: GPProblem | ChunkedProblem
        if data.chunked:
            if ratios is not None:
                raise InputError("noise per row is not available for chunks; give one number, or noise='fit'.")
            problem = ChunkedProblem.of(data.X, self.mean, self.normalize_y)
            mean, units = problem.mean, problem.units
        elif "tasks" in data.more:
            mean, units, problem = self._task_problem(data)
        else:
            Y = data.y.reshape(data.n, -1)
            mean, units = MeanFunction.of(self.mean, data.X), TargetUnits.of(Y, self.mean, self.normalize_y)
            problem = GPProblem(data.X, np.hstack([units.inside(Y), mean.columns(data.X)]), Y.shape[1], ratios)
        parameters = self._read_parameters(data.kernel, problem, level)
        way = engine(route.solver, self._settings(), data.chunked, self._n_tasks(data.more.get("tasks")))
        with _named(type(self).__name__):
            found = climb(
                problem, parameters, way, n_restarts=self.n_restarts, seed=self.random_state or 0, tol=self.tol,
                max_iter=self.max_iter, meter=meter, further=self._further_starts(problem, parameters),
            )  # fmt: skip
            posterior = way.posterior(problem, *parameters.setting(found.vector))
        return ProcessFit(mean, units, problem, parameters, found, posterior)

    def _further_starts(self, problem: GPProblem | ChunkedProblem, parameters: GPParameters) -> list[tuple[str, Floats]]:
        if self.n_restarts == 0 or not isinstance(problem, GPProblem):
            return []
        return further_starts(problem, parameters, problem.sizes()[0])

    def _task_problem(self, data: TrainingSet) -> tuple[MeanFunction, TargetUnits, GPProblem]:
        """Return the problem of the known cells of a target, whose units are kept with the tasks."""
        targets: TaskTargets = data.more["tasks"]
        X = data.more["rows of tasks"]
        mean = MeanFunction.of(self.mean, X)
        columns = np.hstack([targets.cells(data.y), targets.columns(mean, X, targets.rows, targets.tasks)])
        return mean, TargetUnits(np.zeros(1), np.ones(1)), GPProblem(data.X, columns, 1)

    def _solve_latent(self, data: TrainingSet, meter: Meter) -> LatentFit:
        """Fit another likelihood by Laplace's approximation."""
        what, kind, exposure = type(self).__name__, self.likelihood, data.more["exposure"]
        if exposure is not None and kind not in ("poisson", "negative-binomial"):
            self._refuse_exposure(exposure)
        noisy, fit = kind in ("student", "censored"), self.optimizer is not None
        level, ratios = self._read_noise(data.more["noise"], data.n) if noisy else (None, None)
        if ratios is not None or level == 0:
            raise InputError(f'{what}: likelihood={kind!r} takes noise="fit" or one number > 0.')
        start = self.noise_start if level is None else level
        targets = latent_targets(kind, data.y, read_exposure(what, exposure, data.n), start, self.mean == "constant")
        problem = targets.problem(data.X)
        names = FAMILIES[kind].names(len(targets.levels))
        held = (self.fixed,) if isinstance(self.fixed, str) else tuple(self.fixed)
        parameters = read_parameters(
            data.kernel, data.X, targets.unit, noise=None, fit=fit, bounds=self.bounds,
            fixed=(*held, "noise") if level is not None else held, priors=self.priors,
            extras=dict(zip(names, targets.values.tolist(), strict=True)),
        )  # fmt: skip
        way = LaplaceEngine()
        found = climb(
            problem, parameters, way, n_restarts=self.n_restarts, seed=self.random_state or 0, tol=self.tol,
            max_iter=self.max_iter, meter=meter, parts=lambda: LaplaceEngine(of=problem.n),
        )  # fmt: skip
        kernel, values = parameters.setting(found.vector)
        posterior, mode = way.posterior(problem, kernel, values)
        fitted = dataclasses.replace(targets, values=np.atleast_1d(values)[: len(names)].astype(np.float64))
        return LatentFit(fitted, problem, parameters, found, posterior, mode.evidence, tuple(check_mode(what, mode)))

    def _store_latent(self, data: TrainingSet, solution: LatentFit) -> None:
        posterior, found = solution.posterior, solution.climb
        self._targets, self._posterior, self._parameters = solution.targets, posterior, solution.parameters
        self._problem, self._single, self._loo, self._widening = SummedProblem(data.n, 1), True, None, None
        self._mean, self._units = MeanFunction("zero", np.empty(0), np.empty(0)), TargetUnits(np.zeros(1), np.ones(1))
        self._profile = profile(np.zeros((1, 1)), 1)
        self.kernel_, self.X_fit_, self.dual_coef_ = posterior.kernel, posterior.X, posterior.dual
        self.intercept_, self.coef_, self.jitter_ = posterior.intercept, None, 0.0
        self.__dict__.pop("noise_", None)
        if "noise" in FAMILIES[solution.targets.kind].names(0):
            self.noise_ = float(solution.targets.values[0])
        self.theta_names_, self.theta_, self.n_iter_ = list(solution.parameters.names), found.vector, found.n_iter
        self.log_marginal_likelihood_value_ = solution.value
        report = diagnose_fit(solution.problem, solution.parameters, found, posterior, self.route_, solution.value)
        self.diagnosis_ = dataclasses.replace(report, notes=report.notes + solution.notes)

    def _store(self, data: TrainingSet, solution: ProcessFit | LatentFit) -> None:
        for name in ("_targets", "_tasks"):  # of a fit before
            self.__dict__.pop(name, None)
        if isinstance(solution, LatentFit):
            self._store_latent(data, solution)
            return
        self._single = data.y.ndim == 1
        if "tasks" in data.more:
            self._tasks = data.more["tasks"]
        self._mean, self._units, self._parameters = solution.mean, solution.units, solution.parameters
        self.theta_names_ = list(solution.parameters.names)
        self.theta_, self.n_iter_ = solution.climb.vector, solution.climb.n_iter
        posterior, problem = solution.posterior, solution.problem
        kept = problem.kept() if isinstance(problem, ChunkedProblem) else problem
        self._keep(kept, posterior, profile(posterior.quadratic, problem.n_targets))
        if data.chunked:
            self.route_ = dataclasses.replace(self.route_, passes=data.X.passes)  # the number of passes that the search made
        self._report(solution.climb, problem)

    def with_coefficients(self, kernel: Kernel, found: ReadProcess) -> GaussianProcessRegressor:
        """Set the fitted attributes from the coefficients of a scikit-learn model, and return self."""
        self._begin_read_in(kernel, found.columns, found.names)
        t = found.Y.shape[1]
        self._single, self._mean = found.single, MeanFunction("zero", np.empty(0), np.empty(0))
        self._units = TargetUnits(found.center, found.scale)
        level, ratios = self._read_noise(found.noise, len(found.Y))
        problem = GPProblem(found.X, found.Y, t, ratios)
        self._parameters = read_parameters(
            kernel, found.X, 1.0, noise=0.0 if ratios is not None else level, fit=False, bounds=None, fixed=(), priors=None
        )
        if ratios is not None:
            self._parameters = dataclasses.replace(self._parameters, noise=1.0)
        self.theta_names_, self.theta_, self.n_iter_ = list(self._parameters.names), self._parameters.start, 0
        way = ExactEngine()
        posterior = way.posterior(problem, *self._parameters.setting(self.theta_))
        posterior = dataclasses.replace(posterior, solved=np.ascontiguousarray(found.solved))
        self._keep(problem, posterior, profile(posterior.quadratic, t))
        self._report(Climb(self.theta_, True, 0, 0, "nothing was fitted", ()), problem)
        return self

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Return log p(y) at theta (default: the fitted `theta_`) in the units of y, without priors, and its gradient.

        theta holds logarithms in the order of `theta_names_`: the kernel's parameters, then the noise if it is one
        number > 0.
        """
        check_is_fitted(self)
        vector = self.theta_ if theta is None else np.asarray(theta, dtype=np.float64)
        if vector.shape != self.theta_.shape:
            raise InputError(f"theta has shape {vector.shape}; it must have the {len(self.theta_)} entries of theta_names_.")
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if self._latent is not None:
            again = self._latent.problem(self.X_fit_)
            value, gradient = log_likelihood(again, self._parameters, LaplaceEngine(), vector, eval_gradient)
            return (value, gradient) if eval_gradient else value
        if isinstance(self._problem, SummedProblem):
            raise InputError(
                "log_marginal_likelihood at another theta, or its gradient, needs the rows, which a fit by chunks does not "
                "keep. Fit with kernel=, noise= and optimizer=None, and read log_marginal_likelihood_value_."
            )
        way = engine(self.route_.solver, self._settings(), n_tasks=self._n_tasks(self._by_task))
        way.prepare(self._problem, *self._parameters.setting(self.theta_))
        value, gradient = log_likelihood(self._problem, self._parameters, way, vector, eval_gradient)
        value = value - self._unit_term()
        return (value, gradient) if eval_gradient else value

    @whole_or_nothing
    def add_rows(self, X: Any, y: Any, *, noise: Any = None) -> GaussianProcessRegressor:
        """Condition on further rows at the same hyper-parameters in n^2 m flops; the result equals a fit on all rows.

        `noise` (m,) gives their variances if the other rows have variances. Needs the exact route.
        """
        posterior, old = self._exact("add_rows")
        self._refuse_tasks("add_rows")
        self._given_kernel().refuse_stream(type(self).__name__)
        new = self._read(X, reset=False)
        Y = self._read_targets(y, count(new))
        if (Y.ndim == 1) != self._single or (Y.ndim == 2 and Y.shape[1] != self._problem.n_targets):
            raise InputError(f"y has shape {Y.shape}; the model has {self._problem.n_targets} target(s).")
        ratios = self._further_ratios(noise, len(Y))
        columns = np.hstack([self._units.inside(Y.reshape(len(Y), -1)), self._mean.columns(new)])
        level = self._parameters.setting(self.theta_)[1]
        shift = np.array([level]) if ratios is None else level * ratios
        cross = np.asarray(gram(self.kernel_, self.X_fit_, new), dtype=np.float64)
        factor = append_rows(posterior.factor, cross, np.asarray(gram(self.kernel_, new), dtype=np.float64), shift)
        both = None if ratios is None or old.ratios is None else np.concatenate([old.ratios, ratios])
        problem = GPProblem(append(old.X, new), np.vstack([old.columns, columns]), old.n_targets, both)
        return self._conditioned(problem, factor)

    @whole_or_nothing
    def remove_rows(self, index: Any) -> GaussianProcessRegressor:
        """Remove training rows by number at the same hyper-parameters, in n^2 r flops. Needs the exact route."""
        posterior, old = self._exact("remove_rows")
        self._refuse_tasks("remove_rows")
        self._given_kernel().refuse_stream(type(self).__name__)
        gone = np.atleast_1d(np.asarray(index))
        if gone.ndim != 1 or gone.dtype.kind not in "iu":
            raise InputError(f"remove_rows takes row numbers; got {describe(index)}.")
        n = old.n
        if gone.size and not (-n <= gone.min() and gone.max() < n):
            raise InputError(f"remove_rows: row numbers must lie in 0 … {n - 1}; got {describe(index)}.")
        factor = remove_rows(posterior.factor, gone % n)
        kept = np.setdiff1d(np.arange(n), gone % n)
        ratios = None if old.ratios is None else old.ratios[kept]
        return self._conditioned(GPProblem(take(old.X, kept), old.columns[kept], old.n_targets, ratios), factor)

    # -- private ------------------------------------------------------------------------------------------------------

    def _conditioned(self, problem: GPProblem, factor: Any) -> GaussianProcessRegressor:
        kernel, noise = self._parameters.setting(self.theta_)
        posterior = condition(problem, kernel, noise, factor)
        self._keep(problem, posterior, profile(posterior.quadratic, problem.n_targets))
        value = self._value()
        self.log_marginal_likelihood_value_ = value
        self.diagnosis_ = dataclasses.replace(
            self.diagnosis_, rows=problem.n, log_marginal_likelihood=value, jitter=posterior.jitter, bytes=posterior.bytes
        )
        return self

    def _report(self, found: Any, problem: AnyProblem) -> None:
        self.log_marginal_likelihood_value_ = value = self._value()
        self.diagnosis_ = diagnose_fit(problem, self._parameters, found, self._posterior, self.route_, value)

    def _value(self) -> float:
        """Return log p(y) in the units of y from the posterior."""
        problem, posterior = self._problem, self._posterior
        inside = log_evidence(self._profile.energy, posterior.logdet, problem.n, problem.n_targets)
        return inside - self._unit_term()

    def _unit_term(self) -> float:
        """Return n sum_j log scale_j, the change of the log density from the units of y to working units."""
        if self._by_task is not None:
            return self._by_task.unit_term
        return self._problem.n * float(np.log(self._units.scale).sum())

    def _check_settings(self) -> None:
        check_choice(type(self).__name__, "likelihood", self.likelihood, LIKELIHOODS)
        if self.likelihood != "gaussian" and (self.mean == "linear" or self.solver not in ("auto", "exact")):
            raise InputError(
                f"{type(self).__name__}: likelihood={self.likelihood!r} has a constant or zero latent mean and all rows in "
                'one matrix; use mean="constant" or "zero" and solver="auto".'
            )
        if self.noise_start is not None:
            check_number(
                type(self).__name__, "noise_start", self.noise_start, "None or a number > 0", lambda v: 0 < v < np.inf
            )
        if self.optimizer not in ("bfgs", None):
            raise InputError(f'optimizer must be "bfgs" or None; got {self.optimizer!r}.')
        check_whole(type(self).__name__, "n_restarts", self.n_restarts, 0)
        check_whole(type(self).__name__, "max_iter", self.max_iter, 0)
        if not (isinstance(self.tol, (int, float)) and self.tol > 0):
            raise InputError(f"tol must be a number > 0; got {describe(self.tol)}.")

    def _read_noise(self, noise: Any, n: int) -> tuple[float | None, Floats | None]:
        """Return the noise level (None: to be fitted) and, if it is given per row, the variances as ratios to level 1."""
        if isinstance(noise, str):
            if noise != "fit":
                raise InputError(f'noise must be "fit", a number >= 0, or (n,) variances; got {noise!r}.')
            if self.optimizer is None:
                raise InputError('noise="fit" needs an optimizer; with optimizer=None give the noise variance as a number.')
            return None, None
        try:
            values = np.asarray(noise, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f'noise must be "fit", a number >= 0, or (n,) variances; got {describe(noise)}.') from None
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(f"noise is a variance: finite and >= 0; got {describe(noise)}.")
        if values.ndim == 0:
            return float(values), None
        if values.shape != (n,):
            raise InputError(f"noise has shape {values.shape} for {n} rows; give one number, or one variance per row.")
        return 1.0, values

    def _further_ratios(self, noise: Any, m: int) -> Floats | None:
        if self._problem.ratios is None:
            if noise is not None:
                raise InputError("add_rows: this model has one noise for all rows; do not give noise=.")
            return None
        ratios = None if noise is None else self._read_noise(noise, m)[1]
        if ratios is None:
            raise InputError(f"add_rows: the noise was given per row; give noise=({m},) variances for the new rows.")
        return ratios

    def _read_parameters(self, kernel: Kernel, problem: GPProblem | ChunkedProblem, level: float | None) -> GPParameters:
        spread, varied, size = problem.sizes()
        if not np.isfinite(spread) or (varied and spread < 1e-290):
            raise InputError(
                f"y differs from its center by up to {size:.1e}, whose square overflows or underflows; rescale y."
            )
        one_per_row = problem.ratios is not None
        found = read_parameters(
            kernel, problem.starting_rows(self.optimizer is not None), spread if spread > 0 else 1.0,
            noise=0.0 if one_per_row else level, fit=self.optimizer is not None, bounds=self.bounds, fixed=self.fixed,
            priors=self.priors, noise_start=self.noise_start,
        )  # fmt: skip
        found = dataclasses.replace(found, noise=1.0) if one_per_row else found
        return found if varied else dataclasses.replace(found, fixed=np.ones_like(found.fixed))

    def _settings(self) -> EngineSettings:
        return EngineSettings(self.n_inducing, self.n_neighbors, self.random_state or 0, parse_bytes(self.memory))

    def _refuse_tasks(self, what: str) -> None:
        if self._by_task is not None:
            raise InputError(f"{what} is not available for a target that is read by cells; fit again.")

    def _reads_cells(self, y: Any) -> bool:
        """Return whether a target is read by cells: it has several columns, and holes or a kernel on tasks."""
        if self.likelihood != "gaussian" or y is None:
            return False
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            return False
        return values.ndim == 2 and (has_tasks(self._given_kernel()) or bool(np.isnan(values).any()))

    @staticmethod
    def _n_tasks(targets: TaskTargets | None) -> int:
        return 0 if targets is None else targets.n_tasks

    def _shape(self, X: Any, y: Any = None) -> Shape:
        if self._reads_cells(y):
            known = np.isfinite(np.asarray(y, dtype=np.float64))
            return Shape(count(X), known.shape[1], 8, None, columns_of(X) or 1, n_cells=int(known.sum()))
        shape = super()._shape(X, y)
        if self.solver != "fourier":
            return shape
        kernel = self._resolved(X)
        check_kernel(kernel, X)
        return dataclasses.replace(shape, n_frequencies=frequencies_for([kernel], X))

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        if self.likelihood != "gaussian":
            return (laplace_route(shape.n),)
        kernel = self._given_kernel()
        if shape.n_cells is not None:
            noisy = isinstance(self.noise, str) or bool(np.all(np.asarray(self.noise) > 0))
            return task_routes(shape, self.solver, self._settings(), noisy and is_product(kernel))
        return gp_routes(shape, self.solver, self._settings(), kernel.views, kernel.given)

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_targets, type(self).__name__)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        if self.likelihood != "gaussian":
            raise InputError(f"{type(self).__name__}: likelihood={self.likelihood!r} needs all rows in memory.")
        if rows.weighted:
            raise InputError(
                "GaussianProcessRegressor does not use weights of chunks; give noise per row, with rows in memory."
            )
        before = rows.passes_before(self._given_kernel())
        return (chunk_route(shape, rows, self.solver, self._settings(), before, self.optimizer is not None, self.max_iter),)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Add the name of the estimator to errors of a factorization, and the remark that alpha is the noise."""
    try:
        yield
    except NumericalError as error:
        raise NumericalError(f"{what}: {error} (alpha is the noise of this model.)") from error
