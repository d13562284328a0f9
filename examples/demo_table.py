"""The penguins of the demo

Write the tables of `make demo`: the Palmer penguins, with numbers, categories, dates, text and holes.

Most of the rows go into one file to learn from; the others, without the target, into a second file to predict.
"""

from __future__ import annotations

import argparse
import csv
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


def draw(out: Path) -> None:
    """What there is to learn: body mass against flipper length, by species."""
    from lecture import save

    from mercer.report.drawing import BLUE, GREEN, VERMILLION, pyplot

    table, mass = mercer.datasets.load_penguins().split()
    species = np.array([str(name).split()[0] for name in table["Species"].to_numpy()])
    figure, ax = pyplot().subplots(figsize=(6.4, 4.0), layout="constrained")
    for name, color in zip(np.unique(species), (BLUE, VERMILLION, GREEN), strict=True):
        own = species == name
        ax.plot(table["Flipper Length (mm)"].to_numpy()[own], np.asarray(mass)[own], "o", color=color, alpha=0.6, label=name)
    ax.set(xlabel="flipper length (mm)", ylabel="body mass (g)")
    ax.legend(frameon=False)
    save(figure, out / "penguins.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/demo"), help="where the tables go")
    parser.add_argument("--out", type=Path, help="a folder for a picture of the table")
    options = parser.parse_args()
    main(options.folder)
    if options.out is not None:
        draw(options.out)
