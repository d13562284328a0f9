"""Choose the parameters of a ridge on a grid of frequencies: on few rows, in dense neighborhoods, and on all rows.

A few of many rows are far apart, and their best length scale is too large for all of them. In the neighborhood of a row the
rows are as dense as they are in all, but what lies beyond it is missing. So both kinds of samples are compared by exact
leave-one-out, and the best of either is a start for the search on all rows: errors at held-out rows of fits to the others,
from each point to better neighbors. Every fit needs products with a Toeplitz matrix alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.estimators.ridge import surface as exact
from mercer.estimators.ridge.grid import GridRows, residuals_on_grid
from mercer.estimators.ridge.narrowing import Narrowed, Point, ScoredGrid, descend, entered, scored_on
from mercer.estimators.ridge.problem import RidgeData
from mercer.grams.fourier_grid import FourierGrid, grid_for
from mercer.kernels.base import Kernel
from mercer.kernels.fields import MEDIAN
from mercer.linalg.ridge.tridiagonal import TridiagonalPath
from mercer.planning import Route, Shape, gemm_rate
from mercer.selection.surface import SAMPLE, SEED, Grid, Surface, choose_point, length_scale_steps, named

#: Neighborhoods, their rows, and the part of them, nearest to the middle, whose errors count.
PLACES, NEAR_ROWS, INNER = 4, 1000, 0.5

#: Rows that are held out of the fits to all others.
HELD = 65_536

#: Accuracy and steps of the fits that are compared.
TOLERANCE, STEPS = 1e-3, 150

#: Length scales (in steps of sqrt(2)) that share the frequencies of one grid, on either side.
SHARED = 1

#: Fits that are compared on all rows as a rule.
FITS = 12


def narrow_grid(what: ScoredGrid, data: RidgeData) -> Narrowed:
    """Every setting on few rows and in neighborhoods, and the best of both and their neighbors on all rows."""
    whole, _ = what.coarse(data)
    coarse = len(whole.kernels)
    dense = _neighborhoods(what, data)
    starts = [_chosen(what, whole), _chosen(what, dense)]
    search = _Search(what, data, whole)
    scores = [search.score(params, [column])[0] for params, column in starts]
    params, start = starts[int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))]

    def score(steps: int, columns: Sequence[int]) -> Sequence[float]:
        return search.score(what.nearby(params, steps), columns)

    def allowed(point: Point) -> bool:
        return True

    moves = what.grid.path is not None
    seen = descend(score, start, len(what.axis.values), moves, allowed, {(0, start): max(scores)})
    how = (
        f", the best of {len(seen) + 1} on {len(search.train)} rows, after {coarse} kernels on {min(SAMPLE, len(data.Y))} "
        f"rows and {len(dense.kernels)} in {PLACES} neighborhoods"
    )
    return Narrowed(named(replace(search.whole, route="fourier", how="held-out rows"), data, how))


def _chosen(what: ScoredGrid, surface: Surface) -> tuple[dict[str, Any], int]:
    row, column = choose_point(surface, what.rule)
    return surface.params[row], column


class _Search:
    """Errors of fits to most rows at those that are left out; all fits with near length scales share two transforms."""

    def __init__(self, what: ScoredGrid, data: RidgeData, whole: Surface) -> None:
        self.what, self.data, self.whole = what, data, whole
        known = np.flatnonzero(data.counted)
        held = np.random.default_rng(SEED).choice(known, min(HELD, len(known) // 10), replace=False)
        self.test = np.sort(held)
        self.train = np.setdiff1d(known, self.test)
        self.low, self.high = (np.asarray(edge, dtype=np.float64) for edge in (data.X.min(axis=0), data.X.max(axis=0)))
        self.rows: GridRows | None = None
        self.grids: list[tuple[dict[str, Any], FourierGrid]] = []

    def score(self, params: dict[str, Any], columns: Sequence[int]) -> list[float]:
        """Scores of one setting at some penalties, which enter the surface too."""
        what, data, grid = self.what, self.data, self._grid(params)
        assert self.rows is not None
        axis = replace(what.axis, values=what.axis.values[list(columns)])
        X, Y, held = data.X[self.test], data.Y[self.test], []
        for alpha in axis.values:
            beta, intercept, _ = self.rows.solve(grid, float(alpha), TOLERANCE, STEPS, None)
            held.append(residuals_on_grid(grid, beta, intercept, X, Y))
        weights = np.ones(len(Y)) if data.weights is None else data.weights[self.test]
        found = what.scoring.evaluate(Y, [np.stack(held)], [np.arange(len(Y))], weights, leave_one_out=True)
        part = exact.assemble([params], [what.setting(params)], axis, [found], "fourier", what.scoring.name)
        self.whole = entered(self.whole, scored_on(part, len(self.train)))
        what.step(1, 1)
        return [float(value) for value in part.mean_scores[0]]

    def _grid(self, params: dict[str, Any]) -> FourierGrid:
        for known, grid in self.grids:
            if all(np.isclose(known[name], value, rtol=1e-9, atol=0.0) for name, value in params.items()):
                return grid
        what, data = self.what, self.data
        shared = [params] if what.grid.path is None else [what.nearby(params, i) for i in range(-SHARED, SHARED + 1)]
        grids = grid_for([what.setting(setting) for setting in shared], self.low, self.high)
        weights = None if data.weights is None else data.weights[self.train]
        self.rows = GridRows(grids[0], data.X[self.train], data.Y[self.train], weights, data.fit_intercept)
        self.grids = list(zip(shared, grids, strict=True))
        return grids[shared.index(params)]


def _neighborhoods(what: ScoredGrid, data: RidgeData) -> Surface:
    """The exact surface of the inner rows of some neighborhoods, at length scales around their median distance."""
    parts = _places(what.grid.kernel, data, PLACES)
    grid = what.grid
    if grid.path is not None:
        center = float(np.median([_typical(grid, part) for part in parts]))
        grid = Grid(grid.kernel, tuple({grid.path: scale} for scale in length_scale_steps(center)), grid.path)

    inner = [slice(0, max(1, int(INNER * len(part.Y)))) for part in parts]
    Y = np.concatenate([part.Y[own] for part, own in zip(parts, inner, strict=True)])
    weights = np.concatenate([part.counted_weights[own] for part, own in zip(parts, inner, strict=True)])

    def evaluate(settings: list[dict[str, Any]], _: RidgeData) -> Surface:
        kernels, found = [what.setting(params) for params in settings], []
        for kernel in kernels:
            held = []
            for part, own in zip(parts, inner, strict=True):
                K = np.asarray(kernel(part.rows), dtype=np.float64)
                path = TridiagonalPath.from_gram(K, weights=part.weights, fit_intercept=data.fit_intercept, overwrite=True)
                held.append(path.leave_one_out(what.axis.values, part.Y)[:, own])
            residuals = np.concatenate(held, axis=1)
            found.append(what.scoring.evaluate(Y, [residuals], [np.arange(len(Y))], weights, leave_one_out=True))
        return exact.assemble(settings, kernels, what.axis, found, "tridiagonal", what.scoring.name)

    return evaluate(list(grid.settings), data) if grid.path is None else grid.widened(evaluate, data, what.rule)


def _typical(grid: Grid, part: RidgeData) -> float:
    """The median distance of some rows, in the metric of the kernel."""
    assert grid.path is not None
    return float(grid.kernel.set_params(**{grid.path: MEDIAN}).resolve(part.rows).get_params()[grid.path])


def dense_kernel(grid: Grid, data: RidgeData) -> Kernel:
    """The kernel at the median distance within a neighborhood: about the shortest length scale that many rows need."""
    if grid.path is None:
        return grid.kernel
    (part,) = _places(grid.kernel, data, 1)
    return grid.kernel.set_params(**{grid.path: _typical(grid, part)})


def _places(kernel: Kernel, data: RidgeData, places: int) -> list[RidgeData]:
    """The rows nearest to some random rows, by distance from them; equal rows as one."""
    known = np.flatnonzero(data.counted)
    middles = np.random.default_rng(SEED).choice(known, min(places, len(known)), replace=False)
    found = []
    for middle in middles:
        near = -np.asarray(kernel(data.X[known], data.X[middle : middle + 1]))[:, 0]
        most = min(NEAR_ROWS, len(known))
        nearest = np.argpartition(near, most - 1)[:most]
        found.append(data.take(known[nearest[np.argsort(near[nearest], kind="stable")]]).distinct())
    return found


def grid_seconds(shape: Shape, settings: int, fit: Route) -> float:
    """Seconds of the comparisons before the final fit on a grid."""
    exactly = settings * 6.0 * (SAMPLE**3 + PLACES * NEAR_ROWS**3) / gemm_rate()
    return exactly + FITS * fit.seconds / 2.0
