"""Elements of the function space of a kernel: f = sum_i a_i k(x_i, .), with f(x) = <f, k(x, .)>."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Floats
from mercer.errors import InputError, describe
from mercer.grams import GramOperator
from mercer.grams.dual_function import DualFunction, HasDualFunction
from mercer.inputs import count
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel


@dataclass(frozen=True, eq=False)
class Representer:
    """The function f = sum_i a_i k(x_i, .), which can be evaluated, and given to `geometry.inner` like a fitted model."""

    kernel_: Kernel
    X_fit_: Any
    dual_coef_: Floats  # (m,)

    def __call__(self, Z: Any) -> Floats:
        """Return f(z) = <f, k(z, .)> for every object of a collection."""
        return self.dual_function().predict(Z)

    def dual_function(self) -> DualFunction:
        """Return the function as the record that fitted models give."""
        return DualFunction(self.kernel_, self.X_fit_, self.dual_coef_)

    @property
    def norm(self) -> float:
        """||f|| = sqrt(a'Ka)."""
        return max(inner_of_functions(self, self), 0.0) ** 0.5


def representer(kernel: Any, X: Any, coefficients: ArrayLike | None = None) -> Representer:
    """Return the function sum_i a_i k(x_i, .); without coefficients X holds one object x, and the function is k(x, .).

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
        raise InputError(f"geometry.representer: k(x, .) takes one object; give a coefficient for each of the {m} objects.")
    a = np.ones(1) if coefficients is None else np.asarray(coefficients, dtype=np.float64)
    if a.shape != (m,) or not np.isfinite(a).all():
        raise InputError(f"geometry.representer: {m} finite coefficients are needed, one per object; got {describe(a)}.")
    return Representer(as_kernel(kernel), X, a)


def inner_of_functions(model: HasDualFunction, other: Any = None) -> float:
    """Return <f, g> = sum_ij a_i b_j k(x_i, z_j) of two functions, without intercepts."""
    if not isinstance(other, HasDualFunction):
        raise InputError(f"geometry.inner: a second fitted model is needed; got {describe(other)}.")
    f, g = model.dual_function(), other.dual_function()
    if f.kernel != g.kernel:
        raise InputError(
            f"geometry.inner: the two functions belong to different spaces, of {f.kernel} and of {g.kernel}; fit both with "
            "one kernel whose parameters are all given."
        )
    (a, _), (b, _) = f.columns(), g.columns()
    if a.shape[1] != 1 or b.shape[1] != 1:
        raise InputError(
            f"geometry.inner: both models must have one target; the coefficients have shapes {a.shape} and {b.shape}."
        )
    return float(a[:, 0] @ (GramOperator(f.kernel, f.X, g.X) @ b[:, 0]))
