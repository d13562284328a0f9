"""The search for the best hyper-parameters of a Gaussian process.

The search climbs from several starts on a part of the rows, then from the best of their ends on all rows. Further starts
depend on the structure of the kernel and on periods seen in the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.problem import LITTLE_NOISE, AnyProblem, Evaluator, GPParameters, GPProblem, size_of
from mercer.estimators.progress import Meter
from mercer.kernels.algebra import added_terms
from mercer.linalg.bfgs import Ascent, Objective, ascend
from mercer.registry import record

#: Starts are compared on this many rows, at most half of all; data with fewer rows skip this step. An evaluation there
#: costs (SUBSET / n)^3 of one on all rows. Row: gp-fit-*.
SUBSET = 400

#: Tolerance and steps of a climb on a part of the rows, which only has to find the right maximum.
ROUGH_TOL, ROUGH_STEPS = 1e-2, 60

#: After this many steps on the part only the better half of the climbs, rounded up, continues. Row: gp-fit-*.
TRIAL_STEPS = 20

#: Climbs that end further below the best on the part are dropped; the order of the others may change on all rows.
#: Row: gp-fit-*.
HOPELESS = 10.0

#: Length scales that end further than this above the typical value, in logarithms, are moved back to this distance. Beyond
#: it the gradient of the column vanishes, also on all rows, although a part may just have had too few rows to need it.
FAR = 1.0

#: Step of the differences of gradients, in logarithms; no curvature is set below this share of the median one.
APART, FLATTEST = 0.05, 1e-2

#: Two climbs ended at the same maximum if no logarithm differs by more.
SAME = 0.2


@dataclass(frozen=True)
class Start:
    """Start of a climb, with the curvature there if it is known."""

    label: str
    vector: Floats  # (p,)
    curvature: Floats | None = None  # (f, f) over the free entries


@record()
@dataclass(frozen=True)
class ClimbAttempt:
    """One climb: its start, the value it reached, and the number of rows it used."""

    label: str
    rows: int
    first: float
    reached: float
    n_evaluations: int


@dataclass(frozen=True)
class Climb:
    """Result of the search: the chosen vector and how it was found."""

    vector: Floats  # (p,)
    converged: bool
    n_iter: int
    n_evaluations: int  # on all rows
    message: str
    attempts: tuple[ClimbAttempt, ...]


def climb(
    problem: AnyProblem,
    parameters: GPParameters,
    engine: Evaluator,
    *,
    n_restarts: int,
    seed: int,
    tol: float,
    max_iter: int,
    meter: Meter,
    parts: Callable[[], Evaluator] | None = None,
    further: Sequence[tuple[str, Floats]] = (),
) -> Climb:
    """Maximize the log marginal likelihood plus the log priors over the entries that are not fixed.

    `parts` makes the engine of a part of the rows, an exact one if it is not given. `further` are more starts.
    """
    if parameters.fixed.all():
        return Climb(parameters.start, True, 0, 0, "nothing was fitted", ())
    starts = [Start(label, vector) for label, vector in (*parameters.starts(n_restarts, seed), *further)]
    attempts: list[ClimbAttempt] = []
    make = parts or (lambda: ExactEngine(of=problem.n))
    if problem.n >= SUBSET:
        starts = _on_a_part(problem, parameters, make, starts, seed, attempts, min(SUBSET, problem.n // 2))
        starts = _better(problem, parameters, engine, starts)
        for size in steps_up(min(engine.part_rows or problem.n, problem.n), problem.n):
            starts = _on_a_part(problem, parameters, make, starts, seed, attempts, size)
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
    """Return the sizes of the parts between the first one and all rows: ``top`` (if it is not all rows) and its halves.

    A climb on one part costs an eighth of a climb on the next, which then starts near its end.

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
    engine: Evaluator,
    objective: Objective,
    start: Start,
    tol: float,
    max_iter: int,
    attempts: list[ClimbAttempt],
) -> Ascent:
    """Climb on all rows; the engine chooses its inducing rows or neighbors again before each round."""
    vector, curvature = start.vector, start.curvature
    for number in range(engine.rounds):
        engine.prepare(problem, *parameters.setting(vector))
        end = ascend(objective, *_free(parameters, vector), tol=tol, max_iter=max_iter, curvature=curvature)
        vector, curvature = _whole(parameters, end.vector), end.curvature
        noted = f"{start.label}, round {number + 1}" if engine.rounds > 1 else start.label
        attempts.append(ClimbAttempt(noted, problem.n, end.first, end.value, end.n_evaluations))
    return replace(end, vector=vector)


