"""Vectors: conversion of tables of finite numbers to float32 or float64 arrays, dense or CSR."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, shown

Matrix: TypeAlias = Any  # an (n, d) float array or a CSR array; scipy.sparse has no types to say so


def is_frame(X: Any) -> bool:
    """Whether a value is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def is_series(X: Any) -> bool:
    """Whether a value is a column of a data frame of pandas or polars."""
    return hasattr(X, "to_numpy") and hasattr(X, "__len__") and not is_frame(X)


def is_plain(X: Any) -> bool:
    """Whether a value is already an (n, d) array of finite float32 or float64 numbers, which needs no conversion."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in (np.float64, np.float32):
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that overflows needs the exact check
        return math.isfinite(X.sum())


def looks_like_vectors(X: Any) -> bool:
    """Whether a collection, for a kernel that takes any input, should be checked as an array of numbers."""
    if sp.issparse(X):
        return True
    if hasattr(X, "columns"):
        return all(getattr(dtype, "kind", "O") in "fiub" for dtype in getattr(X, "dtypes", ()))
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.dtype.kind in "fiubc" or array.ndim == 2


def columns_of(X: Any) -> int | None:
    """Return the number of columns of an array, a sparse array or a frame; None for other collections."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def is_float32(X: Any) -> bool:
    """Whether a collection is an array of float32, dense or sparse."""
    return getattr(X, "dtype", None) == np.float32


def like(values: Floats, X: Any) -> Array:
    """Return values in float32 if X is float32, otherwise unchanged."""
    return values.astype(np.float32) if is_float32(X) else values


def widened(X: Any) -> Any:
    """Return X in float64 if it is an array of float32, otherwise unchanged."""
    return X.astype(np.float64) if is_float32(X) else X


def as_vectors(X: Any, name: str) -> Matrix:
    """Return X as a finite C-ordered (n, d) float array or CSR array; float32 stays float32, other types become float64."""
    if is_plain(X) and X.flags.c_contiguous:
        return X
    if sp.issparse(X):
        return _check_sparse(X, name)
    if is_frame(X):
        return _from_frame(X, name)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InputError(f"{name} has masked values; every value must be there. Drop or impute such rows first.")
    refuse_text(X, name)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"{name} is ragged: its rows have different lengths ({error}). Give an (n, d) array.") from None
    return check_dense(array, name)


def check_dense(array: Array, name: str) -> Array:
    """Return a dense array as finite C-ordered (n, d) floats; raise if that is impossible."""
    if array.dtype.kind == "c":
        raise InputError(f"{name} is complex; kernels here are real. Give real and imaginary parts as two columns.")
    _refuse_rounded(array, name)
    if array.dtype.kind in "OUSV":
        array = _numbers_from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}, which is not numeric; give float32 or float64.")
    if array.ndim == 1:
        raise InputError(
            f"{name} is one-dimensional with shape {array.shape}; a collection of vectors is (n, d). "
            f"One column: {name}.reshape(-1, 1). One row: {name}.reshape(1, -1)."
        )
    if array.ndim != 2:
        raise InputError(f"{name} has {array.ndim} dimensions and shape {array.shape}; a collection of vectors is (n, d).")
    check_size(array.shape, name)
    keep = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    result = np.ascontiguousarray(array, dtype=np.float32 if keep else np.float64)
    check_finite(result, name)
    return result


#: float64 holds all integers up to this number.
EXACT_INTEGERS = 2**53


def refuse_rounding(X: Any, name: str) -> None:
    """Raise if a frame, an array, a sparse array or a list holds an integer that float64 would change."""
    if is_frame(X):
        refuse_equal_names(X, name)
        for column in X.columns:
            _refuse_rounded(np.asarray(X[column].to_numpy()), f"{name}[{column!r}]")
    elif sp.issparse(X):
        _refuse_rounded(X.data if X.format in ("csr", "csc", "coo") else sp.coo_array(X).data, f"{name}.data")
    else:
        try:
            array = np.asarray(X)
        except ValueError:  # ragged, which other checks report
            return
        _refuse_rounded(array, name)


def refuse_equal_names(X: Any, name: str) -> None:
    """Raise if two columns of a frame have one name, which neither scikit-learn nor an explanation can tell apart."""
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(label for label in names if names.count(label) > 1)
        raise InputError(f"{name}: two columns are called {twice!r}; give each its own name.")


def _refuse_rounded(values: Array, name: str) -> None:  # (n, d) or (n,)
    """Raise if float64 would change an integer: rows that differ by less than the rounding would become equal."""
    whole = values.dtype.kind in "iu" and values.dtype.itemsize >= 8
    if not values.size or not (whole or values.dtype.kind == "O"):
        return
    if whole and int(values.max()) <= EXACT_INTEGERS and int(values.min()) >= -EXACT_INTEGERS:
        return
    beyond = np.vectorize(_is_large, otypes=[bool])
    large = (values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS) if whole else beyond(values)
    for index in np.argwhere(large):
        value = int(values[tuple(index)])
        rounded = _rounded(value)
        if rounded != value:
            becomes = "which is too large for float64" if rounded is None else f"which float64 rounds to {rounded}"
            where = ", ".join(f"{word} {i}" for word, i in zip(("row", "column"), index, strict=False))
            raise InputError(
                f"{name} has the integer {_short(value)} at {where}, {becomes}; integers must be "
                f"exact, as they are up to 2^53. Subtract an offset first, e.g. {name} - {name}.min(axis=0), or accept the "
                f"rounding with {name}.astype(float)."
            )


