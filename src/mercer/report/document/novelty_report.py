"""The rows of a table that are unlike those of another one, as one HTML file."""

from __future__ import annotations

from mercer.errors import plural
from mercer.markup.html import Section, cards, facts, human, join, page, paragraph, table
from mercer.workflow.novelty import NoveltyReport

#: Rows listed.
LISTED = 200


def novelty_report(found: NoveltyReport, names: tuple[str, str], command: str = "") -> str:
    """Return the HTML page of the scores of new rows."""
    word = "novelty" if found.alarm else "no novelty beyond false alarms"
    sections = [_verdict(found, names), _rows(found), _method(found, command)]
    footer = "This file is complete: it loads nothing and sends nothing."
    return page(f"{names[1]}: {word}", f"Held against {names[0]}", sections, footer)


def _verdict(found: NoveltyReport, names: tuple[str, str]) -> Section:
    n, count = len(found.pvalues), len(found.novel)
    if found.alarm:
        words = f"{names[1]} holds rows that are unlike those of {names[0]}, more or farther out than false alarms explain."
    else:
        words = f"The rows of {names[1]} look like those of {names[0]}: no more of them stand out than false alarms explain."
    shown = [
        ("rows that stand out", f"{count:,} of {n:,}", f"p <= {human(found.level)}"),
        ("expected by chance", human(found.level * n), "if all rows are usual"),
        ("known rows", f"{found.trained:,}", f"of {found.rows:,}"),
    ]
    notes = [facts([("note", note) for note in found.notes])] if found.notes else []
    return Section("verdict", "In short", join([paragraph(words), cards(shown), *notes]))


def _rows(found: NoveltyReport) -> Section:
    listed = list(zip(found.novel.tolist(), found.reasons, strict=True))[:LISTED]
    cells = [
        [row + 1, human(found.pvalues[row], 2), human(found.distances[row]), why or "the combination of its cells"]
        for row, why in listed
    ]
    more = len(found.novel) - len(listed)
    rest = [paragraph(f"{plural(more, 'row')} more: a file that ends in .csv lists all.", "quiet")] if more else []
    body = table(["row", "p", "novelty", "least usual cells"], cells, (0, 1, 2)) if cells else paragraph("None.")
    return Section("rows", "Rows that stand out, the most novel first", join([body, *rest]))


def _method(found: NoveltyReport, command: str) -> Section:
    words = (
        "Novelty is the part of a row, in the space of a kernel over the columns, that the known rows do not explain. p is "
        "the share of rows, the known ones and the new one, each held against all others, that are explained as little. "
        "Rows like the known ones have p <= a with a chance of at most a."
    )
    told = [("level", human(found.level))]
    return Section("method", "How", join([paragraph(words), facts([*told, ("command", command)] if command else told)]))
