"""Routes of tests: all pairs of rows, or features in time linear in the rows, with their bytes and seconds.

`mmd_test` and `hsic_test` with method="auto" take the first route, and `mercer.plan` reports both.
"""

from __future__ import annotations

from typing import Any

from mercer.inputs import Rows
from mercer.numeric.threads import cpu_count
from mercer.planning import READ_RATE, Route, entry_rate, gemm_rate
from mercer.twosample.default_kernels import SCALES
from mercer.twosample.feature_blocks import CACHED_ROWS, block_counts

#: Largest product of kernels, pairs of rows and relabelings for which all pairs are evaluated: about ten seconds.
EXACT_WORK = 4e12

#: Most rows of `hsic_test` whose Gram matrices are evaluated; permuting them costs rows^2 each.
EXACT_ROWS = 4000

#: Bytes of the tiles of Gram matrices, of all kernels and threads.
TILES = 24e6

#: float32 operations of relabelings per float64 operation of a large matrix product.
LIGHT = 1.4


def all_pairs_of_mmd(n: int, kernels: int, relabelings: int) -> bool:
    """Return whether `mmd_test` of n rows in all evaluates all pairs of rows."""
    return float(kernels) * n**2 * relabelings <= EXACT_WORK


def all_pairs_of_hsic(n: int) -> bool:
    """Return whether `hsic_test` of n rows evaluates all pairs of rows."""
    return n <= EXACT_ROWS


def mmd_routes(X: Any, Y: Any) -> tuple[Route, ...]:
    """Return the routes of `mmd_test` with default options, the one it takes first."""
    m, n = len(Rows(X, "X")), len(Rows(Y, "Y"))
    rows, kernels, relabelings, features = m + n, 2 * SCALES, 1999, 128
    share = 0.25 if m == n else 1.0  # swaps of pairs need a quarter of the products
    work = float(kernels) * rows**2
    exact = Route(
        "exact",
        int(TILES + 4.0 * rows * relabelings),
        share * work * relabelings / (LIGHT * gemm_rate()) + 0.5 * work / entry_rate() / cpu_count(),
        f"all pairs of rows, {kernels} kernels and {relabelings} relabelings",
    )
    layout = block_counts(m, n)
    blocks = float(kernels) * (layout[1] + layout[2]) ** 2
    linear = Route(
        "features",
        int(8.0 * blocks + 16.0 * CACHED_ROWS * features * SCALES * cpu_count()),
        share * blocks * relabelings / (LIGHT * gemm_rate()) + 2.0 * rows * features * SCALES / entry_rate() / cpu_count(),
        f"{features} random frequencies per family, relabeled in blocks of rows; time linear in the rows",
        exact=False,
    )
    return (exact, linear) if all_pairs_of_mmd(rows, kernels, relabelings) else (linear, exact)


def hsic_routes(X: Any, Y: Any) -> tuple[Route, ...]:
    """Return the routes of `hsic_test` with default options, the one it takes first."""
    n, pairs, permutations, features = len(Rows(X, "X")), 3, 999, 128
    values = float(pairs) * permutations * n
    exact = Route("exact", 48 * n**2, 16.0 * values * n / READ_RATE, f"all pairs of {n} rows, {permutations} permutations")
    linear = Route(
        "features",
        int(4e6 + 32.0 * n * features),
        values * features**2 / gemm_rate(),
        f"{features} landmarks for each side; time linear in the rows",
        exact=False,
    )
    return (exact, linear) if all_pairs_of_hsic(n) else (linear, exact)
