"""Huber's loss by iteratively reweighted least squares, driving any weighted ridge fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.errors import InputError
from mercer.solvers.arguments import row_weights
from mercer.solvers.solution import Array

_TUNING = 1.345  # 95 % as efficient as least squares when the noise is Gaussian
_MAD = 1.4826  # the median absolute deviation of a Gaussian times this is its standard deviation


@dataclass(frozen=True)
class RobustFit:
    """The weights at which reweighting settled, and the objective on the way there."""

    value: Array  # (n,) final weights, base weights included
    residuals: Array  # (n,) of the final fit
    delta: float  # where the loss turns from quadratic to linear
    objective: Array  # (n_iter,) of every fit, never rising
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
    1.345 standard deviations of the first, unweighted fit, estimated by the median of its absolute residuals.

    >>> y = np.array([0.0, 0.1, -0.1, 50.0])
    >>> def mean(w):
    ...     return y - np.average(y, weights=w), 0.0
    >>> result = huber(mean, 4, delta=1.0)
    >>> bool(abs(result.residuals[0]) < 0.5), result.converged  # the outlier pulls like a row one delta away
    (True, True)
    """
    base = row_weights(weights, n)
    current, history = base, []
    residuals, penalty = _fit(fit, current, n)
    delta = _scale(residuals[base > 0]) if delta is None else float(delta)
    if not (np.isfinite(delta) and delta >= 0):
        raise InputError(f"delta must be finite and >= 0; got {delta}.")
    fall = np.inf
    for step in range(1, max_iter + 1):
        history.append(float(base @ huber_loss(residuals, delta)) + penalty)
        if step > 1:
            fall = (history[-2] - history[-1]) / max(abs(history[-2]), np.finfo(float).tiny)
        stop = callback is not None and bool(callback(step, history[-1]))
        if delta == 0 or fall <= tol or stop:
            message = "stopped by the callback" if stop else f"settled after {step} fits"
            return RobustFit(current, residuals, delta, np.array(history), not stop, step, float(fall), message)
        if step < max_iter:
            current = base * huber_weights(residuals, delta)
            residuals, penalty = _fit(fit, current, n)
    message = f"not settled after {max_iter} fits: the objective last fell by {fall:.1e}, asked {tol:.0e}"
    return RobustFit(current, residuals, delta, np.array(history), False, max_iter, float(fall), message)


def _fit(fit: Callable[[Array], tuple[Array, float]], weights: Array, n: int) -> tuple[Array, float]:
    residuals, penalty = fit(weights)
    residuals = np.asarray(residuals, dtype=np.float64)
    if residuals.shape != (n,):
        raise InputError(f"the weighted fit must return residuals of shape ({n},); got {residuals.shape}.")
    if not np.isfinite(residuals).all():
        raise InputError("the weighted fit returned residuals that are NaN or infinite.")
    return residuals, float(penalty)


def _scale(residuals: Array) -> float:  # (n,)
    spread = float(np.median(np.abs(residuals)))
    # More than half the rows fitted exactly: the rest decide, and an exact fit needs no reweighting at all.
    return _TUNING * (_MAD * spread if spread > 0 else float(np.mean(np.abs(residuals))))
