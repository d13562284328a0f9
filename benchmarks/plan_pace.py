"""Seconds that `mercer.plan` states in several processes, on a machine that is kept busy.

    python -m benchmarks.plan_pace [BUSY] [PROCESSES]

BUSY processes (4) compute without pause. Meanwhile PROCESSES new ones (8) plan the same fit, one after the other. The exit
code is 1 if the largest estimate exceeds twice the smallest.
"""

from __future__ import annotations

import subprocess
import sys

PLAN = "import numpy, mercer; print(mercer.plan(mercer.KernelRidge(), numpy.ones((3000, 10))).seconds)"
BUSY = "while True: sum(range(10_000))"


def main(words: list[str]) -> int:
    """Print the estimates and their ratio."""
    busy, count = [int(word) for word in words] + [4, 8][len(words) :]
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
    try:
        found = [
            float(subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, check=True).stdout)
            for _ in range(count)
        ]
    finally:
        for other in others:
            other.kill()
    ratio = max(found) / min(found)
    print(f"{busy} busy processes; seconds of one fit: " + ", ".join(f"{seconds:.3g}" for seconds in found))
    print(f"largest / smallest: {ratio:.2f}")
    return int(ratio > 2.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
