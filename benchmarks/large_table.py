"""Large fits side by side, each in a process of its own: seconds, peak memory, test error. Resumable.

    python -m benchmarks.large_table            run what is missing, then print the tables and draw the picture
    python -m benchmarks.large_table --seconds 200   begin nothing new after that long
    python -m benchmarks.large_table --print         print and draw alone

Three tables: the races on real data; every route at n = 100,000 to 1,000,000 rows of `reg_flights`; and seconds and memory
against rows and landmarks on generated data, with the exponents of a straight line through their logarithms.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
STORE = HERE / "quality" / "large.json"
PICTURE = HERE.parent / "docs" / "pictures" / "large_scaling.png"

#: Row and contestant of the races; two runs of those whose ratio is claimed.
RACES = [
    ("flights-nystroem", ("mercer", "Nystroem + Ridge", "HistGradientBoosting"), 2),
    ("flights-fourier", ("mercer", "RBFSampler + Ridge"), 2),
    ("covtype-nystroem", ("mercer", "Nystroem + RidgeClassifier", "HistGradientBoosting"), 1),
    ("donors-nystroem", ("mercer", "Nystroem + RidgeClassifier", "HistGradientBoosting"), 1),
    ("mnist-nystroem", ("mercer", "Nystroem + RidgeClassifier", "HistGradientBoosting"), 1),
    ("mnist-1000-nystroem", ("mercer", "Nystroem + RidgeClassifier"), 1),
    ("mnist-many-landmarks", ("mercer",), 1),
    ("terrain-fourier", ("mercer", "mercer, near rows", "HistGradientBoosting"), 1),
]

#: Rows of `reg_flights`, route and components; 0 components are boosting.
SIZES = [
    (n, route, m)
    for n in (100_000, 300_000, 900_000)
    for route, m in (
        ("nystroem", 500), ("nystroem", 2000), ("fourier", 500), ("fourier", 2000), ("nystroem-cg", 4000), ("boosting", 0),
    )
    if not (route == "nystroem-cg" and n > 100_000)
]  # fmt: skip

#: Generated rows and landmarks.
SCALING = [(n, 500) for n in (50_000, 100_000, 200_000, 400_000, 800_000)] + [
    (100_000, m) for m in (125, 250, 1000, 2000, 4000)
]


def measured(run: Any) -> dict[str, float]:
    """Seconds of an action and the memory it took beyond what was resident before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)}


def one_size(n: int, route: str, m: int) -> dict[str, float]:
    """Fit a route on n training rows of the flights and score it on the test rows."""
    from benchmarks.rows.large import regression_rows

    X, y, new, truth = regression_rows("reg_flights", None)
    X, y = X[:n], y[:n]
    if route == "boosting":
        from sklearn.ensemble import HistGradientBoostingRegressor

        model: Any = HistGradientBoostingRegressor(random_state=0)
    else:
        import mercer

        model = mercer.KernelRidge(mercer.Gaussian(1.5), alpha=1.0, fit_intercept=True, solver=route, n_components=m)
        model.fit(X[:4000], y[:4000])  # loads the code
    found = measured(lambda: model.fit(X, y))
    return {**found, "error": float(np.sqrt(np.mean((model.predict(new) - truth) ** 2)))}


def one_scale(n: int, m: int) -> dict[str, float]:
    """Fit generated rows on landmarks."""
    import mercer

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    model = mercer.KernelRidge(mercer.Gaussian(3.0), alpha=1.0, solver="nystroem", n_components=m)
    model.fit(X[:6000], y[:6000])
    return measured(lambda: model.fit(X, y))


def tasks() -> list[str]:
    """The names of all runs, those that are claimed first."""
    races = [f"race|{row}|{who}|{k}" for row, them, times in RACES for k in range(times) for who in them]
    return [*races, *[f"size|{n}|{route}|{m}" for n, route, m in SIZES], *[f"scale|{n}|{m}" for n, m in SCALING]]


