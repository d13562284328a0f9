"""Choose parameters on many rows: every setting on a few rows, those that can still win on more, the last ones on all.

A setting can still win if its held-out errors, row by row, exceed those of the best by less than two standard errors of
their mean difference. The surface states on how many rows each point was scored; only points scored on the most rows are
compared with each other. Held-out errors are leave-one-out in closed form: of the exact fit on few rows, and of the fit on
landmarks, at a sample of its rows, where the final fit is one on landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.ridge import surface as exact
from mercer.estimators.ridge.large import LeaveOneOut, fit_at_all
from mercer.estimators.ridge.problem import RidgeData
from mercer.inputs import take
from mercer.kernels.base import Kernel
from mercer.planning import Route, gemm_rate
from mercer.selection.scoring import Scoring
from mercer.selection.surface import (
    SAMPLE,
    SCORED_ON,
    SEED,
    Grid,
    PenaltyAxis,
    Surface,
    choose_point,
    merge,
    named,
    sample,
)

#: Up to this many rows the exact surface is computed on all of them.
MOST_EXACT = 5000

#: Rows on which the exact surface is refined, and on which settings of a fit on landmarks are compared.
FINE_ROWS, LANDMARK_ROWS = 3400, 20_000

#: Rows of a fit on landmarks whose leave-one-out residuals are computed.
SCORED_ROWS = 8192

#: Standard errors of the mean difference within which a setting can still win.
ERRORS = 2.0

#: Points of the refined surface at most; settings that are compared on all rows, and beyond MANY rows one.
MOST_POINTS, FINALISTS, MANY = 16, 2, 300_000

#: Alphas on either side of the best (in steps of half a decade) that are compared on all rows.
AROUND = 4

#: Points of the refined surface, and settings on landmarks, that are compared on the way as a rule.
POINTS, SETTINGS = 7, 3

#: Steps of sqrt(2) by which the length scale may move beyond the neighbors of the best.
FURTHER = 2


@dataclass(frozen=True)
class Narrowed:
    """The surface, and the sums over all rows for the setting that was chosen, if they were made."""

    surface: Surface
    fits: tuple[LeaveOneOut | None, ...] = ()  # by kernel setting


@dataclass(frozen=True)
class ScoredGrid:
    """Settings of a grid of our own, the penalties of an axis, and the score by which they are compared."""

    grid: Grid
    axis: PenaltyAxis
    scoring: Scoring
    rule: str
    step: Callable[[int, int], None]

    def setting(self, params: dict[str, Any]) -> Kernel:
        """The kernel with these parameters."""
        return self.grid.kernel.set_params(**params)

    def nearby(self, params: dict[str, Any], steps: int) -> dict[str, Any]:
        """The setting that many steps of sqrt(2) away."""
        return params if self.grid.path is None else {self.grid.path: params[self.grid.path] * 2.0 ** (steps / 2)}

    def coarse(self, data: RidgeData) -> tuple[Surface, Array]:  # -> surface, (S, L)
        """The exact surface on few rows, widened at its edges, and the points that can still win."""

        def evaluate(settings: list[dict[str, Any]], part: RidgeData) -> Surface:
            route = exact.route_for(self.axis.values, len(part.Y), None, leave_one_out=True)
            return self.surface(settings, part, self.axis, route)

        part = sample(data).distinct()
        found = (
            evaluate(list(self.grid.settings), part)
            if self.grid.path is None
            else self.grid.widened(evaluate, part, self.rule)
        )
        alive = can_win(found, part.Y, part.weights, self.scoring)
        return scored_on(found, len(part.Y)), alive

    def surface(self, settings: list[dict[str, Any]], data: RidgeData, axis: PenaltyAxis, route: str) -> Surface:
        """The exact surface of settings and penalties."""
        kernels = [self.setting(params) for params in settings]
        return exact.surface(settings, kernels, data, axis, self.scoring, route, self.step)


def can_win(surface: Surface, Y: Array, weights: Array | None, scoring: Scoring) -> Array:  # (f, *t), (f,) -> (S, L)
    """Whether the mean difference of each point from the best is within ERRORS standard errors, row by row."""
    scores = np.where(surface.compared, surface.mean_scores, -np.inf)
    best = np.unravel_index(int(np.argmax(np.where(np.isfinite(scores), scores, -np.inf))), scores.shape)
    if surface.loo is None or scoring.rows is None:  # a score of all rows at once has no differences of rows
        return np.asarray(scores >= scores[best] - np.nan_to_num(ERRORS * surface.mean_errors[best]))
    w = np.ones(len(Y)) if weights is None else weights
    total, count = float(w.sum()), float(w.sum() ** 2 / np.square(w).sum())
    values = [_of_rows(scoring, Y, held) for held in surface.loo]  # (L, f) each
    top, alive = values[best[0]][best[1]], np.zeros(scores.shape, bool)
    for row, own in enumerate(values):
        behind = top - own
        mean = behind @ w / total
        spread = np.sqrt(np.maximum(np.square(behind - mean[:, None]) @ w / total, 0.0) / max(count - 1.0, 1.0))
        alive[row] = mean <= ERRORS * spread
    return alive & np.isfinite(scores)


def _of_rows(scoring: Scoring, Y: Array, held: Array) -> Array:  # (f, *t), (L, f, *t) -> (L, f)
    assert scoring.rows is not None
    values = scoring.rows(Y, Y - held)
    return values if values.ndim == 2 else values.mean(axis=tuple(range(2, values.ndim)))


def scored_on(surface: Surface, rows: int) -> Surface:
    """The surface with the number of rows on which it was scored, without its residuals."""
    return replace(surface, loo=None, columns={SCORED_ON: np.full(surface.mean_scores.shape, rows)})


def entered(whole: Surface, part: Surface) -> Surface:
    """The surface with the points of another one, some of its settings and penalties or further settings."""
    columns = np.searchsorted(whole.axis.values, part.axis.values)
    for params, kernel, index in zip(part.params, part.kernels, range(len(part.params)), strict=True):
        if params not in whole.params:
            whole = _with_setting(whole, params, kernel)
        row = whole.params.index(params)
        whole.scores[row, columns] = part.scores[index]
        whole.standard_errors[row, columns] = part.standard_errors[index]
        if whole.deviations is not None and part.deviations is not None:
            whole.deviations[row, columns] = part.deviations[index]
        whole.columns[SCORED_ON][row, columns] = part.columns[SCORED_ON][index]
    return whole


def _with_setting(surface: Surface, params: dict[str, Any], kernel: Kernel) -> Surface:
    def more(values: Array, fill: float) -> Array:
        return np.concatenate([values, np.full((1, *values.shape[1:]), fill, values.dtype)])

    return replace(
        surface,
        params=(*surface.params, params),
        kernels=(*surface.kernels, kernel),
        scores=more(surface.scores, np.nan),
        standard_errors=more(surface.standard_errors, np.nan),
        deviations=None if surface.deviations is None else more(surface.deviations, np.nan),
        columns={SCORED_ON: more(surface.columns[SCORED_ON], 0)},
    )


Point = tuple[int, int]  # steps of the length scale from the start, and the column of the penalty


def descend(
    score: Callable[[int, Sequence[int]], Sequence[float]],
    start: int,
    width: int,
    moves: bool,
    allowed: Callable[[Point], bool],
    known: dict[Point, float] | None = None,
) -> dict[Point, float]:
    """Scores of the points that were visited on the way to a point better than all its neighbors.

    `score(steps, columns)` returns the scores of one length scale at some penalties. Neighbors differ by one step in the
    length scale, in the penalty, or in both in opposite directions, along which a ridge changes least.
    """
    seen = {} if known is None else dict(known)
    best: Point = (0, start)
    while len(seen) < MOST_POINTS:
        near = [(0, 0), (0, -1), (0, 1), *([(-1, 0), (1, 0), (-1, 1), (1, -1)] if moves else [])]
        points = [(best[0] + i, best[1] + j) for i, j in near]
        new = [p for p in points if 0 <= p[1] < width and p not in seen and (p == best or allowed(p))]
        if not new:
            break
        for steps in sorted({p[0] for p in new}):
            columns = sorted(p[1] for p in new if p[0] == steps)
            seen |= {(steps, c): value for c, value in zip(columns, score(steps, columns), strict=True)}
        found = max(seen, key=lambda p: seen[p] if np.isfinite(seen[p]) else -np.inf)
        if found == best and len(seen) > 1:
            break
        best = found
    return seen


def narrow_exact(what: ScoredGrid, data: RidgeData) -> Narrowed:
    """Every setting on few rows, and those that can still win on FINE_ROWS, both by exact leave-one-out."""
    whole, alive = what.coarse(data)
    row, start = choose_point(whole, what.rule)
    params, coarse = whole.params, len(whole.kernels)
    part = sample(data, FINE_ROWS).distinct()

    def score(steps: int, columns: Sequence[int]) -> Sequence[float]:
        nonlocal whole
        axis = replace(what.axis, values=what.axis.values[list(columns)])
        found = what.surface([_same(what.nearby(params[row], steps), params)], part, axis, "cholesky")
        whole = entered(whole, scored_on(found, len(part.Y)))
        return [float(value) for value in found.mean_scores[0]]

    def allowed(point: Point) -> bool:
        known = _same(what.nearby(params[row], point[0]), params)
        return known not in params or bool(alive[params.index(known), point[1]])

    seen = descend(score, start, len(what.axis.values), what.grid.path is not None, allowed)
    how = f", the best of {len(seen)} that could win on {len(part.Y)} rows, after {coarse} kernels on {_first(whole)} rows"
    return Narrowed(named(replace(whole, route="cholesky"), data, how))


def _same(setting: dict[str, Any], known: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The known setting that differs by rounding alone, if there is one."""
    for params in known:
        if all(np.isclose(params[name], value, rtol=1e-9, atol=0.0) for name, value in setting.items()):
            return params
    return setting


