"""The pictures beside the main one: Gram matrix, spectrum, leave-one-out surface, margins, mistakes, null distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, plural
from mercer.estimators.ridge.kernel_ridge_cv import KernelRidgeCV
from mercer.kernels.base import Kernel
from mercer.lab.kernels import Knob, knobs, turned
from mercer.lab.pictures import (
    Line,
    SideView,
    check_classes,
    clusters_of,
    discriminant_of,
    nearest_mean,
    novikoff,
    number,
    perceptron_run,
    quick_kernel_of,
    read_curve,
    rows_of,
    svc,
    two_samples,
)
from mercer.lab.samples import arrays, kind_of, texts
from mercer.lab.state import CURVE, WORDS, LabState, Parameter

#: Points of the leave-one-out surface along the penalty and along the kernel's number.
PENALTIES, SETTINGS = 25, 17

#: A negative eigenvalue is drawn this wide.
WIDE = np.array([-0.4, 0.4])


def view(state: LabState) -> SideView:
    """The side view of a state, or the reason why there is none."""
    if state.view not in state.views:
        raise InputError(f"{state.asks.title} has no view {state.view!r}; it has {', '.join(state.views)}.")
    return _VIEWS[state.view](state, quick_kernel_of(state))


def gram(state: LabState, kernel: Kernel) -> SideView:
    """k(x_i, x_j), rows in order: of their places on a curve, of their classes elsewhere."""
    K, order = _matrix(state, kernel)
    n = len(K)
    how = "sorted by x" if kind_of(state.data) == CURVE else "sorted by class"
    return SideView(f"k(x, z) of {n} rows", how, "", K[np.ix_(order, order)], (0.0, n, 0.0, n))


def spectrum(state: LabState, kernel: Kernel) -> SideView:
    """The eigenvalues of the Gram matrix, on a scale of powers; negative ones are red."""
    K, _ = _matrix(state, kernel)
    values = np.linalg.eigvalsh((K + K.T) / 2.0)[::-1]
    top, i = max(float(np.abs(values).max()), 1e-300), np.arange(1, len(values) + 1)
    floor = 1e-14 * top
    positive, negative = values > floor, values < -10.0 * len(K) * np.finfo(float).eps * top
    heights = np.log10(np.maximum(np.abs(values), floor))
    effective = int(np.searchsorted(np.cumsum(np.maximum(values, 0.0)), 0.99 * np.maximum(values, 0.0).sum()) + 1)
    words = f"{effective} eigenvalues hold 99 % of the trace"
    if negative.any():
        words = (
            f"{plural(int(negative.sum()), 'negative eigenvalue')}, the smallest {number(float(values.min()))}: no kernel"
        )
    return SideView(
        "eigenvalues", "number", "log10 |eigenvalue|", words=words, dots=(i[positive], heights[positive]),
        lines=(Line("negative", tuple((i[j] + WIDE, heights[[j, j]]) for j in np.flatnonzero(negative))),),
    )  # fmt: skip


def penalty_of(state: LabState) -> Parameter:
    """The parameter of the algorithm that is the penalty of ridge regression: alpha, or the noise."""
    return next(one for one in state.asks.parameters if one.name in ("alpha", "noise"))


def width_of(kernel: Kernel) -> Knob | None:
    """The number of the kernel along the other axis of the leave-one-out surface: the first that is positive."""
    found = [knob for knob in knobs(kernel) if knob.scale == "log"]
    return next((knob for knob in found if "length_scale" in knob.path), found[0] if found else None)


def loo(state: LabState, kernel: Kernel) -> SideView:
    """Exact leave-one-out errors over the penalty and a number of the kernel; the chosen point can be dragged."""
    X, y = read_curve(state)
    penalty, knob = penalty_of(state), width_of(kernel)
    alphas = np.geomspace(penalty.least, penalty.most, PENALTIES)
    settings = np.geomspace(knob.least, knob.most, SETTINGS) if knob is not None else np.ones(1)
    grid = None
    if knob is not None:
        path = knob.path.partition("[")[0]  # of several length scales one moves
        grid = {path: [turned(kernel, knob.path, float(value)).get_params(deep=True)[path] for value in settings]}
    surface = KernelRidgeCV(kernel, alphas=alphas.tolist(), param_grid=grid).fit(X, y).surface_
    errors = 0.5 * np.log10(np.maximum(-surface.mean_scores, 1e-30))
    x = np.log10([penalty.least, penalty.most])
    span = np.log10([knob.least, knob.most]) if knob is not None else np.array([-0.5, 0.5])
    row, at = np.unravel_index(errors.argmin(), errors.shape)
    best = float(alphas[at]), float(settings[row])
    here = (float(np.log10(state.parameters[penalty.name])), float(np.log10(knob.value)) if knob is not None else 0.0)
    words = f"smallest error {number(10 ** errors.min())} at {penalty.name} = {number(best[0])}"
    if knob is not None:
        words += f", {knob.label} = {number(best[1])}"
    return SideView(
        "leave-one-out error (dark is small)", f"log10 {penalty.name}", f"log10 {knob.label}" if knob is not None else "",
        errors, (float(x[0]), float(x[1]), float(span[0]), float(span[1])), chosen=here, words=words,
        best=(float(np.log10(best[0])), float(np.log10(best[1]))),
    )  # fmt: skip


def at_point(state: LabState, x: float, y: float) -> LabState:
    """The state with penalty and kernel taken from a point of the leave-one-out surface."""
    kernel, penalty = quick_kernel_of(state), penalty_of(state)
    knob = width_of(kernel)
    changed = state.setting(**{penalty.name: float(np.clip(10.0**x, penalty.least, penalty.most))})
    if knob is None:
        return changed
    value = float(f"{np.clip(10.0**y, knob.least, knob.most):.4g}")
    return changed.having(kernel=repr(turned(kernel, knob.path, value)))


def margins(state: LabState, kernel: Kernel) -> SideView:
    """y f(x) of every row, in order: below 0 is wrong, below 1 inside the margin of a support vector machine."""
    X, c = rows_of(state), _classes(state)
    model: Any = (svc if state.algorithm == "svm" else nearest_mean)(state, kernel, X, c)
    values = model.decision_function(X)
    if values.ndim == 2:
        own = values[np.arange(len(c)), np.searchsorted(model.classes_, c)]
        others = np.where(np.arange(values.shape[1]) == np.searchsorted(model.classes_, c)[:, None], -np.inf, values)
        signed = own - others.max(axis=1)
    else:
        signed = np.where(c == model.classes_[1], values, -values)
    signed, i = np.sort(signed), np.arange(1, len(c) + 1)
    ends = np.array([0.0, len(c) + 1.0])
    lines = [Line("zero", ((ends, np.zeros(2)),), "0")]
    if state.algorithm == "svm":
        lines.append(Line("bound", ((ends, np.ones(2)),), "1"))
    words = f"{int(np.sum(signed <= 0))} of {len(c)} on the wrong side"
    return SideView("margins y f(x), in order", "row", "y f(x)", lines=tuple(lines), dots=(i, signed), words=words)


def mistakes(state: LabState, kernel: Kernel) -> SideView:
    """Corrections of the perceptron as rows are presented, against Novikoff's bound."""
    X, c = rows_of(state), _classes(state)
    model = perceptron_run(kernel, X, c)
    done = min(int(state.parameters["steps"]), len(model.mistakes_))
    times, n = [], len(c)
    at = -1
    for row in model.mistakes_.tolist():  # rows come round in their order, so a row number is a time
        at += (row - at - 1) % n + 1
        times.append(at + 1)
    counts, bound = np.arange(1, len(times) + 1), novikoff(model)
    end = float(max([*times, n]))
    lines = [Line("exact", ((np.array([0.0, *times, end]), np.array([0.0, *counts, len(times)])),), "the whole run")]
    if done:
        lines.append(Line("fit", ((np.array([0.0, *times[:done]]), np.array([0.0, *counts[:done]])),), "so far"))
    words = "nothing separates these classes: no bound"
    if np.isfinite(bound):
        lines.append(Line("bound", ((np.array([0.0, end]), np.full(2, bound)),), "Novikoff's bound"))
        words = f"{len(times)} corrections in all, at most {number(bound)} by Novikoff's theorem"
    return SideView("corrections", "rows presented", "corrections", lines=tuple(lines), words=words)


