"""Every kind of fit on chunks: what is fitted, to what, and the numbers that it must give again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer

ROWS, STEP = 1003, 100  # eleven chunks: a whole group and a part of one

RNG = np.random.default_rng(20)
X = RNG.normal(size=(ROWS, 4))
NEW = RNG.normal(size=(31, 4))
OTHER = np.random.default_rng(21).normal(0.1, 1.0, size=(507, 4))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.05 * RNG.normal(size=ROWS)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.0, 0.6])]
GAUSSIAN = mercer.Gaussian(length_scale="median")
INDUCING: dict[str, Any] = {"solver": "inducing", "n_inducing": 40}


@dataclass(frozen=True)
class Case:
    """A fit with chunks of the rows, and what it says afterwards."""

    name: str
    fit: Callable[[Any], Any]  # (the model, fitted to chunks(X, y))
    says: Callable[[Any], Any]  # numbers of the fitted model
    target: Any = None


def _predicts(model: Any) -> Any:
    return model.predict(NEW)


def _errors(model: Any) -> Any:
    mean, std = model.predict(NEW, return_std=True)
    return np.concatenate([mean, std, model.predict_interval(NEW).ravel(), [model.log_marginal_likelihood_value_]])


def _fits(make: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda chunks: make().fit(chunks)


CASES = [
    Case(
        "ridge-nystroem",
        _fits(lambda: mercer.KernelRidge(GAUSSIAN, alpha=0.1, n_components=60)),
        _predicts,
        Y,
    ),
    Case(
        "ridge-fourier",
        _fits(lambda: mercer.KernelRidge(GAUSSIAN, alpha=0.1, n_components=60, solver="fourier", fit_intercept=True)),
        _predicts,
        Y,
    ),
    Case(
        "ridge-primal",
        _fits(lambda: mercer.KernelRidge(mercer.Polynomial(2), fit_intercept=True)),
        _predicts,
        Y,
    ),
    Case(
        "ridge-cg",
        _fits(lambda: mercer.KernelRidge(GAUSSIAN, alpha=30.0, solver="cg", tol=1e-6)),
        _predicts,
        Y,
    ),
    Case(
        "classifier",
        _fits(lambda: mercer.KernelRidgeClassifier(n_components=60)),
        lambda m: m.decision_function(NEW),
        LABELS,
    ),
    Case(
        "ridge-cv",
        _fits(lambda: mercer.KernelRidgeCV(n_components=40, alphas=[0.01, 1.0], length_scales=[1.0, 3.0])),
        lambda m: np.append(m.predict(NEW), m.surface_.mean_scores),
        Y,
    ),
    Case(
        "random-features",
        _fits(lambda: mercer.RandomFourierFeatures(GAUSSIAN, n_components=20, random_state=0)),
        lambda m: m.transform(NEW),
    ),
    Case(
        "landmarks",
        _fits(lambda: mercer.Nystroem(GAUSSIAN, n_components=20, random_state=0)),
        lambda m: np.column_stack([m.transform(NEW), np.full(len(NEW), m.missed_)]),
    ),
    Case("nearest-mean", _fits(lambda: mercer.NearestMean(GAUSSIAN)), lambda m: m.decision_function(NEW), LABELS),
    Case("nearest-mean-primal", _fits(lambda: mercer.NearestMean(mercer.Linear())), lambda m: m.predict_proba(NEW), LABELS),
    Case("ball", _fits(lambda: mercer.NoveltyBall(GAUSSIAN)), lambda m: np.append(m.score_samples(NEW), m.radius_)),
    Case(
        "novelty",
        _fits(lambda: mercer.NoveltyDetector(max_rows=300, contamination=0.05)),
        lambda m: np.append(m.score_samples(NEW), m.offset_),
    ),
    Case(
        "two-samples",
        lambda chunks: mercer.mmd_test(chunks, OTHER, [GAUSSIAN, mercer.Laplacian(2.0)], 99, random_state=0),
        lambda r: np.concatenate([r.null_distribution, [r.statistic, r.pvalue, r.power.achieved], r.witness(NEW)]),
    ),
    Case(
        "two-samples-in-blocks",
        lambda chunks: mercer.mmd_test(chunks, OTHER, None, 99, random_state=0, method="features", n_features=16),
        lambda r: np.append(r.null_distribution, [r.statistic, r.pvalue, r.power.achieved]),
    ),
    Case(
        "process",
        _fits(lambda: mercer.GaussianProcessRegressor(GAUSSIAN, noise=0.1, optimizer=None, **INDUCING)),
        _errors,
        Y,
    ),
    Case(
        "process-searched",
        _fits(lambda: mercer.GaussianProcessRegressor(mercer.Gaussian((1.0,) * 4), n_restarts=0, max_iter=2, **INDUCING)),
        lambda m: np.append(_errors(m), m.theta_),
        Y,
    ),
    Case(
        "process-of-classes",
        _fits(lambda: mercer.GaussianProcessClassifier(GAUSSIAN, optimizer=None, **INDUCING)),
        lambda m: np.append(m.predict_proba(NEW), m.log_marginal_likelihood_value_),
        LABELS,
    ),
    Case(
        "logistic",
        _fits(lambda: mercer.KernelLogisticRegression(GAUSSIAN, n_components=40, class_weight="balanced")),
        lambda m: np.append(m.predict_proba(NEW), [m.primal_objective_, m.duality_gap_]),
        LABELS,
    ),
    Case(
        "components",
        _fits(lambda: mercer.KernelPCA(GAUSSIAN, n_components=3, n_landmarks=60)),
        lambda m: np.append(m.transform(NEW).ravel(), m.explained_variance_ratio_),
    ),
]
BY_NAME = {case.name: case for case in CASES}
