"""Pre-images: for a point of feature space, an object whose image is near it, with the error that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError, check_choice
from mercer.estimators.pca import edits
from mercer.estimators.pca.fixed_point import fixed_point
from mercer.estimators.pca.learned_map import LearnedMap
from mercer.estimators.pca.neighbors import by_neighbors, nearest_rows
from mercer.estimators.pca.targets import Targets
from mercer.estimators.progress import Meter
from mercer.grams import GramOperator
from mercer.inputs import Rows, append, count, take
from mercer.kernels.base import Kernel
from mercer.kernels.input_gradients import differentiable
from mercer.numeric.threads import cpu_count, run

METHODS = ("auto", "fixed-point", "neighbors", "ridge", "edits", "candidates")

#: Kernel values of points against anchors that are held at a time.
VALUES_AT_A_TIME = 2**21

#: A pre-image further from the mean than this many times the furthest training row has left the data.
BEYOND = 2.0


@dataclass(frozen=True)
class Preimages:
    """Pre-images with the feature-space error ||phi(y) - target||^2 and the method that made each."""

    points: Any  # (b, d) array, or a list of b objects
    errors: Array  # (b,)
    methods: Array  # (b,) str

    @property
    def n_fallbacks(self) -> int:
        """How many points the fixed-point iteration gave up, and "neighbors" answered."""
        return int((self.methods == "neighbors").sum()) if (self.methods == "fixed-point").any() else 0


def find_preimages(
    model: Any, Z: Any, *, method: str = "auto", start: Any = None, candidates: Any = None, n_components: int | None = None
) -> Preimages:
    """Pre-images of coordinates Z (b, q) under a fitted KernelPCA."""
    targets = _targets(model, Z, n_components)
    method = choose_method(model.kernel_, model.X_fit_, method, model.fit_inverse_transform)
    if method in ("edits", "candidates"):
        return _among_objects(model, targets, start, candidates, method == "edits")
    X = _vectors(model, method)
    if method == "ridge":
        return _judged(model, targets, _learned(model, X, targets.beta.shape[1])(targets.beta), "ridge")
    began = None if start is None else np.asarray(start.toarray() if sp.issparse(start) else start, dtype=X.dtype)
    points, names = np.empty((len(targets), X.shape[1]), X.dtype), np.full(len(targets), method, dtype="U11")
    diagonal = np.asarray(model.kernel_.diag(model.X_fit_), dtype=np.float64)
    size = max(1, min(VALUES_AT_A_TIME // len(X), -(-len(targets) // cpu_count())))
    portions = [slice(i, min(i + size, len(targets))) for i in range(0, len(targets), size)]

    def work(rows: slice, worker: int) -> None:
        part = targets.part(rows)
        near = by_neighbors(model.kernel_, model.X_fit_, X, part, diagonal, model.n_neighbors).astype(X.dtype)
        points[rows] = near
        if method == "fixed-point":
            first = near if began is None else began[rows]
            points[rows], names[rows] = _iterated(model, X, part, first, near)

    with Meter(f"{type(model).__name__} (pre-images)", model.verbose) as meter:
        run(portions, work, min(cpu_count(), len(portions)), len(portions), meter)
    return _judged(model, targets, points, names)


def choose_method(kernel: Kernel, anchors: Any, method: str, learned: bool) -> str:
    """The method to use for this kernel; "auto" takes the best that the kernel allows."""
    check_choice("KernelPCA", "preimage", method, METHODS)
    views = kernel._views()
    if kernel.given:
        raise CapabilityError(
            "KernelPCA: Cannot fit_inverse_transform with a precomputed kernel: kernel values say nothing about the objects "
            "to go back to. Give the data and a kernel."
        )
    if method != "auto":
        if method == "fixed-point" and not differentiable(kernel):
            raise CapabilityError(f'{kernel} has no known gradient for a fixed point; use "neighbors" or "ridge".')
        if method == "edits" and "strings" not in views:
            raise CapabilityError(f'"edits" are for kernels on strings; {kernel} takes {", ".join(sorted(views))}.')
        return method
    if "strings" in views and views <= {"strings", "any"}:
        return "edits"
    if not isinstance(anchors, np.ndarray) and not sp.issparse(anchors):
        return "candidates"
    if learned:
        return "ridge"
    return "fixed-point" if differentiable(kernel) else "neighbors"


def _targets(model: Any, Z: Any, n_components: int | None) -> Targets:
    q = len(model.eigenvalues_)
    beta = np.array(Z, dtype=np.float64)
    if beta.ndim != 2 or beta.shape[1] != q:
        raise InputError(f"KernelPCA: coordinates have shape {beta.shape}; the model has {q} components, so give (n, {q}).")
    if not np.isfinite(beta).all():
        raise InputError("KernelPCA: coordinates contain NaN or infinity.")
    if n_components is not None:
        if not 1 <= n_components <= q:
            raise InputError(f"KernelPCA: n_components must lie in 1 … {q}, those of the model; got {n_components}.")
        beta[:, n_components:] = 0.0
    return Targets(model._components, beta)


def _vectors(model: Any, method: str) -> Array:
    X = model.X_fit_
    if sp.issparse(X):
        return np.asarray(X.toarray())
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        raise CapabilityError(f'KernelPCA: "{method}" makes vectors; {model.kernel_} is on other objects, use "candidates".')
    return X


def _learned(model: Any, X: Array, q: int) -> LearnedMap:
    """The ridge map of this model, fitted when it is first asked for."""
    if not model._learned:
        found = model._components
        model._learned.append(LearnedMap.fit(found.inner - found.offset, np.asarray(X, dtype=np.float64), model.alpha))
    learned: LearnedMap = model._learned[0]
    return learned


def _iterated(model: Any, X: Array, targets: Targets, start: Array, near: Array) -> tuple[Array, Array]:
    """The fixed point, and the neighbors' answer where it vanished or left the data."""
    mean = X.mean(axis=0)
    reach = float(np.square(X - mean).sum(axis=1).max())
    spread = max(float(X.std(axis=0).max()), 1e-300)
    gamma = targets.gamma.astype(X.dtype)
    found = fixed_point(model.kernel_, X, gamma, start, near, model.regularization, spread)
    size = float(np.square(mean).sum())
    outside = np.square(found.points - mean).sum(axis=1) > BEYOND**2 * reach + 1e-12 * size
    given_up = found.lost | outside | ~np.isfinite(found.points).all(axis=1)
    return np.where(given_up[:, None], near, found.points), np.where(given_up, "neighbors", "fixed-point")


