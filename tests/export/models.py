"""Models of every kind that can be exported, and random kernels with a formula."""

from functools import cache

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.errors import CapabilityError
from mercer.export.formula import of_two
from mercer.testing.random_kernels import random_kernel

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 3)), RNG.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=60)
TWO, THREE = np.where(X[:, 0] > 0, "yes", "no"), np.digitize(X[:, 1], [-0.5, 0.5])
KERNEL = 2.0 * mercer.Matern(1.5, length_scale=2.0) + mercer.Linear()
MODELS = {
    "ridge": (mercer.KernelRidge(KERNEL, alpha=0.5), Y),
    "ridge of two targets": (mercer.KernelRidge(KERNEL, alpha=0.5, fit_intercept=True), np.column_stack([Y, -2 * Y])),
    "ridge in features": (mercer.KernelRidge(mercer.Polynomial(2), alpha=0.5), Y),
    "ridge on landmarks": (mercer.KernelRidge(KERNEL, alpha=0.5, solver="nystroem", n_components=20), Y),
    "tuned ridge": (mercer.KernelRidgeCV(), Y),
    "ridge classifier": (mercer.KernelRidgeClassifier(KERNEL), TWO),
    "ridge classifier of three": (mercer.KernelRidgeClassifier(KERNEL), THREE),
    "SVR": (mercer.SVR(KERNEL), Y),
    "quantile": (mercer.KernelQuantileRegressor(KERNEL, quantile=0.7), Y),
    "SVC": (mercer.SVC(KERNEL), TWO),
    "SVC of three": (mercer.SVC(KERNEL), THREE),
    "SVC of three, ties": (mercer.SVC(KERNEL, break_ties=True), THREE),
    "NuSVC": (mercer.NuSVC(KERNEL, nu=0.2), TWO),
    "one class": (mercer.OneClassSVM(mercer.Gaussian(1.0), nu=0.2), None),
    "logistic": (mercer.KernelLogisticRegression(KERNEL), TWO),
    "logistic of three": (mercer.KernelLogisticRegression(KERNEL), THREE),
    "means": (mercer.NearestMean(mercer.Gaussian(2.0)), TWO),
    "means of three": (mercer.NearestMean(mercer.Gaussian(2.0)), THREE),
    "PCA": (mercer.KernelPCA(mercer.Gaussian(2.0), n_components=4), None),
    "process": (mercer.GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None), Y),
    "process, zero mean": (mercer.GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None, mean="zero"), Y),
    "process of two targets": (
        mercer.GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None), np.column_stack([Y, 3 + 5 * Y])),
    "scaled": (make_pipeline(StandardScaler(), mercer.KernelRidge(KERNEL, alpha=0.5)), Y),
    "constant": (mercer.KernelRidge(mercer.Constant(2.0)), Y),
}  # fmt: skip


@cache
def fitted(name):
    model, y = MODELS[name]
    return model.fit(X) if y is None else model.fit(X, y)


def expected(model, new):
    """What each output must be equal to."""
    last = model[-1] if "steps" in vars(model) else model
    if isinstance(last, mercer.KernelPCA):
        return {"components": model.transform(new)}
    if isinstance(last, mercer.GaussianProcessRegressor):
        return dict(zip(("prediction", "std"), model.predict(new, return_std=True), strict=True))
    if not hasattr(last, "decision_function"):
        return {"prediction": model.predict(new)}
    found = {"label": model.predict(new), "decision": model.decision_function(new)}
    if isinstance(last, (mercer.SVC, mercer.NuSVC)) and len(last.classes_) > 2:
        last.decision_function_shape = "ovo"
        found["decision"] = last.decision_function(new)
        last.decision_function_shape = "ovr"
    elif hasattr(last, "predict_proba"):
        found["probabilities"] = model.predict_proba(new)
    return found


def random_kernels(count, seed=0, width=3):
    """Random nested kernels on vectors whose every term has a formula; how many were refused is the last value."""
    rng, found, refused = np.random.default_rng(seed), [], 0
    while len(found) < count:
        kernel, _ = random_kernel(rng, depth=int(rng.integers(1, 4)), width=width)
        try:
            of_two(kernel, width)
        except CapabilityError:
            refused += 1
        else:
            found.append(kernel)
    return found, refused
