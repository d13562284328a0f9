"""Support vector regression: SVR, NuSVR, and intervals from rows that were held out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted
from mercer.estimators.definiteness import known_psd
from mercer.estimators.intervals import cv_plus, jackknife_radius
from mercer.estimators.local_intervals import local_intervals
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary, known
from mercer.estimators.svm.decision import SupportFunctions
from mercer.estimators.svm.model import (
    KeptTraining,
    Solver,
    SolverSettings,
    SupportModel,
    fit_status,
    real,
    require,
    require_share,
)
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction, nu_regression, regression
from mercer.linalg.box_qp.solver import solve_regression
from mercer.planning import Route
from mercer.registry import estimator, record
from mercer.selection.folds import class_folds

#: Folds, and the seed that deals the rows out to them: the same model gives the same intervals.
FOLDS, SEED = 10, 0


@record("HeldOut")
@dataclass(frozen=True)
class FoldResiduals:
    """Residuals of held-out rows, and the functions of the folds on their common support vectors."""

    _stored: ClassVar[dict[str, str]] = {
        "coef": "float (S, F)",
        "intercepts": "float (F,)",
        "support": "rows S",
        "residuals": "float (n,)",
        "folds": "int (n,) < F",
        "X": "None | absent | rows n",
    }

    residuals: Array  # (n,) over rows of positive weight
    folds: Array  # (n,) the fold of each
    support: Any  # (S rows); for Precomputed their numbers
    coef: Array  # (S, folds)
    intercepts: Array  # (folds,)
    X: Any = None  # (n rows) of the residuals; None in files of version 0.2


def hold_out(kernel: Kernel, training: Any, fit: Callable[[Array], SupportFunction], meter: Meter) -> FoldResiduals:
    """Fit without each fold in turn; `fit(weights)` gives a row of weight 0 an output, but does not count it."""
    known = training.weights > 0
    if known.sum() < 2:
        raise InputError("predict_interval needs at least two rows: one alone cannot be held out.")
    n_folds = min(FOLDS, int(known.sum()))
    folds = class_folds(np.where(known, 0, -1), n_folds, SEED, training.X)
    residuals, found = np.empty(len(folds)), []
    for fold in range(n_folds):
        meter(fold, n_folds)
        function = fit(np.where(folds == fold, 0.0, training.weights))
        residuals[folds == fold] = (training.y - function.outputs)[folds == fold]
        found.append(function)
    coef = np.stack([function.coef for function in found], axis=1)
    used = np.flatnonzero(coef.any(axis=1))
    support = used if len(used) == 0 else kernel.keep(training.X, used)
    intercepts = np.array([function.intercept for function in found])
    rows = None if kernel.given else take(training.X, np.flatnonzero(known))
    return FoldResiduals(residuals[known], folds[known], support, coef[used], intercepts, rows)


def fold_predictions(held: FoldResiduals, kernel: Kernel, new: Any) -> Array:  # (m rows) -> (m, folds)
    """The predictions of every fold's function at new rows."""
    return SupportFunctions(kernel, held.support, held.coef, np.array([len(held.coef)]), held.intercepts)(new)


def crossed(held: FoldResiduals, kernel: Kernel, new: Any, coverage: float) -> Array:  # (m rows) -> (m, 2)
    """Return CV+ intervals at new rows."""
    return cv_plus(fold_predictions(held, kernel, new), np.abs(held.residuals), held.folds, coverage)


