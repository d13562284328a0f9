"""Search for points at which a function fails to be a kernel, and for simple ones among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import gcd
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, describe
from mercer.kernels.base import Kernel
from mercer.numeric.threads import one_blas_thread
from mercer.validity.points import POINTS_SEED, Collection, generated, given, nodes
from mercer.validity.proofs import outline
from mercer.validity.witness import CounterExample, confirm, confirm_asymmetry, values

Chosen = tuple[int, ...]

#: Violations, in units of the diagonal, below which nothing is tried: that is rounding.
FLOOR = 1e-12

#: Factors of points at which a term is known to fail: inside an exponential it shows only far out.
STRETCHES = (1.0, 2.0**10, 2.0**20)

#: Candidates of one collection and one size that are checked rigorously.
ATTEMPTS = 3

#: No new evaluation starts after this many seconds: for slow functions only, all built-in kernels need far less.
SECONDS = 5.0

#: Triples are looked through among this many points of a collection: all of a generated one.
TRIPLE_POINTS = 45

#: Moves downhill: points at a time, starts, steps and proposals per step.
SIZES, STARTS, STEPS, PROPOSALS = (1, 2, 3, 5), 2, 10, 8


@dataclass
class CounterExampleSearch:
    """One search, with the values computed so far and the numbers of tried points."""

    kernel: Kernel
    seen: list[tuple[Collection, Floats]] = field(default_factory=list)
    n_points: int = 0
    n_moves: int = 0
    started: float = field(default_factory=time.monotonic)

    def run(self, families: list[list[Collection]]) -> CounterExample | None:
        """Search the first family of points that the kernel can read, after the points that its terms name themselves."""
        known = self._weak() if families and families[0] and families[0][0].free else None
        if known is not None:
            return known
        for family in families:
            for collection in family:
                self._evaluate(collection)
            if self.seen:
                break
        self._curvature()
        phases = [self._ones, self._twos, self._asymmetries, self._threes, self._many]
        for phase in phases:
            for collection, S in self.seen:
                found = phase(collection, S)
                if found is not None:
                    return found
        return self._downhill()

    def describe(self) -> str:
        """Description of what was tried."""
        if not self.seen:
            if self.kernel.given:
                return "its values are given; check the matrix itself with check_gram(K)"
            return "no points were found at which it can be computed; give some, find_counterexample(k, X)"
        words = list(dict.fromkeys(collection.words for collection, _ in self.seen))
        listed = "; ".join(words if len(words) <= 6 else [*words[:5], f"{len(words) - 5} kinds more"])
        text = f"{self.n_points} points were tried, one, two, three and many at a time ({listed})"
        moved = f", and sets of up to {max(SIZES)} points were moved downhill {self.n_moves} times"
        return text + (moved if self.n_moves else "")

    def _weak(self) -> CounterExample | None:
        """Try the points at which a term is known to fail: alone, against their mirror images, and farther out."""
        for node in nodes(self.kernel):
            parts = node.weak_points()
            for stretch in STRETCHES if parts is not None else ():
                far = _widened(np.asarray(parts) * stretch, self.kernel.width())
                pairs = np.vstack([far[:1], -far[:1]])
                simple = [near for near in rounded(far[:1]) if near.any()]
                tries = [(near, np.ones(1)) for near in simple]
                tries += [(far, np.ones(len(far))), (pairs, np.array([1.0, -1.0])), (pairs, np.ones(2))]
                found = next((f for points, c in tries if (f := confirm(self.kernel, points, c)) is not None), None)
                if found is not None:
                    self.n_points += len(found.vector)
                    return found
        return None

    # -- values ------------------------------------------------------------------------------------------------------

    def _late(self) -> bool:
        return time.monotonic() - self.started > SECONDS

    def _evaluate(self, collection: Collection) -> None:
        if self._late():
            return
        K = values(self.kernel, collection.points)
        if K is None:  # some points may be outside its domain; keep those that are not
            fine = [i for i in range(len(collection)) if not self._late() and self._alone(collection, i)]
            if not 0 < len(fine) < len(collection):
                return
            collection = collection.take(fine)
            K = values(self.kernel, collection.points)
        if K is not None:
            self.seen.append((collection, K))
            self.n_points += len(K)

    def _alone(self, collection: Collection, i: int) -> bool:
        return values(self.kernel, collection.take([i]).points) is not None

    def _curvature(self) -> None:
        """Add the directions in which k(x, x) bends down most: for x'Bz, the eigenvectors of B."""
        width = self.kernel.width()
        free = [c for c, _ in self.seen if c.free]
        if width is None or width > 60 or not free:
            return
        units = np.eye(width)
        pairs = [(i, j) for i in range(width) for j in range(i, width)]
        at = np.vstack([np.zeros((1, width)), units, [units[i] + units[j] for i, j in pairs]])
        try:
            q = np.asarray(self.kernel.diag(at), dtype=np.float64)
        except Exception:  # as in `values`: user-defined functions may raise anything
            return
        H = np.zeros((width, width))
        for (i, j), both in zip(pairs, q[1 + width :], strict=True):
            H[i, j] = H[j, i] = both - q[1 + i] - q[1 + j] + q[0]
        if np.isfinite(H).all():
            directions = np.linalg.eigh(H)[1].T
            directions = directions / np.abs(directions).max(axis=1, keepdims=True)
            near = np.vstack([np.round(directions[:8], 1), directions]) + 0.0
            self._evaluate(Collection(near, "directions in which k(x, x) bends down", free=True))

    # -- one, two, three, many ---------------------------------------------------------------------------------------

    def _ones(self, collection: Collection, K: Floats) -> CounterExample | None:
        diag = np.diagonal(K)
        return self._first(collection, K, -diag, [(i,) for i in range(len(K))], floor=0.0, clear=1e-3)

    def _twos(self, collection: Collection, K: Floats) -> CounterExample | None:
        R = scaled(K)
        j, i = np.tril_indices(len(R), -1)  # pairs of early points come first
        a, b, d = R[i, i], R[i, j], R[j, j]
        low = (a + d) / 2 - np.hypot((a - d) / 2, b)
        return self._first(collection, K, -low, list(zip(i.tolist(), j.tolist(), strict=True)))

    def _asymmetries(self, collection: Collection, K: Floats) -> CounterExample | None:
        if self.kernel.symmetric:
            return None
        gap = K.T - K  # > 0 where k(x_i, x_j) < k(x_j, x_i)
        pairs: list[Chosen] = sorted(np.ndindex(K.shape), key=max)
        gaps = np.array([gap[pair] for pair in pairs]) / np.abs(K).max(initial=1e-300)
        for pair in _most_violated(gaps, pairs, FLOOR, clear=1e-3):
            chosen = collection.take(list(pair))
            found = confirm_asymmetry(self.kernel, chosen.points)
            if found is not None:
                return _by_number(found, chosen)
        return None

    def _threes(self, collection: Collection, K: Floats) -> CounterExample | None:
        R = scaled(K)[:TRIPLE_POINTS, :TRIPLE_POINTS]
        if len(R) < 3:
            return None
        triples: list[Chosen] = sorted(combinations(range(len(R)), 3), key=max)
        i, j, k = np.array(triples).T
        a, b, c = R[i, j], R[i, k], R[j, k]
        # no pair fails here, so at most one eigenvalue is below 0, and the determinant tells
        det = R[i, i] * (R[j, j] * R[k, k] - c * c) - a * (a * R[k, k] - b * c) + b * (a * c - b * R[j, j])
        return self._first(collection, K, -det, triples)

    def _many(self, collection: Collection, K: Floats) -> CounterExample | None:
        low, _ = lowest(K)
        if low > -FLOOR * len(K):
            return None
        chosen = reduced(K)
        return self._settle(collection.take(chosen), K[np.ix_(chosen, chosen)], np.abs(K[chosen]).max())

    def _first(
        self,
        collection: Collection,
        K: Floats,
        violation: Floats,
        sets: list[Chosen],
        floor: float = FLOOR,
        clear: float = 0.3,
    ) -> CounterExample | None:
        for chosen in _most_violated(violation, sets, floor, clear):
            block, scale = K[np.ix_(chosen, chosen)], np.abs(K[list(chosen)]).max()
            found = self._settle(collection.take(list(chosen)), block, scale)
            if found is not None:
                return found
        return None

    # -- from a suspicion to a counter-example -----------------------------------------------------------------------

    def _settle(self, chosen: Collection, K: Floats, scale: float) -> CounterExample | None:
        """Try simple points and a simple vector first, then what was found as it is."""
        for points, block in self._simpler(chosen, K):
            low, v = lowest(block)
            if low >= 0.0:
                continue
            for c in simple_vectors(v, block):
                if self._late():
                    return None
                found = confirm(self.kernel, points, c, scale)
                if found is not None:
                    return _by_number(found, chosen)
        return None

    def _simpler(self, chosen: Collection, K: Floats) -> Iterator[tuple[Any, Floats]]:
        if chosen.free:
            low, _ = lowest(K)
            for points in rounded(chosen.points):
                block = values(self.kernel, points)
                if block is not None and lowest(block)[0] <= 0.3 * low:
                    yield points, block
                    break
        yield chosen.points, K

    # -- downhill ----------------------------------------------------------------------------------------------------

    def _downhill(self) -> CounterExample | None:
        rng = np.random.default_rng(POINTS_SEED)
        free = [(c, K) for c, K in self.seen if c.free and c.words.startswith("random")]
        widths = {c.points.shape[1] for c, _ in free}
        starts = [next((c, K) for c, K in free if c.points.shape[1] == w) for w in sorted(widths)]
        for size in SIZES:
            for collection, K in starts:
                for _ in range(STARTS if len(K) >= size else 0):
                    if self._late():
                        return None
                    found = self._descend(collection.points[_start(K, size, rng)], rng)
                    if found is not None:
                        return found
        return None

    def _descend(self, points: Floats, rng: np.random.Generator) -> CounterExample | None:
        """Move all points at random, keep the best proposal, and stop as soon as it is a counter-example."""
        self.n_moves += 1
        size, width = points.shape
        step, best = 0.5, np.inf
        for _ in range(STEPS):
            moves = step * (1.0 + np.abs(points)) * rng.normal(size=(PROPOSALS, size, width))
            proposals = points + moves
            K = values(self.kernel, proposals.reshape(-1, width))
            if K is None:
                return None
            blocks = [K[s : s + size, s : s + size] for s in range(0, len(K), size)]
            # a single point has no correlations: its own value has to fall
            lows = [float(block[0, 0]) if size == 1 else lowest(block)[0] for block in blocks]
            i = int(np.argmin(lows))
            if lows[i] < (0.0 if size == 1 else -100 * FLOOR):
                scale = float(np.abs(K[i * size : (i + 1) * size]).max())
                found = self._settle(Collection(proposals[i], "moved points", free=True), blocks[i], scale)
                if found is not None:
                    return found
            if lows[i] < best:
                points, best, step = proposals[i], lows[i], step * 1.5
            else:
                step /= 2.0
        return None


