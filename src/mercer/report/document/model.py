"""The fitted model in a report: candidates, kernels with their proofs, the spectrum, and the model card."""

from __future__ import annotations

import numpy as np

from mercer.errors import plural
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.search import Attempt
from mercer.inputs.frames import CATEGORY, NUMBER
from mercer.markup.html import (
    Html,
    Section,
    code,
    facts,
    figure,
    folded,
    gallery,
    heading,
    human,
    join,
    mark,
    paragraph,
    percent,
    rounded,
    table,
)
from mercer.markup.svg import Picture, limits
from mercer.report.document.report_data import ReportData
from mercer.workflow.inspection import PENALTIES, SCALES, GramSpectrum, Neighborhood

#: Candidates listed, at most.
LISTED = 24

#: Columns whose range is listed in the model card.
RANGES = 12


def model_section(data: ReportData) -> Section:
    """Return the candidates with their errors, and the chosen kernels with proofs and spectrum."""
    result = data.model.result_
    members = sorted(data.model.members_, key=lambda member: -member.weight)
    count = len(result.attempts)
    tried = f"{count} candidates were compared" if count > 1 else "One candidate was scored"
    parts = [
        paragraph(
            f"Kernel ridge regression, f(x) = Σ aᵢ k(xᵢ, x) + b{_mean_of(members)}. {tried} by the "
            f"{result.measure} of {_criterion(data)}. Final fit: {result.route}."
        ),
        _attempts(result.attempts, result.measure),
        heading("The chosen kernels"),
        *[_member(member) for member in members],
        heading("The spectrum" if data.neighborhood is None else "The chosen point and the spectrum"),
        gallery(_pictures(data)),
        _spectrum_words(data.spectrum),
    ]
    return Section("model", "What was fitted, and why", join(parts))


def _criterion(data: ReportData) -> str:
    result, away = data.model.result_, data.training.elsewhere
    if away is not None:
        return f"{result.judged_by}, for every length scale and penalty in closed form. {away.limits}"
    return f"held-out parts ({result.judged_by}); length scales and penalty were chosen without the held-out part"


def _mean_of(members: list[Member]) -> str:
    return "" if len(members) == 1 else f", here as the weighted mean of {len(members)} models"


def _attempts(attempts: tuple[Attempt, ...], measure: str) -> Html:
    rows = []
    for attempt in attempts[:LISTED]:
        name = attempt.label + (", target transformed" if attempt.transform == "yeo-johnson" else "")
        error = f"{human(attempt.error)} ± {human(attempt.standard_error, 2)}"
        fate = (
            f"chosen, weight {percent(attempt.weight)}"
            if attempt.weight
            else ("" if attempt.complete else "stopped after one fold")
        )
        kind = "chosen" if attempt.weight else ""
        rows.append([mark(name, kind) if kind else name, _scaling(attempt.scaling), error, fate])
    listed = [table(["candidate", "columns", f"{measure} ± standard error", ""], rows, (2,))]
    if len(attempts) > LISTED:
        listed.append(paragraph(f"The best {LISTED} of {len(attempts)} are listed.", "quiet"))
    return join(listed)


def _scaling(rule: str) -> str:
    return {"standard": "standardized", "quantile": "as normal quantiles", "columns": "each by its kind"}.get(rule, rule)


def _member(member: Member) -> Html:
    kernel = member.model.kernel
    certificate = kernel.certificate()
    transform = ", target transformed by Yeo-Johnson" if len(member.transform.power) else ""
    steps = certificate.to_dict()["proof"] or []
    proof = "\n".join(f"[{step['step']}] {rounded(step['kernel'])} ({step['rule']}): {step['because']}." for step in steps)
    return join(
        [
            facts(
                [
                    (member.label, f"weight {percent(member.weight)}, columns {_scaling(member.scaling)}{transform}"),
                    ("kernel", rounded(repr(kernel), longest=150)),
                    ("penalty alpha", human(member.model.alpha)),
                    ("positive semi-definite", _status(certificate.status, len(steps), sorted(certificate.facts))),
                ]
            ),
            folded("the proof, step by step", code(proof)) if proof else Html(""),
        ]
    )


def _status(status: str, steps: int, known: list[str]) -> str:
    if status != "valid":
        return status
    also = [fact for fact in known if fact in ("universal", "characteristic")]
    return f"yes, proved in {plural(steps, 'step')}{'; ' + ' and '.join(also) if also else ''}"


def _pictures(data: ReportData) -> list[Html]:
    found = []
    if data.neighborhood is not None:
        found.append(figure(_surface(data.neighborhood), _surface_caption(data.neighborhood, data.main_member)))
    words = (
        f"Eigenvalues of the Gram matrix of {plural(data.spectrum.rows, 'training row')}, divided by their number; the "
        "dashed line is the penalty: directions below it have little effect."
    )
    found.append(figure(_spectrum(data.spectrum), words))
    return found


