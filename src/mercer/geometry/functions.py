"""Elements of the function space of a kernel: f = sum_i a_i k(x_i, .), with f(x) = <f, k(x, .)>."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Floats
from mercer.errors import InputError, describe
from mercer.grams import GramOperator
from mercer.inputs import count
from mercer.kernels.base import Kernel
from mercer.kernels.text import as_kernel


@runtime_checkable
class Expansion(Protocol):
    """A fitted function f(x) = sum_i dual_coef_i k(x_i, x)."""

    @property
    def kernel_(self) -> Kernel: ...
    @property
    def X_fit_(self) -> Any: ...  # noqa: N802
    @property
    def dual_coef_(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Representer:
    """The function f = sum_i a_i k(x_i, .): its values, and an argument of `geometry.inner` beside fitted models."""

    kernel_: Kernel
    X_fit_: Any
    dual_coef_: Floats  # (m,)

    def __call__(self, Z: Any) -> Floats:
        """f(z) = <f, k(z, .)> for every object of a collection."""
        return np.asarray(GramOperator(self.kernel_, Z, self.X_fit_) @ self.dual_coef_, dtype=np.float64)

    @property
    def norm(self) -> float:
        """||f|| = sqrt(a'Ka)."""
        return max(inner_of_functions(self, self), 0.0) ** 0.5


def representer(kernel: Any, X: Any, coefficients: ArrayLike | None = None) -> Representer:
    """Return the function sum_i a_i k(x_i, .); without coefficients X holds one object x, and it is k(x, .).

    The inner product with k(x, .) is the value at x, for every function of the space:

    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, geometry
    >>> X = np.linspace(0, 3, 7)[:, None]
    >>> f = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, np.sin(X[:, 0]))
    >>> bool(np.isclose(geometry.inner(f, geometry.representer(Gaussian(1.0), [[1.3]])), f.predict([[1.3]])[0]))
    True
    """
    m = count(X)
    if coefficients is None and m != 1:
        raise InputError(f"geometry.representer: k(x, .) is of one object; {m} objects need a coefficient each.")
    a = np.ones(1) if coefficients is None else np.asarray(coefficients, dtype=np.float64)
    if a.shape != (m,) or not np.isfinite(a).all():
        raise InputError(f"geometry.representer: {m} finite coefficients are needed, one per object; got {describe(a)}.")
    return Representer(as_kernel(kernel), X, a)


def inner_of_functions(f: Expansion, g: Any = None) -> float:
    """<f, g> = sum_ij a_i b_j k(x_i, z_j), without intercepts."""
    if not isinstance(g, Expansion):
        raise InputError(f"geometry.inner: beside a fitted model another one is needed; got {describe(g)}.")
    if f.kernel_ != g.kernel_:
        raise InputError(
            f"geometry.inner: the two functions live in different spaces, of {f.kernel_} and of {g.kernel_}; fit both with "
            "one kernel, all its numbers given."
        )
    a, b = (np.asarray(model.dual_coef_, dtype=np.float64) for model in (f, g))
    if a.ndim != 1 or b.ndim != 1:
        raise InputError(f"geometry.inner: one function each is needed; the coefficients have shapes {a.shape}, {b.shape}.")
    return float(a @ (GramOperator(f.kernel_, f.X_fit_, g.X_fit_) @ b))
