"""Assignment of rows to folds: equal rows together, by class, by group, by time, or by the number of the row alone."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError


def row_groups(X: Any) -> Indices:  # (n, d) -> (n,)
    """Return a number for every row, the same for equal rows of numbers or of objects.

    >>> row_groups(np.array([[2.0], [1.0], [2.0]])).tolist()
    [0, 1, 0]
    """
    rows = np.ascontiguousarray(X)
    if rows.dtype == object:
        keys = [tuple(map(repr, row)) for row in rows]
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    rows = rows + 0.0  # -0.0 and 0.0 are equal
    packed = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(packed, return_inverse=True)[1].astype(np.intp).reshape(-1)


def row_digests(X: Any) -> Array | None:  # (n rows) -> (n,) bytes
    """Return a digest of the content of each row; None for rows that hold neither numbers nor text."""
    if sp.issparse(X):
        parts = [(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr)]
        return np.array([blake2b(b"".join(part), digest_size=16).digest() for part in parts])
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
        return np.array([blake2b(row.tobytes(), digest_size=16).digest() for row in X + 0.0])
    if isinstance(X, list) and all(isinstance(item, str) for item in X):
        return np.array([blake2b(item.encode(), digest_size=16).digest() for item in X])
    return None


def random_folds(n: int, n_folds: int, rng: np.random.Generator) -> Indices:  # -> (n,)
    """Return the fold of every row: a random order, dealt to the folds in turn."""
    return np.asarray(rng.permutation(n) % n_folds)


def read_groups(groups: Any, n: int, name: str = "groups") -> Indices:  # (n,) labels -> (n,)
    """Return the number of the group of every row, from 0; raise unless there are n labels of at least two groups.

    >>> read_groups(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    labels = list(groups)
    if len(labels) != n:
        raise InputError(f"{name} has {len(labels)} labels for {n} rows of X; give the group of each row.")
    lost = next((row for row, label in enumerate(labels) if label is None or label != label), None)
    if lost is not None:
        raise InputError(f"{name} has no label at row {lost}; give each such row a group of its own, or leave it out.")
    numbers: dict[Any, int] = {}
    found = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)
    if len(numbers) < 2:
        raise InputError(f"{name} holds one group only, {labels[0]!r}; some groups have to be held out. Leave {name} out.")
    return found


def group_folds(
    groups: Indices, n_folds: int, rng: np.random.Generator, labels: Array | None = None
) -> Indices:  # (n,), (n,) -> (n,)
    """Return the fold of every row; the rows of a group, numbered from 0, share one.

    Groups in random order go to the smallest fold. With labels they are dealt out class by class, each to a fold with the
    fewest rows of its class (the class of its first row).

    >>> folds = group_folds(np.array([0, 0, 1, 2, 3]), 2, np.random.default_rng(0))
    >>> bool(folds[0] == folds[1]), sorted(set(folds.tolist()))
    (True, [0, 1])
    """
    first = np.unique(groups, return_index=True)[1]
    sizes = np.bincount(groups)
    order = rng.permutation(len(first))
    if labels is not None:
        order = order[np.argsort(labels[first[order]], kind="stable")]
    folds, counts = np.empty(len(first), dtype=np.intp), np.zeros(n_folds)
    if sizes.max() == 1:
        folds[order] = np.arange(len(order)) % n_folds
        return folds[groups]
    own = {} if labels is None else {label: np.zeros(n_folds) for label in np.unique(labels[first])}
    for group in order:
        of_class = own[labels[first[group]]] if labels is not None else counts
        # equal numbers of the class: the smaller fold, then a random one
        fold = int(np.lexsort((rng.random(n_folds), counts, of_class))[0])
        folds[group] = fold
        counts[fold] += sizes[group]
        if labels is not None:
            of_class[fold] += sizes[group]
    return folds[groups]


