"""Geometric means over the rows of support vector machines, from the results on file.

    python -m benchmarks.svm_means

The rows are run by `make bench ROW='svc-*'` and `make bench-long ROW='svc-*'`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import results
from benchmarks.rows.svm import SETTINGS

#: (kind of row, peer, least geometric mean, least single ratio)
BOUNDS = (
    ("fit", "scikit-learn", 4.0, 1.0),
    ("fit", "sklearnex", 2.5, 1.0),
    ("predict", "scikit-learn", 10.0, 10.0),
    ("predict", "sklearnex", 1.0, 1.0),
)


def ratios(found: dict[str, Any], kind: str, peer: str) -> dict[str, float]:
    """Peer time over mercer's time of every set that was run and whose predictions agree."""
    kept = {}
    for name in SETTINGS:
        row = found["rows"].get(f"svc-{kind}-{name}", {"peers": []})
        for one in row["peers"]:
            if one["name"] == peer and "ratio" in one and one.get("agrees", True):
                kept[name] = float(one["ratio"])
    return kept


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm.

    >>> round(geometric_mean([1.0, 4.0]), 12)
    2.0
    """
    return math.exp(sum(math.log(value) for value in values) / len(values))


def verdict(found: dict[str, Any], kind: str, peer: str, mean: float, each: float) -> tuple[bool, str]:
    """PASS, FAIL or OPEN with the numbers, on one line."""
    kept = ratios(found, kind, peer)
    shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in kept.items())
    if len(kept) < len(SETTINGS):
        missing = ", ".join(name for name in SETTINGS if name not in kept)
        return False, f"OPEN: {kind} against {peer}: {shown or 'nothing'}; missing or different: {missing}"
    total = geometric_mean(list(kept.values()))
    good = total >= mean and min(kept.values()) >= each
    text = f"{kind} against {peer}: geometric mean {total:.2f} (at least {mean:g}), each at least {each:g}: {shown}"
    return good, f"{'PASS' if good else 'FAIL'}: {text}"


def main() -> int:
    """Print one line per bound; 0 if all are kept."""
    found = results.load("svm")
    told = [verdict(found, *bound) for bound in BOUNDS]
    for _, line in told:
        print(line)
    return 0 if all(good for good, _ in told) else 1


if __name__ == "__main__":
    sys.exit(main())
