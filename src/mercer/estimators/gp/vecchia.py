"""The Vecchia solver, for few columns: O(n) per setting, and each prediction from the nearest rows.

The likelihood is a product of conditionals over blocks of nearby rows, each given its nearest earlier rows. Rows are cut
into blocks by halving the widest column repeatedly. Blocks are in farthest-first order: early blocks spread over the data,
and every later one has earlier rows on all sides (Guinness 2018 finds such orders far better than sorted ones).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg.blas as blas
import scipy.sparse as sp
from scipy.spatial import KDTree

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.inputs import as_rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation, Pair
from mercer.linalg.cholesky import cholesky
from mercer.linalg.evidence import Evidence, log_evidence, profile
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import align, gather
from mercer.numeric.points import PER_VALUE
from mercer.numeric.threads import cpu_count, run
from mercer.registry import record

#: Up to this many blocks are put in farthest-first order, whose cost is quadratic in their number; more are shuffled.
FARTHEST = 8192


@dataclass(frozen=True)
class NearBlock:
    """Rows that are predicted together, given earlier rows."""

    given: Array  # (k,) row numbers, all in earlier blocks
    targets: Array  # (g,) row numbers

    @property
    def rows(self) -> Array:  # -> (k + g,)
        """The given rows, then the targets."""
        return np.concatenate([self.given, self.targets])


def blocks(X: Array, size: int, n_neighbors: int, rng: np.random.Generator | None = None) -> list[NearBlock]:  # (n, d)
    """Cut rows into blocks of at most ``size`` and give each its ``n_neighbors`` nearest earlier rows.

    Every row is a target once; the first block is given no rows. With one row per block and n_neighbors >= n - 1 each row
    is given all earlier ones, and the likelihood is exact.

    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> parts = blocks(X, 2, 2)
    >>> sorted(int(i) for part in parts for i in part.targets), len(parts[0].given)
    ([0, 1, 2, 3, 4, 5], 0)
    """
    if size < 1 or n_neighbors < 0:
        raise InputError(f"blocks have at least 1 row and 0 neighbors; got {size} and {n_neighbors}.")
    X = np.ascontiguousarray(X, dtype=np.float64)
    cells = leaves(X, size)
    centers = np.array([X[cell].mean(axis=0) for cell in cells])
    order = farthest_first(centers) if len(cells) <= FARTHEST else _shuffled(len(cells), rng)
    cells, centers = [cells[i] for i in order], centers[order]
    ends = np.cumsum([len(cell) for cell in cells])
    rows = np.concatenate(cells)  # rows in the order of their blocks; the first ends[b - 1] are earlier than block b
    given = _nearest_earlier(X[rows], centers, np.concatenate([[0], ends[:-1]]), n_neighbors)
    return [NearBlock(rows[before], cell) for before, cell in zip(given, cells, strict=True)]


def leaves(X: Array, size: int) -> list[Array]:  # (n, d) -> row numbers of each leaf
    """Halve the rows along their widest column until no part exceeds ``size``; parts differ by at most a factor of two."""
    done: list[Array] = []
    todo = [np.arange(len(X))]
    while todo:
        cell = todo.pop()
        if len(cell) <= size:
            done.append(cell)
            continue
        part = X[cell]
        axis = int(np.ptp(part, axis=0).argmax())
        half = len(cell) // 2
        order = np.argpartition(part[:, axis], half)
        todo += [cell[order[half:]], cell[order[:half]]]
    return done


def farthest_first(points: Array) -> Array:  # (b, d) -> (b,) an order
    """Return an order that starts near the center and continues with the point farthest from those before it."""
    distances = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    order = np.empty(len(points), dtype=np.intp)
    order[0] = distances.argmin()
    distances = np.full(len(points), np.inf)
    for i in range(1, len(points)):
        last = order[i - 1]
        np.minimum(distances, ((points - points[last]) ** 2).sum(axis=1), out=distances)
        distances[last] = -1.0
        order[i] = distances.argmax()
    return order


def _shuffled(count: int, rng: np.random.Generator | None) -> Array:
    return (np.random.default_rng(0) if rng is None else rng).permutation(count)


def _nearest_earlier(X: Array, centers: Array, starts: Array, k: int) -> list[Array]:  # (n, d), (b, d), (b,)
    """Return for each center the k nearest of the first starts[b] rows, or all of them if there are fewer.

    One tree is used for all blocks whose start is at most twice that of the first, so about half of the rows it finds are
    early enough. If too few are, the search is widened.
    """
    found: list[Array] = [np.empty(0, dtype=np.intp)] * len(starts)
    first = 0
    while first < len(starts):
        until = max(2 * int(starts[first]), k + 1)
        last = int(np.searchsorted(starts, until, side="right"))
        last = max(last, first + 1)
        reach = int(starts[last - 1])  # the tree holds what is early enough for the last of these blocks
        pending = np.arange(first, last)
        if k == 0 or reach == 0:
            first = last
            continue
        tree = KDTree(X[:reach])
        wanted = min(reach, 2 * k + 8)
        while pending.size:
            near = tree.query(centers[pending], k=range(1, wanted + 1), workers=cpu_count())[1]
            early = near < starts[pending, None]
            enough = np.minimum(k, starts[pending])
            done = (early.sum(axis=1) >= enough) | (wanted == reach)
            for b, row, mask in zip(pending[done], near[done], early[done], strict=True):
                found[b] = row[mask][:k]
            pending, wanted = pending[~done], min(reach, 2 * wanted)
        first = last
    return found


Gram = Callable[[Array], Array]  # row numbers (s,) -> K (s, s), an array of its own
Pull = Callable[[Array, Array], Array]  # row numbers (s,), weights (s, s) -> (p,)
Joint = Callable[[int, Array], tuple[Array, Array, float]]


@dataclass(frozen=True)
class Conditionals:
    """T' G^-1 T and log det G of the product of conditionals, and its factors if they were kept."""

    quadratic: Array  # (c, c)
    logdet: float
    jitter: float
    factors: dict[int, Array] | None  # block number -> L (s, s)