def null(state: LabState, kernel: Kernel) -> SideView:
    """MMD^2 after relabelings, and MMD^2 of the samples."""
    result, _, _ = two_samples(state, kernel)
    drawn = np.asarray(result.null_distribution).ravel()
    counts, edges = np.histogram(drawn, bins=30)
    steps = np.repeat(edges, 2)[1:-1], np.repeat(counts, 2).astype(float)
    here = float(result.statistic)
    lines = (
        Line("exact", (steps,), "relabeled"),
        Line("bound", ((np.array([here, here]), np.array([0.0, float(counts.max())])),), "these samples"),
    )
    words = f"p = {number(result.pvalue)} from {len(drawn)} relabelings"
    return SideView("MMD² of relabeled samples", "MMD²", "count", lines=lines, words=words)


def projections(state: LabState, kernel: Kernel) -> SideView:
    """Histograms of the first discriminant direction, one for each class."""
    X, c = rows_of(state), _classes(state)
    model = discriminant_of(state, kernel, X, c)
    values = model.transform(X)[:, 0]
    edges = np.linspace(float(values.min()), float(values.max()) + 1e-12, 25)
    lines = []
    for label, role in zip(model.classes_, ("fit", "bound", "exact", "edge"), strict=False):
        counts = np.histogram(values[c == label], edges)[0].astype(float)
        lines.append(Line(role, ((np.repeat(edges, 2)[1:-1], np.repeat(counts, 2)),), f"class {label}"))
    share = float(model.explained_variance_ratio_[0])
    words = f"distance of class means in standard deviations: {number(float(np.ptp(model.means_[:, 0])))}"
    if len(model.classes_) > 2:
        words = f"the first direction holds {100 * share:.0f} % of the variance between classes"
    return SideView("first direction", "projection", "rows", lines=tuple(lines), words=words)


