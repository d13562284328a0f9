"""The training rows that speak loudest in the predictions of held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.inputs.cells import time_text
from mercer.inputs.frames import DATE, Column
from mercer.report.document.html import Html, Section, join, paragraph, table
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.workflow.dependence import some_rows
from mercer.workflow.influence import MEASURED, influences

#: Columns shown of each row.
SHOWN = 4


def rows(material: Material) -> Section:
    """A table of rows with their share, target and main cells."""
    model = material.model
    new = model._inputs_of(some_rows(material.test, np.arange(min(material.m, MEASURED))))
    found = influences(model.members_, new)
    numbers, ids = _numbers(material)
    names = [name for name, _ in material.relevance[:SHOWN]] or [column.name for column in material.used[:SHOWN]]
    by_name = {column.name: column for column in material.train}
    lines = [
        [_called(numbers, ids, one.row), percent(one.share), _target(material.training.y_train[one.row]),
         *[_cell(by_name[name], one.row) for name in names]]
        for one in found
    ]  # fmt: skip
    words = paragraph(
        "A prediction is a sum over training rows. These add most to the predictions of held-out rows (the first "
        f"{min(material.m, MEASURED)} of them), as a share of what all {material.n:,} rows add; a single row with a "
        "large share "
        "deserves a look."
    )
    header = ["row" if ids is None else str(material.training.question.id), "share", material.target, *names]
    return Section("rows", "Rows that decide most", join([words, table(header, lines, (1,))]))


def _numbers(material: Material) -> tuple[Any, Any]:
    """The numbers of the training rows in the file, and their ids where there are."""
    question, numbers = material.training.question, material.training.X_train.numbers
    # rows of a table stand in the order of the file, whichever of them were taken
    return numbers, None if question.ids is None else question.ids[np.searchsorted(question.X.numbers, numbers)]


def _called(numbers: Any, ids: Any, row: int) -> str:
    return str(ids[row]) if ids is not None else f"{int(numbers[row]) + 1:,}"


def _target(value: Any) -> str:
    return human(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _cell(column: Column, row: int) -> Html | str:
    if column.holes[row]:
        return "missing"
    value = column.cells[row]
    if isinstance(value, (float, np.floating)):
        return human(float(value))
    words = time_text(value) if column.kind == DATE else str(value)
    return words if len(words) <= 40 else f"{words[:39]}…"