def _is_large(value: Any) -> bool:
    return isinstance(value, int | np.integer) and abs(int(value)) > EXACT_INTEGERS


def _rounded(value: int) -> int | None:
    """Return the float64 nearest to an integer; None if there is none."""
    try:
        return int(float(value))
    except OverflowError:
        return None


def refuse_text(X: Any, name: str) -> None:
    """Raise if a kernel on vectors is given strings, and name kernels that accept them."""
    flat = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1)
    if flat and len(X) and isinstance(X[0], str):
        raise InputError(
            f"{name} holds str {_short(str(X[0]))} at row 0, not a number. Vector kernels need numbers; for text use a "
            "string kernel such as Spectrum(p=3), for one column of a table k.on(column)."
        )


def check_size(shape: tuple[int, ...], name: str) -> None:
    """Raise if a collection has no rows or no columns."""
    if shape[0] == 0:
        raise InputError(f"{name} is empty: it has no rows (shape {shape}).")
    if len(shape) > 1 and shape[1] == 0:
        raise InputError(f"{name} has {shape[0]} rows but no columns (shape {shape}).")


def _check_sparse(X: Any, name: str) -> sp.csr_array:
    if X.dtype.kind == "c":
        raise InputError(f"{name} is complex; kernels here are real. Give real and imaginary parts as two columns.")
    if X.ndim != 2:
        raise InputError(f"{name} is a sparse array of shape {X.shape}; a collection of vectors is (n, d).")
    check_size(X.shape, name)
    refuse_rounding(X, name)
    keep = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    result = sp.csr_array(X, dtype=np.float32 if keep else np.float64)
    if not result.has_canonical_format:
        result = result.copy()  # the caller's array is never rearranged
        result.sum_duplicates()
    if not np.isfinite(result.data).all():
        position = int(np.flatnonzero(~np.isfinite(result.data))[0])
        row = int(np.searchsorted(result.indptr, position, side="right")) - 1
        raise _not_finite(name, result.data[position], row, int(result.indices[position]))
    return result


def check_finite(array: Array, name: str) -> None:
    # The sum of finite numbers may overflow, so a non-finite sum only starts the exact search.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise _not_finite(name, array[row, column], row, column)


def _not_finite(name: str, value: Any, row: int, column: Any) -> InputError:
    missing = bool(np.isnan(value))
    return InputError(
        f"{name} has {'NaN' if missing else 'an infinite value'} at row {row}, column {column!r}; every value must be "
        "finite. Drop or impute such rows first"
        + (", or use TableRegressor, TableClassifier or mercer.frame_kernel, which take missing cells." if missing else ".")
    )


def refuse_cells(X: Any, name: str) -> None:
    """Raise an error that names the first cell of an array or frame that is text, missing or infinite, if there is one."""
    if is_frame(X):
        numbers = _from_frame(X, name, finite=False)
        bad = np.argwhere(~np.isfinite(numbers))
        if len(bad):
            row, column = bad[0].tolist()
            raise _not_finite(name, numbers[row, column], row, list(X.columns)[column])
    elif sp.issparse(X):
        _check_sparse(X, name)
    else:
        array = np.asarray(X)
        plain = array.dtype.kind != "O" or all(isinstance(cell, (str, int, float, type(None))) for cell in array.flat)
        if array.ndim == 2 and plain:
            check_dense(array, name)


def _numbers_from_objects(array: Array, name: str) -> Array:
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        for index, value in np.ndenumerate(array):
            if not _is_number(value):
                where = ", ".join(f"{word} {i}" for word, i in zip(("row", "column"), index, strict=False))
                raise InputError(
                    f"{name} holds {_type(value)} {_short(value)} at {where}, not a number. Vector kernels need "
                    "numbers; for text use a string kernel such as Spectrum(p=3), for one column of a table k.on(column)."
                ) from None
        raise InputError(f"{name} has dtype {array.dtype} and cannot be read as numbers.") from None
    if array.dtype.kind in "US":
        raise InputError(f"{name} holds text that looks like numbers; convert it first, e.g. {name}.astype(float).")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | np.datetime64 | np.timedelta64)  # nanoseconds would be read as numbers


def _type(value: Any) -> str:
    return "str" if isinstance(value, str) else type(value).__name__  # np.str_ is a str


def _short(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= 40 else text[:37] + "…"


def _from_frame(frame: Any, name: str, finite: bool = True) -> Array:
    for column in frame.columns:
        values = np.asarray(frame[column].to_numpy())
        if values.dtype.kind not in "fiub" and not all(_is_number(v) for v in values):
            bad = next(v for v in values if not _is_number(v))
            raise InputError(
                f"{name}: column {column!r} holds {type(bad).__name__} {_short(bad)}, not numbers. For columns of several "
                "kinds use TableRegressor, TableClassifier or the kernel mercer.frame_kernel(X); or choose numeric "
                "columns with k.on(…)."
            )
        _refuse_rounded(values, f"{name}[{column!r}]")
    whole = np.asarray(frame.to_numpy())
    return check_dense(whole, name) if finite else whole.astype(np.float64)
