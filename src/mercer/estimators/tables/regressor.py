"""`TableRegressor`: regression on a data frame by a mean of kernel models, chosen on held-out rows."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.arrays import Floats
from mercer.errors import InputError, check_choice, plural
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.encoding import COLUMNS
from mercer.estimators.tables.fitting import Outcome
from mercer.estimators.tables.intervals import Calibration, calibrate, interval
from mercer.estimators.tables.refits import RefitMixin
from mercer.estimators.tables.row_weights import read_weights
from mercer.estimators.tables.search import Objective
from mercer.estimators.tables.targets import NONE, YEO_JOHNSON, is_skewed
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.registry import estimator


def squared(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:  # (n, t), (n, t) -> (n,)
    """Return squared errors."""
    return np.asarray(np.mean((F - Y) ** 2, axis=1))


def absolute(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:  # (n, t), (n, t) -> (n,)
    """Return absolute errors."""
    return np.asarray(np.mean(np.abs(F - Y), axis=1))


SQUARED = Objective("regression", "RMSE", squared, root=True)

#: What `scoring` can be.
SCORING = {"rmse": SQUARED, "mae": Objective("regression", "mean absolute error", absolute)}


@estimator
class TableRegressor(RegressorMixin, RefitMixin, TableEstimator):
    """Regression on a data frame: kernels over mixed columns, learned metrics, choice by held-out rows.

    Columns may be numbers, categories, ordered categories, dates, text and graphs. Missing cells are handled by a positive
    semi-definite kernel. Candidates learn their metric inside each fold and are compared on held-out rows; the best few are
    averaged with weights and fitted on all rows. Constant, repeated and identifier-like columns are left out and named in
    `result_`.

    Parameters
    ----------
    kernel : kernel or its text, optional
        This kernel alone instead of the candidates: on the columns it names (`.on("age")`), or on whole rows of standardized
        numbers. Its parameters stay; "median" is chosen from the rows, and the penalty by leave-one-out.
    order : name of a column or several, bool, optional
        Time of the rows, such as "date" or ("year", "month"). Candidates are compared on blocks of later rows, each
        predicted from rows before it; columns of time are used only if that helps there. True is the order of the rows,
        False none.
        None looks for one: a date column that increases with the row number, or neighbors with similar errors.
    time : seconds, optional
        Time limit of `fit`. Without one the work does not depend on the speed of the machine.
    memory : bytes or text such as "4 GB", optional
        Memory budget of the final fit; landmarks are used if the matrix of all rows does not fit.
    scoring : "rmse" or "mae"
        What candidates are compared by on held-out rows: the root of the mean squared error, or the mean absolute error.
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
    _calibration: Calibration

    def __init__(
        self,
        *,
        kernel: Kernel | str | None = None,
        order: str | Sequence[str] | bool | None = None,
        time: float | None = None,
        memory: int | float | str | None = None,
        scoring: str = "rmse",
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.order = order
        self.time = time
        self.memory = memory
        self.scoring = scoring
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TableRegressor:
        """Learn from a table X (data frame or (n, d) array) and one number per row.

        sample_weight : one number >= 0 per row, optional
            A row of weight 2 counts as two copies of it, in every fit and in every comparison; only ratios matter.
        groups : one label per row, optional
            Rows of a group, such as the visits of a patient, are never split: errors and intervals are those of new groups.
        """
        started = clock.perf_counter()
        columns = self._training_columns(X)
        name, n = type(self).__name__, len(columns[0].holes)
        objective = SCORING[self._scoring()]
        target = read_target(name, y, n)
        rows, columns, layout = self._weighted(columns, target, read_weights(name, sample_weight, n), groups)
        target = target[rows.kept]
        if is_skewed(target):
            objective = replace(objective, transforms=(NONE, YEO_JOHNSON))
        outcome = self._fitting(columns, target[:, None], objective, layout=layout, weights=rows.weights).run()
        return self._store_rows(outcome, rows, started)._dated(columns, layout)

    def _read_target(self, y: Any, n: int) -> Floats:
        return read_target(type(self).__name__, y, n)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._scoring()

    def _scoring(self) -> str:
        if self.scoring == "pinball":
            raise InputError("TableRegressor predicts the mean; for the pinball loss use TableQuantileRegressor.")
        return check_choice("TableRegressor", "scoring", self.scoring, SCORING)

    def predict(self, X: Any) -> Floats:
        """Return the predicted number for every row."""
        return self.scores(self.new_inputs(X))[:, 0]

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str | None = None, shift: Any = None
    ) -> Floats:  # -> (n, 2)
        """Return an interval for the target at every new row, (n, 2), wider where the residuals were larger.

        Intervals are conformal, with residuals divided by the spread expected at their row and quantiles among rows with
        similar predictions; each is used if it improves intervals on left-out residuals. A residual is that of a row left
        out of the fit, under a metric learned without its fold (or, with more rows than are searched, of rows that no
        metric has seen). Leave-one-out under the final metric would be too small, because the metric has seen every target.
        A fit without the whole fold would be too large, because it has seen fewer rows. Coverage is approximate.

        method : None or "local"
            "local": thresholds that vary with a kernel on the encoded rows, `shift`, by default that of the spread, or of
            the model if it was given.
        """
        name = type(self).__name__
        if method is not None:
            check_choice(name, "method", method, ("local",))
        elif shift is not None:
            raise InputError(f'{name}: shift= is for method="local"; got method=None.')
        inputs = self.new_inputs(X)
        if method == "local":
            rows, centers = inputs[self.spread_scaling], self.scores(inputs)[:, 0]
            near = self.members_[0].model.kernel if shift is None and self.spread_scaling == COLUMNS else shift
            radii = self._calibration.local_radius(rows.data, coverage, near) * self._calibration.width(rows)
            return np.column_stack([centers - radii, centers + radii])
        return self.intervals(inputs, self.scores(inputs)[:, 0], coverage)

    def intervals(self, inputs: dict[str, Rows], centers: Floats, coverage: float) -> Floats:  # (n,) -> (n, 2)
        """Return the intervals around predictions at encoded rows."""
        widths = self._calibration.width(inputs[self.spread_scaling])
        return interval(self._calibration, widths, coverage, centers)

    def _calibrate(self, outcome: Outcome) -> None:
        rule, predictions = self.spread_scaling, outcome.held_out[:, 0]
        kernel = self.members_[0].model.kernel if rule == COLUMNS else None
        residuals = outcome.targets[:, 0] - predictions
        self._calibration = calibrate(residuals, predictions, outcome.judged[rule], kernel, outcome.weights, outcome.groups)


def read_target(name: str, y: Any, n: int) -> Floats:  # -> (n,)
    """Return one finite number per row; `name` is that of the estimator."""
    if y is None:
        raise InputError(f"{name} requires y to be passed, but the target y is None.")
    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "O" and any(value is None for value in values):
        values = np.array([np.nan if value is None else value for value in values], dtype=object)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"y must be numbers for {name}. Unknown label type: for classes use TableClassifier.") from None
    if len(numbers) != n:
        raise InputError(f"y has {plural(len(numbers), 'value')} for {plural(n, 'row')} of X; give one value per row.")
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        word = "NaN" if np.isnan(numbers).any() else "infinity"
        raise InputError(
            f"Input y contains {word} (row {row}): a row without a target cannot be learned from; drop such rows first."
        )
    return numbers
