"""How much of the final fit a limit of time allows: seconds by the pace of this machine, timed on some rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.kernels.base import Kernel

#: Rows on which the pace is timed.
TIMED = 800

#: Up to this many rows an exact fit takes hundredths of seconds, and nothing is asked.
FREE = 1000

#: Landmarks that are tried, from the best, and passes over an (n, m) factor that they cost, in products of its size.
COUNTS, PASSES = (2000, 1400, 1000, 700, 500, 350, 250, 150, 100, 50), 3.0


@dataclass(frozen=True)
class Pace:
    """Seconds per kernel value and per multiplication of a factorization."""

    value: float
    product: float

    def exact(self, n: int) -> float:
        """Seconds of an exact fit on n rows."""
        return self.value * n**2 + self.product * n**3 / 3.0

    def landmarks(self, n: int, m: int) -> float:
        """Seconds of a fit on n rows in the span of m landmarks."""
        return self.value * n * m + PASSES * self.product * n * m**2


def timed(kernel: Kernel, Z: Any) -> Pace:
    """The pace of a kernel on some of these rows; a first call warms up what is loaded late."""
    part = Z[:TIMED]
    kernel(part[:10])
    start = time.perf_counter()
    K = np.asarray(kernel(part), dtype=np.float64)
    middle = time.perf_counter()
    n = len(K)
    K.flat[:: n + 1] += 1.0 + float(np.trace(K)) / n
    la.lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
    end = time.perf_counter()
    return Pace((middle - start) / n**2, 3.0 * (end - middle) / n**3)


def within(pace: Pace, n: int, members: int, seconds: float) -> tuple[int, int | None]:
    """How many members are fitted, and with how many landmarks (None: exactly): the best that ends in time.

    One exact model is better than a mean of approximate ones, so members go first.
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
