"""The cross-validated surface: scores of kernel settings times penalties, the point that is chosen, and the table of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from numbers import Integral
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, shown
from mercer.grams import GramOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.registry import record
from mercer.selection.folds import read_groups

#: Among points of equal score and penalty the one with the smallest number in this column is chosen, where there is one.
FEWEST = "mean_support_vectors"

#: The column that says on how many rows a point was scored. Points with fewer than the most were ruled out.
SCORED_ON = "n_rows"


@record()
@dataclass(frozen=True)
class PenaltyAxis:
    """The penalties of a surface: alpha, or C, which is its inverse."""

    name: str
    values: Array  # (L,)
    larger_is_simpler: bool

    def order(self) -> Array:  # (L,)
        """Numbers that are smaller for simpler models."""
        return -self.values if self.larger_is_simpler else self.values


def _of_version_0_1_0(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a surface from a file of version 0.1.0, which had a class each for alpha and for C."""
    if "alphas" in fields:
        fields["axis"] = PenaltyAxis("alpha", fields.pop("alphas"), True)
        return fields
    if "Cs" in fields:
        names = {"mean_support_vectors": "support", "iterations": "iterations", "converged": "converged"}
        columns = {name: fields.pop(old) for name, old in names.items()}
        axis, splits = PenaltyAxis("C", fields.pop("Cs"), False), fields["split_scores"]
        return {**fields, "axis": axis, "columns": columns, "route": "", **statistics(splits)}
    return fields


@record("SVMSurface", left_out=("loo",), older=_of_version_0_1_0)
@dataclass(frozen=True)
class Surface:
    """Scores of every kernel setting (rows) at every penalty (columns); greater is better."""

    params: tuple[dict[str, Any], ...]
    kernels: tuple[Kernel, ...]
    axis: PenaltyAxis
    scores: Array  # (S, L), or (S, L, t)
    standard_errors: Array  # like scores
    route: str
    scoring: str
    deviations: Array | None = None  # (S, L) standard deviations of the splits' scores, or of the rows' in leave-one-out
    split_scores: Array | None = None  # (S, L, m) of each split; None for leave-one-out
    loo: Array | None = None  # (S, L, n, *t) leave-one-out residuals, where they were computed and are few enough
    columns: Mapping[str, Array] = field(default_factory=dict)  # further columns of the table, (S, L) each
    how: str = ""  # how its points were scored, if not as requested; then how one of them was chosen

    @property
    def alphas(self) -> Array:  # (L,)
        """The penalties of a ridge."""
        return self.axis.values

    @property
    def Cs(self) -> Array:  # noqa: N802 - the name of the parameter of SVCCV
        """The penalties of a support vector machine, (L,)."""
        return self.axis.values

    @property
    def mean_scores(self) -> Array:  # (S, L)
        """Scores averaged over targets."""
        return over_targets(self.scores)

    @property
    def mean_errors(self) -> Array:  # (S, L)
        """Standard errors averaged over targets."""
        return over_targets(self.standard_errors)

    @property
    def compared(self) -> Array:  # (S, L)
        """Whether a point was scored on the most rows; the others were excluded by scores on fewer rows."""
        rows = self.columns.get(SCORED_ON)
        return np.ones(self.mean_scores.shape, bool) if rows is None else np.asarray(rows == rows.max())


def over_targets(values: Array) -> Array:  # (a, b), or (a, b, t) -> (a, b)
    """The mean over targets, if there are several."""
    return values if values.ndim == 2 else np.asarray(values.mean(axis=2))


def statistics(split_scores: Array) -> dict[str, Array]:  # (S, L, m)
    """Mean, standard error and standard deviation over splits, as fields of a Surface; one split has no error."""
    m = split_scores.shape[2]
    error = split_scores.std(axis=2, ddof=1) / m**0.5 if m > 1 else np.full(split_scores.shape[:2], np.nan)
    return {"scores": split_scores.mean(axis=2), "standard_errors": error, "deviations": split_scores.std(axis=2)}


def merge(first: Surface, second: Surface) -> Surface:
    """Two surfaces over the same penalties as one."""

    def both(one: Array | None, other: Array | None) -> Any:
        return None if one is None or other is None else np.concatenate([one, other])

    return dataclasses.replace(
        first,
        params=first.params + second.params,
        kernels=first.kernels + second.kernels,
        scores=both(first.scores, second.scores),
        standard_errors=both(first.standard_errors, second.standard_errors),
        deviations=both(first.deviations, second.deviations),
        split_scores=both(first.split_scores, second.split_scores),
        loo=both(first.loo, second.loo),
        columns={name: both(values, second.columns[name]) for name, values in first.columns.items()},
    )


