"""Seconds that a report adds to a fit, on tables of several sizes: python -m benchmarks.report_time [ROWS ...]"""

from __future__ import annotations

import sys
import time

import numpy as np

from mercer.inputs.tables import Table
from mercer.report.document.training_report import training_report
from mercer.workflow.columns import ask
from mercer.workflow.training import Settings, train


def table(n: int, seed: int = 0) -> Table:
    """Ten numbers, two categories, and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    city, size = rng.choice(["Rome", "Oslo", "Bonn"], n), rng.choice(list("SML"), n)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + (city == "Oslo") + 0.3 * rng.normal(size=n)
    columns = {f"x{j}": X[:, j] for j in range(10)}
    return Table({**columns, "city": city.astype(object), "size": size.astype(object), "y": y})


def main(sizes: list[int]) -> None:
    """Fit with a short limit, then time the report alone."""
    for n in sizes:
        training = train(ask("table.csv", table(n), "y"), Settings(time=10.0))
        start, used = time.perf_counter(), time.process_time()
        size = len(training_report(training).encode())
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        print(
            f"{n:,} rows ({training.model.result_.route}): report of {size / 1024:.0f} KiB in {seconds:.1f} s, "
            f"{processor:.1f} s "
            f"of processors; the fit took {training.seconds['fit']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [500, 5000, 100_000])
