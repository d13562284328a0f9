"""Forged model files: arrays, parameters and attributes replaced or removed, and every answer asked for.

`python -m tests.persist.forge COUNT SEED` tries COUNT files in this process and prints one line of JSON: how many were
refused at loading, how many answered, and what was raised that is no error of mercer's. A crash ends the process, which
`test_forged.py` sees. NUMBA_BOUNDSCHECK=1 turns a read out of bounds into an error; it needs a NUMBA_CACHE_DIR of its own,
since loops that were compiled without checks are kept without them. Every other round over the models runs the compiled
loops, however small the data.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.errors import MercerError
from mercer.numeric import compiling
from mercer.persist.files import _rebuilt, to_bytes

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 3))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
TWO = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
NEW = RNG.normal(size=(5, 3))
WORDS = ["".join(RNG.choice(list("acgt"), size=9)) for _ in range(20)]
LONG = np.array([len(word) + word.count("a") for word in WORDS], dtype=float)
FRAME = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "x", "z")})
HOLES = FRAME.assign(a=FRAME["a"].where(FRAME["b"] < 0.8), d=pandas.date_range("2020-01-01", periods=30))
G = mercer.Gaussian(1.5)
WIDE, WIDE_NEW = RNG.normal(size=(30, 5)), RNG.normal(size=(5, 5))  # too wide for a grid of frequencies
GRAPHS = [
    mercer.Graph(n, [(i, (i + 1) % n) for i in range(n)], node_labels=[str(i % 2) for i in range(n)])
    for n in (3, 4, 5, 6) * 3
]
NODES = np.array([graph.n_nodes for graph in GRAPHS], dtype=float)
BAD = mercer.Tanh(0.5, offset=-1.0)  # no kernel, so that it can be repaired
WAVES = mercer.from_spectral(RNG.normal(size=(6, 3)))

#: Every estimator and every route whose stored parts differ. Tables are small; their searches take seconds.
MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "ridge": (mercer.KernelRidge(G, alpha=0.1), X, Y, NEW),
    "ridge primal": (mercer.KernelRidge(mercer.Polynomial(2), alpha=0.5), X, np.c_[Y, -Y], NEW),
    "ridge huber": (mercer.KernelRidge(G, alpha=0.1, loss="huber", fit_intercept=True), X, Y, NEW),
    "ridge sparse": (mercer.KernelRidge(mercer.Linear()), sp.csr_array(X), Y, sp.csr_array(NEW)),
    "ridge words": (mercer.KernelRidge(mercer.Spectrum(2)), WORDS, LONG, WORDS[:4]),
    "ridge parts": (mercer.KernelRidge(G.centered(X[:9]) + mercer.Bilinear(np.eye(3)), alpha=0.1), X, Y, NEW),
    "ridge landmarks": (mercer.KernelRidge(G, solver="nystroem", n_components=6), X, Y, NEW),
    "ridge Fourier": (mercer.KernelRidge(G, solver="fourier", n_components=8), X, Y, NEW),
    "ridge CV": (mercer.KernelRidgeCV(), X, Y, NEW),
    "ridge classes": (mercer.KernelRidgeClassifier(G), X, THREE, NEW),
    "k-means": (mercer.KernelKMeans(G, n_clusters=3, n_init=2), X, None, NEW),
    "k-means spectral": (mercer.KernelKMeans(G, n_clusters=3, n_init=2, spectral=True), X, None, NEW),
    "discriminant": (mercer.KernelDiscriminant(G), X, THREE, NEW),
    "CCA": (mercer.KernelCCA(G, 2, alpha=0.1), [X, X[:, :2]], None, [NEW, NEW[:, :2]]),
    "nearest mean": (mercer.NearestMean(G), X, THREE, NEW),
    "nearest mean primal": (mercer.NearestMean(mercer.Linear()), X, TWO, NEW),
    "drift": (mercer.DriftMonitor(G, run_length=20), X, None, NEW),
    "novelty": (mercer.NoveltyDetector(), X, None, NEW),
    "novelty words": (mercer.NoveltyDetector(), WORDS, None, WORDS[:4]),
    "ball": (mercer.NoveltyBall(G), X, None, NEW),
    "perceptron": (mercer.KernelPerceptron(G, random_state=0, max_iter=5), X, THREE, NEW),
    "perceptron voted": (mercer.KernelPerceptron(G, average="voted", random_state=0, max_iter=5), X, THREE, NEW),
    "perceptron two": (mercer.KernelPerceptron(G, average="voted", random_state=0, max_iter=5), X, TWO, NEW),
    "perceptron primal": (mercer.KernelPerceptron(mercer.Linear(), random_state=0, max_iter=5), X, TWO, NEW),
    "neighbors classes": (mercer.KernelKNeighborsClassifier(G), X, TWO, NEW),
    "neighbors": (mercer.KernelKNeighborsRegressor(G, weights="distance"), X, Y, NEW),
    "conformal": (mercer.ConformalRegressor(mercer.KernelRidge(G, alpha=0.1).fit(X, Y), G), X, Y, NEW),
    "SVC": (mercer.SVC(G, random_state=0), X, TWO, NEW),
    "SVC three": (mercer.SVC(G, random_state=0), X, THREE, NEW),
    "SVC linear": (mercer.SVC(mercer.Linear(), random_state=0), X, THREE, NEW),
    "SVR": (mercer.SVR(G), X, Y, NEW),
    "SVC chosen": (mercer.SVCCV(G, Cs=[0.1, 10.0], cv=2, random_state=0), X, TWO, NEW),
    "SVC nu": (mercer.NuSVC(G, nu=0.3, random_state=0), X, THREE, NEW),
    "SVR nu": (mercer.NuSVR(G), X, Y, NEW),
    "SVR words": (mercer.SVR(mercer.Subsequence(2)), WORDS, LONG, WORDS[:4]),
    "quantiles": (mercer.KernelQuantileRegressor(G), X, Y, NEW),
    "one class": (mercer.OneClassSVM(G), X, None, NEW),
    "GP": (mercer.GaussianProcessRegressor(random_state=0), X, Y, NEW),
    "GP linear": (mercer.GaussianProcessRegressor(mean="linear", random_state=0), X, np.c_[Y, -Y], NEW),
    "GP inducing": (mercer.GaussianProcessRegressor(solver="inducing", random_state=0), X, Y, NEW),
    "GP vecchia": (mercer.GaussianProcessRegressor(solver="vecchia", random_state=0), X, Y, NEW),
    "logistic": (mercer.KernelLogisticRegression(G), X, TWO, NEW),
    "logistic three": (mercer.KernelLogisticRegression(G, solver="nystroem", n_components=6), X, THREE, NEW),
    "logistic chosen": (mercer.KernelLogisticRegressionCV(G, Cs=[0.1, 10.0], length_scales=[1.0]), X, TWO, NEW),
    "GP counts": (mercer.GaussianProcessRegressor(G, likelihood="negative-binomial", max_iter=3), X, THREE, NEW),
    "GP levels": (mercer.GaussianProcessRegressor(G, likelihood="ordinal", max_iter=3), X, THREE, NEW),
    "GP classes": (mercer.GaussianProcessClassifier(G), X, TWO, NEW),
    "GP inducing classes": (mercer.GaussianProcessClassifier(G, solver="inducing", n_inducing=5), X, THREE, NEW),
    "GP three classes": (mercer.GaussianProcessClassifier(G), X, THREE, NEW),
    "PCA": (mercer.KernelPCA(G, n_components=2), X, None, NEW),
    "PCA primal": (mercer.KernelPCA(mercer.Linear(), n_components=2), X, None, NEW),
    "Fourier": (mercer.RandomFourierFeatures(G, n_components=7, random_state=0), X, None, NEW),
    "Nystroem": (mercer.Nystroem(G, n_components=5, random_state=0), X, None, NEW),
    "RFM": (mercer.RFMRegressor(n_steps=1, random_state=0), X, Y, NEW),
    "RFM classes": (mercer.RFMClassifier(n_steps=1, random_state=0), X, THREE, NEW),
    "ridge features": (mercer.KernelRidge(G, solver="fourier", n_components=8), WIDE, Y, WIDE_NEW),
    "ridge grid targets": (mercer.KernelRidge(G, alpha=[0.1, 1.0], solver="fourier"), X[:, :2], np.c_[Y, -Y], NEW[:, :2]),
    "ridge grid CV": (mercer.KernelRidgeCV(solver="fourier"), X[:, :1], Y, NEW[:, :1]),
    "ridge many landmarks": (mercer.KernelRidge(G, solver="nystroem-cg", n_components=6), X, Y, NEW),
    "ridge steps": (mercer.KernelRidge(G, solver="cg"), X, Y, NEW),
    "ridge eigh": (mercer.KernelRidge(G, solver="eigh", fit_intercept=True), X, Y, NEW),
    "ridge classes landmarks": (mercer.KernelRidgeClassifier(G, solver="nystroem", n_components=6), X, TWO, NEW),
    "ridge repaired": (mercer.KernelRidge(BAD.repaired(X), alpha=0.1), X, Y, NEW),
    "ridge waves": (mercer.KernelRidge(WAVES, alpha=0.1), X, Y, NEW),
    "ridge graphs": (mercer.KernelRidge(mercer.WeisfeilerLehman(2)), GRAPHS, NODES, GRAPHS[:3]),
    "ridge frame": (mercer.KernelRidge(mercer.frame_kernel(FRAME), alpha=0.1), FRAME, Y, FRAME[:4]),
    "ridge frame holes": (mercer.KernelRidge(mercer.frame_kernel(HOLES), alpha=0.1), HOLES, Y, HOLES[:4]),
    "ridge asked": (mercer.KernelRidge(G, alpha=0.1), X, Y, NEW),
    "SVC landmarks": (mercer.SVC(G, solver="nystroem", n_components=6, random_state=0), X, THREE, NEW),
    "SVC graphs": (mercer.SVC(mercer.ShortestPath(), random_state=0), GRAPHS, NODES > 4, GRAPHS[:3]),
    "SVC given": (mercer.SVC(mercer.Precomputed(), random_state=0), G(X), THREE, G(NEW, X)),
    "SVC asked": (mercer.SVC(G, random_state=0), X, THREE, NEW),
    "SVR asked": (mercer.SVR(G), X, Y, NEW),
    "SVR linear": (mercer.SVR(mercer.Linear()), X, Y, NEW),
    "one class linear": (mercer.OneClassSVM(mercer.Linear()), X, None, NEW),
    "GP Fourier": (mercer.GaussianProcessRegressor(solver="fourier", random_state=0), X[:, :2], Y, NEW[:, :2]),
    "GP asked": (mercer.GaussianProcessRegressor(random_state=0), X, Y, NEW),
    "GP graphs": (mercer.GaussianProcessRegressor(mercer.WeisfeilerLehman(1)), GRAPHS, NODES, GRAPHS[:3]),
    "PCA landmarks": (mercer.KernelPCA(G, n_components=2, eigen_solver="landmarks", n_landmarks=8), X, None, NEW),
    "PCA words": (mercer.KernelPCA(mercer.Spectrum(2), n_components=2), WORDS, None, WORDS[:4]),
    "PCA asked": (mercer.KernelPCA(G, n_components=2, fit_inverse_transform=True), X, None, NEW),
    "Nystroem words": (mercer.Nystroem(mercer.Spectrum(2), n_components=5, random_state=0), WORDS, None, WORDS[:4]),
    "neighbors words": (mercer.KernelKNeighborsRegressor(mercer.Spectrum(2)), WORDS, LONG, WORDS[:4]),
    "pipeline": (Pipeline([("scale", StandardScaler()), ("svc", mercer.SVC(G, random_state=0))]), X, TWO, NEW),
}
TABLES: dict[str, tuple[Any, Any, Any, Any]] = {
    "table": (mercer.TableRegressor(random_state=0, time=1.0), FRAME, Y, FRAME[:4]),
    "table holes": (mercer.TableRegressor(random_state=0, time=1.0), HOLES, Y, HOLES[:4]),
    "table quantiles": (mercer.TableQuantileRegressor((0.1, 0.9), random_state=0, time=1e-6), FRAME, Y, FRAME[:4]),
    "table classes": (mercer.TableClassifier(random_state=0, time=1.0), FRAME, TWO, FRAME[:4]),
}

#: A part of a file that is a kernel with a parameter that no fit allows.
KERNEL = {"is": "kernel", "text": "Gaussian(length_scale=-1.0)", "parts": []}

METHODS = (
    "predict", "decision_function", "predict_proba", "predict_interval", "transform", "score_samples", "kneighbors",
    "p_values", "pvalues", "denoise", "sample_y", "update",
)  # fmt: skip
FACTS = ("coef_", "dual_coef_", "loo_residuals_", "leverage_", "effective_dof_", "cv_residuals_", "feature_importances_")


def parts(model: Any) -> tuple[dict[str, Any], list[Any]]:
    """The text and the arrays of the file of a model."""
    from mercer.persist.packing import Packer

    to_bytes(model)  # as a file, it can be written
    packer = Packer()
    body = {"model": packer.pack(model, "model"), "notes": packer.pack({}, "notes")}
    return {**body, "lists": packer.lists}, packer.arrays


def forged_array(array: Any, rng: np.random.Generator) -> Any:
    """Another array in the place of this one."""
    flat = array.size
    kinds = (
        lambda: array[:-1] if array.ndim and len(array) else array[None],
        lambda: np.concatenate([array, array[:1]]) if array.ndim and len(array) else np.zeros(3, array.dtype),
        lambda: array[..., None],
        lambda: array.ravel(),
        lambda: array.T.copy(),
        lambda: np.zeros(0, array.dtype),
        lambda: np.zeros((0, 3)),
        lambda: array.astype(rng.choice(["f2", "f4", "f8", ">f8", "i1", "i4", "i8", "u8", "c16", "b1", "U5", "M8[s]"])),
        lambda: _changed(array, rng, rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, 1e-320])),
        lambda: _changed(array, rng, int(rng.choice([-1, -(2**31), 2**31 - 1, 10**6, 2**62, 30, 31, 68]))),
        lambda: rng.permutation(array) if array.ndim else array,
        lambda: np.full(array.shape, rng.choice([0.0, -1.0, 1e30])),
        lambda: np.arange(flat).reshape(array.shape) + int(rng.choice([0, 1, 1000, -1000])),
        lambda: rng.normal(size=tuple(rng.integers(0, 6, size=rng.integers(0, 4)))),
        lambda: np.asfortranarray(array),
    )
    return kinds[rng.integers(len(kinds))]()


def _changed(array: Any, rng: np.random.Generator, value: Any) -> Any:
    out = array.copy()
    if out.size and out.dtype.kind in "fiuc":
        out.reshape(-1)[rng.integers(out.size)] = value
    return out


def places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The parameters, attributes and fields of estimators and records: (container, key)."""
    if isinstance(node, dict):
        for inside in (node.get("params"), node.get("state") or node.get("fields")):
            for key, value in (inside or {}).items():
                found.append((inside, key))
                places(value, found)
        places(node.get("items"), found)
    elif isinstance(node, list):
        for value in node:
            places(value, found)
    return found