def _surface(found: Neighborhood) -> Html:
    errors = found.errors
    x_ticks = [(float(i) + 0.5, _factor(SCALES[i])) for i in range(0, len(SCALES), 2)]
    y_ticks = [(float(j) + 0.5, _factor(PENALTIES[j])) for j in range(0, len(PENALTIES), 2)]
    picture = Picture(
        (0.0, float(len(SCALES))), (0.0, float(len(PENALTIES))), x_name="length scales, times the chosen ones",
        y_name="penalty, times the chosen one", title="Errors around the chosen point", x_ticks=x_ticks, y_ticks=y_ticks,
    )  # fmt: skip
    low, high = float(errors.min()), float(min(errors.max(), 1.6 * errors.min()))
    for i in range(len(SCALES)):
        for j in range(len(PENALTIES)):
            shade = 1.0 - (float(np.clip((errors[i, j] - low) / (high - low), 0.0, 1.0)) if high > low else 0.0)
            x0, x1 = picture.x([i, i + 1]).tolist()
            y1, y0 = picture.y([j, j + 1]).tolist()
            picture.box(x0, y0, x1 - x0 - 0.5, y1 - y0 - 0.5, "fa", 0.04 + 0.8 * shade)
    i, j = len(SCALES) // 2, len(PENALTIES) // 2
    picture.points([i + 0.5], [j + 0.5], "b", 5.5, "spot")
    return picture.svg()


def _surface_caption(found: Neighborhood, member: Member) -> str:
    i, j = len(SCALES) // 2, len(PENALTIES) // 2
    return (
        f"Leave-one-out error of {member.label} around the chosen point (the dot), dark is small: "
        f"{human(float(found.errors[i, j]), 2)} standard deviations there, {human(float(found.errors.min()), 2)} at best. "
        f"Computed on {plural(found.rows, 'row')}, with fixed metric."
    )


def _factor(value: float) -> str:
    return human(value) if value >= 1 else (f"1/{round(1 / value)}" if value >= 0.01 else human(value))


def _spectrum(found: GramSpectrum) -> Html:
    values = found.eigenvalues
    shown = values[values > max(1e-12 * values[0], 1e-300)]
    places = np.arange(1.0, len(shown) + 1.0)
    picture = Picture(
        (1.0, float(max(2, len(values)))), limits(shown, [found.penalty], log=True), x_name="number of the eigenvalue",
        y_name="eigenvalue", title="Spectrum of the Gram matrix", x_log=True, y_log=True,
    )  # fmt: skip
    picture.line(places, shown)
    picture.rule((1.0, float(max(2, len(values)))), (found.penalty, found.penalty))
    return picture.svg()


def _spectrum_words(found: GramSpectrum) -> Html:
    return paragraph(
        f"Effective dimension {human(found.dimension)}: the model has about that many degrees of freedom for "
        f"{plural(found.of, 'row')}. Median similarity of two rows: {human(found.similarity, 2)} (0: unrelated, 1: equal)."
        + (f" Computed on {plural(found.rows, 'row')}, drawn with the seed." if found.rows < found.of else "")
    )


def card_section(data: ReportData) -> Section:
    """Return what a reader who did not fit the model has to know before using it."""
    training, result = data.training, data.model.result_
    used = [column for column in result.columns if not column.note]
    rows: list[tuple[str, object]] = [
        ("purpose", f"to predict {data.target} ({training.question.task}) for rows like those of {training.question.data}"),
        ("data", f"{plural(result.rows, 'row')}, {plural(len(used), 'column')} used"
                 + (f"; rows that equal another one: {result.copies:,}" if result.copies else "")),
        ("split", f"{plural(data.m, 'row')} held out before anything was chosen: {training.split}"),
        ("choice", f"{plural(len(result.attempts), 'candidate')} compared by {result.measure}; {result.judged_by}"),
        ("model", "; ".join(f"{one.label} (weight {one.weight:.2f})" for one in result.chosen) + f"; {result.route}"),
    ]  # fmt: skip
    if training.covered is not None:
        rows.append((
            "intervals",
            f"conformal, {percent(training.settings.coverage)} asked for, {percent(training.covered)} of the held-out "
            "targets inside; the coverage holds on average over rows like the training rows, not for each of them",
        ))  # fmt: skip
    else:
        rows.append(("probabilities", "calibrated on rows that were left out of the fits"))
    return Section("card", "Model card", join([facts(rows), paragraph("Known limits:"), *_limits(data)]))


def _limits(data: ReportData) -> list[Html]:
    """Return the limits: ranges of numbers, known levels, and rows that differ from the training rows."""
    notes = list(data.training.notes)
    words = [
        "Beyond the ranges below the model extrapolates; a category that training did not have counts as unknown.",
        "mercer predict counts missing cells, unknown categories and later rows; mercer compare tests whether new rows "
        "follow another distribution.",
        *[f"{note[:1].upper()}{note[1:]}." for note in notes],
    ]
    lines = []
    for column in data.used[:RANGES]:
        seen = column.observed()
        if column.kind == NUMBER and len(seen):
            lines.append([column.name, f"{human(float(min(seen)))} to {human(float(max(seen)))}"])
        elif column.kind == CATEGORY and len(seen):
            lines.append([column.name, plural(len(set(seen)), "level")])
    found = [paragraph(one, "quiet") for one in words]
    return [*found, table(["column", "seen in training"], lines)] if lines else found