def _judged(model: Any, targets: Targets, points: Array, names: Any) -> Preimages:
    """The feature-space error of every pre-image."""
    errors = np.empty(len(targets))
    size = max(1, VALUES_AT_A_TIME // count(model.X_fit_))
    for i in range(0, len(targets), size):
        rows = slice(i, min(i + size, len(targets)))
        part = targets.part(rows)
        K = GramOperator(model.kernel_, points[rows], model.X_fit_).block(slice(None), slice(None))
        inner = np.einsum("ij,ij->i", K, part.gamma)
        errors[rows] = model.kernel_.diag(points[rows]) - 2.0 * inner + part.squared_norms
    labels = np.full(len(targets), names) if isinstance(names, str) else names
    return Preimages(points, np.maximum(errors, 0.0), labels)


def _among_objects(model: Any, targets: Targets, start: Any, candidates: Any, edit: bool) -> Preimages:
    """The best of the training objects, the start and further candidates; strings are then edited."""
    anchors, kernel = model.X_fit_, model.kernel_
    pool = anchors if candidates is None else append(anchors, _same_kind(model, candidates))
    diagonal = np.asarray(kernel.diag(pool), dtype=np.float64)
    extra = None if candidates is None else GramOperator(kernel, pool, anchors)
    strings = Rows(anchors).strings() if edit else []
    alphabet = edits.alphabet_of(strings)
    chosen, errors = [], np.empty(len(targets))
    with Meter(f"{type(model).__name__} (pre-images)", model.verbose) as meter:
        for i in range(len(targets)):
            one = targets.part(slice(i, i + 1))
            gamma, square = one.gamma[0], float(one.squared_norms[0])
            inner = one.inner()[0] if extra is None else np.asarray(extra @ gamma)
            distances = np.maximum(diagonal - 2.0 * inner + square, 0.0)
            best = int(nearest_rows(distances[None, :], 1)[0, 0])
            found, error = take(pool, np.array([best])), float(distances[best])
            if start is not None:
                own = take(start, np.array([i]))
                here = float(kernel.diag(own)[0] - 2.0 * (GramOperator(kernel, own, anchors) @ gamma)[0] + square)
                found, error = (own, max(here, 0.0)) if here < error else (found, error)
            if edit:
                string, error = edits.improve(kernel, Rows(found).strings()[0], error, strings, gamma, square, alphabet)
                found = [string]
            chosen.append(found)
            errors[i] = max(error, 0.0)
            meter(i + 1, len(targets))
    points = chosen[0]
    for item in chosen[1:]:
        points = append(points, item)
    return Preimages(points, errors, np.full(len(targets), "edits" if edit else "candidates"))


def _same_kind(model: Any, candidates: Any) -> Any:
    return model._read(candidates, reset=False)
