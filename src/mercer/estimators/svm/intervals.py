"""Prediction intervals from ten folds: held-out residuals, and the CV+ of Barber et al. (2021)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.intervals import cv_plus
from mercer.estimators.progress import Meter
from mercer.estimators.svm.decision import SupportFunctions
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import SupportFunction
from mercer.registry import record
from mercer.selection.folds import class_folds

#: Folds, and the seed that deals the rows out to them: the same model gives the same intervals.
FOLDS, SEED = 10, 0


@record("HeldOut")
@dataclass(frozen=True)
class FoldResiduals:
    """Residuals of held-out rows, and the functions of the folds on their common support vectors."""

    _stored: ClassVar[dict[str, str]] = {
        "coef": "float (S, F)",
        "intercepts": "float (F,)",
        "support": "rows S",
        "residuals": "float (n,)",
        "folds": "int (n,) < F",
    }

    residuals: Array  # (n,) over rows of positive weight
    folds: Array  # (n,) the fold of each
    support: Any  # (S rows); for Precomputed their numbers
    coef: Array  # (S, folds)
    intercepts: Array  # (folds,)


def hold_out(kernel: Kernel, training: Any, fit: Callable[[Array], SupportFunction], meter: Meter) -> FoldResiduals:
    """Fit without each fold in turn; `fit(weights)` gives a row of weight 0 its output and no say."""
    known = training.weights > 0
    if known.sum() < 2:
        raise InputError("predict_interval needs at least two rows: one alone cannot be held out.")
    n_folds = min(FOLDS, int(known.sum()))
    folds = class_folds(np.where(known, 0, -1), n_folds, SEED, training.X)
    residuals, found = np.empty(len(folds)), []
    for fold in range(n_folds):
        meter(fold, n_folds)
        function = fit(np.where(folds == fold, 0.0, training.weights))
        residuals[folds == fold] = (training.y - function.outputs)[folds == fold]
        found.append(function)
    coef = np.stack([function.coef for function in found], axis=1)
    used = np.flatnonzero(coef.any(axis=1))
    support = used if len(used) == 0 else kernel.keep(training.X, used)
    intercepts = np.array([function.intercept for function in found])
    return FoldResiduals(residuals[known], folds[known], support, coef[used], intercepts)


def fold_predictions(held: FoldResiduals, kernel: Kernel, new: Any) -> Array:  # (m rows) -> (m, folds)
    """The predictions of every fold's function at new rows."""
    return SupportFunctions(kernel, held.support, held.coef, np.array([len(held.coef)]), held.intercepts)(new)


def crossed(held: FoldResiduals, kernel: Kernel, new: Any, coverage: float) -> Array:  # (m rows) -> (m, 2)
    """Return CV+ intervals at new rows."""
    return cv_plus(fold_predictions(held, kernel, new), np.abs(held.residuals), held.folds, coverage)
