"""Every row predicted from all others, in closed form: residuals, densities and whether the error bars can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.registry import record

Array = NDArray[np.float64]

#: Levels of the calibration curve.
LEVELS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())


@record()
@dataclass(frozen=True)
class GPLeaveOneOut:
    """Leave-one-out predictions at the fitted hyper-parameters; the coefficients of the mean are fitted without the row."""

    mean: Array  # (n,) or (n, t)
    std: Array  # same; of y, the noise included
    residuals: Array  # y - mean
    log_density: Array  # log p(y_i | all others)

    @property
    def rmse(self) -> float:
        """The root of the mean squared residual."""
        return float(np.sqrt(np.nanmean(self.residuals**2)))

    @property
    def nlpd(self) -> float:
        """The negative log predictive density, averaged over rows and targets; lower is better."""
        return -float(np.nanmean(self.log_density))

    @property
    def pit(self) -> Array:
        """P(Y_i <= y_i | all others): uniform on [0, 1] if the model is right."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.residuals / self.std))

    def coverage(self, level: float = 0.9) -> float:
        """The share of rows inside the central interval that should hold `level` of them."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level must lie strictly between 0 and 1; got {level!r}.")
        pit = self.pit[np.isfinite(self.pit)]
        return float(np.mean(np.abs(pit - 0.5) <= level / 2.0)) if pit.size else float("nan")

    def calibration(self, levels: tuple[float, ...] = LEVELS) -> tuple[Array, Array]:  # -> (L,), (L,)
        """Levels and the coverage reached at each: on the diagonal if the error bars are right."""
        return np.array(levels), np.array([self.coverage(level) for level in levels])

    def __str__(self) -> str:
        return (
            f"leave-one-out: RMSE {self.rmse:.4g}, negative log density {self.nlpd:.4g}, "
            f"90 % intervals hold {100 * self.coverage(0.9):.1f} %"
        )
