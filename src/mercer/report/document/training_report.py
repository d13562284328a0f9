"""`write_report`: a fit as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import plural
from mercer.inputs.frames import DATE, Column
from mercer.inputs.tables import time_text
from mercer.markup.html import (
    Html,
    Section,
    cards,
    code,
    facts,
    human,
    join,
    mark,
    page,
    paragraph,
    percent,
    shortened,
    table,
    text,
)
from mercer.numeric.memory import format_bytes
from mercer.planning import format_seconds
from mercer.report.document.columns import columns_section, objects_section
from mercer.report.document.held_out import apart_section, classes_section, predictions_section
from mercer.report.document.model import card_section, model_section
from mercer.report.document.report_data import ReportData
from mercer.workflow.doctor import WARNING, Finding, examine
from mercer.workflow.inspection import MEASURED, influences
from mercer.workflow.scores import Difference, Score
from mercer.workflow.training import Elsewhere, Training
from mercer.writing import umask, write_whole


def training_report(training: Training) -> str:
    """Return the report of a fit as HTML."""
    data = ReportData(training)
    question = training.question
    sections = [
        _overview_section(data),
        _findings_section(data),
        _errors_section(data),
        predictions_section(data) if data.classes is None else classes_section(data),
        *apart_section(data),
        columns_section(data),
        *objects_section(data),
        _rows_section(data),
        model_section(data),
        card_section(data),
        _cost_section(data),
    ]
    away = training.elsewhere
    count = data.n + data.m if away is None else away.rows
    version = training.versions.get("mercer", "")
    return page(
        f"{question.target}, predicted",
        f"{question.data}: {question.task} on {plural(count, 'row')}",
        sections,
        f"Written by mercer {version}. This file is complete: it loads nothing and sends nothing.",
    )


def write_report(training: Training, path: Path) -> int:
    """Write the report of a fit to a file, complete or not at all, and return its size in bytes."""
    content = training_report(training).encode()
    write_whole(path, content, 0o666 & ~umask())
    return len(content)


def _overview_section(data: ReportData) -> Section:
    """Return the main results: scores beside those of other models, and the facts of the question."""
    training = data.training
    score, rivals = _leading(data), training.rivals
    shown = [("held-out " + score.measure, _value_of(score), f"95 % interval {_interval_of(score)}")]
    for rival in rivals:
        other = next(found for found in training.rival_scores(rival) if found.measure == score.measure)
        shown.append((rival.name, _value_of(other), "on the same rows"))
    body = join([paragraph(" ".join([_answer(data), *_differences(data)])), cards(shown), _question(data)])
    return Section("overview", "In short", body)


def _leading(data: ReportData) -> Score:
    """Return the first score, which the summary shows."""
    return data.training.scores[0]


def _value_of(score: Score) -> str:
    """Return a score as text, accuracies as percentages."""
    return _written(score, score.value)


def _interval_of(score: Score) -> str:
    """Return the interval of a score as text."""
    return f"{_written(score, score.low)} to {_written(score, score.high)}"


def _written(score: Score, value: float) -> str:
    if score.measure == "accuracy":
        return percent(value)
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−") if score.measure in ("R²", "AUC") else human(value)


def _answer(data: ReportData) -> str:
    training = data.training
    used = [column for column in data.train if not data.notes.get(column.name)]
    what = f"{data.target} from {plural(len(used), 'column')}"
    score = _leading(data)
    base = next(found for found in training.rival_scores(training.rivals[0]) if found.measure == score.measure)
    if score.measure == "RMSE":
        share = 1.0 - (score.value / base.value) ** 2 if base.value > 0 else 0.0
        quality = (
            f"it explains {percent(max(share, 0.0))} of the variance"
            if share > 0.02
            else "it is hardly better than the mean"
        )
        return f"The model predicts {what}. On {plural(data.m, 'held-out row')}, {quality}."
    right = (
        f"{percent(score.value)} are predicted correctly; always predicting the largest class gives {percent(base.value)}"
    )
    return f"The model predicts {what}. Of {plural(data.m, 'held-out row')}, {right}."


def _question(data: ReportData) -> Html:
    training = data.training
    question = training.question
    rows = [
        ("data", question.data),
        ("target", f"{question.target}: {question.task}, {question.reason}"),
        ("rows", f"{data.n:,} for training, {data.m:,} held out: {training.split}"),
    ]
    if training.intervals is not None and training.covered is not None:
        coverage = percent(training.settings.coverage)
        rows.append((f"{coverage} intervals", f"contain {percent(training.covered)} of the held-out targets"))
    rows += [("note", note) for note in question.notes]
    rows += [("note", note) for note in training.notes]
    return facts(rows)


def _findings_section(data: ReportData) -> Section:
    """Return the findings about data and fit, warnings first."""
    training = data.training
    found = [
        *_narrow_intervals(data),
        *examine(data.train, training.y_train, data.test, data.notes, data.spectrum, data.classes),
    ]
    found.sort(key=lambda finding: finding.level != WARNING)
    if not found:
        clean = "No problems found: no leaks, no identifiers, no repeated rows, length scales of a plausible size."
        return Section("findings", "What to look at", paragraph(clean))
    items = "".join(
        f'<li class="{"warning" if one.level == WARNING else "note"}"><b>{text(one.title, 200)}</b>{text(one.detail)}</li>'
        for one in found
    )
    return Section("findings", "What to look at", Html(f'<ul class="warnings">{items}</ul>'))


def _narrow_intervals(data: ReportData) -> list[Finding]:
    """Return a warning if the intervals contain fewer targets than chance allows."""
    covered, wanted = data.training.covered, data.training.settings.coverage
    if covered is None:
        return []
    chance = 2.6 * np.sqrt(wanted * (1 - wanted) / data.m)
    if covered >= wanted - chance - 0.02:
        return []
    return [Finding(
        WARNING, "The intervals are too narrow",
        f"They should contain {percent(wanted)} of the targets, and contain {percent(covered)} of those of "
        f"{plural(data.m, 'held-out row')}. The held-out rows may follow another distribution: mercer compare tests this, "
        "also column by column.",
    )]  # fmt: skip


def _errors_section(data: ReportData) -> Section:
    """Return the scores of this model and of its rivals, and whether the differences are larger than the noise."""
    training = data.training
    measures = [score.measure for score in training.scores]
    lines = [("this model", list(training.scores))] + [
        (rival.name, training.rival_scores(rival)) for rival in training.rivals
    ]
    best = {measure: _best([_named(scores, measure) for _, scores in lines]) for measure in measures}
    rows = [[name, *[_score_cell(_named(scores, measure), best[measure]) for measure in measures]] for name, scores in lines]
    parts = [
        paragraph(
            f"{_fitted_rows(data)} scored on the same {plural(data.m, 'held-out row')}, with 95 % bootstrap intervals."
        ),
        table(["model", *measures], rows, range(1, len(measures) + 1)),
        *[paragraph(f"{rival.name}: {rival.how}.", "quiet") for rival in training.rivals[1:]],
    ]
    return Section("errors", "How good is it?", join(parts))


def _fitted_rows(data: ReportData) -> str:
    if len(data.training.y_train) == data.n:
        return f"All models were fitted to the same {plural(data.n, 'row')} and"
    return f"This model was fitted to {plural(data.n, 'row')}, the others to the numbers given below; all are"


def _named(scores: list[Score], measure: str) -> Score | None:
    return next((score for score in scores if score.measure == measure), None)


def _best(scores: list[Score | None]) -> float:
    known = [score for score in scores if score is not None]
    return (min if known[0].smaller_is_better else max)(score.value for score in known)


def _score_cell(score: Score | None, best: float) -> object:
    if score is None:
        return "–"
    words = f"{_value_of(score)} ({_interval_of(score)})"
    return mark(words, "best") if score.value == best else words


def _differences(data: ReportData) -> list[str]:
    training = data.training
    found = []
    for rival in training.rivals[1:]:
        gap = training.difference(rival, data.resampled)
        regression = training.probabilities is None
        size, unit = _sized(gap, human if regression else percent), "RMSE" if regression else "share of mistakes"
        if gap.low > 0:
            found.append(f"It is better than {rival.name}: its {unit} is smaller by {size}.")
        elif gap.high < 0:
            found.append(f"It is worse than {rival.name}: its {unit} is larger by {size}.")
        else:
            found.append(f"The difference from {rival.name} is within the noise of {plural(data.m, 'held-out row')}.")
    return found


def _sized(gap: Difference, write: Callable[[float], str]) -> str:
    low, high = sorted((abs(gap.low), abs(gap.high)))
    return f"{write(abs(gap.value))} ({write(low)} to {write(high)})"


#: Columns shown of each row.
SHOWN = 4


def _rows_section(data: ReportData) -> Section:
    """Return the training rows with the largest weight in predictions, with their target and main cells."""
    model = data.model
    found = influences(model.members_, data.training.judged.inputs)
    numbers, ids = _row_names(data)
    names = [name for name, _ in data.relevance[:SHOWN]] or [column.name for column in data.used[:SHOWN]]
    by_name = {column.name: column for column in data.train}
    lines = [
        [_called(numbers, ids, one.row), percent(one.share), _target(data.training.y_train[one.row]),
         *[_shown_cell(by_name[name], one.row) for name in names]]
        for one in found
    ]  # fmt: skip
    words = paragraph(
        "A prediction is a sum over training rows. The table lists the rows with the largest contribution to the "
        f"predictions of {plural(min(data.m, MEASURED), 'held-out row')}, as a share of all {plural(data.n, 'row')}. "
        "Check a row that has a large share by itself."
    )
    header = ["row" if ids is None else str(data.training.question.id), "share", data.target, *names]
    return Section("rows", "Most influential rows", join([words, table(header, lines, (1,))]))


def _row_names(data: ReportData) -> tuple[Any, Any]:
    """Return the numbers of the training rows in the file, and their ids if there is an id column."""
    question, numbers = data.training.question, data.training.numbers
    # a selection keeps the rows in the order of the file, which allows the search by number
    return numbers, None if question.ids is None else question.ids[np.searchsorted(question.X.numbers, numbers)]


def _called(numbers: Any, ids: Any, row: int) -> str:
    return str(ids[row]) if ids is not None else f"{int(numbers[row]) + 1:,}"


def _target(value: Any) -> str:
    return human(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _shown_cell(column: Column, row: int) -> Html | str:
    if column.holes[row]:
        return "missing"
    value = column.cells[row]
    if isinstance(value, (float, np.floating)):
        return human(float(value))
    words = time_text(value) if column.kind == DATE else str(value)
    return shortened(words, 40)


def _cost_section(data: ReportData) -> Section:
    """Return time, memory and versions of the fit, and the command that repeats it."""
    training = data.training
    steps = {"read": "reading", "fit": "choosing and fitting", "judge": "scoring, including other models"}
    rows = [(steps.get(step, step), format_seconds(seconds)) for step, seconds in training.seconds.items() if seconds > 0]
    if training.peak_bytes:
        rows.append(("peak memory of the process", format_bytes(training.peak_bytes)))
    if training.elsewhere is not None:
        rows += _workers(training.elsewhere)
    rows += [
        ("seed", str(training.settings.seed)),
        ("versions", ", ".join(f"{name} {version}" for name, version in training.versions.items())),
    ]
    parts = [facts(rows)]
    if training.command:
        parts += [paragraph("This command repeats the fit, given the same file and versions:"), code(training.command)]
    return Section("cost", "Time, memory and how to repeat it", join(parts))


def _workers(away: Elsewhere) -> list[tuple[str, str]]:
    chunks, passes = plural(away.chunks, "chunk"), "1 pass" if away.passes == 1 else f"{away.passes:,} passes"
    return [
        ("cluster", f"{plural(away.workers, 'worker')}, {plural(away.threads, 'thread')}"),
        ("read there", f"{format_bytes(away.bytes)} in {chunks}, {passes} over them"),
    ]
