"""What a drift monitor compares new rows with: features of the reference, and the threshold of a wanted run length.

Rows become features z in which reference rows have a covariance between that of the kernel and the identity: coordinates on
principal components, divided by sqrt(l_i + l_1). A quarter of the reference sets the features; the others are the sample
that new rows are compared with, therefore the features fit them no better than they fit new rows.

The threshold comes from simulated runs: a stream drawn from the sample, until the largest standardized distance of a window
from a reference mean exceeds the threshold. Each run has a reference mean of its own, drawn from the normal distribution of
the mean of as many rows as the reference has. This puts the error of the reference into the simulation; without it runs
would be too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.grams.low_rank import LandmarkFeatures, landmark_features
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.numeric.threads import Progress, cpu_count, one_blas_thread, run
from mercer.registry import record

#: Landmarks, and directions of features.
LANDMARKS, DIRECTIONS = 128, 32

#: Share of the reference that sets the features, and the largest number of rows for it.
FEATURE_SHARE, FEATURE_ROWS = 0.25, 1000

#: Rows of the smallest blocks; the smallest window is two blocks.
BASE = 4

#: Simulated runs: as many as fit this number of rows, within these limits.
SIMULATED_ROWS, FEWEST_RUNS, MOST_RUNS = 20_000_000, 200, 1000

#: Short runs that find the range of the threshold.
PILOT_RUNS = 64

#: Records of a run: times at which the largest distance grew.
MOST_RECORDS = 256

#: A run without an alarm ends after this many wanted run lengths.
LONGEST = 100


@record()
@dataclass(frozen=True)
class DriftReference:
    """Features, their distribution in the reference, and the threshold."""

    _stored: ClassVar[dict[str, str]] = {
        "features": "a LandmarkFeatures",
        "center": "float (m,)",
        "directions": "float (m, r)",
        "mean": "float (r,)",
        "n": "int > 0",
        "scale": "float",
        "freedom": "float",
        "levels": "int > 0",
        "threshold": "real",
    }

    features: LandmarkFeatures
    center: Floats  # (m,)
    directions: Floats  # (m, r)
    mean: Floats  # (r,) of the reference sample
    n: int  # rows of the reference sample
    scale: float  # trace of the covariance of features
    freedom: float  # degrees of freedom of a chi^2 with the same mean and variance as a squared distance
    levels: int  # of dyadic blocks
    threshold: float

    def __call__(self, X: Any) -> Floats:  # -> (n, r)
        """Return the features of rows."""
        return np.ascontiguousarray((self.features(X) - self.center) @ self.directions)

    def empty(self) -> tuple[Floats, Any]:
        """Return sums and counts of windows before the first row."""
        return np.zeros((1 + 3 * self.levels, len(self.mean))), np.zeros(1 + self.levels, np.int64)

    def follow(self, Z: Floats, sums: Floats, counts: Any) -> tuple[int, float, int]:
        """Enter features of rows until an alarm; return the rows entered, the largest distance, and its window."""
        from mercer.changes._compiled_drift import follow

        entered, distance, window = follow(
            Z, sums, counts, BASE, self.mean, self.n, self.scale, self.freedom, self.threshold
        )
        return int(entered), float(distance), int(window)

    def _check_loaded(self) -> None:
        if len(self.center) != self.features.n_components or not (self.scale > 0 and self.freedom > 0 and self.levels <= 40):
            raise InputError("DriftReference: features and their scale do not fit together; the file was changed.")


def reference_of(
    kernel: Kernel, X: Any, run_length: int, rng: np.random.Generator, progress: Progress | None = None
) -> DriftReference:
    """Return the features and the threshold for a reference."""
    with one_blas_thread():  # matrices have at most 128 rows or columns
        return _reference(kernel, X, run_length, rng, progress)


def _reference(
    kernel: Kernel, X: Any, run_length: int, rng: np.random.Generator, progress: Progress | None
) -> DriftReference:
    n = count(X)
    order = rng.permutation(n)
    first = int(min(FEATURE_ROWS, max(2, round(FEATURE_SHARE * n))))
    rows = take(X, np.sort(order[:first]))
    features, _ = landmark_features(kernel, rows, min(LANDMARKS, first), rng)
    center, directions = _directions(features(rows))
    empty = np.zeros(directions.shape[1])
    found = DriftReference(features, center, directions, empty, n - first, 1.0, 1.0, 1, np.inf)
    Z = found(take(X, np.sort(order[first:])))
    covariance = np.atleast_2d(np.cov(Z.T, ddof=0))
    trace, squares = float(np.trace(covariance)), float(np.square(covariance).sum())
    levels = max(1, int(np.log2(max(2, len(Z) // BASE))) - 1)
    constant = trace <= 1e-12 * max(1.0, float(np.square(Z).mean()))
    found = replace(
        found, mean=Z.mean(axis=0), levels=levels, scale=1e-12 if constant else trace,
        freedom=1.0 if constant else trace**2 / squares,
    )  # fmt: skip
    # rows of one value only: every other value is an alarm
    return replace(found, threshold=0.0 if constant else _threshold(found, Z, run_length, rng, progress))


def _directions(features: Floats) -> tuple[Floats, Floats]:  # (n, m) -> (m,), (m, r)
    """Return the mean of features and principal directions divided by sqrt(l_i + l_1)."""
    center = features.mean(axis=0)
    covariance = (features - center).T @ (features - center) / len(features)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1][:DIRECTIONS], vectors[:, ::-1][:, :DIRECTIONS]
    if values[0] <= 0:
        return center, vectors
    kept = values > 1e-10 * values[0]
    return center, vectors[:, kept] / np.sqrt(values[kept] + values[0])


class Runs:
    """Simulated runs: for each, the rows at which the largest distance grew and its new values."""

    def __init__(
        self, found: DriftReference, Z: Floats, means: Floats, seeds: Any, cap: float, most: int, progress: Any
    ) -> None:
        from mercer.changes._compiled_drift import simulated_run

        self.times = np.zeros((len(seeds), MOST_RECORDS), np.int64)
        self.values = np.full((len(seeds), MOST_RECORDS), np.inf)
        self.most = most

        def work(number: int, _: int) -> None:
            times, values = self.times[number], self.values[number]
            known = simulated_run(
                Z, means[number], seeds[number], BASE, found.levels, found.scale, found.freedom, cap, most, times, values
            )
            times[known:], values[known:] = most, np.inf

        run(range(len(seeds)), work, cpu_count(), len(seeds), progress)

    def largest(self) -> Floats:
        """Return the largest distance of each run."""
        return np.where(np.isfinite(self.values), self.values, -np.inf).max(axis=1)

    def mean(self, threshold: float) -> float:
        """Return the mean number of rows until the distance exceeds a threshold."""
        first = (self.values > threshold).argmax(axis=1)
        return float(self.times[np.arange(len(first)), first].mean())


def _threshold(found: DriftReference, Z: Floats, run_length: int, rng: np.random.Generator, progress: Any) -> float:
    """Return the threshold at which simulated runs have the wanted mean length."""
    count_of_runs = int(np.clip(SIMULATED_ROWS // run_length, FEWEST_RUNS, MOST_RUNS))
    seeds = rng.integers(0, 2**63, size=PILOT_RUNS + count_of_runs, dtype=np.uint64)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(Z.T, ddof=0)) / len(Z))  # covariance of the mean
    means = found.mean + rng.normal(size=(len(seeds), len(values))) @ (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    pilot = Runs(found, Z, means[:PILOT_RUNS], seeds[:PILOT_RUNS], np.inf, max(run_length, 4 * BASE), None).largest()
    low = float(pilot.min()) - 1.0
    cap = float(np.quantile(pilot, 0.37)) + 0.2  # e^-1 of runs are longer than the mean
    while True:
        runs = Runs(found, Z, means[PILOT_RUNS:], seeds[PILOT_RUNS:], cap, LONGEST * run_length, progress)
        if runs.mean(cap) >= run_length or cap > low + 60.0:
            break
        cap += 0.2
    high = cap
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if runs.mean(middle) < run_length else (low, middle)
    return high
