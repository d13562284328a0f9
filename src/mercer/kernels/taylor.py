"""The Gaussian as a Taylor series of finite feature maps, with a bound on what the cut leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import as_rows
from mercer.kernels.features import power
from mercer.numeric.encodings import dense, squared_norms


@dataclass(frozen=True)
class TaylorFeatures:
    """Features Z with |Z Z' - K| <= error on the data they were made from."""

    values: NDArray[Any]
    error: float


def taylor_features(factor: float, scales: NDArray[np.float64] | None, X: Any, degree: int) -> TaylorFeatures:
    """exp(-||x - z||^2/2) = e^(-||x||^2/2) e^(-||z||^2/2) sum_j <x, z>^j / j!, cut after j = degree.

    The rest is at most e^(-(a + b)/2) sum_{j > degree} (a b)^(j/2) / j! with a = ||x||^2, b = ||z||^2, and (a b)^(1/2) <=
    (a + b)/2 =: t, so it is bounded by the largest Poisson tail P(N > degree) of mean t <= max ||x||^2.
    """
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)) or degree < 0:
        raise InputError(f"taylor_features: degree must be a whole number >= 0; got {degree!r}.")
    raw = dense(as_rows(X).vectors()).astype(np.float64)
    Z = raw * factor**0.5 if scales is None else raw / scales
    a = squared_norms(Z)
    damping = np.exp(-0.5 * a)
    blocks = [power(Z, j, combined=True) * (damping / factorial(j) ** 0.5)[:, None] for j in range(degree + 1)]
    from scipy.special import pdtrc

    return TaylorFeatures(np.hstack(blocks), float(pdtrc(degree, a.max())))
