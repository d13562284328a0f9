"""Two samples as one pooled collection: checked one by one, so that messages name the right one, then put together."""

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
    """The rows of X followed by those of Y; `m` of them come from X, `n` from Y."""

    rows: Rows
    m: int
    n: int
    kind: str  # "numbers", "sparse", "frame" or "objects"

    def __len__(self) -> int:
        return self.m + self.n

    def at_hand(self, what: str) -> Pooled:
        """Itself: the rows are in memory."""
        return self

    def weights(self) -> Floats:  # -> (m + n,)
        """Those of the witness: 1 / m for the rows of X, -1 / n for those of Y."""
        return np.repeat([1.0 / self.m, -1.0 / self.n], [self.m, self.n])

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """mean_i k(x_i, z) - mean_j k(y_j, z)."""
        values = Evaluation(kernel, Z, self.rows)
        return tiles.product(values.block, values.shape, self.weights()[:, None], False)[:, 0]

    def column_names(self) -> list[Any] | None:
        """What the columns are called, for a table of numbers; None for strings, graphs and sparse data."""
        if self.kind == "frame":
            return list(self.rows.data.columns)
        return list(range(self.rows.data.shape[1])) if self.kind == "numbers" else None


class Samples(Protocol):
    """What a result needs to know of two samples, wherever their rows are."""

    @property
    def m(self) -> int: ...

    @property
    def n(self) -> int: ...

    def at_hand(self, what: str) -> Pooled:
        """Both samples in memory, or the word that `what` needs them there."""

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """mean_i k(x_i, z) - mean_j k(y_j, z)."""


def pool(X: Any, Y: Any, tokens: bool = False) -> Pooled:
    """Return X and Y as one collection, or say what makes them incomparable; `tokens`: lists of numbers are sequences."""
    first, second = Rows(X, "X"), Rows(Y, "Y")
    kinds = kind_of(X, tokens), kind_of(Y, tokens)
    if kinds[0] != kinds[1]:
        raise InputError(
            f"X is {_words(X, kinds[0])}, Y is {_words(Y, kinds[1])}; two samples must be of one type. Convert one of them."
        )
    for rows in (first, second):
        if len(rows) < 2:
            raise InputError(
                f"{rows.name} has 1 row; the unbiased statistic averages over pairs of different rows, so each sample "
                "needs at least 2."
            )
    data = {"numbers": _numbers, "sparse": _sparse, "frame": _frame, "objects": _objects}[kinds[0]](X, Y)
    return Pooled(Rows(data, "the pooled sample"), len(first), len(second), kinds[0])


def kind_of(data: Any, tokens: bool) -> str:
    """What a collection is: "numbers", "sparse", "frame" or "objects"; `tokens`: lists of numbers are sequences."""
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
    """Rows of tokens or (adjacency, labels) pairs, as kernels on strings and graphs take them."""
    return any(not isinstance(value, (int, float, np.number, np.bool_)) for row in data for value in row)


def _words(data: Any, kind: str) -> str:
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


def _sparse(X: Any, Y: Any) -> Any:
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
            f"X holds {type(X[0]).__name__}, Y holds {type(Y[0]).__name__}; two samples must be of one type. Convert one."
        )
    return append(list(X), list(Y))
