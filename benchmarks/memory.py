"""`make show-memory`: promises about memory, each in a fresh process. The exit code is 1 if one is broken.

gram       a Gram matrix of 20,000 rows in float32 takes at most 1.1 times its own size beyond the inputs
product    K @ v for 200,000 rows without K: under 600 MB in all, and right
neighbors  kernel k-NN of 100,000 new rows takes no more than that of 10,000, but for what grows with the new rows alone
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peak

D = 10
LENGTH_SCALE = D**0.5
GRAM_ROWS, GRAM_FACTOR, GRAM_ERROR = 20_000, 1.1, 1e-5
PRODUCT_ROWS, PRODUCT_BYTES, PRODUCT_ERROR = 200_000, 600e6, 1e-10
NEIGHBORS_TRAIN, NEIGHBORS_FEW, NEIGHBORS_MANY, NEIGHBORS_BYTES_PER_ROW = 5_000, 10_000, 100_000, 600
CHECKED_ROWS = 32

Found = dict[str, Any]


def gram(n: int = GRAM_ROWS) -> Found:
    """Make the matrix and tell the peak beyond the inputs; some rows are compared with their definition."""
    import mercer

    X = np.random.default_rng(0).standard_normal((n, D)).astype(np.float32)
    kernel = mercer.Gaussian(LENGTH_SCALE)
    meter = peak.Meter()
    meter.start()
    K = mercer.gram(kernel, X)
    used = meter.beyond()
    rows = _some_rows(n)
    error = max(float(np.max(np.abs(K[i] - kernel_row(X, i)))) for i in rows)
    return {"n": n, "dtype": str(K.dtype), "result": K.nbytes, "peak": used, "largest_error": error}


def product(n: int = PRODUCT_ROWS) -> Found:
    """Multiply without the matrix and tell the peak of the whole process; some rows are compared with their sums."""
    import mercer

    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((n, D)), rng.standard_normal(n)
    got = mercer.GramOperator(mercer.Gaussian(LENGTH_SCALE), X) @ v
    used = peak.peak()  # read before the check, which is not part of the promise
    rows = _some_rows(n)
    # fsum adds without rounding, so that what is left is the error of the product
    exact = np.array([math.fsum(kernel_row(X, i) * v) for i in rows])
    error = float(np.max(np.abs(got[rows] - exact)) / np.max(np.abs(exact)))
    return {"n": n, "peak": used, "largest_error": error}


def neighbors(few: int = NEIGHBORS_FEW, many: int = NEIGHBORS_MANY) -> Found:
    """Predict a few new rows, then many; tell the two peaks beyond the inputs, and compare some answers with sorting."""
    import mercer

    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((NEIGHBORS_TRAIN, D)), rng.standard_normal((many, D))
    y = X[:, 0]
    model = mercer.KernelKNeighborsRegressor(mercer.Gaussian(LENGTH_SCALE)).fit(X, y)
    model.predict(new[:500])  # compiled loops are loaded once, whatever the number of rows
    peaks = []
    for n in (few, many):
        meter = peak.Meter()
        meter.start()
        got = model.predict(new[:n])
        peaks.append(meter.beyond())
    rows = _some_rows(many)
    exact = [y[np.argsort(((X - new[i]) ** 2).sum(axis=1), kind="stable")[:5]].mean() for i in rows]
    return {"few": few, "many": many, "peak": peaks[1], "peak_few": peaks[0],
            "largest_error": float(np.max(np.abs(got[rows] - exact)))}  # fmt: skip


def kernel_row(X: NDArray[Any], i: int) -> NDArray[np.float64]:  # (n, d) -> (n,)
    """k(x_i, x_j) for all j from the definition, in float64: differences first, no expanded squares."""
    differences = X.astype(np.float64) - X[i].astype(np.float64)
    squares: NDArray[np.float64] = np.einsum("jk,jk->j", differences, differences)
    values: NDArray[np.float64] = np.exp(squares * (-0.5 / LENGTH_SCALE**2))
    return values


def _some_rows(n: int) -> NDArray[np.int64]:
    return np.random.default_rng(1).choice(n, min(CHECKED_ROWS, n), replace=False)


def judge_gram(found: Found) -> tuple[bool, str]:
    """PASS or FAIL with the numbers."""
    if "error" in found:
        return False, str(found["error"])
    if found["peak"] is None:
        return False, "this system does not tell the peak memory of a process"
    factor = found["peak"] / found["result"]
    text = (
        f"n = {found['n']:,}, {found['dtype']}: result {found['result'] / 1e6:,.0f} MB, peak beyond the inputs "
        f"{found['peak'] / 1e6:,.0f} MB = {factor:.3f} times the result (at most {GRAM_FACTOR}); "
        f"largest error {found['largest_error']:.1e} (at most {GRAM_ERROR:.0e})"
    )
    return factor <= GRAM_FACTOR and found["largest_error"] <= GRAM_ERROR and found["dtype"] == "float32", text


def judge_product(found: Found) -> tuple[bool, str]:
    """PASS or FAIL with the numbers."""
    if "error" in found:
        return False, str(found["error"])
    if found["peak"] is None:
        return False, "this system does not tell the peak memory of a process"
    text = (
        f"n = {found['n']:,}: peak of the whole process {found['peak'] / 1e6:,.0f} MB (under {PRODUCT_BYTES / 1e6:,.0f}; "
        f"the matrix would be {found['n'] ** 2 * 8 / 1e9:,.0f} GB); relative error {found['largest_error']:.1e} on "
        f"{CHECKED_ROWS} random rows (at most {PRODUCT_ERROR:.0e})"
    )
    return found["peak"] < PRODUCT_BYTES and found["largest_error"] <= PRODUCT_ERROR, text


def judge_neighbors(found: Found) -> tuple[bool, str]:
    """PASS or FAIL with the numbers."""
    if "error" in found:
        return False, str(found["error"])
    if found["peak"] is None or found["peak_few"] is None:
        return False, "this system does not tell the peak memory of a process"
    grown, rows = found["peak"] - found["peak_few"], found["many"] - found["few"]
    text = (
        f"{NEIGHBORS_TRAIN:,} training rows: {found['peak_few'] / 1e6:,.0f} MB for {found['few']:,} new rows, "
        f"{found['peak'] / 1e6:,.0f} MB for {found['many']:,}: {grown / rows:,.0f} bytes for each further row (at most "
        f"{NEIGHBORS_BYTES_PER_ROW}; its distances alone have {NEIGHBORS_TRAIN * 8:,}); "
        f"largest error {found['largest_error']:.1e}"
    )
    return grown <= NEIGHBORS_BYTES_PER_ROW * rows and found["largest_error"] <= PRODUCT_ERROR, text


CASES: dict[str, tuple[Callable[[], Found], Callable[[Found], tuple[bool, str]], str]] = {
    "gram": (gram, judge_gram, "Gram matrix in float32"),
    "product": (product, judge_product, "K @ v without K"),
    "neighbors": (neighbors, judge_neighbors, "kernel k-NN, flat memory"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every promise; with the name of one as argument, measure it in this very process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--measure", choices=list(CASES), help="measure one in this process and print JSON")
    asked = parser.parse_args(arguments)
    if asked.measure:
        print(json.dumps(CASES[asked.measure][0]()))
        return 0
    kept = True
    for name, (_, judge, title) in CASES.items():
        print(f"{title} …", file=sys.stderr, flush=True)
        passed, text = judge(peak.in_fresh_process("benchmarks.memory", ["--measure", name]))
        print(f"{'PASS' if passed else 'FAIL'}  {title}: {text}", flush=True)
        kept = kept and passed
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
