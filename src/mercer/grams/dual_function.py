"""A fitted expansion f(x) = sum_i a_i k(x_i, x) + b, for one target or several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.grams.operator import GramOperator
from mercer.grams.products import counted_product
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.registry import record


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
