"""`mercer suggest MODEL CANDIDATES --n 8`: which rows of a table to measure next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.output import MODEL, note
from mercer.errors import InputError, plural

GOALS = ("max", "min", "explore")

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The file model.mercer that mercer fit wrote, or its folder.", show_default=False),
]
DataFile = Annotated[
    str,
    typer.Argument(
        metavar="CANDIDATES",
        help="A table with the model's columns, a row per possible experiment: whatever mercer fit reads.",
        show_default=False,
    ),
]
Number = Annotated[int, typer.Option("--n", metavar="N", help="How many rows to suggest.")]
Goal = Annotated[
    str, typer.Option(metavar="GOAL", help="max or min: a large or small target; explore: learn most about the function.")
]


def suggest(model: ModelFile, candidates: DataFile, n: Number = 1, goal: Goal = "max") -> int:
    """Say which candidates to measure next, best first: one line of CSV for each, with its row and its prediction.

    The model is used as a Gaussian process: large expected improvement over the best training row, and each suggestion
    takes into account that those before it will be measured. Rows that were measured are never suggested.
    """
    import numpy as np

    from mercer.cli.columns_file import as_csv
    from mercer.estimators.tables.base import TableEstimator
    from mercer.inputs.reading import read_table
    from mercer.persist import load_with_notes
    from mercer.workflow.prediction import OfTable, refuse_lacking
    from mercer.workflow.suggestion import suggested

    if goal not in GOALS:
        raise InputError(f"--goal must be one of {', '.join(GOALS)}; got {goal!r}.")
    if n < 1:
        raise InputError(f"--n must be at least 1; got {n}.")
    path = model / MODEL if model.is_dir() else model
    fitted, notes = load_with_notes(path)
    if not isinstance(fitted, TableEstimator) or notes.get("task") != "regression":
        raise InputError(f"{path}: suggest takes a model of mercer fit that predicts numbers; in Python use mercer.suggest.")
    table = read_table(candidates)
    name = "standard input" if candidates == "-" else candidates
    asked = OfTable(fitted, [column.name for column in fitted.result_.columns])
    refuse_lacking(name, asked.needed, table.columns)
    known = asked.known(table)
    if not known.all():
        lacking = int((~known).sum())
        verb = "is" if lacking == 1 else "are"
        note(f"{plural(lacking, 'candidate')} with cells that the model has no rule for {verb} left out.")
    rows = known.nonzero()[0]
    if not len(rows):
        raise InputError(f"{name}: the model has no rule for any of the {len(table):,} candidates.")
    chosen = rows[suggested(fitted, asked.table(table[rows]), n, goal)]
    shown: dict[str, Any] = {"row": table.numbers[chosen] + 1}
    label = notes.get("id")
    columns = [*([label] if isinstance(label, str) and label in table.columns else []), *asked.needed[:3]]
    shown |= {column: table[column].to_numpy()[chosen] for column in columns}
    answers = asked.answers(table[chosen], 0.9, False)
    print(as_csv(shown, answers, np.ones(len(chosen), dtype=bool)), end="")
    return 0
