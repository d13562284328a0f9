"""Intervals whose width varies over x: conformal with residuals divided by a learned spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.metric import ridge
from mercer.estimators.metric.ridge import Expansion
from mercer.estimators.metric.steps import with_length_scale
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian
from mercer.registry import record

Array = NDArray[np.float64]

#: The spread stays within these multiples of its mean.
NARROWEST, WIDEST = 0.2, 5.0


@record()
@dataclass(frozen=True)
class Calibration:
    """Held-out residuals with the spread expected at their rows, and the model of the spread."""

    _stored: ClassVar[dict[str, str]] = {
        "scores": "float (m,)",
        "spread": "None | a Expansion",
        "center": "float",
    }

    scores: Array  # (m,) |residual| / spread
    spread: Expansion | None  # of the logarithm of |residual|; None for a constant width
    center: float  # mean of that logarithm

    def width(self, Z: Any) -> Array:  # -> (n,)
        """The expected spread at new rows, in units of its mean."""
        if self.spread is None:
            return np.ones(len(Z))
        return np.clip(np.exp(self.spread.predict(Z)[:, 0] - self.center), NARROWEST, WIDEST)


def calibrate(residuals: Array, Z: Any, kernel: Kernel | None) -> Calibration:
    """A calibration from held-out residuals (m,) at rows Z; the spread at each row is predicted without it."""
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
    spread = Expansion(kernel, Z, fit.dual, fit.intercept, fit.alpha)
    return Calibration(sizes / without, spread, center)


def interval(found: Calibration, widths: Array, coverage: float, center: Array) -> Array:  # (n,), number, (n,) -> (n, 2)
    """center -+ the conformal quantile of the scores times the spread at the new rows."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    rank = int(np.ceil(coverage * (len(found.scores) + 1) - 1e-9))
    radius = np.inf if rank > len(found.scores) else float(np.sort(found.scores)[rank - 1])
    return np.column_stack([center - radius * widths, center + radius * widths])
