"""Two samples as one pooled collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.inputs import Rows, append, as_vectors, is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles


@dataclass(frozen=True)
class Pooled:
    """The m rows of X followed by the n rows of Y."""

    rows: Rows
    m: int
    n: int
    kind: str  # "numbers", "sparse", "frame" or "objects"

    def __len__(self) -> int:
        return self.m + self.n

    def in_memory(self, what: str) -> Pooled:
        """Return itself, because the rows are in memory."""
        return self

    def weights(self) -> Floats:  # -> (m + n,)
        """Return the weights of the witness: 1 / m for rows of X, -1 / n for rows of Y."""
        return np.repeat([1.0 / self.m, -1.0 / self.n], [self.m, self.n])

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """Return mean_i k(x_i, z) - mean_j k(y_j, z) for every row z."""
        values = Evaluation(kernel, Z, self.rows)
        return tiles.product(values.block, values.shape, self.weights()[:, None], False)[:, 0]

    def column_names(self) -> list[Any] | None:
        """Return the names of the columns of a table; None for strings, graphs and sparse data."""
        if self.kind == "frame":
            return list(self.rows.data.columns)
        return list(range(self.rows.data.shape[1])) if self.kind == "numbers" else None


class Samples(Protocol):
    """Two samples, in memory or in chunks, as a result needs them."""

    @property
    def m(self) -> int: ...

    @property
    def n(self) -> int: ...

    def in_memory(self, what: str) -> Pooled:
        """Return both samples in memory, or raise an error that says `what` needs them there."""

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """Return mean_i k(x_i, z) - mean_j k(y_j, z) for every row z."""


def pool(X: Any, Y: Any, tokens: bool = False) -> Pooled:
    """Return X and Y as one collection, or raise if they cannot be compared; `tokens`: lists of numbers are sequences."""
    first, second = Rows(X, "X"), Rows(Y, "Y")
    kinds = kind_of(X, tokens), kind_of(Y, tokens)
    if kinds[0] != kinds[1]:
        raise InputError(
            f"X is {_description(X, kinds[0])}, Y is {_description(Y, kinds[1])}; both samples must be of one type. "
            "Convert one of them."
        )
    for rows in (first, second):
        if len(rows) < 2:
            raise InputError(
                f"{rows.name} has 1 row; the unbiased statistic averages over pairs of different rows, so each sample "
                "needs at least 2."
            )
    data = {"numbers": _numbers, "sparse": _numbers, "frame": _frame, "objects": _objects}[kinds[0]](X, Y)
    return Pooled(Rows(data, "the pooled sample"), len(first), len(second), kinds[0])


def kind_of(data: Any, tokens: bool) -> str:
    """Return the kind of a collection: "numbers", "sparse", "frame" or "objects"."""
    if sp.issparse(data):
        return "sparse"
    if is_frame(data):
        return "frame"
    if isinstance(data, np.ndarray):
        return "numbers" if data.dtype.kind in "fiubc" else "objects"
    if tokens:
        return "objects"
    if all(isinstance(row, (list, tuple, np.ndarray)) for row in data) and not _holds_text(data):
        return "numbers"
    return "numbers" if all(isinstance(row, (int, float, np.number)) for row in data) else "objects"


def _holds_text(data: Any) -> bool:
    """Return whether rows hold tokens or (adjacency, labels) pairs."""
    return any(not isinstance(value, (int, float, np.number, np.bool_)) for row in data for value in row)


def _description(data: Any, kind: str) -> str:
    if kind == "objects":
        return f"a collection of {type(data[0]).__name__}"
    return {"numbers": "a table of numbers", "sparse": "a sparse table", "frame": "a data frame"}[kind]


def _check_widths(X: Any, Y: Any) -> None:
    if X.shape[1] != Y.shape[1]:
        raise InputError(
            f"X has {X.shape[1]} columns, Y has {Y.shape[1]}; both samples need the same columns in the same order."
        )


def _numbers(X: Any, Y: Any) -> Any:
    left, right = as_vectors(X, "X"), as_vectors(Y, "Y")
    _check_widths(left, right)
    return append(left, right)


def _frame(X: Any, Y: Any) -> Any:
    if list(X.columns) != list(Y.columns):
        extra = sorted({str(c) for c in X.columns} ^ {str(c) for c in Y.columns})
        what = f"only one of them has {', '.join(extra[:5])}" if extra else "their order differs"
        raise InputError(f"X and Y have different columns: {what}. Give both the same columns in the same order.")
    return append(X, Y)


def _objects(X: Any, Y: Any) -> Any:
    if type(X[0]) is not type(Y[0]) and (isinstance(X[0], str) or isinstance(Y[0], str)):
        raise InputError(
            f"X holds {type(X[0]).__name__}, Y holds {type(Y[0]).__name__}; both samples must be of one type. Convert one."
        )
    return append(list(X), list(Y))
