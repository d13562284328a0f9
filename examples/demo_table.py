"""Write the tables of the demo: diabetes progression of 442 people, measured by ten numbers; run by `make demo`.

The table is one that scikit-learn carries. Most of its rows go into one file to learn from; the others, without the
target, into a second file to predict.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

#: Rows that only the second file holds.
NEW = 20


def write(path: Path, names: list[str], values: Any) -> None:
    """Write a table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(values.tolist())


def main(folder: Path) -> None:
    """Write diabetes.csv and diabetes-new.csv into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = load_diabetes(scaled=False)
    order = np.random.default_rng(0).permutation(len(data.target))
    X, y = data.data[order], data.target[order]
    names = list(data.feature_names)
    write(folder / "diabetes.csv", [*names, "progression"], np.column_stack([X, y])[:-NEW])
    write(folder / "diabetes-new.csv", names, X[-NEW:])
    print(f"{folder / 'diabetes.csv'}: {len(y) - NEW} rows; {folder / 'diabetes-new.csv'}: {NEW} rows without the target")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
