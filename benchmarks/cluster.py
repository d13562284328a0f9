"""Rows beyond memory and beyond one process: a stream of 20 GB, a folder larger than its memory, two workers against one.

python -m benchmarks.cluster stream            50,000,000 x 50 rows in float64, generated, under 2 GB resident
python -m benchmarks.cluster folder            a folder of Parquet files larger than the memory that the fit may have
python -m benchmarks.cluster workers           the feature pass on two workers of one thread against one
"""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.estimators.ridge.large import chunk_sums, feature_map
from mercer.estimators.ridge.problem import RidgeProblem
from mercer.inputs.chunks import Chunk
from mercer.numeric.threads import one_thread

LIMIT = 2e9

#: The rows of a generated chunk; 40 MB.
CHUNK = 100_000


def peak() -> float:
    """The largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def target(X: np.ndarray) -> np.ndarray:
    """What is to be learned."""
    return np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]


def stream(n: int = 50_000_000, d: int = 50, m: int = 32) -> int:
    """Fit a ridge on Fourier features to rows that are generated when they are needed, in one pass."""

    def parts() -> Iterator[Any]:
        for start in range(0, n, CHUNK):
            X = np.random.default_rng(start).random((min(CHUNK, n - start), d))
            yield X, target(X)

    begin = time.perf_counter()
    kernel = mercer.Gaussian(1.0).on(0, 1, 2)  # the columns that matter; all are generated and read
    model = mercer.KernelRidge(kernel, alpha=1.0, solver="fourier", n_components=m).fit(parts())
    seconds = time.perf_counter() - begin
    new = np.random.default_rng(1).random((10_000, d))
    error = float(np.sqrt(np.mean((model.predict(new) - target(new)) ** 2)))
    print(f"{n:,} x {d} rows, {8 * n * d / 1e9:.1f} GB in chunks of {CHUNK:,}: {seconds:.0f} s, {model.route_.passes} pass")
    print(f"{m} features, error {error:.3f} (the target varies by {target(new).std():.3f})")
    print(f"peak {peak() / 1e9:.2f} GB resident")
    return int(peak() > LIMIT)


def folder(files: int = 20, rows: int = 200_000, d: int = 50, allowed: float = 1.0e9) -> int:
    """Write Parquet files, then fit them in a process whose data may take less than they do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as place:
        for number in range(files):
            X = np.random.default_rng(number).random((rows, d))
            table = pa.table({**{f"x{i}": X[:, i] for i in range(d)}, "y": target(X)})
            pq.write_table(table, Path(place) / f"{number:03d}.parquet", compression="none", use_dictionary=False)
        size = sum(path.stat().st_size for path in Path(place).iterdir())
        command = [sys.executable, "-m", "benchmarks.cluster", "folder-fit", place, str(int(allowed))]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{files} files, {size / 1e9:.2f} GB on disk, {allowed / 1e9:.2f} GB allowed (RLIMIT_DATA)")
        print(child.stdout + child.stderr[-2000:])
        return child.returncode or int(size <= allowed)


