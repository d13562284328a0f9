"""The fastest exponential we know how to write, as the yardstick for "% of limit".

NumPy's float64 exp is vectorized on processors with AVX-512 and a scalar library call on the others; a limit measured with
it alone would be none. Here exp(x) = 2^k p(r) with k = round(x / log 2) and a polynomial p, all of it arithmetic that the
compiler turns into vector instructions. For arguments in [-700, 0] and [-80, 0]: the limit needs no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Exp = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]


def candidates(dtype: str) -> dict[str, Exp]:
    """Ways to write exp(values) into out, with a buffer of the same size to spare."""
    return {"numpy": lambda values, out, spare: np.exp(values, out=out), "compiled": _compiled(dtype)}


def _compiled(dtype: str) -> Exp:
    from numba import njit

    real = np.dtype(dtype).type
    double = dtype == "float64"
    whole = np.int64 if double else np.int32
    shift = whole(52 if double else 23)
    # adding 1.5 * 2^52 (2^23) rounds to a whole number and leaves it in the low bits
    magic = real(1.5 * 2.0 ** int(shift))
    per_log2 = real(1.4426950408889634)
    # log 2 in two parts: k times the first is exact
    high, low = (
        (real(6.93147180369123816490e-01), real(1.90821492927058770002e-10))
        if double
        else (real(0.693359375), real(-2.12194440e-4))
    )
    # the Taylor series to where it drops below rounding for |r| <= log(2) / 2, highest power first
    taylor = tuple(real(1.0 / _factorial(i)) for i in range(13 if double else 7, -1, -1))
    leading, others = taylor[0], taylor[1:]

    @njit(nogil=True, fastmath={"contract"}, error_model="numpy")
    def run(values: NDArray[Any], out: NDArray[Any], spare: NDArray[Any]) -> None:
        bits, powers = out.view(whole), spare.view(whole)
        for i in range(values.size):
            x = values[i]
            t = x * per_log2 + magic
            spare[i] = t
            k = t - magic
            r = (x - k * high) - k * low
            p = leading
            for c in others:
                p = p * r + c
            out[i] = p
        for i in range(values.size):
            bits[i] += powers[i] << shift  # times 2^k

    compiled: Exp = run
    return compiled


def _factorial(n: int) -> int:
    return 1 if n < 2 else n * _factorial(n - 1)