def _objective(problem: AnyProblem, parameters: GPParameters, engine: Evaluator) -> Objective:
    """Return the log marginal likelihood plus log priors as a function of the free entries."""
    free = ~parameters.fixed

    def objective(values: Floats) -> tuple[float, Floats]:
        vector = _whole(parameters, values)
        kernel, noise = parameters.setting(vector)
        try:
            found = engine.evidence(problem, kernel, noise, True)
        except InputError as error:  # values overflow: the objective is undefined there
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
    make: Callable[[], Evaluator],
    starts: list[Start],
    seed: int,
    attempts: list[ClimbAttempt],
    size: int,
) -> list[Start]:
    """Return the ends of rough climbs on a seeded part of the rows, best first."""
    rows = np.sort(np.random.default_rng(seed).choice(problem.n, size, replace=False))
    objective = _remembered(_objective(problem.part(rows), parameters, make()))
    grown = size / problem.n  # the curvature is proportional to the number of rows
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
            spent += end.n_evaluations - 1  # the first one was cached
        attempts.append(ClimbAttempt(start.label, size, first, end.value, spent))
        label = f"{start.label.split(',')[0]}, from {size} rows"
        vector, curvature = _brought_back(objective, parameters, end)
        ends.append((end.value, Start(label, vector, curvature / grown)))
    ends.sort(key=lambda end: -end[0])
    near = [found for value, found in ends if value > ends[0][0] - HOPELESS]
    return near or starts  # if all starts fail here, they are tried on all rows


def _brought_back(objective: Objective, parameters: GPParameters, end: Ascent) -> tuple[Floats, Floats]:
    """Where the next climb begins, with the curvature: not where a length scale is so long that nothing depends on it."""
    most = np.where(parameters.widths, parameters.typical + FAR, np.inf)[~parameters.fixed]
    values, B = np.minimum(end.vector, most), end.curvature
    if (end.vector > most).any():  # the climb saw nothing of the curvature here
        with suppress(NumericalError):
            B = _measured(objective, values)
    return _whole(parameters, values), B


def _measured(objective: Objective, values: Floats) -> Floats:  # (f,) -> (f, f)
    """Return minus the second derivatives by differences of gradients, with eigenvalues made positive."""
    here = objective(values)[1]
    rows = [(here - objective(values + shift)[1]) / APART for shift in APART * np.eye(len(values))]
    sizes, axes = np.linalg.eigh((np.array(rows) + np.array(rows).T) / 2.0)
    sizes = np.maximum(np.abs(sizes), FLATTEST * float(np.median(np.abs(sizes))) + np.finfo(float).tiny)
    return np.asarray((axes * sizes) @ axes.T)


def _try(objective: Objective, parameters: GPParameters, start: Start, tol: float, steps: int) -> Ascent | None:
    """Climb from a start; return None if the objective is undefined there."""
    try:
        return ascend(objective, *_free(parameters, start.vector), tol=tol, max_iter=steps, curvature=start.curvature)
    except NumericalError:
        return None


def _remembered(objective: Objective) -> Objective:
    """Return the objective with a cache: a climb that is continued evaluates its last point first."""
    known: dict[bytes, tuple[float, Floats]] = {}

    def remembered(values: Floats) -> tuple[float, Floats]:
        key = values.tobytes()
        if key not in known:
            known[key] = objective(values)
        return known[key]

    return remembered


def _better(problem: AnyProblem, parameters: GPParameters, engine: Evaluator, starts: list[Start]) -> list[Start]:
    """Return the one of the two best maxima found on the part that is higher on all rows."""
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


# -- further starts ----------------------------------------------------------------------------------------------------

#: In a start for a sum one term has this share of the variance of y, and length scales shorter by this factor than typical.
SMALL, SHORTER = 0.01, 20.0

#: Terms of a sum that get such a start, at most.
MOST_TERMS = 3

#: Frequencies of the periodogram per cycle of the whole span, and at most in all.
PER_CYCLE, MOST_FREQUENCIES = 8.0, 4000

#: Harmonics of a period that the periodogram fits.
HARMONICS = 2


