"""Views of a fitted table model: partial dependence, influential rows, and the spectrum of its Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.ridge import errors_of
from mercer.inputs import Rows
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column

#: Partial dependence: values of a column, levels of a category at most, and rows of the mean.
VALUES, LEVELS, ROWS = 16, 8, 60

#: New rows at which the influence of training rows is measured, at most.
MEASURED = 200

#: Rows of the sample whose matrix is decomposed, and of the sample on which errors near the chosen point are computed.
SAMPLED, DRAWN = 600, 300

#: Multiples of the chosen length scales and of the chosen penalty.
SCALES, PENALTIES = 2.0 ** np.arange(-4.0, 5.0), 10.0 ** np.arange(-3.0, 3.5)


@dataclass(frozen=True)
class Curve:
    """The mean prediction over rows at every value of a column, and the middle 80 % of the rows; one output."""

    name: str
    kind: str
    values: tuple[Any, ...]  # numbers, days or levels
    mean: Floats  # (v,)
    low: Floats
    high: Floats


def dependence(columns: list[Column], name: str, predict: Callable[[list[Column]], Floats]) -> list[Curve]:
    """Return the curves of all outputs (n, t) over one column; none for text, graphs and constant columns."""
    place = next(i for i, column in enumerate(columns) if column.name == name)
    column = columns[place]
    values = _values(column)
    if len(values) < 2:
        return []
    n = len(column.holes)
    rows = _repeated(columns, len(values))
    cells: list[Any] = [value for value in values for _ in range(n)]
    rows[place] = replace(
        rows[place],
        cells=np.array(cells, dtype=np.float64) if column.kind == NUMBER else cells,
        holes=np.zeros(len(cells), dtype=bool),
    )
    found = predict(rows).reshape(len(values), n, -1)
    low, high = np.quantile(found, [0.1, 0.9], axis=1)
    mean = found.mean(axis=1)
    return [Curve(name, column.kind, values, mean[:, t], low[:, t], high[:, t]) for t in range(found.shape[2])]


def _repeated(columns: list[Column], times: int) -> list[Column]:
    return [
        replace(
            column,
            cells=np.tile(column.cells, times) if isinstance(column.cells, np.ndarray) else list(column.cells) * times,
            holes=np.tile(column.holes, times),
        )
        for column in columns
    ]


def _values(column: Column) -> tuple[Any, ...]:
    here = column.observed()
    if len(here) == 0:
        return ()
    if column.kind == NUMBER:
        return tuple(np.unique(np.quantile(here, np.linspace(0.02, 0.98, VALUES))).tolist())
    if column.kind == DATE:
        ordered = sorted(here)
        return tuple(dict.fromkeys(ordered[i] for i in np.linspace(0, len(ordered) - 1, VALUES).round().astype(int)))
    if column.kind in (CATEGORY, ORDERED):
        counts: dict[Any, int] = {}
        for cell in here:
            counts[cell] = counts.get(cell, 0) + 1
        common = sorted(counts, key=lambda cell: (-counts[cell], repr(cell)))[:LEVELS]
        return tuple(level for level in column.levels if level in common) if column.levels else tuple(common)
    return ()


@dataclass(frozen=True)
class Influence:
    """One training row: its position in the training table, and its share of the sum over all rows."""

    row: int
    share: float


def influences(members: tuple[Member, ...], new: dict[str, Rows], most: int = 10) -> list[Influence]:
    """Return the training rows that add most to the predictions at new rows, as shares of what all rows add.

    The part of row i is the mean over new rows of |a_i k(x_i, x)|, summed over the members with their weights. A member with
    landmarks has parts for its landmarks only.
    """
    total: dict[int, float] = {}
    whole = 0.0
    for member in members:
        model = member.model
        Z = new[member.scaling].take(slice(0, MEASURED))
        values = np.asarray(model.kernel(Z, model.X))
        parts = np.abs(values).mean(axis=0) * np.abs(model.dual).mean(axis=1)  # (n,)
        scale = member.weight * float(np.mean(member.transform.spread))
        whole += scale * float(parts.sum())
        order = np.argsort(-parts, kind="stable")[: 4 * most]
        for i, place in zip(order.tolist(), model.numbers()[order].tolist(), strict=True):
            total[place] = total.get(place, 0.0) + scale * float(parts[i])
    best = sorted(total, key=lambda row: (-total[row], row))[:most]
    return [Influence(row, total[row] / whole if whole > 0 else 0.0) for row in best]


@dataclass(frozen=True)
class GramSpectrum:
    """Spectrum and similarity of the kernel of the heaviest member on m of n rows."""

    rows: int  # m
    of: int  # n
    eigenvalues: Floats  # (m,) of K / m, largest first
    penalty: float  # alpha / n, on the same scale
    similarity: float  # median of k(x, z) / sqrt(k(x, x) k(z, z)) over pairs of different rows

    @property
    def dimension(self) -> float:
        """Effective dimension, sum_i l_i / (l_i + alpha / n)."""
        return float(np.sum(self.eigenvalues / (self.eigenvalues + self.penalty)))


@dataclass(frozen=True)
class Neighborhood:
    """Leave-one-out errors near the chosen point, (scales, penalties), on a sample, in standard deviations of y."""

    rows: int
    errors: Floats


def spectrum(member: Member, Z: Rows, n: int) -> GramSpectrum:  # (m, d) encoded rows
    """Return the spectrum of a member's kernel on some of its n training rows."""
    K = np.asarray(member.model.kernel(Z), dtype=np.float64)
    m = len(K)
    values = np.maximum(la.eigvalsh(K, check_finite=False)[::-1], 0.0) / m
    root = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
    alike = (K / np.multiply.outer(root, root))[np.triu_indices(m, 1)]
    return GramSpectrum(m, n, values, member.model.alpha / n, float(np.median(alike)) if m > 1 else 1.0)


def neighborhood(member: Member, rows: Rows, Y: Floats, n: int) -> Neighborhood | None:  # (m, d), (m, t)
    """Return errors at multiples of the length scales and of the penalty; None if rows are not vectors.

    For a stationary kernel, k(x / c, z / c) has c times the length scales. The penalty of m of n rows is alpha m / n.
    """
    Z = rows.data
    if Z.dtype.kind != "f" or not np.isfinite(Z).all():
        return None
    if "stationary" not in member.model.kernel.certificate().facts:
        return None
    targets = member.transform.forward(Y)
    spread = float(np.sqrt(np.mean((targets - targets.mean(axis=0)) ** 2))) or 1.0
    alphas = member.model.alpha * len(Z) / n * PENALTIES
    errors = [
        errors_of(np.asarray(member.model.kernel(Rows.computed(Z / c)), dtype=np.float64), targets, alphas) for c in SCALES
    ]
    return Neighborhood(len(Z), np.sqrt(np.array(errors)) / spread)
