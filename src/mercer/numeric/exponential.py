"""exp(factor x) of a tile: NumPy's for small work, the compiled one where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Nanoseconds that the compiled exponential saves per kernel value: a matrix of 2^22 entries is worth its loading.
PER_VALUE = 2


def exp_scaled(values: NDArray[Any], factor: float, compiled: bool, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return exp(factor values) for factor values <= 0; `out` may be `values` itself."""
    if compiled and values.flags.c_contiguous:
        from mercer.numeric._compiled_exponential import exp_float32, exp_float64

        result = np.empty_like(values) if out is None else out
        if values.dtype == np.float64:
            exp_float64(values.reshape(-1), float(factor), result.reshape(-1))
        else:
            exp_float32(values.reshape(-1), np.float32(factor), result.reshape(-1))
        return result
    result = np.multiply(values, values.dtype.type(factor), out=out)
    return np.exp(result, out=result)


def exp_plain(values: NDArray[Any], factor: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """exp(factor values) by NumPy."""
    return exp_scaled(values, factor, False, out)
