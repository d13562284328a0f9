"""What a fitted model computes, as one record for all exports: an expansion on known rows, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError, describe
from mercer.estimators.base import KernelEstimator, check_is_fitted
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.gp.model import ProcessForms
from mercer.estimators.logistic.kernel_logistic import LogisticModel
from mercer.estimators.means.nearest_mean import NearestMean
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.estimators.ridge.kernel_ridge import RidgeFacts, RidgeModel
from mercer.estimators.svm.one_class_svm import OneClassSVM
from mercer.estimators.svm.svc import SupportClassifier
from mercer.estimators.svm.svr import SupportRegressor
from mercer.export.formula import as_rows
from mercer.grams.dual_function import DualFunction
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class Scorer:
    """values(x) = sum_i coef_i k(x_i, (x - center) / spread) + intercept, and what the model makes of them.

    `kind` is "numbers" (the values are the predictions), "components" (coordinates), "classes" (the largest value, or the
    sign of one, names the class), "votes" (values compare pairs of classes), "novelty" (the sign of the value) or "process".
    """

    name: str
    kind: str
    kernel: Kernel
    rows: Floats  # (n, d)
    coef: Floats  # (n, t)
    intercept: Floats  # (t,)
    classes: Array | None = None
    probability: str = ""  # "logistic", "softmax", "slopes" (for f < 0 and f > 0), or none
    slopes: Floats | None = None  # (2,)
    temperature: float = 1.0
    break_ties: bool = False
    forms: ProcessForms | None = None
    center: Floats | None = None  # (d,) of a StandardScaler before the model
    spread: Floats | None = None  # (d,)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.rows.shape[1]


@singledispatch
def scorer(model: Any) -> Scorer:
    """Return what a fitted model computes; CapabilityError for models that cannot be exported."""
    raise CapabilityError(
        f"{type(model).__name__} cannot be exported. Exported are kernel ridges, support vector machines, Gaussian process "
        "regression, logistic regression, NearestMean, KernelPCA, pipelines of a StandardScaler and one of them, and, to "
        "ONNX only, table models; "
        f"got {describe(model)}."
    )


def _expansion(model: KernelEstimator, kind: str, function: DualFunction, **more: Any) -> Scorer:
    coef, intercept = function.columns()
    name = type(model).__name__
    if function.kernel.given:
        raise CapabilityError(f"{name}: Precomputed kernel values cannot be exported; fit with the kernel itself.")
    rows = as_rows(function.X, name)
    used = coef.any(axis=1)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise CapabilityError(f"{name}: coefficients are not finite; a model without rows of a class cannot be exported.")
    rows, coef = (rows[used], coef[used]) if used.any() else (rows[:1], coef[:1])
    return Scorer(name, kind, function.kernel, rows, coef, intercept.astype(np.float64), **more)


def _ridge_function(model: RidgeFacts) -> DualFunction:
    check_is_fitted(model)
    if model.route_.solver.startswith("nystroem"):
        return model.landmark_function()
    if model.route_.solver == "fourier" or "X_fit_" not in vars(model):
        raise CapabilityError(
            f"{type(model).__name__}: the route {model.route_.solver!r} keeps no training rows; fit with another solver."
        )
    return model.dual_function()


@scorer.register
def _(model: RidgeFacts) -> Scorer:
    function = _ridge_function(model)
    if isinstance(model, RidgeModel):
        return _expansion(model, "numbers", function)
    return _expansion(model, "classes", function, classes=np.asarray(vars(model)["classes_"]))


@scorer.register
def _(model: SupportRegressor) -> Scorer:
    return _expansion(model, "numbers", model.dual_function())


@scorer.register
def _(model: OneClassSVM) -> Scorer:
    return _expansion(model, "novelty", model.dual_function())


@scorer.register
def _(model: SupportClassifier) -> Scorer:
    function, two = model.dual_function(), len(model.classes_) == 2
    slopes = model.probability_slopes() if two else None
    found = _expansion(model, "classes" if two else "votes", function, classes=model.classes_)
    found = replace(found, break_ties=bool(model.break_ties))
    return found if slopes is None else replace(found, probability="slopes", slopes=slopes[0])


@scorer.register
def _(model: LogisticModel) -> Scorer:
    two = len(model.classes_) == 2 if vars(model).get("classes_") is not None else False
    rule = "logistic" if two else "softmax"
    return _expansion(model, "classes", model.dual_function(), classes=model.classes_, probability=rule)


@scorer.register
def _(model: NearestMean) -> Scorer:
    function = model.dual_function()
    rule = "" if np.isnan(model.temperature_) else "logistic" if len(model.classes_) == 2 else "softmax"
    found = _expansion(model, "classes", function, classes=model.classes_, probability=rule)
    return replace(found, temperature=float(model.temperature_))


@scorer.register
def _(model: KernelPCA) -> Scorer:
    check_is_fitted(model)
    function = DualFunction(model.kernel_, model.X_fit_, model.dual_coef_, -model.offset_)
    return _expansion(model, "components", function)


@scorer.register
def _(model: GaussianProcessRegressor) -> Scorer:
    check_is_fitted(model)
    forms = model.forms()
    rows = as_rows(model.X_fit_, "GaussianProcessRegressor")
    return Scorer(
        "GaussianProcessRegressor",
        "process",
        model.kernel_,
        rows,
        forms.solved,
        np.zeros(forms.solved.shape[1]),
        forms=forms,
    )


@scorer.register
def _(model: Pipeline) -> Scorer:
    first, last = model.steps[:-1], model.steps[-1][1]
    if len(first) > 1 or any(not isinstance(step, StandardScaler) for _, step in first):
        raise CapabilityError(
            "a pipeline can be exported if one StandardScaler comes before the model; got "
            + ", ".join(type(step).__name__ for _, step in model.steps)
        )
    found = scorer(last)
    if not first:
        return found
    scaler = first[0][1]
    if "n_features_in_" not in vars(scaler):
        raise InputError("the StandardScaler of this pipeline is not fitted; fit the pipeline first.")
    zeros, ones = np.zeros(found.width), np.ones(found.width)
    center = zeros if scaler.mean_ is None or not scaler.with_mean else scaler.mean_
    return replace(found, center=center, spread=ones if scaler.scale_ is None else scaler.scale_)
