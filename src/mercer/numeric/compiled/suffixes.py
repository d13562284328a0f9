"""The tree of common substrings, compiled."""

from __future__ import annotations

import numba

from mercer.numeric import suffixes

#: The loop is written once, in `mercer.numeric.suffixes`, where small collections run it as it is.
branches = numba.njit(nogil=True)(suffixes.branches)