def class_folds(codes: Array, n_folds: int, seed: Any, X: Any = None) -> Array:  # (n,) -> (n,)
    """Return the fold of every row, each class spread evenly over the folds in random order; -1 stays -1.

    Equal rows of X share a fold, because a copy of a held-out row must not be in the training part. The order depends on
    the content of the rows, and not on their order or on the number of copies.
    """
    random = np.random.RandomState(seed) if isinstance(seed, (int, np.integer)) else seed
    names = None if X is None else row_digests(X)
    members = [np.flatnonzero(codes == c) for c in np.unique(codes[codes >= 0])]
    if names is not None and all(len(np.unique(names[own])) == 1 for own in members):
        names = None  # every class holds copies of one row only: they have to be spread
    out, shift = np.full(len(codes), -1), 0
    for own in members:
        place = np.arange(len(own)) if names is None else np.unique(names[own], return_inverse=True)[1]
        distinct = int(place.max()) + 1
        out[own] = ((random.permutation(distinct) + shift) % n_folds)[place]
        shift += distinct
    return out


def time_places(times: Array) -> Indices:  # (n,) -> (n,)
    """Return for every row how many rows are earlier; rows of equal time have the same number.

    >>> time_places(np.array([3.0, 1.0, 3.0, 2.0])).tolist()
    [2, 0, 2, 1]
    """
    times = np.asarray(times)
    return np.searchsorted(np.sort(times), times).astype(np.intp)


def time_blocks(places: Indices, n_blocks: int, first: float) -> Indices:  # (n,) -> (n,)
    """Return the block of time of every row, 0 for the last block; -1 for the earliest rows, a share `first` of all.

    `places` are those of `time_places`: rows of equal time share a block. Empty blocks are left out.

    >>> time_blocks(np.arange(6), 2, 1 / 3).tolist()
    [-1, -1, 1, 1, 0, 0]
    """
    share = (places / len(places) - first) / (1.0 - first)
    after = np.minimum((share + 1e-12) * n_blocks, n_blocks - 1).astype(np.intp)
    blocks = np.where(share < -1e-12, -1, n_blocks - 1 - after)
    known = np.unique(blocks[blocks >= 0])
    return np.where(blocks < 0, -1, np.searchsorted(known, blocks)).astype(np.intp)


def time_folds(times: Array, n_folds: int, gap: float = 0.0) -> list[tuple[Indices, Indices]]:  # (n,) -> (train, test)
    """Return the (train, test) rows of consecutive blocks of time, each predicted from the rows before it.

    Training rows are more than `gap` older than the first row of their test block. Rows of equal time share a block.

    >>> [(train.tolist(), test.tolist()) for train, test in time_folds(np.arange(6.0), 2, gap=1.0)]
    [([0], [2, 3]), ([0, 1, 2], [4, 5])]
    """
    times = np.asarray(times, dtype=np.float64)
    distinct = np.unique(times)
    if n_folds < 1 or len(distinct) <= n_folds or gap < 0:
        raise InputError(
            f"{n_folds} blocks of time need more than {n_folds} distinct times, and a gap >= 0; got {len(distinct)} times "
            f"and gap={gap:g}."
        )
    block = time_places(times) * (n_folds + 1) // len(times)  # 0 is the part that is only trained on
    found = []
    for fold in range(1, n_folds + 1):
        test = np.flatnonzero(block == fold)
        if len(test):
            train = np.flatnonzero((block < fold) & (times < times[test].min() - gap))
            if len(train):
                found.append((train, test))
    if not found:
        raise InputError(f"gap={gap:g} leaves no training rows before any block of time; choose a smaller gap.")
    return found


def uniform_by_number(seed: int, first: int, count: int) -> Floats:  # -> (count,)
    """Return numbers in [0, 1) for the rows first, first + 1, …: SplitMix64 of the seed and the number of the row.

    Every worker gets the same numbers without exchanging them.
    """
    with np.errstate(over="ignore"):
        z = np.arange(first + 1, first + 1 + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = _mixed(z + _mixed(np.array([seed], dtype=np.uint64) + np.uint64(1)))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
