"""Checks of a fit: of the columns, of single columns against the target, and of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.estimators.tables.encoding import numbers_of
from mercer.inputs.frames import CATEGORY, NUMBER, OBJECTS, Column, some_rows
from mercer.workflow.inspection import GramSpectrum

WARNING, NOTE = "warning", "note"

#: Median similarities of two rows: below the first or above the second the kernel hardly tells rows apart.
STRANGERS, TWINS = 0.005, 0.999

#: Spreads of columns in their own units that differ by more than this are reported.
UNEQUAL = 1000.0

#: A single column with this out-of-fold score for the target is suspicious; number of rows of that check.
TOO_GOOD, TRIED_ROWS, TRIED_COLUMNS = 0.99, 1500, 60

#: Names listed in one finding.
SHOWN = 6


@dataclass(frozen=True)
class Finding:
    """One finding: what was found, and what to do about it."""

    level: str  # "warning" or "note"
    title: str
    detail: str


def examine(
    train: list[Column],
    y: Array,
    test: list[Column],
    notes: dict[str, str],
    spectrum: GramSpectrum,
    classes: Array | None,
) -> list[Finding]:
    """Return all findings about a fit, warnings first; `notes` says why columns were left out."""
    found = [
        *_kernel(spectrum),
        *_leakage(train, y, notes, classes),
        *_twin_rows(train, test),
        *_columns(train, notes),
        *_targets(y, len(test[0].holes), classes),
    ]
    return sorted(found, key=lambda finding: finding.level != WARNING)


def _kernel(spectrum: GramSpectrum) -> Iterator[Finding]:
    if spectrum.similarity < STRANGERS:
        yield Finding(
            WARNING,
            "The length scales are very small",
            f"Two typical rows have a similarity of {spectrum.similarity:.2g}: the model knows each row for itself and "
            "says little "
            "about rows between them. More rows, fewer columns or a smoother kernel would help.",
        )
    if spectrum.similarity > TWINS:
        yield Finding(
            WARNING,
            "The length scales are very large",
            f"Two typical rows have a similarity of {spectrum.similarity:.5g}: the kernel hardly tells rows apart, and "
            "the model "
            "is close to a constant or a straight line.",
        )


def _leakage(train: list[Column], y: Array, notes: dict[str, str], classes: Array | None) -> Iterator[Finding]:
    usable = [column for column in train if not notes.get(column.name) and column.kind not in OBJECTS]
    rows = np.linspace(0, len(y) - 1, min(len(y), TRIED_ROWS)).round().astype(np.intp)
    if len(np.unique(rows)) < 30:
        return
    target = y[rows]
    if classes is not None and max(np.mean(target == label) for label in classes) > 0.95:
        return
    for column in some_rows(usable[:TRIED_COLUMNS], rows):
        score = _alone(column, target, classes)
        if score > TOO_GOOD:
            what = "of the spread of the target" if classes is None else "of the classes"
            yield Finding(
                WARNING,
                f"{column.name} alone predicts the target",
                f"A small tree on this one column explains {100 * score:.1f} % {what} on rows that it has not seen. If "
                "the column "
                "is not known before the target is, the model will not work on new rows: leave it out with --drop.",
            )


def _alone(column: Column, target: Array, classes: Array | None) -> float:
    """Return the out-of-fold score of a small tree on one column: R², or accuracy balanced between classes."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    x = _as_numbers(column)[:, None]
    folds = np.arange(len(target)) % 3
    hits = np.empty(len(target))
    for fold in range(3):
        train, test = folds != fold, folds == fold
        if classes is None:
            tree = DecisionTreeRegressor(max_depth=8, min_samples_leaf=2).fit(x[train], target[train])
            hits[test] = (tree.predict(x[test]) - target[test]) ** 2
        else:
            tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=2).fit(x[train], target[train])
            hits[test] = tree.predict(x[test]) == target[test]
    if classes is None:
        spread = float(np.var(target))
        return 1.0 - float(hits.mean()) / spread if spread > 0 else 0.0
    return float(hits.mean())


