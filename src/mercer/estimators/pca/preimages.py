"""Pre-images: for a point of feature space, an object whose image is near it, with the error that is left.

**Fixed point.** The error rho(y) = k(y, y) - 2 sum_i gamma_i k(y, x_i) + ||target||^2 has the gradient M ((R - 2 sum gamma_i
Q_i) y - 2 sum gamma_i P_i x_i), see `mercer.kernels.input_gradients`. It vanishes at

    y = 2 sum_i gamma_i P_i x_i / (R - 2 sum_i gamma_i Q_i),

for the Gaussian y = sum gamma_i k(y, x_i) x_i / sum gamma_i k(y, x_i) (Mika et al. 1999), for a linear kernel
y = sum gamma_i x_i. A pull towards an anchor near the data keeps the denominator away from zero (Abrahamsen and Hansen 2009
pull towards the input).

**Neighbors.** The weights minimize ||target - sum_j w_j phi(x_j)||^2 with sum_j w_j = 1 over the k nearest rows in feature
space, a local linear embedding; the pre-image is sum_j w_j x_j. Only feature-space distances are needed (Kwok and Tsang 2004
turn them into input distances first, which requires an invertible kernel), and the result stays near the data.

**Learned map.** Kernel ridge regression from coordinates to rows (Bakir, Weston and Schoelkopf 2004), with a Gaussian kernel
on the coordinates whose length scale is their median distance. For more than some thousand rows it is fitted on landmarks.

**Edits.** The best candidate string is improved by single edits (substitute, insert or delete one letter of the training
strings) while the feature-space error falls. The result is a local minimum of the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError, NumericalError, check_choice
from mercer.estimators.pca.decompositions import Components
from mercer.estimators.progress import Meter
from mercer.grams import GramOperator
from mercer.grams.low_rank import LandmarkFeatures, low_rank
from mercer.inputs import Rows, append, count, take
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.input_gradients import diagonal_gradient, differentiable, input_gradient
from mercer.kernels.stationary import Gaussian
from mercer.numeric.threads import cpu_count, run
from mercer.registry import record


@dataclass(frozen=True)
class Targets:
    """Targets by their coordinates; `gamma` are their coefficients on the anchors."""

    components: Components
    beta: Array  # (b, q)

    def __len__(self) -> int:
        return len(self.beta)

    def part(self, rows: slice | Array) -> Targets:
        """Some of the targets."""
        return Targets(self.components, self.beta[rows])

    @property
    def gamma(self) -> Array:  # (b, a)
        """target = sum_i gamma_i phi(x_i): the directions' coefficients, and the mean's."""
        return self.beta @ self.components.coef.T + self.components.mean_coef

    @property
    def squared_norms(self) -> Array:  # (b,)
        """||target||^2."""
        found = self.components
        return found.mean_square + 2.0 * self.beta @ found.offset + np.einsum("ij,ij->i", self.beta, self.beta)

    def inner(self) -> Array:  # (b, a)
        """<phi(x_i), target> for every anchor, computed without kernel values."""
        return self.beta @ self.components.inner.T + self.components.means

    def squared_distances(self, diagonal: Array) -> Array:  # (a,) -> (b, a)
        """||phi(x_i) - target||^2 for every anchor with k(x_i, x_i) given."""
        return np.maximum(diagonal - 2.0 * self.inner() + self.squared_norms[:, None], 0.0)


#: A step longer than this share of the spread of the data goes on; iterations at most; halvings of one step at most.
STEP, ITERATIONS, HALVINGS = 1e-5, 200, 6

#: A denominator below this share of the sum of absolute weights is zero within rounding.
VANISHING = 1e-10


@dataclass(frozen=True)
class FixedPoints:
    """The points reached, whether each converged, and whether its denominator vanished."""

    points: Array  # (b, d)
    converged: Array  # (b,) bool
    lost: Array  # (b,) bool


def fixed_point(  # X (n, d), gamma (b, n), start (b, d), anchor (b, d)
    kernel: Kernel, X: Array, gamma: Array, start: Array, anchor: Array, pull: float, spread: float
) -> FixedPoints:
    """Iterate from `start`; a step that raises the error is halved, a point whose denominator vanishes is given up."""
    Y, n_points = start.copy(), len(start)
    encoded = kernel.encode(X)
    best, previous = np.full(n_points, np.inf), Y.copy()
    halved, converged, lost = np.zeros(n_points, int), np.zeros(n_points, bool), np.zeros(n_points, bool)
    active = np.arange(n_points)
    for _ in range(ITERATIONS):
        value, step, vanished = _sweep(kernel, encoded, X, gamma[active], Y[active], anchor[active], pull)
        rounding = 1e-12 * (1.0 + np.abs(value))
        worse = value > best[active] + rounding
        stuck = worse & (halved[active] >= HALVINGS)
        back, on = active[worse], active[~worse]
        Y[back] = np.where(stuck[worse][:, None], previous[back], 0.5 * (previous[back] + Y[back]))
        halved[back] += 1
        best[on], previous[on], halved[on] = value[~worse], Y[on], 0
        moved = np.abs(step - Y[active]).max(axis=1)
        gone = ~worse & vanished
        lost[active[gone]] = True
        arrived = stuck | (~worse & ~gone & (moved <= STEP * spread))
        converged[active[arrived]] = True
        forward = ~worse & ~gone
        Y[active[forward]] = step[forward]
        active = active[~(arrived | gone)]
        if len(active) == 0:
            break
    return FixedPoints(Y, converged, lost)


def _sweep(
    kernel: Kernel, encoded: Any, X: Array, gamma: Array, Y: Array, anchor: Array, pull: float
) -> tuple[Array, Array, Array]:
    """The error (up to a constant) at Y, the next points, and where the denominator vanishes."""
    pair = Pair.whole(kernel.encode(Y), encoded)
    P, Q = input_gradient(kernel, pair)
    own = kernel._diag(pair.A)
    value = np.asarray(own - 2.0 * np.einsum("ij,ij->i", gamma, pair.block(kernel)), dtype=np.float64)
    W = gamma * P
    total = 2.0 * np.abs(W).sum(axis=1)
    denominator = diagonal_gradient(kernel, pair.A) - 2.0 * np.einsum("ij,ij->i", gamma, Q) + pull * total
    vanished = denominator <= VANISHING * total
    safe = np.where(vanished, 1.0, denominator)
    step = (2.0 * (W @ X) + (pull * total)[:, None] * anchor) / safe[:, None]
    return value, np.where(vanished[:, None], Y, step).astype(Y.dtype, copy=False), vanished


#: Ridge on the k x k system, relative to its mean diagonal: more neighbors than dimensions make it singular.
RIDGE = 1e-2


def nearest_rows(distances: Array, k: int) -> Array:  # (b, a) -> (b, k)
    """The k nearest anchors, nearest first; ties go to the row that came first."""
    k = min(k, distances.shape[1])
    found = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(distances, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def by_neighbors(kernel: Kernel, anchors: Any, X: Array, targets: Targets, diagonal: Array, k: int) -> Array:
    """The pre-images, (b, d), for anchors whose vectors are the rows of X."""
    inner, squares = targets.inner(), targets.squared_norms
    found = nearest_rows(np.maximum(diagonal - 2.0 * inner + squares[:, None], 0.0), k)
    used, place = np.unique(found, return_inverse=True)
    place = place.reshape(found.shape)
    K = np.asarray(kernel(take(anchors, used)), dtype=np.float64)
    near = np.take_along_axis(inner, found, axis=1)  # (b, k)
    G = K[place[:, :, None], place[:, None, :]] - near[:, :, None] - near[:, None, :] + squares[:, None, None]
    size = np.einsum("bjj->b", G) / G.shape[1]
    G += (RIDGE * np.where(size > 0, size, 1.0))[:, None, None] * np.eye(G.shape[1])
    try:
        w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[:, :, 0]
    except np.linalg.LinAlgError:
        raise NumericalError(
            f"pre-images from {k} neighbors: their inner products with {kernel} are too far apart for float64; scale the "
            "columns or the kernel."
        ) from None
    w /= w.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("bk,bkd->bd", w, X[found]))


#: Landmarks of the map: with at most this many rows it is exact.
LANDMARKS = 2000


@record()
@dataclass(frozen=True)
class LearnedMap:
    """x ~ mean + f(z)' W for coordinates z."""

    _stored: ClassVar[dict[str, str]] = {
        "features": "a LandmarkFeatures",
        "features.index": "int (m,)",
        "weights": "float (m, d)",
        "mean": "float (d,)",
    }

    features: LandmarkFeatures
    weights: Array  # (m, d)
    mean: Array  # (d,)
    n_components: int

    @classmethod
    def fit(cls, Z: Array, X: Array, alpha: float) -> LearnedMap:  # (n, q), (n, d)
        """Minimize sum_i ||x_i - mean - f(z_i)' W||^2 + alpha ||W||^2."""
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        found = low_rank(Gaussian("median").resolve(Z), Z, LANDMARKS)
        mean = X.mean(axis=0)
        F = found.factor
        A = F.T @ F
        A[np.diag_indices_from(A)] += max(alpha, 1e-12 * float(A.diagonal().max()))
        W = la.solve(A, F.T @ (X - mean), assume_a="pos", check_finite=False)
        return cls(found.features, np.asarray(W), mean, Z.shape[1])

    def __call__(self, Z: Array) -> Array:  # (b, q) -> (b, d)
        """The estimated rows at these coordinates."""
        return np.asarray(self.features(np.ascontiguousarray(Z, dtype=np.float64)) @ self.weights + self.mean)


