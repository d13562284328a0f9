"""Run length, detection delay and memory of `DriftMonitor`, with seeds fixed beforehand.

    python -m benchmarks.drift run-length     # 1,000 runs with a new reference each, on four distributions
    python -m benchmarks.drift delay          # rows until a shift by one standard deviation is found, beside a windowed MMD
    python -m benchmarks.drift memory         # a million rows: peak memory in the first and in the last tenth

Each prints a table and ends with exit code 1 if its rule does not hold: run lengths within 10 % of the wanted one (the
rule of the mean, not of its standard error), a delay of at most 1.25 times that of the best single window, memory that
does not grow.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mercer import DriftMonitor

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

RUNS, RUN_LENGTH, REFERENCE = 1000, 200, 1000
DELAYS, DELAY_RUN_LENGTH, BEFORE = 200, 1000, 256
WINDOWS = (16, 64, 256)

DISTRIBUTIONS: dict[str, Draw] = {
    "normal, 5 columns": lambda rng, n: rng.normal(size=(n, 5)),
    "Student t with 2 degrees, 2 columns": lambda rng, n: rng.standard_t(2, size=(n, 2)),
    "exponential, 3 columns": lambda rng, n: rng.exponential(size=(n, 3)),
    "four levels, 3 columns": lambda rng, n: rng.integers(0, 4, size=(n, 3)).astype(float),
}


def _run(monitor: DriftMonitor, draw: Draw, rng: np.random.Generator, batch: int) -> int:
    """Return the number of rows until an alarm."""
    while not monitor.update(draw(rng, batch)):
        if monitor.rows_ >= 100 * RUN_LENGTH:
            return int(monitor.rows_)
    return int(monitor.alarm_row_ or 0)


def run_length(runs: int) -> bool:
    """Mean run length without a drift, a new reference in every run; batches of 1 to 100 rows."""
    print(f"wanted {RUN_LENGTH}; {runs} runs each, references of {REFERENCE} rows, batches of 1 to 100 rows\n")
    print(f"{'distribution':<38}  mean run length  standard error")
    held = True
    for number, (name, draw) in enumerate(DISTRIBUTIONS.items()):
        lengths = []
        for seed in range(runs):
            rng = np.random.default_rng([number, seed])
            monitor = DriftMonitor(run_length=RUN_LENGTH, random_state=seed).fit(draw(rng, REFERENCE))
            lengths.append(_run(monitor, draw, rng, int(rng.integers(1, 101))))
        mean = float(np.mean(lengths))
        held &= abs(mean / RUN_LENGTH - 1.0) <= 0.1
        print(f"{name:<38}  {mean:15.1f}  {np.std(lengths) / np.sqrt(runs):14.1f}", flush=True)
    return held


class WindowedMMD:
    """The squared distance of the mean features of the last w rows from the reference, after every row.

    The threshold comes from runs on a second sample of the same distribution, which the monitor does not need.
    """

    def __init__(self, X: Floats, fresh: Draw, window: int, run_length: int, seed: int) -> None:
        from mercer import Gaussian, RandomFourierFeatures

        kernel = Gaussian("median").resolve(X)
        self.features = RandomFourierFeatures(kernel, n_components=256, random_state=seed).fit(X)
        self.mean, self.window = self.features.transform(X).mean(axis=0), window
        rng = np.random.default_rng([seed, 1])
        values = self.distances(fresh(rng, 100 * run_length))
        low, high = float(values.min()), float(values.max())
        for _ in range(40):  # mean distance between first exceedances of a long run, each run starting anew
            middle = 0.5 * (low + high)
            low, high = (middle, high) if _mean_run(values, middle, window) < run_length else (low, middle)
        self.threshold = high

    def distances(self, X: Floats) -> Floats:  # (n, d) -> (n - w + 1,)
        """Return the squared distance of every window."""
        Z = self.features.transform(X) - self.mean
        sums = np.concatenate([np.zeros((1, Z.shape[1])), np.cumsum(Z, axis=0)])
        means = (sums[self.window :] - sums[: -self.window]) / self.window
        return np.asarray(np.einsum("ij,ij->i", means, means))


def _mean_run(values: Floats, threshold: float, window: int) -> float:
    above = np.flatnonzero(values > threshold)
    runs, start = 0, 0
    while True:
        later = above[np.searchsorted(above, start) :]
        if len(later) == 0:
            return (start + runs * (window - 1)) / runs if runs else float("inf")
        runs, start = runs + 1, int(later[0]) + window


def delay(runs: int) -> bool:
    """Rows from a shift of one column by one standard deviation until the alarm; alarms before the shift are left out."""
    print(f"run length {DELAY_RUN_LENGTH}; {runs} runs; the shift begins after {BEFORE} rows\n")
    print(f"{'columns':>7}  {'DriftMonitor':>13}" + "".join(f"  {f'MMD, last {w}':>13}" for w in WINDOWS))
    held = True
    for d in (1, 5, 20):

        def draw(rng: np.random.Generator, n: int, d: int = d) -> Floats:
            return rng.normal(size=(n, d))

        reference = draw(np.random.default_rng([d, 0]), 2000)
        monitor = DriftMonitor(run_length=DELAY_RUN_LENGTH).fit(reference)
        peers = [WindowedMMD(reference, draw, w, DELAY_RUN_LENGTH, d) for w in WINDOWS]
        found: list[list[int]] = [[] for _ in range(1 + len(WINDOWS))]
        for seed in range(runs):
            rng = np.random.default_rng([d, seed, 2])
            X = draw(rng, BEFORE + 2000)
            X[BEFORE:, 0] += 1.0
            monitor.reset().update(X)
            if monitor.alarm_row_ is not None and monitor.alarm_row_ > BEFORE:
                found[0].append(monitor.alarm_row_ - BEFORE)
            for place, peer in enumerate(peers):
                above = np.flatnonzero(peer.distances(X) > peer.threshold)
                first = int(above[0]) + peer.window if len(above) else len(X)
                if first > BEFORE:
                    found[1 + place].append(first - BEFORE)
        means = [float(np.mean(one)) for one in found]
        held &= means[0] <= 1.25 * min(means[1:])
        print(f"{d:7d}  {means[0]:13.1f}" + "".join(f"  {mean:13.1f}" for mean in means[1:]), flush=True)
    return held


def memory() -> bool:
    """Peak of traced memory in the first and in the last tenth of a million rows, in batches of 1,000."""
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(run_length=10_000).fit(rng.normal(size=(1000, 5)))
    peaks = []
    tracemalloc.start()
    for _ in range(10):
        tracemalloc.reset_peak()
        for _ in range(100):
            if monitor.alarm_:
                monitor.reset()
            monitor.update(rng.normal(size=(1000, 5)))
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    print(f"peak {peaks[0] / 2**20:.2f} MB in the first 100,000 rows, {peaks[-1] / 2**20:.2f} MB in the last of 1,000,000")
    return peaks[-1] <= 1.05 * peaks[0]


def main() -> int:
    """Run one of the three checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run-length", "delay", "memory"))
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "run-length":
        held = run_length(given.runs or RUNS)
    else:
        held = delay(given.runs or DELAYS) if given.what == "delay" else memory()
    print("\nholds" if held else "\ndoes not hold")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
