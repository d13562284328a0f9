"""What is tried on rows that come in chunks: ridges on landmarks, their length scales and penalties by leave-one-out.

Classes are regressions on indicators, as in `TableClassifier`; with an intercept that is the ridge of KernelRidgeClassifier,
whose labels are -1 and +1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.ridge.kernel_ridge_cv import KernelRidgeCV
from mercer.estimators.tables.given_kernel import named, read_kernel
from mercer.estimators.tables.targets import Transform
from mercer.grams.dual_function import DualFunction
from mercer.inputs.chunks import Chunks
from mercer.inputs.frames import Column
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian, Laplacian, Matern
from mercer.kernels.vectors import Linear
from mercer.selection.surface import length_scale_steps

#: Landmarks while candidates are compared, and of the model: a pass costs their square per row.
SEARCHED, LANDMARKS = 500, 2000

#: Rows from which the length scales to try are taken.
NEAR = 2000

#: How the columns come to all of them.
SCALING = "standard"

#: What a report says of the list.
LIMITS = (
    "The rows are read by workers and never brought together, so candidates are limited to ridges whose sums go over "
    "chunks: KernelRidgeCV on landmarks, and on indicators of the classes, which is KernelRidgeClassifier. One length scale "
    "serves all columns, and the best candidate alone is the model; learned metrics, means of several models, missing cells "
    "and text need the rows in one place: fit on some of them without --scheduler to compare"
)


@dataclass(frozen=True)
class Tried:
    """One candidate on all chunks: its kernel with its numbers, its error, and the passes that it took."""

    label: str
    kernel: Kernel
    error: float  # root mean squared error in the units of the target, or Brier score
    standard_error: float
    passes: int


@dataclass(frozen=True)
class Fitted:
    """A ridge on landmarks: the function, which rows of the fit the landmarks are, and the passes that it took."""

    model: DualFunction
    index: Indices  # (m,)
    passes: int
    error: tuple[float, float] = (np.nan, 0.0)  # of leave-one-out, with its standard error; not known of a second fit


def listed(text: str | None, columns: list[Column]) -> list[tuple[str, Kernel]]:
    """The candidates by name, or a person's kernel alone."""
    kernel = read_kernel(text)
    if kernel is None:
        return [
            ("linear", Linear()),
            ("Gaussian", Gaussian("median")),
            ("Laplacian", Laplacian("median")),
            ("Matern 3/2", Matern(1.5, length_scale="median")),
        ]
    if named(kernel, columns)[1]:
        raise InputError(
            f"{kernel} names columns, and workers hand all of them over as one vector; give a kernel on whole rows, such as "
            "Gaussian('median'), or leave --scheduler out."
        )
    return [(repr(kernel), kernel)]


def tried(label: str, kernel: Kernel, rows: Chunks, near: tuple[Floats, Floats], transform: Transform, memory: Any) -> Tried:
    """Length scale and penalty of a candidate by the surface of leave-one-out on all chunks.

    `near` are some of the rows, (m, d), with their targets: they say around which length scale it is looked for, so that
    the chunks are gone through for three of them only. The numbers of a kernel that has them stay.
    """
    settings: dict[str, Any] = {"fit_intercept": True, "n_components": SEARCHED, "memory": memory, "verbose": False}
    grid: dict[str, Any] = {"param_grid": {}}
    if kernel.unresolved:
        coarse = KernelRidgeCV(kernel, solver="nystroem", **settings).fit(*near)
        kernel, center = coarse.kernel_, coarse.best_length_scale_
        grid = grid if center is None else {"length_scales": length_scale_steps(center, -1, 1)}
    model = KernelRidgeCV(kernel, **grid, **settings).fit(rows)
    error, standard_error = error_of(model, transform)
    return Tried(label, model.kernel_, error, standard_error, model.route_.passes or 0)


def error_of(model: KernelRidgeCV, transform: Transform) -> tuple[float, float]:
    """The leave-one-out error at the chosen point, and its standard error: root mean squared, or of indicators Brier's."""
    scores, errors = model.surface_.scores[model.best_index_], model.surface_.standard_errors[model.best_index_]
    if not scores.ndim:
        root, spread = float(np.sqrt(-scores)), float(transform.spread[0])
        return spread * root, spread * float(errors) / (2.0 * root) if root > 0 else 0.0
    # the squares of a row are summed over its classes; their errors are added as if they were one
    return float(-scores.sum()), float(errors.sum())


def chosen_fit(kernel: Kernel, rows: Chunks, transform: Transform, memory: Any) -> Fitted:
    """The ridge of a kernel on all chunks, its penalty chosen once more for as many landmarks as the model has."""
    model = KernelRidgeCV(kernel, param_grid={}, fit_intercept=True, n_components=LANDMARKS, memory=memory, verbose=False)
    model.fit(rows)
    return replace(_fitted(model, float(model.best_alpha_)), error=error_of(model, transform))


def fit_again(before: DualFunction, rows: Chunks, memory: Any) -> Fitted:
    """The same kernel and penalty on other chunks."""
    model = KernelRidge(
        before.kernel, alpha=before.alpha, fit_intercept=True, solver="nystroem", n_components=LANDMARKS, memory=memory,
        verbose=False,
    )  # fmt: skip
    return _fitted(model.fit(rows), before.alpha)


def _fitted(model: Any, alpha: float) -> Fitted:
    """f as a sum over landmarks: L^-T w are the coefficients of k(s, x)."""
    features = model._problem.features
    dual = features.expansion(model.coef_.reshape(len(features.index), -1))
    found = DualFunction(model.kernel_, features.landmarks, dual, np.atleast_1d(model.intercept_), alpha, features.index)
    return Fitted(found, features.index, model.route_.passes or 0)


def placed(found: Fitted, places: Indices) -> DualFunction:  # (m,)
    """The function with its landmarks called by their places in another table."""
    return replace(found.model, rows=places)
