"""`mercer novelty TRAIN NEW`: which new rows are unlike the known ones, at a given rate of false alarms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.compare import check_place, command_line
from mercer.cli.output import heading, note, print_json, print_text
from mercer.errors import InputError

if TYPE_CHECKING:
    from mercer.workflow.novelty import NoveltyReport

#: Exit codes.
USUAL, NOVEL = 0, 1

#: Rows printed.
SHOWN = 10

Train = Annotated[str, typer.Argument(metavar="TRAIN", help="A table of known rows.", show_default=False)]
New = Annotated[
    str, typer.Argument(metavar="NEW", help="A table of rows to judge, with the same columns.", show_default=False)
]
Alpha = Annotated[
    float, typer.Option("--alpha", metavar="LEVEL", help="Rate of false alarms among rows like the known ones.")
]
Fdr = Annotated[
    bool,
    typer.Option("--fdr", help="LEVEL is the expected share of false alarms among the rows that are called novel."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between; may be repeated.", show_default=False),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="A column of NEW that names its rows: not looked at, kept in the answers.",
                 show_default=False),
]  # fmt: skip
Seed = Annotated[int, typer.Option(metavar="N", help="Of the known rows that are drawn where there are many.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the score of every row (.csv), or a report (.html).", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def novelty(
    train: Train,
    new: New,
    alpha: Alpha = 0.05,
    fdr: Fdr = False,
    drop: Drop = None,
    id: Id = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: AsJson = False,
) -> int:
    """Find the rows of a table that are unlike those of another one.

    Every row gets a p-value: of rows that are like the known ones, at most that share looks so strange.
    Exit code: 0 no more than false alarms explain, 1 novelty, 64 bad input.
    """
    from mercer.inputs.reading import read_table, refuse_unknown
    from mercer.workflow.novelty import novelty as judge

    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, such as 0.05; got {alpha:g}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {seed}.")
    check_place(out, (".csv", ".html"))
    known, unknown = read_table(train), read_table(new)
    omitted = {name.strip() for text in drop or [] for name in ([text] if text in known.columns else text.split(","))}
    wrong = sorted(omitted - set(known.columns))
    if wrong:
        raise InputError(f"--drop {wrong[0]!r}: {train} has no such column.")
    if id is not None:
        refuse_unknown(new, unknown.columns, [id])
    ids = None if id is None else unknown[id].to_numpy()
    kept = [name for name in known.columns if name not in {*omitted, id}]
    if not kept:
        raise InputError(f"{train}: no column is left to look at.")
    found = judge(known[kept], unknown, level=alpha, discoveries=fdr, seed=seed, names=(train, new))
    if out is not None:
        _write(found, {} if id is None else {id: ids}, out, (train, new))
    if as_json:
        print_json(_as_dict(found, ids))
    else:
        _print(found, new, ids)
    return NOVEL if found.alarm else USUAL


def _as_dict(found: NoveltyReport, ids: Any) -> dict[str, object]:
    rows = [
        {"row": int(row) + 1, **({} if ids is None else {"id": ids[row]}), "pvalue": found.pvalues[row],
         "distance": found.distances[row], "why": why}
        for row, why in zip(found.novel, found.reasons, strict=True)
    ]  # fmt: skip
    return {
        "novel": found.alarm,
        "rows": len(found.pvalues),
        "strange_rows": rows,
        "false_alarm_level": found.level,
        "control": "false discoveries" if found.discoveries else "false alarms",
        "expected_false_alarms": found.level * (len(found.novel) if found.discoveries else len(found.pvalues)),
        "smallest_possible_pvalue": 1.0 / (found.trained + 1),
        "known_rows": found.rows,
        "known_rows_used": found.trained,
        "notes": list(found.notes),
    }


def _print(found: NoveltyReport, name: str, ids: Any) -> None:
    n, count = len(found.pvalues), len(found.novel)
    word = "novelty" if found.alarm else "no novelty beyond false alarms"
    print_text(f"{name}: ", heading(word, "bold red" if found.alarm else "bold green"))
    if found.discoveries:
        print_text(f"{count:,} of {n:,} rows are novel; at most {found.level:g} of them are expected to be false alarms")
    else:
        print_text(f"{count:,} of {n:,} rows have p <= {found.level:g}; about {found.level * n:.3g} are expected by chance")
    for words in found.notes:
        note(words)
    if 1.0 / (found.trained + 1) > found.level:
        note(f"{found.trained} known rows allow no p-value below {1 / (found.trained + 1):.3g}; give more of them.")
    if count:
        print_text("\n   row         p  cells with the largest shares in its distance to known rows")
    for row, why in list(zip(found.novel.tolist(), found.reasons, strict=True))[:SHOWN]:
        called = "" if ids is None else f"{ids[row]}: "
        print_text(f"{row + 1:6d}  {found.pvalues[row]:8.3g}  {called}{why or 'the combination of its cells'}")
    if count > SHOWN:
        print_text(f"{count - SHOWN} more: --out FILE.csv or --json lists all")


def _write(found: NoveltyReport, ids: dict[str, Any], out: Path, names: tuple[str, str]) -> None:
    import numpy as np

    from mercer.cli.columns_file import as_csv
    from mercer.writing import umask, write_whole

    n = len(found.pvalues)
    if out.suffix.lower() == ".html":
        from mercer.report.document.novelty_report import novelty_report

        content = novelty_report(found, names, command_line())
    else:
        answers = {
            "row": np.arange(1, n + 1),
            "pvalue": found.pvalues,
            "distance": found.distances,
            "novel": found.is_novel.astype(int),
        }
        content = as_csv(ids, answers, np.ones(n, dtype=bool))
    write_whole(out, content.encode(), 0o666 & ~umask())
    note(f"{n:,} rows written to {out}", word="")
