"""Strength of the dependence of two variables: HSIC divided by its largest value, with a confidence interval.

The association of X and Y under two kernels is

    A = HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y)),

which is 0 for independent variables and 1 if the centered feature vectors of X are those of Y, up to rotation and scale.
With centered features c_i = phi(x_i) (x) psi(y_i) the influence of row i on HSIC = |mean c|^2 is 2 (<c_i, mean c> - HSIC).
The same holds for both denominators, and the standard error of A is that of the linear combination of the three influences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats


@dataclass(frozen=True)
class Association:
    """An association with the standard error of its estimate; both are 0 if one side is constant."""

    value: float
    error: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Return a normal interval, limited to [0, 1]."""
        from scipy.special import ndtri

        half = float(ndtri(0.5 + confidence_level / 2.0)) * self.error
        low, high = np.clip([self.value - half, self.value + half], 0.0, 1.0).tolist()
        return low, high


def of_grams(K: Floats, L: Floats) -> Association:  # (n, n), (n, n), both U-centered
    """Return the association from U-centered Gram matrices."""
    n = len(K)
    sums = [np.einsum("ij,ij->i", one, other) / (n - 3) for one, other in ((K, L), (K, K), (L, L))]
    return _of_rows(*sums)


def of_features(left: Array, right: Array) -> Association:  # (n, p), (n, q)
    """Return the association from features of the rows of both variables."""
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    n = len(left)
    sums = []
    for one, other in ((left, right), (left, left), (right, right)):
        covariance = one.T @ other / n
        products = np.einsum("ij,ij->i", one @ covariance, other)
        # a row's product with itself is a bias of order 1 / n
        own = np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other) / n
        sums.append((products - own) * (n / (n - 1)))
    return _of_rows(*sums)


def _of_rows(xy: Floats, xx: Floats, yy: Floats) -> Association:  # (n,) each: the part of each row in the three means
    joint, first, second = (float(one.mean()) for one in (xy, xx, yy))
    if not (first > 0 and second > 0):
        return Association(0.0, 0.0)
    root = np.sqrt(first * second)
    value = joint / root
    influence = 2.0 * ((xy - joint) / root - 0.5 * value * ((xx - first) / first + (yy - second) / second))
    return Association(float(value), float(np.sqrt(influence.var() / len(influence))))
