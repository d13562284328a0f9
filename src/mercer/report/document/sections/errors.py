"""Errors on held-out rows with intervals, beside the mean, a linear model and gradient boosting."""

from __future__ import annotations

from mercer.report.document.html import Section, join, mark, paragraph, table
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.report.document.sections.overview import interval_of, value_of
from mercer.workflow.scores import Difference, Score, classification_difference, regression_difference


def errors(material: Material) -> Section:
    """A table of models and measures, and whether the differences are more than chance."""
    training = material.training
    measures = [score.measure for score in training.scores]
    lines = [("this model", list(training.scores))] + [
        (rival.name, training.rival_scores(rival)) for rival in training.rivals
    ]
    best = {measure: _best([_named(scores, measure) for _, scores in lines]) for measure in measures}
    rows = [[name, *[_cell(_named(scores, measure), best[measure]) for measure in measures]] for name, scores in lines]
    said = [
        paragraph(
            f"{_learned(material)} are judged on the same {material.m:,} held-out rows; "
            "intervals are 95 %, by drawing held-out rows again."
        ),
        table(["model", *measures], rows, range(1, len(measures) + 1)),
        *[paragraph(words) for words in _differences(material)],
        *[paragraph(f"{rival.name}: {rival.how}.", "quiet") for rival in training.rivals[1:]],
    ]
    return Section("errors", "How good is it?", join(said))


def _learned(material: Material) -> str:
    if len(material.training.y_train) == material.n:
        return f"All models learned from the same {material.n:,} rows and"
    return f"This model learned from {material.n:,} rows, the others from as many as stands below; all"


def _named(scores: list[Score], measure: str) -> Score | None:
    return next((score for score in scores if score.measure == measure), None)


def _best(scores: list[Score | None]) -> float:
    known = [score for score in scores if score is not None]
    return (min if known[0].smaller_is_better else max)(score.value for score in known)


def _cell(score: Score | None, best: float) -> object:
    if score is None:
        return "–"
    words = f"{value_of(score)} ({interval_of(score)})"
    return mark(words, "best") if score.value == best else words


def _differences(material: Material) -> list[str]:
    training = material.training
    found = []
    for rival in training.rivals[1:]:
        if training.probabilities is None:
            gap = regression_difference(training.y_test, training.predictions, rival.predictions, material.resampled)
            size, unit = _sized(gap, human), "RMSE"
        else:
            gap = classification_difference(material.codes, training.probabilities, rival.predictions, material.resampled)
            size, unit = _sized(gap, percent), "share of mistakes"
        if gap.low > 0:
            found.append(f"Beside {rival.name} it is better: its {unit} is smaller by {size}.")
        elif gap.high < 0:
            found.append(f"Beside {rival.name} it is worse: its {unit} is larger by {size}.")
        else:
            found.append(f"Between it and {rival.name} these rows show no clear difference.")
    return found


def _sized(gap: Difference, write: object) -> str:
    low, high = sorted((abs(gap.low), abs(gap.high)))
    return f"{write(abs(gap.value))} ({write(low)} to {write(high)})"  # type: ignore[operator]
