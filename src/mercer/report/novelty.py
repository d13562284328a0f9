"""Display of distances to the mean in feature space, of training points and new points, with the radius."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.estimators.means.novelty_ball import NoveltyBall
from mercer.report.drawing import BLACK, BLUE, GREEN, VERMILLION, one_axes, require_fitted


class NoveltyDisplay:
    """Histograms of ||phi(x) - phi_S|| for training points (leave-one-out) and for new points, with the radii.

    Parameters
    ----------
    known, new : distances
    radius : of the ball
    guaranteed : the radius with a distribution-free false-alarm rate
    """

    def __init__(self, known: Array, new: Array | None, radius: float, guaranteed: float) -> None:
        self.known, self.new, self.radius, self.guaranteed = known, new, radius, guaranteed

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted NoveltyBall, with new points X if given."""
        require_fitted(estimator, NoveltyBall, "has no loo_distances_; fit a NoveltyBall first.")
        new = None if X is None else -estimator.score_samples(X)
        return cls(estimator.loo_distances_, new, estimator.radius_, estimator.guaranteed_radius_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (6.0, 4.0))
        everything = self.known if self.new is None else np.concatenate([self.known, self.new])
        bins = np.linspace(float(everything.min()), float(everything.max()), 50)
        self.ax_.hist(self.known, bins, density=True, color=BLUE, alpha=0.6, label="training points, left out")
        if self.new is not None:
            self.ax_.hist(self.new, bins, density=True, color=VERMILLION, alpha=0.6, label="new points")
        self.ax_.axvline(self.radius, color=BLACK, label=f"radius {self.radius:.4g}")
        if np.isfinite(self.guaranteed):
            self.ax_.axvline(self.guaranteed, color=GREEN, ls="--", label=f"guaranteed radius {self.guaranteed:.4g}")
        self.ax_.set(xlabel="distance to the mean in feature space", ylabel="density")
        self.ax_.legend(frameon=False)
        return self
