"""Two promises about memory: 5,000,000 x 20 rows under 2 GB resident in all, and 100,000 rows under memory="2 GB"."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np

LIMIT = 2e9


def generated(n: int, d: int, m: int) -> None:
    """Fit generated float32 rows on landmarks; the peak counts the data, the code and everything else."""
    import mercer

    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n, dtype=np.float32)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mercer.KernelRidge(mercer.Gaussian(2.0), alpha=1.0, n_components=m, memory="2 GB").fit(X, y)
    seconds = time.perf_counter() - start
    new = rng.random((10_000, d), dtype=np.float32)
    error = float(np.sqrt(np.mean((model.predict(new) - np.sin(3.0 * new[:, 0]) - new[:, 1] * new[:, 2]) ** 2)))
    print(model.route_.solver, seconds, error, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> int:
    """Run both and return 1 if one takes more."""
    good = True
    for n, d, m in ((5_000_000, 20, 200), (100_000, 20, 1000)):
        command = [sys.executable, "-m", "benchmarks.large_memory", str(n), str(d), str(m)]
        solver, seconds, error, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[
            -4:
        ]
        kept = float(peak) < LIMIT
        good &= kept
        print(
            f"{'PASS' if kept else 'FAIL'}: {n} x {d} by {solver} with {m} landmarks: {float(peak) / 1e9:.2f} GB in all, "
            f"{float(seconds):.0f} s, error {float(error):.3f} of the function (its standard deviation is about 0.6)",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 4:
        generated(*[int(part) for part in sys.argv[1:]])
    else:
        sys.exit(main())
