"""One contestant of a large row in a process of its own: seconds, peak resident memory and quality, as one line."""

from __future__ import annotations

import os
import resource
import sys
import time

from benchmarks.rows import load_rows


def main(name: str, contestant: str) -> None:
    """Run a contestant once on the data of its row and print what it took."""
    row = next(row for row in load_rows() if row.name == name)
    data = row.data()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = row.contestant(contestant).run(data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    quality = row.quality(data, result) if row.quality is not None else {}
    facts = [f"{key} {value:.4g}" for key, value in quality.items()]
    memory = f"peak {peak / 2**20:.2f} GiB ({before / 2**20:.2f} before)"
    print(" | ".join([name, contestant, f"{seconds:.1f} s", memory, *facts, f"load {os.getloadavg()[0]:.1f}"]))


if __name__ == "__main__":
    main(*sys.argv[1:3])
