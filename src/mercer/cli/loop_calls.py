"""Compiled loops of the package, and small computations that run all of them."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer
from mercer import Gaussian, Graph


def loops() -> dict[str, Any]:
    """Return all compiled functions by name."""
    found = {}
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if module.name.rsplit(".", 1)[-1].startswith("_compiled"):
            for name, value in vars(importlib.import_module(module.name)).items():
                origin = _origin(value)
                if origin == module.name or (origin and not origin.rsplit(".", 1)[-1].startswith("_compiled")):
                    found[f"{module.name}.{name}"] = value
    return found


def _origin(value: Any) -> str | None:
    """Return the module of the Python function behind a compiled one; None for any other value."""
    try:
        return str(value.py_func.__module__)
    except AttributeError:
        return None


def reached(found: dict[str, Any]) -> set[str]:
    """Return the names of the loops that were run and of those that they call, which cached code contains."""
    names = {id(loop): name for name, loop in found.items()}
    ready: set[str] = set()
    waiting = [name for name, loop in found.items() if loop.signatures]
    while waiting:
        name = waiting.pop()
        if name not in ready:
            ready.add(name)
            function = found[name].py_func
            called = (function.__globals__.get(word) for word in function.__code__.co_names)
            waiting += [names[id(loop)] for loop in called if id(loop) in names]
    return ready


def _rows(n: int, dtype: Any = np.float64, d: int = 5) -> Any:
    return np.random.default_rng(n).normal(size=(n, d)).astype(dtype)


def vectors() -> None:
    """Compute distances, exponentials, products and features in both precisions."""
    for dtype in (np.float64, np.float32):
        X, Z = _rows(40, dtype), _rows(30, dtype)
        for kernel in (Gaussian(2.0), mercer.Laplacian(2.0), mercer.PowerExponential(1.5, power=1.2, length_scale=2.0)):
            kernel(X), kernel(X, Z)
            kernel.pullback(X, weights=np.ones((40, 40), dtype))
        mercer.Laplacian((2.0,) * 5).pullback(X, weights=np.ones((40, 40), dtype))  # one length scale per column
        for norm in (1.0, 1.5):
            mercer.PowerExponential(norm, power=1.0, length_scale=2.0).input_slopes(X, Z, np.ones(30))
        mercer.RandomFourierFeatures(Gaussian(2.0), n_components=32, random_state=0).fit_transform(X)
        mercer.KernelKNeighborsRegressor(Gaussian(2.0)).fit(X, X[:, 0]).predict(Z)


def machines() -> None:
    """Fit support vector machines on held and on cached kernel rows."""
    for n in (60, 800, 1200):  # float64 values in one piece and in sets, float32 ones
        X = _rows(n)
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
        mercer.SVC(Gaussian(2.0)).fit(X, y).predict(X)
        mercer.SVC(Gaussian(2.0)).fit(X, y > 0).predict(X)
        mercer.NuSVC(Gaussian(2.0), nu=0.1).fit(X, y > 0)
        mercer.SVR(Gaussian(2.0)).fit(X, X[:, 0]).predict(X)
    mercer.OneClassSVM(Gaussian(2.0), nu=0.02).fit(_rows(2200))
    mercer.SVC(Gaussian(2.0), memory="8 MB", max_iter=1000).fit(_rows(4500), np.arange(4500) % 2)
    for n in (120, 1000):  # eigenvectors, and the tridiagonal form
        mercer.KernelRidgeCV(Gaussian(2.0)).fit(_rows(n), _rows(n)[:, 0])
    mercer.explain(mercer.KernelRidge(Gaussian(2.0)).fit(_rows(60), _rows(60)[:, 0]), _rows(60)[:1])


def perceptrons() -> None:
    """Fit perceptrons of all forms and budgets."""
    X = _rows(60)
    y = X[:, 0] > 0
    for solver in ("gram", "blocked", "online"):
        mercer.KernelPerceptron(Gaussian(2.0), solver=solver, max_iter=2).fit(X, y)
    mercer.KernelPerceptron(mercer.Linear(), solver="primal", max_iter=2).fit(X, y)
    mercer.KernelPerceptron(Gaussian(2.0), average="voted", max_iter=2).fit(X, y).predict(X)
    for policy in ("projection", "removal"):
        mercer.KernelPerceptron(Gaussian(2.0), budget=5, budget_policy=policy, max_iter=2).fit(X, y)


def tests() -> None:
    """Run two-sample tests."""
    X, Y = _rows(40), _rows(50)
    mercer.mmd_test(X, Y, n_permutations=20, random_state=0)
    mercer.mmd_test(X, Y[:40], Gaussian(2.0), n_permutations=20, random_state=0)
    mercer.mmd_test(X, Y, method="features", n_permutations=20, random_state=0)
    mercer.hsic_test(X, Y[:40], n_permutations=20, random_state=0)


def strings() -> None:
    """Evaluate string kernels within one collection and between two."""
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("ACGT"), size=80)) for _ in range(40)]
    for kernel in (
        mercer.Spectrum(3), mercer.Spectrum(12), mercer.Mismatch(p=5, mismatches=1), mercer.Mismatch(p=8, mismatches=2),
        mercer.GappedSpectrum(p=6, gaps=2), mercer.GappedSpectrum(p=2, gaps=30), mercer.Mismatch(p=12, mismatches=5),
        mercer.Subsequence(p=3, decay=0.5), mercer.AllSubstrings(),
        mercer.WeightedDegree(4), mercer.LocalAlignment(),
    ):  # fmt: skip
        kernel(texts), kernel(texts[:10], texts[10:]), kernel.normalized()(texts), kernel.diag(texts)


def graphs() -> None:
    """Evaluate graph kernels."""
    ring = [Graph(n, [(i, (i + 1) % n) for i in range(n)], node_labels=[i % 3 for i in range(n)]) for n in range(5, 12)]
    for kernel in (
        mercer.WeisfeilerLehman(2), mercer.WLOptimalAssignment(2), mercer.ShortestPath(), mercer.RandomWalk(),
        mercer.VertexHistogram(), mercer.EdgeHistogram(), mercer.Graphlet(3), mercer.Graphlet(4), mercer.Graphlet(5),
        mercer.Graphlet(4, connected=True), mercer.Graphlet(3, labeled=True), mercer.Graphlet(2, labeled=True),
    ):  # fmt: skip
        kernel(ring), kernel(ring[:3], ring[3:])
    mercer.RandomWalk()([Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in range(5, 12)])  # without labels
    mercer.explain(mercer.KernelRidge(mercer.ShortestPath()).fit(ring, np.arange(7.0)), ring[0])


def series() -> None:
    """Evaluate kernels on series, find change points, and run a drift monitor."""
    waves = [_rows(n, d=2) for n in range(4, 9)]
    for kernel in (
        mercer.GlobalAlignment(Gaussian(2.0)), mercer.Signature(mercer.Linear(), depth=3), mercer.Signature(Gaussian(2.0)),
    ):  # fmt: skip
        kernel(waves), kernel(waves[:2], waves[2:]), kernel.pullback(waves, weights=np.ones((5, 5)))
    rows = _rows(60)
    rows[30:] += 2.0
    mercer.change_points(rows, n_permutations=9)
    mercer.change_points(rows, penalty=1.0, n_permutations=9)
    mercer.change_points(rows[:, 0].repeat(4), alpha=0.9, n_permutations=9)  # rows that depend on their neighbors
    mercer.DriftMonitor(run_length=20).fit(rows).update(rows)


def _quietly(exercise: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exercise()

    return run


#: Groups that may run beside each other: after the first one, no two of them compile the same loop.
GROUPS = tuple(
    tuple(_quietly(exercise) for exercise in group)
    for group in ((vectors,), (machines,), (strings, graphs), (series, perceptrons, tests))
)

EXERCISES = tuple(exercise for group in GROUPS for exercise in group)
