"""A table of mixed columns as what kernels take: vectors where all cells are there, else numbered columns of objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.inputs.tables import as_days
from mercer.kernels.tables.frame import PERIODS
from mercer.registry import record

#: Categories beyond the most frequent ones share a column, together with those unseen in training.
LEVELS = 30

#: Ranks are pulled in so far from 0 and 1, which bounds normal quantiles by 3.1.
EDGE = 1e-3


@record()
@dataclass(frozen=True)
class Scale:
    """How one column of numbers is put on a common scale, by the training rows alone.

    standard: (x - center) / spread. quantile: the normal quantile of the rank, by interpolation between `knots`.
    """

    _stored: ClassVar[dict[str, str]] = {
        "rule": "word standard quantile",
        "center": "float",
        "spread": "float",
        "knots": "float (k,)",
        "ranks": "float (k,)",
    }

    rule: str  # "standard" or "quantile"
    center: float
    spread: float
    knots: Floats  # (k,) different training values, for quantiles
    ranks: Floats  # (k,) their normal quantiles

    def __call__(self, values: Floats) -> Floats:
        """Scaled values; holes stay holes."""
        if self.rule == "standard":
            return (values - self.center) / self.spread
        scaled = np.interp(values, self.knots, self.ranks)
        return np.where(np.isnan(values), np.nan, scaled)


def scale_of(values: Floats, rule: str) -> Scale:
    """The scale of a column, holes left out."""
    here = values[~np.isnan(values)]
    plain = standard_scale(float(here.mean()), float(here.std()))
    if rule == "standard":
        return plain
    knots, counts = np.unique(here, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2.0) / len(here)
    ranks = ndtri(np.clip(middle, EDGE, 1.0 - EDGE))
    mean = float(counts @ ranks) / len(here)
    deviation = float(np.sqrt(max(counts @ (ranks - mean) ** 2 / len(here), 1e-12)))
    return Scale(rule, plain.center, plain.spread, knots, (ranks - mean) / max(deviation, 1e-3))


def standard_scale(center: float, spread: float) -> Scale:
    """The scale of a mean and a standard deviation; a column of equal numbers is moved and not stretched."""
    known = spread if spread > 1e-12 * max(abs(center), 1e-300) else 1.0
    return Scale("standard", center, known, np.empty(0), np.empty(0))


@record()
@dataclass(frozen=True)
class Block:
    """How one column becomes some columns of a matrix."""

    _stored: ClassVar[dict[str, str]] = {
        "name": "text",
        "kind": f"word {NUMBER} {CATEGORY} {ORDERED} {DATE}",
        "scale": "None | a Scale",
        "periods": "each _: float",
    }

    name: str
    kind: str
    scale: Scale | None
    levels: tuple[Any, ...]
    periods: tuple[float, ...]

    def _check_loaded(self) -> None:
        if self.kind != CATEGORY and self.scale is None:
            raise InputError(f"column {self.name!r} of {self.kind}s has no scale; the file is damaged or was changed.")

    def names(self) -> list[str]:
        """The names of the columns it makes."""
        if self.kind == CATEGORY:
            return [f"{self.name}={level}" for level in self.levels] + [f"{self.name}=other"]
        turns = [f"{self.name} {word} {period:g} d" for period in self.periods for word in ("cos", "sin")]
        return [self.name, *turns]

    def __call__(self, column: Column) -> Floats:  # -> (n, width)
        """The columns of a matrix for new cells."""
        if column.holes.any():
            row = int(np.argmax(column.holes))
            raise InputError(
                f"column {self.name!r} has a missing cell at row {row}, but had none in training, so that the model has no "
                "rule for it. Fit on a table with such holes, or fill them."
            )
        if self.kind == CATEGORY:
            return _one_hot(column.cells, self.levels)
        assert self.scale is not None
        values = numbers_of(column)
        turns = [wave(2.0 * np.pi * values / period) for period in self.periods for wave in (np.cos, np.sin)]
        return np.column_stack([self.scale(values), *turns])


def numbers_of(column: Column) -> Floats:  # -> (n,)
    """Numbers, ranks of ordered levels, or days; NaN in holes."""
    if column.kind == NUMBER:
        return np.asarray(column.cells, dtype=np.float64)
    if column.kind == ORDERED:
        rank = {level: float(i) for i, level in enumerate(column.levels)}
        unknown = [cell for cell in column.cells if cell is not None and cell not in rank]
        if unknown:
            raise InputError(f"column {column.name!r} holds {unknown[0]!r}, which is none of its ordered levels.")
        return np.array([np.nan if cell is None else rank[cell] for cell in column.cells])
    days = np.full(len(column.holes), np.nan)
    days[~column.holes] = as_days(column.observed(), column.name)[:, 0]
    return days


def _one_hot(cells: list[Any], levels: tuple[Any, ...]) -> Floats:
    place = {level: i for i, level in enumerate(levels)}
    out = np.zeros((len(cells), len(levels) + 1))
    out[np.arange(len(cells)), [place.get(cell, len(levels)) for cell in cells]] = 1.0
    return out


def block_of(column: Column, rule: str) -> Block:
    """The block of one column without holes."""
    if column.kind == CATEGORY:
        counts: dict[Any, int] = {}
        for cell in column.cells:
            counts[cell] = counts.get(cell, 0) + 1
        return Block(column.name, CATEGORY, None, common_levels(counts), ())
    values = numbers_of(column)
    periods: tuple[float, ...] = ()
    if column.kind == DATE:
        periods = periods_of(float(np.nanmax(values) - np.nanmin(values)), bool(np.any(values != np.floor(values))))
    return Block(column.name, column.kind, scale_of(values, rule), (), periods)


def common_levels(counts: Mapping[Any, int]) -> tuple[Any, ...]:
    """The levels that get a column of their own, the most frequent first."""
    return tuple(sorted(counts, key=lambda cell: (-counts[cell], repr(cell)))[:LEVELS])


def periods_of(span: float, times: bool) -> tuple[float, ...]:
    """The periods that dates can show over a span in days; that of one day only where they have times of the day."""
    return tuple(p for p in PERIODS if span >= 2.0 * p and (p > 1.0 or times))


@record()
@dataclass(frozen=True)
class Encoding:
    """The blocks of all columns that are complete and have a place in a vector."""

    _stored: ClassVar[dict[str, str]] = {"blocks": "each _: a Block"}

    blocks: tuple[Block, ...]

    @property
    def names(self) -> list[str]:
        """The names of the matrix columns."""
        return [name for block in self.blocks for name in block.names()]

    @property
    def origins(self) -> list[str]:
        """For every matrix column the table column that it comes from."""
        return [block.name for block in self.blocks for _ in block.names()]

    def __call__(self, columns: dict[str, Column]) -> Floats:  # -> (n, width)
        """The matrix of new rows."""
        return np.column_stack([block(columns[block.name]) for block in self.blocks])


def encoding_of(columns: list[Column], rule: str) -> Encoding:
    """Blocks for complete numbers, categories, ordered levels and dates."""
    return Encoding(tuple(block_of(column, rule) for column in columns))


@record()
@dataclass(frozen=True)
class Numbered:
    """A table with holes, text or graphs as numbered columns of objects: numbers scaled, everything else as it is."""

    _stored: ClassVar[dict[str, str]] = {"names": "each _: text"}

    names: tuple[str, ...]
    scales: dict[str, Scale]

    def _check_loaded(self) -> None:
        for name, scale in self.scales.items():
            if not isinstance(scale, Scale) or name not in self.names:
                raise InputError(f"the scale of column {name!r} fits no column; the file is damaged or was changed.")

    @property
    def origins(self) -> list[str]:
        """For every matrix column the table column that it comes from."""
        return list(self.names)

    def __call__(self, columns: dict[str, Column]) -> Any:  # -> (n, width), floats where every column is a number
        """The table of new rows."""
        found: list[Any] = []
        for name in self.names:
            column = columns[name]
            found.append(self.scales[name](numbers_of(column)) if name in self.scales else column.cells)
        if len(self.scales) == len(self.names):
            return np.column_stack(found)
        out = np.empty((len(columns[self.names[0]].holes), len(found)), dtype=object)
        for place, cells in enumerate(found):
            for row, cell in enumerate(cells):
                out[row, place] = cell
        return out


def numbered(columns: list[Column], rule: str = "quantile") -> Numbered:
    """Numbers and ordered levels scaled by a rule, dates as days, the rest as it is."""
    scaled = [column for column in columns if column.kind in (NUMBER, ORDERED)]
    scales = {column.name: scale_of(numbers_of(column), rule) for column in scaled}
    days = Scale("standard", 0.0, 1.0, np.empty(0), np.empty(0))
    scales |= {column.name: days for column in columns if column.kind == DATE}
    return Numbered(tuple(column.name for column in columns), scales)
