"""The row `svm-grid-covtype`, each contestant once after a small warm-up: half the time of the row.

python -m benchmarks.svm_grid_once
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows.svm import grid


def main() -> None:
    """Warm both contestants on 300 rows, then time each once on the whole job."""
    small, row = grid(300, np.array([1.0, 10.0]), np.array([0.5, 1.0])), grid()
    for run in (small.mercer, *[peer.run for peer in small.peers]):
        run(small.data())
    data = row.data()
    start = time.perf_counter()
    ours = row.mercer(data)
    seconds = time.perf_counter() - start
    print(f"mercer: {seconds:.2f} s, best accuracy {ours.max():.4f}", flush=True)
    for peer in row.peers:
        start = time.perf_counter()
        theirs = peer.run(data)
        spent = time.perf_counter() - start
        differ = float(np.abs(ours - theirs).max())
        print(
            f"{peer.name}: {spent:.1f} s, ratio {spent / seconds:.1f}, best accuracy {theirs.max():.4f}, "
            f"largest difference of a mean accuracy {differ:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
