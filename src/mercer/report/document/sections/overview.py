"""In short: what was predicted from what, how well, and beside what."""

from __future__ import annotations

from mercer.report.document.html import Html, Section, cards, facts, join, paragraph
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.workflow.scores import Score


def overview(material: Material) -> Section:
    """The answer on one screen."""
    training = material.training
    score, rivals = leading(material), training.rivals
    shown = [("held-out " + score.measure, value_of(score), f"95 % interval {interval_of(score)}")]
    for rival in rivals:
        other = next(found for found in training.rival_scores(rival) if found.measure == score.measure)
        shown.append((rival.name, value_of(other), "on the same rows"))
    body = join([paragraph(_verdict(material)), cards(shown), _facts(material)])
    return Section("overview", "In short", body)


def leading(material: Material) -> Score:
    """The measure that the report begins with."""
    return material.training.scores[0]


def value_of(score: Score) -> str:
    """A score for people; shares as percentages."""
    return _written(score, score.value)


def interval_of(score: Score) -> str:
    """Its interval for people."""
    return f"{_written(score, score.low)} to {_written(score, score.high)}"


def _written(score: Score, value: float) -> str:
    if score.measure == "accuracy":
        return percent(value)
    return f"{value:.3f}".replace("-", "−") if score.measure in ("R²", "AUC") else human(value)


def _verdict(material: Material) -> str:
    training = material.training
    used = [column for column in material.train if not material.notes.get(column.name)]
    what = f"{material.target} from {len(used)} column{'s' if len(used) != 1 else ''}"
    score = leading(material)
    base = next(found for found in training.rival_scores(training.rivals[0]) if found.measure == score.measure)
    if score.measure == "RMSE":
        share = 1.0 - (score.value / base.value) ** 2 if base.value > 0 else 0.0
        quality = (
            f"it explains {percent(max(share, 0.0))} of the variance"
            if share > 0.02
            else "it is hardly better than the mean"
        )
        return f"The model predicts {what}. On {material.m:,} rows that it has not seen, {quality}."
    right = f"it is right for {percent(score.value)}; always naming the largest class is right for {percent(base.value)}"
    return f"The model predicts {what}. Of {material.m:,} rows that it has not seen, {right}."


def _facts(material: Material) -> Html:
    training = material.training
    question = training.question
    rows = [
        ("data", question.data),
        ("target", f"{question.target}: {question.task}, {question.reason}"),
        ("rows", f"{material.n:,} to learn from, {material.m:,} held out"),
    ]
    if training.intervals is not None and training.covered is not None:
        asked = percent(training.settings.coverage)
        rows.append((f"{asked} intervals", f"hold {percent(training.covered)} of the held-out targets"))
    rows += [("note", note) for note in question.notes]
    rows += [("note", note) for note in material.model.result_.notes]
    return facts(rows)
