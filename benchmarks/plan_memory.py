"""What `mercer.plan` says a fit takes against the measured peak, for every route.

    python -m benchmarks.plan_memory [CASE ...]

Each case runs in a process of its own, after a rehearsal on few rows that loads the code. A case holds if

    peak <= 1.15 plan + CONSTANT    and    plan <= 1.3 peak

The last line says whether all of them do, which is the exit code too. Rows that are kept while the solver asks for them
("rows" of support vector machines, "blocked" perceptrons) are planned with what may be kept: here the solvers want more.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.peak import Meter, in_fresh_process
from mercer import (
    SVC,
    SVCCV,
    SVR,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelKNeighborsClassifier,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    Linear,
    NearestMean,
    NoveltyBall,
    Nystroem,
    OneClassSVM,
    Polynomial,
    RandomFourierFeatures,
    RFMRegressor,
    plan,
)  # fmt: skip
from mercer.numeric import compiling

#: What BLAS, the threads and the allocator keep for themselves, whatever the fit: no plan counts it.
CONSTANT = 32 * 2**20

G = Gaussian(2.0)
GRID = {"length_scales": [1.0, 3.0]}
ALPHAS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]

#: name: (model, rows, columns, the targets: "real", "single", "two", "three", "ten", "noise" or "none")
CASES: dict[str, tuple[Any, int, int, str]] = {
    "ridge cholesky": (KernelRidge(G), 4000, 8, "real"),
    "ridge cholesky, intercept": (KernelRidge(G, fit_intercept=True), 4000, 8, "real"),
    "ridge cholesky, float32": (KernelRidge(G), 6000, 8, "single"),
    "ridge eigh": (KernelRidge(G, solver="eigh"), 3000, 8, "real"),
    "ridge cg": (KernelRidge(G, solver="cg"), 6000, 8, "real"),
    "ridge cg, 40 columns": (KernelRidge(G, solver="cg"), 20_000, 40, "real"),
    "ridge primal": (KernelRidge(Polynomial(2)), 20_000, 40, "real"),
    "ridge nystroem": (KernelRidge(G, solver="nystroem", n_components=1000), 20_000, 8, "real"),
    "ridge fourier": (KernelRidge(G, solver="fourier", n_components=1000), 20_000, 8, "real"),
    "ridge huber": (KernelRidge(G, loss="huber"), 3000, 8, "real"),
    "ridge classifier": (KernelRidgeClassifier(G), 4000, 8, "three"),
    "ridge CV": (KernelRidgeCV(G, alphas=ALPHAS, **GRID), 2000, 8, "real"),
    "ridge CV, one alpha": (KernelRidgeCV(G, alphas=[1.0], **GRID), 2000, 8, "real"),
    "ridge CV, folds": (KernelRidgeCV(G, alphas=ALPHAS, cv=5, **GRID), 2000, 8, "real"),
    "ridge CV, folds, one alpha": (KernelRidgeCV(G, alphas=[1.0], cv=5, **GRID), 2000, 8, "real"),
    "ridge CV primal": (KernelRidgeCV(Polynomial(2), alphas=ALPHAS), 20_000, 30, "real"),
    "ridge CV nystroem": (KernelRidgeCV(G, solver="nystroem", n_components=1000, alphas=ALPHAS, **GRID), 20_000, 8, "real"),
    "ridge CV fourier": (KernelRidgeCV(G, solver="fourier", n_components=1000, alphas=ALPHAS, **GRID), 20_000, 8, "real"),
    "GP exact": (GaussianProcessRegressor(random_state=0, n_restarts=0), 2000, 8, "real"),
    "GP exact, fixed": (GaussianProcessRegressor(G, noise=0.1, optimizer=None), 3000, 8, "real"),
    "GP inducing": (GaussianProcessRegressor(solver="inducing", n_inducing=300, random_state=0), 10_000, 4, "real"),
    "GP inducing, many": (
        GaussianProcessRegressor(solver="inducing", n_inducing=1000, random_state=0),
        10_000,
        4,
        "real",
    ),
    "GP vecchia": (GaussianProcessRegressor(solver="vecchia", random_state=0), 10_000, 4, "real"),
    "GP two classes": (GaussianProcessClassifier(random_state=0, n_restarts=0, max_iter=3), 2000, 8, "two"),
    "GP two classes, fixed": (GaussianProcessClassifier(4.0 * G, optimizer=None), 2500, 8, "two"),
    "GP three classes": (GaussianProcessClassifier(random_state=0, n_restarts=0, max_iter=3), 1000, 8, "three"),
    "GP student": (GaussianProcessRegressor(likelihood="student", n_restarts=0, max_iter=3), 2000, 8, "real"),
    "logistic": (KernelLogisticRegression(G), 2500, 8, "two"),
    "logistic three": (KernelLogisticRegression(G), 1200, 8, "three"),
    "SVC gram": (SVC(G, random_state=0), 4000, 8, "two"),
    "SVC 20 MB": (SVC(G, memory="20 MB", random_state=0), 6000, 8, "two"),
    "SVC rows": (SVC(G, memory="60 MB", random_state=0), 12_000, 8, "two"),
    "SVC three": (SVC(G, random_state=0), 4000, 8, "three"),
    "SVC ten": (SVC(G, random_state=0), 8000, 8, "ten"),
    "SVC CV": (SVCCV(G, Cs=[1.0, 10.0], cv=3, random_state=0, **GRID), 3000, 8, "two"),
    "SVC CV 20 MB": (SVCCV(G, Cs=[1.0], cv=3, random_state=0, memory="20 MB", **GRID), 4000, 8, "two"),
    "SVR gram": (SVR(G), 4000, 8, "real"),
    "one class": (OneClassSVM(G), 6000, 8, "none"),
    "PCA eigh": (KernelPCA(G, n_components=5, eigen_solver="eigh"), 3000, 8, "none"),
    "PCA lanczos": (KernelPCA(G, n_components=5, eigen_solver="lanczos"), 4000, 8, "none"),
    "PCA tiles": (KernelPCA(G, n_components=5, eigen_solver="lanczos", memory="60 MB"), 6000, 8, "none"),
    "PCA primal": (KernelPCA(Polynomial(2), n_components=5, eigen_solver="primal"), 20_000, 30, "none"),
    "PCA landmarks": (KernelPCA(G, n_components=5, eigen_solver="landmarks", n_landmarks=500), 20_000, 8, "none"),
    "nearest mean": (NearestMean(G), 20_000, 8, "three"),
    "nearest mean primal": (NearestMean(Linear()), 100_000, 20, "three"),
    "ball": (NoveltyBall(G), 20_000, 8, "none"),
    "perceptron gram": (KernelPerceptron(G, max_iter=3, random_state=0), 3000, 8, "two"),
    "perceptron blocked": (
        KernelPerceptron(G, max_iter=14, stopping="mistakes", random_state=0, solver="blocked", memory="250 MB"),
        8000,
        8,
        "noise",
    ),
    "perceptron online": (KernelPerceptron(G, max_iter=1, random_state=0, solver="online"), 12_000, 8, "noise"),
    "perceptron primal": (KernelPerceptron(Linear(), max_iter=2, random_state=0), 50_000, 60, "two"),
    "perceptron budget": (KernelPerceptron(G, max_iter=1, random_state=0, budget=500), 8000, 8, "two"),
    "neighbors": (KernelKNeighborsClassifier(G), 100_000, 20, "two"),
    "Nystroem": (Nystroem(G, n_components=500, random_state=0), 50_000, 8, "none"),
    "Fourier": (RandomFourierFeatures(G, n_components=2000, random_state=0), 50_000, 300, "none"),
    "RFM": (RFMRegressor(n_steps=1, random_state=0), 1500, 6, "real"),
}


def data(n: int, width: int, kind: str) -> tuple[Any, Any]:
    """Rows and targets."""
    X = np.random.default_rng(0).normal(size=(n, width))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    if kind == "single":
        return X.astype(np.float32), y.astype(np.float32)
    if kind == "noise":
        return X, np.random.default_rng(1).integers(0, 2, n)
    classes = {"two": 2, "three": 3, "ten": 10}.get(kind)
    if classes is None:
        return X, None if kind == "none" else y
    edges = np.quantile(y, np.arange(1, classes) / classes)
    return X, np.digitize(y, edges)


def measure(name: str) -> dict[str, Any]:
    """Plan and peak of one case, in this process."""
    from sklearn.base import clone

    model, n, width, kind = CASES[name]
    warnings.simplefilter("ignore")
    np.ones((2000, 2000)) @ np.ones((2000, 2000))  # every thread of BLAS takes its buffers
    few = clone(model)
    if getattr(model, "memory", None) is not None:
        few.set_params(memory=None)
    if isinstance(getattr(model, "n_components", None), int):  # else the allocator has what the fit will ask for
        few.set_params(n_components=min(model.n_components, 50))
    for loading in (0, compiling.LOADING):  # compiled loops too, which a few rows would not load
        with mock.patch.object(compiling, "LOADING", loading):
            few.fit(*data(600, width, kind))
    X, y = data(n, width, kind)
    del few
    told = plan(model, X, y)
    meter = Meter()
    meter.start()
    model.fit(X, y)
    return {"solver": told.route.solver, "plan": told.bytes, "peak": meter.beyond()}


def judge(plan: int, peak: int) -> bool:
    """Whether the plan was honest."""
    return peak <= 1.15 * plan + CONSTANT and plan <= 1.3 * peak


def main(names: Sequence[str]) -> int:
    """Measure the named cases, or all."""
    good = True
    for name in [case for case in CASES if not names or any(case.startswith(start) for start in names)]:
        found: dict[str, Any] = in_fresh_process("benchmarks.plan_memory", ["--one", name], timeout=900.0)
        if "error" in found:
            good = False
            print(f"{name:28} FAIL {found['error']}", flush=True)
            continue
        planned, peak = int(found["plan"]), int(found["peak"])
        kept = judge(planned, peak)
        good &= kept
        told = f"plan {planned / 1e6:7.1f} MB  peak {peak / 1e6:7.1f} MB  ratio {peak / planned:5.2f}"
        print(f"{name:28} {found['solver']:12} {told}  {'ok' if kept else 'BROKEN'}", flush=True)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        sys.exit(main(sys.argv[1:]))