def silhouettes(state: LabState, kernel: Kernel) -> SideView:
    """Silhouettes of the rows, sorted within their clusters."""
    X = rows_of(state)
    model = clusters_of(state, kernel, X)
    values = model.silhouette_samples(X)
    order = np.lexsort((-values, model.labels_))
    places = np.arange(1, len(order) + 1) + 2 * model.labels_[order]  # a gap between clusters
    ends = np.array([0.0, float(places[-1]) + 1.0])
    lines = (Line("zero", ((ends, np.zeros(2)),), "0"), Line("bound", ((ends, np.full(2, values.mean())),), "mean"))
    words = f"mean {number(float(values.mean()))}; {int((values < 0).sum())} rows are nearer to another cluster"
    title = "silhouettes in feature space, by cluster"
    return SideView(title, "row", "silhouette", lines=lines, dots=(places, values[order]), words=words)


def _classes(state: LabState) -> Array:
    return check_classes((texts if kind_of(state.data) == WORDS else arrays)(state.data)[1])


def _matrix(state: LabState, kernel: Kernel) -> tuple[Array, Array]:
    rows = rows_of(state)
    if len(rows) < 1:
        raise InputError("there are no rows; click into the picture to put points there.")
    kind = kind_of(state.data)
    if kind == CURVE:
        order = np.argsort(rows[:, 0])
    else:
        c = (texts if kind == WORDS else arrays)(state.data)[1]
        order = np.argsort(c, kind="stable")
    return np.asarray(kernel(rows)), order


_VIEWS: dict[str, Callable[[LabState, Kernel], SideView]] = {
    "gram": gram, "spectrum": spectrum, "loo": loo, "margins": margins, "mistakes": mistakes, "null": null,
    "projections": projections, "silhouettes": silhouettes,
}  # fmt: skip
