"""A fitted ridge written out as a polynomial, where its kernel has named features."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import CapabilityError
from mercer.kernels.base import Kernel

#: More terms than this are not written out.
MOST_TERMS = 30


def coefficients(kernel: Kernel, X: Any, dual: Array, intercept: Any, primal: Array | None = None) -> dict[str, float]:
    """The coefficient of every monomial of f(x) = sum_i dual_i k(x_i, x) + intercept, or of <primal, phi(x)> + intercept.

    >>> import numpy as np
    >>> from mercer import Polynomial
    >>> coefficients(Polynomial(2, offset=1.0), np.array([[2.0]]), np.array([1.0]), 0.0)
    {'x0^2': 4.0, 'x0': 4.0..., '1': 1.0}
    """
    if kernel.features is None or kernel._moments() is None or np.ndim(dual) != 1:
        raise CapabilityError(f"{kernel}: only one target of a kernel with monomials as features is a polynomial.")
    names = kernel.feature_names(X)
    if not all(isinstance(name, str) for name in names):
        raise CapabilityError(f"{kernel}: its features have no names.")
    ones = np.asarray(kernel.feature_map(np.ones((1, np.shape(X)[1]))), dtype=np.float64)[0]  # every monomial is 1 there
    total: dict[str, float] = {}
    w = np.asarray(kernel.feature_map(X), dtype=np.float64).T @ dual if primal is None else np.asarray(primal)
    for name, value in zip(names, w * ones, strict=True):
        total[name] = total.get(name, 0.0) + float(value)
    if np.any(intercept):
        total["1"] = total.get("1", 0.0) + float(intercept)
    return total


def written(total: dict[str, float]) -> str:
    """Coefficients as text, the constant first, then by degree.

    >>> written({"x0^2": 4.0, "x0": -4.5, "1": 1.0})
    '1 - 4.5 x0 + 4 x0^2'
    """
    order = sorted(total, key=lambda name: (_degree(name), name))
    parts = []
    for name in order:
        value = total[name]
        size = f"{abs(value):.6g}" if name == "1" else f"{abs(value):.6g} {name}"
        parts.append(("- " if value < 0 else "+ ") + size)
    text = " ".join(parts).removeprefix("+ ")
    return "-" + text[2:] if text.startswith("- ") else text


def _degree(name: str) -> int:
    if name == "1":
        return 0
    return sum(int(factor.split("^")[1]) if "^" in factor else 1 for factor in name.split())
