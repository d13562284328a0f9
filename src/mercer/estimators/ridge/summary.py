"""Is it good? The error of a ridge beside the mean and beside linear ridge, and how it was made."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError
from mercer.estimators.summary import Summary
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.numeric.memory import format_bytes

#: More terms than this are not written out.
MOST_TERMS = 30

#: Linear ridge is shown beside the model while it costs next to nothing.
MAX_COLUMNS, MAX_CELLS = 500, 20_000_000


def summarize(model: Any) -> Summary:
    """The facts of a fitted ridge."""
    if model._problem.X is None:
        return summarize_chunked(model)
    problem, route = model._problem, model.route_
    Y = problem.Y.reshape(problem.n, -1)
    loo = None if model._loo is None else model._loo.reshape(problem.n, -1)
    errors = model._residuals.reshape(problem.n, -1) if loo is None else loo
    kind = "training error (RMSE)" if loo is None else "leave-one-out error (RMSE)"
    if problem.weights is not None:  # rows of weight zero are out of the fit, and no part of its error
        errors, Y = errors[problem.weights > 0], Y[problem.weights > 0]
    error, mean = rms(errors), rms(_mean_loo(Y))
    X = problem.X[problem.weights > 0] if problem.weights is not None and isinstance(problem.X, np.ndarray) else problem.X
    linear = linear_error(X, Y)
    lines = [
        ("kernel", f"{model.kernel_} ({_how(model)})"),
        ("alpha", _short(problem.alpha)),
        (kind, f"{error:.4g}"),
        ("the mean alone", f"{mean:.4g} (leave-one-out)"),
        ("linear ridge", "not applicable: the rows are not vectors" if linear is None else f"{linear:.4g} (leave-one-out)"),
        ("rows, targets", f"{problem.n}, {Y.shape[1]}"),
        ("route", f"{route.solver}: {route.reason}"),
        ("memory of the fit", format_bytes(route.bytes)),
    ]
    text = _function(model)
    if text:
        lines.insert(2, ("function", text))
    if model.jitter_:
        lines.append(("jitter", f"{model.jitter_:.2g} added to the diagonal: {model._fitted.message}"))
    if not model._fitted.converged:
        lines.append(("not converged", model._fitted.message))
    numbers = {"error": error, "error_kind": kind, "mean_error": mean, "linear_error": linear, "n": problem.n}
    return Summary(repr(model), tuple(lines), numbers)


def _function(model: Any) -> str:
    """The function as a polynomial, where it is one of few terms."""
    X, kernel = model.X_fit_, model.kernel_
    if kernel.moment_order() is None or not isinstance(X, np.ndarray) or X.ndim != 2 or model.dual_coef_.ndim != 1:
        return ""
    if (kernel.n_features(X[:1]) or MOST_TERMS + 1) > MOST_TERMS or kernel.views != {"vectors"}:
        return ""
    try:
        return written(model.polynomial_coefficients())
    except CapabilityError:
        return ""


def summarize_chunked(model: Any) -> Summary:
    """The facts of a ridge whose training rows came in chunks and were not kept."""
    route = model.route_
    lines = (
        ("kernel", str(model.kernel_)),
        ("alpha", _short(model._problem.alpha)),
        ("route", f"{route.solver}: {route.reason}"),
        ("passes over the chunks", str(route.passes)),
        ("memory of the fit", format_bytes(route.bytes)),
    )
    return Summary(repr(model), lines, {"passes": route.passes})


def summarize_classifier(model: Any) -> Summary:
    """The facts of a fitted ridge classifier."""
    if model._problem.X is None:
        return summarize_chunked(model)
    problem, route = model._problem, model.route_
    labels = problem.Y > 0 if problem.Y.ndim == 1 else problem.Y.argmax(axis=1)
    decision = problem.Y - (model._residuals if model._loo is None else model._loo)
    chosen = decision > 0 if decision.ndim == 1 else decision.argmax(axis=1)
    kind = "training accuracy" if model._loo is None else "leave-one-out accuracy"
    accuracy, largest = float(np.mean(chosen == labels)), float(np.unique(labels, return_counts=True)[1].max() / problem.n)
    lines = (
        ("kernel", f"{model.kernel_} ({_how(model)})"),
        ("alpha", _short(problem.alpha)),
        (kind, f"{accuracy:.4g}"),
        ("the largest class alone", f"{largest:.4g}"),
        ("rows, classes", f"{problem.n}, {len(model.classes_)}"),
        ("route", f"{route.solver}: {route.reason}"),
        ("memory of the fit", format_bytes(route.bytes)),
    )
    numbers = {"accuracy": accuracy, "accuracy_kind": kind, "largest_class": largest, "n": problem.n}
    return Summary(repr(model), lines, numbers)


def rms(errors: Array) -> float:
    """The root of the mean square, over all rows and targets that are defined."""
    return float(np.sqrt(np.nanmean(np.square(errors)))) if np.isfinite(errors).any() else float("nan")


def _mean_loo(Y: Array) -> Array:
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


def _how(model: Any) -> str:
    if hasattr(model, "surface_"):
        return str(model.surface_.how)
    return "length scale: median distance of the training rows" if model._given_kernel().unresolved else "as given"


def _short(alpha: Array) -> str:
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
