"""A table in files whose rows stay where they are read: what its columns are, and the few rows that are brought here."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables.encoding import Encoding
from mercer.estimators.tables.result import ColumnNote
from mercer.estimators.tables.targets import CODES, NONE, Transform, transform_of
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs.chunks import Chunks
from mercer.inputs.frames import CATEGORY, NUMBER, Column
from mercer.inputs.tables import Table
from mercer.workflow.chunk_columns import MOST_LEVELS, ColumnFacts, TableFacts, part_facts
from mercer.workflow.chunk_parts import (
    EncodedPart,
    Reading,
    TypedPart,
    as_source,
    bytes_of,
    class_names,
    lengths_of,
    names_in,
    table_parts,
)
from mercer.workflow.chunk_split import FEWEST, FITTED, Roll, draw_for
from mercer.workflow.columns import CLASSIFICATION, REGRESSION, decide, dropped, learned_from, listed
from mercer.workflow.settings import Settings, Wish


class ChunkedTable:
    """The parts of a table, which rows are for what, and how they are read; `passes` counts how often they were.

    Parameters
    ----------
    client : a dask.distributed Client whose workers read; None reads here
    rows : rows of one part; if not given, parts of 64 MB, or smaller ones that keep all workers busy
    """

    def __init__(self, wish: Wish, settings: Settings, client: Any = None, rows: int | None = None) -> None:
        self.wish, self.settings, self._client = wish, settings, client
        threads = 1 if client is None else max(1, sum(client.nthreads().values()))
        parts = table_parts(wish.data, None, threads, rows)
        drop = dropped(names_in(parts), wish.drop)
        self.names = learned_from(wish.name, names_in(parts), wish.target, drop, wish.id)
        self.dropped = drop
        wanted = (*self.names, wish.target, *([wish.id] if wish.id else []))
        self.parts = [TypedPart(replace(part.load, columns=wanted)) for part in parts]
        self.lengths, self.bytes = lengths_of(self.parts), bytes_of(self.parts)
        self._rows = ChunkedRows.opened(as_source(self.parts, self.lengths, client), "table", None, "")
        self._look()

    def _look(self) -> None:
        """One pass: what the columns are, and which rows are for what."""
        wish = self.wish
        draw = draw_for(sum(self.lengths), len(self.names) + 2, self.settings.holdout, self.settings.seed)
        starts = Roll(draw, self.lengths, [None] * len(self.lengths)).starts
        shared = (draw, self.names, wish.target, wish.drop_missing)
        found = [part for part in self._rows.map(part_facts, *shared, each=starts) if part is not None]
        self.facts: TableFacts = reduce(TableFacts.plus, [facts for facts, _ in found])
        if self.facts.kept < FEWEST:
            raise InputError(
                f"{wish.name}: {self.facts.kept:,} rows can be learned from, and a cluster takes at least {FEWEST}; leave "
                "--scheduler out."
            )
        self.roll = Roll(draw, self.lengths, [bits for _, bits in found])
        self.task, self.reason = self._task()
        self.classes = self._classes() if self.task == CLASSIFICATION else None
        used = self._used()
        columns = tuple(Column(c.name, c.kind, [], np.empty(0, dtype=bool)) for c in used)
        encoding = Encoding(tuple(column.block() for column in used))
        self.reading = Reading(
            draw, tuple(self.names), columns, encoding, wish.target, self._transform(), self.classes, wish.drop_missing
        )

    # -- what the columns are ----------------------------------------------------------------------------------------

    def _task(self) -> tuple[str, str]:
        target, asked, facts = self.wish.target, self.wish.task, self.facts.target
        if facts.values is not None:
            return decide(target, facts.values.keys(), self.facts.kept, asked)
        if facts.kind == NUMBER and asked != CLASSIFICATION:
            many = f"the target has more than {MOST_LEVELS:,} different numbers"
            return REGRESSION, many if asked == "auto" else "as asked"
        raise InputError(
            f"the target {target!r} has more than {MOST_LEVELS:,} different values: too many for classes. "
            + ("Use --task regression." if facts.kind == NUMBER else "Choose another column.")
        )

    def _classes(self) -> Array:
        facts = self.facts.target
        assert facts.values is not None and facts.in_fit is not None
        lacking = [value for value in facts.values if value not in facts.in_fit]
        if lacking:
            raise InputError(
                f"the class {lacking[0]!r} of {self.wish.target!r} has {facts.values[lacking[0]]} of {self.facts.kept:,} "
                "rows, and all of them are held out; take another --seed, or leave the class out of the data."
            )
        return class_names(list(facts.values))

    def _used(self) -> list[ColumnFacts]:
        """The columns that say something; what workers have no rule for is an error that says what to do."""
        used = [column for column in self.facts.columns if not column.note(self.facts.kept)]
        for column in used:
            if column.holes:
                raise InputError(
                    f"{self.wish.name}: the column {column.name!r} has {column.holes:,} missing cells, for which there is "
                    "no rule with --scheduler; leave out such rows (--drop-missing) or the column (--drop), fill the cells, "
                    "or leave --scheduler out."
                )
            if column.levels is None:
                raise InputError(
                    f"{self.wish.name}: the column {column.name!r} holds more than {MOST_LEVELS:,} different words, too "
                    f"many for categories; leave it out (--drop {column.name!r}), or call it the id of the rows (--id)."
                )
        if not used:
            said = "; ".join(f"{c.name!r} is {c.note(self.facts.kept)}" for c in self.facts.columns[:6])
            raise InputError(f"{self.wish.name}: no column says anything: {said}.")
        return used

    def _transform(self) -> Transform:
        if self.classes is not None:
            return transform_of(CODES, np.zeros((1, len(self.classes))))
        y = self.facts.target.fitted
        plain = transform_of(NONE, np.array([[y.low], [y.high]]))
        spread = y.spread if y.spread > 1e-12 * max(abs(y.mean), 1e-300) else 1.0
        return replace(plain, center=np.array([y.mean]), spread=np.array([spread]))

    @property
    def column_notes(self) -> tuple[ColumnNote, ...]:
        """All columns of the question, with a word on those that were left out."""
        kept = self.facts.kept
        return tuple(ColumnNote(c.name, c.kind or NUMBER, c.holes, c.note(kept)) for c in self.facts.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """Rows and columns that were left out, and why."""
        facts, found = self.facts, []
        if facts.without_target:
            found.append(
                f"{facts.without_target} of {facts.rows} rows have no {self.wish.target!r} and were left out: nothing to "
                "learn from"
            )
        if facts.with_holes:
            found.append(f"{facts.with_holes} rows with missing cells were left out, as asked")
        if self.dropped:
            found.append(f"left out as asked: {listed(self.dropped)}")
        return tuple(found)

    @property
    def constant_error(self) -> float:
        """The error of a constant on the rows of the fit: root mean squared, or Brier's score of the shares."""
        if self.classes is None:
            return self.facts.target.fitted.spread
        return float(1.0 - np.sum(self.shares() ** 2))

    def shares(self) -> Floats:  # -> (c,)
        """The shares of the classes in the rows of the fit."""
        counts = self.facts.target.in_fit
        assert counts is not None and self.classes is not None
        dtype = np.float64 if self.facts.target.kind == NUMBER else object
        labels = self.reading.labels(np.array(list(counts), dtype=dtype))
        places = np.searchsorted(self.classes, labels)
        found = np.bincount(places, weights=list(counts.values()), minlength=len(self.classes))
        return found / found.sum()

    # -- its rows ----------------------------------------------------------------------------------------------------

    @property
    def passes(self) -> int:
        """How often the parts were gone through, fits not counted."""
        return self._rows.passes

    def encoded(self, everything: bool = False) -> Chunks:
        """The rows of the fit as vectors with targets, or all rows."""
        starts = self.roll.starts
        parts = [EncodedPart(part, first, self.reading, everything) for part, first in zip(self.parts, starts, strict=True)]
        return as_source(parts, self.roll.lengths(None if everything else FITTED), self._client)

    def take(self, numbers: Indices) -> Table:
        """Rows by their numbers, ascending, brought here."""
        found = self._rows.take(numbers).X
        return Table({name: self._whole(name, found[name].to_numpy()) for name in found.columns}, numbers)

    def _whole(self, name: str, values: Array) -> Array:
        """A column of words without a word in one of its parts was read as numbers there."""
        words = name == self.wish.target and self.facts.target.kind == CATEGORY
        return values.astype(object) if words and values.dtype.kind == "f" else values
