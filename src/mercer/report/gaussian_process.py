"""Pictures of a Gaussian process: mean and bands over one column, calibration of its error bars, relevance of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.arrays import Array
from mercer.errors import InputError, plural
from mercer.estimators.gp.diagnosis import LEVELS
from mercer.estimators.gp.vecchia import column_steps
from mercer.report.drawing import BLUE, GRAY, ORANGE, SKY, VERMILLION, many_axes, one_axes, one_column

#: Points of a drawn function.
LINE = 500


@dataclass
class ProcessDisplay:
    """Posterior mean and bands of f and of y over one column, with functions drawn from the posterior.

    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessRegressor
    >>> from mercer.report.gaussian_process import ProcessDisplay
    >>> X = np.linspace(0, 6, 20)[:, None]
    >>> model = GaussianProcessRegressor(Gaussian(1.0), noise=0.01, optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> display = ProcessDisplay.from_estimator(model, X, np.sin(X[:, 0]), n_samples=2)
    >>> display.samples.shape, bool(np.all(display.noisy >= display.latent))
    ((500, 2), True)
    """

    points: Array  # (LINE,)
    mean: Array  # (LINE,)
    latent: Array  # (LINE,) standard deviation of f
    noisy: Array  # (LINE,) standard deviation of y
    samples: Array  # (LINE, s)
    X: Array  # (n,)
    y: Array  # (n,)
    coverage: float
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        n_samples: int = 3,
        coverage: float = 0.95,
        margin: float = 0.1,
        random_state: int = 0,
        ax: Any = None,
    ) -> ProcessDisplay:
        """Evaluate a fitted process over the range of X, widened by the share `margin` on both sides, and draw it."""
        if not 0.0 < coverage < 1.0:
            raise InputError(f"coverage must lie strictly between 0 and 1; got {coverage!r}.")
        column, targets = one_column(X)[:, 0], np.asarray(y, dtype=np.float64)
        if targets.shape != column.shape:
            raise InputError(f"ProcessDisplay draws one target: y has shape {targets.shape} for {len(column)} rows of X.")
        room = margin * (float(np.ptp(column)) or 1.0)
        points = np.linspace(column.min() - room, column.max() + room, LINE)
        mean, latent = model.predict(points[:, None], return_std=True)
        noisy = model.predict(points[:, None], return_std=True, include_noise=True)[1]
        samples = np.empty((LINE, 0))
        if n_samples:
            samples = model.sample_y(points[:, None], n_samples, random_state=random_state)
        return cls(points, mean, latent, noisy, samples, column, targets, coverage).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ProcessDisplay:
        """Draw bands, samples, mean and data, in this order."""
        self.figure_, self.ax_ = one_axes(ax, (6.4, 4.0))
        reach = float(ndtri(0.5 + self.coverage / 2))
        for std, color, what in ((self.noisy, SKY, "of y"), (self.latent, BLUE, "of f")):
            low, high = self.mean - reach * std, self.mean + reach * std
            self.ax_.fill_between(
                self.points, low, high, color=color, alpha=0.25, linewidth=0, label=f"{100 * self.coverage:g} % {what}"
            )
        for k, sample in enumerate(self.samples.T):
            self.ax_.plot(
                self.points, sample, color=ORANGE, linewidth=0.8, label="drawn from the posterior" if k == 0 else None
            )
        self.ax_.plot(self.points, self.mean, color=BLUE, label="mean")
        self.ax_.scatter(self.X, self.y, s=9, color="black", zorder=3, label="data")
        self.ax_.set(xlabel="x", ylabel="y")
        self.ax_.legend(fontsize=8)
        return self


@dataclass
class CalibrationDisplay:
    """Observed coverage of intervals against their nominal coverage, and the histogram of P(Y <= y), which is flat if the
    error bars are correct.
    """

    levels: Array  # (L,)
    observed: Array  # (L,)
    pit: Array  # (n,) P(Y_i <= y_i)
    source: str
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, levels: Sequence[float] = LEVELS, ax: Any = None
    ) -> CalibrationDisplay:
        """Evaluate a process on new rows, or, if none are given, by closed-form leave-one-out on the training rows."""
        if (X is None) != (y is None):
            raise InputError("CalibrationDisplay takes rows X with their targets y, or neither for leave-one-out.")
        if X is None:
            pit, source = model.loo_.pit, "leave-one-out"
        else:
            mean, std = model.predict(X, return_std=True, include_noise=True)
            pit, source = ndtr((np.asarray(y, dtype=np.float64) - mean) / std), "new rows"
        pit = np.asarray(pit).ravel()
        pit = pit[np.isfinite(pit)]
        wanted = np.asarray(levels, dtype=np.float64)
        observed = np.array([np.mean(np.abs(pit - 0.5) <= level / 2) for level in wanted])
        return cls(wanted, observed, pit, source).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CalibrationDisplay:
        """Draw the curve and the diagonal, with the range of random variation."""
        self.figure_, self.ax_ = one_axes(ax, (4.8, 4.4))
        spread = 1.96 * np.sqrt(self.levels * (1 - self.levels) / max(len(self.pit), 1))
        self.ax_.fill_between(
            self.levels, self.levels - spread, self.levels + spread, color=GRAY, alpha=0.3, linewidth=0, label="chance"
        )
        self.ax_.plot([0, 1], [0, 1], color=GRAY, linewidth=0.8)
        self.ax_.plot(self.levels, self.observed, color=BLUE, marker="o", markersize=3, label=self.source)
        inset = self.ax_.inset_axes([0.62, 0.1, 0.34, 0.26])
        inset.hist(self.pit, bins=20, range=(0, 1), density=True, color=BLUE)
        inset.axhline(1.0, color=GRAY, linewidth=0.8)
        inset.set(yticks=[], xticks=[0, 1], title="P(Y ≤ y)")
        inset.title.set_fontsize(8)
        self.ax_.set(xlabel="level asked for", ylabel="share of rows inside", xlim=(0, 1), ylim=(0, 1))
        self.ax_.legend(loc="upper left", fontsize=8)
        return self


@dataclass
class RelevanceDisplay:
    """Relevance of each column: its spread divided by the step at which the correlation falls to 0.9.

    With one length scale per column (ARD) that step is the length scale, up to a factor; the step is defined for any kernel
    on vectors. A column that the process does not use has relevance 0.
    """

    names: tuple[str, ...]
    relevance: Array  # (d,) largest first; 1 is the largest
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, names: Sequence[str] | None = None, shown: int = 30, ax: Any = None
    ) -> RelevanceDisplay:
        """Rank the columns of X by the fitted kernel of a model."""
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2:
            raise InputError(f"RelevanceDisplay ranks the columns of an (n, d) array; X has shape {values.shape}.")
        known = names if names is not None else vars(model).get("feature_names_in_")
        called = [f"column {k}" for k in range(values.shape[1])] if known is None else [str(name) for name in known]
        if len(called) != values.shape[1]:
            raise InputError(f"There are {plural(len(called), 'name')} for {plural(values.shape[1], 'column')}.")
        raw = values.std(axis=0) / column_steps(model.kernel_, values)
        relevance = raw / (raw.max() or 1.0)
        order = np.argsort(-relevance, kind="stable")[:shown]
        return cls(tuple(called[k] for k in order), relevance[order]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> RelevanceDisplay:
        """Draw horizontal bars, most relevant on top."""
        self.figure_, self.ax_ = one_axes(ax, (5.6, 1.0 + 0.25 * len(self.names)))
        self.ax_.barh(range(len(self.names)), self.relevance, color=VERMILLION)
        self.ax_.set_yticks(range(len(self.names)), list(self.names))
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="relevance: spread of the column / length scale, largest = 1", xlim=(0, 1.02))
        return self


@dataclass
class TermsDisplay:
    """One panel per term of a sum of kernels over one column: posterior mean and band of the term.

    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessRegressor, Linear
    >>> from mercer.report.gaussian_process import TermsDisplay
    >>> X = np.linspace(0, 6, 20)[:, None]
    >>> kernel = 1.0 * Gaussian(1.0) + 0.1 * Linear()
    >>> model = GaussianProcessRegressor(kernel, noise=0.01, optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> len(TermsDisplay.from_estimator(model, X).axes_)
    3
    """

    points: Array  # (LINE,)
    names: tuple[str, ...]
    mean: Array  # (LINE, p)
    std: Array  # (LINE, p)
    coverage: float
    axes_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, names: Sequence[str] | None = None, coverage: float = 0.95
    ) -> TermsDisplay:
        """Evaluate `model.components` over the range of X, and draw it; `names` are titles of the panels."""
        column = one_column(X)[:, 0]
        points = np.linspace(column.min(), column.max(), LINE)
        found = model.components(points[:, None])
        if found.mean.ndim != 2:
            raise InputError("TermsDisplay draws one target; fit one column of y.")
        titles = found.names if names is None else tuple(names)
        if len(titles) != len(found):
            raise InputError(f"names must have {len(found)} entries, one per term and one for the mean; got {len(titles)}.")
        return cls(points, titles, found.mean, found.std, coverage).plot()

    def plot(self) -> TermsDisplay:
        """Draw the panels below each other."""
        p, reach = len(self.names), float(ndtri(0.5 + self.coverage / 2))
        self.figure_, panels = many_axes(None, p, 1, (7.0, 1.6 * p + 0.4), sharex=True)
        self.axes_ = panels[:, 0]
        for ax, title, mean, std in zip(self.axes_, self.names, self.mean.T, self.std.T, strict=True):
            ax.fill_between(self.points, mean - reach * std, mean + reach * std, color=SKY, alpha=0.4, linewidth=0)
            ax.plot(self.points, mean, color=BLUE)
            ax.set_title(title, fontsize=8, loc="left")
        self.axes_[-1].set_xlabel("x")
        return self