#: Edited strings evaluated at a time.
EDITS_AT_A_TIME = 4096

#: Edits made in a row to one string, at most.
EDITS = 200


def alphabet_of(strings: Sequence[Any]) -> list[Any]:
    """The letters or tokens that occur, in a fixed order."""
    found = {letter for string in strings for letter in string}
    return sorted(found, key=lambda letter: (str(type(letter)), str(letter)))


def neighbors_of(string: Any, alphabet: Sequence[Any]) -> Iterator[Any]:
    """Every string one edit away: substitutions, deletions, insertions."""
    wrap = (lambda letter: letter) if isinstance(string, str) else (lambda letter: (letter,))
    for i in range(len(string)):
        for letter in alphabet:
            if letter != string[i]:
                yield string[:i] + wrap(letter) + string[i + 1 :]
        if len(string) > 1:
            yield string[:i] + string[i + 1 :]
    for i in range(len(string) + 1):
        for letter in alphabet:
            yield string[:i] + wrap(letter) + string[i:]


def errors_of(kernel: Kernel, strings: Sequence[Any], anchors: Any, gamma: Array, square: float) -> Array:
    """||phi(y) - target||^2 for every string y and one target with coefficients gamma on the anchors."""
    listed = list(strings)
    inner = np.asarray(GramOperator(kernel, listed, anchors) @ gamma)
    return np.asarray(kernel.diag(listed), dtype=np.float64) - 2.0 * inner + square


