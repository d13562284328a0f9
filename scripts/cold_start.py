"""Load a model file, predict one row, and print the seconds this took, imports included, and the resident megabytes.

python scripts/cold_start.py mercer FILE COLUMNS
python scripts/cold_start.py pickle FILE COLUMNS
"""

from __future__ import annotations

import sys
import time

started = time.perf_counter()

import numpy as np  # noqa: E402  (imports are on the clock)


def main(kind: str, path: str, columns: int) -> None:
    """Measure this process."""
    if kind == "mercer":
        import mercer

        model = mercer.load(path)
    else:
        import pickle

        with open(path, "rb") as file:
            model = pickle.load(file)
    model.predict(np.zeros((1, columns)))
    seconds = time.perf_counter() - started
    megabytes = 0.0
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="utf-8") as status:
            megabytes = int(status.read().split("VmRSS:")[1].split()[0]) / 1e3
    print(seconds, megabytes)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
