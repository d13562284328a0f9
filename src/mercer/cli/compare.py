"""`mercer compare A B`: do two tables come from one source, and if not, which columns differ?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer.cli.output import heading, note, print_json, print_text
from mercer.errors import InputError, plural

if TYPE_CHECKING:
    from mercer.workflow.comparison import Comparison

#: Exit codes.
SAME, DIFFERENT = 0, 1

#: Columns printed, and kinds of pictures.
SHOWN, PICTURES = 20, (".png", ".pdf", ".svg")

First = Annotated[
    str, typer.Argument(metavar="A", help="A table: CSV, TSV, Parquet, Arrow, a folder of them, or -.", show_default=False)
]
Second = Annotated[str, typer.Argument(metavar="B", help="Another table with the same columns.", show_default=False)]
Reference = Annotated[
    bool, typer.Option("--reference", help="A is the reference: every column of it must be in B; others of B are ignored.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between; may be repeated.", show_default=False),
]
Alpha = Annotated[float, typer.Option("--alpha", metavar="LEVEL", help="Chance of a false alarm.")]
Tolerance = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Ignore differences that are surely below this share of variance, from 0 to 1."),
]
Order = Annotated[
    str | None,
    typer.Option("--order", metavar="COLUMN", help="Rows depend on their neighbors in the order of it, such as a date.",
                 show_default=False),
]  # fmt: skip
Seed = Annotated[int, typer.Option(metavar="N", help="Of the relabelings and of the rows that are drawn.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write a page (.html) or a picture (.png, .pdf, .svg).", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def compare(
    a: First,
    b: Second,
    reference: Reference = False,
    drop: Drop = None,
    alpha: Alpha = 0.05,
    tolerance: Tolerance = 0.0,
    order: Order = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: AsJson = False,
) -> int:
    """Test whether two tables come from one source, and name the columns that differ.

    Numbers, categories, dates, text and holes are compared, each column alone and all together.
    Exit code: 0 no difference found, 1 the tables differ, 64 bad input.
    """
    from mercer.inputs.reading import read_table
    from mercer.workflow.comparison import compare_tables

    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, such as 0.05; got {alpha:g}.")
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance is a share of variance, from 0 up to 1, such as 0.01; got {tolerance:g}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {seed}.")
    check_place(out, (".html", *PICTURES))
    left, right = read_table(a), read_table(b)
    omitted = {name.strip() for text in drop or [] for name in ([text] if text in left.columns else text.split(","))}
    unknown = sorted(omitted - {*left.columns, *right.columns})
    if unknown:
        raise InputError(f"--drop {unknown[0]!r}: neither {a} nor {b} has such a column.")
    left, right = (table[[name for name in table.columns if name not in omitted]] for table in (left, right))
    found = compare_tables(
        left, right, (a, b), level=alpha, seed=seed, reference=reference, tolerance=tolerance, order=order
    )
    if out is not None:
        _write(found, out)
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    return DIFFERENT if found.differ else SAME


def check_place(out: Path | None, suffixes: tuple[str, ...]) -> None:
    """Raise if an output path cannot be written, before the work begins."""
    if out is None:
        return
    if out.suffix.lower() not in suffixes:
        raise InputError(f"--out {out}: give a file that ends in {', '.join(suffixes)}.")
    if out.is_dir():
        raise InputError(f"--out {out}: this is a folder; name a file in it.")
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.absolute().parent}; make it first.")


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["mercer", *sys.argv[1:]])


def _print(found: Comparison) -> None:
    names, rows = found.names, found.rows
    verdict = "they differ" if found.differ else "no difference found"
    style = "bold red" if found.differ else "bold green"
    print_text(
        f"{names[0]} ({rows[0]:,} rows) and {names[1]} ({rows[1]:,} rows): ",
        heading(verdict, style),
        f", p = {found.pvalue:.3g} at level {found.level:g}",
    )
    size, limits = found.result.effect_size, found.result.effect_interval()
    beside = f"; tolerance {found.tolerance:g}" if found.tolerance else ""
    print_text(f"effect size {size:.3g} of the variance, 95 % interval {limits.low:.3g} to {limits.high:.3g}{beside}")
    for words in found.notes:
        note(words)
    shown = (found.changed or found.columns[:3])[:SHOWN]
    width = max(len(column.name) for column in shown)
    print_text(f"\n{'column':<{width}}  corrected p  share  what changed")
    for column in shown:
        mark = "*" if column in found.changed else " "
        share = "    –" if column.share != column.share else f"{100 * column.share:4.0f}%"
        print_text(f"{column.name:<{width}}  {column.pvalue:9.3g} {mark}  {share}  {column.change}")
    more = len(found.columns) - len(shown)
    below = [f"{plural(more, 'more column')}: --json lists all."] if more else []
    below += [f"* differs, corrected for {plural(len(found.columns), 'column')}"] if found.changed else []
    if below:
        print_text(" ".join(below))


def _write(found: Comparison, out: Path) -> None:
    from mercer.writing import umask, write_whole

    if out.suffix.lower() == ".html":
        from mercer.report.document.comparison_report import comparison_report

        content = comparison_report(found, command_line()).encode()
    else:
        from mercer.report.document.comparison_report import comparison_picture

        content = comparison_picture(found, out.suffix[1:].lower())
    write_whole(out, content, 0o666 & ~umask())
    note(f"written: {out}", word="")
