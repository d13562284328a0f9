"""A ridge on features over 10, 100 and 1000 workers: a small discrete model fed with task times and bytes measured here.

One fit is: the shared features go to every worker, tasks of one chunk each, sums of eight chunks and of eight such sums
on the workers, what is left to the client, and one m x m solve there. Every task is an event on the worker that is free
first; a message takes its bytes over the bandwidth plus a latency, and the client receives one message at a time. The
model leaves out the scheduler's own time per task beyond a constant, stragglers, and disks.

    python -m benchmarks.cluster_model
"""

from __future__ import annotations

import heapq
import pickle
import time
from dataclasses import dataclass

import numpy as np

import mercer
from mercer.estimators.ridge.large import feature_map, row_sums
from mercer.estimators.ridge.problem import RidgeProblem
from mercer.grams.chunks.tasks import GROUP, total_of
from mercer.linalg.ridge.primal import NormalEquations, solve_primal
from mercer.numeric.threads import one_thread

#: Assumptions about the network and Dask, not measured: 10 Gbit/s, half a millisecond, a millisecond per task.
BANDWIDTH, LATENCY, OVERHEAD = 1.25e9, 5e-4, 1e-3


@dataclass(frozen=True)
class Measured:
    """Seconds of the tasks on one thread, and bytes of the messages, for m features."""

    m: int
    chunk: float  # the sums of one chunk
    add: float  # one sum of two partial results
    solve: float  # the m x m solve on the client
    shared: int  # bytes that every worker needs
    part: int  # bytes of a partial result


def measure(m: int, rows: int = 20_000, d: int = 20) -> Measured:
    """Time the tasks of a fit with m landmarks here, on one thread."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, d))
    y = np.sin(3.0 * X[:, 0])
    problem = RidgeProblem(mercer.Gaussian(1.0), X, y, np.asarray(1.0), None, False, n_components=m)
    with one_thread():
        features = feature_map(problem, "fourier" if m > 2000 else "nystroem")
        row_sums(X[:500], y[:500], None, features, False, None)
        start = time.perf_counter()
        total = row_sums(X, y, None, features, False, None)
        chunk = time.perf_counter() - start
        start = time.perf_counter()
        total_of([(total,)] * GROUP)
        add = (time.perf_counter() - start) / GROUP
    sums = NormalEquations(total[:m, :m], total[:m, m:-1], total[:m, -1], total[m:-1, -1], rows, np.zeros(m), False, ())
    start = time.perf_counter()
    solve_primal(sums, 1.0)
    return Measured(m, chunk, add, time.perf_counter() - start, len(pickle.dumps(features)), total.nbytes)


def simulate(found: Measured, workers: int, chunks: int) -> tuple[float, float]:
    """The seconds of one fit, and those of them in the solve."""
    message = found.part / BANDWIDTH + LATENCY
    ready = (found.shared / BANDWIDTH + LATENCY) * np.ceil(np.log2(workers + 1))  # workers pass it on to each other
    free = [(float(ready), worker) for worker in range(workers)]
    heapq.heapify(free)

    def run(earliest: float, seconds: float) -> float:
        at, worker = heapq.heappop(free)
        end = max(at, earliest) + OVERHEAD + seconds
        heapq.heappush(free, (end, worker))
        return end

    ends = [run(0.0, found.chunk) for _ in range(chunks)]
    for _ in range(2):  # groups, waves: the parts travel to the worker that adds them up
        groups = [ends[i : i + GROUP] for i in range(0, len(ends), GROUP)]
        ends = [run(max(group), (len(group) - 1) * message + len(group) * found.add) for group in groups]
    client = 0.0
    for end in ends:
        client = max(client, end) + message + found.add
    return client + found.solve, found.solve


def main() -> None:
    """Print seconds, speed-up and the share of the solve, and where the solve takes half of the fit."""
    chunks = 8192
    print(f"{chunks} chunks of 20,000 x 20 rows; assumed: 10 Gbit/s, {1e3 * LATENCY} ms, {1e3 * OVERHEAD} ms per task")
    for m in (250, 500, 1000, 2000):
        found = measure(m)
        alone = chunks * (found.chunk + found.add) + found.solve
        print(f"m = {m}: chunk {found.chunk:.3f} s, add {1e3 * found.add:.2f} ms, solve {found.solve:.3f} s, "
              f"shared {found.shared / 1e6:.1f} MB, part {found.part / 1e6:.1f} MB; one worker {alone:.0f} s")  # fmt: skip
        for workers in (10, 100, 1000):
            seconds, solve = simulate(found, workers, chunks)
            share = 100 * solve / seconds
            print(f"  {workers:5d} workers: {seconds:8.2f} s, {alone / seconds:6.1f} times, solve {share:.0f} %")
        counts = [2**k for k in range(1, 17)]
        half = next((w for w in counts if 2 * found.solve >= simulate(found, w, max(chunks, w))[0]), None)
        where = f"from {half} workers on" if half else f"with no number of workers up to {counts[-1]}"
        print(f"  the solve takes half of the fit {where}")


if __name__ == "__main__":
    main()
