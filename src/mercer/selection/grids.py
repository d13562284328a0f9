"""Grids of kernel parameters: as given, or chosen from the data, narrowed on a sample and widened at their edges."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.selection.surface import Data, Surface, choose, default_alphas, length_scale_steps

#: With more rows than this, a grid of our own choosing is narrowed on a sample of this many first.
SAMPLE, SEED = 2000, 0

#: How often a grid of our own choosing is widened when the best point lies on its edge, and by how many steps.
WIDENINGS, STEPS = 2, 3

Evaluate = Callable[[list[dict[str, Any]], Data], Surface]


@dataclass(frozen=True)
class Grid:
    """Kernel settings to compare; `path` names the length scale of a grid that was chosen from the data."""

    kernel: Kernel
    settings: tuple[dict[str, Any], ...]
    path: str | None = None

    def explore(self, evaluate: Evaluate, data: Data, rule: str) -> Surface:
        """The surface over the settings, with a word on how they came about."""
        if self.path is None:
            return _named(evaluate(list(self.settings), data), data, "")
        if len(data.Y) <= SAMPLE:
            return _named(self._widened(evaluate, data, rule), data, "")
        coarse = self._widened(evaluate, sample(data), rule)
        center = coarse.params[choose(coarse, rule)[0]][self.path]
        around = [{self.path: scale} for scale in length_scale_steps(center, -1, 1)]
        return _named(evaluate(around, data), data, f", round the best of {len(coarse.kernels)} on {SAMPLE} rows")

    def _widened(self, evaluate: Evaluate, data: Data, rule: str) -> Surface:
        """The surface over the settings, and past its edge while the best point lies there."""
        surface = evaluate(list(self.settings), data)
        for _ in range(WIDENINGS):
            beyond = self._beyond(surface, choose(surface, rule)[0])
            if not beyond:
                break
            surface = merge(surface, evaluate(beyond, data))
        return surface

    def _beyond(self, surface: Surface, row: int) -> list[dict[str, Any]]:
        """Settings past the edge that the chosen row lies on, if it does."""
        assert self.path is not None
        scales = np.array([params[self.path] for params in surface.params])
        factors = 2.0 ** (np.arange(STEPS, 0, -1) / 2)  # the largest first: each Gram is the square of the one before
        if scales[row] == scales.max():
            return [{self.path: float(scales.max() * f)} for f in factors]
        if scales[row] == scales.min():
            return [{self.path: float(scales.min() / f)} for f in factors[::-1]]
        return []


def _named(surface: Surface, data: Data, more: str) -> Surface:
    way = "leave-one-out" if data.splits is None else f"{len(data.splits)} splits"
    how = f"best of {len(surface.kernels)} x {len(surface.alphas)} (kernels x alphas) by {way}{more}"
    return dataclasses.replace(surface, how=how)


def merge(first: Surface, second: Surface) -> Surface:
    """Two surfaces over the same alphas as one."""
    loo = None if first.loo is None or second.loo is None else np.concatenate([first.loo, second.loo])
    return dataclasses.replace(
        first,
        params=first.params + second.params,
        kernels=first.kernels + second.kernels,
        scores=np.concatenate([first.scores, second.scores]),
        standard_errors=np.concatenate([first.standard_errors, second.standard_errors]),
        loo=loo,
    )


def sample(data: Data) -> Data:
    """Some of the rows, always the same ones, scored by leave-one-out."""
    known = np.arange(len(data.Y)) if data.weights is None else np.flatnonzero(data.weights)
    rows = np.sort(np.random.default_rng(SEED).choice(known, min(SAMPLE, len(known)), replace=False))
    weights = None if data.weights is None else data.weights[rows]
    return Data(Rows(data.X).take(rows).data, data.Y[rows], weights, data.fit_intercept, None)


def length_scale_paths(kernel: Kernel) -> list[str]:
    """The names of all parameters that are one number called length_scale."""
    return [
        name
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] == "length_scale" and isinstance(value, float)
    ]


def read_grid(
    kernel: Kernel, length_scales: Sequence[float] | None, param_grid: Mapping[str, Sequence[Any]] | None
) -> Grid:
    """The settings to compare, checked against the kernel."""
    if param_grid is not None:
        if length_scales is not None:
            raise InputError("give length_scales or param_grid, not both: a length scale is a parameter like others.")
        names = list(param_grid)
        return Grid(kernel, tuple(dict(zip(names, point, strict=True)) for point in product(*param_grid.values())))
    paths = length_scale_paths(kernel)
    if length_scales is not None:
        if len(paths) != 1:
            found = f"several: {', '.join(paths)}" if paths else "none"
            raise InputError(
                f"length_scales replaces the single length scale of the kernel, but {kernel} has {found}. "
                'Use param_grid={"0__length_scale": […]} with names of kernel.get_params().'
            )
        return Grid(kernel, tuple({paths[0]: float(scale)} for scale in np.asarray(length_scales, dtype=float)))
    if len(paths) != 1:
        return Grid(kernel, ({},))
    center = kernel.get_params()[paths[0]]
    return Grid(kernel, tuple({paths[0]: scale} for scale in length_scale_steps(center)), paths[0])


def read_alphas(alphas: Sequence[float] | None, kernel: Kernel, X: Any) -> NDArray[np.float64]:
    """The penalties to compare: as given, or half decades in units of the mean of k(x, x)."""
    if alphas is None:
        return default_alphas(kernel.diag(X))
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or values.min() < 0:
        raise InputError(f"alphas must be finite numbers >= 0, at least one; got {alphas!r}.")
    return values


def read_splits(
    cv: Any, X: Any, y: Any, groups: Any, classifier: bool = False
) -> tuple[tuple[NDArray[Any], NDArray[Any]], ...] | None:
    """The (train, test) rows of a cross-validation; None is leave-one-out."""
    if cv is None:
        return None
    from sklearn.model_selection import LeaveOneOut, check_cv

    splitter = check_cv(cv, y, classifier=classifier)
    if isinstance(splitter, LeaveOneOut):
        return None
    if not hasattr(X, "shape"):
        X = np.empty(len(X))  # splitters look at the number of rows only
    splits = tuple((np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups))
    if not splits:
        raise InputError(f"cv={cv!r} makes no split.")
    return splits
