"""One triangle of a square tile written onto the other, in place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=8)
def _above(n: int) -> NDArray[np.bool_]:
    # tiles come in few sizes, and making the mask takes as long as using it
    mask = ~np.tri(n, dtype=bool)
    mask.flags.writeable = False
    return mask


def onto_lower(tile: NDArray[Any]) -> None:  # (n, n)
    """Write the strict upper triangle onto the lower one.

    >>> tile = np.array([[1.0, 2.0], [9.0, 3.0]])
    >>> onto_lower(tile)
    >>> tile.tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    np.copyto(tile, tile.T.copy(), where=_above(len(tile)).T)


def onto_upper(tile: NDArray[Any]) -> None:  # (n, n)
    """Write the strict lower triangle onto the upper one."""
    np.copyto(tile, tile.T.copy(), where=_above(len(tile)))
