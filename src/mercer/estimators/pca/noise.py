"""How strong the noise on some rows is, judged by clean rows of the same kind."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import InputError

#: Share of the variance of clean rows whose directions are left out of the estimate.
EXPLAINED = 0.99


def noise_level(clean: Array, noisy: Array) -> float:  # (n, d), (m, d)
    """Return the standard deviation of independent noise per column, from directions in which clean rows hardly vary.

    With P the projection on the principal axes that hold 99 % of the variance of the clean rows, it is the root of
    (E ||(I - P)(noisy - mean)||^2 - E ||(I - P)(clean - mean)||^2) / (d - rank P).

    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 30))
    >>> round(noise_level(clean, clean + 0.5 * rng.normal(size=clean.shape)), 1)
    0.5
    """
    clean, noisy = np.asarray(clean, dtype=np.float64), np.asarray(noisy, dtype=np.float64)
    if clean.ndim != 2 or noisy.ndim != 2 or clean.shape[1] != noisy.shape[1]:
        raise InputError(f"noise_level: clean rows {clean.shape} and noisy rows {noisy.shape} must have the same columns.")
    mean = clean.mean(axis=0)
    values, axes = la.eigh((clean - mean).T @ (clean - mean), check_finite=False)
    quiet = values.cumsum() <= (1.0 - EXPLAINED) * max(float(values.sum()), 1e-300)
    quiet[0] = True  # at least one direction, or there is nothing to look at
    inside, outside = (np.square((rows - mean) @ axes[:, quiet]).sum(axis=1).mean() for rows in (clean, noisy))
    return float(np.sqrt(max(outside - inside, 0.0) / int(quiet.sum())))
