"""Blocks of nearby rows, each with its nearest earlier rows: the graph of a Vecchia approximation.

Rows are cut into blocks by halving the widest column again and again. Blocks stand in farthest-first order, so that early
ones spread over the data and every later one has earlier rows on all sides (Guinness 2018 finds such orders far better
than sorted ones). A block is conditioned on the earlier rows nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.numeric.threads import cpu_count

#: Up to this many blocks are put in farthest-first order, which takes their number squared; more are shuffled.
FARTHEST = 8192


@dataclass(frozen=True)
class Block:
    """Rows that are predicted together, given earlier rows."""

    given: Array  # (k,) row numbers, all in earlier blocks
    targets: Array  # (g,) row numbers

    @property
    def rows(self) -> Array:  # -> (k + g,)
        """The given rows, then the targets."""
        return np.concatenate([self.given, self.targets])


def blocks(X: Array, size: int, n_neighbors: int, rng: np.random.Generator | None = None) -> list[Block]:  # (n, d)
    """Cut rows into blocks of at most ``size`` and give each its ``n_neighbors`` nearest earlier rows.

    Every row is a target once; the first block is given nothing. With one row per block and n_neighbors >= n - 1 each row
    is given all earlier ones, and nothing is approximated.

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
    return [Block(rows[before], cell) for before, cell in zip(given, cells, strict=True)]


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
    """Start near the middle, then always take the point farthest from those taken."""
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
    """For each center the k nearest of the first starts[b] rows, all of them where there are no more.

    One tree serves all blocks up to twice its own beginning, so at least about half of what it finds is early enough;
    where too few are, the search is widened.
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