def run(task: str) -> dict[str, Any]:
    """One run in a process of its own."""
    kind, *rest = task.split("|")
    if kind == "race":
        command = [sys.executable, "-m", "benchmarks.large_once", *rest[:2], "--json"]
    else:
        command = [sys.executable, "-m", "benchmarks.large_table", "--one", task]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"code {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def exponent(sizes: list[float], values: list[float]) -> float:
    """The slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1.0 if max(values) > 1e3 else 1e-3)), 1)[0])


def report(store: dict[str, Any]) -> None:
    """Print the tables."""
    for task, found in store.items():
        facts = " ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()
        )
        print(f"{task.replace('|', ' '):48} {facts}")
    for name, fixed, free in (("n", 1, 0), ("m", 0, 1)):
        points = [(n, m) for n, m in SCALING if (n, m)[fixed] == (500 if fixed else 100_000)]
        points = sorted({*points, (100_000, 500)})
        done = [
            (point, store[f"scale|{point[0]}|{point[1]}"]) for point in points if f"scale|{point[0]}|{point[1]}" in store
        ]
        if len(done) < 3:
            continue
        sizes = [float(point[free]) for point, _ in done]
        seconds, taken = ([found[key] for _, found in done] for key in ("seconds", "bytes"))
        print(
            f"against {name}: seconds ~ {name}^{exponent(sizes, seconds):.2f}, bytes ~ {name}^{exponent(sizes, taken):.2f}"
        )


def draw(store: dict[str, Any]) -> None:
    """Seconds and memory against rows and landmarks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for ax, free, label in ((axes[0], 0, "rows, 500 landmarks"), (axes[1], 1, "landmarks, 100,000 rows")):
        points = sorted((n, m) for n, m in {*SCALING, (100_000, 500)} if (n, m)[1 - free] == (500, 100_000)[free])
        done = [(p[free], store[f"scale|{p[0]}|{p[1]}"]) for p in points if f"scale|{p[0]}|{p[1]}" in store]
        sizes = [float(size) for size, _ in done]
        seconds, taken = ([found[key] for _, found in done] for key in ("seconds", "bytes"))
        ax.loglog(sizes, seconds, color="C0", marker="o", label=f"seconds, slope {exponent(sizes, seconds):.2f}")
        beside = ax.twinx()
        beside.plot(sizes, [value / 2**20 for value in taken], color="C1", marker="s", label="memory")
        beside.set_ylim(0, 1.6 * max(taken) / 2**20)
        ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], fontsize=8)
        ax.set_xticks([], minor=True)
        ax.set_yticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
        ax.set_yticks([], minor=True)
        ax.set_xlabel(label)
        ax.set_ylabel("seconds of the fit", color="C0")
        beside.set_ylabel("MiB beyond the data", color="C1")
        handles = [line for axis in (ax, beside) for line in axis.get_lines()]
        ax.legend(handles, [str(line.get_label()) for line in handles], loc="upper left", frameon=False)
        ax.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run what is missing and print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=float("inf"))
    reader.add_argument("--only", default="", help="tasks that begin with this")
    reader.add_argument("--print", action="store_true", dest="printed")
    reader.add_argument("--one")
    asked = reader.parse_args()
    if asked.one:
        kind, *rest = asked.one.split("|")
        if kind == "size":
            print(json.dumps(one_size(int(rest[0]), rest[1], int(rest[2]))))
        else:
            print(json.dumps(one_scale(int(rest[0]), int(rest[1]))))
        return
    store: dict[str, Any] = json.loads(STORE.read_text()) if STORE.exists() else {}
    start = time.monotonic()
    for task in [] if asked.printed else tasks():
        if task in store or not task.startswith(asked.only) or time.monotonic() - start > asked.seconds:
            continue
        store[task] = run(task)
        print(task, store[task], flush=True)
        STORE.write_text(json.dumps(store, indent=1) + "\n")
    report({task: store[task] for task in tasks() if task in store})
    if sum(task.startswith("scale") for task in store) >= 6:
        draw(store)


if __name__ == "__main__":
    main()
