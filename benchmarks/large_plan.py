"""What `mercer.plan` says of large fits against what they take: peak memory beyond the data, and seconds.

Each configuration runs in a process of its own, after a rehearsal on few rows that loads the code. The last line says
whether peak <= 1.15 plan + CONSTANT and plan <= 1.3 peak + CONSTANT hold throughout. CONSTANT is what BLAS and the allocator
keep for themselves.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

CONSTANT = 200 * 2**20

#: (rows, columns, solver, components)
CONFIGURATIONS = [
    (n, d, solver, m)
    for n in (30_000, 120_000)
    for d, solver, m in (
        (8, "nystroem", 300), (8, "nystroem", 1000), (8, "nystroem", 2000), (8, "fourier", 300), (8, "fourier", 1000),
        (30, "fourier", 2000),
    )
]  # fmt: skip


def one(n: int, d: int, solver: str, m: int) -> None:
    """Print plan and reality of one configuration: bytes planned, bytes taken, seconds planned, seconds taken."""
    import mercer

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, 0])
    model = mercer.KernelRidge(mercer.Gaussian(d**0.5), alpha=1.0, solver=solver, n_components=m)
    model.set_params(n_components=100).fit(X[:3000], y[:3000])
    model.set_params(n_components=m)
    plan = mercer.plan(model, X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    print(plan.bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before, plan.seconds, seconds)


def main() -> int:
    """Run all configurations and return 1 if a bound is broken."""
    good = True
    for configuration in CONFIGURATIONS:
        arguments = [str(part) for part in configuration]
        command = [sys.executable, "-m", "benchmarks.large_plan", *arguments]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        plan, peak, promised, taken = map(float, printed[-4:])
        fits = peak <= 1.15 * plan + CONSTANT and plan <= 1.3 * peak + CONSTANT
        good &= fits
        print(
            f"{' '.join(arguments):28} plan {plan / 2**20:7.0f} MiB  peak {peak / 2**20:7.0f} MiB  "
            f"plan {promised:6.1f} s  took {taken:6.1f} s  {'ok' if fits else 'BROKEN'}",
            flush=True,
        )
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 5:
        one(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
