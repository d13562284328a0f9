"""`mercer changes DATA --order COLUMN`: find the rows at which a table changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.compare import check_place
from mercer.cli.output import heading, note, print_json, print_text
from mercer.errors import InputError

#: Exit codes, and kinds of pictures.
SAME, CHANGED, PICTURES = 0, 1, (".png", ".pdf", ".svg")

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A table: CSV, TSV, Parquet, Arrow, a folder of them, or -.", show_default=False),
]
Order = Annotated[str, typer.Option("--order", metavar="COLUMN", help="The column that orders the rows, such as a date.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between; may be repeated.", show_default=False),
]
Number = Annotated[
    int | None, typer.Option("--n-changes", metavar="N", help="Exactly this many changes.", show_default=False)
]
Alpha = Annotated[float, typer.Option("--alpha", metavar="LEVEL", help="Level of the test of each change.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random numbers.")]
Out = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write a picture (.png, .pdf, .svg).", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def changes(
    data: Data,
    order: Order,
    drop: Drop = None,
    n_changes: Number = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    out: Out = None,
    as_json: AsJson = False,
) -> int:
    """Find the rows at which a table changes its distribution.

    Exit code: 0 no change, 1 changes, 64 bad input.
    """
    from mercer.inputs.reading import read_table
    from mercer.workflow.ordered_tables import changes_of_table
    from mercer.workflow.question import dropped

    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, such as 0.05; got {alpha:g}.")
    check_place(out, PICTURES)
    table = read_table(data)
    left_out = dropped(table.columns, drop)
    unknown = [name for name in left_out if name not in table.columns]
    if unknown:
        raise InputError(f"--drop {unknown[0]!r}: {data} has no such column.")
    kept = table[[name for name in table.columns if name not in left_out]]
    found = changes_of_table(kept, order, data, n_changes=n_changes, alpha=alpha, random_state=seed)
    if out is not None:
        from mercer.report.changes import changes_picture
        from mercer.writing import umask, write_whole

        write_whole(out, changes_picture(found, out.suffix[1:].lower()), 0o666 & ~umask())
        note(f"written: {out}", word="")
    places = [{"row": one.row, order: one.at, "pvalue": one.pvalue, "columns": list(one.columns)} for one in found.changes]
    if as_json:
        print_json({"changes": places, "rows": found.found.n, "notes": list(found.notes)})
        return CHANGED if places else SAME
    count = len(places)
    words = f"{count} change{'s' * (count > 1)}" if count else "no change"
    print_text(f"{data} ({found.found.n:,} rows): ", heading(words, "bold red" if count else "bold green"))
    for one in found.changes:
        named = f"  ({', '.join(one.columns)})" if one.columns else ""
        print_text(f"  from row {one.row} on, {order} {one.at}   p = {one.pvalue:.3g}{named}")
    for text in found.notes:
        note(text)
    if found.found.block > 1:
        note(f"neighboring rows depend on each other: p-values by permuting blocks of {found.found.block} rows")
    return CHANGED if places else SAME
