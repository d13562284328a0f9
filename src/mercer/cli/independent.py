"""`mercer independent TABLE --x A --y B --given C,D`: a test of (conditional) independence of columns."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.output import heading, note, print_json, print_text
from mercer.errors import InputError

#: Exit codes.
INDEPENDENT, DEPENDENT = 0, 1

Data = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="A table: CSV, TSV, Parquet, Arrow, a folder of them, or -.", show_default=False),
]
Left = Annotated[str, typer.Option("--x", metavar="COLUMNS", help="First variable; several columns with commas.")]
Right = Annotated[str, typer.Option("--y", metavar="COLUMNS", help="Second variable.")]
Given = Annotated[
    str | None, typer.Option("--given", metavar="COLUMNS", help="Columns to condition on.", show_default=False)
]
Alpha = Annotated[float, typer.Option("--alpha", metavar="LEVEL", help="Probability of a false alarm.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random numbers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def independent(
    table: Data, x: Left, y: Right, given: Given = None, alpha: Alpha = 0.05, seed: Seed = 0, as_json: AsJson = False
) -> int:
    """Test whether columns of a table are independent, given other columns.

    Rows are independent observations. Numbers, categories, dates and missing cells are allowed.
    Exit code: 0 no dependence found, 1 dependent, 64 bad input.
    """
    from mercer.inputs.reading import read_table
    from mercer.workflow.independence import dependence_of_columns

    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, such as 0.05; got {alpha:g}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {seed}.")
    data = read_table(table)
    sides = {"--x": _names(x, data.columns), "--y": _names(y, data.columns), "--given": _names(given, data.columns)}
    seen: dict[str, str] = {}
    for option, names in sides.items():
        for name in names:
            if name not in data.columns:
                raise InputError(f"{option} {name!r}: {table} has no such column; it has {', '.join(data.columns)}.")
            if name in seen:
                raise InputError(f"{option} {name!r}: this column is named in {seen[name]} already. Name each column once.")
            seen[name] = option
    found = dependence_of_columns(data, sides["--x"], sides["--y"], sides["--given"], seed)
    dependent = found.pvalue <= alpha
    if as_json:
        print_json({"dependent": dependent, "level": alpha, **found.to_dict()})
        return DEPENDENT if dependent else INDEPENDENT
    verdict = heading("dependent", "bold red") if dependent else heading("no dependence found", "bold green")
    print_text(f"{found.question}, {found.rows:,} rows: ", verdict, f", p = {found.pvalue:.3g} at level {alpha:g}")
    for text in found.regressions:
        print_text(text)
    for text in found.notes:
        note(text)
    return DEPENDENT if dependent else INDEPENDENT


def _names(text: str | None, columns: object) -> list[str]:
    if text is None:
        return []
    known = set(columns)  # type: ignore[call-overload]
    return [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]