class SupportRegressor(RegressorMixin, SupportModel):
    """Abstract: support vector regression."""

    _stored: ClassVar[dict[str, str]] = {
        "_later.held": "absent | a FoldResiduals",
        "_inside": "absent | real",
        "rkhs_norm_": "absent | real",
        "tube_": "absent | real",
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows X with targets y (n,); a weight multiplies the C of its row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        raise NotImplementedError  # pragma: no cover - abstract

    def _tube(self, found: SupportFunction) -> float:
        """Half the width of the tube of a fitted function."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _settings(self, **more: Any) -> SolverSettings:
        return super()._settings(support="most", **more)

    def _read_y(self, y: Any, n: int) -> Array:
        targets = self._read_targets(y, n)
        return targets if targets.ndim == 1 else column_or_1d(targets, warn=True)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> SupportFunction:
        return self._function(self._solver(data.kernel, data.rows, data.n, meter), data.y, data.counted)

    def _function(self, solver: Solver, y: Array, weights: Array) -> SupportFunction:
        """Fit the function; rows of weight 0 do not count, but get their outputs."""
        problem = self._problem(y, weights)
        try:
            return solve_regression(problem, y, weights, solver)
        except (InputError, OverflowError):  # without an upper bound the objective may have none either
            if not np.isinf(problem.upper).any():
                raise
            raise InputError(
                f"{type(self).__name__}: C = inf allows no row outside the tube, and no function of this kernel keeps all "
                "rows inside. Give a finite C, a larger epsilon, or a richer kernel."
            ) from None

    def _store(self, data: TrainingSet, solution: SupportFunction) -> None:
        support = np.flatnonzero(solution.coef)
        table, intercepts = solution.coef[None, :], np.array([solution.intercept])
        self._expand(data.kernel, data.X, table, intercepts, support, np.array([len(support)]))
        self.n_iter_, self.rkhs_norm_ = int(solution.n_iter), solution.norm
        gap = solution.gap if known_psd(data.kernel, data.X, type(self).__name__) else math.nan
        self.dual_objective_, self.duality_gap_ = solution.dual, gap
        self.primal_objective_ = solution.dual + gap
        self.tube_ = self._tube(solution)
        known = data.counted > 0
        self._inside = float((np.abs(data.y - solution.outputs)[known] <= self.tube_ + float(self.tol)).mean())
        self._later = {"training": KeptTraining(data.X, data.y, data.counted)}
        self.fit_status_ = fit_status(type(self).__name__, [solution])

    def predict(self, X: Any) -> Floats:
        """Return f(x) = sum over the support vectors of dual_coef_ k(x_i, x) + intercept_."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._columns(X)[:, 0])

    def predict_interval(self, X: Any, coverage: float = 0.9, *, method: str = "cv", shift: Any = None) -> Floats:
        """Return an interval for the target at each new point, (n, 2), from residuals of rows held out in ten folds.

        Parameters
        ----------
        coverage : float
            The fraction of new targets that should fall inside.
        method : "cv", "cv+" or "local"
            "cv" is f(x) -+ q, q the ceil(coverage (n + 1))-th smallest held-out residual in absolute value: about the
            requested coverage, without a proof. "cv+" (Barber et al., 2021) moves each end with the functions of the ten
            folds; it covers at least 1 - 2 (1 - coverage) - sqrt(2 / n) whatever the data, if rows are exchangeable.
            "local" makes intervals wider where held-out residuals are larger, so that they cover near every point,
            approximately.
        shift : Kernel or str, optional
            For "local": the kernel of the shifts of the rows that are guarded against, by default the kernel of the model.

        The folds are fitted at the first call.
        """
        if method not in ("cv", "cv+", "local"):
            raise InputError(f'{type(self).__name__}: method must be "cv", "cv+" or "local"; got {method!r}.')
        if shift is not None and method != "local":
            raise InputError(f'{type(self).__name__}: shift= is for method="local"; got method={method!r}.')
        check_is_fitted(self)
        held = self._once("held", self._hold_out)
        if method == "local":
            return self._local_intervals(X, held, coverage, shift)
        if method == "cv":
            center, radius = self.predict(X), jackknife_radius(held.residuals, coverage)
            return np.stack([center - radius, center + radius], axis=1)
        return crossed(held, self.kernel_, self._read(X, reset=False), coverage)

    def _local_intervals(self, X: Any, held: FoldResiduals, coverage: float, shift: Any) -> Floats:  # -> (m, 2)
        if held.X is None:
            raise InputError(
                f'{type(self).__name__}: method="local" needs the rows of the residuals, which Precomputed values and files '
                "of version 0.2 do not hold. Use ConformalRegressor(model, shift).fit(X, y) on calibration rows."
            )
        new, residuals = self._read(X, reset=False), held.residuals[:, None]
        return local_intervals(self, held.X, residuals, new, self.predict(X)[:, None], coverage, shift)[:, :, 0]

    @property
    def cv_residuals_(self) -> Array:
        """y_i - f(x_i) by the function fitted without the fold of row i, (n,) over rows of positive weight."""
        check_is_fitted(self)
        return self._once("held", self._hold_out).residuals

    def _hold_out(self, training: KeptTraining) -> FoldResiduals:
        with Meter(f"{type(self).__name__} intervals", self.verbose) as meter:
            solver = self._solver(self.kernel_, training.X, count(training.X), again=True)
            return hold_out(self.kernel_, training, lambda weights: self._function(solver, training.y, weights), meter)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", str(self.kernel_)),
            ("support vectors", f"{len(self.support_)} of {self.shape_fit_[0]} rows"),
            ("tube", f"{self.tube_:.6g}, with {100 * self._inside:.1f} % of the rows inside"),
            ("norm of f", f"{self.rkhs_norm_:.6g}"),
            ("dual objective", f"{self.dual_objective_:.8g}, duality gap {known(self.duality_gap_)}"),
            ("iterations", f"{self.n_iter_}" + ("" if self.fit_status_ == 0 else ", stopped early")),
            *self._route_lines(),
        )
        return Summary(repr(self), lines, {"dual_objective": self.dual_objective_, "duality_gap": self.duality_gap_})


