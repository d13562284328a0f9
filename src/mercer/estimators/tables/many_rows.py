"""Predictions for many rows in single precision, if their error, measured on some of the rows, does not matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer.arrays import Floats
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows

#: Rows of a block, and rows on which the error is measured.
BLOCK, MEASURED = 65_536, 256


def predicted(model: DualFunction, rows: Rows, backward: Callable[[Floats], Floats], allowed: float) -> Floats:
    # (n rows) -> (n, t)
    """Return backward(f) at rows of numbers, in single precision if its error is at most `allowed`.

    The error is the root mean square over some of the rows, in the units of the target.
    """
    n = len(rows)
    if not (_is_matrix(rows.data) and _is_matrix(model.X)):
        return backward(model.predict(rows))
    fast = replace(model, X=model.X.astype(np.float32), dual=np.asarray(model.dual, dtype=np.float32))
    sample = rows.data[np.linspace(0, n - 1, MEASURED).astype(np.intp)]
    with np.errstate(over="ignore", invalid="ignore"):
        error = backward(_single(fast, sample)) - backward(model.predict(sample))
    if not np.sqrt(np.mean(error**2, axis=0)).max() <= allowed:
        return backward(model.predict(rows))
    parts = [rows.data[start : start + BLOCK] for start in range(0, n, BLOCK)]
    return np.concatenate([backward(_single(fast, part)) for part in parts])


def _single(fast: DualFunction, X: Floats) -> Floats:
    return np.asarray(fast.predict(X.astype(np.float32)), dtype=np.float64)


def _is_matrix(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype == np.float64