def folder_fit(place: str, allowed: str) -> int:
    """The fit of `folder`, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(allowed), int(allowed)))
    begin = time.perf_counter()
    chunks = mercer.chunks(place, target="y", rows=50_000)
    model = mercer.KernelRidge(mercer.Gaussian(3.0), alpha=1.0, n_components=100).fit(chunks)
    print(f"{time.perf_counter() - begin:.1f} s, {model.route_}, peak {peak() / 1e9:.2f} GB resident")
    return 0


def made(number: int, rows: int, d: int) -> np.ndarray:
    """One block of rows, made on the worker."""
    return np.random.default_rng(number).random((rows, d))


def ridge(m: int) -> Any:
    """The model of the feature pass."""
    return mercer.KernelRidge(mercer.Gaussian(2.0), alpha=1.0, solver="fourier", n_components=m)


def alone(number: int, rows: int, d: int, m: int, times: int, together: Any, seconds: Any) -> None:
    """The work of some chunks in a process that has nothing to do with Dask, on one thread, when all processes are ready."""
    with one_thread():
        loaded(rows, d, m)
        X = made(number, rows, d)
        chunk = Chunk(0, "rows", X, target(X))
        problem = RidgeProblem(mercer.Gaussian(2.0), X, chunk.y, np.asarray(1.0), None, False, n_components=m)
        features = feature_map(problem, "fourier")
        chunk_sums(chunk, features, False, None)
        together.wait()
        begin = time.perf_counter()
        for _ in range(times):
            chunk_sums(chunk, features, False, None)
        seconds.put((time.perf_counter() - begin) / times)


def limit(rows: int, d: int, m: int, times: int = 6) -> float:
    """How many times the work of one process two of them do at once on this machine: no cluster here can do better."""
    context, found = multiprocessing.get_context("spawn"), []
    for count in (1, 2):
        together, seconds = context.Barrier(count), context.Queue()
        crew = [context.Process(target=alone, args=(i, rows, d, m, times, together, seconds)) for i in range(count)]
        for process in crew:
            process.start()
        found.append(count / max(seconds.get() for _ in crew))
        for process in crew:
            process.join()
    return float(found[1] / found[0])


def loaded(rows: int, d: int, m: int) -> None:
    """Load the compiled loops of a worker: those of the first chunk that it gets would be loaded while the clock runs."""
    X = made(0, rows, d)
    ridge(m).fit(X, target(X))


def one_fit(count: int, blocks: int, rows: int, d: int, m: int) -> float:
    """Return the seconds of the fit on `count` workers; print them beside the time of tasks and transfers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        # as many rows on every worker: by itself Dask put 14 blocks on one and 10 on the other, and one was idle at the end
        names = sorted(client.scheduler_info()["workers"])
        placed = [client.submit(made, i, rows, d, workers=[names[i % count]], pure=False) for i in range(blocks)]
        X = da.concatenate([da.from_delayed(part, (rows, d), dtype=float) for part in placed]).persist()
        y = X.map_blocks(target, drop_axis=1, dtype=float).persist()
        client.gather(client.compute([X.sum(), y.sum()]))  # they are there
        client.run(loaded, rows, d, m)
        model = ridge(m).fit(X[:rows], y[:rows])
        client.get_task_stream()
        begin = time.perf_counter()
        model.fit(X, y)
        spent = time.perf_counter() - begin
        steps = [step for task in client.get_task_stream(start=begin - time.perf_counter() + time.time())
                 for step in task["startstops"]]  # fmt: skip
        took = {"compute": 0.0, "transfer": 0.0}
        for step in steps:
            if step["action"] in took:
                took[step["action"]] += step["stop"] - step["start"]
    share = took["transfer"] / max(sum(took.values()), 1e-9)
    print(f"{count} worker(s): {spent:.2f} s, tasks {took['compute']:.2f} s, transfers {took['transfer']:.3f} s "
          f"({100 * share:.1f} % of both)", flush=True)  # fmt: skip
    return spent


def workers(blocks: int = 24, rows: int = 50_000, d: int = 20, m: int = 600) -> int:
    """The same fit on one worker and on two, one thread each, beside what two processes can do at best."""
    best = limit(rows, d, m)
    print(f"two processes without Dask do {best:.2f} times the work of one: the limit of this machine", flush=True)
    seconds = [one_fit(count, blocks, rows, d, m) for count in (1, 2)]
    print(f"{blocks} blocks of {rows:,} x {d}, {m} features: two workers against one {seconds[0] / seconds[1]:.2f} times")
    return int(seconds[0] / seconds[1] < 1.7)


if __name__ == "__main__":
    _, name, *given = sys.argv
    if name == "folder-fit":
        sys.exit(folder_fit(*given))
    sys.exit({"stream": stream, "folder": folder, "workers": workers}[name](*map(int, given)))
