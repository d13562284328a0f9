"""Training on a table in files whose rows are read by the workers of a cluster and never collected.

The steps and the result are those of `mercer.workflow.training`. Single rows that are needed (held-out rows,
calibrating rows and a sample of the others) are collected here, in bounded number; everything else is a sum over chunks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.estimators.tables.base import MEASURED, TableEstimator, no_usable_columns
from mercer.estimators.tables.chunk_facts import (
    CALIBRATING,
    FEWEST,
    FITTED,
    HELD_OUT,
    MOST_LEVELS,
    RowRoles,
    TableFacts,
    draw_for,
    part_facts,
)
from mercer.estimators.tables.chunks import NEAR, ChunkFit, ChunkFitting, ChunkReading, ChunkTrial, EncodedPart, placed
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs.chunk_files import FilePart
from mercer.inputs.chunks import Chunks, UnreadPart, chunks
from mercer.inputs.delimited import refuse_commas, typed
from mercer.inputs.frames import CATEGORY, NUMBER, like, read_columns
from mercer.inputs.reading import CSV, STDIN
from mercer.inputs.tables import Table
from mercer.workflow.question import (
    CLASSIFICATION,
    REGRESSION,
    FileQuestion,
    FitSettings,
    Question,
    class_labels,
    decide,
    dropped,
    learned_from,
    listed,
)
from mercer.workflow.rivals import BASELINE, Rival, rivals
from mercer.workflow.training import Elsewhere, Judged, Training, judge, make_model, peak_bytes, versions

#: A chunk is not made smaller than this to keep all workers busy: a task costs some milliseconds.
FEWEST_ROWS = 1000

#: Chunks per thread of the workers, at least, if there are enough rows.
PER_THREAD = 2

#: The limits of the search, for the report.
LIMITS = (
    "The rows are read by workers and never collected, so candidates are limited to ridges whose sums go over chunks: "
    "KernelRidgeCV on landmarks, and on indicators of the classes, which is KernelRidgeClassifier. One length scale serves "
    "all columns, and the model is the best candidate alone. Learned metrics, means of several models, missing cells and "
    "text need the rows in one place: fit on some of them without --scheduler to compare"
)

Tell = Callable[[str], None]


def train_on_chunks(
    question: FileQuestion, settings: FitSettings, *, client: Any = None, rows: int | None = None, command: str = "",
    tell: Tell = lambda step: None,
) -> Training:  # fmt: skip
    """Fit on some rows and judge on the others; workers of `client` read and sum, or this process, chunk by chunk.

    `rows` is the size of a chunk; `tell` is called with the name of each step.
    """
    started = time.perf_counter()
    table = ChunkedTable(question, settings, client, rows)
    roles = table.roles
    here = table.take(np.unique(np.concatenate([
        roles.rows(HELD_OUT), roles.rows(CALIBRATING), roles.rows(FITTED, sampled=True)
    ])))  # fmt: skip
    read = time.perf_counter()
    tell("fit")
    fitting = ChunkFitting(table.reading, table.encoded(), settings.memory)
    tried = fitting.search(fitting.listed(settings.kernel), _drawn(table, here, NEAR))
    fitted = fitting.fit(min(tried, key=lambda one: one.error))
    outcome = fitting.outcome(
        table.task, table.facts, tried, fitted, _some(here, roles.rows(CALIBRATING)), _drawn(table, here, MEASURED),
        _notes(table, tried),
    )  # fmt: skip
    chosen = time.perf_counter()
    model = make_model(table.task, settings).store(outcome, started)
    tell("judge")
    sample = _some(here, roles.rows(FITTED, sampled=True))[table.names]
    held_out = _some(here, roles.rows(HELD_OUT))
    y_test = table.reading.labels(held_out[question.target].to_numpy())
    judged = judge(model, read_columns(held_out[table.names]), read_columns(sample), y_test, settings.coverage)
    others = _rivals(table, here, judged)
    done = time.perf_counter()
    tell("fit all")
    final = fitting.refit(fitted.model, table.encoded(everything=True))
    places = {
        "judged": roles.numbers(FITTED, fitted.model.numbers()),
        "final": roles.numbers(None, final.model.numbers()),
        "sample": roles.rows(FITTED, sampled=True),
    }
    whole = _with_landmarks(table, here, places)
    passes = table.passes + sum(one.passes for one in tried) + fitted.passes + final.passes
    seconds = {"read": read - started, "fit": chosen - read, "judge": done - chosen, "fit all": time.perf_counter() - done}
    away = _elsewhere(table, client, passes)
    return _training(table, whole, model, (fitted, final), places, judged, others, seconds, away, command)


def _notes(table: ChunkedTable, tried: list[ChunkTrial]) -> tuple[str, ...]:
    """Return notes on the differences from a fit to rows in one place."""
    roles, what = table.roles, "the intervals" if table.classes is None else "the probabilities"
    judge, adjust = len(roles.rows(HELD_OUT)), len(roles.rows(CALIBRATING))
    fitted, sample = sum(roles.lengths(FITTED)), len(roles.rows(FITTED, sampled=True))
    labels = ", ".join(one.state.label for one in sorted(tried, key=lambda one: one.error))
    return (
        f"the rows were read in chunks and not collected; candidates were limited to {labels}",
        f"the role of a row follows from a hash of its number and the seed: {judge:,} are held out, {adjust:,} "
        f"calibrate {what}",
        f"the rivals and the pictures use a sample of {sample:,} of the {fitted:,} fitted rows",
    )


def _some(table: Table, numbers: Indices) -> Table:
    """Return rows of a table by their numbers in the file."""
    found: Table = table[np.searchsorted(table.numbers, numbers)]
    return found


def _drawn(table: ChunkedTable, here: Table, count: int) -> Table:
    """Return some rows of the sample in random order, because the first rows of a file may be similar."""
    sample = _some(here, table.roles.rows(FITTED, sampled=True))
    found: Table = sample[np.random.default_rng(table.settings.seed).permutation(len(sample))[:count]]
    return found


def _with_landmarks(table: ChunkedTable, here: Table, places: dict[str, Indices]) -> Table:
    """Return the collected rows and the landmarks of both fits, in the order of the file."""
    more = np.setdiff1d(np.concatenate([places["judged"], places["final"]]), here.numbers)
    if not len(more):
        return here
    both = here.vstack(table.take(more))
    numbers = np.concatenate([here.numbers, more])
    order = np.argsort(numbers)
    return Table({name: both[name].to_numpy()[order] for name in both.columns}, numbers[order])


def _rivals(table: ChunkedTable, here: Table, judged: Judged) -> tuple[Rival, ...]:
    """Return the rivals on a sample; the constant is that of all rows of the fit."""
    sample = _some(here, table.roles.rows(FITTED, sampled=True))
    y = table.reading.labels(sample[table.question.target].to_numpy())
    used = list(table.reading.used)
    columns = like(read_columns(sample[[column.name for column in used]]), used)
    n, m = sum(table.roles.lengths(FITTED)), len(judged.y)
    found = []
    for rival in rivals(columns, y, judged.columns, table.classes, table.settings.seed):
        if rival.key == BASELINE:
            constant = table.facts.target.fitted.mean if table.classes is None else table.reading.shares(table.facts)
            found.append(replace(rival, predictions=np.tile(constant, m if table.classes is None else (m, 1))))
        else:
            part = "" if len(sample) == n else f", from a sample of {len(sample):,} of {n:,} rows"
            found.append(replace(rival, how=rival.how + part))
    return tuple(found)


def _elsewhere(table: ChunkedTable, client: Any, passes: int) -> Elsewhere:
    threads = {} if client is None else client.nthreads()
    rows = sum(table.roles.lengths(None))
    return Elsewhere(rows, len(threads), sum(threads.values()), len(table.parts), table.bytes, passes, LIMITS)


def _training(
    table: ChunkedTable, whole: Table, model: TableEstimator, fits: tuple[ChunkFit, ChunkFit], places: dict[str, Indices],
    judged: Judged, others: tuple[Rival, ...], seconds: dict[str, float], away: Elsewhere, command: str,
) -> Training:  # fmt: skip
    """Return everything for the report; landmarks are numbered by their positions in the collected tables."""
    asked, labels = table.question, table.reading.labels
    train = _some(whole, np.union1d(places["sample"], places["judged"]))
    saved = model.with_members(placed(model.members_, fits[1].model, np.searchsorted(whole.numbers, places["final"])))
    model = model.with_members(placed(model.members_, fits[0].model, np.searchsorted(train.numbers, places["judged"])))
    ids = None if asked.id is None else whole[asked.id].to_numpy()
    question = Question(
        asked.name, whole[table.names], asked.target, labels(whole[asked.target].to_numpy()), table.task, table.reason,
        asked.id, ids, table.notes,
    )  # fmt: skip
    return Training(
        question, table.settings, model, read_columns(train[table.names]), labels(train[asked.target].to_numpy()),
        train.numbers, judged, others, seconds, peak_bytes(), command, saved, versions(), away,
    )  # fmt: skip


# -- the table -------------------------------------------------------------------------------------------------------------


class ChunkedTable:
    """The parts of a table, the roles of their rows, and how they are read; `passes` counts passes over them.

    Parameters
    ----------
    client : a dask.distributed Client whose workers read; None reads in this process
    rows : rows of one part; by default parts of 64 MB, or smaller ones that keep all workers busy
    """

    def __init__(self, question: FileQuestion, settings: FitSettings, client: Any = None, rows: int | None = None) -> None:
        self.question, self.settings, self._client = question, settings, client
        threads = 1 if client is None else max(1, sum(client.nthreads().values()))
        parts = table_parts(question.data, None, threads, rows)
        drop = dropped(names_in(parts), question.drop)
        self.names = learned_from(question.name, names_in(parts), question.target, drop, question.id)
        self.dropped = drop
        wanted = (*self.names, question.target, *([question.id] if question.id else []))
        self.parts = [TypedPart(replace(part.load, columns=wanted)) for part in parts]
        self.lengths, self.bytes = lengths_of(self.parts), bytes_of(self.parts)
        self._rows = ChunkedRows.opened(as_source(self.parts, self.parts, self.lengths, client), "table", None, "")
        self._look()

    def _look(self) -> None:
        """Find the facts of the columns and the roles of the rows in one pass."""
        question = self.question
        draw = draw_for(sum(self.lengths), len(self.names) + 2, self.settings.holdout, self.settings.seed)
        starts = RowRoles(draw, self.lengths, [None] * len(self.lengths)).starts
        shared = (draw, self.names, question.target, question.drop_missing)
        found = [part for part in self._rows.map(part_facts, *shared, each=starts) if part is not None]
        self.facts: TableFacts = reduce(TableFacts.plus, [facts for facts, _ in found])
        if self.facts.kept < FEWEST:
            raise InputError(
                f"{question.name}: {self.facts.kept:,} rows have a target, and a cluster takes at least {FEWEST}; leave "
                "--scheduler out."
            )
        self.roles = RowRoles(draw, self.lengths, [bits for _, bits in found])
        self.task, self.reason = self._task()
        self.classes = self._classes() if self.task == CLASSIFICATION else None
        self._check_columns()
        self.reading = ChunkReading.of(self.facts, draw, question.target, self.classes, question.drop_missing)

    # -- facts of the columns ----------------------------------------------------------------------------------------

    def _task(self) -> tuple[str, str]:
        target, asked, facts = self.question.target, self.question.task, self.facts.target
        if facts.values is not None:
            return decide(target, facts.values.keys(), self.facts.kept, asked)
        if facts.kind == NUMBER and asked != CLASSIFICATION:
            many = f"the target has more than {MOST_LEVELS:,} different numbers"
            return REGRESSION, many if asked == "auto" else "set by --task"
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
                f"the class {lacking[0]!r} of {self.question.target!r} has {facts.values[lacking[0]]} of "
                f"{self.facts.kept:,} rows, and all of them are held out; use another --seed, or remove the class."
            )
        return class_names(list(facts.values))

    def _check_columns(self) -> None:
        """Raise for columns that workers do not support, with advice."""
        used = [column for column in self.facts.columns if not column.note(self.facts.kept)]
        for column in used:
            if column.holes:
                raise InputError(
                    f"{self.question.name}: the column {column.name!r} has {column.holes:,} missing cell"
                    f"{'s' if column.holes != 1 else ''}, which --scheduler does not support; leave out such rows "
                    "(--drop-missing) or the column (--drop), fill the cells, or leave --scheduler out."
                )
            if column.levels is None:
                raise InputError(
                    f"{self.question.name}: the column {column.name!r} holds more than {MOST_LEVELS:,} different texts, too "
                    f"many for categories; leave it out (--drop {column.name!r}), or make it the id of the rows (--id)."
                )
        if not used:
            notes = {note.name: note.note for note in self.facts.notes()}
            raise InputError(f"{self.question.name}: {no_usable_columns(notes)}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on rows and columns that were left out."""
        facts, found = self.facts, []
        if facts.without_target:
            found.append(f"{facts.without_target} of {facts.rows} rows have no {self.question.target!r} and were left out")
        if facts.with_holes:
            found.append(f"{facts.with_holes} rows with missing cells were left out by --drop-missing")
        if self.dropped:
            found.append(f"left out by --drop: {listed(self.dropped)}")
        return tuple(found)

    # -- its rows ----------------------------------------------------------------------------------------------------

    @property
    def passes(self) -> int:
        """Number of passes over the parts, without those of fits."""
        return self._rows.passes

    def encoded(self, everything: bool = False) -> Chunks:
        """Return the rows of the fit as vectors with targets, or all rows."""
        starts = self.roles.starts
        parts = [EncodedPart(part, first, self.reading, everything) for part, first in zip(self.parts, starts, strict=True)]
        return as_source(self.parts, parts, self.roles.lengths(None if everything else FITTED), self._client)

    def take(self, numbers: Indices) -> Table:
        """Collect rows by their ascending numbers."""
        found = self._rows.take(numbers).X
        return Table({name: self._whole(name, found[name].to_numpy()) for name in found.columns}, numbers)

    def _whole(self, name: str, values: Array) -> Array:
        """Return the cells of a column; a part of a text target without text was read as numbers."""
        words = name == self.question.target and self.facts.target.kind == CATEGORY
        return values.astype(object) if words and values.dtype.kind == "f" else values


