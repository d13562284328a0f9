"""Pictures of ridge regression, in scikit-learn's Display pattern.

| display | shows |
|---|---|
| SurfaceDisplay | cross-validated error over alpha and length scale, the chosen point, what is as good |
| FitDisplay | fits of one variable under too small, right and too large alpha and length scale |
| PathDisplay | ||f||, degrees of freedom, spread over resamples and errors along alpha |
| SmoothnessDisplay | ||f||^2 = sum |f_l|^2 / k_l, Mercer or Fourier coefficients |
| PredictionDisplay | predicted against true, with intervals |
| RobustDisplay | plain ridge against Huber's loss, with outliers |

Each has `from_estimator` and a second way in, `plot(ax=None)`, and the attributes `ax_` and `figure_` (`axes_` where there
are several panels). They need matplotlib: pip install "mercer[plots]".
"""

from __future__ import annotations

from mercer.report.fits import FitDisplay, RobustDisplay
from mercer.report.paths import PathDisplay
from mercer.report.predictions import PredictionDisplay
from mercer.report.smoothness import SmoothnessDisplay
from mercer.report.surface import SurfaceDisplay

__all__ = [
    "FitDisplay",
    "PathDisplay",
    "PredictionDisplay",
    "RobustDisplay",
    "SmoothnessDisplay",
    "SurfaceDisplay",
]
