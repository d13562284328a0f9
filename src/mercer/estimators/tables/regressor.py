"""`TableRegressor`: a data frame in, a mean of kernel models out, chosen by held-out rows."""

from __future__ import annotations

import time as clock
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.intervals import Calibration, calibrate, interval
from mercer.estimators.tables.members import Outcome
from mercer.estimators.tables.targets import NONE, YEO_JOHNSON, is_skewed
from mercer.kernels.base import Kernel
from mercer.registry import estimator


def squared(F: Array, Y: Array) -> Floats:  # (n, t), (n, t) -> (n,)
    """Squared errors."""
    return np.asarray(np.mean((F - Y) ** 2, axis=1))


@estimator
class TableRegressor(RegressorMixin, TableEstimator):
    """Regression on a data frame that does everything: kernels over mixed columns, learned metrics, honest choice.

    Numbers, categories, ordered categories, dates, text and graphs; holes by a kernel that stays psd. Candidates learn
    their metric inside each fold and are compared on held-out rows; the best few are averaged with weights and fitted on
    all rows. Constant, repeated and identifier-like columns are named in `result_` and left out.

    Parameters
    ----------
    kernel : kernel or its text, optional
        This kernel alone instead of the candidates: on the columns it names (`.on("age")`), or on whole rows of standardized
        numbers. Its numbers stay; a "median" is chosen from the rows, and the penalty by leave-one-out.
    time : seconds, optional
        A limit for `fit`; without one the same work is done everywhere.
    memory : bytes or text such as "4 GB", optional
        Budget of the final fit; landmarks are used where the matrix of all rows does not fit.
    random_state : int, RandomState or None
        Folds and draws; None is the seed 0.
    verbose : bool or None

    Attributes
    ----------
    members_ (the models of the mean), result_ (what was tried, with errors, and why), feature_importances_,
    n_features_in_, feature_names_in_.

    >>> import numpy as np
    >>> from mercer import TableRegressor
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = TableRegressor(time=0.1).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _stored: ClassVar[dict[str, str]] = {"_calibration": "a Calibration"}

    def __init__(
        self,
        *,
        kernel: Kernel | str | None = None,
        time: float | None = None,
        memory: int | float | str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.time = time
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Any, y: Any) -> TableRegressor:
        """Learn from a table X (data frame or (n, d) array) and one number per row."""
        started = clock.perf_counter()
        columns = self._training_columns(X)
        target = read_target(type(self).__name__, y, len(columns[0].holes))
        self._n_rows, self._targets = len(target), target[:, None]
        transforms = (NONE, YEO_JOHNSON) if is_skewed(target) else (NONE,)
        outcome = self._fit(self._fitting(columns, self._targets, squared, transforms=transforms))
        self._calibration = self._calibrated(outcome)
        self._importances = self._importance([column.name for column in columns], outcome.search.tables.inputs)
        self.result_ = self._result(columns, outcome, "regression", "RMSE", True, started)
        del self._targets
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predicted number for every row."""
        return self._predictions(self._new_inputs(X))[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:  # -> (n, 2)
        """Return an interval for the target at every new row, (n, 2), wider where the residuals were larger.

        Conformal, with residuals divided by the spread expected at their row, and quantiles among rows with similar
        predictions, each where it makes intervals better on residuals left out. Each is of a row left out of the fit, under
        a metric learned without its fold (where more rows were given than are searched: of rows that no metric has seen).
        Leave-one-out under the final metric would be too small, since that has seen every target; a fit without the whole
        fold would be too large, since it has seen fewer rows. Coverage is approximate.
        """
        inputs = self._new_inputs(X)
        return self._intervals(inputs, self._predictions(inputs)[:, 0], coverage)

    def _intervals(self, inputs: dict[str, Any], centers: Floats, coverage: float) -> Floats:
        widths = self._calibration.width(inputs[self._spread_scaling()])
        return interval(self._calibration, widths, coverage, centers)

    def _calibrated(self, outcome: Outcome) -> Calibration:
        truth = self._Y_judged(outcome)[:, 0]
        residuals = truth - outcome.held_out[:, 0]
        rule = self._spread_scaling()
        tables = outcome.search.tables
        if outcome.by_folds:
            Z = tables.inputs[rule]
        else:
            Z = self._judged_inputs[rule]
            del self._judged_inputs
        kernel = self.members_[0].model.kernel if rule == "columns" else None
        return calibrate(residuals, outcome.held_out[:, 0], Z, kernel)


def read_target(name: str, y: Any, n: int) -> Floats:  # -> (n,)
    """One finite number per row, for the estimator of this name."""
    if y is None:
        raise InputError(f"{name} requires y to be passed, but the target y is None.")
    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "O" and any(value is None for value in values):
        values = np.array([np.nan if value is None else value for value in values], dtype=object)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"y must be numbers for {name}; use TableClassifier for classes. Unknown label type") from None
    if len(numbers) != n:
        raise InputError(
            f"y has {len(numbers)} values for {n} rows of X; Found input variables with inconsistent numbers of samples."
        )
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        word = "NaN" if np.isnan(numbers).any() else "infinity"
        raise InputError(
            f"Input y contains {word} (row {row}): a target with holes teaches nothing there; drop such rows first."
        )
    return numbers
