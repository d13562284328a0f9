"""What `mercer.plan` says of large fits against what they take: peak memory beyond the data, and seconds.

Each configuration runs in a process of its own, after a rehearsal on few rows that loads the code. The last line says
whether peak <= 1.15 plan + CONSTANT and plan <= 1.3 peak + CONSTANT hold throughout, and in how many the time is within a
factor of two. CONSTANT is what BLAS and the allocator keep for themselves.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.peak import Meter

CONSTANT = 64 * 2**20

#: (rows, columns, model, components)
CONFIGURATIONS = [
    (30_000, 8, "nystroem", 300), (30_000, 8, "nystroem", 2000), (120_000, 8, "nystroem", 1000),
    (120_000, 30, "nystroem", 2000), (30_000, 8, "fourier", 1000), (120_000, 30, "fourier", 2000),
    (300_000, 2, "fourier", 0), (300_000, 1, "fourier", 0), (30_000, 8, "nystroem-cg", 3000),
    (60_000, 8, "nystroem-cg", 5000), (20_000, 8, "cg", 500), (30_000, 8, "svc", 500), (120_000, 8, "svc", 300),
    (30_000, 4, "cv", 500), (30_000, 8, "classifier", 1000), (100_000, 1, "process", 0),
]  # fmt: skip


def model_of(kind: str, d: int, m: int) -> Any:
    """An estimator that takes one large route."""
    import mercer

    kernel = mercer.Gaussian(0.3 if d <= 2 else d**0.5)
    if kind == "svc":
        return mercer.SVC(kernel, solver="nystroem", n_components=m)
    if kind == "cv":
        return mercer.KernelRidgeCV(
            kernel, alphas=[0.1, 1.0, 10.0], length_scales=[1.0, 2.0], solver="nystroem", n_components=m
        )
    if kind == "classifier":
        return mercer.KernelRidgeClassifier(kernel, solver="nystroem", n_components=m)
    if kind == "process":
        return mercer.GaussianProcessRegressor(kernel, solver="fourier", n_restarts=0)
    return mercer.KernelRidge(kernel, alpha=1.0, solver=kind, n_components=m or None)


def one(n: int, d: int, kind: str, m: int) -> None:
    """Print plan and reality of one configuration: bytes planned, bytes taken, seconds planned, seconds taken."""
    import mercer

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y: Any = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    if kind in ("svc", "classifier"):
        y = np.digitize(y, [0.0] if kind == "svc" else [-0.5, 0.5])
    warnings.simplefilter("ignore")
    model_of(kind, d, min(m, 600)).fit(X[:6000], y[:6000])
    model = model_of(kind, d, m)
    plan, meter = mercer.plan(model, X, y), Meter()
    meter.start()
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    print(plan.bytes, meter.beyond(), plan.seconds, seconds)


def main() -> int:
    """Run all configurations and return 1 if a bound is broken."""
    good, timely = True, 0
    for configuration in CONFIGURATIONS:
        arguments = [str(part) for part in configuration]
        command = [sys.executable, "-m", "benchmarks.large_plan", *arguments]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        plan, peak, promised, taken = map(float, printed[-4:])
        fits = peak <= 1.15 * plan + CONSTANT and plan <= 1.3 * peak + CONSTANT
        good &= fits
        timely += 0.5 <= promised / taken <= 2.0
        print(
            f"{' '.join(arguments):28} plan {plan / 2**20:7.0f} MiB  peak {peak / 2**20:7.0f} MiB  "
            f"plan {promised:6.2f} s  took {taken:6.2f} s  {'ok' if fits else 'BROKEN'}",
            flush=True,
        )
    print(f"{'PASS' if good else 'FAIL'} memory; time within a factor of two in {timely} of {len(CONFIGURATIONS)}")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 5:
        one(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
