"""xRFM beside the others: `python -m benchmarks.table_xrfm [--sets airfoil,…]`, extra bench-gp; resumable.

20 random configurations of its published search space (bandwidth, penalty, exponents, diagonal or full, lpq or l2 kernel;
five rounds, stopped early), compared on a fifth of the training rows held out; the best one is fitted five times, each with
another fifth held out for its own early stopping, and the five predictions are averaged, so that all rows are used. First
split of the regression sets of `benchmarks.table_quality`; columns and target standardized.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import table_sets as sets
from benchmarks.results import write_whole

RESULTS = Path(__file__).resolve().parent / "quality" / "table_xrfm.json"
CONFIGURATIONS, PARTS = 20, 5
Record = dict[str, Any]


def configuration(rng: np.random.Generator) -> Record:
    """One random setting: the ranges of the package's published search."""
    exponent = float(rng.uniform(0.7, 1.4))
    model: Record = {
        "kernel": "lpq" if rng.random() < 0.8 else "l2",
        "bandwidth": float(np.exp(rng.uniform(np.log(0.5), np.log(200.0)))),
        "exponent": exponent,
        "diag": bool(rng.random() < 0.5),
        "bandwidth_mode": "constant",
    }
    if model["kernel"] == "lpq":
        model["norm_p"] = exponent + (2.0 - exponent) * float(rng.uniform(0.0, 0.8))
    fit = {
        "reg": float(np.exp(rng.uniform(np.log(1e-6), np.log(10.0)))),
        "iters": 5,
        "return_best_params": True,
        "early_stop_rfm": True,
        "early_stop_multiplier": 1.1,
        "verbose": False,
    }
    return {"model": model, "fit": fit}


def fitted(setting: Record, X: Any, y: Any, held: Any) -> Any:
    """A model on the rows that are not held; the others stop it early."""
    import torch
    from xrfm import xRFM

    A, b = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y[:, None], dtype=torch.float32)
    model = xRFM({k: dict(v) for k, v in setting.items()}, device="cpu", tuning_metric="mse", random_state=0, verbose=False)
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(A[~held], b[~held], A[held], b[held])
    return model


def predicted(model: Any, X: Any) -> Any:
    """Predictions as a vector."""
    import torch

    with contextlib.redirect_stdout(io.StringIO()):
        return np.asarray(model.predict(torch.as_tensor(X, dtype=torch.float32))).reshape(-1)


def measure(X: Any, y: Any, train: Any, test: Any) -> Record:
    """The test error of the mean of five fits of the best setting."""
    center, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z, new = ((X[rows] - center) / np.where(spread > 0, spread, 1.0) for rows in (train, test))
    middle, unit = y[train].mean(), y[train].std()
    target = (y[train] - middle) / unit
    part = np.arange(len(train)) % PARTS  # rows come in random order
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    best: tuple[float, Record] = (np.inf, {})
    for _ in range(CONFIGURATIONS):
        setting = configuration(rng)
        model = fitted(setting, Z, target, part == 0)
        error = float(np.mean((predicted(model, Z[part == 0]) - target[part == 0]) ** 2))
        best = min(best, (error, setting), key=lambda pair: pair[0])
    values = np.mean([predicted(fitted(best[1], Z, target, part == k), new) for k in range(PARTS)], axis=0)
    rmse = float(np.sqrt(np.mean((values * unit + middle - y[test]) ** 2)))
    return {"rmse": rmse, "seconds": time.perf_counter() - start, "setting": best[1]["model"]}


def main() -> None:
    """Measure what is missing and save after every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(sets.REGRESSION))
    options = parser.parse_args()
    results: Record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.sets.split(","):
        if name in results:
            continue
        X, y = sets.load_regression(name)
        results[name] = measure(X, y, *sets.split(len(y), 0))
        write_whole(RESULTS, json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