def _widened(points: Floats, width: int | None) -> Floats:
    """Return the points with zeros in further columns, which other terms need."""
    return np.pad(points, ((0, 0), (0, max(0, (width or 0) - points.shape[1]))))


def _start(K: Floats, size: int, rng: np.random.Generator) -> list[int]:
    """Return the random subset with the smallest eigenvalue, of a few."""
    subsets = [sorted(rng.choice(len(K), size, replace=False).tolist()) for _ in range(20)]
    worth: Callable[[list[int]], float] = partial(_low_of, K)
    return min(subsets, key=worth)


def _low_of(K: Floats, chosen: list[int]) -> float:
    return lowest(K[np.ix_(chosen, chosen)])[0]


def _most_violated(violation: Floats, sets: list[Chosen], floor: float, clear: float) -> list[Chosen]:
    """Return the first clear violation, because simple points come first, and then the largest violations."""
    worst = violation.max(initial=0.0)
    if not worst > floor:
        return []
    first = int(np.flatnonzero(violation >= clear * worst)[0])
    order = [first, *np.argsort(-violation)[:ATTEMPTS].tolist()]
    return [sets[i] for i in dict.fromkeys(order) if violation[i] > 0.0][:ATTEMPTS]


def _by_number(found: CounterExample, chosen: Collection) -> CounterExample:
    return found if chosen.rows is None else replace(found, points=list(chosen.rows))


