"""The same ridge on a laptop and on a cluster

Rows that come in chunks are summed chunk by chunk: in one process, or by workers that each read some of them. The sums are
taken in one order, so both give the same digits, and m landmarks keep the memory at m x m however many rows there are.
Here the workers are two processes of this machine (threads where a script may not start processes), and the chunks so small
that a task costs more than its sum: workers pay when a chunk has megabytes.

    python examples/cluster_ridge.py
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.numeric.threads import one_thread

KERNEL, ALPHA, LANDMARKS = mercer.Gaussian(length_scale=1.5), 0.1, 200
CHUNK = 1250  # rows; chunks of a real fit have megabytes


def sample(n: int, seed: int) -> tuple[Any, Any]:
    """A noisy surface over the plane."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=n)


def on_disk(folder: Path, X: Any, y: Any) -> tuple[Any, Any]:
    """The rows as arrays that are mapped from files: a worker is sent the name of the file and reads its own part."""
    found = []
    for name, values in (("X", X), ("y", y)):
        np.save(folder / f"{name}.npy", values)
        found.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return found[0], found[1]


def fitted(rows: Any) -> tuple[Any, float]:
    """The ridge of some chunks, and how long it took."""
    model = mercer.KernelRidge(KERNEL, alpha=ALPHA, fit_intercept=True, n_components=LANDMARKS)
    start = time.perf_counter()
    with one_thread():  # as on a worker: with more threads BLAS adds in another order
        model.fit(rows)
    return model, time.perf_counter() - start


def compare(folder: Path, new: Any, chunks: list[int], client: Any) -> list[tuple[int, Any, Any, float, float]]:
    """For every number of chunks: predictions here and there, and the seconds of both fits."""
    lines = []
    for count in chunks:
        X, y = on_disk(folder, *sample(count * CHUNK, 0))
        here, seconds = fitted(mercer.chunks(X, y, rows=CHUNK))
        there, seconds_there = fitted(mercer.chunks(X, y, rows=CHUNK, client=client))
        lines.append((count, here.predict(new), there.predict(new), seconds, seconds_there))
    return lines


def draw(lines: list[tuple[int, Any, Any, float, float]], new: Any, truth: Any, path: Path) -> None:
    """Errors that lie on each other, and the function that the workers found."""
    import matplotlib

    matplotlib.use("Agg")  # files, not windows
    import matplotlib.pyplot as plt

    counts = [line[0] for line in lines]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    for place, name, style, size in ((1, "one process", "o-", 9), (2, "two workers", "x--", 7)):
        errors = [float(np.sqrt(np.mean((line[place] - truth) ** 2))) for line in lines]
        left.plot(counts, errors, style, markersize=size, label=name)
    left.set(yscale="log", ylabel="RMSE from the truth", title="The same error here and there")
    left.set_xscale("log", base=2)
    left.set_xticks(counts, [str(count) for count in counts])
    left.set_xlabel(f"chunks of {CHUNK:,} rows")
    left.legend()
    shown = right.scatter(*new.T, c=lines[-1][2], cmap="viridis", s=9)
    right.set(xlabel="x1", ylabel="x2", title=f"Predicted after {counts[-1]} chunks on two workers")
    figure.colorbar(shown)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, default=32, help="chunks of the largest fit")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    new, _ = sample(2000, 1)
    truth = np.sin(2 * new[:, 0]) * np.cos(new[:, 1])
    # a worker process begins with the script that was started; a gallery runs this one inside another, and gets threads
    started = sys.modules["__main__"]
    processes = started.__spec__ is None and getattr(started, "main", None) is main
    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": processes}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(dashboard_address="127.0.0.1:0", silence_logs=50, **settings) as cluster,
        Client(cluster) as client,
    ):
        compare(Path(folder), new, [1], client)  # the workers load mercer
        counts = [count for count in (1, 2, 4, 8, 16) if count < options.chunks]
        lines = compare(Path(folder), new, [*counts, options.chunks], client)
    print(f"chunks of {CHUNK:,} rows, {LANDMARKS} landmarks; two workers ({'processes' if processes else 'threads'})")
    print(f"{'chunks':>8}{'RMSE':>10}{'largest difference':>21}{'one process':>14}{'two workers':>14}")
    for count, here, there, seconds, seconds_there in lines:
        error = float(np.sqrt(np.mean((here - truth) ** 2)))
        apart = float(np.abs(there - here).max())
        print(f"{count:>8}{error:>10.5f}{apart:>21.1e}{seconds:>12.2f} s{seconds_there:>12.2f} s")
    path = options.out / "cluster_ridge.png"
    draw(lines, new, truth, path)
    print(f"\n{path}")


if __name__ == "__main__":
    main()
