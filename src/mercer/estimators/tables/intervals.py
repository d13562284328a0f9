"""Intervals whose width varies over x: conformal with residuals divided by a learned spread, and by size of prediction.

Two things may make an interval wider: the *spread*, a model of the size of the residuals over the columns, and the *groups*,
quantiles of the residuals among rows with similar predictions. Each is used where held-out residuals ask for it: the spread
where it gives better interval scores than a constant width, the groups where one quantile for all covers them unevenly.
Where the noise is the same everywhere, a varying width would only add noise of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.tables import ridge
from mercer.estimators.tables.metric_steps import with_length_scale
from mercer.grams.dual_function import DualFunction
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian
from mercer.registry import record
from mercer.selection.folds import random_folds

#: The spread stays within these multiples of its mean.
NARROWEST, WIDEST = 0.2, 5.0

#: Groups of similar predictions and the fewest residuals of one; both choices are made at this coverage, that of the spread
#: over folds, that of groups at this level of doubt.
GROUPS, SMALLEST, COVERAGE, FOLDS, DOUBT = 5, 100, 0.9, 5, 0.05


@record()
@dataclass(frozen=True)
class Calibration:
    """Held-out residuals with the spread expected at their rows, the model of the spread, and the predictions there."""

    _stored: ClassVar[dict[str, str]] = {
        "scores": "float (m,)",
        "spread": "None | a DualFunction",
        "center": "float",
        "predictions": "None | float (m,)",
        "groups": "int > 0 < m+1",
    }

    scores: Floats  # (m,) |residual| / spread
    spread: DualFunction | None  # of the logarithm of |residual|; None for a constant width
    center: float  # mean of that logarithm
    predictions: Floats | None = None  # (m,) held-out predictions; None: the quantile does not depend on them
    groups: int = 1

    def width(self, Z: Any) -> Floats:  # -> (n,)
        """The expected spread at new rows, in units of its mean."""
        if self.spread is None:
            return np.ones(len(Z))
        return np.clip(np.exp(self.spread.predict(Z)[:, 0] - self.center), NARROWEST, WIDEST)

    def radius(self, predictions: Floats, coverage: float) -> Floats:  # (n,) -> (n,)
        """The conformal quantile of the scores at new predictions, in units of the spread there."""
        if self.predictions is None:
            return np.full(len(predictions), conformal_radius(self.scores, coverage))
        return grouped(self.scores, self.predictions, self.groups, predictions, coverage)


def grouped(scores: Floats, at: Floats, groups: int, new: Floats, coverage: float) -> Floats:  # (m,), (m,), (n,) -> (n,)
    """Conformal quantiles of scores among rows with similar predictions `at`, taken at new predictions.

    A line through the quantiles of the groups, then one conformal factor for all rows: the line has seen the scores, and the
    factor keeps the coverage over all of them.
    """
    parts = np.array_split(np.argsort(at, kind="stable"), groups)
    levels = np.array([conformal_radius(scores[part], coverage) for part in parts])
    if not np.isfinite(levels).all() or levels.min() <= 0.0:  # too few rows in a group for this coverage
        return np.full(len(new), conformal_radius(scores, coverage))
    middles = np.array([np.median(at[part]) for part in parts])
    factor = conformal_radius(scores / np.interp(at, middles, levels), coverage)
    return np.asarray(factor * np.interp(new, middles, levels))


def calibrate(residuals: Floats, predictions: Floats, Z: Any, kernel: Kernel | None) -> Calibration:
    """A calibration from held-out residuals (m,) and predictions (m,) at rows Z; spreads are predicted without their row."""
    sizes = np.abs(residuals)
    typical = float(np.median(sizes))
    if typical == 0.0 or len(sizes) < 30:
        return Calibration(sizes, None, 0.0)
    logs = np.log(sizes + 0.1 * typical)[:, None]
    if kernel is None:
        kernel = with_length_scale(Laplacian("median"), Z, logs, None)[0]
    fit = ridge.choose(np.asarray(kernel(Z), dtype=np.float64), logs, 1.0)
    center = float(logs.mean())
    without = np.clip(np.exp((logs - fit.residuals)[:, 0] - center), NARROWEST, WIDEST)
    varies = _varies(sizes, without)
    spread = DualFunction(kernel, Z, fit.dual, fit.intercept, fit.alpha) if varies else None
    scores = sizes / without if varies else sizes
    groups = _groups(scores, predictions)
    return Calibration(scores, spread, center, predictions if groups > 1 else None, groups)


def _varies(sizes: Floats, spread: Floats) -> bool:
    """Whether the spread gives better interval scores than a constant width, by more than a standard error.

    The score of a residual is the width plus 2 / (1 - coverage) times what is missed; radii come from the other folds.
    """
    fold = random_folds(len(sizes), FOLDS, np.random.default_rng(0))
    better = np.zeros_like(sizes)
    for unit, sign in ((spread, -1.0), (np.ones_like(sizes), 1.0)):
        scores = sizes / unit
        radius = unit * np.array([conformal_radius(scores[fold != k], COVERAGE) for k in range(FOLDS)])[fold]
        better += sign * (2.0 * radius + 2.0 / (1.0 - COVERAGE) * np.maximum(sizes - radius, 0.0))
    return bool(better.mean() > better.std() / np.sqrt(len(sizes)))


def _groups(scores: Floats, predictions: Floats) -> int:
    """Groups where one quantile for all covers some fifth of the predictions too seldom or too often (chi-square test)."""
    if len(scores) < GROUPS * SMALLEST:
        return 1
    inside = scores <= conformal_radius(scores, COVERAGE)
    parts = np.array_split(np.argsort(predictions, kind="stable"), GROUPS)
    share = inside.mean()
    if share == 1.0:  # equal scores: nothing differs
        return 1
    distance = sum(len(part) * (inside[part].mean() - share) ** 2 for part in parts) / (share * (1.0 - share))
    return GROUPS if distance > chdtri(GROUPS - 1, DOUBT) else 1


def interval(found: Calibration, widths: Floats, coverage: float, center: Floats) -> Floats:  # (n,), number, (n,) -> (n, 2)
    """center -+ the conformal quantile of the scores at the new predictions times the spread at the new rows."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    radius = found.radius(center, coverage) * widths
    return np.column_stack([center - radius, center + radius])