def class_names(values: Sequence[Any]) -> Array:  # -> (c,)
    """Return the different values of a target as sorted class names."""
    words = any(not isinstance(value, float) for value in values)
    return np.unique(class_labels(np.array(list(values), dtype=object if words else np.float64)))


# -- its parts ------------------------------------------------------------------------------------------------------------


class TypedPart:
    """The rows of a part, typed as the reader of whole tables does: text of a CSV file may be dates or missing."""

    def __init__(self, load: FilePart) -> None:
        self.load = load

    def __call__(self) -> tuple[Table, None, None]:
        table = self.load()[0]
        found = {name: table[name].to_numpy() for name in table.columns}
        if self.load.kind == CSV:
            found = {name: self._typed(name, values) for name, values in found.items()}
        return Table(found), None, None

    def _typed(self, name: str, values: Array) -> Array:
        if values.dtype.kind == "f":
            return values
        refuse_commas(self.load.path, name, values[:100])
        return typed(["" if cell is None else cell for cell in values])


def table_parts(data: str, columns: Sequence[str] | None, threads: int, rows: int | None = None) -> list[TypedPart]:
    """Return the parts of a file, a folder or a glob, enough to keep all threads busy; `rows` sets their size."""
    if data == STDIN:
        raise InputError("- is standard input, which workers cannot read; with --scheduler give files on a disk they share.")
    place = data if "://" in data else os.path.abspath(data)  # workers have their own working directory
    found: list[Any] = [part.load for part in chunks(place, columns=columns, rows=rows).parts]
    n = sum(load.stop - load.start for load in found)
    most = max(FEWEST_ROWS, -(-n // (PER_THREAD * threads))) if rows is None else n
    return [TypedPart(load) for load in _cut(found, most)]


def _cut(parts: Sequence[FilePart], most: int) -> Iterator[FilePart]:
    for part in parts:
        for start in range(part.start, part.stop, most):
            yield replace(part, start=start, stop=min(start + most, part.stop))


def names_in(parts: Sequence[TypedPart]) -> list[str]:
    """Return the columns of the table."""
    return list(parts[0].load.columns)


def bytes_of(parts: Sequence[TypedPart]) -> int:
    """Return the size of the files in bytes."""
    return sum(Path(path).stat().st_size for path in {part.load.path for part in parts})


def lengths_of(parts: Sequence[TypedPart]) -> tuple[int, ...]:
    """Return the number of rows of each part."""
    return tuple(part.load.stop - part.load.start for part in parts)


def as_source(parts: Sequence[TypedPart], readers: Sequence[Any], lengths: tuple[int, ...], client: Any) -> Chunks:
    """Return the chunks of a fit: what `readers` make of the parts."""
    return Chunks(
        [UnreadPart(where(part.load), reader) for part, reader in zip(parts, readers, strict=True)], lengths, client=client
    )


def where(load: FilePart) -> str:
    """Return the name of a part in messages."""
    return f"{load.path}, rows {load.start} … {load.stop - 1}:"
