"""The hyper-parameters of a Gaussian process as one vector of logarithms, and the search for their best values.

The search climbs from several starts on a part of the rows, then from the best of their ends on all rows.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, NumericalError
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.problem import AnyProblem, Evaluator
from mercer.estimators.progress import Meter
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.kernels.fields import plain_values, signed_entries
from mercer.linalg.bfgs import Ascent, Objective, ascend
from mercer.registry import record

#: The weak prior: log(parameter) is normal around a value taken from the data, with this standard deviation. A factor of 20
#: either way costs half a unit of log density.
SPREAD = 3.0

#: Default bounds, as factors of the value that the data suggest.
#: A period stays near the one that was written: its multiples and fractions have likelihoods of their own.
REACH = {
    "length_scale": (1e-3, 1e4),
    "amplitude": (1e-6, 1e6),
    "noise": (1e-7, 1e3),
    "period": (0.55, 1.8),
    "other": (1e-4, 1e4),
}

#: The noise a fit starts from, as a share of the variance of y.
NOISE_START = 0.1

#: One of the further starts has length scales shorter by this factor than the data suggest, and this share of the first
#: noise: from much noise a search may end where it explains the data as noise.
SHORT, LITTLE_NOISE = 10.0, 0.01

#: A column that varies less than this share of its size does not vary.
CONSTANT = 1e-12

#: Number of rows from which the mean of k(x, x) is taken.
ROWS_FOR_THE_SIZE = 1000


@record()
@dataclass(frozen=True)
class GPParameters:
    """Starts, bounds and priors of the vector that holds kernel.theta and, if the noise is one number > 0, log(noise)."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "names": "each p: text",
        "start": "real (p,)",
        "typical": "real (p,)",
        "low": "real (p,)",
        "high": "real (p,)",
        "fixed": "bool (p,)",
        "center": "real (p,)",
        "spread": "real (p,)",
    }

    kernel: Kernel  # with numbers, and with an overall scale
    names: tuple[str, ...]
    start: Floats  # (p,) as written
    typical: Floats  # (p,) as the data suggest it; fixed entries as written
    low: Floats  # (p,)
    high: Floats  # (p,)
    fixed: NDArray[np.bool_]  # (p,)
    center: Floats  # (p,) of the priors
    spread: Floats  # (p,) of the priors; infinity is none
    noise: float  # the noise if it is not an entry of the vector

    @property
    def noise_is_parameter(self) -> bool:
        """Whether the last entry is log(noise)."""
        return len(self.names) > len(self.kernel.theta)

    def values(self, vector: Floats) -> Floats:  # (p,) -> (p,)
        """Return the parameters that a vector stands for: exponentials, and numbers of either sign as they are."""
        p = len(self.kernel.theta)
        return np.concatenate([plain_values(self.kernel, vector[:p]), np.exp(vector[p:])])

    @property
    def widths(self) -> NDArray[np.bool_]:  # (p,)
        """Mask of the entries that are length scales."""
        return np.array([name.split("__")[-1].startswith("length_scale") for name in self.names], dtype=bool)

    def setting(self, vector: Floats) -> tuple[Kernel, Any]:  # (p,)
        """Return the kernel and the noise at a vector; several parameters of a likelihood are an array."""
        p = len(self.kernel.theta)
        kernel = self.kernel.with_theta(vector[:p]) if p else self.kernel
        rest = np.exp(vector[p:])
        return kernel, self.noise if not len(rest) else float(rest[0]) if len(rest) == 1 else rest

    def log_prior(self, vector: Floats) -> tuple[float, Floats]:  # (p,) -> value, (p,)
        """Return the log density of the priors up to a constant, and its gradient; fixed entries are left out."""
        pull = np.where(self.fixed, 0.0, (vector - self.center) / self.spread)
        return -0.5 * float(pull @ pull), -pull / self.spread

    def starts(self, further: int, seed: int) -> list[tuple[str, Floats]]:
        """Return labeled starts: as written, as the data suggest, with little noise, and random ones around the second."""
        found = [("as written", self.start)]
        if further > 0 and not np.allclose(self.start, self.typical, atol=1e-3):
            found.append(("from the data", self.typical))
        if len(found) <= further and self.names[-1:] == ("noise",) and not self.fixed[-1]:
            moved = self.widths & ~self.fixed
            short = np.where(moved, np.minimum(self.start, self.typical - math.log(SHORT)), self.start)
            short[-1] += math.log(LITTLE_NOISE)
            found.append(("short length scales, little noise", np.clip(short, self.low, self.high)))
        rng = np.random.default_rng(seed)
        while len(found) <= further and not self.fixed.all():
            away = np.where(self.fixed, 0.0, rng.normal(scale=1.0, size=len(self.start)))
            found.append(("random", np.clip(self.typical + away, self.low, self.high)))
        return found


