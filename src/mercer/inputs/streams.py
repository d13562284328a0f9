"""Collections that grow and shrink: rows appended batch by batch, rows picked by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.inputs import Rows


def count(X: Any) -> int:
    """The number of rows of a collection."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def pick(X: Any, index: NDArray[Any]) -> Any:
    """The rows of the given numbers, in the container they came in."""
    return Rows(X).take(index).data


def append(old: Any, new: Any) -> Any:
    """Both collections in one, of the first one's kind."""
    if sp.issparse(old) or sp.issparse(new):
        return sp.vstack([old, new], format="csr")
    if hasattr(old, "iloc"):
        import pandas

        return pandas.concat([old, new], ignore_index=True)
    if hasattr(old, "columns") and hasattr(old, "vstack"):  # polars
        return old.vstack(new)
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return np.concatenate([old, new])
    return [*old, *new]
