"""`ConformalRegressor`: intervals around the predictions of any fitted regressor, from calibration rows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import InputError, check_choice, check_number, describe
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.local_intervals import LocalCalibration, calibrate, check_rows
from mercer.inputs import count
from mercer.inputs.targets import read_targets
from mercer.kernels.parsing import as_kernel
from mercer.registry import estimator


@runtime_checkable
class HasPredict(Protocol):
    """A model of any library."""

    def predict(self, X: Any) -> Any:
        """Return predictions."""


@estimator
class ConformalRegressor(RegressorMixin, BaseEstimator):
    """Intervals f(x) -+ q(x) around any fitted regressor f, from rows that it has not seen.

    Without `shift` q is the ceil(coverage (n + 1))-th smallest |y - f(x)| of the calibration rows: at least the requested
    share of new targets lies inside, if the rows are exchangeable. With a kernel, `shift`, q varies over x: it is a quantile
    regression of |y - f(x)| on a constant and a function of the kernel's space, in which the new row takes part with the
    largest score that it can have (Gibbs, Cherian and Candès 2023). The coverage over all rows is again at least the
    requested one. It also holds for rows that are drawn with weights from the space of the kernel, up to the share that
    `coverage_gap` estimates: near every point for a Gaussian, in every group for `Categorical().on("group")`.

    Parameters
    ----------
    estimator : a fitted regressor of mercer, scikit-learn or any other library, with `predict`
    shift : Kernel or str, optional
        The shifts of the rows that are guarded against; None: none of them.
    penalty : "auto" or float > 0
        The penalty on the varying part. "auto" takes the least pinball loss on held-out rows, on a quarter of the rows given
        to `fit` (at most 250), which then do not calibrate; 0.1 below 100 rows.
    random_state : int, RandomState or None
        None: intervals cover at least the requested share. A seed: ends are randomized, and the share is exact.

    Attributes
    ----------
    X_, scores_ (the calibration rows and their |y - f(x)|).

    >>> import numpy as np, mercer
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 4.0, (600, 1))
    >>> y = X[:, 0] + X[:, 0] * rng.normal(size=600)  # the noise grows with x
    >>> line = LinearRegression().fit(X[:200], y[:200])
    >>> same = mercer.ConformalRegressor(line).fit(X[200:], y[200:])
    >>> local = mercer.ConformalRegressor(line, shift=mercer.Gaussian(1.0)).fit(X[200:], y[200:])
    >>> new = np.array([[0.5], [2.0], [3.5]])
    >>> [np.diff(model.predict_interval(new))[:, 0].round(1).tolist() for model in (same, local)]
    [[6.8, 6.8, 6.8], [1.5, 5.4, 11.1]]
    """

    _stored: ClassVar[dict[str, str]] = {"X_": "rows n", "scores_": "float (n,) >= 0"}

    X_: Any
    scores_: Floats

    def __init__(self, estimator: Any, shift: Any = None, *, penalty: Any = "auto", random_state: Any = None) -> None:
        self.estimator = estimator
        self.shift = shift
        self.penalty = penalty
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ConformalRegressor:
        """Calibrate on rows X with targets y (n,) that the estimator was not fitted to; it is not fitted again."""
        self._check_parameters()
        targets = read_targets(type(self).__name__, y, count(X))
        found = self._centers(X)
        if targets.ndim != 1 or found.ndim != 1:
            raise InputError("ConformalRegressor takes one target at a time: y and the predictions must have one axis.")
        good = np.isfinite(found)
        if found.shape != targets.shape or not good.all():
            odd = "" if good.all() else f", of which that of row {int(np.argmin(good))} is {found[np.argmin(good)]}"
            raise InputError(
                f"ConformalRegressor: the estimator must predict one finite number for each of the {len(targets)} "
                f"calibration rows; got {len(found)} predictions{odd}."
            )
        self.X_, self.scores_ = X, np.abs(targets - found)
        self.__dict__.pop("_calibrations", None)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predictions of the estimator."""
        check_is_fitted(self)
        return self._centers(X)

    def predict_interval(self, X: Any, coverage: float = 0.9, *, method: str | None = None, shift: Any = None) -> Floats:
        """Return an interval for the target at each new row, (n, 2).

        Parameters
        ----------
        coverage : float
            The share of new targets inside.
        method : "marginal", "local" or None
            One width for all rows, or widths that vary with the kernel `shift`; None: "local" if there is such a kernel.
        shift : Kernel or str, optional
            Another kernel than that of the constructor.
        """
        check_is_fitted(self)
        kernel = self.shift if shift is None else shift
        if method is None:
            method = "marginal" if kernel is None else "local"
        check_choice(type(self).__name__, "method", method, ("marginal", "local"))
        check_rows(type(self).__name__, len(self.scores_), coverage)
        centers = self._centers(X)
        if method == "marginal":
            radii = np.full(len(centers), conformal_radius(self.scores_, coverage))
        else:
            radii = self._calibration(kernel, coverage).thresholds(X, coverage, self._cuts(len(centers), coverage))
        return np.column_stack([centers - radii, centers + radii])

    def coverage_gap(self, X: Any, coverage: float = 0.9, *, shift: Any = None) -> Floats:
        """Return by how much the coverage near each row exceeds the requested one because of the penalty, as estimated."""
        check_is_fitted(self)
        return self._calibration(self.shift if shift is None else shift, coverage).gap(X, coverage)

    def _calibration(self, shift: Any, coverage: float) -> LocalCalibration:
        """The calibration for a kernel and a coverage, made at first use."""
        if shift is None:
            raise InputError('ConformalRegressor: method="local" needs shift=, the kernel of the shifts to guard against.')
        self._check_parameters()
        made = self.__dict__.setdefault("_calibrations", {})
        key = (shift, coverage)
        if key not in made:
            made[key] = calibrate(shift, self.X_, self.scores_, self.penalty, coverage, outside=True)
            check_rows(f"{type(self).__name__}: after choosing the penalty", len(made[key].scores), coverage)
        found: LocalCalibration = made[key]
        return found

    def _cuts(self, m: int, coverage: float) -> Floats | None:
        if self.random_state is None:
            return None
        return np.asarray(check_random_state(self.random_state).uniform(coverage - 1.0, coverage, m))

    def _centers(self, X: Any) -> Floats:
        return np.asarray(self.estimator.predict(X), dtype=np.float64)

    def _check_parameters(self) -> None:
        model = self.estimator
        if not (isinstance(self.penalty, str) and self.penalty == "auto"):
            check_number("ConformalRegressor", "penalty", self.penalty, '"auto" or a number > 0', lambda v: 0 < v < math.inf)
        if self.shift is not None:
            as_kernel(self.shift)
        if not isinstance(model, HasPredict):
            raise InputError(f"ConformalRegressor: estimator must have predict; got {describe(model)}.")
        if not isinstance(model, BaseEstimator):
            return
        if not is_regressor(model):
            raise InputError(
                f"ConformalRegressor takes a regressor; got {type(model).__name__}. Sets of classes are predict_set(X)."
            )
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise InputError(
                f"ConformalRegressor calibrates a fitted estimator, and {type(model).__name__} is not fitted. Fit it "
                "on other rows first."
            ) from None

    def __sklearn_clone__(self) -> ConformalRegressor:
        """Return a copy without calibration rows; the estimator, which must be fitted, is kept."""
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        """Without the calibrations, which are made again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_calibrations"}

    def __sklearn_is_fitted__(self) -> bool:
        return "scores_" in self.__dict__
