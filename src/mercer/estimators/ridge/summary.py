"""Numbers and texts in the summary of a ridge: errors of the mean and of linear ridge, the function as a polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.eigen import EigenFit, EigenPath

#: More terms than this are not written out.
MOST_TERMS = 30

#: Linear ridge is shown beside the model while it costs next to nothing.
MAX_COLUMNS, MAX_CELLS = 500, 20_000_000


def rms(errors: Array) -> float:
    """The root of the mean square, over all rows and targets that are defined."""
    return float(np.sqrt(np.nanmean(np.square(errors)))) if np.isfinite(errors).any() else float("nan")


def mean_residuals(Y: Array) -> Array:  # (n, t) -> (n, t)
    """Leave-one-out residuals of the mean."""
    n = len(Y)
    return (Y - Y.mean(axis=0)) * (n / (n - 1)) if n > 1 else Y


def linear_error(X: Any, Y: Array) -> float | None:
    """The leave-one-out error of linear ridge with intercept at its best alpha, or None where rows are not vectors."""
    if sp.issparse(X) or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or len(X) < 3:
        return None
    if X.shape[1] > MAX_COLUMNS or X.size > MAX_CELLS:
        return None
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    path = EigenPath.from_features(np.asarray(Z, dtype=np.float64), fit_intercept=True)
    alphas = len(X) * np.logspace(-6, 2, 9)
    errors = [rms(loo) for loo in EigenFit(path, Y).leave_one_out(alphas)]
    return float(np.nanmin(errors))


def short_alpha(alpha: Array) -> str:
    """The penalty as text; the range if there is one per target."""
    return f"{float(alpha):.4g}" if alpha.ndim == 0 else f"one per target, {alpha.min():.3g} … {alpha.max():.3g}"


def coefficients(kernel: Kernel, X: Any, dual: Array, intercept: Any, primal: Array | None = None) -> dict[str, float]:
    """The coefficient of every monomial of f(x) = sum_i dual_i k(x_i, x) + intercept, or of <primal, phi(x)> + intercept.

    >>> import numpy as np
    >>> from mercer import Polynomial
    >>> coefficients(Polynomial(2, offset=1.0), np.array([[2.0]]), np.array([1.0]), 0.0)
    {'x0^2': 4.0, 'x0': 4.0..., '1': 1.0}
    """
    if kernel.features is None or kernel.moment_order() is None or np.ndim(dual) != 1:
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