@dataclass(frozen=True)
class RowsSeen:
    """Some rows and the spread of the columns: the source of starting values if not all rows are in memory."""

    sized: Rows  # rows for the mean of k(x, x)
    sample: Rows  # rows for the median distance
    spreads: Floats | None  # (d,) standard deviations of the columns, 0 for constant ones

    @staticmethod
    def numbers(n: int) -> Indices:
        """Return the numbers of the rows for the mean of k(x, x)."""
        return np.linspace(0, n - 1, min(ROWS_FOR_THE_SIZE, n)).astype(np.intp)


def read_parameters(
    kernel: Kernel,
    X: Any,
    unit: float,
    *,
    noise: float | None,
    fit: bool,
    bounds: Mapping[str, Sequence[float]] | None,
    fixed: Sequence[str],
    priors: Any,
    extras: Mapping[str, float] | None = None,
    noise_start: float | None = None,
) -> GPParameters:
    """Return the parameters of a resolved kernel and of a noise (None: to be fitted) for targets of variance `unit`.

    `noise_start` is where a fitted noise starts, if it is not NOISE_START times `unit`. `extras` are the starts of the
    positive parameters of another likelihood, instead of the noise.
    """
    asked = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    template, strip = kernel, False
    if fit and kernel.amplified(2.0) is None and "scale" not in asked:
        template, strip = size_of(kernel, X, unit) * kernel, True
    names = [_own_name(name, strip) for name in template.theta_names]
    theta, signed = template.theta, set(np.array(names)[signed_entries(template)].tolist())
    # if nothing is fitted, the data are not searched for typical values
    typical, reach = _typical(template, X, unit) if fit else (theta, np.zeros((len(theta), 2)))
    if extras is not None:
        names += list(extras)
        theta, typical = (np.append(part, np.log(list(extras.values()))) for part in (theta, typical))
        reach = np.vstack([reach, np.tile(np.log(REACH["other"]), (len(extras), 1))])
    elif noise is None or noise > 0:
        names.append("noise")
        first = NOISE_START * unit if noise_start is None else noise_start
        theta = np.append(theta, math.log(first if noise is None else noise))
        typical = np.append(typical, math.log(NOISE_START * unit))
        reach = np.vstack([reach, np.log(REACH["noise"])])
    held = np.zeros(len(names), dtype=bool) if fit else np.ones(len(names), dtype=bool)
    held |= np.array([name == "noise" and noise is not None for name in names], dtype=bool)
    for name in asked:
        if not (name == "scale" and not strip and "scale" not in names):  # a fixed scale is not added
            held[_matching(name, names, "fixed")] = True
    low, high = np.minimum(theta, typical) + reach[:, 0], np.maximum(theta, typical) + reach[:, 1]
    low, high = np.where(held, theta, low), np.where(held, theta, high)
    for name, pair in (bounds or {}).items():
        _bound(name, pair, names, held, low, high, signed)
    center, spread = _priors(priors, names, typical, signed)
    start, typical = np.clip(theta, low, high), np.where(held, theta, np.clip(typical, low, high))
    return GPParameters(
        template, tuple(names), start, typical, low, high, held, center, spread, noise if noise is not None else math.nan
    )


def _own_name(name: str, strip: bool) -> str:
    """Return the name in the given kernel; an added scale puts all names one level deeper."""
    return name[len("0__") :] if strip and name.startswith("0__") else name


def size_of(kernel: Kernel, X: Any, unit: float) -> float:
    """Return the factor that makes the mean of k(x, x) equal to the variance of y."""
    rows = X.sized if isinstance(X, RowsSeen) else Rows(X).take(RowsSeen.numbers(count(X)))
    mean = float(np.mean(np.abs(kernel.diag(rows)), dtype=np.float64))
    return unit / mean if mean > 0 else unit


def _typical(kernel: Kernel, X: Any, unit: float) -> tuple[Floats, Floats]:  # -> (p,), (p, 2)
    """Return the theta that the data suggest, and the logarithms of the bounds relative to it."""
    louder = kernel.amplified(math.e)
    amplitude = np.zeros(len(kernel.theta), bool) if louder is None else louder.theta - kernel.theta > 0.5
    sized = kernel.amplified(size_of(kernel, X, unit))
    typical = kernel.theta if sized is None else sized.theta
    reach = np.tile(np.log(REACH["other"]), (len(typical), 1))
    reach[amplitude] = np.log(REACH["amplitude"])
    names = kernel.theta_names
    widths = _data_widths(kernel, X)
    for i, name in enumerate(names):
        if name in widths:
            typical[i], reach[i] = math.log(widths[name]), np.log(REACH["length_scale"])
        elif _plain(name).split("__")[-1] == "period":
            reach[i] = np.log(REACH["period"])
    return typical, reach


