"""Eigenvalues and principal directions of a centered Gram matrix, by eigh, Lanczos, explicit features or landmarks.

With weights w the centered matrix is S (I - 1 p') K (I - p 1') S with p = w / sum(w) and S = diag(sqrt(w)). Its eigenvalues
are those of the centered Gram matrix of a sample in which row i occurs w_i times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.grams import GramOperator, gram
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.low_rank import LandmarkFeatures, landmark_features, low_rank
from mercer.grams.products import feature_blocks, from_features
from mercer.inputs import take
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.linalg.eigenpairs import eigenpairs
from mercer.linalg.lanczos import largest_eigenpairs
from mercer.numeric.encodings import dense
from mercer.numeric.threads import Progress
from mercer.numeric.tiles import SIDE
from mercer.registry import record

#: Eigenvalues below this share of the largest one count as zero, by the bytes of a kernel value; scikit-learn's numbers.
ZERO = {8: 1e-12, 4: 2e-7}
#: The rounding of one kernel value.
EPS = {8: float(np.finfo(np.float64).eps), 4: float(np.finfo(np.float32).eps)}
#: A negative eigenvalue larger than this share of the largest one is not due to rounding.
NEGATIVE = {8: 1e-5, 4: 5e-3}


@record()
@dataclass(frozen=True)
class Components:
    """f_l = sum_i coef_il phi(x_i) over anchors x_i, orthonormal, and mean = sum_i mean_coef_i phi(x_i).

    The anchors are the training rows, or the landmarks. `inner` holds <phi(x_i), f_l> and `means` <phi(x_i), mean> for the
    anchors, so the Gram matrix is not needed again. `primal` holds the directions and, as its last column,
    the mean in explicit features, where that route was taken.
    """

    _stored: ClassVar[dict[str, str]] = {
        "values": "float (q,)",
        "vectors": "float (_, q)",
        "coef": "float (a, q)",
        "offset": "float (q,)",
        "mean_coef": "float (a,)",
        "mean_square": "float",
        "inner": "float (a, q)",
        "means": "float (a,)",
        "primal": "None | float (_, q+1)",
    }

    values: Array  # (q,) eigenvalues of the centered Gram matrix, falling
    vectors: Array  # (n, q) its unit eigenvectors
    coef: Array  # (a, q)
    offset: Array  # (q,) <mean, f_l>
    mean_coef: Array  # (a,)
    mean_square: float  # ||mean||^2
    inner: Array  # (a, q)
    means: Array  # (a,)
    total: float  # trace of the centered Gram matrix
    weight: float  # sum of the weights
    residual: float = 0.0  # largest ||K v - value v|| / largest value
    n_products: int = 0  # vectors multiplied by Lanczos
    primal: Array | None = None  # (D, q + 1)

    def cut(self, keep: Array) -> Components:  # (q,) bool
        """Only some of the components."""
        primal = None if self.primal is None else self.primal[:, np.append(keep, True)]
        return Components(
            self.values[keep], self.vectors[:, keep], self.coef[:, keep], self.offset[keep], self.mean_coef,
            self.mean_square, self.inner[:, keep], self.means, self.total, self.weight, self.residual, self.n_products,
            primal,
        )  # fmt: skip


def from_eigenpairs(kernel: Kernel, X: Any, values: Array, vectors: Array) -> Components:  # (q,), (n, q)
    """Return the components of eigenpairs of the centered Gram matrix of X that were computed elsewhere."""
    n, K = len(vectors), GramOperator(kernel, X)
    scaled = vectors * inverse_roots(values)
    coef = scaled - scaled.mean(axis=0)  # f_l is a combination of centered features
    products = np.asarray(K @ np.column_stack([coef, np.full(n, 1.0 / n)]))
    inner, means = products[:, :-1], products[:, -1]
    mean_square = float(means.mean())
    total = float(np.sum(kernel.diag(X), dtype=np.float64)) - n * mean_square
    return Components(
        values, vectors, coef, means @ coef, np.full(n, 1.0 / n), mean_square, inner, means, total, float(n)
    )  # fmt: skip


def settle(
    values: Array, vectors: Array, w: Array, lowest: float, itemsize: int, scale: float, kernel: Any
) -> tuple[Array, Array]:
    """Raise for an indefinite spectrum, set rounding to zero, and fix signs: the largest projection of a row is positive.

    The entries of a vector contain the weights of rows and are divided by them first: a weight counts as copies of a row.
    `scale` is the size of the kernel values before centering, which bounds the rounding error.
    """
    largest = float(max(values.max(initial=0.0), 0.0))
    if not np.isfinite(values).all():
        raise InputError(f"KernelPCA: {kernel} has NaN or infinite values on these data.")
    if lowest < -NEGATIVE[itemsize] * max(largest, 1e-300) and lowest < -1e-10:
        raise InputError(
            f"KernelPCA: the centered Gram matrix of {kernel} has the eigenvalue {lowest:.3g} beside {largest:.3g}, so this "
            "is not a kernel: there is no feature space to find directions in. There are significant negative eigenvalues; "
            "repair the matrix (mercer.repair) and use Precomputed(), or take a valid kernel."
        )
    rounding = 2.0 * len(vectors) * EPS[itemsize] * scale
    values = np.where(values <= max(ZERO[itemsize] * largest, rounding), 0.0, values)
    top = np.abs(vectors / np.sqrt(w)[:, None]).argmax(axis=0)
    signs = np.sign(vectors[top, np.arange(vectors.shape[1])])
    return values, vectors * np.where(signs == 0.0, 1.0, signs)


def inverse_roots(values: Array) -> Array:  # (q,)
    """1 / sqrt(values), and 0 where the value is 0: such a component projects everything on 0."""
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True)
class Means:
    """<phi(x_i), mean> of every row, and ||mean||^2, for the weighted mean of the rows in feature space."""

    rows: Array  # (n,)
    grand: float

    @classmethod
    def of(cls, K: Any, shares: Array) -> Means:  # K (n, n) or an operator, shares (n,) with sum 1
        """The means of a Gram matrix under weights that sum to one."""
        rows = np.asarray(K @ shares.astype(K.dtype), dtype=np.float64)
        return cls(rows, float(shares @ rows))

    def trace(self, diagonal: Array, weights: Array) -> float:  # (n,), (n,)
        """The trace of the centered Gram matrix: the total variance times the sum of the weights."""
        return max(0.0, float(weights @ (diagonal - 2.0 * self.rows + self.grand)))


class CenteredGram:
    """The centered Gram matrix as an operator: the product with K, and a correction of rank two around it."""

    def __init__(self, K: Any, weights: Array) -> None:  # K (n, n), weights (n,)
        self.K = K
        self.shares = weights / weights.sum()
        self.root = np.sqrt(weights)[:, None]
        self.plain = bool((weights == 1.0).all())
        self.shape = (len(weights), len(weights))

    def __matmul__(self, V: Array) -> Array:  # (n, b) -> (n, b)
        X = V if self.plain else V * self.root
        X = X - self.shares[:, None] * X.sum(axis=0)
        W = np.asarray(self.K @ X.astype(self.K.dtype, copy=False), dtype=np.float64)
        W -= self.shares @ W
        return W if self.plain else W * self.root


def center_in_place(K: Array, weights: Array, means: Means) -> Array:  # (n, n), (n,)
    """Turn a Gram matrix into the centered one, in its own memory."""
    root = np.sqrt(weights)
    rows = (means.rows - 0.5 * means.grand).astype(K.dtype)
    plain = bool((weights == 1.0).all())
    for start in range(0, len(K), SIDE):
        part = slice(start, start + SIDE)
        K[part] -= rows[part, None]
        K[part] -= rows[None, :]
        if not plain:
            K[part] *= root[part, None].astype(K.dtype)
            K[part] *= root[None, :].astype(K.dtype)
    return K


#: Residuals that Lanczos iterates to when no tolerance is given, by the bytes of a kernel value.
DEFAULT_TOL = {8: 1e-10, 4: 1e-6}

#: Numbers of landmark features of a chunk that are held at a time.
BLOCK_NUMBERS = 1 << 23

#: Explicit features are centered before they are multiplied, so that only the square of their rounding is left.
EXPLICIT = float(np.finfo(np.float64).eps)


def by_eigh(kernel: Kernel, X: Any, w: Array, q: int, progress: Progress | None) -> Components:
    """All eigenpairs of the centered Gram matrix, by LAPACK."""
    K = _symmetric(kernel, gram(kernel, X, memory=np.inf, progress=progress))
    means = Means.of(K, w / w.sum())
    diagonal = np.array(K.diagonal(), dtype=np.float64)
    total = means.trace(diagonal, w)
    center_in_place(K, w, means)
    values, vectors, lowest = _largest(K, q)
    values, vectors = settle(values, vectors, w, lowest, K.itemsize, float(diagonal.max()), kernel)
    return expanded(values, vectors, w, means, total)


def _largest(K: Array, q: int) -> tuple[Array, Array, float]:  # (n, n) -> (q,), (n, q)
    """The q largest eigenpairs of a symmetric matrix, falling, and the lowest eigenvalue or 0 where it is no concern.

    All pairs come by divide and conquer; of some pairs only their vectors are made, and a Cholesky factorization, a tenth of
    that work, tells whether an eigenvalue is too negative to be rounding.
    """
    n = len(K)
    if 3 * q >= n:
        return _all(K, q)
    kept, lowest = K.copy(), 0.0
    values, vectors = la.eigh(K.T, overwrite_a=True, check_finite=False, subset_by_index=[n - q, n - 1])
    if len(values) < q:  # LAPACK's choice by number fails when hundreds of eigenvalues coincide
        return _all(kept, q)
    shift = NEGATIVE[K.itemsize] * max(float(values[-1]), float(np.finfo(K.dtype).tiny))
    kept[np.diag_indices(n)] += K.dtype.type(shift)
    try:
        la.cholesky(kept, lower=True, check_finite=False)
    except la.LinAlgError:
        lowest = float(la.eigh(kept, eigvals_only=True, check_finite=False, subset_by_index=[0, 0])[0]) - shift
    return _falling(values), _falling(vectors), lowest


def _all(K: Array, q: int) -> tuple[Array, Array, float]:
    values, vectors = eigenpairs(K.T)
    return _falling(values[len(K) - q :]), _falling(vectors[:, len(K) - q :]), float(values[0])


def _falling(found: Array) -> Array:
    return np.asarray(found[..., ::-1], dtype=np.float64)


def by_lanczos(
    kernel: Kernel,
    X: Any,
    w: Array,
    q: int,
    *,
    tol: float,
    max_iter: int | None,
    held: int,
    seed: Any,
    progress: Progress | None,
) -> Components:
    """The largest eigenpairs by products with the Gram matrix: held with `held` bytes per value, or in tiles (0)."""
    K: Any = GramOperator(kernel, X)
    diagonal = np.asarray(K.diag(), dtype=np.float64)
    if held:
        K = _symmetric(kernel, gram(kernel, X, out=np.empty(K.shape, np.float32 if held == 4 else np.float64)))
    means = Means.of(K, w / w.sum())
    found = largest_eigenpairs(
        CenteredGram(K, w), q, tol=max(tol, 0.0) or DEFAULT_TOL[held or 8], max_products=max_iter,
        rng=np.random.default_rng(seed), progress=progress,
    )  # fmt: skip
    if not found.converged:
        raise NumericalError(
            f"KernelPCA: Lanczos has not found {q} components after {found.n_products} products (residual "
            f"{found.residual:.1e}); raise max_iter=, loosen tol=, or take eigen_solver='eigh'."
        )
    values, vectors = settle(found.values, found.vectors, w, found.lowest, held or 8, float(diagonal.max()), kernel)
    done = expanded(values, vectors, w, means, means.trace(diagonal, w))
    return Components(**{**vars(done), "residual": found.residual, "n_products": found.n_products})


def _symmetric(kernel: Kernel, K: Array) -> Array:
    """K itself, or (K + K') / 2 of values from outside, which promise no symmetry."""
    return K if kernel.symmetric else 0.5 * (K + K.T)


def expanded(values: Array, vectors: Array, w: Array, means: Means, total: float) -> Components:
    """Components from eigenpairs (values, u) of the centered Gram matrix: f = sum_i sqrt(w_i) u_i / sqrt(value) phi(x_i).

    The coefficients of a direction sum to zero, because sqrt(w) is an eigenvector with eigenvalue zero. That is why the
    mean appears in the projections as a constant only.
    """
    root, shares = np.sqrt(w)[:, None], w / w.sum()
    coef = vectors * root * inverse_roots(values)
    coef -= shares[:, None] * coef.sum(axis=0)
    offset = means.rows @ coef
    inner = vectors * np.sqrt(values) / root + offset
    return Components(values, vectors, coef, offset, shares, max(means.grand, 0.0), inner, means.rows, total, float(w.sum()))


def by_features(kernel: Kernel, X: Any, w: Array, q: int) -> Components:
    """Eigenpairs of the covariance in explicit features, made some rows at a time: n D^2 operations, D^2 memory."""
    shares = w / w.sum()
    mean = _mean_features(kernel, X, shares)
    C, total = np.zeros((len(mean), len(mean))), 0.0
    for rows, block in feature_blocks(kernel, X):
        Z = (_dense(block) - mean) * np.sqrt(w[rows])[:, None]
        total += float(np.vdot(Z, Z))
        C += Z.T @ Z
    values, directions = _top(C, q)
    inner = from_features(kernel, X, directions)
    offset = mean @ directions
    vectors = (inner - offset) * np.sqrt(w)[:, None] * inverse_roots(values)
    settled, turned = settle(values, vectors, w, 0.0, 8, EXPLICIT * float(mean @ mean), kernel)
    directions *= np.sign((turned * vectors).sum(axis=0) + 0.5 * (settled == 0))
    inner = from_features(kernel, X, directions)
    done = expanded(settled, turned, w, Means(from_features(kernel, X, mean), float(mean @ mean)), total)
    directions = directions * (settled > 0)
    return Components(
        **{**vars(done), "inner": inner * (settled > 0), "offset": mean @ directions,
           "primal": np.column_stack([directions, mean])}
    )  # fmt: skip


def by_landmarks(
    kernel: Kernel, X: Any, w: Array, q: int, *, m: int, seed: Any, progress: Progress | None
) -> tuple[Components, Any]:
    """Components of K ~ F F' from m landmarks, and these: PCA of the rows of F, in the memory of F."""
    found = low_rank(kernel, X, m, rng=np.random.default_rng(seed), memory=np.inf, progress=progress)
    F, features = found.factor, found.features
    shares = w / w.sum()
    mean = shares @ F
    F -= mean  # in place: the factor is the one large array
    if not (w == 1.0).all():
        F *= np.sqrt(w)[:, None]
    covariance = F.T @ F
    # what the landmarks miss is orthogonal to their span, and counts in the total variance only
    total = float(np.trace(covariance)) + float(w @ found.residual)
    values, directions = _top(covariance, q)
    projected = F @ directions  # sqrt(w) times the projections of the training rows
    values, vectors = settle(values, projected * inverse_roots(values), w, 0.0, 8, float(mean @ mean), kernel)
    directions = directions * (np.sign((vectors * projected).sum(axis=0)) * (values > 0))
    L = features.triangle
    coef, mean_coef = features.expansion(directions), features.expansion(mean)
    inner, means, anchors = L @ directions, L @ mean, features.landmarks
    square = float(mean @ mean)
    done = Components(
        values, vectors, coef, mean @ directions, mean_coef, square, inner, means, total, float(w.sum()), found.missed
    )
    return done, anchors


def by_landmark_chunks(
    kernel: Kernel, rows: ChunkedRows, q: int, *, m: int, seed: Any, progress: Progress | None
) -> tuple[Components, Any]:
    """The same of rows in chunks, in two passes after the landmarks are drawn: the covariance, and the signs."""
    features, missed = landmark_features(kernel, rows, m, np.random.default_rng(seed))
    shift = features(take(rows.head.X, slice(0, 1024))).mean(axis=0)
    sums, unseen = rows.sum(landmark_moments, features, shift, progress=progress)
    weight, moved = float(sums[-1, -1]), sums[:-1, -1]
    mean = shift + moved / weight
    covariance = sums[:-1, :-1] - np.outer(moved, moved / weight)
    total = float(np.trace(covariance)) + float(unseen)
    values, directions = _top(covariance, q)
    values = np.where(values <= 2.0 * rows.n * EXPLICIT * float(mean @ mean), 0.0, values)
    largest = np.zeros(q)
    for found in rows.map(largest_projections, features, mean, directions):
        if found is not None:
            largest = np.where(np.abs(found) > np.abs(largest), found, largest)
    values, _ = settle(values, largest[None, :], np.ones(1), 0.0, 8, 0.0, kernel)
    directions = directions * (np.sign(largest) * (values > 0))
    coef, mean_coef = features.expansion(directions), features.expansion(mean)
    L = features.triangle
    done = Components(
        values, np.empty((0, q)), coef, mean @ directions, mean_coef, float(mean @ mean), L @ directions, L @ mean, total,
        weight, missed,
    )  # fmt: skip
    return done, features.landmarks


def landmark_moments(chunk: Chunk, features: LandmarkFeatures, shift: Array) -> tuple[Array, Array]:
    """[F - shift, 1]' W [F - shift, 1] of the features of a chunk, and what the landmarks miss of its rows."""
    m, step = features.n_components, _rows_at_a_time(features)
    total, unseen = np.zeros((m + 1, m + 1)), 0.0
    for start in range(0, len(chunk), step):
        rows = slice(start, start + step)
        X = take(chunk.X, rows)
        F = features(X)
        w = np.ones(len(F)) if chunk.weights is None else chunk.weights[rows]
        left = np.asarray(features.kernel.diag(X), dtype=np.float64) - np.einsum("ij,ij->i", F, F)
        unseen += float(w @ np.maximum(left, 0.0))
        R = np.column_stack([F - shift, np.ones(len(F))]) * np.sqrt(w)[:, None]
        total += R.T @ R
    return total, np.array(unseen)


def largest_projections(chunk: Chunk, features: LandmarkFeatures, mean: Array, directions: Array) -> Array:  # -> (q,)
    """The projection of largest size on every direction, among the rows of a chunk that count."""
    found, step = np.zeros(directions.shape[1]), _rows_at_a_time(features)
    for start in range(0, len(chunk), step):
        rows = slice(start, start + step)
        P = (features(take(chunk.X, rows)) - mean) @ directions
        if chunk.weights is not None:
            P[chunk.weights[rows] == 0] = 0.0
        top = P[np.abs(P).argmax(axis=0), np.arange(P.shape[1])]
        found = np.where(np.abs(top) > np.abs(found), top, found)
    return found


def _rows_at_a_time(features: LandmarkFeatures) -> int:
    return max(64, BLOCK_NUMBERS // features.n_components)


def _mean_features(kernel: Kernel, X: Any, shares: Array) -> Array:
    parts = [np.asarray(shares[rows] @ block, dtype=np.float64) for rows, block in feature_blocks(kernel, X)]
    return np.asarray(np.sum(parts, axis=0)).ravel()


def _dense(block: Any) -> Array:
    return dense(block).astype(np.float64, copy=False)


def _top(C: Array, q: int) -> tuple[Array, Array]:  # (D, D) -> (q,), (D, q)
    """The q largest eigenpairs of a small covariance, padded with zeros when there are fewer."""
    D = len(C)
    values, vectors = la.eigh(C, check_finite=False, overwrite_a=True)
    kept = min(q, D)
    top, directions = np.zeros(q), np.zeros((D, q))
    top[:kept] = np.maximum(values[::-1][:kept], 0.0)
    directions[:, :kept] = vectors[:, ::-1][:, :kept]
    return top, directions