@estimator
class SVR(SupportRegressor):
    """The flattest function within epsilon of the targets: min 1/2 ||w||^2 + C sum_i max(0, |y_i - f(x_i)| - epsilon).

    Its dual is max_b y'b - epsilon sum_i |b_i| - 1/2 ||sum_i b_i phi(x_i)||^2 with sum_i b_i = 0, |b_i| <= C; rows inside
    the tube have b_i = 0. Parameters, attributes and their shapes are scikit-learn's, except that `kernel` is a mercer
    kernel.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    C : float, default 1.0
        The price of leaving the tube; inf allows no row outside.
    epsilon : float >= 0, default 0.1
        Half the width of the tube in which errors cost nothing.
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (b_i), intercept_, shape_fit_, fit_status_ (0: converged), n_iter_,
    coef_ (finite feature maps), rkhs_norm_ (||w||), dual_objective_, primal_objective_, duality_gap_, tube_ (epsilon),
    kernel_, route_; cv_residuals_ is computed at first use.

    >>> import numpy as np
    >>> from mercer import SVR, Gaussian
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.sin(np.arange(8.0))
    >>> model = SVR(Gaussian(length_scale=1.0), C=100.0, epsilon=0.05).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() <= 0.05 + 1e-3)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        rule = "a number > 0, or inf where no row may leave the tube"
        require(type(self).__name__, "C", self.C, rule, real(self.C) > 0)
        require(type(self).__name__, "epsilon", self.epsilon, "a finite number >= 0", 0 <= real(self.epsilon) < math.inf)

    def _settings(self, **more: Any) -> SolverSettings:
        return super()._settings(unbounded=bool(np.isinf(self.C)), **more)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        upper = np.where(weights > 0, np.inf, 0.0) if np.isinf(self.C) else float(self.C) * weights
        return regression(y, upper, float(self.epsilon))

    def _tube(self, found: SupportFunction) -> float:
        return float(self.epsilon)


@estimator
class NuSVR(SupportRegressor):
    """Support vector regression that finds the width of its tube by the share of rows to be left outside.

    min 1/2 ||w||^2 + C (nu n e + sum_i max(0, |y_i - f(x_i)| - e)) over f and e. At most the share nu of the rows
    lies outside the tube, at least the share nu are support vectors (Schölkopf et al., 2000). It is SVR with
    epsilon = tube_.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    nu : float in (0, 1], default 0.5
    C : float, default 1.0
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    Those of SVR; tube_ is the epsilon that was found.

    >>> import numpy as np
    >>> from mercer import Gaussian, NuSVR
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.sin(np.arange(20.0))
    >>> model = NuSVR(Gaussian(length_scale=1.0), nu=0.4, C=10.0).fit(X, y)
    >>> bool((np.abs(model.predict(X) - y) > model.tube_ + 1e-2).mean() <= 0.4)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require(type(self).__name__, "C", self.C, "a number > 0", 0 < real(self.C) < math.inf)
        require_share(type(self).__name__, "nu", self.nu)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        return nu_regression(y, float(self.C) * weights, float(self.nu))

    def _tube(self, found: SupportFunction) -> float:
        return found.scale
