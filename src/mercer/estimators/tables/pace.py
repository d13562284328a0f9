"""The speed of this machine, and which final fit ends within a time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer.inputs import Rows
from mercer.kernels.base import Kernel

#: Rows on which the speed of this machine is measured, and rows below which the final fit is never limited by time.
TIMED, FREE = 800, 1000

#: Numbers of landmarks that are tried under a time limit, and products of an (n, m) factor that they cost.
COUNTS, PASSES = (2000, 1400, 1000, 700, 500, 350, 250, 150, 100, 50), 3.0


@dataclass(frozen=True)
class Pace:
    """Seconds per kernel value and per multiplication of a factorization."""

    value: float
    product: float

    def exact(self, n: int) -> float:
        """Return the seconds of an exact fit on n rows."""
        return self.value * n**2 + self.product * n**3 / 3.0

    def landmarks(self, n: int, m: int) -> float:
        """Return the seconds of a fit on n rows in the span of m landmarks."""
        return self.value * n * m + PASSES * self.product * n * m**2


def measured_pace(kernel: Kernel, Z: Rows) -> Pace:
    """Return the pace of a kernel measured on some rows; a first call loads compiled code."""
    part = Z.take(slice(0, TIMED))
    kernel(part.take(slice(0, 10)))
    start = time.perf_counter()
    K = np.asarray(kernel(part), dtype=np.float64)
    middle = time.perf_counter()
    n = len(K)
    K.flat[:: n + 1] += 1.0 + float(np.trace(K)) / n
    la.lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
    end = time.perf_counter()
    return Pace((middle - start) / n**2, 3.0 * (end - middle) / n**3)


def within(pace: Pace, n: int, members: int, seconds: float) -> tuple[int, int | None]:
    """Return how many members are fitted and with how many landmarks (None: exactly): the best choice that ends in time.

    Members are reduced first, because one exact model is better than a mean of approximate ones.
    """
    if n <= FREE:
        return members, None
    for count in range(members, 0, -1):
        if count * pace.exact(n) <= seconds:
            return count, None
    for m in COUNTS:
        if m < n and members * pace.landmarks(n, m) <= seconds:
            return members, m
    return 1, min(COUNTS[-1], n)
