"""Display of predicted against true values, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.report.drawing import BLACK, BLUE, VERMILLION, Drawing, one_axes

#: Largest number of points that are drawn; of more, a random sample is drawn. The title is computed from all of them.
SHOWN = 400


@runtime_checkable
class HasIntervals(Protocol):
    """A regressor with prediction intervals."""

    def predict_interval(self, X: Any, coverage: float) -> Any:
        """Return low and high per row, (n, 2)."""


@dataclass
class PredictionDisplay(Drawing):
    """Predicted against true targets with intervals; the title gives the share of targets inside them.

    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.report.ridge import PredictionDisplay
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    >>> display = PredictionDisplay.from_estimator(KernelRidgeCV().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> bool(0 <= display.covered <= 1)
    True
    """

    truth: Array  # (n,)
    predicted: Array  # (n,)
    interval: Array | None  # (n, 2)
    coverage: float | None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, coverage: float = 0.9, ax: Any = None) -> PredictionDisplay:
        """Draw the predictions of a fitted regressor, with intervals where it has `predict_interval`."""
        interval = estimator.predict_interval(X, coverage) if isinstance(estimator, HasIntervals) else None
        return cls.from_predictions(y, estimator.predict(X), interval=interval, coverage=coverage, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, interval: Any = None, coverage: float | None = None, ax: Any = None
    ) -> PredictionDisplay:
        """Draw given predictions; interval is (n, 2)."""
        truth, values = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
        if truth.ndim != 1 or truth.shape != values.shape:
            raise InputError(
                f"one target at a time: y has shape {truth.shape}, the predictions {values.shape}; give (n,) both."
            )
        bounds = None if interval is None else np.asarray(interval, dtype=np.float64)
        if bounds is not None and bounds.shape != (len(truth), 2):
            raise InputError(f"interval must have shape ({len(truth)}, 2): low and high per row; got {bounds.shape}.")
        return cls(truth, values, bounds, coverage if bounds is not None else None).plot(ax=ax)

    @property
    def inside(self) -> Array:  # (n,)
        """Mask of the targets inside their intervals; all True if there are no intervals."""
        if self.interval is None:
            return np.ones(len(self.truth), dtype=bool)
        return np.asarray((self.interval[:, 0] <= self.truth) & (self.truth <= self.interval[:, 1]))

    @property
    def covered(self) -> float:
        """The fraction of targets inside their intervals."""
        return float(self.inside.mean())

    @property
    def rmse(self) -> float:
        """The root mean squared error."""
        return float(np.sqrt(np.mean((self.predicted - self.truth) ** 2)))

    def plot(self, *, ax: Any = None) -> PredictionDisplay:
        """Draw on the axes given, or on a new figure."""
        self.figure_, self.ax_ = one_axes(ax, (5.2, 5.0))
        n = len(self.truth)
        rows = np.arange(n) if n <= SHOWN else np.random.default_rng(0).choice(n, SHOWN, replace=False)
        inside = self.inside[rows]
        self._points(rows[inside], BLUE, "o", "in its interval" if self.interval is not None else "prediction")
        if not inside.all():
            self._points(rows[~inside], VERMILLION, "s", "outside")
        ends = float(min(self.truth.min(), self.predicted.min())), float(max(self.truth.max(), self.predicted.max()))
        self.ax_.plot(ends, ends, color=BLACK, lw=1.2, ls="--", label="predicted = true", zorder=3)
        self.ax_.set(xlabel="true", ylabel="predicted", title=self._title(n, len(rows)))
        self.ax_.legend(frameon=False, loc="upper left")
        return self

    def _points(self, rows: Array, color: str, marker: str, label: str) -> None:
        x, y = self.truth[rows], self.predicted[rows]
        if self.interval is not None:
            # from the prediction to either end; matplotlib rejects lengths that rounding makes negative
            sides = np.maximum([y - self.interval[rows, 0], self.interval[rows, 1] - y], 0.0)
            self.ax_.errorbar(x, y, sides, fmt="none", ecolor=color, elinewidth=0.7, alpha=0.35, zorder=1)
        self.ax_.plot(x, y, marker, ms=4, color=color, mec="white", mew=0.3, ls="none", label=label, zorder=2)

    def _title(self, n: int, shown: int) -> str:
        lines = [f"RMSE {self.rmse:.3g} on {n:,} rows" + (f" ({shown} shown)" if shown < n else "")]
        if self.interval is not None:
            asked = "intervals" if self.coverage is None else f"{self.coverage:.0%} intervals"
            lines.append(f"{asked} cover {self.covered:.1%}")
        return "\n".join(lines)