def choose_point(surface: Surface, rule: str = "best") -> tuple[int, int]:
    """The chosen (kernel, penalty) indices: the best score, or the simplest model within a standard error of it.

    Scores of few rows are often equal: then the simplest model is taken, the largest alpha or the smallest C.
    """
    scores, order = np.where(surface.compared, surface.mean_scores, np.nan), surface.axis.order()
    if not np.isfinite(scores).any():
        raise InputError(
            f"no point of the surface has a finite {surface.scoring}: held-out predictions have none, or alpha = 0 leaves "
            "them undefined. Give alphas > 0, or choose another scoring."
        )
    sizes = surface.columns.get(FEWEST, np.zeros(scores.shape))

    def simplest(candidates: Array) -> tuple[int, int]:
        def key(point: list[int]) -> tuple[float, float, float]:
            row, column = point
            return order[column], -scores[row, column], sizes[row, column]

        row, column = min(np.argwhere(candidates).tolist(), key=key)
        return row, column

    best = simplest(scores == np.nanmax(scores))
    if rule == "best":
        return best
    return simplest(scores >= scores[best] - np.nan_to_num(surface.mean_errors[best]))


def choose_per_target(surface: Surface, row: int) -> Array:
    """Return the index of the best penalty for every target, for one kernel setting."""
    return np.asarray(np.nanargmax(np.where(surface.compared[row][:, None], surface.scores[row], np.nan), axis=0))


def tabulate(surface: Surface) -> dict[str, Any]:
    """The surface as GridSearchCV's cv_results_: one entry per (kernel setting, penalty); ties share the better rank."""
    points = [{**params, surface.axis.name: float(value)} for params in surface.params for value in surface.axis.values]
    table: dict[str, Any] = {"params": points}
    for name in points[0]:
        table[f"param_{name}"] = np.array([point[name] for point in points], dtype=object)
    if surface.split_scores is not None:
        for number in range(surface.split_scores.shape[2]):
            table[f"split{number}_test_score"] = surface.split_scores[:, :, number].ravel()
    flat = surface.mean_scores.ravel()
    table["mean_test_score"] = flat
    if surface.deviations is not None:
        table["std_test_score"] = surface.deviations.ravel()
    table["standard_error"] = surface.mean_errors.ravel()
    table |= {name: values.ravel() for name, values in surface.columns.items()}
    ranked = np.isfinite(flat) & surface.compared.ravel()
    table["rank_test_score"] = stats.rankdata(-np.where(ranked, flat, -np.inf), method="min").astype(np.int32)
    return table


#: With more rows than this, a grid of our own choosing is narrowed on a sample of this many first.
#: Row: ridge-surface-n2000.
SAMPLE, SEED = 2000, 0

#: How often a grid of our own choosing is widened when the best point lies on its edge, and by how many steps.
WIDENINGS, STEPS = 2, 3

#: Rows from which the spread of the data in feature space is taken.
SPREAD_ROWS = 500

Splits = tuple[tuple[Array, Array], ...]  # (train, test) rows