def forged(body: dict[str, Any], arrays: list[Any], rng: np.random.Generator) -> tuple[str, list[Any], str]:
    """The text and the arrays of a forged file, and what was done."""
    arrays = list(arrays)
    done = []
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.85 and arrays:
            at = int(rng.integers(len(arrays)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    arrays[at] = forged_array(arrays[at], rng)
                except (ValueError, OverflowError, TypeError, RuntimeError):  # NumPy has no such array
                    continue
            done.append(f"array {at} {arrays[at].dtype}{arrays[at].shape}")
        else:
            body = json.loads(json.dumps(body))
            numbers = places([body["model"], body["lists"]], [])
            if numbers:
                inside, key = numbers[rng.integers(len(numbers))]
                if rng.random() < 0.2:
                    inside.pop(key, None)
                    done.append(f"without {key}")
                    continue
                others = [None, -1, 10**9, 0, True, "x", {"is": "float", "text": "nan"}, [], 0.5, 10**400, KERNEL]
                inside[key] = others[rng.integers(len(others))]
                done.append(f"{key} = {str(inside[key])[:40]}")
    return json.dumps(body), arrays, "; ".join(done)


def answer(model: Any, new: Any, X: Any, y: Any) -> list[tuple[str, BaseException]]:
    """Ask for everything; what was raised that is no error of mercer's."""
    failures: list[tuple[str, BaseException]] = []
    calls = [(name, lambda name=name: getattr(model, name)(new)) for name in METHODS if hasattr(model, name)]
    calls += [(name, lambda name=name: getattr(model, name, None)) for name in FACTS]
    calls += [("str", lambda: str(model))]
    if hasattr(model, "inverse_transform"):
        calls.append(("inverse_transform", lambda: model.inverse_transform(model.transform(new))))
    if hasattr(model, "partial_fit"):
        calls.append(("partial_fit", lambda: model.partial_fit(X, y)))
    if hasattr(model, "sample_y"):
        calls.append(("std", lambda: model.predict(new, return_std=True)))
    for name, call in calls:
        try:
            call()
        except (MercerError, AttributeError) as error:  # a property that is not there says so by AttributeError
            if isinstance(error, AttributeError) and not isinstance(error, MercerError):
                failures.append((name, error))
        except Exception as error:
            failures.append((name, error))
    return failures


def run(total: int, seed: int, tables: bool, only: str | None = None) -> dict[str, Any]:
    """Try so many files; counts, and the first tries that raised something else."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    fitted = []
    for name, (model, rows, target, new) in (MODELS | (TABLES if tables else {})).items():
        if only is None or only in name:
            model.fit(rows) if target is None else model.fit(rows, target)
            if name.endswith("asked"):  # what is computed when first asked for is stored too
                answer(model, new, rows, target)
            fitted.append((name, *parts(model), new, rows, target))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    usual = compiling.LOADING
    for name, body, arrays, new, rows, target in fitted:  # the good file is good
        failures = answer(_rebuilt(json.dumps(body), arrays, name)[0], new, rows, target)
        wrong += [f"{name} as it was: {method}: {error!r}" for method, error in failures]
    for number in range(total):
        name, body, arrays, new, rows, target = fitted[number % len(fitted)]
        compiling.LOADING = 0 if number // len(fitted) % 2 else usual
        text, changed, done = forged(body, arrays, rng)
        sys.stderr.write(f"\r{name}: {done}\n") if "-v" in sys.argv else None
        try:
            model, _ = _rebuilt(text, changed, "file")
        except MercerError:
            counts["refused"] += 1
            continue
        except Exception as error:
            wrong.append(f"{name}: {done}: load: {type(error).__name__}: {error}")
            continue
        failures = answer(model, new, rows, target)
        counts["wrong" if failures else "answered"] += 1
        for method, error in failures:
            place = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{name}: {done}: {method}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})")
            sys.stderr.write(wrong[-1] + "\n")  # at once: the process may die later
    return {"files": total, **counts, "failures": wrong}


if __name__ == "__main__":
    chosen = [word[5:] for word in sys.argv if word.startswith("only=")]
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), "tables" in sys.argv, *chosen)))
