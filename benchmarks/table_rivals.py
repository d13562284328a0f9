"""What gradient boosting and random forests reach on the tables of `benchmarks.table_quality`; run once, committed.

    python -m benchmarks.table_rivals                     # what is missing, the first split of every set first
    python -m benchmarks.table_rivals --rows 10000        # one split at 10,000 rows
    python -m benchmarks.table_rivals --task classification

HistGradientBoosting is tuned by 20 random configurations over three folds of the training rows (squared error or log-loss)
and fitted again on all of them with the best; the forest has 300 trees. Every split is saved as it ends, and a second start
goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks import table_sets as sets
from benchmarks.results import write_whole

RESULTS = Path(__file__).resolve().parent / "quality" / "table_rivals.json"
CONFIGURATIONS, FOLDS, TREES = 20, 3, 300
Record = dict[str, Any]


def configuration(rng: np.random.Generator) -> Record:
    """One random setting of HistGradientBoosting."""
    return {
        "learning_rate": float(np.exp(rng.uniform(np.log(0.02), np.log(0.3)))),
        "max_iter": int(np.exp(rng.uniform(np.log(100), np.log(1000)))),
        "max_leaf_nodes": int(rng.choice([7, 15, 31, 63])),
        "min_samples_leaf": int(rng.choice([2, 5, 10, 20, 40])),
        "l2_regularization": float(np.exp(rng.uniform(np.log(1e-3), np.log(10.0)))),
        "max_features": float(rng.uniform(0.4, 1.0)),
    }


def boosting(task: str, setting: Record) -> Any:
    """The rival with one setting; early stopping off, since the number of trees is among the numbers that are tuned."""
    kind = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
    return kind(**setting, early_stopping=False, random_state=0)


def loss(model: Any, X: Any, y: Any, task: str) -> float:
    """Squared error, or log-loss with probabilities clipped at 1e-6; unseen labels count as probability 1e-6."""
    if task == "regression":
        return float(np.mean((model.predict(X) - y) ** 2))
    table = dict(zip(model.classes_, model.predict_proba(X).T, strict=True))
    chosen = np.array([table[label][i] if label in table else 0.0 for i, label in enumerate(y)])
    return float(-np.log(np.clip(chosen, 1e-6, 1.0)).mean())


def tuned(X: Any, y: Any, task: str, seed: int) -> tuple[Any, Record]:
    """The boosting model of the best of 20 settings, fitted on all rows."""
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    if task == "classification" and np.bincount(np.unique(y, return_inverse=True)[1]).min() >= FOLDS:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    rng = np.random.default_rng(seed)
    best: tuple[float, Record] = (np.inf, {})
    for _ in range(CONFIGURATIONS):
        setting = configuration(rng)
        losses = [loss(boosting(task, setting).fit(X[a], y[a]), X[b], y[b], task) for a, b in folds.split(X, y)]
        best = min(best, (float(np.mean(losses)), setting), key=lambda pair: pair[0])
    return boosting(task, best[1]).fit(X, y), best[1]


def measure(X: Any, y: Any, train: Any, test: Any, task: str, seed: int) -> Record:
    """Test errors of both rivals on one split."""
    start = time.perf_counter()
    model, setting = tuned(X[train], y[train], task, seed)
    seconds = time.perf_counter() - start
    kind = RandomForestRegressor if task == "regression" else RandomForestClassifier
    forest = kind(TREES, random_state=seed, n_jobs=1).fit(X[train], y[train])
    default = boosting(task, {}).fit(X[train], y[train])
    found: Record = {"trained": len(train), "tested": len(test), "seconds": seconds, "setting": setting}
    for name, rival in (("boosting", model), ("boosting_default", default), ("forest", forest)):
        if task == "regression":
            found[name] = float(np.sqrt(loss(rival, X[test], y[test], task)))
        else:
            found[name] = int(np.sum(rival.predict(X[test]) != y[test]))
            found[f"{name}_log_loss"] = loss(rival, X[test], y[test], task)
    return found


def main() -> None:
    """Measure what is missing and save after every split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=("regression", "classification"), default="regression")
    parser.add_argument("--rows", type=int, default=sets.SMALL)
    parser.add_argument("--splits", type=int, default=None)
    parser.add_argument("--sets", default="")
    options = parser.parse_args()
    names = options.sets.split(",") if options.sets else sets.REGRESSION
    if options.task == "classification" and not options.sets:
        names = sets.CLASSIFICATION
    load = sets.load_regression if options.task == "regression" else sets.load_classification
    splits = options.splits or (sets.SPLITS if options.rows <= sets.SMALL else 1)
    results: Record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    done = results.setdefault(options.task, {}).setdefault(str(options.rows), {})
    for seed in range(splits):
        for name in names:
            if str(seed) in done.get(name, {}):
                continue
            X, y = load(name)
            if options.rows > sets.SMALL and len(y) < 1.2 * options.rows:
                continue
            found = measure(X, y, *sets.split(len(y), seed, options.rows), options.task, seed)
            done.setdefault(name, {})[str(seed)] = found
            write_whole(RESULTS, json.dumps(results, indent=1, sort_keys=True) + "\n")
            print(name, seed, {key: found[key] for key in ("boosting", "boosting_default", "forest", "seconds")}, flush=True)


if __name__ == "__main__":
    main()
