"""Further starts of the search of hyper-parameters: sums with one small short term, and periods seen in the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.gp.problem import GPProblem
from mercer.estimators.gp.search import LITTLE_NOISE, GPParameters, size_of
from mercer.kernels.algebra import added_terms

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
