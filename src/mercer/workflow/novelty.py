"""Novelty of the rows of a new table against a training table, with p-values valid for any distribution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.novelty.novelty_detector import NoveltyDetector, found_among
from mercer.inputs.frames import DATE, NUMBER, Column, like, noted, read_columns, some_rows
from mercer.inputs.tables import Table, time_text
from mercer.kernels.base import Kernel
from mercer.kernels.tables.frame import column_product
from mercer.workflow.question import listed

#: Training rows that are kept, at most; new rows scored at a time.
MOST_ROWS, PORTION = 4000, 5000

#: Columns named for one row, the smallest share of a column that is named, and rows that are explained.
NAMED, NAMED_SHARE, EXPLAINED = 3, 0.1, 1000

#: Characters of a cell that are shown.
LETTERS = 30


@dataclass(frozen=True)
class NoveltyReport:
    """Scores of new rows. A row is novel if its p-value is at most the level, or by control of false discoveries."""

    pvalues: Floats  # (n,)
    distances: Floats  # (n,) how little the training rows explain of each row, minus its score
    known: Floats  # (trained,) the same of the training rows that are kept, each without itself
    level: float
    rows: int  # training rows
    notes: tuple[str, ...]
    discoveries: bool = False  # the level is the expected share of false alarms among the novel rows
    columns: tuple[str, ...] = ()
    shares: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (explained, columns) of the first novel rows
    reasons: tuple[str, ...] = ()  # for each row that is novel, in order of `novel`

    @property
    def trained(self) -> int:
        """The number of training rows that are kept."""
        return len(self.known)

    @property
    def is_novel(self) -> NDArray[np.bool_]:  # (n,)
        """Whether each row is novel."""
        return found_among(self.pvalues, self.level) if self.discoveries else self.pvalues <= self.level

    @property
    def novel(self) -> Indices:
        """The novel rows, the most novel first."""
        order = np.lexsort((-self.distances, self.pvalues))
        return order[self.is_novel[order]]

    @property
    def alarm(self) -> bool:
        """Whether there are more novel rows than false alarms explain, or one is too novel for their number.

        Each of the two has a probability of at most level / 2 if all rows are like the training rows. The number of false
        alarms is beta-binomial, because all rows are compared with one sample; single rows are judged by the rule of
        Benjamini and Hochberg.
        With control of false discoveries every row that is found is an alarm.
        """
        n, count = len(self.pvalues), len(self.novel)
        if self.discoveries:
            return count > 0
        k = int(np.floor(self.level * (self.trained + 1)))
        if k < 1 or count == 0:
            return False
        many = float(betabinom.sf(count - 1, n, k, self.trained + 1 - k)) <= self.level / 2
        ranks = np.arange(1, n + 1) / n
        single = bool((np.sort(self.pvalues) <= ranks * self.level / 2).any())
        return many or single


def novelty(
    train: Table, new: Table, *, level: float = 0.05, discoveries: bool = False, seed: int = 0, names: tuple[str, str]
) -> NoveltyReport:
    """Score the rows of a new table against a training table.

    p = (1 + #{training rows that the others explain as little}) / (m + 1): for a row of the same source P(p <= a) <= a.
    Tables of numbers get the default kernel of NoveltyDetector, mixed ones a kernel over their columns.
    """
    train, unshared = _shared(train, new, names)
    rng = np.random.default_rng(seed)
    rows = len(train)
    picked = np.sort(rng.choice(rows, min(rows, MOST_ROWS), replace=False))
    columns = noted(read_columns(train[picked], names[0]))
    used = [column for column in columns if not column.note]
    notes = unshared + [f"{column.name!r} is not looked at: {column.note}" for column in columns if column.note]
    if len(picked) < rows:
        notes.append(f"{len(picked):,} of {rows:,} rows of {names[0]} stand for it, drawn by the seed")
    if not used:
        raise InputError(f"{names[0]}: no usable columns: {'; '.join(notes)}.")
    now = like(read_columns(new[[column.name for column in used]], names[1]), used, names[1])
    model = NoveltyDetector(_kernel(used), max_rows=MOST_ROWS).fit(_cells(used))
    strange = np.any([column.holes & ~known.holes.any() for column, known in zip(now, used, strict=True)], axis=0)
    filled = [_filled(column, known) for column, known in zip(now, used, strict=True)]
    pvalues, distances = _scored(model, filled)
    pvalues[strange] = 1.0 / (len(picked) + 1)  # a hole where there never was one
    titles = tuple(column.name for column in used)
    found = NoveltyReport(
        pvalues, distances, -model.loo_scores_, level, rows, tuple(notes), discoveries=discoveries, columns=titles
    )
    explained = found.novel[:EXPLAINED]
    shares = model.column_shares(_cells(some_rows(filled, explained))) if len(explained) else np.empty((0, len(used)))
    reasons = [_reason(used, now, int(row), share) for row, share in zip(explained, shares, strict=True)]
    reasons += [f"not among the first {EXPLAINED:,} rows"] * (len(found.novel) - len(explained))
    return replace(found, shares=shares, reasons=tuple(reasons))


def _shared(train: Table, new: Table, names: tuple[str, str]) -> tuple[Table, list[str]]:
    """Return the training columns that the new table has too, and a note on the others, such as the target."""
    shared = [name for name in train.columns if name in new.columns]
    if not shared:
        raise InputError(f"{names[0]} and {names[1]} have no column in common; give tables with the same columns.")
    lacking = [name for name in train.columns if name not in new.columns]
    return train[shared], [f"only {names[0]} has {listed(lacking)}"] if lacking else []


def _kernel(columns: list[Column]) -> Kernel | None:
    """Return the kernel over the columns, or None for numbers without holes: the detector has a default for them."""
    if all(column.kind == NUMBER and not column.holes.any() for column in columns):
        return None
    places: dict[str, int | str] = {column.name: i for i, column in enumerate(columns)}
    return column_product(columns, places)


def _filled(new: Column, known: Column) -> Column:
    """Return new cells; a training cell fills each hole that the kernel has no rule for."""
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


def _reason(train: list[Column], new: list[Column], row: int, shares: Floats) -> str:
    """Return the columns with the largest shares in the distance of a row to known rows, with its cells."""
    missing = [now.holes[row] and not known.holes.any() for known, now in zip(train, new, strict=True)]
    order = sorted(range(len(new)), key=lambda j: (not missing[j], -shares[j]))[:NAMED]
    named = [j for j in order if missing[j] or shares[j] >= NAMED_SHARE]
    return ", ".join(
        f"{new[j].name} {_cell(new[j], row)}" + ("" if missing[j] else f" ({100 * shares[j]:.0f} %)") for j in named
    )


def _cell(column: Column, row: int) -> str:
    cell = column.cells[row]
    if column.holes[row]:
        return "missing"
    if column.kind == NUMBER:
        return f"{cell:.4g}"
    words = time_text(cell) if column.kind == DATE else str(cell)
    return words if len(words) <= LETTERS else words[: LETTERS - 1] + "…"
