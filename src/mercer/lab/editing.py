"""What a person does to a state: draw, drag and delete points, change data and algorithm, take a step."""

from __future__ import annotations

import numpy as np

from mercer.errors import InputError
from mercer.lab.kernels import knobs, turned
from mercer.lab.pictures import best_process, check_classes, kernel_of, perceptron_run, rows_of
from mercer.lab.samples import FIRST, RECIPES, arrays, drawn, kind_of, texts
from mercer.lab.state import ALGORITHMS, CURVE, MAX_POINTS, MOST_STEPS, PLANE, WORDS, DrawnPoints, LabState, NamedData, Words
from mercer.lab.views import at_point, loo

#: A click this near to a point means that point.
REACH = 0.16

#: The kernel that stands for one that cannot compare the new kind of data, and the algorithm likewise.
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
    """The point that a click means, if any."""
    P, _ = arrays(state.data)
    if not len(P):
        return None
    distances = np.hypot(P[:, 0] - x, P[:, 1] - y)
    best = int(distances.argmin())
    return best if distances[best] <= REACH else None


def moved(state: LabState, which: int, x: float, y: float) -> LabState:
    """A point at another place; places outside the square become its edge."""
    found = _points(state)
    if not 0 <= which < len(found.points):  # it was deleted meanwhile
        return state
    changed = (*found.points[:which], (x, y, found.points[which][2]), *found.points[which + 1 :])
    return state.having(data=DrawnPoints(changed, found.kind))


def added(state: LabState, x: float, y: float, label: int) -> LabState:
    """One point more."""
    found = _points(state)
    if len(found.points) >= MAX_POINTS:
        raise InputError(f"a page holds at most {MAX_POINTS} points.")
    return state.having(data=DrawnPoints((*found.points, (x, y, 0 if found.kind == CURVE else label)), found.kind))


def removed(state: LabState, which: int) -> LabState:
    """One point less."""
    found = _points(state)
    return state.having(data=DrawnPoints(found.points[:which] + found.points[which + 1 :], found.kind))


def cleared(state: LabState) -> LabState:
    """No points."""
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
    """Data by name; algorithm and kernel change where they could not take them."""
    recipe = RECIPES[name]
    before, chosen = kind_of(state.data), NamedData(name, n)
    if recipe.kind not in state.asks.takes:
        state = state.having(algorithm=FITTING[recipe.kind])
    return _fitting_kernel(state, before, recipe.kind).having(data=chosen)


def with_algorithm(state: LabState, name: str) -> LabState:
    """Another algorithm; data change where it could not take them."""
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
    """The perceptron some corrections further, at most at its end."""
    labels = check_classes((texts if kind_of(state.data) == WORDS else arrays)(state.data)[1])
    total = len(perceptron_run(kernel_of(state), rows_of(state), labels).mistakes_)
    return state.setting(steps=min(int(state.parameters["steps"]) + count, total, MOST_STEPS))


def best(state: LabState) -> LabState:
    """The parameters of largest likelihood for a Gaussian process, of smallest leave-one-out error for ridge."""
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
