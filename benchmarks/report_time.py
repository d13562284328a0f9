"""Seconds that a report adds to a fit, on tables of several sizes, and from the command to the report without a limit.

python -m benchmarks.report_time [ROWS ...]
python -m benchmarks.report_time --shell 5000
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mercer.inputs.tables import Table
from mercer.report.document.training_report import training_report
from mercer.workflow.question import FitSettings, ask
from mercer.workflow.training import train


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
        training = train(ask("table.csv", table(n), "y"), FitSettings(time=10.0))
        start, used = time.perf_counter(), time.process_time()
        size = len(training_report(training).encode())
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        print(
            f"{n:,} rows ({training.model.result_.route}): report of {size / 1024:.0f} KiB in {seconds:.1f} s, "
            f"{processor:.1f} s "
            f"of processors; the fit took {training.seconds['fit']:.1f} s",
            flush=True,
        )


def shell(n: int) -> None:
    """Write the table as CSV, and time `mercer fit` without a limit of time."""
    data = table(n)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(data.columns)
            writer.writerows(zip(*[data[column] for column in data.columns], strict=True))
        start = time.perf_counter()
        command = [sys.executable, "-m", "mercer.cli", "fit", "table.csv", "--target", "y", "--out", "out", "--json"]
        result = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True)
        seconds = time.perf_counter() - start
        facts, size = json.loads(result.stdout), (folder / "out" / "report.html").stat().st_size
    steps = ", ".join(f"{step} {spent:.1f} s" for step, spent in facts["seconds"].items())
    print(f"{n:,} rows ({facts['route']}): {seconds:.1f} s to a report of {size / 1024:.0f} KiB ({steps})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--shell"]:
        shell(int(sys.argv[2]))
        sys.exit()
    main([int(word) for word in sys.argv[1:]] or [500, 5000, 100_000])