def improve(
    kernel: Kernel, string: Any, error: float, anchors: Any, gamma: Array, square: float, alphabet: list[Any]
) -> tuple[Any, float]:
    """Take the best single edit again and again while it lowers the error."""
    used = np.flatnonzero(gamma)
    for _ in range(EDITS):
        found, least = None, error - 1e-10 * (1.0 + abs(error))
        edited = list(dict.fromkeys(neighbors_of(string, alphabet)))
        for start in range(0, len(edited), EDITS_AT_A_TIME):
            portion = edited[start : start + EDITS_AT_A_TIME]
            errors = errors_of(kernel, portion, [anchors[i] for i in used], gamma[used], square)
            best = int(errors.argmin())
            if errors[best] < least:
                found, least = portion[best], float(errors[best])
        if found is None:
            break
        string, error = found, least
    return string, error


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


def choose_method(kernel: Kernel, anchors: Any, method: str, learned: bool) -> str:
    """The method to use for this kernel; "auto" takes the best that the kernel allows."""
    check_choice("KernelPCA", "preimage", method, METHODS)
    views = kernel.views
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


@dataclass(frozen=True)
class PreimageSearch:
    """The search for pre-images in the feature space of one fit."""

    kernel: Kernel
    anchors: Any  # the training rows, or the landmarks
    components: Components
    learned: list[LearnedMap]  # the ridge map, once it has been fitted; shared with the model
    alpha: float
    regularization: float
    n_neighbors: int
    verbose: bool | None

    def find(self, targets: Targets, method: str, start: Any = None, candidates: Any = None) -> Preimages:
        """Return pre-images of the targets by one of the methods."""
        if method in ("edits", "candidates"):
            return self._among_objects(targets, start, candidates, method == "edits")
        X = self._vectors(method)
        if method == "ridge":
            return self._judged(targets, self._learned_map(X)(targets.beta), "ridge")
        began = None if start is None else np.asarray(start.toarray() if sp.issparse(start) else start, dtype=X.dtype)
        points, names = np.empty((len(targets), X.shape[1]), X.dtype), np.full(len(targets), method, dtype="U11")
        diagonal = np.asarray(self.kernel.diag(self.anchors), dtype=np.float64)
        size = max(1, min(VALUES_AT_A_TIME // len(X), -(-len(targets) // cpu_count())))
        portions = [slice(i, min(i + size, len(targets))) for i in range(0, len(targets), size)]

        def work(rows: slice, worker: int) -> None:
            part = targets.part(rows)
            near = by_neighbors(self.kernel, self.anchors, X, part, diagonal, self.n_neighbors).astype(X.dtype)
            points[rows] = near
            if method == "fixed-point":
                first = near if began is None else began[rows]
                points[rows], names[rows] = self._iterated(X, part, first, near)

        with Meter("KernelPCA (pre-images)", self.verbose) as meter:
            run(portions, work, min(cpu_count(), len(portions)), len(portions), meter)
        return self._judged(targets, points, names)

    def targets(self, Z: Any, n_components: int | None) -> Targets:
        """Return coordinates (b, q) as targets; components beyond the first `n_components` are set to 0."""
        q = len(self.components.values)
        beta = np.array(Z, dtype=np.float64)
        if beta.ndim != 2 or beta.shape[1] != q:
            raise InputError(
                f"KernelPCA: coordinates have shape {beta.shape}; the model has {q} components, so give (n, {q})."
            )
        if not np.isfinite(beta).all():
            raise InputError("KernelPCA: coordinates contain NaN or infinity.")
        if n_components is not None:
            if not 1 <= n_components <= q:
                raise InputError(f"KernelPCA: n_components must lie in 1 … {q}, those of the model; got {n_components}.")
            beta[:, n_components:] = 0.0
        return Targets(self.components, beta)

    def _vectors(self, method: str) -> Array:
        X = self.anchors
        if sp.issparse(X):
            return np.asarray(X.toarray())
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            raise CapabilityError(
                f'KernelPCA: "{method}" makes vectors; {self.kernel} is on other objects, use "candidates".'
            )
        return X

    def _learned_map(self, X: Array) -> LearnedMap:
        """The ridge map, fitted at the first call."""
        if not self.learned:
            Z = self.components.inner - self.components.offset
            self.learned.append(LearnedMap.fit(Z, np.asarray(X, dtype=np.float64), self.alpha))
        return self.learned[0]

    def _iterated(self, X: Array, targets: Targets, start: Array, near: Array) -> tuple[Array, Array]:
        """The fixed point, and the neighbors' answer where it vanished or left the data."""
        mean = X.mean(axis=0)
        reach = float(np.square(X - mean).sum(axis=1).max())
        spread = max(float(X.std(axis=0).max()), 1e-300)
        gamma = targets.gamma.astype(X.dtype)
        found = fixed_point(self.kernel, X, gamma, start, near, self.regularization, spread)
        size = float(np.square(mean).sum())
        outside = np.square(found.points - mean).sum(axis=1) > BEYOND**2 * reach + 1e-12 * size
        given_up = found.lost | outside | ~np.isfinite(found.points).all(axis=1)
        return np.where(given_up[:, None], near, found.points), np.where(given_up, "neighbors", "fixed-point")

    def _judged(self, targets: Targets, points: Array, names: Any) -> Preimages:
        """The feature-space error of every pre-image."""
        errors = np.empty(len(targets))
        size = max(1, VALUES_AT_A_TIME // count(self.anchors))
        for i in range(0, len(targets), size):
            rows = slice(i, min(i + size, len(targets)))
            part = targets.part(rows)
            K = GramOperator(self.kernel, points[rows], self.anchors).block(slice(None), slice(None))
            inner = np.einsum("ij,ij->i", K, part.gamma)
            errors[rows] = self.kernel.diag(points[rows]) - 2.0 * inner + part.squared_norms
        labels = np.full(len(targets), names) if isinstance(names, str) else names
        return Preimages(points, np.maximum(errors, 0.0), labels)

    def _among_objects(self, targets: Targets, start: Any, candidates: Any, edit: bool) -> Preimages:
        """The best of the training objects, the start and further candidates; strings are then edited."""
        anchors, kernel = self.anchors, self.kernel
        pool = anchors if candidates is None else append(anchors, candidates)
        diagonal = np.asarray(kernel.diag(pool), dtype=np.float64)
        extra = None if candidates is None else GramOperator(kernel, pool, anchors)
        strings = Rows(anchors).strings() if edit else []
        alphabet = alphabet_of(strings)
        chosen, errors = [], np.empty(len(targets))
        with Meter("KernelPCA (pre-images)", self.verbose) as meter:
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
                    string, error = improve(kernel, Rows(found).strings()[0], error, strings, gamma, square, alphabet)
                    found = [string]
                chosen.append(found)
                errors[i] = max(error, 0.0)
                meter(i + 1, len(targets))
        points = chosen[0]
        for item in chosen[1:]:
            points = append(points, item)
        return Preimages(points, errors, np.full(len(targets), "edits" if edit else "candidates"))
