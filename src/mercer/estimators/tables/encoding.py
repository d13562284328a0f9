"""Encodings of a table for kernels: vectors with filled cells, and numbered columns of objects.

Numbers, categories, ordered levels and dates become vectors. A missing cell gets the training median, or an own level for
categories, with a further column that marks it if training had missing cells there. Tables with missing cells, text, graphs
or categories of many levels are numbered columns as well, for kernels by column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, TEXT, Column
from mercer.inputs.tables import as_days
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.tables.frame import PERIODS
from mercer.registry import record

#: The scaling of numbered columns.
COLUMNS = "columns"

#: Categories beyond the most frequent ones share a column, together with those unseen in training.
LEVELS = 30

#: Kinds of columns that become vectors.
VECTORS = (NUMBER, CATEGORY, ORDERED, DATE)

#: Texts whose principal components are taken, components of all text columns together, and of each at least.
SAMPLED_TEXTS, COMPONENTS, FEWEST_COMPONENTS = 300, 12, 2

#: Ranks are clipped to this distance from 0 and 1, which bounds normal quantiles by 3.1.
EDGE = 1e-3


@record()
@dataclass(frozen=True)
class Scale:
    """The scale of one column of numbers, estimated from the training rows.

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
        """Return scaled values; NaN stays NaN."""
        if self.rule == "standard":
            return (values - self.center) / self.spread
        scaled = np.interp(values, self.knots, self.ranks)
        return np.where(np.isnan(values), np.nan, scaled)


def scale_of(values: Floats, rule: str) -> Scale:
    """Return the scale of a column from its observed values."""
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
    """Return the standard scale of a mean and a standard deviation; equal numbers are centered and not divided."""
    known = spread if spread > 1e-12 * max(abs(center), 1e-300) else 1.0
    return Scale("standard", center, known, np.empty(0), np.empty(0))


@record("Block")
@dataclass(frozen=True)
class ColumnBlock:
    """The matrix columns that one table column becomes."""

    _stored: ClassVar[dict[str, str]] = {
        "name": "text",
        "kind": f"word {NUMBER} {CATEGORY} {ORDERED} {DATE}",
        "scale": "None | a Scale",
        "periods": "each _: float",
        "fill": "None | float",
    }

    name: str
    kind: str
    scale: Scale | None
    levels: tuple[Any, ...]  # None is the level of missing cells
    periods: tuple[float, ...]
    fill: float | None = None  # replaces missing cells; None: the mean
    marked: bool = False  # a further column marks missing cells
    trend: bool = True  # dates: False if only the periods are used

    def _check_loaded(self) -> None:
        if self.kind != CATEGORY and self.scale is None:
            raise InputError(f"column {self.name!r} of {self.kind}s has no scale; the file is damaged or was changed.")

    def names(self) -> list[str]:
        """Return the names of the matrix columns."""
        if self.kind == CATEGORY:
            known = [f"{self.name} missing" if level is None else f"{self.name}={level}" for level in self.levels]
            return [*known, f"{self.name}=other"]
        turns = [f"{self.name} {word} {period:g} d" for period in self.periods for word in ("cos", "sin")]
        return [*([self.name] if self.trend else []), *turns, *([f"{self.name} missing"] if self.marked else [])]

    def __call__(self, column: Column) -> Floats:  # -> (n, width)
        """Return the matrix columns of new cells."""
        if self.kind == CATEGORY:
            return _one_hot(column.cells, self.levels)
        assert self.scale is not None
        values = numbers_of(column)
        values[column.holes] = self.scale.center if self.fill is None else self.fill
        turns = [wave(2.0 * np.pi * values / period) for period in self.periods for wave in (np.cos, np.sin)]
        holes = [column.holes.astype(np.float64)] if self.marked else []
        return np.column_stack([*([self.scale(values)] if self.trend else []), *turns, *holes])


def numbers_of(column: Column) -> Floats:  # -> (n,)
    """Return numbers, ranks of ordered levels, or days; NaN for missing cells."""
    if column.kind == NUMBER:
        return np.array(column.cells, dtype=np.float64)
    if column.kind == ORDERED:
        rank = {level: float(i) for i, level in enumerate(column.levels)}
        unknown = [cell for cell in column.cells if cell is not None and cell not in rank]
        if unknown:
            raise InputError(f"column {column.name!r} holds {unknown[0]!r}, which is not one of its ordered levels.")
        return np.array([np.nan if cell is None else rank[cell] for cell in column.cells])
    days = np.full(len(column.holes), np.nan)
    days[~column.holes] = as_days(column.observed(), column.name)[:, 0]
    return days


