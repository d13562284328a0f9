"""`mercer watch MODEL-OR-TABLE NEW…`: report when the rows of new files differ from a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.output import heading, note, print_json, print_text

#: Exit codes.
USUAL, DRIFT = 0, 1

Reference = Annotated[
    str, typer.Argument(metavar="MODEL-OR-TABLE", help="A table of reference rows, or a saved monitor.", show_default=False)
]
New = Annotated[list[str], typer.Argument(metavar="NEW…", help="Tables in the order they arrived.", show_default=False)]
RunLength = Annotated[
    int, typer.Option("--run-length", metavar="ROWS", help="Mean number of rows until a false alarm; for a table.")
]
Order = Annotated[
    str | None, typer.Option("--order", metavar="COLUMN", help="Sort the rows of each file by it.", show_default=False)
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="FILE", help="Write the monitor with its state.", show_default=False)
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random numbers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def watch(
    reference: Reference,
    new: New,
    run_length: RunLength = 10_000,
    order: Order = None,
    save: Save = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Raise an alarm when rows that arrive are no longer like a reference, and name the columns that moved.

    With --save the monitor is continued by the next call: mercer watch FILE NEW… --save FILE.
    Exit code: 0 no drift, 1 drift, 64 bad input.
    """
    from mercer.inputs.reading import read_table
    from mercer.workflow.ordered_tables import in_order, opened_monitor, rows_for, save_monitor

    monitor, names, notes = opened_monitor(reference, order, run_length, seed)
    lines = []
    for name in new:
        table = read_table(name)
        if order is not None:
            table, _, more = in_order(table, order, name, repeats=True)
            notes += more
        was = monitor.alarm_
        alarm = monitor.update(rows_for(monitor, names, table, name))
        lines.append({"file": name, "rows": len(table), "alarm": alarm, "new": alarm and not was})
    moved = [] if not monitor.alarm_ else [names[one.name] if isinstance(one.name, int) else str(one.name)
                                           for one in monitor.moved()]  # fmt: skip
    if save is not None:
        save_monitor(monitor, names, save)
    if as_json:
        print_json({
            "drift": monitor.alarm_, "alarm_row": monitor.alarm_row_, "window": monitor.window_, "rows": monitor.rows_,
            "columns": moved, "files": lines, "notes": notes,
        })  # fmt: skip
        return DRIFT if monitor.alarm_ else USUAL
    for line in lines:
        words = heading("drift", "bold red") if line["alarm"] else heading("no drift", "bold green")
        print_text(f"{line['file']} ({line['rows']:,} rows): ", words)
    if monitor.alarm_:
        print_text(f"alarm after row {monitor.alarm_row_:,}, by its last {monitor.window_} rows")
        print_text(f"columns that moved: {', '.join(moved) or 'only their combination'}")
    for text in notes:
        note(text)
    if save is not None:
        note(f"written: {save}", word="")
    return DRIFT if monitor.alarm_ else USUAL
