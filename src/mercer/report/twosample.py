"""Displays of a two-sample test: the witness over the data, the null distribution, the ranking of reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.report.drawing import BLUE, GRAY, VERMILLION, Drawing, one_axes
from mercer.twosample.explanation import Explanation
from mercer.twosample.result import MMDTestResult

#: Points per axis of a drawn witness.
LINE, GRID = 400, 80


@dataclass
class WitnessDisplay(Drawing):
    """mean k(x, .) - mean k(y, .) over one or two columns: positive where X has more mass, negative where Y has.

    >>> import numpy as np
    >>> from mercer import Gaussian, mmd_test
    >>> from mercer.report.twosample import WitnessDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(-1.0, 1.0, (50, 1)), rng.normal(1.0, 1.0, (60, 1))
    >>> display = WitnessDisplay.from_result(mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=0))
    >>> bool(display.values[0] > 0 > display.values[-1])
    True
    """

    points: Array  # (LINE, 1) or (GRID * GRID, 2): where the witness is evaluated
    values: Array  # (LINE,) or (GRID, GRID)
    X: Array
    Y: Array
    names: tuple[str, ...]

    @classmethod
    def from_result(cls, result: MMDTestResult, *, ax: Any = None) -> WitnessDisplay:
        """Evaluate the witness of a test on one or two columns over the range of the data, and draw it."""
        pooled = result.samples.in_memory("WitnessDisplay")
        data = np.asarray(pooled.rows.vectors() if pooled.kind in ("numbers", "frame") else [[]], dtype=np.float64)
        if data.shape[1] not in (1, 2):
            raise InputError(
                f"WitnessDisplay draws tests on one or two columns; this one has {data.shape[1] or 'no'} columns of "
                "numbers. Test on chosen columns, or draw result.explain() with RankingDisplay."
            )
        low, high = data.min(axis=0), data.max(axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        count = LINE if data.shape[1] == 1 else GRID
        axes = [np.linspace(a, b, count) for a, b in zip(low - margin, high + margin, strict=True)]
        points = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
        values = result.witness(points).reshape([len(axis) for axis in axes])
        names = tuple(name if isinstance(name, str) else f"column {name}" for name in pooled.column_names() or ())
        display = cls(points, values, data[: pooled.m], data[pooled.m :], names)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> WitnessDisplay:
        """Draw the witness with both samples."""
        self.figure_, self.ax_ = one_axes(ax, (6.4, 4.0))
        if self.X.shape[1] == 1:
            self._line()
        else:
            self._surface()
        return self

    def _line(self) -> None:
        places = self.points[:, 0]
        for sample, color, name in ((self.X, BLUE, "X"), (self.Y, VERMILLION, "Y")):
            self.ax_.hist(sample[:, 0], bins=40, density=True, color=color, alpha=0.3, label=name)
        self.ax_.set(xlabel=self.names[0], ylabel="density")
        twin = self.ax_.twinx()
        twin.plot(places, self.values, color="black", label="witness")
        twin.axhline(0.0, color=GRAY, linewidth=0.8)
        twin.set_ylabel("witness")
        self.ax_.legend(loc="upper left")

    def _surface(self) -> None:
        first, second = (np.unique(self.points[:, k]) for k in (0, 1))
        limit = float(np.abs(self.values).max()) or 1.0
        image = self.ax_.contourf(first, second, self.values.T, levels=np.linspace(-limit, limit, 21), cmap="RdBu")
        self.figure_.colorbar(image, ax=self.ax_, label="witness: X denser above 0, Y below")
        for sample, color, mark, name in ((self.X, BLUE, "o", "X"), (self.Y, VERMILLION, "x", "Y")):
            self.ax_.scatter(sample[:, 0], sample[:, 1], s=10, color=color, marker=mark, label=name)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_.legend()


@dataclass
class NullDisplay(Drawing):
    """The statistic under relabelings, and the observed one."""

    null: Array  # (B,)
    statistic: float
    pvalue: float
    name: str

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> NullDisplay:
        """Draw the null distribution of `mmd_test` or `hsic_test`."""
        several = len(result.details) > 1
        single = "MMD^2" if isinstance(result, MMDTestResult) else "HSIC"
        name = "aggregated statistic" if several else single
        display = cls(np.asarray(result.null_distribution), result.statistic, result.pvalue, name)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> NullDisplay:
        """Draw a histogram with a line at the observed value."""
        self.figure_, self.ax_ = one_axes(ax, (6.4, 4.0))
        self.ax_.hist(self.null, bins=min(60, max(5, len(self.null) // 10)), color=GRAY, label="relabeled")
        self.ax_.axvline(self.statistic, color=VERMILLION, label=f"observed, p = {self.pvalue:.3g}")
        self.ax_.set(xlabel=self.name, ylabel=f"relabelings (of {len(self.null)})")
        self.ax_.legend()
        return self


@dataclass
class RankingDisplay(Drawing):
    """The reasons of an explanation, the strongest on top; those that are significant after correction are colored."""

    explanation: Explanation
    level: float
    shown: int

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, level: float = 0.05, shown: int = 15, ax: Any = None
    ) -> RankingDisplay:
        """Draw an explanation returned by `result.explain()`."""
        return cls(explanation, level, shown).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> RankingDisplay:
        """Draw horizontal bars of the scores."""
        reasons = self.explanation.reasons[: self.shown]
        self.figure_, self.ax_ = one_axes(ax, (6.4, 1.2 + 0.25 * max(len(reasons), 1)))
        colors = [VERMILLION if reason.pvalue <= self.level else GRAY for reason in reasons]
        self.ax_.barh(range(len(reasons)), [reason.score for reason in reasons], color=colors)
        self.ax_.set_yticks(range(len(reasons)), [str(reason.name) for reason in reasons])
        self.ax_.invert_yaxis()
        for row, reason in enumerate(reasons):
            self.ax_.annotate(f" p = {reason.pvalue:.3g}", (max(reason.score, 0.0), row), va="center", fontsize=8)
        self.ax_.set(xlabel="score, in standard deviations over relabelings", title=f"which {self.explanation.kind}")
        return self
