"""Laws of what a kernel can do beside its values: feature maps, gradients, parameters, single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.inputs import take
from mercer.kernels.functions import Function
from mercer.testing.case import Case
from mercer.testing.report import Check, Skip, distance

#: Feature maps with more columns than this are not made: ordered products of them would fill the memory.
MOST_FEATURES = 400

#: Five-point differences with this step are good to about 1e-9 for parameters of order one.
STEP = 1e-3


def _inner(features: Any) -> Array:
    product = features @ features.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def feature_maps(case: Case) -> Check | Skip:
    """<phi(x), phi(z)> = k(x, z), with equal monomials combined and kept apart."""
    width = case.kernel.n_features(case.X)
    if width is None:
        return Skip("no finite feature map")
    if width > MOST_FEATURES:
        return Skip(f"{width} features are too many to check here")
    errors = [distance(_inner(case.kernel.feature_map(case.X, combined=how)), case.gram) for how in (True, False)]
    return Check(max(errors), case.tolerance)


def feature_count(case: Case) -> Check | Skip:
    """n_features(X) is the number of columns of feature_map(X)."""
    width = case.kernel.n_features(case.X)
    if width is None or width > MOST_FEATURES:
        return Skip("no finite feature map of moderate size")
    columns = case.kernel.feature_map(case.X).shape[1]
    return Check(abs(columns - width), 0.0, f"{columns} columns, {width} announced")


def gradients(case: Case) -> Check | Skip:
    """The pullback of a weight matrix is d<W, K>/dtheta, by differences, for k(X, Z) and for k(X)."""
    names = case.kernel.theta_names
    if not names:
        return Skip("no free parameters")
    # one direction that mixes all parameters is enough to see an error; only then each is asked alone, to name it
    mixed = np.cos(np.arange(1.0, len(names) + 1.0))[None]
    worst = max(_gradient_errors(case, Z, m, mixed)[0] for Z, m in ((case.Z, case.m), (case.X, case.n)))
    # the rounding of a value is divided by the step
    bound = (1e-7 + case.eps / STEP) * case.scale * case.n * case.m
    if worst <= bound:
        return Check(worst, bound)
    error, name = max(zip(_gradient_errors(case, case.Z, case.m, np.eye(len(names))), names, strict=True))
    return Check(max(worst, error), bound, f"most of it in {name}")


def _gradient_errors(case: Case, others: Any, size: int, directions: Array) -> list[float]:
    kernel, theta = case.kernel, case.kernel.theta
    W = np.random.default_rng(0).standard_normal((case.n, size))
    found = directions @ kernel.pullback(case.X, others, weights=W)  # a gradient of another length fails here

    def value(vector: Array) -> float:
        return float(np.vdot(W, kernel.with_theta(vector)(case.X, others)))

    errors = []
    for direction, slope in zip(directions, found, strict=True):
        near, far = (value(theta + h * direction) - value(theta - h * direction) for h in (STEP, 2.0 * STEP))
        error = abs((8.0 * near - far) / (12.0 * STEP) - slope)
        errors.append(float(error) if np.isfinite(error) else np.inf)
    return errors


def theta(case: Case) -> Check:
    """with_theta is the inverse of theta, and theta_names has one name for each entry, which get_params knows."""
    kernel, vector = case.kernel, case.kernel.theta
    names = kernel.theta_names
    known = all(name.split("[")[0] in kernel.get_params() for name in names)
    if len(names) != len(vector) or len(set(names)) != len(names) or not known:
        return Check(np.inf, 0.0, f"names {names} for {len(vector)} entries")
    moved = vector + np.linspace(-0.3, 0.3, len(vector))
    error = max(distance(kernel.with_theta(v).theta, v) for v in (vector, moved))
    return Check(error, 1e-14 * (1.0 + float(np.abs(moved).max(initial=0.0))))


def single_precision(case: Case) -> Check | Skip:
    """On float32 data the values are float32 and those of float64 up to rounding."""
    X = case.X
    if not (isinstance(X, np.ndarray) or sp.issparse(X)) or X.dtype != np.float64:
        return Skip("for arrays of float64")
    single = X.astype(np.float32)
    values, exact = case.kernel(single), case.kernel(single.astype(np.float64))
    # kernels that never look at the numbers, or call the user's own function, have no dtype to keep
    kept = values.dtype == np.float32 or not _reads_vectors(case)
    note = "" if kept else f"dtype {values.dtype}"
    return Check(distance(values, exact) if kept else np.inf, 200 * float(np.finfo(np.float32).eps) * case.scale, note)


def _reads_vectors(case: Case) -> bool:
    leaves = [node for node in case.kernel._walk() if not node.children]
    return any(leaf._domain == "vectors" for leaf in leaves) and not any(isinstance(leaf, Function) for leaf in leaves)


def untouched(case: Case) -> Check | Skip:
    """Calling the kernel leaves the caller's data as they were."""
    if not isinstance(case.X, np.ndarray):
        return Skip("for arrays")
    before = take(case.X, np.arange(case.n))
    case.kernel(case.X)
    case.kernel(case.X, case.X)
    case.kernel.diag(case.X)
    return Check(distance(before.astype(np.float64), case.X.astype(np.float64)), 0.0)


LAWS: dict[str, Callable[[Case], Check | Skip]] = {
    "feature map": feature_maps,
    "number of features": feature_count,
    "pullback is the gradient": gradients,
    "theta": theta,
    "float32": single_precision,
    "data untouched": untouched,
}
