"""What the columns of a table are, in a line each: for a person who is about to choose a target."""

from __future__ import annotations

from typing import Any

from mercer.inputs.frames import CATEGORY, DATE, NUMBER, TEXT, Column, noted, read_columns
from mercer.inputs.tables import Table, time_text

_WORDS = {NUMBER: "numbers", CATEGORY: "categories", DATE: "dates", TEXT: "text"}


def describe_columns(table: Table) -> list[str]:
    """A line for every column: name, what is in it, examples, holes, and whether a fit would leave it out."""
    columns = noted(read_columns(table))
    width = min(40, max(len(column.name) for column in columns))
    return [_line(column, width) for column in columns]


def _line(column: Column, width: int) -> str:
    missing = int(column.holes.sum())
    said = [f"{missing} missing"] if missing and column.note != "all missing" else []
    said += [f"{column.note}: a fit leaves it out"] if column.note else []
    examples = _examples(list(column.observed()[:200]), column.kind)
    return f"{column.name:<{width}}  {_WORDS.get(column.kind, column.kind):<10}  {examples:<48}  {'; '.join(said)}".rstrip()


def _examples(values: list[Any], kind: str, width: int = 48) -> str:
    """The first different values, as many as fit."""
    shown = ""
    for value in dict.fromkeys(_short(value, kind) for value in values):
        longer = f"{shown}, {value}" if shown else value
        if len(longer) > width - 3:
            return f"{shown}, …"
        shown = longer
    return shown


def _short(value: Any, kind: str) -> str:
    if kind == DATE:
        return time_text(value)[:16]
    text = f"{value:g}" if kind == NUMBER else " ".join(str(value).split())
    return text if len(text) <= 16 else text[:15] + "…"