def find_counterexample(kernel: Kernel, X: Any = None) -> CounterExample | None:
    """Return points and a vector c with c'Kc < 0, or points with k(x, z) != k(z, x), or None.

    Single points are tried first, k(x, x) < 0, then pairs, k(x, z)^2 > k(x, x) k(z, z), then larger sets: points of X
    (a sample of a few hundred if X is larger), or points generated where the kernel lives. A kernel with a proof by the
    closure rules has none, so none is sought. What is found has been checked in exact or interval arithmetic where the
    kernel has a formula. For Python functions -c'Kc must exceed 100 n eps max|K| ||c||^2 and a multiple of the rounding
    noise of the function, which is measured by disturbing each of its operations. The search uses a fixed seed.

    >>> from mercer import Gaussian, Tanh
    >>> find_counterexample(Gaussian()) is None
    True
    >>> found = find_counterexample(Tanh(scale=1.0, offset=1.0))
    >>> len(found.points), found.value < 0, found.kind
    (2, True, 'interval')
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"find_counterexample takes a kernel; got {describe(kernel)}. For a function f(X, Z): Function(f).")
    if outline(kernel).proven:
        return None
    return search(kernel, X)[0]


def search(kernel: Kernel, X: Any = None) -> tuple[CounterExample | None, str]:
    """Search without looking for a proof first; return the counter-example, or None, and a description of the search."""
    if X is not None:
        kernel = kernel.resolve(X)
    if kernel.unresolved:
        raise InputError(
            f'{kernel} still has length_scale="median": which function it is depends on data. '
            "Give them, find_counterexample(k, X), or call k.resolve(X) first."
        )
    looking = CounterExampleSearch(kernel)
    with one_blas_thread():  # thousands of tiny matrices: a second thread only waits
        found = looking.run([given(X, kernel)] if X is not None else generated(kernel))
    return found, looking.describe()


#: Denominators tried for the entries of c: (1, -2, 1) reads better than (0.41, -0.82, 0.41).
MULTIPLES = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def scaled(K: Floats) -> Floats:
    """D S D with S the symmetric part of K and a diagonal near 1: psd exactly when S is, but free of its scale."""
    S = K / 2.0 + K.T / 2.0  # a sum of values near the largest float would overflow
    diag = np.abs(np.diagonal(S))
    root = np.sqrt(np.maximum(diag, max(1e-10 * np.abs(S).max(initial=0.0), 1e-300)))
    return S / np.outer(root, root)


def lowest(K: Floats) -> tuple[float, Floats]:
    """The smallest eigenvalue of the scaled matrix, and the vector c that makes c'Kc negative if it is."""
    S = K / 2.0 + K.T / 2.0
    eigenvalues, vectors = np.linalg.eigh(scaled(K))
    root = np.sqrt(np.maximum(np.abs(np.diagonal(S)), max(1e-10 * np.abs(S).max(initial=0.0), 1e-300)))
    return float(eigenvalues[0]), vectors[:, 0] / root


