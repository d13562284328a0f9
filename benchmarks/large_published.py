"""Published errors of large kernel ridge regression beside what mercer measured: `python -m benchmarks.large_published`.

Only sets that are here and are the same as the published ones have a line. `reg_flights` has none: the published runs use
another year, other columns and six times as many rows. Published seconds come from other machines and cannot be compared.
Measured numbers are those of `benchmarks.large_table`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from benchmarks.large_table import STORE


@dataclass(frozen=True)
class Published:
    """One published fit: how it was made, its test error in percent, its seconds and where."""

    source: str
    protocol: str
    error: float
    seconds: float
    machine: str


#: Run of `benchmarks.large_table` -> published fits of the same 60,000 training and 10,000 test digits, with nearly as many
#: centers. All were read in the sources named.
PUBLISHED: dict[str, tuple[Published, ...]] = {
    "race|mnist-1000-nystroem|mercer|0": (
        Published("Falkon, documentation", "Gaussian, 1,000 centers, ten steps", 4.13, 5.4, "CPU of a laptop"),
    ),
    "race|mnist-many-landmarks|mercer|0": (
        Published("EigenPro 2, README", "Gaussian(5), all 60,000 centers, first epoch", 1.53, 1.7, "GPU"),
        Published("EigenPro 2, README", "Gaussian(5), all 60,000 centers, fourth epoch", 1.23, 6.2, "GPU"),
    ),
}

#: How mercer's runs were made.
OURS = {
    "race|mnist-1000-nystroem|mercer|0": "Gaussian(5), alpha 0.1, 1,000 landmarks",
    "race|mnist-many-landmarks|mercer|0": "Gaussian(5), alpha 0.01, 15,000 landmarks",
}


def table(store: dict[str, Any]) -> str:
    """Rows of both, mercer's after those it stands beside."""
    lines = ["| fit of MNIST | test error | seconds | machine |", "|---|---|---|---|"]
    for task, entries in PUBLISHED.items():
        lines += [f"| {e.source}: {e.protocol} | {e.error:.2f} % | {e.seconds:g} | {e.machine} |" for e in entries]
        found = store.get(task)
        if found is None or "failed" in found:
            lines.append(f"| mercer: {OURS[task]} | not measured | | |")
        else:
            error, seconds = 100 * found["test error"], found["seconds"]
            lines.append(f"| mercer: {OURS[task]} | {error:.2f} % | {seconds:.1f} | two cores |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(STORE.read_text()) if STORE.exists() else {}))
