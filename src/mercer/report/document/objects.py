"""The section of a report on letters or atoms, for models of a single column of text, graphs or molecules."""

from __future__ import annotations

import numpy as np

from mercer.estimators.tables.object_explanation import by_objects
from mercer.markup.html import Html, Section, join, paragraph
from mercer.report.document.report_data import ReportData

#: Held-out rows that are drawn: those with the largest and the smallest predictions.
EACH = 2


def objects_section(data: ReportData) -> list[Section]:
    """Return the contributions of letters or atoms for some held-out rows; nothing for other models."""
    inputs = data.training.judged.inputs
    if len(data.used) != 1 or not data.m:
        return []
    predictions = data.training.predictions if data.classes is None else data.training.probabilities
    assert predictions is not None
    order = np.argsort(np.asarray(predictions).reshape(data.m, -1)[:, -1], kind="stable")
    rows = np.unique(np.concatenate([order[-EACH:], order[:EACH]]))
    target = None if data.classes is None else data.classes[-1]
    found = by_objects(data.model, {rule: table.take(rows) for rule, table in inputs.items()}, target)
    if found is None:
        return []
    words = paragraph(
        "Held-out rows with the largest and the smallest predictions. Each prediction is the sum of the intercept and of "
        "the contributions shown: blue raises it, orange lowers it. The table lists the largest parts."
    )
    return [Section("objects", "Which parts decide?", join([words, *[Html(one.html()) for one in found]]))]
