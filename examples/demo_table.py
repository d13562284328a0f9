"""Write the tables of the demo: the Palmer penguins, with numbers, categories, dates, text and holes; run by `make demo`.

Most of the rows go into one file to learn from; the others, without the target, into a second file to predict.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import mercer

#: Rows that only the second file holds.
NEW = 20


def write(path: Path, rows: list[list[str]]) -> None:
    """Write lines of cells as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def main(folder: Path) -> None:
    """Write penguins.csv and penguins-new.csv into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = mercer.datasets.load_penguins()
    with data.path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)  # as it was published, NA and all
    mixed = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    target = names.index(data.target)
    write(folder / "penguins.csv", [names, *mixed[:-NEW]])
    write(folder / "penguins-new.csv", [row[:target] + row[target + 1 :] for row in (names, *mixed[-NEW:])])
    print(f"{data.name} ({data.license}): {data.description}")
    print(f"{folder / 'penguins.csv'}: {len(rows) - NEW} rows")
    print(f"{folder / 'penguins-new.csv'}: {NEW} rows without {data.target!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
