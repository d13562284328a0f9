"""One contestant of a large row in a process of its own: seconds, peak resident memory and quality, as one line."""

from __future__ import annotations

import json
import os
import resource
import sys
import time

from benchmarks.rows import load_rows


def main(name: str, contestant: str, form: str = "") -> None:
    """Run a contestant once on the data of its row and print what it took; `--json` as data."""
    row = next(row for row in load_rows() if row.name == name)
    data, who = row.data(), row.contestant(contestant)
    if data[0].shape[1] > 3:  # few rows on a fine grid of frequencies take longer than many
        who.run(tuple(part[:3000] for part in data))  # loads the code of either library
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = who.run(data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    quality = row.quality(data, result) if row.quality is not None else {}
    if form == "--json":
        print(json.dumps({"seconds": seconds, "bytes": 1024.0 * peak, "before": 1024.0 * before, **quality}))
        return
    facts = [f"{key} {value:.4g}" for key, value in quality.items()]
    memory = f"peak {peak / 2**20:.2f} GiB ({before / 2**20:.2f} before)"
    print(" | ".join([name, contestant, f"{seconds:.1f} s", memory, *facts, f"load {os.getloadavg()[0]:.1f}"]))


if __name__ == "__main__":
    main(*sys.argv[1:4])