def _first(surface: Surface) -> int:
    """The number of rows of the first comparison."""
    rows = surface.columns[SCORED_ON]
    return int(rows[rows > 0].min())


def narrow_landmarks(what: ScoredGrid, data: RidgeData, solver: str, n_components: int | None) -> Narrowed:
    """Every setting on few rows, the neighbors of the best on LANDMARK_ROWS, and those that can still win on all rows.

    The solver is "nystroem" for landmarks, or "fourier" for random Fourier features.
    """
    whole, _ = what.coarse(data)
    row, _ = choose_point(whole, what.rule)
    params, coarse = whole.params, len(whole.kernels)
    part = data if len(data.Y) <= LANDMARK_ROWS else sample(data, LANDMARK_ROWS).distinct()
    steps = [0] if what.grid.path is None else [0, -1, 1]
    settings = [_same(what.nearby(params[row], i), params) for i in steps]
    level, held = _level(what, settings, part, what.axis.values, solver, n_components)
    for _ in range(FURTHER):
        at = steps[choose_point(level, what.rule)[0]]
        if what.grid.path is None or min(steps) < at < max(steps):
            break
        steps.append(at + (1 if at == max(steps) else -1))
        more = _level(
            what, [_same(what.nearby(params[row], steps[-1]), params)], part, what.axis.values, solver, n_components
        )
        level, held = merge(level, more[0]), held + more[1]
    rows = _scored(part)
    alive = can_win(level, part.Y[rows], None if part.weights is None else part.weights[rows], what.scoring)
    whole = replace(entered(whole, scored_on(level, len(part.Y))), route=solver)
    compared = f"{len(steps)} on {len(part.Y)} rows, after {coarse} kernels on {_first(whole)} rows"
    if part is data:
        fits = _placed(whole, level, held)
        return Narrowed(named(whole, data, f", the best of {compared}"), fits)
    final, held, number = _last(what, level, alive, data, solver, n_components)
    whole = entered(whole, scored_on(final, len(data.Y)))
    return Narrowed(named(whole, data, f", {number} on all rows, the best of {compared}"), _placed(whole, final, held))


