"""Weights of the rows of a table: copies of a row are one row with the sum of their weights.

A row of weight 2 and two copies of it are thereby the same fit. Rows are merged if they agree in every cell, in the target
and in the group. Rows with equal cells and often different targets are repeated measurements, which show the noise: such
tables keep all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.inputs.frames import Column

#: Rows of equal cells are copies if at least this share of their pairs agrees in the target.
AGREE = 0.95


@dataclass(frozen=True)
class WeightedRows:
    """The rows of a fit by their numbers in the table, and their weights with mean 1; None if all are equal."""

    kept: Indices  # (k,)
    weights: Floats | None  # (k,)
    total: int  # rows of positive weight
    rank: Indices  # (k,) the place of each row in an order by content

    def take(self, order: Indices) -> WeightedRows:  # (k,)
        """Return the rows in another order."""
        weights = None if self.weights is None else self.weights[order]
        return WeightedRows(self.kept[order], weights, self.total, self.rank[order])

    @property
    def copies(self) -> int:
        """Number of rows that were merged with an equal one."""
        return self.total - len(self.kept)


def read_weights(name: str, sample_weight: Any, n: int) -> Floats:  # -> (n,)
    """Return one finite weight >= 0 per row; ones if there are none."""
    if sample_weight is None:
        return np.ones(n)
    try:
        values = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: sample_weight must be numbers, one per row; got {sample_weight!r:.60}.") from None
    values = np.full(n, float(values)) if values.ndim == 0 else values
    if values.shape != (n,):
        raise InputError(f"{name}: sample_weight.shape == {values.shape}, expected ({n},)! Give one weight per row of X.")
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{name}: sample_weight must hold finite numbers >= 0; it is {values[row]:g} at row {row}.")
    if not values.any():
        raise InputError(f"{name}: every sample_weight is zero; no row is left to fit. Leave sample_weight out.")
    return values


def weighted_rows(
    columns: Sequence[Column], target: Array, weights: Floats, groups: Indices | None, fewest: int, merge: bool = True
) -> WeightedRows:  # (n,), (n,), (n,)
    """Return the rows of positive weight, copies merged unless fewer than `fewest` rows would remain.

    >>> x = Column("x", "number", np.array([1.0, 2.0, 1.0, 4.0]), np.zeros(4, dtype=bool))
    >>> found = weighted_rows([x], np.array([5.0, 6.0, 5.0, 7.0]), np.ones(4), None, 3)
    >>> found.kept.tolist(), found.weights.tolist()
    ([0, 1, 3], [1.5, 0.75, 0.75])
    """
    kept = np.flatnonzero(weights > 0)
    found, total, rank = weights[kept], len(kept), np.arange(len(kept))
    if merge:
        cells = equal_cells(columns, kept)
        whole = _joint(cells, _numbers(target[kept]))
        whole = whole if groups is None else _joint(whole, groups[kept])
        _, first, number = np.unique(whole, return_index=True, return_inverse=True)
        if fewest <= len(first) < len(kept) and _are_copies(cells, number.reshape(-1), found):
            sums: Floats = np.bincount(number.reshape(-1), weights=found).astype(np.float64)
            order = np.argsort(first)
            kept, found, rank = kept[first[order]], sums[order], order
        else:
            rank = number.reshape(-1)
    equal = bool(np.all(found == found[0]))
    return WeightedRows(kept, None if equal else found / found.mean(), total, rank)


def _are_copies(cells: Indices, whole: Indices, weights: Floats) -> bool:  # (n,), (n,), (n,)
    """Return whether rows of equal cells agree in the target, counted in pairs of rows."""

    def pairs(numbers: Indices) -> float:
        counts = np.bincount(numbers, weights=weights)
        return float(np.sum(np.maximum(counts * (counts - 1.0), 0.0)))

    return pairs(whole) >= AGREE * pairs(cells)


def equal_cells(columns: Sequence[Column], rows: Indices) -> Indices:  # (m,) -> (m,)
    """Return a number for each of some rows, the same for rows with equal cells in every column."""
    found = np.zeros(len(rows), dtype=np.intp)
    for column in columns:
        found = _joint(found, _numbers(column.take(rows).cells))
        if len(rows) and int(found.max()) + 1 == len(rows):
            break  # all rows differ
    return found


def _joint(a: Indices, b: Indices) -> Indices:  # (n,), (n,) -> (n,)
    pairs = a.astype(np.int64) * (int(b.max(initial=0)) + 1) + b
    return np.unique(pairs, return_inverse=True)[1].astype(np.intp).reshape(-1)


def _numbers(cells: Any) -> Indices:  # -> (n,)
    """Return a number for every cell, the same for equal cells; graphs are equal only to themselves."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        return np.unique(cells, return_inverse=True)[1].astype(np.intp).reshape(-1)
    keys = [_key(cell) for cell in cells]
    place = {key: i for i, key in enumerate(sorted(set(keys), key=repr))}
    return np.array([place[key] for key in keys], dtype=np.intp)


def _key(cell: Any) -> Any:
    if isinstance(cell, list):
        return tuple(cell)
    try:
        hash(cell)
    except TypeError:
        return id(cell)
    return cell
