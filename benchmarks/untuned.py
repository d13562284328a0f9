"""Races on data that nothing was tuned on: `make bench-untuned`.

Support vector classification (fit, and predict of at most 10,000 rows) beside scikit-learn and sklearnex, and whole fits of
Gaussian processes with a length scale per column, one start each, beside scikit-learn. Settings were written down before the
first run: columns standardized, C = 10, gamma = 1 / columns. Contestants take turns in one process, warm; a call of over
LONG seconds is its own only reading.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows.gp import fit_sklearn
from benchmarks.rows.svm import DATA, PEERS, Split, mercer_svc

Array = NDArray[Any]

#: Training rows at most; all others, at most TESTED, are predicted.
SETS = {"satellite": None, "spambase": None, "shuttle": None, "covtype": 20_000, "w8a_train": None}
TESTED = 10_000
C = 10.0
GP_SETS = (
    "concrete", "airfoil", "wine", "elevators", "covtype elevation",
    "kin8nm", "power_plant", "california_housing", "protein", "kin40k",
)  # fmt: skip
GP_ROWS, GP_COLUMNS = 1000, 8
TURNS, LONG = 3, 10.0
#: What is promised: geometric means over all fits and predictions; of whole fits of a process also the least ratio, and how
#: far the log likelihood may stay below scikit-learn's.
WANTED, WANTED_GP, LEAST_GP, LOWER = {"scikit-learn": 4.0, "sklearnex": 2.5}, 6.0, 4.0, 0.01


def split(name: str, n: int | None) -> Split:
    """Four fifths, or n rows, to train; columns standardized by the training part."""
    with np.load(DATA / f"cls_{name}.npz") as file:
        X, y = file["X"], file["y"]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [len(y) * 4 // 5 if n is None else n])
    A, B = X[train].astype(np.float64), X[test[:TESTED]].astype(np.float64)
    spread = A.std(axis=0)
    mean, spread = A.mean(axis=0), np.where(spread > 0, spread, 1.0)
    return (A - mean) / spread, y[train], (B - mean) / spread, y[test[:TESTED]]


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """One reading and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def turns(calls: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of everybody, in turns, and the first results."""
    readings: dict[str, list[float]] = {name: [] for name in calls}
    results: dict[str, Any] = {}
    for turn in range(TURNS):
        for name, call in calls.items():
            if turn and readings[name][0] > LONG:
                continue
            spent, found = seconds(call)
            readings[name].append(spent)
            results.setdefault(name, found)
    return {name: float(np.median(found)) for name, found in readings.items()}, results


def svc(name: str, n: int | None, ratios: dict[str, list[float]]) -> None:
    """Fit and predict on one set."""
    X, y, T, t = split(name, n)
    makers = {"mercer": mercer_svc, **{peer: make for peer, (make, _, _) in PEERS.items()}}
    gamma = 1.0 / X.shape[1]
    for make in makers.values():  # warm
        make(C, gamma).fit(X[:600], y[:600]).predict(T[:600])
    times, models = turns({who: lambda make=make: make(C, gamma).fit(X, y) for who, make in makers.items()})
    later, labels = turns({who: lambda model=model: model.predict(T) for who, model in models.items()})
    for job, spent in (("fit", times), ("predict", later)):
        others = ", ".join(f"{who} {spent[who]:.3f} ({spent[who] / spent['mercer']:.2f}x)" for who in PEERS)
        print(f"svc {name:10} {job:7} n = {len(y):6} mercer {spent['mercer']:.3f} s, {others}", flush=True)
        for who in PEERS:
            ratios[who].append(spent[who] / spent["mercer"])
    errors = ", ".join(f"{who} {100 * np.mean(found != t):.2f} %" for who, found in labels.items())
    apart = 100 * max(float(np.mean(labels[who] != labels["mercer"])) for who in PEERS)
    print(f"svc {name:10} test error {errors}; {apart:.3f} % of the labels differ", flush=True)


def regression(name: str) -> tuple[Array, Array]:
    """GP_ROWS rows by seed, the first GP_COLUMNS columns that vary, standardized."""
    if name == "covtype elevation":
        with np.load(DATA / "cls_covtype.npz") as file:
            X, y = file["X"][:, 1:].astype(np.float64), file["X"][:, 0].astype(np.float64)
    else:
        with np.load(DATA / f"reg_{name}.npz") as file:
            X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    rows = np.random.default_rng(0).permutation(len(y))[:GP_ROWS]
    X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 0][:, :GP_COLUMNS]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def fit_mercer(data: tuple[Array, Array]) -> float:
    """The log marginal likelihood that one climb from unit length scales ends at."""
    import mercer

    X, y = data
    kernel = 1.0 * mercer.Gaussian((1.0,) * X.shape[1])
    model = mercer.GaussianProcessRegressor(
        kernel, mean="zero", normalize_y=False, priors=None, solver="exact", n_restarts=0, verbose=False
    )
    return float(model.fit(X, y).log_marginal_likelihood_value_)


def process(name: str, ratios: list[float]) -> float:
    """A whole fit; return how far the log likelihood is above scikit-learn's."""
    data = regression(name)
    fit_mercer((data[0][:100], data[1][:100])), fit_sklearn((data[0][:100], data[1][:100]))
    times, values = turns({"mercer": lambda: fit_mercer(data), "scikit-learn": lambda: fit_sklearn(data)})
    ratios.append(times["scikit-learn"] / times["mercer"])
    print(
        f"gp {name:18} {data[0].shape} mercer {times['mercer']:.2f} s, scikit-learn {times['scikit-learn']:.2f} s "
        f"({ratios[-1]:.1f}x); log likelihood {values['mercer']:.3f} and {values['scikit-learn']:.3f}",
        flush=True,
    )
    return float(values["mercer"] - values["scikit-learn"])


def main(arguments: list[str] | None = None) -> None:
    """Run the selected races and print their means beside the targets."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.untuned", description=__doc__)
    options.add_argument("--only", choices=("svc", "gp"))
    options.add_argument("--sets", nargs="+", help="some of the sets")
    asked = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    ratios: dict[str, list[float]] = {who: [] for who in PEERS}
    for name, n in SETS.items():
        if asked.only != "gp" and (asked.sets is None or name in asked.sets):
            svc(name, n, ratios)
    for who, found in ratios.items():
        if found:
            mean = math.exp(np.mean(np.log(found)))
            print(f"svc against {who}: {mean:.2f}x (wanted {WANTED[who]:g}x), {sum(r < 1 for r in found)} lost")
    whole: list[float] = []
    above = [process(name, whole) for name in GP_SETS if asked.only != "svc" and (asked.sets is None or name in asked.sets)]
    if whole:
        mean = math.exp(np.mean(np.log(whole)))
        good = mean >= WANTED_GP and min(whole) >= LEAST_GP and min(above) >= -LOWER
        print(
            f"gp: {'PASS' if good else 'NOT REACHED'}: mean {mean:.1f}x (wanted {WANTED_GP:g}x), least {min(whole):.1f}x "
            f"(wanted {LEAST_GP:g}x), log likelihood at least {min(above):+.3f} (wanted {-LOWER:g})"
        )


if __name__ == "__main__":
    main()