def _as_numbers(column: Column) -> Floats:
    if column.kind != CATEGORY:
        values = numbers_of(column)
        return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1.0, values)
    codes: dict[Any, int] = {}
    return np.array([float(codes.setdefault(cell, len(codes))) for cell in column.cells])


def _twin_rows(train: list[Column], test: list[Column]) -> Iterator[Finding]:
    known, new = _keys(train), _keys(test)
    n, twice = len(known), len(known) - len(set(known))
    if twice:
        yield Finding(
            WARNING if twice > 0.05 * n else NOTE,
            f"{twice:,} training rows repeat another one",
            f"Of {n:,} rows {len(set(known)):,} differ. Equal rows stay together when candidates are compared, but "
            "weigh more than "
            "others; remove them if they are the same observation twice.",
        )
    shared = sum(key in set(known) for key in new) if len(new) <= 2000 else len(set(new) & set(known))
    if shared:
        yield Finding(
            WARNING if shared > 0.05 * len(new) else NOTE,
            f"{shared:,} held-out rows equal a training row",
            "Their targets may have been seen in training, so that the held-out error is too good by as much.",
        )


def _keys(columns: list[Column]) -> list[Any]:
    cells = [column.cells.tolist() if isinstance(column.cells, np.ndarray) else column.cells for column in columns]
    holes = [column.holes.tolist() for column in columns]
    rows = zip(*[zip(c, h, strict=True) for c, h in zip(cells, holes, strict=True)], strict=True)
    return [hash(tuple(None if hole else _hashable(cell) for cell, hole in row)) for row in rows]


def _hashable(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else (cell if cell.__hash__ is not None else id(cell))


def _columns(train: list[Column], notes: dict[str, str]) -> Iterator[Finding]:
    words = {"identifier": "look like identifiers", "constant": "hold one value only", "all missing": "hold nothing"}
    for note, said in words.items():
        names = [name for name, why in notes.items() if why == note]
        if names:
            yield Finding(
                NOTE, f"Left out: {_listed(names)}", f"{_count(names)} {said}; a model would learn nothing from them."
            )
    for name, why in notes.items():
        if why.startswith("duplicate"):
            yield Finding(NOTE, f"Left out: {name}", f"It is a {why}.")
    used = [column for column in train if not notes.get(column.name)]
    empty = [column.name for column in used if column.holes.mean() > 0.5]
    if empty:
        yield Finding(
            NOTE,
            f"Mostly missing: {_listed(empty)}",
            "More than half of the cells are holes; a hole counts as an average cell.",
        )
    spreads = {c.name: float(np.std(c.observed())) for c in used if c.kind == NUMBER and len(c.observed())}
    spreads = {name: value for name, value in spreads.items() if value > 0}
    if spreads and max(spreads.values()) > UNEQUAL * min(spreads.values()):
        large, small = max(spreads, key=lambda k: spreads[k]), min(spreads, key=lambda k: spreads[k])
        yield Finding(
            NOTE,
            "Columns in very different units",
            f"{large} varies by {spreads[large]:.3g}, {small} by {spreads[small]:.3g}. Every column was put on a "
            "common scale before "
            "the fit; a kernel on the raw numbers would see the first one only.",
        )


def _targets(y: Array, held_out: int, classes: Array | None) -> Iterator[Finding]:
    if held_out < 30:
        yield Finding(
            WARNING,
            f"Only {held_out} held-out rows",
            "Errors and coverage on so few rows are rough; look at their intervals.",
        )
    if classes is not None:
        counts = {str(label): int(np.sum(y == label)) for label in classes}
        rare = [f"{label} ({count})" for label, count in counts.items() if count < 10]
        if rare:
            yield Finding(
                WARNING,
                f"Rare classes: {_listed(rare)}",
                "Fewer than ten training rows each: their probabilities are guesses.",
            )
    elif len(np.unique(y)) <= 10 < len(y):
        yield Finding(
            NOTE,
            "The target has few values",
            f"{len(np.unique(y))} different numbers; if they are classes, use --task classification.",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _count(names: list[str]) -> str:
    return f"{len(names)} column{'s' if len(names) != 1 else ''}"
