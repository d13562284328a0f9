"""Confusions, ROC curves and calibration of class probabilities on held-out rows."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.report.document.html import Html, Section, figure, gallery, join, paragraph, table, text
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.report.document.svg import LETTER, WIDTH, Picture, wrap
from mercer.workflow.scores import roc

#: Classes of the drawn matrix, and curves of one picture; the others are summed up.
MATRIX, CURVES = 10, 4

#: Parts of the probabilities in which hits are counted.
BINS = 10


def classes(material: Material) -> Section:
    """Pictures of the held-out rows."""
    P = material.training.probabilities
    assert P is not None and material.classes is not None
    names = [str(label) for label in material.classes]
    figures = [
        figure(_confusion(material.codes, P, names), _confusion_caption(names)),
        figure(_roc(material.codes, P, names), _roc_caption(material.codes, P, names)),
        figure(*_reliability(material.codes, P)),
        figure(_histogram(P), "How sure the model is: the probability of the class that it names."),
    ]
    return Section("classes", "Classes and probabilities", join([gallery(figures), _per_class(material.codes, P, names)]))


def _confusion(codes: Indices, P: Floats, names: list[str]) -> Html:
    said = P.argmax(axis=1)
    shown = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:MATRIX]
    shown = np.sort(shown)
    k = len(shown)
    counts = np.array([[int(np.sum((codes == i) & (said == j))) for j in shown] for i in shown])
    letters = min(12, max(len(names[i]) for i in shown))
    left, top = 22 + letters * LETTER, 40.0
    size = (WIDTH - left - 8) / k
    height = min(size, 46.0)
    parts: list[str] = [f'<text x="{left}" y="13">predicted</text><text x="4" y="{top - 8:.0f}">true</text>']
    for row in range(k):
        y = top + row * height
        parts.append(f'<text x="4" y="{y + height / 2 + 4:.1f}">{text(_short(names[shown[row]], 12))}</text>')
        for column in range(k):
            x = left + column * size
            share = counts[row, column] / max(1, counts[row].sum())
            color = "fa" if row == column else "fb"
            parts.append(
                f'<rect class="{color}" x="{x:.1f}" y="{y:.1f}" width="{size - 1:.1f}" height="{height - 1:.1f}" '
                f'fill-opacity="{0.06 + 0.6 * share:.2f}"><title>{text(names[shown[row]])} as {text(names[shown[column]])}: '
                f"{counts[row, column]}</title></rect>"
            )
            if counts[row, column] and size > 8 + LETTER * len(str(counts[row, column])):
                middle = f'x="{x + size / 2:.1f}" y="{y + height / 2 + 4:.1f}" text-anchor="middle"'
                parts.append(f"<text {middle}>{counts[row, column]}</text>")
    for column in range(k):
        width = max(1, int(size / LETTER))
        parts.append(
            f'<text class="soft" x="{left + (column + 0.5) * size:.1f}" y="{top - 8:.0f}" text-anchor="middle">'
            f"{text(_short(names[shown[column]], width))}</text>"
        )
    return wrap(parts, top + k * height + 8, "Confusion matrix")


def _confusion_caption(names: list[str]) -> str:
    some = f" The {MATRIX} largest of {len(names)} classes." if len(names) > MATRIX else ""
    return f"Rows are true classes, columns what the model says; on the diagonal it is right.{some}"


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
            entries.append((_short(names[i], 9), color))
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
            areas.append(f"{_short(names[i], 30)} {human(float(np.trapezoid(true, false)))}")
    against = "" if P.shape[1] == 2 else ", each class against all others"
    return f"ROC{against}. Area under the curve (0.5 is guessing): {', '.join(areas) or 'not defined, one class only'}."


def _reliability(codes: Indices, P: Floats) -> tuple[Html, str]:
    """Hits by probability: of the second class for two classes, of the named class for more."""
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
        (0.0, 1.0), (0.0, 1.0), x_name="probability the model gives", y_name="how often it is so", title="Calibration",
        x_ticks=ticks, y_ticks=ticks,
    )  # fmt: skip
    picture.rule((0.0, 1.0), (0.0, 1.0))
    picture.whiskers(mean, np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0))
    picture.line(mean, rate)
    picture.points(mean, rate, radius=3.5)
    return (
        picture.svg(),
        f"Calibration: on the line, 70 % means 7 of 10. Mean distance from it {percent(gap)}; lines are 95 % intervals.",
    )


def _histogram(P: Floats) -> Html:
    top = P.max(axis=1)
    counts, edges = np.histogram(top, bins=20, range=(1.0 / P.shape[1], 1.0))
    ticks = [(share, percent(share)) for share in np.linspace(1.0 / P.shape[1], 1.0, 5)]
    picture = Picture(
        (1.0 / P.shape[1], 1.0), (0.0, counts.max() * 1.05 or 1.0), x_name="probability of the named class", y_name="rows",
        title="Histogram of probabilities", x_ticks=ticks,
    )  # fmt: skip
    picture.bars(edges[:-1], edges[1:], counts)
    return picture.svg()


def _per_class(codes: Indices, P: Floats, names: list[str]) -> Html:
    said = P.argmax(axis=1)
    rows = []
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    for i in order[:30]:
        true, named = codes == i, said == i
        hit = int((true & named).sum())
        rows.append([names[i], f"{int(true.sum()):,}", _share(hit, int(true.sum())), _share(hit, int(named.sum()))])
    more = [paragraph(f"The 30 largest of {len(names)} classes.", "quiet")] if len(names) > 30 else []
    return join(
        [table(["class", "held-out rows", "found (recall)", "right when named (precision)"], rows, (1, 2, 3)), *more]
    )


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _short(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: max(1, longest - 1)]}…"
