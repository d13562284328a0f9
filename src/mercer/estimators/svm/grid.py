"""Grids of C and kernel parameters for support vector machines: as given, or chosen from the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.svm.surface import Labeled, SVMSurface, choose
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.selection.grids import SAMPLE, SEED, STEPS, WIDENINGS, Grid
from mercer.selection.surface import length_scale_steps

Array = NDArray[Any]
Evaluate = Callable[[list[dict[str, Any]], Labeled], SVMSurface]

#: Rows from which the spread of the data in feature space is taken.
SPREAD_ROWS = 500


def read_penalties(Cs: Sequence[float] | None, kernel: Kernel, X: Any) -> NDArray[np.float64]:
    """The values of C to compare: as given, or half decades from 0.1 to 10^4 divided by the spread in feature space."""
    if Cs is None:
        return np.asarray(np.logspace(-1, 4, 11) / _spread(kernel, X))
    values = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or values.min() <= 0:
        raise InputError(f"Cs must be finite numbers > 0, at least one; got {Cs!r}.")
    return values


def _spread(kernel: Kernel, X: Any) -> float:
    """Mean squared distance to the mean in feature space, tr K / m - j'Kj / m^2: the unit in which C is 1 / K's."""
    rows = Rows(X)
    chosen = np.random.default_rng(SEED).choice(len(rows), min(len(rows), SPREAD_ROWS), replace=False)
    K = np.asarray(kernel(rows.take(np.sort(chosen))), dtype=np.float64)
    spread = float(np.trace(K) / len(K) - K.mean())
    return spread if spread > 0 else 1.0


def explore(grid: Grid, evaluate: Evaluate, data: Labeled, rule: str) -> SVMSurface:
    """The surface over a grid, with a word on how it came about.

    Length scales of our own choosing are widened while the best lies on their edge, and for many rows narrowed on a
    seeded sample first; given ones are taken as they are.
    """
    if grid.path is None:
        return _named(evaluate(list(grid.settings), data), data, "")
    if len(data.codes) <= SAMPLE:
        return _named(_widened(grid, evaluate, data, rule), data, "")
    coarse = _widened(grid, evaluate, sample(data), rule)
    center = coarse.params[choose(coarse, rule)[0]][grid.path]
    around = [{grid.path: scale} for scale in length_scale_steps(center, -1, 1)]
    return _named(evaluate(around, data), data, f", round the best of {len(coarse.kernels)} on {SAMPLE} rows")


def _widened(grid: Grid, evaluate: Evaluate, data: Labeled, rule: str) -> SVMSurface:
    surface = evaluate(list(grid.settings), data)
    for _ in range(WIDENINGS):
        beyond = _beyond(grid.path, surface, choose(surface, rule)[0])
        if not beyond:
            break
        surface = merge(surface, evaluate(beyond, data))
    return surface


def _beyond(path: str | None, surface: SVMSurface, row: int) -> list[dict[str, Any]]:
    """Length scales past the edge that the chosen row lies on, if it does."""
    assert path is not None
    scales = np.array([params[path] for params in surface.params])
    factors = 2.0 ** (np.arange(STEPS, 0, -1) / 2)
    if scales[row] == scales.max():
        return [{path: float(scales.max() * factor)} for factor in factors]
    if scales[row] == scales.min():
        return [{path: float(scales.min() / factor)} for factor in factors[::-1]]
    return []


def merge(first: SVMSurface, second: SVMSurface) -> SVMSurface:
    """Two surfaces over the same values of C as one."""

    def both(name: str) -> Array:
        return np.concatenate([getattr(first, name), getattr(second, name)])

    return dataclasses.replace(
        first,
        params=first.params + second.params,
        kernels=first.kernels + second.kernels,
        split_scores=both("split_scores"),
        support=both("support"),
        iterations=both("iterations"),
        converged=both("converged"),
    )


def sample(data: Labeled) -> Labeled:
    """SAMPLE of the rows, always the same ones, with the same splits as far as they hold these rows."""
    rows = np.sort(np.random.default_rng(SEED).choice(len(data.codes), SAMPLE, replace=False))
    place = np.full(len(data.codes), -1)
    place[rows] = np.arange(SAMPLE)
    splits = tuple(tuple(place[side][place[side] >= 0] for side in split) for split in data.splits)
    whole = data.box
    return Labeled(
        Rows(data.X).take(rows).data,
        data.codes[rows],
        data.classes,
        lambda train: whole(rows[train]),
        splits,  # type: ignore[arg-type]
    )


def _named(surface: SVMSurface, data: Labeled, more: str) -> SVMSurface:
    shape = f"{len(surface.kernels)} x {len(surface.Cs)} (kernels x C)"
    return dataclasses.replace(surface, how=f"best of {shape} by {len(data.splits)} splits{more}")


def tabulate(surface: SVMSurface) -> dict[str, Any]:
    """The surface in the form of scikit-learn's cv_results_: one entry per (kernel setting, C)."""
    points = [{**params, "C": float(C)} for params in surface.params for C in surface.Cs]
    table: dict[str, Any] = {"params": points}
    for name in points[0]:
        table[f"param_{name}"] = np.array([point[name] for point in points], dtype=object)
    for number in range(surface.split_scores.shape[2]):
        table[f"split{number}_test_score"] = surface.split_scores[:, :, number].ravel()
    flat = surface.scores.ravel()
    table["mean_test_score"] = flat
    table["std_test_score"] = surface.split_scores.std(axis=2).ravel()
    table["standard_error"] = surface.standard_errors.ravel()
    table["mean_support_vectors"] = surface.support.ravel()
    # ties share the better rank, as in scikit-learn
    finite = np.where(np.isfinite(flat), flat, -np.inf)
    table["rank_test_score"] = 1 + np.array([int((finite > value).sum()) for value in finite])
    return table
