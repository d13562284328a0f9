"""Sums of cosines and sines over rows, at frequencies 1, 2, 4, … times a base."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array, Floats


@numba.njit(cache=True, nogil=True)
def add_octaves(cosines: Array, sines: Array, out: Floats) -> None:  # (r, D), (r, D), (L, 2D)
    """out[l, :D] += sum of cos(2^l a), out[l, D:] += sum of sin(2^l a); both inputs are overwritten.

    cos 2a = 1 - 2 sin^2 a and sin 2a = 2 sin a cos a: an octave costs a few products instead of two transcendentals.
    """
    count, width = cosines.shape
    for level in range(out.shape[0]):
        low, high = out[level, :width], out[level, width:]
        for i in range(count):
            c, s = cosines[i], sines[i]
            for j in range(width):
                low[j] += c[j]
                high[j] += s[j]
                twice = s[j] + s[j]
                s[j] = twice * c[j]
                c[j] = 1 - twice * (twice * np.float32(0.5))