class Data(Protocol):
    """The data of a surface, as far as a grid needs them."""

    @property
    def splits(self) -> Splits | None:
        """(train, test) rows; None is leave-one-out."""
        ...

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(n,) False for rows of weight 0."""
        ...

    def take(self, rows: Indices) -> Self:
        """Some of the rows."""
        ...


D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Grid:
    """Kernel settings to compare; `path` names the length scale of a grid that was chosen from the data."""

    kernel: Kernel
    settings: tuple[dict[str, Any], ...]
    path: str | None = None

    def explore(self, evaluate: Callable[[list[dict[str, Any]], D], Surface], data: D, rule: str) -> Surface:
        """The surface over the settings, with a note on how they were chosen; `evaluate` scores settings at all penalties.

        Default length scales are extended while the best one lies at their end, and for many rows first narrowed on a
        sample with a fixed seed; given length scales are not changed.
        """
        if self.path is None:
            return named(evaluate(list(self.settings), data), data, "")
        if len(data.counted) <= SAMPLE:
            return named(self.widened(evaluate, data, rule), data, "")
        coarse = self.widened(evaluate, sample(data), rule)
        center = coarse.params[choose_point(coarse, rule)[0]][self.path]
        around = [{self.path: scale} for scale in length_scale_steps(center, -1, 1)]
        return named(evaluate(around, data), data, f", around the best of {len(coarse.kernels)} on {SAMPLE} rows")

    def widened(self, evaluate: Callable[[list[dict[str, Any]], D], Surface], data: D, rule: str) -> Surface:
        """Return the surface over the settings, extended while the best point lies at its edge."""
        surface = evaluate(list(self.settings), data)
        for _ in range(WIDENINGS):
            beyond = self._beyond(surface, choose_point(surface, rule)[0])
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


def named(surface: Surface, data: Data, more: str) -> Surface:
    """The surface with a note on how its points were compared."""
    way = surface.how or ("leave-one-out" if data.splits is None else f"{len(data.splits)} splits")
    penalties = "alphas" if surface.axis.name == "alpha" else surface.axis.name
    how = f"best of {len(surface.kernels)} x {len(surface.axis.values)} (kernels x {penalties}) by {way}{more}"
    return dataclasses.replace(surface, how=how)


def sample(data: D, size: int | None = None) -> D:
    """At most `size` (SAMPLE if None) of the rows that count, always the same ones."""
    known, most = np.flatnonzero(data.counted), SAMPLE if size is None else size
    return data.take(np.sort(np.random.default_rng(SEED).choice(known, min(most, len(known)), replace=False)))


def length_scale_steps(center: float, first: int = -4, last: int = 5) -> list[float]:
    """Length scales around a center in steps of sqrt(2), each Gaussian Gram the square of the one before.

    >>> [round(s, 3) for s in length_scale_steps(1.0, -1, 2)]
    [2.0, 1.414, 1.0, 0.707]
    """
    return [center * 2.0 ** (j / 2) for j in range(last, first - 1, -1)]


def length_scale_paths(kernel: Kernel) -> list[str]:
    """The names of all parameters that are one number called length_scale."""
    return [
        name
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] == "length_scale" and isinstance(value, float)
    ]


def read_grid(kernel: Kernel, length_scales: Sequence[float] | None, param_grid: Mapping[str, Sequence[Any]] | None) -> Grid:
    """Return the settings to compare, checked against the kernel."""
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
        return Grid(kernel, tuple({paths[0]: scale} for scale in _scales(length_scales)))
    if len(paths) != 1:
        return Grid(kernel, ({},))
    center = kernel.get_params()[paths[0]]
    return Grid(kernel, tuple({paths[0]: scale} for scale in length_scale_steps(center)), paths[0])


def alpha_axis(alphas: Sequence[float] | None, kernel: Kernel, rows: Rows | ChunkedRows) -> PenaltyAxis:
    """The values of alpha to compare: as given, or half decades in units of the mean of k(x, x)."""
    near = rows.head.X if isinstance(rows, ChunkedRows) else rows  # the first rows of chunks say how large k(x, x) is
    values = default_alphas(kernel.diag(near)) if alphas is None else _numbers(alphas)
    if values.min(initial=0.0) < 0 or not len(values):
        raise InputError(f"alphas must be finite numbers >= 0, at least one; got {alphas!r}.")
    return PenaltyAxis("alpha", values, larger_is_simpler=True)


def default_alphas(diagonal: Array) -> Floats:
    """Half decades over ten orders of magnitude, in units of the mean of k(x, x)."""
    scale = float(np.mean(diagonal))
    return (scale if scale > 0 else 1.0) * np.logspace(-8, 2, 21)


def cost_axis(Cs: Sequence[float] | None, kernel: Kernel, rows: Rows) -> PenaltyAxis:
    """The values of C to compare: as given, or half decades from 0.1 to 10^4 divided by the spread in feature space."""
    values = np.logspace(-1, 4, 11) / _spread(kernel, rows) if Cs is None else _numbers(Cs)
    if not len(values) or values.min() <= 0:
        raise InputError(f"Cs must be finite numbers > 0, at least one; got {Cs!r}.")
    return PenaltyAxis("C", values, larger_is_simpler=False)


def _scales(given: Any) -> list[float]:
    """Return the length scales to compare."""
    values = _numbers(given)
    if not len(values) or values.min() <= 0:
        raise InputError(f"length_scales must be a list of finite numbers > 0, at least one; got {shown(given)}.")
    return [float(value) for value in values]


def _numbers(given: Any) -> Floats:  # -> (L,), empty where they are no finite numbers
    try:
        values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)
    return values if values.ndim == 1 and np.isfinite(values).all() else np.empty(0)


def _spread(kernel: Kernel, rows: Rows) -> float:
    """Mean squared distance to the mean in feature space, tr K / m - j'Kj / m^2: the unit in which C is 1 / K's."""
    if len(rows) <= SPREAD_ROWS:
        K = np.asarray(kernel(rows), dtype=np.float64)
    else:
        chosen = np.sort(np.random.default_rng(SEED).choice(len(rows), SPREAD_ROWS, replace=False))
        K = np.asarray(GramOperator(kernel, rows).submatrix(chosen, chosen), dtype=np.float64)
    spread = float(np.trace(K) / len(K) - K.mean())
    return spread if spread > 0 else 1.0


def read_splits(cv: Any, X: Any, y: Any, groups: Any, classifier: bool = False) -> Splits | None:
    """The (train, test) rows of a cross-validation; None is leave-one-out.

    Groups are never split: with groups, None is leave-one-group-out and a number is that many folds of whole groups.
    """
    if cv is None and groups is None:
        return None
    from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, LeaveOneOut, StratifiedGroupKFold, check_cv

    if groups is not None:
        groups = read_groups(groups, len(y))
        if cv is None:
            cv = LeaveOneGroupOut()
        elif isinstance(cv, Integral):
            cv = StratifiedGroupKFold(int(cv)) if classifier else GroupKFold(int(cv))
    try:
        splitter = check_cv(cv, y, classifier=classifier)
        if isinstance(splitter, LeaveOneOut):
            return None
        if not hasattr(X, "shape"):
            X = np.empty(len(X))  # splitters look at the number of rows only
        splits = tuple((np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise InputError(f"cv={shown(cv)}: {error}") from error
    if not splits:
        raise InputError(f"cv={cv!r} makes no split.")
    return splits
