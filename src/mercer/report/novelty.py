"""Display of the novelty of training points and new points: distances to a mean, or scores of a detector."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.estimators.means.novelty_ball import NoveltyBall
from mercer.estimators.novelty.novelty_detector import NoveltyDetector
from mercer.report.drawing import BLACK, BLUE, GREEN, VERMILLION, one_axes, require_fitted


class NoveltyDisplay:
    """Histograms of novelty for training points, each held against the others, and for new points, with the bounds.

    Parameters
    ----------
    known, new : distances to the mean of a NoveltyBall, or minus the scores of a NoveltyDetector
    radius : of the ball, or minus the offset of the detector
    guaranteed : the radius with a distribution-free false-alarm rate; NaN if there is none
    axis : what is measured
    """

    def __init__(
        self, known: Array, new: Array | None, radius: float, guaranteed: float = np.nan,
        axis: str = "distance to the mean in feature space",
    ) -> None:  # fmt: skip
        self.known, self.new, self.radius, self.guaranteed, self.axis = known, new, radius, guaranteed, axis

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted NoveltyBall or NoveltyDetector, with new points X if given."""
        require_fitted(estimator, (NoveltyBall, NoveltyDetector), "has no scores of rows left out; fit a NoveltyDetector.")
        new = None if X is None else -estimator.score_samples(X)
        if isinstance(estimator, NoveltyDetector):
            return cls(-estimator.loo_scores_, new, -estimator.offset_, axis="novelty (minus the score)").plot(ax)
        return cls(estimator.loo_distances_, new, estimator.radius_, estimator.guaranteed_radius_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (6.0, 4.0))
        everything = self.known if self.new is None else np.concatenate([self.known, self.new])
        bins = np.linspace(float(everything.min()), float(everything.max()), 50)
        self.ax_.hist(self.known, bins, density=True, color=BLUE, alpha=0.6, label="training points, left out")
        if self.new is not None:
            self.ax_.hist(self.new, bins, density=True, color=VERMILLION, alpha=0.6, label="new points")
        self.ax_.axvline(self.radius, color=BLACK, label=f"novel beyond {self.radius:.4g}")
        if np.isfinite(self.guaranteed):
            self.ax_.axvline(self.guaranteed, color=GREEN, ls="--", label=f"guaranteed radius {self.guaranteed:.4g}")
        self.ax_.set(xlabel=self.axis, ylabel="density")
        self.ax_.legend(frameon=False)
        return self
