"""The cross-validated surface: scores of kernel settings times penalties, the point that is chosen, and the table of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.registry import record

Array = NDArray[Any]

#: Among points of equal score and penalty the one with the smallest number in this column is chosen, where there is one.
FEWEST = "mean_support_vectors"


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
    how: str = ""

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


def choose(surface: Surface, rule: str = "best") -> tuple[int, int]:
    """The chosen (kernel, penalty) indices: the best score, or the simplest model within a standard error of it.

    Scores of few rows tie: among equals the simplest model is taken, the largest alpha or the smallest C.
    """
    scores, order = surface.mean_scores, surface.axis.order()
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
    """The best penalty's index for every target, for one kernel setting."""
    return np.asarray(np.nanargmax(surface.scores[row], axis=0))


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
    table["rank_test_score"] = rankdata(-np.where(np.isfinite(flat), flat, -np.inf), method="min").astype(np.int32)
    return table
