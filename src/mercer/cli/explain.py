"""`mercer explain MODEL DATA --row N`: one prediction as a sum over columns, letters or atoms; without DATA, the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.output import MODEL, heading, note, print_json, print_text
from mercer.errors import InputError

#: Columns and training rows printed.
SHOWN, ROWS = 15, 5

#: Letters of a bar.
BAR = 20

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The file model.mercer that mercer fit wrote, or its folder.", show_default=False),
]
DataFile = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help="A table with the model's columns: CSV, Parquet, … or -.", show_default=False),
]
Row = Annotated[
    int | None, typer.Option("--row", metavar="N", help="The row to explain; the first is 1.", show_default=False)
]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write a page with colored letters or atoms.", show_default=False),
]
Class = Annotated[
    str | None,
    typer.Option("--class", metavar="LABEL", help="The class to explain (default: the predicted one).", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def explain(
    model: ModelFile, data: DataFile = None, row: Row = None, label: Class = None, as_json: AsJson = False, html: Page = None
) -> int:
    """Say what every column of one row adds to its prediction, and which training rows decide it.

    The parts are Shapley values and add up to the prediction; for classes, to the score that probabilities are made from.
    If the only column is text or molecules, the parts are those of letters and substrings, or of atoms and substructures.
    Without DATA the features that the model uses most are listed, with their weights.
    """
    from mercer.estimators.tables.base import TableEstimator
    from mercer.explanations import ColumnExplanation
    from mercer.explanations import explain as taken_apart
    from mercer.persist import load_with_notes

    path = model / MODEL if model.is_dir() else model
    fitted, notes = load_with_notes(path)
    if not isinstance(fitted, TableEstimator):
        raise InputError(f"{path}: not a table model of mercer fit; use mercer.explain in Python.")
    if label is not None and not hasattr(fitted, "classes_"):
        raise InputError(f"{path}: predicts numbers; leave --class out.")
    if data is None or row is None:
        if data is not None or row is not None:
            raise InputError("mercer explain takes a table and a row, DATA --row N, or neither to explain the whole model.")
        whole: Any = taken_apart(fitted, target=label)
        return _show(whole, _model_facts(whole), as_json, html)
    X = _row(fitted, data, row)
    found: Any = taken_apart(fitted, X, target=label)
    if not isinstance(found, ColumnExplanation):
        return _show(found, _object_facts(fitted, X, found, row), as_json, html)
    if html is not None:
        raise InputError("--html: pages are written for models of a single column of text, graphs or molecules.")
    facts = _facts(fitted, X, found, row, str(notes.get("target", "the target")))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    return 0


def _row(fitted: Any, data: str, row: int) -> Any:
    """Return one row of a table with the columns of the model."""
    import numpy as np

    from mercer.inputs.reading import read_table
    from mercer.workflow.prediction import OfTable, refuse_holes, refuse_lacking

    table = read_table(data)
    name = "standard input" if data == "-" else data
    if not 1 <= row <= len(table):
        raise InputError(f"--row {row}: {name} has rows 1 to {len(table):,}.")
    asked = OfTable(fitted, [column.name for column in fitted.result_.columns])
    refuse_lacking(name, asked.needed, table.columns)
    chosen = table[np.array([row - 1])]
    refuse_holes(name, asked, chosen, asked.known(chosen))
    return asked.table(chosen)


def _show(found: Any, facts: dict[str, Any], as_json: bool, html: Path | None) -> int:
    """Print an explanation by letters, atoms or features, and write it as a page."""
    from mercer.report.strings import explanation_page
    from mercer.writing import umask, write_whole

    if html is not None:
        write_whole(html, explanation_page([found], title=found.label).encode(), 0o666 & ~umask())
    if as_json:
        print_json(facts)
    else:
        print_text(str(found))
    return 0


def _model_facts(found: Any) -> dict[str, Any]:
    motifs = [{"name": m.name, "weight": m.weight, "spread": m.spread, "share": m.share} for m in found.motifs]
    return {
        "explained": found.label, "rows": found.rows, "intercept": found.intercept, "features": motifs,
        "letters": [str(letter) for letter in found.letters], "profile": found.profile.tolist(),
    }  # fmt: skip


def _object_facts(fitted: Any, chosen: Any, found: Any, row: int) -> dict[str, Any]:
    facts = {
        "row": row,
        "prediction": _plain(fitted.predict(chosen)[0]),
        "explained": found.label,
        "value": found.value,
        "intercept": found.intercept,
        "contributions": found.contributions.tolist(),
        "features": [{"name": one.name, "contribution": one.contribution, "count": one.count} for one in found.top(100)],
    }
    parts = {"smiles": "smiles", "atoms": "atoms", "descriptors": "descriptors", "text": "text"}
    return facts | {name: vars(found)[field] for name, field in parts.items() if field in vars(found)}


def _plain(value: Any) -> Any:
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _facts(fitted: Any, chosen: Any, found: Any, row: int, target: str) -> dict[str, Any]:
    import numpy as np

    order = np.argsort(-np.abs(found.contributions), kind="stable")
    facts = {
        "row": row,
        "target": target,
        "prediction": _plain(fitted.predict(chosen)[0]),
        "explained": found.label,
        "value": found.value,
        "base": found.base,
        "against": found.against,
        "columns": [
            {"name": found.names[j], "cell": _cell(chosen, found.names[j]), "contribution": float(found.contributions[j]),
             "standard_error": 0.0 if found.errors is None else float(found.errors[j])}
            for j in order
        ],
        "training_rows": [
            {"row": place + 1, "adds": value, "share": share}
            for (place, value), (_, share) in zip(found.examples, found.example_shares(), strict=True)
        ],
    }  # fmt: skip
    if hasattr(fitted, "classes_"):
        shares = fitted.predict_proba(chosen)[0]
        facts["probabilities"] = {str(c): float(p) for c, p in zip(fitted.classes_, shares, strict=True)}
    return facts


def _cell(chosen: Any, name: str) -> Any:
    import numpy as np

    from mercer.inputs.tables import time_text

    value = chosen[name].to_numpy()[0]
    if value is None or value != value:
        return None
    if isinstance(value, np.datetime64):
        return time_text(value)
    return value.item() if isinstance(value, (np.floating, np.integer)) else str(value)


def _print(facts: dict[str, Any]) -> None:
    said = facts["prediction"]
    words = f"{said:.6g}" if isinstance(said, float) else str(said)
    print_text(f"row {facts['row']}: {facts['target']} = ", heading(words, "bold"))
    if "probabilities" in facts:
        best = sorted(facts["probabilities"].items(), key=lambda pair: -pair[1])[:4]
        print_text("  " + ", ".join(f"{label} {100 * share:.1f} %" for label, share in best))
    print_text(
        f"{facts['explained']}: {facts['value']:.5g} = {facts['base']:.5g} (where no column is known) + the parts below\n"
    )
    shown = facts["columns"][:SHOWN]
    cells = [_short(one["cell"]) for one in shown]
    width, wide = max(len(one["name"]) for one in shown), max(len(cell) for cell in cells)
    largest = max(abs(one["contribution"]) for one in shown) or 1.0
    for one, cell in zip(shown, cells, strict=True):
        error = f" ± {one['standard_error']:.2g}" if one["standard_error"] else ""
        bar = ("+" if one["contribution"] > 0 else "-") * round(BAR * abs(one["contribution"]) / largest)
        print_text(f"  {one['name']:<{width}}  {cell:<{wide}}  {one['contribution']:+9.4g}{error}  {bar}")
    if len(facts["columns"]) > len(shown):
        rest = sum(one["contribution"] for one in facts["columns"][SHOWN:])
        print_text(f"  {len(facts['columns']) - SHOWN} more columns together {rest:+.4g}")
    rows = ", ".join(f"{one['row']} ({100 * one['share']:+.2g} %)" for one in facts["training_rows"][:ROWS])
    print_text(f"\ntraining rows that decide most: {rows}")
    note(f"unknown columns: {facts['against']}.")


def _short(cell: Any, longest: int = 24) -> str:
    words = "missing" if cell is None else f"{cell:.5g}" if isinstance(cell, float) else str(cell)
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
