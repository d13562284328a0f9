"""`DriftMonitor`: an alarm when new rows no longer look like a reference, at a stated mean run length without drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array, Floats
from mercer.changes.change_points import table_kernel
from mercer.changes.drift_reference import (
    BASE,
    DIRECTIONS,
    FEWEST_RUNS,
    LANDMARKS,
    MOST_RUNS,
    SIMULATED_ROWS,
    DriftReference,
    reference_of,
)
from mercer.errors import InputError, check_whole, warn
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.inputs import append, count, is_frame, take
from mercer.inputs.rows import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.numeric.encodings import dense
from mercer.numeric.spread import column_spread
from mercer.planning import Route, Shape, entry_rate
from mercer.registry import estimator
from mercer.twosample.explanation import explain
from mercer.twosample.samples import pool

#: Rows kept for the question which columns moved: of the reference, and the latest ones.
KEPT_REFERENCE, KEPT_RECENT = 2000, 500

#: Rows whose features are made at once.
PORTION = 4096

#: With fewer reference rows the run length is not close to the one asked for.
FEW_ROWS = 200

#: The longest run length.
LONGEST_RUN = 1_000_000

#: Relabelings of the question which columns moved.
RELABELINGS = 999


@dataclass(frozen=True)
class MovedColumn:
    """A column (or a substring, or an example) that moved: `difference` is that of recent rows from the reference."""

    name: Any
    pvalue: float  # corrected for the number of columns
    difference: float  # in standard deviations for columns


@estimator
class DriftMonitor(KernelEstimator):
    """Raise an alarm when the distribution of arriving rows is no longer that of a reference.

    After every fourth row the means of the last 8, 12, 16, 24, 32, … rows in feature space are compared with the mean of
    the reference; larger windows are compared less often. An alarm is raised when the largest standardized distance
    exceeds a threshold, which is set by simulated runs: without a drift, the mean number of rows until an alarm is
    `run_length`, whatever the distribution and however rows are cut into batches. Memory does not grow with the rows.

    Parameters
    ----------
    kernel : Kernel or str, optional
        Default for numbers: a Gaussian with the median distance in units of the spread of each column. For data frames with
        other columns: `frame_kernel`. For strings: Spectrum(2).normalized().
    run_length : int from 20 to 1,000,000, default 10,000
        Mean number of rows until a false alarm. Rows must be independent of each other.
    memory, verbose : as for other estimators
    random_state : int or None, default 0

    Attributes
    ----------
    alarm_ : bool, whether an alarm was raised since `fit` or `reset`
    alarm_row_ : int or None, the number of rows after which it was raised
    window_ : int, the number of latest rows that caused it
    rows_ : int, rows since `fit` or `reset`
    distance_ : float, the largest standardized distance of the last update in which a window ended; 0 before the first
    threshold_ : float

    >>> import numpy as np
    >>> from mercer import DriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = DriftMonitor(run_length=1000).fit(rng.normal(size=(800, 2)))
    >>> monitor.update(rng.normal(size=(100, 2)))
    False
    >>> monitor.update(rng.normal(size=(100, 2)) + [0.0, 1.0])
    True
    >>> [column.name for column in monitor.moved()]
    [1]
    """

    _stored: ClassVar[dict[str, str]] = {
        "_default": "None | kernel",
        "_reference": "a DriftReference",
        "reference_": "rows n d",
        "recent_": "None | rows w d",
        "_sums": "float (s, r)",
        "_counts": "int (c,) >= 0",
        "rows_": "int >= 0",
        "alarm_row_": "None | int >= 0",
        "window_": "int >= 0",
        "distance_": "real",
    }

    _keeps_rows = False
    alarm_row_: int | None

    def __init__(
        self,
        kernel: Any = None,
        run_length: int = 10_000,
        *,
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.run_length = run_length
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> DriftMonitor:
        """Take X as the reference and set the threshold; y is ignored."""
        fitted: DriftMonitor = self._fit(X)
        return fitted

    def _check_parameters(self) -> None:
        check_whole("DriftMonitor", "run_length", self.run_length, 20)
        if self.run_length > LONGEST_RUN:
            raise InputError(
                f"DriftMonitor: run_length is at most {LONGEST_RUN:,}, because it is simulated; got {self.run_length:,}."
            )

    def _given_kernel(self) -> Kernel:
        if self.kernel is None:
            return self.__dict__.get("_default") or DEFAULT_KERNEL
        return super()._given_kernel()

    def _read_training(self, X: Any, y: Any, sample_weight: Any, more: Mapping[str, Any]) -> TrainingSet:
        self._default = None
        if self.kernel is None:
            self._default = _default_kernel(X)
        return super()._read_training(X, y, sample_weight, more)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> DriftReference:
        if data.n < 4:
            raise InputError(f"DriftMonitor: {data.n} sample{'s' * (data.n != 1)} in the reference; give at least 4 rows.")
        if data.n < FEW_ROWS:
            warn(
                f"DriftMonitor: the reference has {data.n} rows; below {FEW_ROWS} the run length may be far from "
                f"{self.run_length:,}. Give more reference rows."
            )
        rng = np.random.default_rng(self.random_state)
        return reference_of(data.kernel, data.X, int(self.run_length), rng, meter)

    def _store(self, data: TrainingSet, solution: DriftReference) -> None:
        self._reference = solution
        rng = np.random.default_rng(self.random_state)
        some = np.sort(rng.choice(data.n, min(data.n, KEPT_REFERENCE), replace=False))
        self.reference_ = take(data.X, some)
        self._start()

    def _start(self) -> None:
        self._sums, self._counts = self._reference.empty()
        self.rows_, self.window_, self.alarm_row_, self.distance_ = 0, 0, None, 0.0
        self.recent_: Any = None

    def reset(self) -> DriftMonitor:
        """Forget all rows since `fit` and the alarm; the reference stays."""
        check_is_fitted(self)
        self._start()
        return self

    @property
    def alarm_(self) -> bool:
        """Whether an alarm was raised since `fit` or `reset`."""
        check_is_fitted(self)
        return self.alarm_row_ is not None

    @property
    def threshold_(self) -> float:
        """The largest standardized distance without an alarm."""
        check_is_fitted(self)
        return self._reference.threshold

    def update(self, X: Any) -> bool:
        """Look at further rows, in order; return whether an alarm was raised since `fit` or `reset`.

        After an alarm rows are counted and not judged, until `reset()`.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        total = count(rows)
        largest = -np.inf
        for start in range(0, total, PORTION):
            part = take(rows, slice(start, min(start + PORTION, total)))
            if self.alarm_row_ is None:
                largest = max(largest, self._judge(part))
            self.rows_ += count(part)
        if np.isfinite(largest):
            self.distance_ = largest
        return self.alarm_

    def _judge(self, rows: Any) -> float:
        """Enter rows and return the largest distance of a window that ends with one of them; -inf if none ends."""
        entered, distance, window = self._reference.follow(self._reference(rows), self._sums, self._counts)
        seen = take(rows, slice(max(0, entered - KEPT_RECENT), entered))
        self.recent_ = _latest(self.recent_, seen)
        if distance > self._reference.threshold:
            self.alarm_row_, self.window_ = self.rows_ + entered, window
        return distance

    def moved(self, level: float = 0.05) -> tuple[MovedColumn, ...]:
        """Return the columns in which the latest rows differ from the reference, those that moved most first.

        After an alarm the rows of the window that caused it are compared (at most 500), before it the last 500. P-values
        are corrected for the number of columns; they describe the difference, and are no second test of the alarm, whose
        rows were chosen because they differ. For strings and graphs, substrings or parts are named instead of columns.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InputError(f"DriftMonitor: level must lie strictly between 0 and 1; got {level!r}.")
        if self.recent_ is None or count(self.recent_) < 2:
            return ()
        size = min(self.window_ or KEPT_RECENT, count(self.recent_))
        latest = take(self.recent_, slice(count(self.recent_) - size, None))
        pooled = pool(
            latest, self.reference_, tokens=bool(self.kernel_.views & {"strings", "graphs", "molecules", "series"})
        )
        seed = 0 if self.random_state is None else self.random_state
        found = explain(pooled, self.kernel_, RELABELINGS, np.random.default_rng(seed))
        names = self.__dict__.get("feature_names_in_")
        return tuple(
            MovedColumn(one.name if names is None else _named(names, one.name), one.pvalue, one.difference)
            for one in found.significant(level)
        )

    def _check_loaded(self) -> None:
        found, levels = self._reference, self._reference.levels
        if self._sums.shape != (1 + 3 * levels, len(found.mean)) or self._counts.shape != (1 + levels,):
            raise InputError("DriftMonitor: the sums of windows do not fit the reference; the file is damaged.")

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        runs = int(np.clip(SIMULATED_ROWS // max(1, int(self.run_length)), FEWEST_RUNS, MOST_RUNS))
        seconds = shape.n * LANDMARKS / entry_rate() + runs * (1.3 * self.run_length + shape.n) * 1.5e-7
        size = 8 * (2 * LANDMARKS * min(shape.n, PORTION) + DIRECTIONS * shape.n + LANDMARKS**2)
        return (Route("landmarks", size, seconds, f"{runs} simulated runs on features of {LANDMARKS} landmarks", False),)

    def _summary(self) -> Summary:
        state = "no alarm" if self.alarm_row_ is None else f"after row {self.alarm_row_}, by its last {self.window_} rows"
        lines = (
            ("kernel", str(self.kernel_)),
            ("reference", f"{self._reference.n} rows for comparison"),
            ("run length", f"{self.run_length} rows without drift"),
            ("rows", str(self.rows_)),
            ("alarm", state),
            ("distance", f"{self.distance_:.3g}, threshold {self._reference.threshold:.3g}"),
            ("windows", f"{2 * BASE} to {3 * BASE * 2 ** (self._reference.levels - 1)} rows"),
        )
        return Summary(repr(self), lines, {"rows": self.rows_, "alarm": self.alarm_row_ is not None})


def _named(names: Array, column: Any) -> Any:
    return names[column] if isinstance(column, (int, np.integer)) else column


def _latest(old: Any, new: Any) -> Any:
    """Return the last rows of two collections together."""
    both = new if old is None else append(old, new)
    return take(both, slice(max(0, count(both) - KEPT_RECENT), None))


def _default_kernel(X: Any) -> Kernel | None:
    """Return the kernel for a reference without one; None for those that say themselves what is wrong with them."""
    if is_frame(X):
        kernel = table_kernel(X)
        return _in_units(np.asarray(Rows(X).vectors(), dtype=np.float64)) if kernel is None else kernel
    if isinstance(X, (list, tuple)) and len(X) and all(isinstance(item, str) for item in X):
        return Spectrum(2).normalized()
    try:
        table = np.asarray(dense(Rows(X, "X").vectors()), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return _in_units(table) if table.ndim == 2 and len(table) > 1 and table.shape[1] > 0 else None


def _in_units(table: Floats) -> Kernel:  # (n, d)
    """Return a Gaussian with the median distance in units of spread; any change of a constant column is large."""
    spread = column_spread(table)
    constant = 1e-6 * np.maximum(np.abs(table[0]), 1.0)
    units = np.where(spread > 0, spread, constant)
    median = float(Gaussian("median").resolve(table / units).get_params()["length_scale"])
    lengths = tuple((median * units).tolist())
    return Gaussian(lengths[0] if len(lengths) == 1 else lengths)


__all__ = ["DriftMonitor", "MovedColumn"]
