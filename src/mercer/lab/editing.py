"""Changes of a state by the user: draw, drag and delete points, change data and algorithm, take a step."""

from __future__ import annotations

import numpy as np

from mercer.errors import InputError
from mercer.lab.kernels import knobs, turned
from mercer.lab.pictures import best_process, check_classes, kernel_of, perceptron_run, rows_of
from mercer.lab.samples import FIRST, RECIPES, arrays, drawn, kind_of, texts
from mercer.lab.state import ALGORITHMS, CURVE, MAX_POINTS, MOST_STEPS, PLANE, WORDS, DrawnPoints, LabState, NamedData, Words
from mercer.lab.views import at_point, loo

#: A click within this distance of a point selects it.
REACH = 0.16

#: Default kernels and algorithms for a kind of data that the current ones cannot take.
KERNELS = {WORDS: "Spectrum(p=2).normalized()", CURVE: "Gaussian(length_scale=1.0)", PLANE: "Gaussian(length_scale=1.0)"}
FITTING = {WORDS: "svm", CURVE: "ridge", PLANE: "svm"}

#: Seeds of drawings go round here.
SEEDS = 1000


def _points(state: LabState) -> DrawnPoints:
    found = drawn(state.data)
    if isinstance(found, Words):
        raise InputError("words are written into their box, not drawn.")
    return found


def nearest(state: LabState, x: float, y: float) -> int | None:
    """Return the point that a click selects, if any."""
    P, _ = arrays(state.data)
    if not len(P):
        return None
    distances = np.hypot(P[:, 0] - x, P[:, 1] - y)
    best = int(distances.argmin())
    return best if distances[best] <= REACH else None


def moved(state: LabState, which: int, x: float, y: float) -> LabState:
    """Return the state with a point moved; positions outside the square are clipped to its edge."""
    found = _points(state)
    if not 0 <= which < len(found.points):  # it was deleted meanwhile
        return state
    changed = (*found.points[:which], (x, y, found.points[which][2]), *found.points[which + 1 :])
    return state.having(data=DrawnPoints(changed, found.kind))


def added(state: LabState, x: float, y: float, label: int) -> LabState:
    """Return the state with one point more."""
    found = _points(state)
    if len(found.points) >= MAX_POINTS:
        raise InputError(f"a page holds at most {MAX_POINTS} points.")
    return state.having(data=DrawnPoints((*found.points, (x, y, 0 if found.kind == CURVE else label)), found.kind))


def joined(state: LabState, points: DrawnPoints) -> LabState:
    """Return the state with the points of another drawing too, once where places are equal, and MAX_POINTS at most."""
    found = _points(state)
    places = {point[:2] for point in found.points}
    new = tuple(point for point in points.points if point[:2] not in places)
    return state.having(data=DrawnPoints((*found.points[: MAX_POINTS - len(new)], *new), found.kind))


def removed(state: LabState, which: int) -> LabState:
    """Return the state without a point."""
    found = _points(state)
    return state.having(data=DrawnPoints(found.points[:which] + found.points[which + 1 :], found.kind))


def cleared(state: LabState) -> LabState:
    """Return the state without points."""
    return state.having(data=DrawnPoints((), _points(state).kind))


def with_words(state: LabState, text: str) -> LabState:
    """Words from lines such as `0 banana`."""
    found = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        label, _, word = line.partition(" ")
        if not (label.isascii() and label.isdigit()) or not word.strip():
            raise InputError(f"a line is a class and a word, such as: 0 banana; got {line[:60]!r}.")
        found.append((word.strip(), int(label)))
    return state.having(data=Words(tuple(found)))


def with_data(state: LabState, name: str, n: int) -> LabState:
    """Return the state with data by name; algorithm and kernel change if they cannot take the data."""
    recipe = RECIPES[name]
    before, chosen = kind_of(state.data), NamedData(name, n)
    if recipe.kind not in state.asks.takes:
        state = state.having(algorithm=FITTING[recipe.kind])
    return _fitting_kernel(state, before, recipe.kind).having(data=chosen)


def with_algorithm(state: LabState, name: str) -> LabState:
    """Return the state with another algorithm; the data change if it cannot take them."""
    before, takes = kind_of(state.data), ALGORITHMS[name].takes
    changed = state.having(algorithm=name)
    if before in takes:
        return changed
    return _fitting_kernel(changed, before, takes[0]).having(data=FIRST[takes[0]])


def _fitting_kernel(state: LabState, before: str, kind: str) -> LabState:
    if (before == WORDS) == (kind == WORDS):
        return state
    return state.having(kernel=KERNELS[kind], query="")


def resized(state: LabState, n: int) -> LabState:
    """The same recipe with another number of points."""
    return state.having(data=NamedData(state.data.name, n, state.data.seed)) if isinstance(state.data, NamedData) else state


def redrawn(state: LabState) -> LabState:
    """The same recipe with the next seed."""
    if not isinstance(state.data, NamedData):
        return state
    return state.having(data=NamedData(state.data.name, state.data.n, (state.data.seed + 1) % SEEDS))


def stepped(state: LabState, count: int) -> LabState:
    """Return the state of the perceptron after more corrections, at most at the end of its run."""
    labels = check_classes((texts if kind_of(state.data) == WORDS else arrays)(state.data)[1])
    total = len(perceptron_run(kernel_of(state), rows_of(state), labels).mistakes_)
    return state.setting(steps=min(int(state.parameters["steps"]) + count, total, MOST_STEPS))


def best(state: LabState) -> LabState:
    """Return the state with parameters of largest likelihood (Gaussian process) or smallest leave-one-out error (ridge)."""
    kernel = kernel_of(state)
    if state.algorithm != "gp":
        found = loo(state, kernel).best
        return at_point(state, *found) if found is not None else state
    fitted, noise = best_process(state, kernel)
    for knob in knobs(fitted):
        if knob.scale == "log":
            fitted = turned(fitted, knob.path, float(f"{knob.value:.3g}"))
    noise = float(
        np.clip(noise, *((one.least, one.most) for one in state.asks.parameters if one.name == "noise").__next__())
    )
    return state.having(kernel=repr(fitted)).setting(noise=noise)