def _one_hot(cells: list[Any], levels: tuple[Any, ...]) -> Floats:
    place = {level: i for i, level in enumerate(levels)}
    out = np.zeros((len(cells), len(levels) + 1))
    out[np.arange(len(cells)), [place.get(cell, len(levels)) for cell in cells]] = 1.0
    return out


def block_of(column: Column, rule: str, trend: bool = True) -> ColumnBlock:
    """Return the block of one column; without `trend`, dates are their periods alone."""
    if column.kind == CATEGORY:
        counts: dict[Any, int] = {}
        for cell in column.cells:
            counts[cell] = counts.get(cell, 0) + 1
        return ColumnBlock(column.name, CATEGORY, None, common_levels(counts), ())
    values = numbers_of(column)
    periods: tuple[float, ...] = ()
    if column.kind == DATE:
        here = values[~column.holes]
        periods = periods_of(float(np.ptp(here)), bool(np.any(here != np.floor(here))))
    return ColumnBlock(
        column.name, column.kind, scale_of(values, rule), (), periods, float(np.nanmedian(values)),
        bool(column.holes.any()), column.kind != DATE or trend or not periods,
    )  # fmt: skip


def common_levels(counts: Mapping[Any, int]) -> tuple[Any, ...]:
    """Return the levels that get a matrix column each, most frequent first."""
    return tuple(sorted(counts, key=lambda cell: (-counts[cell], repr(cell)))[:LEVELS])


def periods_of(span: float, times: bool) -> tuple[float, ...]:
    """Return the periods visible in dates over a span in days; one day only if the dates have times."""
    return tuple(p for p in PERIODS if span >= 2.0 * p and (p > 1.0 or times))


@record()
@dataclass(frozen=True)
class TextBlock:
    """The matrix columns of a text column: principal components of its substring counts, in the units of the first."""

    _stored: ClassVar[dict[str, str]] = {"name": "text", "components": "a DualFunction"}

    name: str
    components: DualFunction
    kind: ClassVar[str] = TEXT

    def names(self) -> list[str]:
        """Return the names of the matrix columns."""
        return [f"{self.name} {i + 1}" for i in range(self.components.dual.shape[1])]

    def __call__(self, column: Column) -> Floats:  # -> (n, k), 0 for missing cells: the mean
        """Return the matrix columns of new cells."""
        out = np.zeros((len(column.holes), self.components.dual.shape[1]))
        here = np.flatnonzero(~column.holes)
        if len(here):
            out[here] = self.components.predict([column.cells[i] for i in here])
        return out


@record()
@dataclass(frozen=True)
class Encoding:
    """Blocks of the columns of a table that hold no graphs: rows become vectors."""

    _stored: ClassVar[dict[str, str]] = {"blocks": "each _: a ColumnBlock, TextBlock"}

    blocks: tuple[ColumnBlock | TextBlock, ...]

    @property
    def names(self) -> list[str]:
        """Names of the matrix columns."""
        return [name for block in self.blocks for name in block.names()]

    @property
    def origins(self) -> list[str]:
        """Table column of each matrix column."""
        return [block.name for block in self.blocks for _ in block.names()]

    def __call__(self, columns: dict[str, Column]) -> Floats:  # -> (n, width)
        """Return the matrix of new rows."""
        return np.column_stack([block(columns[block.name]) for block in self.blocks])


def encoding_of(
    columns: list[Column], rule: str, trend: bool = True, texts: Mapping[str, TextBlock] | None = None
) -> Encoding:
    """Return the encoding of numbers, categories, ordered levels and dates, and of the text columns in `texts`."""
    known = {} if texts is None else texts
    blocks = [
        known[column.name] if column.name in known else block_of(column, rule, trend)
        for column in columns
        if column.kind in VECTORS or column.name in known
    ]
    return Encoding(tuple(blocks))


