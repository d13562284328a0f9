"""Choosing the hyper-parameters: climbs from several starts on a part of the rows, then from the best of them on all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.parameters import GPParameters
from mercer.estimators.gp.posterior import AnyProblem, Engine
from mercer.estimators.progress import Meter
from mercer.linalg.bfgs import Ascent, Objective, ascend
from mercer.registry import record

#: Rows of the part on which starts are compared, at most half of all; smaller data have none. An evaluation there costs
#: (SUBSET / n)^3 of one on all rows. Row: gp-fit-*.
SUBSET = 400

#: On the part a climb may stop early: it only has to find the right hill.
ROUGH_TOL, ROUGH_STEPS = 1e-2, 60

#: After this many steps on the part only the better half of the starts, rounded up, climbs on. Row: gp-fit-*.
TRIAL_STEPS = 20

#: What ends so far below the best on the part is forgotten; the order of nearer ones may change on all rows.
#: Row: gp-fit-*.
HOPELESS = 10.0

#: Length scales that a part takes further than this beyond what the data suggest, in logarithms, come back so far: there its
#: column has no say and its slope is zero, on all rows too, while fewer rows may only have been too few to hear it.
FAR = 1.0

#: Slopes are compared so far apart, in logarithms, and no curvature is less than this share of the middle one.
APART, FLATTEST = 0.05, 1e-2

#: Two ends of climbs are the same hill if no logarithm differs by more.
SAME = 0.2


@dataclass(frozen=True)
class Start:
    """Where a climb begins, and what is known of the curvature there."""

    label: str
    vector: Floats  # (p,)
    curvature: Floats | None = None  # (f, f) over the free entries


@record()
@dataclass(frozen=True)
class ClimbAttempt:
    """One climb: where it began, what it reached, and on how many rows."""

    label: str
    rows: int
    first: float
    reached: float
    n_evaluations: int


@dataclass(frozen=True)
class Climb:
    """The setting a fit settled on."""

    vector: Floats  # (p,)
    converged: bool
    n_iter: int
    n_evaluations: int  # on all rows
    message: str
    attempts: tuple[ClimbAttempt, ...]


def climb(
    problem: AnyProblem,
    parameters: GPParameters,
    engine: Engine,
    *,
    n_restarts: int,
    seed: int,
    tol: float,
    max_iter: int,
    meter: Meter,
) -> Climb:
    """Maximize the log marginal likelihood plus the priors over what is not fixed."""
    if parameters.fixed.all():
        return Climb(parameters.start, True, 0, 0, "nothing was fitted", ())
    starts = [Start(label, vector) for label, vector in parameters.starts(n_restarts, seed)]
    attempts: list[ClimbAttempt] = []
    if problem.n >= SUBSET:
        starts = _on_a_part(problem, parameters, starts, seed, attempts, min(SUBSET, problem.n // 2))
        starts = _better(problem, parameters, engine, starts)
        for size in steps_up(min(engine.part_rows or problem.n, problem.n), problem.n):
            starts = _on_a_part(problem, parameters, starts, seed, attempts, size)
    tol, max_iter = max(tol, engine.tol_per_row * problem.n), min(max_iter, engine.max_steps or max_iter)
    watched = _watched(_objective(problem, parameters, engine), meter, max_iter)
    ends: list[Ascent] = []
    failure = NumericalError("no start could be evaluated.")
    for start in starts:
        try:
            ends.append(_rounds(problem, parameters, engine, watched, start, tol, max_iter, attempts))
        except NumericalError as error:
            failure = error
    if not ends:
        raise failure
    best = max(ends, key=lambda end: end.value)
    spent = sum(attempt.n_evaluations for attempt in attempts if attempt.rows == problem.n)
    return Climb(best.vector, best.converged, best.n_iter, spent, best.message, tuple(attempts))


def steps_up(top: int, n: int) -> list[int]:
    """Rows of the parts between the first and all: halves of ``top``, and itself if it is not all; a step costs an eighth
    of the next one, which then starts near its end.

    >>> steps_up(4000, 4000), steps_up(2000, 50_000), steps_up(2000, 1000)
    ([500, 1000, 2000], [500, 1000, 2000], [500])
    """
    top = min(top, n)
    sizes = [top] if top < n else []
    while (top := top // 2) > SUBSET:
        sizes.append(top)
    return sizes[::-1]


def _rounds(
    problem: AnyProblem,
    parameters: GPParameters,
    engine: Engine,
    objective: Objective,
    start: Start,
    tol: float,
    max_iter: int,
    attempts: list[ClimbAttempt],
) -> Ascent:
    """One climb on all rows, the engine choosing anew before each of its rounds."""
    vector, curvature = start.vector, start.curvature
    for number in range(engine.rounds):
        engine.prepare(problem, *parameters.setting(vector))
        end = ascend(objective, *_free(parameters, vector), tol=tol, max_iter=max_iter, curvature=curvature)
        vector, curvature = _whole(parameters, end.vector), end.curvature
        noted = f"{start.label}, round {number + 1}" if engine.rounds > 1 else start.label
        attempts.append(ClimbAttempt(noted, problem.n, end.first, end.value, end.n_evaluations))
    return replace(end, vector=vector)


def _objective(problem: AnyProblem, parameters: GPParameters, engine: Engine) -> Objective:
    """Evidence and priors as a function of the free entries."""
    free = ~parameters.fixed

    def objective(values: Floats) -> tuple[float, Floats]:
        vector = _whole(parameters, values)
        kernel, noise = parameters.setting(vector)
        try:
            found = engine.evidence(problem, kernel, noise, True)
        except InputError as error:  # numbers that overflow: undefined there, not wrong
            if not problem.at_hand:  # a chunk that could not be read
                raise
            raise NumericalError(str(error)) from error
        if found.kernel_gradient is None or found.noise_gradient is None:
            raise NumericalError("the engine gave no gradient.")
        prior, pull = parameters.log_prior(vector)
        slope = found.kernel_gradient
        if parameters.noise_is_parameter:
            slope = np.append(slope, found.noise_gradient)
        return found.value + prior, (slope + pull)[free]

    return objective


def _watched(objective: Objective, meter: Meter, total: int) -> Objective:
    calls = 0

    def watched(values: Floats) -> tuple[float, Floats]:
        nonlocal calls
        calls += 1
        meter(min(calls, total), total)
        return objective(values)

    return watched


def _free(parameters: GPParameters, vector: Floats) -> tuple[Floats, Floats, Floats]:
    free = ~parameters.fixed
    return vector[free], parameters.low[free], parameters.high[free]


def _whole(parameters: GPParameters, values: Floats) -> Floats:
    vector = parameters.start.copy()
    vector[~parameters.fixed] = values
    return vector


def _on_a_part(
    problem: AnyProblem,
    parameters: GPParameters,
    starts: list[Start],
    seed: int,
    attempts: list[ClimbAttempt],
    size: int,
) -> list[Start]:
    """The ends of rough climbs on a seeded part of the rows, best first."""
    rows = np.sort(np.random.default_rng(seed).choice(problem.n, size, replace=False))
    objective = _remembered(_objective(problem.part(rows), parameters, ExactEngine(of=problem.n)))
    grown = size / problem.n  # what the rows say of the curvature grows with their number
    tol = ROUGH_TOL * size / SUBSET
    begun = [replace(start, curvature=None if start.curvature is None else start.curvature * grown) for start in starts]
    steps = TRIAL_STEPS if len(begun) > 1 else ROUGH_STEPS
    tried = [(start, end) for start in begun if (end := _try(objective, parameters, start, tol, steps)) is not None]
    tried.sort(key=lambda pair: -pair[1].value)
    ends = []
    for rank, (start, end) in enumerate(tried):
        first, spent = end.first, end.n_evaluations
        if steps < ROUGH_STEPS and not end.converged and rank < (len(tried) + 1) // 2:
            way = _free(parameters, _whole(parameters, end.vector))
            end = ascend(objective, *way, tol=tol, max_iter=ROUGH_STEPS - steps, curvature=end.curvature)
            spent += end.n_evaluations - 1  # the first one was known
        attempts.append(ClimbAttempt(start.label, size, first, end.value, spent))
        label = f"{start.label.split(',')[0]}, from {size} rows"
        vector, curvature = _brought_back(objective, parameters, end)
        ends.append((end.value, Start(label, vector, curvature / grown)))
    ends.sort(key=lambda end: -end[0])
    near = [found for value, found in ends if value > ends[0][0] - HOPELESS]
    return near or starts  # if all starts fail here, the whole data decide


def _brought_back(objective: Objective, parameters: GPParameters, end: Ascent) -> tuple[Floats, Floats]:
    """Where the next climb begins, with the curvature: not where a length scale is so long that nothing depends on it."""
    most = np.where(parameters.widths, parameters.typical + FAR, np.inf)[~parameters.fixed]
    values, B = np.minimum(end.vector, most), end.curvature
    if (end.vector > most).any():  # the climb saw nothing of the curvature here
        with suppress(NumericalError):
            B = _measured(objective, values)
    return _whole(parameters, values), B


def _measured(objective: Objective, values: Floats) -> Floats:  # (f,) -> (f, f)
    """Minus the second derivatives by differences of slopes, with eigenvalues made positive."""
    here = objective(values)[1]
    rows = [(here - objective(values + shift)[1]) / APART for shift in APART * np.eye(len(values))]
    sizes, axes = np.linalg.eigh((np.array(rows) + np.array(rows).T) / 2.0)
    sizes = np.maximum(np.abs(sizes), FLATTEST * float(np.median(np.abs(sizes))) + np.finfo(float).tiny)
    return np.asarray((axes * sizes) @ axes.T)


def _try(objective: Objective, parameters: GPParameters, start: Start, tol: float, steps: int) -> Ascent | None:
    """A climb, or None if the objective is undefined at its start."""
    try:
        return ascend(objective, *_free(parameters, start.vector), tol=tol, max_iter=steps, curvature=start.curvature)
    except NumericalError:
        return None


def _remembered(objective: Objective) -> Objective:
    """The objective with its answers kept: a climb that goes on asks first for where it stopped."""
    known: dict[bytes, tuple[float, Floats]] = {}

    def remembered(values: Floats) -> tuple[float, Floats]:
        key = values.tobytes()
        if key not in known:
            known[key] = objective(values)
        return known[key]

    return remembered


def _better(problem: AnyProblem, parameters: GPParameters, engine: Engine, starts: list[Start]) -> list[Start]:
    """Of the two best hills found on the part, the one that is higher on all rows."""
    rivals = [start for start in starts[1:] if np.abs(start.vector - starts[0].vector).max() > SAME][:1]
    if not rivals:
        return starts[:1]
    heights = []
    for start in (starts[0], rivals[0]):
        kernel, noise = parameters.setting(start.vector)
        try:
            engine.prepare(problem, kernel, noise)
            height = engine.evidence(problem, kernel, noise, False).value
            heights.append(height + parameters.log_prior(start.vector)[0])
        except (NumericalError, InputError) as error:
            if isinstance(error, InputError) and not problem.at_hand:
                raise
            heights.append(-np.inf)
    return [starts[0] if heights[0] >= heights[1] else rivals[0]]


def log_likelihood(
    problem: AnyProblem, parameters: GPParameters, engine: Engine, vector: Floats, gradient: bool
) -> tuple[float, Floats | None]:
    """The evidence without priors at a vector, and its gradient in all entries."""
    kernel, noise = parameters.setting(vector)
    found: Any = engine.evidence(problem, kernel, noise, gradient)
    if not gradient:
        return found.value, None
    slope = found.kernel_gradient
    return found.value, np.append(slope, found.noise_gradient) if parameters.noise_is_parameter else slope
