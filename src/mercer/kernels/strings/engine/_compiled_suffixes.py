"""The tree of common substrings, compiled."""

from __future__ import annotations

import numba

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.kernels.strings.engine import branches as loop

#: The loop is written once, in `branches`.
branches = numba.njit(nogil=True)(loop.branches)
