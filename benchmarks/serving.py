"""What it takes to serve a model: latency of one row beside scikit-learn, cold start, memory, equal answers in threads.

    python -m benchmarks.serving

Latency: fitted models of scikit-learn and the same models read in by `mercer.from_sklearn`, with equal support vectors; the
fastest and the median of 500 calls with one row, in turns. Cold start: a new process that imports mercer, loads a model
file and predicts one row; its seconds and resident memory at the end, beside a process that unpickles scikit-learn's model.
The exit code is 1 if a median is more than twice scikit-learn's or threads disagree.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

CALLS, LIMIT = 500, 2.0

COLD = Path(__file__).resolve().parents[1] / "scripts" / "cold_start.py"


def models() -> dict[str, Any]:
    """Fitted models of scikit-learn on 1,000 rows of 10 columns."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.svm import SVC, SVR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = X[:, 0] + 0.3 * rng.normal(size=1000)
    return {
        "SVC": SVC(gamma=0.1).fit(X, y > 0),
        "SVR": SVR(gamma=0.1).fit(X, y),
        "KernelRidge": KernelRidge(kernel="rbf", gamma=0.1).fit(X, y),
        "GaussianProcessRegressor": GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None).fit(X, y),
    }


def latencies(*predicts: Any) -> list[tuple[float, float]]:
    """Return the least and the median of microseconds of each function with one row, called in turns."""
    row = np.zeros((1, 10))
    taken: list[list[float]] = [[] for _ in predicts]
    for _ in range(CALLS):
        for predict, times in zip(predicts, taken, strict=True):
            started = time.perf_counter()
            predict(row)
            times.append(1e6 * (time.perf_counter() - started))
    return [(min(times), float(np.median(times))) for times in taken]


def cold(kind: str, path: Path) -> str:
    """Return seconds and megabytes of a new process that loads and predicts, the fastest of three."""
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, COLD, kind, path, "10"], capture_output=True, text=True, check=True)
        found.append(tuple(float(word) for word in done.stdout.split()))
    seconds, megabytes = min(found)
    return f"{seconds:.2f} s, {megabytes:.0f} MB"


def main() -> int:
    """Print the measurements."""
    import mercer

    good = True
    new = np.random.default_rng(1).normal(size=(64, 10))
    with tempfile.TemporaryDirectory() as folder:
        for name, theirs in models().items():
            ours = mercer.from_sklearn(theirs)
            (low, median), (own_low, own) = latencies(theirs.predict, ours.predict)
            good &= own <= LIMIT * median
            print(f"{name}: one row {own:.0f} us (fastest {own_low:.0f}), scikit-learn {median:.0f} us ({low:.0f})")
            alone = ours.predict(new)
            with ThreadPoolExecutor(8) as pool:
                good &= all(np.array_equal(found, alone) for found in pool.map(ours.predict, [new] * 64))
        path, pickled = Path(folder, "m.mercer"), Path(folder, "m.pkl")
        machine = models()["SVR"]
        mercer.save(mercer.from_sklearn(machine), path)
        pickled.write_bytes(pickle.dumps(machine))
        print(f"cold start of SVR: mercer {cold('mercer', path)}; scikit-learn {cold('pickle', pickled)}")
    print("one row within twice scikit-learn's, equal answers in 8 threads" if good else "NOT REACHED: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
