"""What the kernel trick saves

Columns and seconds of the explicit map against kernel values.

    python examples/kernel_price.py [--rows N] [--out FOLDER]

The map of (<x, z> + 1)^p has (d + p choose p) columns when equal monomials are merged; the kernel costs d + p operations a
pair. Both give the same Gram matrix, where the map still fits.
"""

from __future__ import annotations

import argparse
from math import comb
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from lecture import save, show

from mercer import Polynomial

CASES = ((10, 2), (32, 2), (100, 2), (316, 2), (1024, 2), (10, 4), (32, 4), (100, 4), (10, 8), (100, 8))
MOST = 20_000  # columns that are made


def measure(d: int, p: int, n: int) -> tuple[int, int, int, str, float, str]:
    """d, p, columns, seconds of the map and its products, seconds of the kernel, largest difference."""
    X = np.random.default_rng(0).normal(size=(n, d)) / d**0.5
    k, columns = Polynomial(p, offset=1.0), comb(d + p, p)
    start = perf_counter()
    K = k(X)
    kernel = perf_counter() - start
    if columns > MOST:
        return d, p, columns, "not made", kernel, ""
    start = perf_counter()
    Z = np.asarray(k.feature_map(X))
    G = Z @ Z.T
    return d, p, columns, f"{perf_counter() - start:.2g}", kernel, f"{np.abs(G - K).max():.0e}"


def draw(rows: list[Any], out: Path) -> None:
    """Columns of the map against columns of the data, with the price of a kernel value."""
    from mercer.report.drawing import BLUE, GRAY, GREEN, VERMILLION, pyplot

    figure, ax = pyplot().subplots(figsize=(6.4, 4.0), layout="constrained")
    d = np.unique(np.logspace(0.5, 3.1, 60).astype(int))
    for p, color in ((2, BLUE), (4, GREEN), (8, VERMILLION)):
        ax.loglog(d, [comb(int(each) + p, p) for each in d], color=color, label=f"columns of the map, degree {p}")
        ax.loglog(*zip(*[row[:3:2] for row in rows if row[1] == p], strict=True), "o", color=color)
    ax.loglog(d, d + 8, color=GRAY, ls="--", label="operations of one kernel value, degree 8")
    ax.set(xlabel="columns of the data", ylabel="columns, operations")
    ax.legend(frameon=False)
    save(figure, out / "kernel_price.png")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    options = parser.parse_args()
    Polynomial(2)(np.ones((2, 2)))  # what is loaded at the first call is not the price of the kernel
    rows = [measure(d, p, options.rows) for d, p in CASES]
    show(("d", "p", "columns", "seconds, map", "seconds, kernel", "difference"), rows)
    if options.out is not None:
        draw(rows, options.out)


if __name__ == "__main__":
    main()
