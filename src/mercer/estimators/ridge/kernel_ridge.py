"""Kernel ridge regression: least squares with a penalty on the norm in feature space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError
from mercer.estimators.base import DEFAULT_KERNEL, READ_IN, DualModel, TrainingSet, check_is_fitted
from mercer.estimators.components import Conditioned, TermComponents
from mercer.estimators.intervals import IntervalMixin, jackknife_radius
from mercer.estimators.local_intervals import local_intervals
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.large import predict_large, residuals_of
from mercer.estimators.ridge.mixed import mixed_radii
from mercer.estimators.ridge.nested import NESTED_ROWS, nested_residuals
from mercer.estimators.ridge.problem import Diagnosis, RidgeData, RidgeFit, RidgeProblem, SolvedRidge
from mercer.estimators.ridge.robust import RobustFit, huber
from mercer.estimators.ridge.routes import (
    COUNTED_ROWS,
    chunk_routes,
    diagnose_ridge,
    feature_blocks,
    fit_ridge,
    gathered,
    influences,
    ridge_routes,
)
from mercer.estimators.ridge.summary import MOST_TERMS, coefficients, linear_error, mean_residuals, rms, short_alpha, written
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator, gram
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.dual_function import DualFunction
from mercer.grams.fourier_grid import MOST_COLUMNS, frequencies_for
from mercer.grams.products import FEATURE_ROWS, weighed
from mercer.inputs import count, take
from mercer.inputs.chunks import ReadTargets
from mercer.inputs.targets import read_targets
from mercer.kernels.base import Kernel
from mercer.linalg.cholesky import cholesky
from mercer.numeric.encodings import has_many
from mercer.numeric.memory import format_bytes
from mercer.numeric.tiles import row_blocks
from mercer.planning import Route, Shape
from mercer.registry import estimator


class RidgeFacts(DualModel):
    """Abstract: a fitted ridge, for regression or classification."""

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "absent | rows n d",
        "dual_coef_": "absent | float (n, *t)",
        "intercept_": "float (*t)",
        "coef_": "None | float (w, *t) | complex (w, *t)",
        "_problem": "a RidgeProblem",
        "_problem.Y": "float (n, *t) | float (0, *t)",
        "_problem.features.center": "absent | float (d,)",
        "_problem.features.landmarks": "absent | rows _ d",
        "_fitted": "a RidgeFit",
        "_fitted.dual": "None | float (n, *t)",
        "_fitted.features.center": "absent | float (d,)",
        "_fitted.features.landmarks": "absent | rows _ d",
        "_fitted.residuals": "None | float (n, *t)",
        "_residuals": "absent | float (n, *t)",
        "_fitted.weights": "None | float (w, *t) | complex (w, *t)",
        "_loo": "None | real (n, *t)",
        "_quantile": "None | a tuple",
        "_diagnosis": "None | a Diagnosis",
        "_diagnosis.loo": "absent | real (n, *t)",
        "huber_": "absent | a RobustFit",
        "jitter_": "absent | real",
        "n_iter_": "absent | int",
        "rank_": "absent | None | int",
        "rkhs_norm_": "absent | real (*t)",
    }

    _problem: RidgeProblem
    solver: str
    _fitted: RidgeFit
    _loo: Floats | None
    _diagnosis: Diagnosis | None
    _quantile: tuple[float, Floats] | None  # a coverage, and its quantiles of |loo| without the other residuals

    def _function(self, X: Any) -> Floats:
        """f(x) = sum_i dual_coef_i k(x_i, x) + intercept, computed from the features if weights of features were fitted."""
        weights = self._fitted.weights
        if weights is None:
            return self._decision(X)
        new = self._read(X, reset=False)
        if self._problem.features is not None:
            return predict_large(self._problem.features, new, weights, self.intercept_)
        like, size = self.__dict__.get("X_fit_"), count(new)
        if like is not None:  # counted together with the training rows, so in blocks that are not smaller than these
            size = max(FEATURE_ROWS, count(like))
        parts = [take(new, rows) for rows in row_blocks(count(new), size)]
        problems = [
            RidgeProblem(self.kernel_, part, np.empty(count(part)), self._problem.alpha, None, False, like=like)
            for part in parts
        ]
        found = [weighed(Z, weights) + self.intercept_ for problem in problems for _, Z in feature_blocks(problem)]
        return np.concatenate(found)

    def components(self, X: Any) -> TermComponents:
        """Return every term of a sum of kernels at new rows, and the intercept; the means add up to the prediction.

        Standard deviations are those of the Gaussian process with this posterior mean: its noise is alpha times the scale
        of the process, which is set by marginal likelihood. They need the n x n matrix.
        """
        check_is_fitted(self)
        function = self.dual_function()
        dual, intercept = function.columns()
        new, n, q = self._read(X, reset=False), len(dual), int(bool(self.fit_intercept))
        weights = self._problem.weights
        kept = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
        shift = np.full(len(kept), float(self._problem.alpha)) / (1.0 if weights is None else weights[kept])
        rows, dual = take(function.X, kept), dual[kept]
        G = np.asarray(gram(self.kernel_, rows), dtype=np.float64)
        scale = np.sqrt(np.maximum(np.sum(dual * (G @ dual + shift[:, None] * dual), axis=0) / max(1, len(kept) - q), 0.0))
        factor = cholesky(G, shift, overwrite=True)
        v = factor.solve(np.ones((len(kept), q)))
        covariance = np.full((q, q), 1.0 / v.sum()) if q else np.zeros((0, 0))
        safe = np.where(scale > 0, scale, 1.0)
        known = Conditioned(self.kernel_, rows, factor.solve, dual / safe, v, covariance, safe)
        m = count(new)
        return known.parts(new, np.ones((m, q)), np.broadcast_to(intercept, (m, len(intercept))), self.dual_coef_.ndim == 1)

    def landmark_function(self) -> DualFunction:
        """Return the function of a fit on landmarks as an expansion on them, with their positions among the rows."""
        check_is_fitted(self)
        features: Any = self._problem.features
        if features is None or self.coef_ is None:
            raise InputError(f"{type(self).__name__}: the fit has no landmarks; fit with solver='nystroem'.")
        dual = features.expansion(self.coef_.reshape(len(features.index), -1))
        intercept = np.atleast_1d(self.intercept_)
        return DualFunction(self.kernel_, features.landmarks, dual, intercept, float(self._problem.alpha), features.index)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X, y)
        on_grid = self.solver == "fourier" and shape.width <= MOST_COLUMNS
        frequencies = frequencies_for(self._kernels_on_grid(X), X) if on_grid else None
        return replace(shape, n_counted=_counted_features(self._given_kernel(), X, shape.n), n_frequencies=frequencies)

    def _kernels_on_grid(self, X: Any) -> list[Kernel]:
        """The kernels that a Fourier route has to serve on one grid."""
        return [self._resolved(X)]

    def _store(self, data: TrainingSet, solution: SolvedRidge) -> None:
        fitted = solution.fitted
        problem = replace(solution.problem, features=fitted.features, operator=None, rows=None, chunks=None)
        if problem.X is not None and "X_fit_" not in self.__dict__:  # chunks that were gathered
            self.X_fit_ = problem.X
        self.kernel_ = problem.kernel
        self.intercept_ = fitted.intercept[()]
        for name in ("dual_coef_", "_residuals"):
            self.__dict__.pop(name, None)
        if fitted.dual is not None:
            self.dual_coef_ = fitted.dual
        self.coef_ = fitted.weights
        self.jitter_, self.n_iter_, self.rank_ = fitted.jitter, fitted.n_iter, fitted.rank
        self.rkhs_norm_ = np.sqrt(np.maximum(fitted.norm_squared, 0.0))[()]
        self._problem, self._fitted, self._loo, self._diagnosis, self._quantile = problem, fitted, solution.loo, None, None
        if solution.robust is not None:
            self.huber_ = solution.robust

    @cached_property
    def dual_coef_(self) -> Floats:  # type: ignore[override]
        """The coefficients of k(x_i, x); on features that stand for the kernel, those that they imply."""
        self._refuse_without_rows("dual coefficients")
        problem = self._problem
        weights = 1.0 if problem.weights is None else problem.weights.reshape(-1, *[1] * (problem.Y.ndim - 1))
        return np.asarray(weights * self._residuals / problem.alpha)

    @cached_property
    def _residuals(self) -> Floats:
        """y - f on the training rows."""
        self._refuse_without_rows("residuals")
        return residuals_of(self._problem, self._fitted)

    def with_coefficients(self, function: DualFunction, columns: int, names: Any, classes: Array | None = None) -> Any:
        """Set the fitted attributes from an expansion that scikit-learn computed, and return self."""
        self._begin_read_in(function.kernel, columns, names)
        dual, t = np.asarray(function.dual, dtype=np.float64), np.shape(function.dual)[1:]
        intercept = np.broadcast_to(np.asarray(function.intercept, dtype=np.float64), t)
        alpha = np.asarray(function.alpha, dtype=np.float64)
        self._problem = RidgeProblem(function.kernel, None, np.empty((0, *t)), alpha, None, False)
        self._fitted = RidgeFit(None, intercept, None, np.full(t, np.nan), 0.0, True, 0, READ_IN.reason)
        self.X_fit_, self.dual_coef_, self.intercept_ = function.X, dual, intercept[()]
        self.coef_, self._loo, self._diagnosis, self._quantile = None, None, None, None
        if classes is not None:
            self.classes_ = classes
        return self

    def _refuse_without_rows(self, what: str) -> None:
        self._refuse_read_in(what)
        if self._problem.X is None:
            raise InputError(
                f"{type(self).__name__}: {what} are of the training rows, which a fit by chunks does not keep; compare "
                "predict(X) of some rows with their targets."
            )

    def _diagnose(self) -> Diagnosis:
        check_is_fitted(self)
        self._refuse_without_rows("leave-one-out residuals and leverages")
        if self._diagnosis is None:
            with Meter("leave-one-out", self.verbose) as meter:
                self._diagnosis = diagnose_ridge(self._problem, self._fitted, self.route_.solver, meter)
        return self._diagnosis

    @property
    def loo_residuals_(self) -> Floats:
        """y_i - f_without_i(x_i) in closed form; computed at first use."""
        check_is_fitted(self)
        if self._loo is None:
            self._loo = self._diagnose().loo
        return self._loo

    @property
    def leverage_(self) -> Floats:
        """d f(x_i) / d y_i; computed at first use."""
        return self._diagnose().leverage

    @property
    def effective_dof_(self) -> Any:
        """The sum of the leverages, tr K (K + alpha I)^-1; computed at first use."""
        return self._diagnose().effective_dof

    def _summary(self) -> Summary:
        problem, route, kept = self._problem, self.route_, self._problem.X is not None
        quality, numbers = (
            self._quality() if kept else ([("passes over the chunks", str(route.passes))], {"passes": route.passes})
        )
        lines = [
            ("kernel", f"{self.kernel_} ({self._choice_of_kernel()})" if kept else str(self.kernel_)),
            ("alpha", short_alpha(problem.alpha)),
            *quality,
            ("route", f"{route.solver}: {route.reason}"),
            ("memory of the fit", format_bytes(route.bytes)),
        ]
        if self.jitter_:
            lines.append(("jitter", f"{self.jitter_:.2g} added to the diagonal: {self._fitted.message}"))
        if not self._fitted.converged:
            lines.append(("not converged", self._fitted.message))
        return Summary(repr(self), tuple(lines), numbers)

    def _choice_of_kernel(self) -> str:
        """How the parameters of the kernel were chosen."""
        surface = self.__dict__.get("surface_")
        if surface is not None:
            return str(surface.how)
        return "length scale: median distance of the training rows" if self._given_kernel().unresolved else "as given"

    def _quality(self) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        """Lines and numbers of the summary that compare the model with simple ones on the training rows."""
        raise NotImplementedError  # pragma: no cover - abstract


class RidgeModel(RegressorMixin, IntervalMixin, RidgeFacts):
    """Abstract: a fitted ridge regression."""

    def _read_y(self, y: Any, n: int) -> Floats:
        return self._read_targets(y, n)

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_targets, type(self).__name__)

    def predict(self, X: Any) -> Floats:
        """Return f(x) = sum_i dual_coef_i k(x_i, x) + intercept."""
        check_is_fitted(self)
        return self._function(X)

    def _in_fit(self, n: int) -> NDArray[np.bool_]:
        weights = self._problem.weights
        return super()._in_fit(n) if weights is None else np.asarray(weights > 0)

    def _radii(self, coverage: float) -> Floats:
        """The first coverage may cost less than all residuals; a second coverage computes them, and serves all others."""
        self._refuse_without_rows("leave-one-out residuals")
        if self._quantile is not None and self._quantile[0] == coverage:
            return self._quantile[1]
        found = self._own_radii(coverage)
        if found is None and self._loo is None and self._quantile is None:
            with Meter("leave-one-out quantile", self.verbose) as meter:
                found = mixed_radii(self._problem, self._fitted, coverage, meter)
        if found is None:
            return super()._radii(coverage)
        self._quantile = coverage, found
        return found

    def _own_radii(self, coverage: float) -> Floats | None:  # -> (t,)
        """Radii from residuals that leave out equal rows together, and repeat the choice of parameters without each row.

        None if there are no equal rows, and no parameters were chosen on few rows.
        """
        problem, compared = self._problem.distinct(), self._compared()
        if compared is not None and problem.X is not None and problem.n <= NESTED_ROWS:
            residuals = nested_residuals(problem, *compared)
        elif problem is not self._problem:
            solver = self.route_.solver
            with Meter("leave-one-out of different rows", self.verbose) as meter:
                residuals = diagnose_ridge(problem, fit_ridge(problem, solver, meter), solver, meter).loo
        else:
            return None
        return np.array([jackknife_radius(column, coverage) for column in residuals.reshape(len(residuals), -1).T])

    def _compared(self) -> tuple[Sequence[Kernel], Array] | None:
        """Kernels and alphas among which leave-one-out has chosen; None if nothing was chosen."""
        return None

    def _local_intervals(self, X: Any, centers: Floats, coverage: float, shift: Any) -> Floats:  # -> (m, 2, t)
        loo = self.loo_residuals_
        used = np.flatnonzero(self._in_fit(len(loo)))
        rows, residuals = take(self.X_fit_, used), loo.reshape(len(loo), -1)[used]
        return local_intervals(self, rows, residuals, self._read(X, reset=False), centers, coverage, shift)

    def _influence(self, X: Any, size: int) -> Iterator[tuple[slice, Any, Floats]]:
        """d f(x) / d y_i for new points, some rows at a time: (rows, targets it serves, (m, n) values)."""
        self._refuse_without_rows("leave-one-out residuals")
        new = self._read(X, reset=False)
        if self.route_.solver not in ("cholesky", "eigh", "primal"):
            raise InputError(
                f'method="jackknife+" needs the Gram matrix, which route {self.route_.solver} does not make; '
                'use method="jackknife".'
            )
        K = GramOperator(self.kernel_, new, self.X_fit_)
        targets = range(self._problem.Y.reshape(self._problem.n, -1).shape[1])
        with Meter("jackknife+", self.verbose) as meter:
            for columns, influence in influences(self._problem, meter):
                served = columns[1] if isinstance(columns, tuple) else targets
                for rows in row_blocks(K.shape[0], size):
                    yield rows, served, influence(K.block(rows, slice(None)))

    def polynomial_coefficients(self) -> dict[str, float]:
        """Return the coefficient of every monomial of f, for kernels such as Polynomial(2) and Linear(), one target."""
        check_is_fitted(self)
        primal = self.coef_
        rows = self.__dict__.get("X_fit_")
        if rows is None:  # they came in chunks: the names of monomials need the number of columns only
            rows = np.ones((1, self.__dict__.get("n_features_in_", 1)))
        return coefficients(self.kernel_, rows, self.dual_coef_ if primal is None else primal, self.intercept_, primal)

    def formula(self) -> str:
        """Return f as text: "1 - 4.5 x0 + 4 x0^2"."""
        return written(self.polynomial_coefficients())

    def _quality(self) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        problem, loo = self._problem, self._loo
        used = slice(None) if problem.weights is None else problem.weights > 0
        errors = (self._residuals if loo is None else loo).reshape(problem.n, -1)[used]
        Y, X = problem.Y.reshape(problem.n, -1)[used], problem.X[used] if isinstance(problem.X, np.ndarray) else problem.X
        kind = "training error (RMSE)" if loo is None else "leave-one-out error (RMSE)"
        error, mean, linear = rms(errors), rms(mean_residuals(Y)), linear_error(X, Y)
        shown = "not applicable: the rows are not vectors" if linear is None else f"{linear:.4g} (leave-one-out)"
        text = self._polynomial()
        lines = [
            *([("function", text)] if text else []),
            (kind, f"{error:.4g}"),
            ("the mean alone", f"{mean:.4g} (leave-one-out)"),
            ("linear ridge", shown),
            ("rows, targets", f"{problem.n}, {Y.shape[1]}"),
        ]
        numbers = {"error": error, "error_kind": kind, "mean_error": mean, "linear_error": linear, "n": problem.n}
        return lines, numbers

    def _polynomial(self) -> str:
        """The function as text if it is a polynomial with few terms; otherwise empty."""
        X, kernel = self.X_fit_, self.kernel_
        if kernel.moment_order() is None or not isinstance(X, np.ndarray) or X.ndim != 2 or self.dual_coef_.ndim != 1:
            return ""
        if (kernel.n_features(X[:1]) or MOST_TERMS + 1) > MOST_TERMS or kernel.views != {"vectors"}:
            return ""
        try:
            return self.formula()
        except CapabilityError:
            return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


@estimator
class KernelRidge(RidgeModel):
    """Minimize sum_i (y_i - f(x_i))^2 + alpha ||f||^2: dual_coef = (K + alpha I)^-1 y.

    Where the kernel has fewer explicit features than there are rows, the same function comes from the primal,
    w = (Z'Z + alpha I)^-1 Z'y, without a Gram matrix.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    alpha : float or (t,) array, default 1.0
        The penalty, one for all targets or one per target. 0 is least squares of minimum norm.
    fit_intercept : bool, default False
        Add a constant that is not penalized (centering in feature space).
    solver : "auto", "cholesky", "eigh", "primal", "cg", "nystroem", "nystroem-cg" or "fourier"
        "auto" takes the cheapest exact route that fits `memory`, else conjugate gradients without the matrix up to 50,000
        rows, and landmarks ("nystroem") beyond, from 5000 of them on by conjugate gradients ("nystroem-cg"). "fourier" takes
        Fourier features of a stationary kernel.
    n_components : int, optional
        The number of landmarks or Fourier features; 2000 if not given. For "cg", the landmarks of the preconditioner.
    loss : "squared" or "huber", default "squared"
        "huber" weighs rows down whose residual exceeds `delta`, by repeated weighted fits.
    delta : float, optional
        Where Huber's loss turns linear; 1.345 robust standard deviations of the residuals if not given.
    tol, max_iter : for solver "cg" and for loss "huber".
    memory : bytes or text such as "4 GB", optional
        Budget of the fit beyond the data; 8 GiB if not given.
    verbose : bool or None
        Progress on standard error; None shows it for long fits on a terminal.

    Attributes
    ----------
    dual_coef_, X_fit_, intercept_, coef_ (primal route), kernel_, route_, jitter_, rank_, n_iter_, rkhs_norm_;
    loo_residuals_, leverage_, effective_dof_ are computed at first use.

    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.sin(np.arange(8.0))
    >>> model = KernelRidge(Gaussian(length_scale=1.0), alpha=0.1).fit(X, y)
    >>> bool(np.allclose(model.dual_coef_, (y - model.predict(X)) / 0.1))
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        alpha: Any = 1.0,
        fit_intercept: bool = False,
        solver: str = "auto",
        n_components: int | None = None,
        loss: str = "squared",
        delta: float | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_components = n_components
        self.loss = loss
        self.delta = delta
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.verbose = verbose

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidge:
        """Fit to rows X with targets y, (n,) or (n, t); chunks (mercer.chunks) have their targets with them."""
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "huber"):
            raise InputError(f'loss must be "squared" or "huber"; got {self.loss!r}.')
        check_alpha(self.alpha)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> SolvedRidge:
        alpha = read_alpha(self.alpha, data.y)
        problem = RidgeData(data.rows, data.y, data.weights, self.fit_intercept).problem(
            data.kernel, alpha, tol=self.tol, max_iter=self.max_iter, n_components=self.n_components, memory=self.memory
        )
        robust = None
        if data.chunked and route.solver == "cg":
            problem = gathered(problem)
        if self.loss == "huber" and data.chunked:
            raise InputError('loss="huber" weighs the rows again and again, and chunks are not kept; use loss="squared".')
        if self.loss == "huber":
            robust = self._reweighted(problem, route, meter)
            problem = problem.with_weights(robust.value)
        return SolvedRidge(problem, fit_ridge(problem, route.solver, meter), robust=robust)

    def _reweighted(self, problem: RidgeProblem, route: Route, meter: Meter) -> RobustFit:
        """The weights at which Huber's reweighting settles."""
        if problem.Y.ndim == 2:
            raise InputError('loss="huber" takes one target: each target has outliers of its own. Fit them one by one.')

        def step(weights: Array) -> tuple[Array, float]:
            fitted = fit_ridge(problem.with_weights(weights), route.solver, meter)
            return residuals_of(problem, fitted), float(problem.alpha) * float(fitted.norm_squared)

        return huber(step, problem.n, delta=self.delta, weights=problem.weights, max_iter=self.max_iter or 100)

    def _routes(self, shape: Shape) -> Iterable[Route]:
        return ridge_routes(shape, self.solver, bool(np.any(np.asarray(self.alpha) == 0)), self.n_components, self.memory)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        return chunk_routes(shape, rows, self._given_kernel(), self.solver, self.alpha, self.n_components)


def check_alpha(alpha: Any) -> Floats:
    """Return the penalty as an array; raise unless it holds finite numbers >= 0."""
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"alpha must be a number >= 0, or one per target; got {alpha!r}.") from None
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"alpha must be finite and >= 0; got {alpha!r}. It is the weight of the penalty alpha ||f||^2.")
    return values


def read_alpha(alpha: Any, Y: Array) -> Floats:
    """Return the penalty: one finite number >= 0, or one per target."""
    values = check_alpha(alpha)
    if values.ndim and values.shape != Y.shape[1:]:
        if values.size == 1:
            return values.reshape(())
        targets = Y.shape[1] if Y.ndim == 2 else 1
        raise InputError(f"alpha has {values.size} entries for {targets} targets; give one number, or one per target.")
    return values


def _counted_features(kernel: Kernel, X: Any, n: int) -> int | None:
    """How many features occur in the rows, for a kernel whose features count something and are not too many to make."""
    features = None if n < COUNTED_ROWS or kernel.unresolved else kernel.features
    if features is None or features.shared or not features.stay:
        return None
    encoding = kernel.encode(X)
    return None if has_many(encoding) else features.count(encoding)