def conditionals(  # columns (n, c), noise (1,) or (n,)
    parts: Sequence[NearBlock], gram: Gram, columns: Array, noise: Array, *, keep: bool = False
) -> Conditionals:
    """Factor each block; the log density of t targets is -1/2 (tr quadratic + t logdet + n t log 2 pi).

    >>> X = np.arange(4.0)
    >>> K, y = np.exp(-np.abs(np.subtract.outer(X, X))), np.ones((4, 1))
    >>> parts = [NearBlock(np.arange(i), np.array([i])) for i in range(4)]  # every row given all earlier ones
    >>> found = conditionals(parts, lambda rows: K[np.ix_(rows, rows)], y, np.array([0.1]))
    >>> G = K + 0.1 * np.eye(4)
    >>> bool(np.isclose(found.logdet, np.linalg.slogdet(G)[1]) and np.isclose(found.quadratic, y.T @ np.linalg.solve(G, y)))
    True
    """
    n, c = columns.shape
    d = np.broadcast_to(noise, (n,))
    threads = min(cpu_count(), len(parts))
    totals = [(np.zeros((c, c)), np.zeros(2)) for _ in range(threads)]
    factors: dict[int, Array] = {}

    def work(task: tuple[int, NearBlock], worker: int) -> None:
        number, part = task
        rows, k = part.rows, len(part.given)
        L, jitter = _factor(gram(rows), d[rows])
        own = _solve(L, columns[rows])[k:]
        quadratic, numbers = totals[worker]
        quadratic += own.T @ own
        numbers[0] += 2.0 * float(np.log(L.diagonal()[k:]).sum())
        numbers[1] = max(numbers[1], jitter)
        if keep:
            factors[number] = L

    run(enumerate(parts), work, threads, static=True)
    quadratic = np.sum([one for one, _ in totals], axis=0)
    numbers = np.array([one for _, one in totals])
    return Conditionals(quadratic, float(numbers[:, 0].sum()), float(numbers[:, 1].max()), factors if keep else None)