def text_blocks(columns: list[Column]) -> dict[str, TextBlock]:
    """Return the blocks of the text columns by name; without a block if their texts have nothing in common."""
    own = [column for column in columns if column.kind == TEXT]
    found = {}
    for column in own:
        block = text_block(column, max(FEWEST_COMPONENTS, COMPONENTS // len(own)))
        if block is not None:
            found[column.name] = block
    return found


def text_block(column: Column, most: int) -> TextBlock | None:
    """Return kernel principal components of some texts of a column, under the normalized counts of short substrings."""
    kernel = Spectrum(3, shortest=1).normalized()
    texts = [cell for cell in {_text_key(cell): cell for cell in column.observed()}.values() if len(cell)]
    if len(texts) < 2:
        return None
    sample = [texts[i] for i in np.linspace(0, len(texts) - 1, min(SAMPLED_TEXTS, len(texts))).astype(np.intp)]
    K = np.asarray(kernel(sample), dtype=np.float64)
    center = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - center - center[:, None] + center.mean())
    count = min(most, int(np.sum(values > 1e-6 * max(values[-1], 1e-300))))
    if values[-1] <= 1e-12 or not count:
        return None
    V = vectors[:, ::-1][:, :count]  # sum to zero, so that centering the sample's side is done
    dual = V / np.sqrt(values[::-1][:count]) * np.sqrt(len(sample) / values[-1])
    return TextBlock(column.name, DualFunction(kernel, sample, dual, -(center @ dual)))


def _text_key(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell


@record()
@dataclass(frozen=True)
class Numbered:
    """Numbered columns of a table: numbers are scaled, other cells unchanged.

    Kernels have a rule for the missing cells of columns that had some in training; in other columns they are filled.
    """

    _stored: ClassVar[dict[str, str]] = {"names": "each _: text"}

    names: tuple[str, ...]
    scales: dict[str, Scale]
    fills: dict[str, Any] = field(default_factory=dict)  # by columns without missing cells in training

    def _check_loaded(self) -> None:
        for name, scale in self.scales.items():
            if not isinstance(scale, Scale) or name not in self.names:
                raise InputError(f"there is a scale for {name!r}, which is no column; the file is damaged or was changed.")
        for name, fill in self.fills.items():
            if name not in self.names or (name in self.scales and not isinstance(fill, float)):
                raise InputError(f"there is no fill for {name!r} that fits it; the file is damaged or was changed.")

    @property
    def origins(self) -> list[str]:
        """Table column of each matrix column."""
        return list(self.names)

    def __call__(self, columns: dict[str, Column]) -> Any:  # -> (n, width), floats if every column is numeric
        """Return the table of new rows."""
        found: list[Any] = []
        for name in self.names:
            column = columns[name]
            if name in self.scales:
                values = numbers_of(column)
                values[column.holes] = self.fills.get(name, np.nan)
                found.append(self.scales[name](values))
            else:
                found.append([self.fills.get(name) if cell is None else cell for cell in column.cells])
        if len(self.scales) == len(self.names):
            return np.column_stack(found)
        out = np.empty((len(columns[self.names[0]].holes), len(found)), dtype=object)
        for place, cells in enumerate(found):
            for row, cell in enumerate(cells):
                out[row, place] = cell
        return out


def numbered(columns: list[Column], rule: str = "quantile") -> Numbered:
    """Return numbered columns: numbers and ordered levels scaled by a rule, dates as days, other cells unchanged."""
    scaled = [column for column in columns if column.kind in (NUMBER, ORDERED)]
    scales = {column.name: scale_of(numbers_of(column), rule) for column in scaled}
    days = Scale("standard", 0.0, 1.0, np.empty(0), np.empty(0))
    scales |= {column.name: days for column in columns if column.kind == DATE}
    fills = {column.name: _typical(column) for column in columns if not column.holes.any()}
    return Numbered(tuple(column.name for column in columns), scales, fills)


def _typical(column: Column) -> Any:
    """Return the median of a column of numbers, otherwise its most frequent cell."""
    if column.kind in (NUMBER, ORDERED, DATE):
        return float(np.median(numbers_of(column)))
    cells = column.observed()
    if column.kind != CATEGORY:
        return cells[0]
    counts = Counter(cells)
    return min(counts, key=lambda cell: (-counts[cell], repr(cell)))


Encoder = Encoding | Numbered


def encoders_of(columns: list[Column], trend: bool = True) -> dict[str, Encoder]:
    """Return the encoders of a table by scaling: "standard" and "quantile" vectors, and "columns" of a mixed table."""
    found: dict[str, Encoder] = {}
    if any(column.kind in VECTORS for column in columns):
        texts = text_blocks(columns)
        found = {rule: encoding_of(columns, rule, trend, texts) for rule in ("standard", "quantile")}
    if any(column.holes.any() or column.kind not in VECTORS or many_levels(column) for column in columns):
        found[COLUMNS] = numbered(columns)
    return found


def many_levels(column: Column) -> bool:
    """Return whether a category has levels that share a matrix column."""
    return column.kind == CATEGORY and len(set(column.observed())) > LEVELS


def encode(encoders: Mapping[str, Encoder], columns: list[Column]) -> dict[str, Rows]:
    """Return the rows of some columns in each scaling; kernels check and encode them once."""
    table = {column.name: column for column in columns}
    return {rule: Rows(encoder(table)) for rule, encoder in encoders.items()}