def _data_widths(kernel: Kernel, X: Any) -> dict[str, float]:
    """Return a length scale for every such entry of theta: the median distance; per column its spread times sqrt(2 d)."""
    known = set(kernel.get_params(deep=True))
    scales = sorted({_plain(name) for name in kernel.theta_names if name.split("__")[-1].startswith("length_scale")})
    # the length scale of a periodic kernel is not a distance between rows
    scales = [name for name in scales if name[: -len("length_scale")] + "period" not in known]
    if not scales:
        return {}
    with warnings.catch_warnings():
        sample = X.sample if isinstance(X, RowsSeen) else X
        warnings.simplefilter("ignore")  # equal rows have no median distance; a start does not need one
        medians = kernel.set_params(**dict.fromkeys(scales, "median")).resolve(sample).get_params(deep=True)
    widths = {name: float(medians[_plain(name)]) for name in kernel.theta_names if _plain(name) in scales}
    spreads = _spreads(X)
    for name in widths:
        column = re.search(r"\[(\d+)\]$", name)
        width = len(kernel.get_params(deep=True)[_plain(name)]) if column else 0
        if column and spreads is not None and width == len(spreads) and spreads[int(column[1])] > 0:
            widths[name] = float(spreads[int(column[1])]) * math.sqrt(2.0 * width)
    return widths


def _spreads(X: Any) -> Floats | None:
    """Return standard deviations of the columns of dense vectors, 0 for columns that vary by rounding only."""
    if isinstance(X, RowsSeen):
        return X.spreads
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        return None
    return spreads_of(X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0))


def spreads_of(sd: Floats, most: Floats) -> Floats:  # (d,), (d,) -> (d,)
    """Return the standard deviations, with 0 where they are rounding errors of entries of size `most`."""
    return np.where(sd > CONSTANT * most, sd, 0.0)


def _plain(name: str) -> str:
    return re.sub(r"\[\d+\]$", "", name)


def _matching(asked: str, names: Sequence[str], where: str) -> list[int]:
    """Return the entries that a name selects: itself, its columns, or all entries with this last part."""
    for rule in (lambda n: n == asked, lambda n: _plain(n) == asked, lambda n: _plain(n).split("__")[-1] == asked):
        found = [i for i, name in enumerate(names) if rule(name)]
        if found:
            return found
    raise InputError(f"{where} names {asked!r}, which is not a parameter; the parameters are {', '.join(names) or 'none'}.")


def _bound(
    name: str, pair: Any, names: Sequence[str], held: Any, low: Floats, high: Floats, signed: Collection[str]
) -> None:
    try:
        least, most = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise InputError(f"bounds[{name!r}] must be a pair of numbers (low, high); got {pair!r}.") from None
    chosen = _matching(name, names, "bounds")
    either = all(names[i] in signed for i in chosen)
    if not (-math.inf if either else 0.0) < least <= most < math.inf:
        rule = "finite with low <= high" if either else "0 < low <= high"
        positive = "" if either else " Parameters are positive numbers."
        raise InputError(f"bounds[{name!r}] must be {rule}; got {pair!r}.{positive}")
    for i in chosen:
        if not held[i]:
            low[i], high[i] = (least, most) if either else (math.log(least), math.log(most))


def _priors(priors: Any, names: Sequence[str], typical: Floats, signed: Collection[str]) -> tuple[Floats, Floats]:
    """Return centers and standard deviations of normal priors on the logarithms, or on numbers of either sign."""
    center, spread = typical.copy(), np.full(len(names), SPREAD)
    if priors is None:
        return center, np.full(len(names), np.inf)
    if isinstance(priors, str):
        if priors != "weak":
            raise InputError(f'priors must be "weak", None, or a dict of name: (median, factor); got {priors!r}.')
        return center, spread
    for name, pair in dict(priors).items():
        try:
            median, factor = (float(value) for value in pair)
        except (TypeError, ValueError):
            raise InputError(f"priors[{name!r}] must be a pair (median, factor); got {pair!r}.") from None
        chosen = _matching(name, names, "priors")
        if all(names[i] in signed for i in chosen):
            if not (math.isfinite(median) and 0 < factor < math.inf):
                raise InputError(f"priors[{name!r}] must be (mean, standard deviation > 0); got {pair!r}.")
            center[chosen], spread[chosen] = median, factor
            continue
        if not (median > 0 and factor > 1):
            raise InputError(f"priors[{name!r}] must be (median > 0, factor > 1); got {pair!r}.")
        center[chosen], spread[chosen] = math.log(median), math.log(factor)
    return center, spread


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
