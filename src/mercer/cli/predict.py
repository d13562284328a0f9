"""`mercer predict MODEL DATA`: the predictions of a model that `mercer fit` wrote, for the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from mercer.cli.results import MODEL
from mercer.cli.terminal import note, visible
from mercer.errors import InputError
from mercer.persist.writing import umask
from mercer.workflow.columns import complete_rows, matrix, read_table

#: What a formula begins with, for the spreadsheets that there are.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The file model.mercer that mercer fit wrote, or its folder.", show_default=False),
]
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A table with the model's columns, in any order: .csv, .tsv or .parquet.", show_default=False
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="FRACTION", help="Also give intervals that hold this part of the targets, such as 0.9.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the predictions to this CSV file instead of the screen.", show_default=False),
]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Leave the prediction empty where a value is missing.")]


def predict(
    model: ModelFile, data: DataFile, interval: Interval = None, out: Out = None, skip_missing: SkipMissing = False
) -> int:
    """Predict with a model of `mercer fit`: one line of CSV for every row of a table.

    The columns are prediction and, with --interval, lower and upper.
    """
    from mercer.persist import load_with_notes, write_whole

    if interval is not None and not 0 < interval < 1:
        raise InputError(f"--interval must be a fraction between 0 and 1, such as 0.9; got {interval:g}.")
    if out is not None and out.is_dir():
        raise InputError(f"{out}: this is a folder; name a file in it.")
    model = model / MODEL if model.is_dir() else model  # the folder that mercer fit wrote will do
    pipeline, notes = load_with_notes(model)
    names = _columns(model, notes)
    if interval is not None and notes.get("task") != "regression":
        raise InputError(f"{model}: predicts classes, and intervals are for numbers; leave --interval out.")
    table = read_table(data)
    X = matrix(data, table, names)
    used = {*names, notes.get("target")}
    _say_ignored([name for name in table.columns if name not in used])
    known = complete_rows(X)
    if not known.all() and not skip_missing:
        raise InputError(
            f"{data}: {int((~known).sum())} of {len(X)} rows have missing or infinite values, the first is row "
            f"{int(np.argmin(known)) + 1}; fill them in, or leave their predictions empty with --skip-missing."
        )
    text = _as_csv(known, _predictions(pipeline, X[known], interval))
    if out is None:
        print(visible(text) if sys.stdout.isatty() else text, end="")
    else:
        replaced = " (replaced)" if out.exists() else ""
        write_whole(out, text.encode(), 0o666 & ~umask())
        note(f"{int(known.sum())} predictions of {notes.get('target')} written to {out}{replaced}", word="")
    return 0


def _columns(path: Path, notes: dict[str, Any]) -> list[str]:
    names = notes.get("columns")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: not written by mercer fit, so its columns have no names; use it in Python: mercer.load.")
    return names


def _say_ignored(names: list[str]) -> None:
    if names:
        shown = ", ".join(repr(name) for name in names[:8])
        note(f"columns that the model does not use are ignored: {shown}{' …' if len(names) > 8 else ''}")


def _predictions(pipeline: Any, X: NDArray[Any], interval: float | None) -> dict[str, NDArray[Any]]:
    """The columns to write; X is an array, its columns in the model's order."""
    if len(X) == 0:
        return {"prediction": np.empty(0)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # matched by name above
        scaled = pipeline[:-1].transform(X)
    found = {"prediction": pipeline[-1].predict(scaled)}
    if interval is not None:
        bounds = pipeline[-1].predict_interval(scaled, interval)
        found |= {"lower": bounds[:, 0], "upper": bounds[:, 1]}
    return found


def _as_csv(known: NDArray[np.bool_], columns: dict[str, NDArray[Any]]) -> str:
    """One line per row of the data; rows without an answer have empty cells."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    answers = zip(*[[_cell(value) for value in values.tolist()] for values in columns.values()], strict=True)
    for is_known in known:
        writer.writerow(next(answers) if is_known else [""] * len(columns))
    return stream.getvalue()


def _cell(value: Any) -> str:
    """Ten digits: more than any prediction is good for, and the same on every machine.

    A label that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets take for "text".
    """
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, str) and value.lstrip()[:1] in FORMULA and not _is_number(value):
        return f"'{value}"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
