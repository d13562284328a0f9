"""Pinball losses of `TableQuantileRegressor` beside scikit-learn's quantile gradient boosting; resumable.

    python -m benchmarks.quantile_quality                # what is missing: three splits of five sets and of two beyond
    python -m benchmarks.quantile_quality --splits 1 --sets protein
    python -m benchmarks.quantile_quality --show         # the table from what is on disk
    python -m benchmarks.quantile_quality --rows 20000   # seconds and shares of three quantiles on protein, without a rival

800 training rows by seed, quantiles 0.1 and 0.9, tested on at most 2,000 others. mercer's kernels, length scales, C and
weights are chosen by folds of the training rows, with the defaults. The rival is tuned twice on three folds: learning rate
and number of trees alone, and the leaves of a tree with them; the choice that is better on the test rows counts, which
favors the rival. Its losses stay on disk; `--again` measures mercer's alone once more. Every split is saved as it ends.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from benchmarks import table_sets as sets
from benchmarks.results import write_whole

RESULTS = Path(__file__).resolve().parent / "quality" / "quantile_quality.json"
ROWS, TESTED, QUANTILES, SPLITS = 800, 2000, (0.1, 0.9), 3
SETS = ("california_housing", "elevators", "kin8nm", "power_plant", "protein")
BEYOND = ("bike", "wine")  # looked at to see whether what was chosen on the five holds elsewhere
RATES, TREES, LEAVES = (0.03, 0.1), (50, 100, 200), (31, 7)
Record = dict[str, Any]


def pinball(y: Any, f: Any, tau: float) -> float:
    """The mean pinball loss."""
    return float(np.mean(np.maximum(tau * (y - f), (tau - 1.0) * (y - f))))


def boosting(X: Any, y: Any, new: Any, tau: float) -> dict[tuple[int, float, int], Any]:
    """Predictions at new rows by (leaves, rate, trees); a run of 200 trees passes through those of 50 and 100."""
    found = {}
    for leaves in LEAVES:
        for rate in RATES:
            model = HistGradientBoostingRegressor(
                loss="quantile", quantile=tau, learning_rate=rate, max_iter=max(TREES), max_leaf_nodes=leaves,
                early_stopping=False, random_state=0,
            ).fit(X, y)  # fmt: skip
            for count, values in enumerate(model.staged_predict(new), 1):
                if count in TREES:
                    found[leaves, rate, count] = values
    return found


def rival(X: Any, y: Any, new: Any, truth: Any, tau: float) -> float:
    """The test loss of tuned boosting: the better of two tunings."""
    losses: dict[tuple[int, float, int], float] = {}
    for a, b in KFold(3, shuffle=True, random_state=0).split(X):
        for setting, values in boosting(X[a], y[a], X[b], tau).items():
            losses[setting] = losses.get(setting, 0.0) + pinball(y[b], values, tau)
    final = boosting(X, y, new, tau)
    plain = {setting: loss for setting, loss in losses.items() if setting[0] == LEAVES[0]}
    return min(pinball(truth, final[min(tuned, key=lambda s: tuned[s])], tau) for tuned in (plain, losses))


def measure(name: str, seed: int, known: Record) -> Record:
    """Both losses at every quantile; those of the rival are taken from what is known."""
    from mercer import TableQuantileRegressor

    X, y = sets.load_regression(name)
    train, test = sets.split(len(y), seed)
    train, test = train[:ROWS], test[:TESTED]
    start = time.perf_counter()
    model = TableQuantileRegressor(QUANTILES).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    mine = model.predict(X[test])
    found: Record = {"seconds": seconds, "tested": len(test)}
    for place, tau in enumerate(QUANTILES):
        found[str(tau)] = {
            "mercer": pinball(y[test], mine[:, place], tau),
            "boosting": known[str(tau)]["boosting"] if known else rival(X[train], y[train], X[test], y[test], tau),
            "below": float(np.mean(y[test] <= mine[:, place])),
            "chosen": [f"{m.label} ({m.weight:.2f})" for m in model.members_ if m.model.dual[:, place].any()],
        }
    return found


def large(rows: int) -> str:
    """Seconds of a fit of three quantiles on this many rows of protein, and the shares below on 5,000 others."""
    from mercer import TableQuantileRegressor

    X, y = sets.load_regression("protein")
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:rows], order[-5000:]
    start = time.perf_counter()
    model = TableQuantileRegressor((0.1, 0.5, 0.9)).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    below = np.mean(y[test, None] <= model.predict(X[test]), axis=0)
    shares = ", ".join(f"{100 * share:.1f} %" for share in below)
    return f"protein, {rows:,} rows: {seconds:.0f} s, {shares} below ({model.result_.route})"


def show(results: Record) -> str:
    """A line per set and quantile with the ratio on every split, and the geometric means."""
    lines = []
    for title, names in (("five sets", SETS), ("beyond", BEYOND)):
        every: list[float] = []
        shares: dict[str, list[float]] = {str(tau): [] for tau in QUANTILES}
        for name in (name for name in names if name in results):
            for tau in map(str, QUANTILES):
                splits = results[name]
                ratios = [splits[s][tau]["mercer"] / splits[s][tau]["boosting"] for s in sorted(splits)]
                every += ratios
                mean = np.exp(np.mean(np.log(ratios)))
                by_split = ", ".join(f"{ratio:.3f}" for ratio in ratios)
                below = np.mean([splits[s][tau]["below"] for s in sorted(splits)])
                shares[tau].append(float(below))
                lines.append(
                    f"{name}, quantile {tau}: ratios {by_split}; geometric mean {mean:.3f}; {100 * below:.1f} % below"
                )
        if every:
            mean = np.exp(np.mean(np.log(every)))
            lines.append(f"{title}: {len(every)} ratios, geometric mean {mean:.3f}, largest {max(every):.3f}")
            lines += [f"  {tau}: on average {100 * np.mean(share):.1f} % below" for tau, share in shares.items()]
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, save after every split, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join((*SETS, *BEYOND)))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if options.rows is not None:
        print(large(options.rows))
        return
    results: Record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    todo = [] if options.show else [(seed, name) for seed in range(options.splits) for name in options.sets.split(",")]
    for seed, name in todo:
        known = results.setdefault(name, {}).get(str(seed), {})
        if known and not options.again:
            continue
        results[name][str(seed)] = measure(name, seed, known)
        write_whole(RESULTS, json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(name, seed, f"{results[name][str(seed)]['seconds']:.0f} s", flush=True)
    print(show(results))


if __name__ == "__main__":
    main()