def _last(
    what: ScoredGrid, level: Surface, alive: Array, data: RidgeData, solver: str, n_components: int | None
) -> tuple[Surface, list[LeaveOneOut | None], int]:
    """The settings that can still win, on all rows, at alphas around the best of each."""
    best = np.where(np.isfinite(level.mean_scores), level.mean_scores, -np.inf)
    order = [int(i) for i in np.argsort(-best.max(axis=1)) if alive[i].any()]
    order = order[: 1 if len(data.Y) > MANY else FINALISTS]
    column = int(best[order[0]].argmax())
    near = what.axis.values[max(0, column - AROUND) : column + AROUND + 1]
    surface, held = _level(what, [level.params[i] for i in order], data, near, solver, n_components)
    return surface, held, len(order)


def _level(
    what: ScoredGrid, settings: list[dict[str, Any]], data: RidgeData, alphas: Array, solver: str, n_components: int | None
) -> tuple[Surface, list[LeaveOneOut | None]]:
    """The surface of fits on landmarks, scored by leave-one-out at a sample of the rows; only the best fit is kept."""
    rows, kernels = _scored(data), [what.setting(params) for params in settings]
    X, Y = take(data.X, rows), data.Y[rows]
    weights = None if data.weights is None else data.weights[rows]
    found, loo, top = [], [], -np.inf
    fits: list[LeaveOneOut | None] = []
    for number, kernel in enumerate(kernels):
        left = fit_at_all(kernel, data, alphas, solver, n_components)
        residuals = left.residuals(X, Y, weights)
        own = np.ones(len(Y)) if weights is None else weights
        found.append(what.scoring.evaluate(Y, [residuals], [np.arange(len(Y))], own, leave_one_out=True))
        loo.append(residuals)
        score = float(np.nanmax(found[-1].mean))
        fits = [*([None] * number), left] if score > top else [*fits, None]
        top = max(top, score)
        what.step(number + 1, len(kernels))
    axis = replace(what.axis, values=alphas)
    return exact.assemble(settings, kernels, axis, found, solver, what.scoring.name, np.stack(loo)), fits


def _scored(data: RidgeData) -> Array:
    """The rows whose leave-one-out residuals are computed: a sample of those that count."""
    known = np.flatnonzero(data.counted)
    if len(known) <= SCORED_ROWS:
        return known
    return np.sort(np.random.default_rng(SEED).choice(known, SCORED_ROWS, replace=False))


def _placed(whole: Surface, part: Surface, fits: Iterable[LeaveOneOut | None]) -> tuple[LeaveOneOut | None, ...]:
    """The fits of some settings at their places in the whole surface."""
    known = dict(zip([repr(params) for params in part.params], fits, strict=True))
    return tuple(known.get(repr(params)) for params in whole.params)


def narrowed_seconds(settings: int, few: Route | None = None, m: int = 0) -> float:
    """Seconds of the comparisons before the final fit: exact ones, or on m landmarks if the route of one is given."""
    rate = gemm_rate()
    coarse = settings * 6.0 * SAMPLE**3 / rate
    if few is None:
        return coarse + POINTS * FINE_ROWS**3 / (0.6 * rate)
    return coarse + SETTINGS * (few.seconds + (2.0 * SCORED_ROWS * m**2 + 9.0 * m**3) / rate)
