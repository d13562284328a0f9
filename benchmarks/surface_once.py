"""The row `ridge-surface-n2000`, each contestant once after a small warm-up: minutes instead of a quarter of an hour.

python -m benchmarks.surface_once
"""

from __future__ import annotations

import time

from benchmarks.rows.ridge import error, surface


def main() -> None:
    """Warm every contestant on 200 rows, then time each once on the whole job."""
    small, row = surface(200, 6, 2), surface()
    data = small.data()
    for run in (small.mercer, *[peer.run for peer in small.peers]):
        run(data)
    data = row.data()
    row.mercer(data)  # what is compiled once is not on the clock
    start = time.perf_counter()
    predicted = row.mercer(data)
    ours = time.perf_counter() - start
    quality = error(data, predicted)["test RMSE"]
    print(f"mercer: {ours:.2f} s, test RMSE {quality:.4f}", flush=True)
    for peer in reversed(row.peers):
        start = time.perf_counter()
        predicted = peer.run(data)
        seconds = time.perf_counter() - start
        theirs = error(data, predicted)["test RMSE"]
        print(f"{peer.name}: {seconds:.1f} s, ratio {seconds / ours:.1f}, test RMSE {theirs:.4f}", flush=True)


if __name__ == "__main__":
    main()
