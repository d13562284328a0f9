"""Laws of what a kernel can do beside its values: feature maps, gradients, parameters, single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.testing.case import Case, take
from mercer.testing.outcome import Check, Skip, distance

#: Feature maps with more columns than this are not made: ordered products of them would fill the memory.
MOST_FEATURES = 400

#: Five-point differences with this step are good to about 1e-9 for parameters of order one.
STEP = 1e-3


def _inner(features: Any) -> NDArray[Any]:
    product = features @ features.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def feature_maps(case: Case) -> Check | Skip:
    """<phi(x), phi(z)> = k(x, z), with equal monomials combined and kept apart."""
    width = case.kernel.n_features(case.X)
    if width is None:
        return Skip("no finite feature map")
    if width > MOST_FEATURES:
        return Skip(f"{width} features are too many to check here")
    errors = [distance(_inner(case.kernel.feature_map(case.X, combined=how)), case.K) for how in (True, False)]
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
    kernel, theta = case.kernel, case.kernel.theta
    if len(theta) == 0:
        return Skip("no free parameters")
    rng = np.random.default_rng(0)
    worst, bound, note = 0.0, 1e-6 * case.scale * case.n * case.m, ""
    for others in (case.Z, case.X):
        W = rng.standard_normal((case.n, case.m if others is case.Z else case.n))
        found = kernel.pullback(case.X, others, weights=W)
        if found.shape != theta.shape:
            return Check(np.inf, bound, f"{found.shape[0]} entries for {len(theta)} parameters")
        for i, name in enumerate(kernel.theta_names):
            step = STEP * np.eye(len(theta))[i]
            up, down, up2, down2 = (
                np.vdot(W, kernel.with_theta(theta + a * step)(case.X, others)) for a in (1.0, -1.0, 2.0, -2.0)
            )
            error = abs((8.0 * (up - down) - (up2 - down2)) / (12.0 * STEP) - found[i])
            if not error <= worst:
                worst, note = error, name
    return Check(worst, bound, note if worst > bound else "")


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
    return Check(distance(values, exact) if kept else np.inf, 5000 * float(np.finfo(np.float32).eps) * case.scale, note)


def _reads_vectors(case: Case) -> bool:
    leaves = [node for node in case.kernel._walk() if not node.children]
    return any(leaf._domain == "vectors" for leaf in leaves) and not any(type(leaf).__name__ == "Function" for leaf in leaves)


def untouched(case: Case) -> Check | Skip:
    """Calling the kernel leaves the caller's data as they were."""
    if not isinstance(case.X, np.ndarray):
        return Skip("for arrays")
    before = take(case.X, range(case.n))
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
