"""Which rows of a new table are unlike those of a training table, with p-values that hold for any source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import betabinom

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.novelty.novelty_detector import NoveltyDetector
from mercer.estimators.tables.encoding import numbers_of
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column, like, noted, read_columns, some_rows
from mercer.inputs.tables import Table, time_text
from mercer.kernels.tables.frame import column_product

#: Training rows that are kept, at most; new rows scored at a time.
MOST_ROWS, PORTION = 4000, 5000

#: Columns named for one row.
NAMED = 3


@dataclass(frozen=True)
class NoveltyReport:
    """Scores of new rows; a row is novel where its p-value is at most the level."""

    pvalues: Floats  # (n,)
    distances: Floats  # (n,) how little the training rows explain of each row, minus its score
    level: float
    trained: int  # rows that are kept
    rows: int  # training rows
    reasons: tuple[str, ...]  # for each row that is novel, in order of `novel`
    notes: tuple[str, ...]

    @property
    def novel(self) -> Indices:
        """The novel rows, the most novel first."""
        order = np.lexsort((-self.distances, self.pvalues))
        return order[self.pvalues[order] <= self.level]

    @property
    def alarm(self) -> bool:
        """Whether there is more novelty than false alarms explain: too many rows, or one too far out for their number.

        Either happens with chance at most level / 2 if all rows are like the training rows. The number of false alarms is
        beta-binomial, since all rows are held against one sample; single rows are judged by Benjamini and Hochberg's rule.
        """
        n, count = len(self.pvalues), len(self.novel)
        k = int(np.floor(self.level * (self.trained + 1)))
        if k < 1 or count == 0:
            return False
        many = float(betabinom.sf(count - 1, n, k, self.trained + 1 - k)) <= self.level / 2
        ranks = np.arange(1, n + 1) / n
        single = bool((np.sort(self.pvalues) <= ranks * self.level / 2).any())
        return many or single


def novelty(train: Table, new: Table, *, level: float = 0.05, seed: int = 0, names: tuple[str, str]) -> NoveltyReport:
    """Score the rows of a new table against a training table, with a kernel over its columns.

    p = (1 + #{training rows that the others explain as little}) / (m + 1): for a row of the same source P(p <= a) <= a.
    """
    rng = np.random.default_rng(seed)
    rows = len(train)
    picked = np.sort(rng.choice(rows, min(rows, MOST_ROWS), replace=False))
    columns = noted(read_columns(train[picked], names[0]))
    used = [column for column in columns if not column.note]
    notes = [f"{column.name!r} is not looked at: {column.note}" for column in columns if column.note]
    if len(picked) < rows:
        notes.append(f"{len(picked):,} of {rows:,} rows of {names[0]} stand for it, drawn by the seed")
    if not used:
        raise InputError(f"{names[0]}: no column says anything: {'; '.join(notes)}.")
    lacking = [column.name for column in used if column.name not in new.columns]
    if lacking:
        raise InputError(f"{names[1]} has no column {lacking[0]!r}, which {names[0]} has.")
    now = like(read_columns(new[[column.name for column in used]], names[1]), used, names[1])
    places: dict[str, int | str] = {column.name: i for i, column in enumerate(used)}
    model = NoveltyDetector(column_product(used, places), max_rows=MOST_ROWS).fit(_cells(used))
    strange = np.any([column.holes & ~known.holes.any() for column, known in zip(now, used, strict=True)], axis=0)
    pvalues, distances = _scored(model, [_filled(column, known) for column, known in zip(now, used, strict=True)])
    pvalues[strange] = 1.0 / (len(picked) + 1)  # a hole where there never was one
    found = NoveltyReport(pvalues, distances, level, len(picked), rows, (), tuple(notes))
    reasons = tuple(_reason(used, now, int(row)) for row in found.novel)
    return NoveltyReport(pvalues, distances, level, len(picked), rows, reasons, tuple(notes))


def _filled(new: Column, known: Column) -> Column:
    """New cells with some training cell in holes that the kernel has no rule for."""
    if known.holes.any() or not new.holes.any():
        return new
    if isinstance(new.cells, np.ndarray):
        return replace(new, cells=np.where(new.holes, known.cells[0], new.cells), holes=np.zeros_like(new.holes))
    cells = [known.cells[0] if hole else cell for cell, hole in zip(new.cells, new.holes, strict=True)]
    return replace(new, cells=cells, holes=np.zeros_like(new.holes))


def _cells(columns: list[Column]) -> Any:  # -> (n, d)
    if all(column.kind == NUMBER for column in columns):
        return np.column_stack([column.cells for column in columns])
    out = np.empty((len(columns[0].holes), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        for i, cell in enumerate(column.cells.tolist() if isinstance(column.cells, np.ndarray) else column.cells):
            out[i, j] = cell
    return out


def _scored(model: NoveltyDetector, new: list[Column]) -> tuple[Floats, Floats]:
    n = len(new[0].holes)
    pvalues, distances = np.empty(n), np.empty(n)
    for low in range(0, n, PORTION):
        part = np.arange(low, min(n, low + PORTION))
        cells = _cells(some_rows(new, part))
        pvalues[part], distances[part] = model.pvalues(cells), -model.score_samples(cells)
    return pvalues, distances


def _reason(train: list[Column], new: list[Column], row: int) -> str:
    """The columns in which a row is least usual, with its cells."""
    found = []
    for known, now in zip(train, new, strict=True):
        rarity, words = _rarity(known, now, row)
        found.append((rarity, known.name, words))
    found.sort(key=lambda one: one[0])
    return ", ".join(f"{name} {words}" for rarity, name, words in found[:NAMED] if rarity <= 0.2)


def _rarity(known: Column, new: Column, row: int) -> tuple[float, str]:
    """The share of training cells that are as unusual, and the cell in words."""
    if new.holes[row]:
        return float(known.holes.mean()), "missing"
    if known.kind in (NUMBER, DATE, ORDERED):
        values, one = numbers_of(known), numbers_of(some_rows([new], np.array([row]))[0])[0]
        here = values[~np.isnan(values)]
        tail = 2.0 * min(float(np.mean(here <= one)), float(np.mean(here >= one)))
        cell = new.cells[row]
        return tail, f"{one:.4g}" if known.kind == NUMBER else time_text(cell) if known.kind == DATE else str(cell)
    if known.kind == CATEGORY:
        cell = new.cells[row]
        cells = known.observed()
        return cells.count(cell) / max(1, len(cells)), f"{cell}"
    return 1.0, ""
