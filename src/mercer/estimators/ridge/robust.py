"""Huber's loss by iteratively reweighted least squares, driving any weighted ridge fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.linalg.solution import row_weights
from mercer.numeric.points import weighted_median
from mercer.registry import record

_TUNING = 1.345  # 95 % as efficient as least squares when the noise is Gaussian
_MAD = 1.4826  # the median absolute deviation of a Gaussian times this is its standard deviation


@record()
@dataclass(frozen=True)
class RobustFit:
    """The weights at which reweighting converged, and the objective of each fit."""

    _stored: ClassVar[dict[str, str]] = {
        "value": "float (n, *t)",
        "residuals": "float (n, *t)",
    }

    value: Array  # (n,) final weights, base weights included
    residuals: Array  # (n,) of the final fit
    delta: float  # where the loss turns from quadratic to linear
    objective: Array  # (m,) of the fits since delta was settled, never rising
    converged: bool
    n_iter: int
    residual: float  # the last relative fall of the objective
    message: str


def huber_loss(residuals: Array, delta: float) -> Array:  # (n,) -> (n,)
    """``r^2`` up to delta, ``2 delta |r| - delta^2`` beyond: the square of least squares, with linear tails.

    >>> huber_loss(np.array([0.5, 3.0]), 1.0).tolist()
    [0.25, 5.0]
    """
    size = np.abs(residuals)
    return np.where(size <= delta, size**2, 2 * delta * size - delta**2)


def huber_weights(residuals: Array, delta: float) -> Array:  # (n,) -> (n,)
    """``min(1, delta / |r|)``, the weights whose squared loss touches Huber's from above at these residuals.

    >>> huber_weights(np.array([0.5, 4.0]), 1.0).tolist()
    [1.0, 0.25]
    """
    size = np.abs(residuals)
    return np.where(size <= delta, 1.0, delta / np.where(size > 0, size, 1.0))


def huber(  # fit: weights (n,) -> residuals (n,), penalty; weights (n,)
    fit: Callable[[Array], tuple[Array, float]],
    n: int,
    *,
    delta: float | None = None,
    weights: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    callback: Callable[[int, float], bool | None] | None = None,
) -> RobustFit:
    """Minimize ``sum w_i huber(y_i - f(x_i)) + alpha ||f||^2`` with a solver of the weighted least squares problem.

    ``fit(weights)`` returns the residuals y - f and the penalty alpha ||f||^2 of the weighted fit. Each round
    minimizes a quadratic that touches the objective from above, so the objective never rises. ``delta`` defaults to
    1.345 standard deviations of the noise, estimated by the median absolute residual; since outliers inflate that of
    the plain fit, it is estimated again on the reweighted ones until it settles, and then held.

    >>> y = np.array([0.0, 0.1, -0.1, 50.0])
    >>> def mean(w):
    ...     return y - np.average(y, weights=w), 0.0
    >>> result = huber(mean, 4, delta=1.0)
    >>> bool(abs(result.residuals[0]) < 0.5), result.converged  # the outlier pulls like a row one delta away
    (True, True)
    """
    base = row_weights(weights, n)
    if delta is not None and not (np.isfinite(delta) and delta >= 0):
        raise InputError(f"delta must be finite and >= 0; got {delta}.")
    current, residuals, penalty, delta, fits = _settle_delta(fit, base, delta, max_iter)
    history: list[float] = []
    fall, stop = np.inf, False
    while True:
        history.append(float(base @ huber_loss(residuals, delta)) + penalty)
        if len(history) > 1:
            fall = (history[-2] - history[-1]) / max(abs(history[-2]), np.finfo(float).tiny)
        stop = callback is not None and bool(callback(fits, history[-1]))
        if delta == 0 or fall <= tol or stop or fits >= max_iter:
            break
        current = base * huber_weights(residuals, delta)
        residuals, penalty = _fit(fit, current, n)
        fits += 1
    settled = delta == 0 or fall <= tol
    message = f"settled after {fits} fits"
    if stop:
        message = f"stopped by the callback after {fits} fits"
    elif not settled:
        message = f"not settled after {fits} fits: the objective last fell by {fall:.1e}, asked {tol:.0e}"
    return RobustFit(current, residuals, delta, np.array(history), bool(settled and not stop), fits, float(fall), message)


def _settle_delta(  # base (n,) -> weights (n,), residuals (n,), penalty, delta, number of fits
    fit: Callable[[Array], tuple[Array, float]], base: Array, delta: float | None, max_iter: int
) -> tuple[Array, Array, float, float, int]:
    current, fits = base, 1
    residuals, penalty = _fit(fit, current, base.size)
    if delta is not None:
        return current, residuals, penalty, float(delta), fits
    scale = _scale(residuals, base)
    while fits < max_iter and scale > 0:
        current = base * huber_weights(residuals, scale)
        residuals, penalty = _fit(fit, current, base.size)
        fits += 1
        before, scale = scale, _scale(residuals, base)
        if abs(scale - before) <= 0.01 * before:
            break
    return current, residuals, penalty, scale, fits


def _fit(fit: Callable[[Array], tuple[Array, float]], weights: Array, n: int) -> tuple[Array, float]:
    residuals, penalty = fit(weights)
    residuals = np.asarray(residuals, dtype=np.float64)
    if residuals.shape != (n,):
        raise InputError(f"the weighted fit must return residuals of shape ({n},); got {residuals.shape}.")
    if not np.isfinite(residuals).all():
        raise InputError("the weighted fit returned residuals that are NaN or infinite.")
    return residuals, float(penalty)


def _scale(residuals: Array, weights: Array) -> float:  # (n,), (n,)
    """1.345 standard deviations of the noise; a row of weight two is two rows, one of weight zero none."""
    size, weights = np.abs(residuals[weights > 0]), weights[weights > 0]
    spread = weighted_median(size, weights)
    # More than half the rows fitted exactly: the rest decide, and an exact fit needs no reweighting at all.
    return _TUNING * (_MAD * spread if spread > 0 else float(np.average(size, weights=weights)))
