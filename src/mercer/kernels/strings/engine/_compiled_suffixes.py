"""The tree of common substrings, compiled."""

from __future__ import annotations

import numba

from mercer.kernels.strings.engine import suffixes

#: The loop is written once, in `mercer.kernels.strings.engine.suffixes`, where small collections run it as it is.
branches = numba.njit(nogil=True)(suffixes.branches)
