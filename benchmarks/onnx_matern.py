"""Gaussian processes with Matern kernels in ONNX: mercer's graphs and those of sklearn-onnx, against scikit-learn.

    python -m benchmarks.onnx_matern

Processes of scikit-learn with Matern kernels of nu = 1/2, 3/2, 5/2 and 7/2 are converted by both, mercer's after
`mercer.from_sklearn`. onnxruntime evaluates mean and standard deviation at 500 rows in float64 and in float32. They are
compared with scikit-learn's `predict` on the same (rounded) rows, relative to its largest value. The exit code is 1 if a
difference of mercer exceeds 1e-6.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import mercer

NEAR, ROWS, NEW = 1e-6, 150, 500


def evaluated(graph: Any, rows: Any) -> tuple[Any, Any]:
    """Return mean and standard deviation as onnxruntime computes them."""
    import onnxruntime

    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    mean, std = session.run(None, {"X": rows})
    return np.ravel(mean), np.ravel(std)


def theirs(process: Any, rows: Any) -> tuple[Any, Any]:
    """Return what the graph of sklearn-onnx computes."""
    from skl2onnx import to_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluated(to_onnx(process, rows[:1], options={type(process): {"return_std": True}}), rows)


def ours(process: Any, rows: Any) -> tuple[Any, Any]:
    """Return what mercer's graph computes."""
    return evaluated(mercer.to_onnx(mercer.from_sklearn(process), dtype=str(rows.dtype)), rows)


def difference(found: tuple[Any, Any], wanted: tuple[Any, Any]) -> float:
    """Return the largest difference of mean and standard deviation, each relative to its largest value."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, wanted, strict=True))


def main() -> int:
    """Print a line for every nu and type."""
    from importlib.metadata import version

    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(ROWS, 3)), rng.normal(size=(NEW, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=ROWS)
    worst, rivals, failed = 0.0, [0.0], []
    for nu in (0.5, 1.5, 2.5, 3.5):
        process = GaussianProcessRegressor(Matern(1.3, nu=nu), alpha=1e-4, optimizer=None).fit(X, y)
        for kind in ("float64", "float32"):
            rows = Z.astype(kind)
            wanted = process.predict(rows.astype(np.float64), return_std=True)
            own = difference(ours(process, rows), wanted)
            worst = max(worst, own)
            try:
                rivals.append(difference(theirs(process, rows), wanted))
                rival = f"{rivals[-1]:.1e}"
            except Exception as error:  # whatever stops the converter or the runtime
                rival = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
                failed += [nu] if nu not in failed else []
            print(f"nu = {nu}, {kind}: mercer {own:.1e}; sklearn-onnx {rival}", flush=True)
    good = worst < NEAR
    cannot = ", ".join(f"{nu:g}" for nu in failed) or "none"
    beside = f"sklearn-onnx {version('skl2onnx')} {max(rivals):.1e}, no graph for nu = {cannot}"
    print(f"{'PASS' if good else 'FAIL'}: largest difference {worst:.1e}; {beside}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