def conditional_gradient(  # columns (n, c), combine (c, t), noise (1,) or (n,)
    parts: Sequence[NearBlock],
    gram: Gram,
    pull: Pull,
    columns: Array,
    combine: Array,
    noise: Array,
    factors: dict[int, Array] | None = None,
) -> tuple[Array, float]:  # -> (p,), number
    """The gradient of the log density of the t targets E = columns @ combine: in theta, and in the logarithm of the noise.

    For L = chol(S) and U the rows of L^-1 that belong to g, S^-1 minus the padded S_cc^-1 is U'U. With z = L^-1 E,
    a = S^-1 E and v = U' z_g the weight on S is (a v' + v (a - v)' - t U'U) / 2.
    """
    n, t = len(columns), combine.shape[1]
    d = np.broadcast_to(noise, (n,))
    threads = min(cpu_count(), len(parts))
    thetas: list[Array] = [np.zeros(1)] * threads  # replaced, never written to
    slopes = np.zeros(threads)

    def work(task: tuple[int, NearBlock], worker: int) -> None:
        number, part = task
        rows, k, g = part.rows, len(part.given), len(part.targets)
        L = _factor(gram(rows), d[rows])[0] if factors is None else factors[number]
        z = _solve(L, columns[rows] @ combine)  # (s, t)
        unit = np.zeros((k + g, g), order="F")
        unit[k:] = np.eye(g)
        U = _solve(L, unit, transposed=True)  # (s, g): U' of the formula
        a, v = _solve(L, z, transposed=True), U @ z[k:]
        W = U @ U.T
        W *= -0.5 * t
        W += 0.5 * (a @ v.T + v @ (a - v).T)
        slopes[worker] += float(d[rows] @ W.diagonal())
        thetas[worker] = thetas[worker] + pull(rows, W)

    run(enumerate(parts), work, threads, static=True)
    return np.sum(thetas, axis=0), float(slopes.sum())


