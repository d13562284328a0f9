"""How fast this machine is, measured once per process in a few milliseconds, for honest estimates of time."""

from __future__ import annotations

import time
from functools import cache

import numpy as np


@cache
def gemm_rate() -> float:
    """Floating-point operations per second of a float64 matrix product on all cores."""
    A = np.ones((384, 384))
    A @ A  # the first product wakes the threads
    start = time.perf_counter()
    A @ A
    return 2.0 * 384**3 / max(time.perf_counter() - start, 1e-6)


@cache
def entry_rate() -> float:
    """Kernel values per second that a Gram matrix gets on one core, the exponential being what costs."""
    values = np.full(2**15, -1.0)
    np.exp(values)
    start = time.perf_counter()
    np.exp(values)
    return values.size / max(time.perf_counter() - start, 1e-6) / 3.0
