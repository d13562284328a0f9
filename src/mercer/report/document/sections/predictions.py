"""Predicted numbers against true ones, residuals, calibration and coverage of the intervals."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.report.document.html import Html, Section, figure, gallery, join, paragraph, table
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.report.document.svg import Picture, limits

#: Points of one picture, at most.
DRAWN = 1500

#: Coverages at which the intervals are checked.
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def predictions(material: Material) -> Section:
    """Pictures of the held-out rows."""
    training = material.training
    y, said = np.asarray(training.y_test, dtype=np.float64), np.asarray(training.predictions, dtype=np.float64)
    shown = np.arange(len(y))
    if len(y) > DRAWN:
        shown = np.sort(np.random.default_rng(0).choice(len(y), DRAWN, replace=False))
    some = f"{len(shown):,} of {len(y):,} held-out rows" if len(shown) < len(y) else f"all {len(y):,} held-out rows"
    half = human(float(np.median(np.abs(y - said))))
    coverage = _coverage(material)
    figures = [
        figure(_against(y[shown], said[shown], material), f"Predicted and true values of {some}; on the line they agree."),
        figure(_residuals(said[shown], (y - said)[shown]), f"True minus predicted, {some}: no pattern is best."),
        figure(_histogram(y - said), f"How the {len(y):,} residuals are spread; half of them are within ± {half}."),
        figure(_calibration(coverage, len(y)), "Intervals asked to hold a share of the targets, and the share they hold. "
               "The band is what chance allows on this number of rows."),
    ]  # fmt: skip
    rows = [[percent(asked), percent(held), human(width)] for asked, held, width in coverage]
    parts = [gallery(figures), _widths(material), table(["interval", "holds", "median width"], rows, (0, 1, 2))]
    return Section("predictions", "Predictions and intervals", join(parts))


def _against(y: Floats, said: Floats, material: Material) -> Html:
    ends = limits(y, said)
    picture = Picture(
        ends, ends, x_name=f"true {material.target}", y_name="predicted", title="Predicted against true values"
    )
    picture.rule(ends, ends)
    picture.points(y, said)
    return picture.svg()


def _residuals(said: Floats, residuals: Floats) -> Html:
    reach = float(np.abs(residuals).max(initial=0.0)) * 1.05 or 1.0
    picture = Picture(limits(said), (-reach, reach), x_name="predicted", y_name="residual", title="Residuals")
    picture.rule(picture_range(picture), (0.0, 0.0))
    picture.points(said, residuals)
    if len(said) >= 60:
        order = np.argsort(said, kind="stable")
        parts = np.array_split(order, 12)
        middle = [float(np.mean(said[part])) for part in parts]
        picture.line(middle, [float(np.mean(residuals[part])) for part in parts], "b")
        picture.legend([("mean", "b")])
    return picture.svg()


def picture_range(picture: Picture) -> tuple[float, float]:
    """The range of the x-axis."""
    return picture.x.low, picture.x.high


def _histogram(residuals: Floats) -> Html:
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


def _coverage(material: Material) -> list[tuple[float, float, float]]:
    """Asked, held, and the median width, for several coverages."""
    training, model = material.training, material.model
    inputs = model._inputs_of(material.test)
    y, centers = training.y_test, np.asarray(training.predictions, dtype=np.float64)
    found = []
    for asked in COVERAGES:
        bounds = model._intervals(inputs, centers, asked)
        inside = float(np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1])))
        found.append((asked, inside, float(np.median(bounds[:, 1] - bounds[:, 0]))))
    return found


def _calibration(coverage: list[tuple[float, float, float]], m: int) -> Html:
    asked = np.array([one[0] for one in coverage])
    held = np.array([one[1] for one in coverage])
    chance = 1.96 * np.sqrt(asked * (1 - asked) / m)
    ticks = [(share, percent(share)) for share in (0.4, 0.6, 0.8, 1.0)]
    picture = Picture(
        (0.4, 1.0), (0.4, 1.02), x_name="asked", y_name="held", title="Coverage of intervals", x_ticks=ticks, y_ticks=ticks
    )
    picture.band(asked, asked - chance, np.minimum(asked + chance, 1.02), "s")
    picture.rule((0.4, 1.0), (0.4, 1.0))
    picture.line(asked, held)
    picture.points(asked, held, radius=3.5)
    return picture.svg()


def _widths(material: Material) -> Html:
    intervals = material.training.intervals
    if intervals is None:
        return Html("")
    widths = intervals[:, 1] - intervals[:, 0]
    if not np.isfinite(widths).all():
        return paragraph("Some intervals are infinite: too few rows for so high a coverage.")
    low, middle, high = np.quantile(widths, [0.05, 0.5, 0.95])
    asked = percent(material.training.settings.coverage)
    return paragraph(
        f"The {asked} intervals are {human(middle)} wide in the middle, {human(low)} where the model is sure and "
        f"{human(high)} "
        "where it is not. They are conformal: made from errors on rows that the model had not seen, divided by the "
        "error that is "
        "expected at each row."
    )
