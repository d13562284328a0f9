"""What SVR and NuSVR share: the fit, the prediction, and intervals from rows that were held out."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.base import TrainingSet, check_is_fitted
from mercer.estimators.intervals import jackknife_radius
from mercer.estimators.progress import Meter
from mercer.estimators.standing import stands
from mercer.estimators.summary import Summary, known
from mercer.estimators.svm.intervals import FoldResiduals, crossed, hold_out
from mercer.estimators.svm.model import SupportModel, Training
from mercer.estimators.svm.solver import Solver, SolverSettings, fit_status
from mercer.inputs import count
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction
from mercer.linalg.box_qp.solver import solve_regression
from mercer.planning import Route


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
        """Fit the function; rows of weight 0 have no say, but get their outputs."""
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
        gap = solution.gap if stands(data.kernel, data.X, type(self).__name__) else math.nan
        self.dual_objective_, self.duality_gap_ = solution.dual, gap
        self.primal_objective_ = solution.dual + gap
        self.tube_ = self._tube(solution)
        known = data.counted > 0
        self._inside = float((np.abs(data.y - solution.outputs)[known] <= self.tube_ + float(self.tol)).mean())
        self._later = {"training": Training(data.X, data.y, data.counted)}
        self.fit_status_ = fit_status(type(self).__name__, [solution], stacklevel=5)

    def predict(self, X: Any) -> Floats:
        """Return f(x) = sum over the support vectors of dual_coef_ k(x_i, x) + intercept_."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._columns(X)[:, 0])

    def predict_interval(self, X: Any, coverage: float = 0.9, *, method: str = "cv") -> Floats:
        """Return an interval for the target at each new point, (n, 2), from residuals of rows held out in ten folds.

        Parameters
        ----------
        coverage : float
            The fraction of new targets that should fall inside.
        method : "cv" or "cv+"
            "cv" is f(x) -+ q, q the ceil(coverage (n + 1))-th smallest held-out residual in absolute value: about the
            coverage asked for, without a proof. "cv+" (Barber et al., 2021) moves each end with the functions of the ten
            folds; it covers at least 1 - 2 (1 - coverage) - sqrt(2 / n) whatever the data, if rows are exchangeable.

        The folds are fitted when this is first asked for.
        """
        if method not in ("cv", "cv+"):
            raise InputError(f'{type(self).__name__}: method must be "cv" or "cv+"; got {method!r}.')
        check_is_fitted(self)
        held = self._once("held", self._hold_out)
        if method == "cv":
            center, radius = self.predict(X), jackknife_radius(held.residuals, coverage)
            return np.stack([center - radius, center + radius], axis=1)
        return crossed(held, self.kernel_, self._read(X, reset=False), coverage)

    @property
    def cv_residuals_(self) -> Array:
        """y_i - f(x_i) by the function fitted without the fold of row i, (n,) over rows of positive weight."""
        check_is_fitted(self)
        return self._once("held", self._hold_out).residuals

    def _hold_out(self, training: Training) -> FoldResiduals:
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