def reduced(K: Floats) -> list[int]:
    """Return a small set of points that still has a clearly negative eigenvalue."""
    low, v = lowest(K)
    order = np.argsort(-np.abs(v * np.sqrt(np.abs(np.diagonal(K)))))
    chosen = order.tolist()
    for size in (4, 6, 8, 12, 16, 24, 40):
        part = order[:size].tolist()
        if lowest(K[np.ix_(part, part)])[0] < 0.1 * low:
            chosen = part
            break
    while len(chosen) > 1:
        shorter = [[i for i in chosen if i != j] for j in chosen]
        lows = [lowest(K[np.ix_(part, part)])[0] for part in shorter]
        best = int(np.argmin(lows))
        if lows[best] >= 0.1 * low:
            break
        chosen = shorter[best]
    return sorted(chosen)


def simple_vectors(v: Floats, K: Floats) -> Iterator[Floats]:
    """Vectors of small whole numbers near v with c'Kc clearly below 0, the simplest first, and then v itself."""
    if not np.isfinite(v).all() or not v.any():  # values at the end of the range of floats
        return
    v = v / np.abs(v).max()
    v = v if v[np.flatnonzero(v)[0]] > 0 else -v
    target = 0.3 * _rayleigh(v, K)
    tried = 0
    for q in MULTIPLES:
        c = np.rint(q * v)
        if (c == 0).any():  # a point with weight 0 is not needed
            continue
        c = c / gcd(*[int(x) for x in c])
        if _rayleigh(c, K) < target:
            yield c
            tried += 1
        if tried == 2:
            break
    yield np.round(v, 3) if (np.round(v, 3) != 0).all() else v
    yield v


def _rayleigh(c: Floats, K: Floats) -> float:
    """c'Kc in units of the diagonal."""
    size = float(np.abs(np.diagonal(K)) @ c**2) or float(np.abs(K).max(initial=0.0) * (c @ c)) or 1.0
    return float(c @ K @ c) / size


def rounded(points: Floats) -> Iterator[Floats]:
    """Return the points with few decimals, if they are still different points."""
    for decimals in (0, 1, 2, 3):
        near = np.round(points, decimals) + 0.0
        if len(np.unique(near, axis=0)) == len(points):
            yield near