def further_starts(problem: GPProblem, parameters: GPParameters, unit: float) -> list[tuple[str, Floats]]:
    """Return labeled starts that depend on the structure of the kernel and on the data; none if the noise is given."""
    if parameters.names[-1:] != ("noise",) or parameters.fixed[-1]:
        return []
    return [*_small_terms(problem, parameters, unit), *_seen_periods(problem, parameters)]


def _small_terms(problem: GPProblem, parameters: GPParameters, unit: float) -> list[tuple[str, Floats]]:
    """Return starts where one term of a sum is small and short, and the others have the variance of y.

    The terms of a sum may exchange their roles: a trend may become a short-term irregularity. A climb does not cross the
    settings between, where both terms are poor.
    """
    terms = added_terms(parameters.kernel)
    if terms != parameters.kernel.children or any(term.amplified(2.0) is None for term in terms):
        return []  # not a sum, or a sum whose terms have no scales
    found, ends = [], np.cumsum([0, *[len(term.theta) for term in terms]])
    for i in range(min(len(terms), MOST_TERMS)):
        inside = np.zeros(len(parameters.start), dtype=bool)
        inside[ends[i] : ends[i + 1]] = True
        short = parameters.widths & inside & (parameters.typical != parameters.start)
        if not short.any():
            continue
        vector = parameters.start.copy()
        for j, term in enumerate(terms):
            share = SMALL if j == i else 1.0 / (len(terms) - 1)
            sized = term.amplified(size_of(term, problem.X, share * unit))
            assert sized is not None
            vector[ends[j] : ends[j + 1]] = sized.theta
        vector[short] = np.minimum(vector, parameters.typical - math.log(SHORTER))[short]
        vector[-1] += math.log(LITTLE_NOISE)
        vector = np.where(parameters.fixed, parameters.start, np.clip(vector, parameters.low, parameters.high))
        found.append((f"term {i + 1} small and short", vector))
    return found


def _seen_periods(problem: GPProblem, parameters: GPParameters) -> list[tuple[str, Floats]]:
    """Return a start whose periods are peaks of the periodogram within their bounds, for rows of one column."""
    X: Any = problem.X
    places = [i for i, name in enumerate(parameters.names) if name.split("__")[-1] == "period" and not parameters.fixed[i]]
    if not places or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] != 1 or len(X) < 8:
        return []
    vector = parameters.start.copy()
    for i in places:
        found = best_period(X[:, 0], problem.columns[:, 0], *np.exp([parameters.low[i], parameters.high[i]]))
        if found is not None:
            vector[i] = math.log(found)
    if np.allclose(vector, parameters.start, atol=1e-4):
        return []
    vector[-1] = np.clip(vector[-1] + math.log(LITTLE_NOISE), parameters.low[-1], parameters.high[-1])
    return [("period from the periodogram", vector)]


def best_period(t: Floats, y: Floats, low: float, high: float) -> float | None:
    """Return the period in [low, high] whose harmonics and a cubic trend fit y best, or None if fewer than two cycles fit.

    >>> t = np.linspace(0.0, 10.0, 200)
    >>> round(best_period(t, np.sin(2 * np.pi * t / 0.73), 0.5, 1.0), 2)
    0.73
    """
    span = float(np.ptp(t))
    high = min(high, span / 2.0)
    if not 0.0 < low < high:
        return None
    steps = int(np.clip(PER_CYCLE * span * (1.0 / low - 1.0 / high), 2, MOST_FREQUENCIES))
    frequencies = np.linspace(1.0 / high, 1.0 / low, steps)
    s = 2.0 * (t - t.min()) / span - 1.0
    trend = np.polynomial.legendre.legvander(s, 3)
    Q = np.linalg.qr(trend)[0]
    rest = y - Q @ (Q.T @ y)
    explained = np.empty(steps)
    for place, frequency in enumerate(frequencies):
        angles = 2.0 * np.pi * frequency * np.outer(t - t.min(), np.arange(1, HARMONICS + 1))
        waves = np.hstack([np.cos(angles), np.sin(angles)])
        waves -= Q @ (Q.T @ waves)
        explained[place] = float(rest @ waves @ np.linalg.lstsq(waves, rest, rcond=None)[0])
    return float(1.0 / frequencies[int(np.argmax(explained))])
