"""What the kernel trick saves: columns and seconds of the explicit map against kernel values.

    python examples/kernel_price.py [--rows N]

The map of (<x, z> + 1)^p has (d + p choose p) columns when equal monomials are merged; the kernel costs d + p operations a
pair. Both give the same Gram matrix, where the map still fits.
"""

from __future__ import annotations

import argparse
from math import comb
from time import perf_counter

import numpy as np
from lecture import show

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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=300)
    n = parser.parse_args().rows
    Polynomial(2)(np.ones((2, 2)))  # what is loaded at the first call is not the price of the kernel
    show(("d", "p", "columns", "seconds, map", "seconds, kernel", "difference"), [measure(d, p, n) for d, p in CASES])


if __name__ == "__main__":
    main()
