"""A fitted expansion f(x) = sum_i a_i k(x_i, x) + b, for one target or several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Indices
from mercer.grams.operator import GramOperator
from mercer.grams.products import FEATURE_ROWS
from mercer.inputs import Rows, as_rows, count
from mercer.kernels.base import Kernel
from mercer.kernels.features import FeatureMap
from mercer.numeric.encodings import Encoding, align
from mercer.registry import record

#: Fewer kernel values than this are computed in tiles, also if explicit features would do.
FEW_VALUES = 2**20

#: Stored values in the features of the known rows, at most: some 100 MB. With more, kernel values are computed in tiles.
MOST_STORED = 2**23


@record("Expansion")
@dataclass(frozen=True)
class DualFunction:
    """The function f(x) = sum_i dual_i k(x_i, x) + intercept.

    In memory `dual` is (n,) or (n, t). Model files hold only functions with a column per target.

    >>> from mercer import Linear
    >>> f = DualFunction(Linear(), np.array([[1.0], [2.0]]), np.array([3.0, -1.0]), 0.5)
    >>> f.predict([[10.0], [20.0]]).tolist()
    [10.5, 20.5]
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "rows n",
        "dual": "float (n, t)",
        "intercept": "float (t,)",
        "rows": "None | absent | int (n,) >= 0",
    }

    kernel: Kernel
    X: Any  # (n rows)
    dual: Array  # (n, *t)
    intercept: Any = 0.0  # (*t)
    alpha: float = math.nan  # the ridge penalty of the fit; NaN for other fits
    rows: Indices | None = None  # (n,) the numbers of the rows X in the table they come from; None: 0, 1, …

    def numbers(self) -> Indices:  # -> (n,)
        """Return the number of every row in the table that it comes from."""
        return np.arange(len(self.dual)) if self.rows is None else self.rows

    def predict(self, X: Any) -> Floats:  # (m rows) -> (m, *t)
        """Return f at new rows, in tiles or through the weights of counted features: no (m, n) matrix is held."""
        if len(self.dual) == 0:  # no row has a coefficient
            return np.zeros((count(X), *np.shape(self.dual)[1:])) + self.intercept
        found = counted_product(self.kernel, X, self._known, self.dual)
        if found is None:
            found = np.asarray(GramOperator(self.kernel, X, self._known) @ self.dual)
        return found + self.intercept

    @cached_property
    def _known(self) -> Rows:
        """Return the rows x_i with their encodings, which repeated predictions share."""
        return Rows(self.X, "X_fit_")

    def columns(self) -> tuple[Floats, Floats]:  # -> (n, t), (t,)
        """Return the coefficients and the intercepts with one column per target."""
        dual = np.asarray(self.dual, dtype=np.float64)
        dual = dual.reshape(len(dual), -1)
        return dual, np.broadcast_to(np.asarray(self.intercept, dtype=np.float64).ravel(), (dual.shape[1],))


@runtime_checkable
class HasDualFunction(Protocol):
    """A model whose fitted function is an expansion on training rows."""

    def dual_function(self) -> DualFunction:
        """Return the fitted function."""
        ...


def counted_product(kernel: Kernel, X: Any, Z: Any, A: Array) -> Floats | None:  # (n rows), (m rows), (m, *r) -> (n, *r)
    """Return k(X, Z) @ A through the weights w = phi(Z)' A, for kernels whose features are counts; None if tiles are better.

    A block of X is counted together with Z, so that both have the same columns: no vocabulary is kept, and blocks of at
    least as many rows as Z at most double the work.

    >>> from mercer import Spectrum
    >>> X, Z = ["GATTACA"] * 1024, ["TACAT"] * 1024
    >>> counted_product(Spectrum(3), X, Z, np.ones(1024))[:2].tolist()
    [2048.0, 2048.0]
    """
    features = _counting(kernel)
    if features is None:
        return None
    new, known = as_rows(X, "X"), as_rows(Z, "Z")
    if len(new) * len(known) < FEW_VALUES or _stored(kernel, features, known) * len(known) > MOST_STORED:
        return None
    encoded, size, parts = kernel.encode(known), max(FEATURE_ROWS, len(known)), []
    for start in range(0, len(new), size):
        block = kernel.encode(new.take(slice(start, min(start + size, len(new)))))
        left, right = align(block, encoded)
        parts.append(_matrix(features, left) @ (_matrix(features, right).T @ A))
    return np.concatenate(parts)


def _counting(kernel: Kernel) -> FeatureMap | None:
    """Return the feature map of a kernel whose columns depend on the collection; None for other kernels."""
    features = None if kernel.given or kernel.unresolved else kernel.features
    return None if features is None or features.shared else features


def _stored(kernel: Kernel, features: FeatureMap, rows: Rows) -> float:
    """Return the stored values per row of the features, from a few rows spread over the collection."""
    few = np.unique(np.linspace(0, len(rows) - 1, 16).astype(np.intp))
    return float(_matrix(features, kernel.encode(rows.take(few))).nnz) / len(few)


def _matrix(features: FeatureMap, encoding: Encoding) -> sp.csr_array:
    return sp.csr_array(features.matrix(encoding, True))
