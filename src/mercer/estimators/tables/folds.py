"""Folds in which equal rows stay together, so that no row is judged by its own copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array, Indices


def row_groups(X: Any) -> Indices:  # (n, d) -> (n,)
    """The same number for equal rows."""
    rows = np.ascontiguousarray(X)
    if rows.dtype == object:
        keys = [tuple(map(repr, row)) for row in rows]
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    rows = rows + 0.0  # -0.0 and 0.0 are equal
    packed = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(packed, return_inverse=True)[1].astype(np.intp).reshape(-1)


def assign(groups: Indices, n_folds: int, rng: np.random.Generator, labels: Array | None = None) -> Indices:  # (n,) -> (n,)
    """The fold of every row: groups are dealt out at random, by class where labels are given, to the smallest fold."""
    first = np.unique(groups, return_index=True)[1]
    sizes = np.bincount(groups)
    order = rng.permutation(len(first))
    if labels is not None:
        order = order[np.argsort(labels[first[order]], kind="stable")]
    folds, counts = np.empty(len(first), dtype=np.intp), np.zeros(n_folds)
    if sizes.max() == 1:
        folds[order] = np.arange(len(order)) % n_folds
        return folds[groups]
    for group in order:
        fold = int(np.argmin(counts + rng.random(n_folds) * 0.5))
        folds[group] = fold
        counts[fold] += sizes[group]
    return folds[groups]