def local_posterior(  # near (r, k) row numbers, columns (n, c), noise (1,) or (n,) -> (r, c), (r,)
    near: Array, joint: Joint, columns: Array, noise: Array
) -> tuple[Array, Array]:
    """Posterior mean and latent variance of each new row given its own near rows only.

    ``joint(i, rows)`` returns K (k, k), the covariances k_i (k,) with the new row i, and k_ii.

    >>> K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [0.0]])
    >>> joint = lambda i, rows: (K[:1, :1].copy(), K[1, :1], 1.0)
    >>> mean, variance = local_posterior(np.array([[0]]), joint, y, np.array([1.0]))
    >>> mean.round(12).tolist(), variance.round(12).tolist()
    ([[0.25]], [0.875])
    """
    n, c = columns.shape
    d = np.broadcast_to(noise, (n,))
    mean, variance = np.empty((len(near), c)), np.empty(len(near))

    def work(i: int, worker: int) -> None:
        rows = near[i]
        K, cross, prior = joint(i, rows)
        L, _ = _factor(K, d[rows])
        solved = _solve(L, np.column_stack([cross, columns[rows]]))  # (k, 1 + c)
        mean[i] = solved[:, 0] @ solved[:, 1:]
        variance[i] = max(prior - float(np.vdot(solved[:, 0], solved[:, 0])), 0.0)

    run(range(len(near)), work, min(cpu_count(), max(1, len(near) // 16)))
    return mean, variance


def _factor(K: Array, d: Array) -> tuple[Array, float]:  # (s, s) overwritten, (s,) -> L in the lower triangle, jitter
    found = cholesky(K, d, overwrite=True)
    return found.matrix, found.jitter


def _solve(L: Array, B: Array, transposed: bool = False) -> Array:  # (s, s), (s, c) -> (s, c)
    return blas.dtrsm(1.0, L, np.array(B, dtype=np.float64, order="F"), lower=1, trans_a=int(transposed), overwrite_b=1)


#: Default number of near rows that a block is given. A block has a third as many rows itself. A new row is given twice as
#: many, because a prediction is computed once and the likelihood many times.
NEIGHBORS = 96

#: Factors are kept between value and gradient if they take at most this share of the budget.
KEEP = 0.25

#: The unit of a column is the step that reduces the correlation to this value.
CORRELATION = 0.9

#: Neighbors of at most this many new rows are in memory at a time.
BATCH = 4096

#: Largest number of near rows for a joint covariance of new rows.
JOINT = 6000


class VecchiaEngine:
    """Vecchia's likelihood over blocks of near rows; blocks and neighbors are chosen again between ascents."""

    # the exact climb on a part of the rows ends near the solution; a few steps on all rows are enough
    rounds, part_rows, tol_per_row, max_steps = 2, 2000, 1e-4, 8

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._settings = EngineSettings() if settings is None else settings
        self._parts: list[NearBlock] = []
        self._n = -1

    @property
    def n_neighbors(self) -> int:
        """Number of near rows that each block is given; new rows get twice as many."""
        return NEIGHBORS if self._settings.n_neighbors is None else self._settings.n_neighbors

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Cut the rows into blocks and find their neighbors, with distances in the length scales of this kernel."""
        if self.n_neighbors < 1:
            raise InputError(f"n_neighbors must be at least 1; got {self.n_neighbors!r}.")
        X = numbers(problem.X)
        points, k = X / column_steps(kernel, X), self.n_neighbors
        self._parts = blocks(points, max(1, k // 3), k, np.random.default_rng(self._settings.seed))
        self._n = problem.n

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """Return the log density of the product of conditionals, and its gradient."""
        if self._n != problem.n:
            self.prepare(problem, kernel, noise)
        local, d, t = _Local(kernel, problem.X), problem.variances(noise), problem.n_targets
        keep = gradient and 8 * sum(len(part.rows) ** 2 for part in self._parts) <= KEEP * self._settings.memory
        state = conditionals(self._parts, local.gram, problem.columns, d, keep=keep)
        fitted = profile(state.quadratic, t)
        value = log_evidence(fitted.energy, state.logdet, problem.n, t)
        if not gradient:
            return Evidence(value, jitter=state.jitter)
        combine = np.vstack([np.eye(t), -fitted.beta])
        found = conditional_gradient(self._parts, local.gram, local.pull, problem.columns, combine, d, state.factors)
        return Evidence(value, *found, jitter=state.jitter)

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> VecchiaPosterior:
        """Return the posterior: the rows, and the units of distance for this kernel."""
        self.prepare(problem, kernel, noise)
        X, d = numbers(problem.X), problem.variances(noise)
        state = conditionals(self._parts, _Local(kernel, problem.X).gram, problem.columns, d)
        steps = column_steps(kernel, X)
        return VecchiaPosterior(
            kernel, X, problem.columns, d, steps, 2 * self.n_neighbors, state.quadratic, state.logdet, state.jitter
        )


class _Local:
    """Small Gram matrices of chosen rows of one collection, which is encoded once, and their pullbacks."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self._kernel = kernel
        self._values = Evaluation(kernel, X)

    def gram(self, rows: Array) -> Array:  # (s,) -> (s, s)
        return np.asarray(self._pair(rows).block(self._kernel), dtype=np.float64)

    def pull(self, rows: Array, W: Array) -> Array:  # (s,), (s, s) -> (p,)
        return self._pair(rows).pullback(self._kernel, W)

    def _pair(self, rows: Array) -> Pair:
        encoded, whole = gather(self._values.pair.A, rows), slice(0, len(rows))
        return Pair(encoded, encoded, whole, whole, self._values.pair.compiled)


def numbers(X: Any) -> Array:
    """Return the rows as dense vectors, which distances need."""
    vectors = as_rows(X).vectors()
    if sp.issparse(vectors):
        raise InputError('solver="vecchia" searches for near rows and takes dense vectors only; use solver="inducing".')
    return np.asarray(vectors, dtype=np.float64)


def column_steps(kernel: Kernel, X: Array, rows: int = 16) -> Array:  # (n, d) -> (d,)
    """Return for every column the step that reduces the correlation from 1 to CORRELATION, or infinity.

    If the kernel has a length scale per column, these are the length scales up to a factor. The steps are computed from
    kernel values, by bisection and as the median over some rows, and exist for every kernel on vectors.
    """
    sample = X[np.linspace(0, len(X) - 1, min(rows, len(X))).astype(np.intp)]
    spread = np.ptp(X, axis=0)
    steps = np.full(X.shape[1], np.inf)
    for k in np.flatnonzero(spread > 0).tolist():
        low, high = 1e-6 * spread[k], 1e3 * spread[k]
        if _correlation(kernel, sample, k, high) > CORRELATION:
            continue
        for _ in range(40):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if _correlation(kernel, sample, k, middle) > CORRELATION else (low, middle)
        steps[k] = high
    if np.isfinite(steps).any():
        return steps
    return np.where(spread > 0, spread, 1.0)  # no step changes the kernel: use the range of each column


def _correlation(kernel: Kernel, sample: Array, column: int, step: float) -> float:
    moved = sample.copy()
    moved[:, column] += step
    products = np.asarray(kernel.diag(sample) * kernel.diag(moved), dtype=np.float64)
    values = np.asarray(kernel(sample, moved), dtype=np.float64).diagonal()
    return float(np.median(np.divide(values, np.sqrt(products), out=np.zeros_like(products), where=products > 0)))


@record()
@dataclass(frozen=True)
class VecchiaPosterior:
    """A zero-mean process whose value at a new row is conditioned on the nearest training rows."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "float (n, d)",
        "columns": "float (n, c)",
        "variances": "float (1,) >= 0 | float (n,) >= 0",
        "steps": "real (d,) > 0",
        "n_neighbors": "int > 0",
        "quadratic": "float (c, c)",
    }

    kernel: Kernel
    X: Array  # (n, d)
    columns: Array  # (n, t + q)
    variances: Array  # (1,) or (n,) the noise
    steps: Array  # (d,) units of the distances
    n_neighbors: int  # of a new row
    quadratic: Array  # (t + q, t + q)
    logdet: float
    jitter: float

    @cached_property
    def _tree(self) -> KDTree:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = self.X / self.steps
        if not np.isfinite(scaled).all():
            raise InputError("GaussianProcessRegressor: the training rows overflow in units of the length scales.")
        return KDTree(scaled)

    def mean(self, X: Any) -> Array:  # -> (m, t + q)
        """E f(x) given the rows near x."""
        return self.moments(X)[0]

    def variance(self, X: Any) -> Array:  # -> (m,)
        """var f(x) given the rows near x."""
        return self.moments(X)[1]

    def moments(self, X: Any) -> tuple[Array, Array]:  # -> (m, t + q), (m,)
        """Mean and variance together, from one small factor per row."""
        new = numbers(X)
        parts = [new[start : start + BATCH] for start in range(0, len(new), BATCH)]
        found = [local_posterior(self._near(one), self._joint(one), self.columns, self.variances) for one in parts]
        return np.concatenate([mean for mean, _ in found]), np.concatenate([variance for _, variance in found])

    def covariance(self, X: Any) -> Array:  # -> (m, m)
        """The covariance given the near rows of all new rows together."""
        new = numbers(X)
        near = np.unique(self._near(new))
        if len(near) > JOINT:
            raise InputError(
                f"the joint covariance of {len(new)} rows uses {len(near)} near rows, more than the limit of {JOINT}. "
                "Predict fewer rows at a time, or lower n_neighbors."
            )
        noise = np.broadcast_to(self.variances, (len(self.X),))[near]
        factor = cholesky(np.asarray(self.kernel(self.X[near]), dtype=np.float64), noise, overwrite=True)
        V = factor.whiten(np.asfortranarray(self.kernel(self.X[near], new), dtype=np.float64))
        return np.asarray(self.kernel(new), dtype=np.float64) - V.T @ V

    def _near(self, new: Array) -> Array:  # (m, d) -> (m, k)
        k = min(self.n_neighbors, len(self.X))
        distances, places = self._tree.query(new / self.steps, k=range(1, k + 1), workers=cpu_count())
        if not np.isfinite(distances).all():  # for an infinite distance the tree returns an index beyond the rows
            raise InputError(
                f"values up to {max(abs(new).max(), abs(self.X).max()):.1e} overflow when squared in units of the length "
                "scales; scale the columns."
            )
        return np.asarray(places)

    def _joint(self, new: Array) -> Callable[[int, Array], tuple[Array, Array, float]]:
        kernel = self.kernel
        train, fresh = align(kernel.encode(self.X), kernel.encode(new))
        prior = np.asarray(kernel.diag(new), dtype=np.float64)
        compiled = worth(len(self.X) ** 2, PER_VALUE)  # as in training: the same rows then have the same digits

        def joint(i: int, rows: Array) -> tuple[Array, Array, float]:
            near, one = gather(train, rows), gather(fresh, slice(i, i + 1))
            whole, first = slice(0, len(rows)), slice(0, 1)
            K = Pair(near, near, whole, whole, compiled).block(kernel)
            cross = Pair(one, near, first, whole).block(kernel)
            return np.asarray(K, dtype=np.float64), np.asarray(cross[0], dtype=np.float64), float(prior[i])

        return joint
