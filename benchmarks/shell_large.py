"""Large files through the shell: columns of 500 MB listed, and 2 GB of CSV under a limit of memory.

python -m benchmarks.shell_large            # writes the files into a temporary folder, about 2.5 GB
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: Address spaces of a fit, in GiB.
LIMITS = (1, 2, 3, 4)


def write(path: Path, rows: int) -> None:
    """A table of eleven numbers, a category, a date and a target, about 166 bytes a row."""
    import duckdb

    numbers = ", ".join(f"round(random() * 1000, 9) AS x{j}" for j in range(10))
    words = "['red', 'green', 'blue'][1 + (i % 3)::INT] AS color, (DATE '2020-01-01' + (i % 2000)::INT)::VARCHAR AS day"
    asked = f"SELECT i AS number, {numbers}, {words}, round(random(), 6) AS y FROM range({rows}) t(i)"
    duckdb.execute(f"COPY ({asked}) TO '{path}' (HEADER)")


def run(words: str, *arguments: Any, limit: int | None = None) -> None:
    """Run a command and print its seconds, its exit code and its last line."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    start = time.perf_counter()
    command = [sys.executable, "-m", "mercer.cli", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    seconds = time.perf_counter() - start
    said = (result.stdout + result.stderr).strip().splitlines()
    last = next((line for line in said if line.startswith("  written")), said[-1] if said else "")
    print(f"{words}: {seconds:.1f} s, exit code {result.returncode}\n  {last.strip()}", flush=True)


def main() -> None:
    """Write the files, list, refuse, fit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "half.csv", 3_050_000)
        print(f"half.csv: {(folder / 'half.csv').stat().st_size / 1e6:.0f} MB")
        run("columns listed", "fit", folder / "half.csv")
        (folder / "half.csv").unlink()
        write(folder / "two.csv", 12_300_000)
        print(f"two.csv: {(folder / 'two.csv').stat().st_size / 1e9:.2f} GB")
        out = ("--target", "y", "--out", folder / "out")
        for size in LIMITS:
            run(f"all rows, {size} GiB of address space", "fit", folder / "two.csv", *out, limit=size * 2**30)
            some = (*out, "--rows", 20_000, "--time", 20)
            run(f"20,000 rows, {size} GiB of address space", "fit", folder / "two.csv", *some, limit=size * 2**30)
        print(f"left in the folder: {sorted(path.name for path in folder.iterdir())}")


if __name__ == "__main__":
    main()
