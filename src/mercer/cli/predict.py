"""`mercer predict MODEL DATA`: the predictions of a model that `mercer fit` wrote, for the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.output import MODEL, note, visible
from mercer.errors import InputError

if TYPE_CHECKING:
    from mercer.inputs.tables import Table

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The file model.mercer that mercer fit wrote, or its folder.", show_default=False),
]
DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table with the model's columns, in any order: whatever mercer fit reads, - for standard input.",
        show_default=False,
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="FRACTION", help="Also give intervals that hold this part of the targets, such as 0.9.", show_default=False
    ),
]
Set = Annotated[
    float | None,
    typer.Option(
        "--set", metavar="FRACTION", help="Also give sets of classes that hold the true one this often, such as 0.9.",
        show_default=False,
    ),
]  # fmt: skip
Probabilities = Annotated[bool, typer.Option("--probabilities", help="Also give the probability of every class.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write to this .csv or .parquet file instead of the screen.", show_default=False),
]
Sql = Annotated[str | None, typer.Option(metavar="QUERY", help="A SELECT over the table, called data.", show_default=False)]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Of text, if it is none of , ; tab |", show_default=False)
]
SkipMissing = Annotated[
    bool,
    typer.Option(
        "--skip-missing",
        "--skip-bad",
        help="Leave the prediction empty where a cell is missing and training had none, or a molecule is unreadable.",
    ),
]


def predict(
    model: ModelFile,
    data: DataFile,
    interval: Interval = None,
    set_: Set = None,
    probabilities: Probabilities = False,
    out: Out = None,
    sql: Sql = None,
    delimiter: Delimiter = None,
    skip_missing: SkipMissing = False,
) -> int:
    """Predict with a model of `mercer fit`: one line of CSV for every row of a table.

    The columns are the id that was named at the fit, prediction, with --interval lower and upper, with --set the classes
    of the set, separated by |, and with --probabilities one per class.
    """
    from mercer.inputs.reading import read_table
    from mercer.persist import load_with_notes
    from mercer.workflow.prediction import predictor, refuse_holes, refuse_lacking

    _check(interval, out, set_)
    model = model / MODEL if model.is_dir() else model  # the folder that mercer fit wrote will do
    fitted, notes = load_with_notes(model)
    names = _columns(model, notes)
    _refuse_other_task(model, notes, interval, probabilities or set_ is not None)
    asked = predictor(fitted, names)
    table = read_table(data, sql, delimiter=delimiter)
    name = "standard input" if data == "-" else data
    refuse_lacking(name, asked.needed, table.columns)
    used = {*names, notes.get("target"), notes.get("id")}
    _say_ignored([column for column in table.columns if column not in used])
    known = asked.known(table)
    if skip_missing:
        known &= asked.as_in_training(table)
    else:
        refuse_holes(name, asked, table, known, "fill them in, or leave their predictions empty with --skip-missing")
    kept = table[known.nonzero()[0]]
    if known.any():
        for words in asked.notes(kept):
            note(f"{words}.")
    answers = asked.answers(kept, interval, probabilities) if known.any() else {"prediction": known[:0]}
    if set_ is not None and known.any():
        answers |= asked.sets(kept, set_)
    _write(out, _with_id(notes.get("id"), table), answers, known)
    if out is not None:
        note(f"{int(known.sum())} predictions of {notes.get('target')} written to {out}", word="")
    return 0


def _check(interval: float | None, out: Path | None, set_: float | None = None) -> None:
    """Raise for wrong options before anything is read."""
    if set_ is not None and not 0 < set_ < 1:
        raise InputError(f"--set must be a fraction between 0 and 1, such as 0.9; got {set_:g}.")
    if interval is not None and not 0 < interval < 1:
        raise InputError(f"--interval must be a fraction between 0 and 1, such as 0.9; got {interval:g}.")
    if out is not None and out.is_dir():
        raise InputError(f"{out}: this is a folder; name a file in it.")
    if out is not None and out.suffix.lower() not in (".csv", ".parquet", ".txt", ""):
        raise InputError(f"{out}: predictions are written as .csv or .parquet; name such a file.")


def _columns(path: Path, notes: dict[str, Any]) -> list[str]:
    names = notes.get("columns")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: not written by mercer fit, so its columns have no names; use it in Python: mercer.load.")
    return names


def _refuse_other_task(path: Path, notes: dict[str, Any], interval: float | None, probabilities: bool) -> None:
    if interval is not None and notes.get("task") != "regression":
        raise InputError(f"{path}: predicts classes, and intervals are for numbers; leave --interval out.")
    if probabilities and notes.get("task") == "regression":
        raise InputError(f"{path}: predicts numbers, and probabilities are for classes; ask for --interval 0.9 instead.")


def _say_ignored(names: list[str]) -> None:
    if names:
        shown = ", ".join(repr(name) for name in names[:8])
        note(f"columns that the model does not use are ignored: {shown}{' …' if len(names) > 8 else ''}")


def _with_id(name: Any, table: Table) -> dict[str, Any]:
    if not isinstance(name, str):
        return {}
    if name not in table.columns:
        note(f"the id {name!r} is not in this table; rows are in its order.")
        return {}
    return {name: table[name].to_numpy()}


def _write(out: Path | None, ids: dict[str, Any], answers: dict[str, Any], known: Any) -> None:
    """Write the predictions in the order of the rows; rows without one have empty cells."""
    from mercer.cli.columns_file import as_csv, as_parquet
    from mercer.persist import write_whole
    from mercer.writing import umask

    if out is None:
        text = as_csv(ids, answers, known)
        print(visible(text) if sys.stdout.isatty() else text, end="")
        return
    content = as_parquet(ids, answers, known) if out.suffix.lower() == ".parquet" else as_csv(ids, answers, known).encode()
    if out.exists():
        note(f"{out} is replaced.")
    write_whole(out, content, 0o666 & ~umask())
