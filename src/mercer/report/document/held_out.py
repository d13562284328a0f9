"""Held-out rows in a report: predictions with intervals, classes with probabilities, errors over time or by group."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, plural
from mercer.estimators.prediction_sets import marginal_sets
from mercer.inputs.frames import Column
from mercer.inputs.tables import time_text
from mercer.markup.html import Html, Section, figure, gallery, human, join, paragraph, percent, shortened, table, text
from mercer.markup.svg import LETTER, WIDTH, Picture, element, embedded, limits
from mercer.report.document.report_data import ReportData
from mercer.workflow.scores import roc

#: Points of one picture, at most.
DRAWN = 1500

#: Coverages at which the intervals are checked.
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

#: Coverages at which sets of classes are checked.
SET_COVERAGES = (0.8, 0.9, 0.95, 0.99)

#: Groups in the table, those with the largest errors.
SHOWN_GROUPS = 20


def predictions_section(data: ReportData) -> Section:
    """Return predicted against true values, residuals, and the coverage of intervals."""
    training = data.training
    y, predicted = np.asarray(training.y_test, dtype=np.float64), np.asarray(training.predictions, dtype=np.float64)
    shown = np.arange(len(y))
    if len(y) > DRAWN:
        shown = np.sort(np.random.default_rng(0).choice(len(y), DRAWN, replace=False))
    some = f"{len(shown):,} of {len(y):,} held-out rows" if len(shown) < len(y) else f"all {len(y):,} held-out rows"
    residuals = y - predicted
    half = human(float(np.median(np.abs(residuals))))
    coverage = _coverage(data)
    figures = [
        figure(_against(y[shown], predicted[shown], data), f"Predicted and true values of {some}; equal on the line."),
        figure(_residuals(predicted[shown], residuals[shown]), f"True minus predicted values of {some}. A visible "
               "pattern is an effect that the model misses."),
        figure(_residual_histogram(residuals), f"{plural(len(y), 'residual')}, half of them within ± {half}."),
        figure(_calibration(coverage, len(y)), "Nominal coverage of the intervals, and share of targets that they contain. "
               "The band is the range of chance for this number of rows."),
    ]  # fmt: skip
    rows = [[percent(nominal), percent(held), human(width)] for nominal, held, width in coverage]
    parts = [gallery(figures), _widths(data), table(["interval", "contains", "median width"], rows, (0, 1, 2))]
    return Section("predictions", "Predictions and intervals", join(parts))


def _against(y: Floats, predicted: Floats, data: ReportData) -> Html:
    ends = limits(y, predicted)
    picture = Picture(ends, ends, x_name=f"true {data.target}", y_name="predicted", title="Predicted against true values")
    picture.rule(ends, ends)
    picture.points(y, predicted)
    return picture.svg()


def _residuals(predicted: Floats, residuals: Floats) -> Html:
    reach = float(np.abs(residuals).max(initial=0.0)) * 1.05 or 1.0
    picture = Picture(limits(predicted), (-reach, reach), x_name="predicted", y_name="residual", title="Residuals")
    picture.rule((picture.x.low, picture.x.high), (0.0, 0.0))
    picture.points(predicted, residuals)
    if len(predicted) >= 60:
        order = np.argsort(predicted, kind="stable")
        parts = np.array_split(order, 12)
        middle = [float(np.mean(predicted[part])) for part in parts]
        picture.line(middle, [float(np.mean(residuals[part])) for part in parts], "b")
        picture.legend([("mean", "b")])
    return picture.svg()


def _residual_histogram(residuals: Floats) -> Html:
    low, high = np.quantile(residuals, [0.005, 0.995])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(np.clip(residuals, low, high), bins=min(40, max(8, len(residuals) // 8)), range=(low, high))
    picture = Picture(
        (low, high),
        (0.0, float(counts.max()) * 1.05 or 1.0),
        x_name="residual",
        y_name="rows",
        title="Histogram of residuals",
    )
    picture.bars(edges[:-1], edges[1:], counts)
    if low < 0 < high:
        picture.rule((0.0, 0.0), (0.0, float(counts.max()) * 1.05))
    return picture.svg()


def _coverage(data: ReportData) -> list[tuple[float, float, float]]:
    """Return nominal coverage, share of targets inside, and median width, for several coverages."""
    training, model = data.training, data.model
    inputs = training.judged.inputs
    y, centers = training.y_test, np.asarray(training.predictions, dtype=np.float64)
    found = []
    for nominal in COVERAGES:
        bounds = model.intervals(inputs, centers, nominal)
        inside = float(np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1])))
        found.append((nominal, inside, float(np.median(bounds[:, 1] - bounds[:, 0]))))
    return found


def _calibration(coverage: list[tuple[float, float, float]], m: int) -> Html:
    nominal = np.array([one[0] for one in coverage])
    held = np.array([one[1] for one in coverage])
    chance = 1.96 * np.sqrt(nominal * (1 - nominal) / m)
    ticks = [(share, percent(share)) for share in (0.4, 0.6, 0.8, 1.0)]
    picture = Picture(
        (0.4, 1.0),
        (0.4, 1.02),
        x_name="nominal",
        y_name="observed",
        title="Coverage of intervals",
        x_ticks=ticks,
        y_ticks=ticks,
    )
    picture.band(nominal, nominal - chance, np.minimum(nominal + chance, 1.02), "s")
    picture.rule((0.4, 1.0), (0.4, 1.0))
    picture.line(nominal, held)
    picture.points(nominal, held, radius=3.5)
    return picture.svg()


def _widths(data: ReportData) -> Html:
    intervals = data.training.intervals
    if intervals is None:
        return Html("")
    widths = intervals[:, 1] - intervals[:, 0]
    if not np.isfinite(widths).all():
        return paragraph("Some intervals are infinite: there are too few rows for this coverage.")
    low, middle, high = np.quantile(widths, [0.05, 0.5, 0.95])
    coverage = percent(data.training.settings.coverage)
    return paragraph(
        f"The {coverage} intervals have a median width of {human(middle)}; 90 % of the widths are between {human(low)} and "
        f"{human(high)}. They are conformal: computed from errors on rows that were not used for fitting, each divided by "
        "the error that is expected at that row."
    )


#: Classes in the confusion matrix, and ROC curves in one picture; smaller classes are left out.
MATRIX, CURVES = 10, 4

#: Bins of the calibration curve.
BINS = 10


def classes_section(data: ReportData) -> Section:
    """Return confusion matrix, ROC curves and calibration of the probabilities."""
    P = data.training.probabilities
    assert P is not None and data.classes is not None
    names = [str(label) for label in data.classes]
    figures = [
        figure(_confusion(data.codes, P, names), _confusion_caption(names)),
        figure(_roc(data.codes, P, names), _roc_caption(data.codes, P, names)),
        figure(*_reliability(data.codes, P)),
        figure(_probability_histogram(P), "Distribution of the probability of the predicted class."),
    ]
    parts = [gallery(figures), _per_class(data.codes, P, names), _sets(data, P)]
    return Section("classes", "Classes and probabilities", join(parts))


def _sets(data: ReportData, P: Floats) -> Html:
    """Return sizes and coverage of sets of classes in the held-out rows, for several coverages."""
    rows = []
    for nominal in SET_COVERAGES:
        try:
            sets = marginal_sets(data.model, P, nominal)
        except InputError:  # too few rows for this coverage, or a model without held-out probabilities
            continue
        sizes, inside = sets.sum(axis=1), sets[np.arange(len(P)), data.codes]
        shares = [np.mean(sizes == 0), np.mean(sizes == 1), np.mean(sizes > 1)]
        rows.append([percent(nominal), percent(inside.mean()), f"{sizes.mean():.2f}", *map(percent, shares)])
    if not rows:
        return Html("")
    said = paragraph(
        "Sets of classes (mercer predict --set 0.9) hold the true class with the requested probability. An empty set: no "
        "class is probable enough at this coverage. Several classes: the model does not separate them here."
    )
    return join(
        [said, table(["coverage", "contain the class", "mean size", "empty", "one class", "several"], rows, range(6))]
    )


def _confusion(codes: Indices, P: Floats, names: list[str]) -> Html:
    predicted = P.argmax(axis=1)
    shown = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:MATRIX]
    shown = np.sort(shown)
    k = len(shown)
    counts = np.array([[int(np.sum((codes == i) & (predicted == j))) for j in shown] for i in shown])
    letters = min(12, max(len(names[i]) for i in shown))
    left, top = 22 + letters * LETTER, 40.0
    size = (WIDTH - left - 8) / k
    height = min(size, 46.0)
    parts = [element("text", "predicted", x=left, y=13), element("text", "true", x=4, y=top - 8)]
    for row in range(k):
        y = top + row * height
        parts.append(element("text", text(shortened(names[shown[row]], 12)), x=4, y=y + height / 2 + 4))
        for column in range(k):
            x = left + column * size
            share = counts[row, column] / max(1, counts[row].sum())
            title = element("title", text(f"{names[shown[row]]} as {names[shown[column]]}: {counts[row, column]}"))
            box = {"x": x, "y": y, "width": size - 1, "height": height - 1, "fill_opacity": f"{0.06 + 0.6 * share:.2f}"}
            parts.append(element("rect", title, kind="fa" if row == column else "fb", **box))
            if counts[row, column] and size > 8 + LETTER * len(str(counts[row, column])):
                middle = {"x": x + size / 2, "y": y + height / 2 + 4, "text_anchor": "middle"}
                parts.append(element("text", str(counts[row, column]), **middle))
    for column in range(k):
        name = text(shortened(names[shown[column]], max(1, int(size / LETTER))))
        parts.append(element("text", name, kind="soft", x=left + (column + 0.5) * size, y=top - 8, text_anchor="middle"))
    return embedded(parts, top + k * height + 8, "Confusion matrix")


def _confusion_caption(names: list[str]) -> str:
    some = f" The {MATRIX} largest of {len(names)} classes." if len(names) > MATRIX else ""
    return f"Rows are true classes, columns are predicted classes; correct predictions are on the diagonal.{some}"


def _curves(codes: Indices, P: Floats) -> list[int]:
    if P.shape[1] == 2:
        return [1]
    return [int(i) for i in np.argsort(-np.bincount(codes, minlength=P.shape[1]), kind="stable")[:CURVES]]


def _roc(codes: Indices, P: Floats, names: list[str]) -> Html:
    ticks = [(share, human(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    picture = Picture(
        (0.0, 1.0),
        (0.0, 1.0),
        x_name="false positives",
        y_name="true positives",
        title="ROC curve",
        x_ticks=ticks,
        y_ticks=ticks,
    )
    picture.rule((0.0, 1.0), (0.0, 1.0))
    entries = []
    for i, color in zip(_curves(codes, P), "abcd", strict=False):
        one = (codes == i).astype(np.intp)
        if 0 < one.sum() < len(one):
            false, true = roc(one, P[:, i])
            keep = _thinned(len(false))
            picture.line(false[keep], true[keep], color)
            entries.append((shortened(names[i], 9), color))
    if P.shape[1] > 2:
        picture.legend(entries)
    return picture.svg()


def _thinned(count: int, most: int = 300) -> Indices:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def _roc_caption(codes: Indices, P: Floats, names: list[str]) -> str:
    areas = []
    for i in _curves(codes, P):
        one = (codes == i).astype(np.intp)
        if 0 < one.sum() < len(one):
            false, true = roc(one, P[:, i])
            areas.append(f"{shortened(names[i], 30)} {human(float(np.trapezoid(true, false)))}")
    against = "" if P.shape[1] == 2 else ", each class against all others"
    return f"ROC{against}. Area under the curve (0.5 is guessing): {', '.join(areas) or 'not defined for a single class'}."


def _reliability(codes: Indices, P: Floats) -> tuple[Html, str]:
    """Return the observed frequency by probability: of the second of two classes, of the predicted class for more."""
    p = P[:, 1] if P.shape[1] == 2 else P.max(axis=1)
    hit = (codes == (1 if P.shape[1] == 2 else P.argmax(axis=1))).astype(np.float64)
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    filled = [b for b in range(BINS) if (place == b).sum() >= 3]
    mean = np.array([float(p[place == b].mean()) for b in filled])
    rate = np.array([float(hit[place == b].mean()) for b in filled])
    count = np.array([int((place == b).sum()) for b in filled])
    reach = 1.96 * np.sqrt(np.maximum(rate * (1 - rate), 0.25 / np.maximum(count, 1)) / np.maximum(count, 1))
    gap = float(np.sum(count * np.abs(mean - rate)) / max(1, count.sum()))
    ticks = [(share, percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    picture = Picture(
        (0.0, 1.0), (0.0, 1.0), x_name="predicted probability", y_name="observed frequency", title="Calibration",
        x_ticks=ticks, y_ticks=ticks,
    )  # fmt: skip
    picture.rule((0.0, 1.0), (0.0, 1.0))
    picture.whiskers(mean, np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0))
    picture.line(mean, rate)
    picture.points(mean, rate, radius=3.5)
    return (
        picture.svg(),
        f"Calibration: on the line, 70 % means 7 of 10. Mean distance from it: {percent(gap)}. Bars are 95 % intervals.",
    )


def _probability_histogram(P: Floats) -> Html:
    top = P.max(axis=1)
    counts, edges = np.histogram(top, bins=20, range=(1.0 / P.shape[1], 1.0))
    ticks = [(share, percent(share)) for share in np.linspace(1.0 / P.shape[1], 1.0, 5)]
    picture = Picture(
        (1.0 / P.shape[1], 1.0), (0.0, counts.max() * 1.05 or 1.0), x_name="probability of the predicted class",
        y_name="rows", title="Histogram of probabilities", x_ticks=ticks,
    )  # fmt: skip
    picture.bars(edges[:-1], edges[1:], counts)
    return picture.svg()


def _per_class(codes: Indices, P: Floats, names: list[str]) -> Html:
    predicted = P.argmax(axis=1)
    rows = []
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    for i in order[:30]:
        true, named = codes == i, predicted == i
        hit = int((true & named).sum())
        rows.append([names[i], f"{int(true.sum()):,}", _share(hit, int(true.sum())), _share(hit, int(named.sum()))])
    more = [paragraph(f"The 30 largest of {len(names)} classes.", "quiet")] if len(names) > 30 else []
    return join([table(["class", "held-out rows", "recall", "precision"], rows, (1, 2, 3)), *more])


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def apart_section(data: ReportData) -> list[Section]:
    """Return the errors of held-out rows over time, or by group; nothing if rows were held out at random."""
    layout, units = data.training.question.layout, data.training.judged.units
    if layout is None or units is None:
        return []
    return [_over_time(data) if layout.places is not None else _by_group(data)]


def _errors(data: ReportData) -> tuple[str, Floats]:  # -> name, (units,)
    """Return the name of the measure and its value in every block or group."""
    training = data.training
    units = np.asarray(training.judged.units)
    counts = np.maximum(np.bincount(units), 1)
    if training.probabilities is None:
        squares = (np.asarray(training.y_test, dtype=np.float64) - training.predictions) ** 2
        return "RMSE", np.sqrt(np.bincount(units, weights=squares) / counts)
    wrong = (training.predictions != training.y_test).astype(np.float64)
    return "share of mistakes", np.bincount(units, weights=wrong) / counts


def _over_time(data: ReportData) -> Section:
    training = data.training
    measure, errors = _errors(data)
    units = np.asarray(training.judged.units)
    k = len(errors)
    picture = Picture(
        (0.0, float(k)), (0.0, float(errors.max()) * 1.05 or 1.0), x_name="block of held-out rows, in time", y_name=measure,
        title=f"{measure} over time",
    )  # fmt: skip
    middle = np.arange(k) + 0.5
    picture.line(middle, errors)
    picture.points(middle, errors, radius=3.5)
    columns = [column for column in data.test if column.name in training.question.layout.order]  # type: ignore[union-attr]
    rows = [
        [str(unit + 1), _from(columns, units == unit), f"{int(np.sum(units == unit)):,}", human(float(errors[unit]))]
        for unit in range(k)
    ]
    words = paragraph(
        f"The last rows were held out ({training.split}). Scores are resampled by these blocks, because neighboring rows "
        "depend on each other. A rising line says that later rows will be predicted worse."
    )
    listed = table(["block", "from", "rows", measure], rows, (0, 2, 3))
    return Section(
        "time", "Errors over time", join([words, gallery([figure(picture.svg(), f"{measure} by block.")]), listed])
    )


def _from(columns: list[Column], own: Any) -> str:
    first = int(np.argmax(own))
    cells = [column.cells[first] for column in columns]
    return " ".join(f"{cell:g}" if isinstance(cell, float) else time_text(cell)[:16] for cell in cells) or "–"


def _by_group(data: ReportData) -> Section:
    training = data.training
    measure, errors = _errors(data)
    units, question = np.asarray(training.judged.units), training.question
    assert question.groups is not None and question.layout is not None and question.layout.groups is not None
    fitted = np.isin(question.X.numbers, training.numbers)
    labels = question.groups[~fitted]
    names = [str(labels[np.argmax(units == unit)]) for unit in range(len(errors))]
    order = np.argsort(-errors, kind="stable")[:SHOWN_GROUPS]
    rows = [[names[unit], f"{int(np.sum(units == unit)):,}", human(float(errors[unit]))] for unit in order]
    low, middle, high = np.quantile(errors, [0.1, 0.5, 0.9])
    words = paragraph(
        f"Whole groups of {question.group} were held out: {plural(len(errors), 'group')} that the model has not seen. The "
        f"{measure} of a group has the median {human(float(middle))}; 80 % of the groups are between {human(float(low))} "
        f"and {human(float(high))}. The table lists the groups with the largest errors."
    )
    return Section("groups", "Errors by group", join([words, table([str(question.group), "rows", measure], rows, (1, 2))]))
