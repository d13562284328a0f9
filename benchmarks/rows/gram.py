"""Gram matrices against scikit-learn, and a sum of kernels against its terms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.agreement import absolute
from benchmarks.row import Claim, Peer, Row, Work

N = 8000
DTYPES = ("float32", "float64")
#: Values are of order 1; float32 keeps 7 digits of the distance, and the exponent is a few units.
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
#: Length scales over sqrt(d). The squares of the first kind are not powers of two of each other, those of the second are,
#: so that one exponential is enough and the others are its squares.
UNRELATED = (0.55, 1.0, 1.7)
RELATED = (1.0, 2.0**0.5, 2.0)


def points(n: int, d: int, dtype: str) -> NDArray[Any]:
    """Standard normal rows; squared distances are about 2 d."""
    return np.random.default_rng(d).standard_normal((n, d)).astype(dtype)


def gram_work(n: int, dtype: str, flops: float, exps: int = 1) -> Work:
    """A symmetric matrix: half of the values are computed, all are written. `flops` is per value."""
    half = n * (n + 1) / 2
    return Work(dtype=dtype, flops=half * flops, exps=half * exps, write=float(n * n * np.dtype(dtype).itemsize))


def gaussian(d: int, dtype: str, least: float, n: int = N, width: float = 1.0, suffix: str = "") -> Row:
    """The Gaussian kernel with length_scale = width sqrt(d)."""
    scale = width * d**0.5

    def ours(X: NDArray[Any]) -> NDArray[Any]:
        import mercer

        return mercer.Gaussian(scale)(X)

    def theirs(X: NDArray[Any]) -> Any:
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, gamma=0.5 / scale**2)

    return Row(
        name=f"gaussian-gram-d{d}-{dtype}{suffix}",
        title=f"Gaussian(length_scale={scale:.4g})(X), n = {n}, d = {d}, {dtype}, against rbf_kernel",
        data=partial(points, n, d, dtype),
        mercer=ours,
        peers=(Peer(name="scikit-learn", run=theirs, modules=("sklearn.metrics.pairwise",), package="scikit-learn"),),
        claims=(Claim(measure="ratio", at_least=least),),
        tolerance=TOLERANCE[dtype],
        work=gram_work(n, dtype, flops=2 * d),
    )


def laplacian(d: int, dtype: str, least: float, n: int = N) -> Row:
    """The l1 kernel: no matrix product, so the distances cost more than the exponential."""

    def ours(X: NDArray[Any]) -> NDArray[Any]:
        import mercer

        return mercer.Laplacian(float(d))(X)

    def theirs(X: NDArray[Any]) -> Any:
        from sklearn.metrics.pairwise import laplacian_kernel

        return laplacian_kernel(X, gamma=1.0 / d)

    return Row(
        name=f"laplacian-gram-d{d}-{dtype}",
        title=f"Laplacian(length_scale={d})(X), n = {n}, d = {d}, {dtype}, against laplacian_kernel",
        data=partial(points, n, d, dtype),
        mercer=ours,
        peers=(Peer(name="scikit-learn", run=theirs, modules=("sklearn.metrics.pairwise",), package="scikit-learn"),),
        claims=(Claim(measure="ratio", at_least=least),),
        tolerance=TOLERANCE[dtype],
        # a subtraction and an addition take the slots of two fused multiply-adds; the absolute value runs beside them
        work=gram_work(n, dtype, flops=4 * d),
    )


def sum_of_three(d: int, dtype: str, related: bool, n: int = N) -> Row:
    """(k1 + k2 + k3)(X) against k1(X), k2(X), k3(X), which share nothing.

    The other side makes three Gram matrices one after the other and keeps them; adding them up is off its clock, which
    is to its advantage.
    """
    scales = [factor * d**0.5 for factor in (RELATED if related else UNRELATED)]

    def together(X: NDArray[Any]) -> NDArray[Any]:
        import mercer

        one, two, three = (mercer.Gaussian(scale) for scale in scales)
        return (one + two + three)(X)

    def apart(X: NDArray[Any]) -> list[NDArray[Any]]:
        import mercer

        return [mercer.Gaussian(scale)(X) for scale in scales]

    return Row(
        name=f"sum-of-three{'-related' if related else ''}-d{d}-{dtype}",
        title=(
            f"a sum of three Gaussians in one go, against the three Grams one by one; length scales sqrt(d) times "
            f"{', '.join(f'{s:.4g}' for s in (RELATED if related else UNRELATED))}; n = {n}, d = {d}, {dtype}"
        ),
        data=partial(points, n, d, dtype),
        mercer=together,
        peers=(Peer(name="three Grams", run=apart, modules=("mercer",)),),
        claims=(Claim(measure="share", at_most=0.7),),
        agreement=difference_from_sum,
        tolerance=3 * TOLERANCE[dtype],
        # squaring costs next to nothing beside an exponential
        work=gram_work(n, dtype, flops=2 * d, exps=1 if related else 3),
    )


def difference_from_sum(total: NDArray[Any], terms: list[NDArray[Any]]) -> float:
    """max |total - sum of terms|."""
    return absolute(total, sum(terms[1:], terms[0]))


#: d -> the least ratio per dtype: 3 and 2 where the exponential decides; both sides wait for BLAS at 784.
GAUSSIAN = {
    10: {"float32": 3.0, "float64": 2.0},
    100: {"float32": 3.0, "float64": 2.0},
    784: {"float32": 1.0, "float64": 1.0},
}

ROWS = [
    *[gaussian(d, dtype, GAUSSIAN[d][dtype]) for d in GAUSSIAN for dtype in DTYPES],
    # a short length scale makes small distances count, so that near pairs are computed again from differences
    *[gaussian(d, dtype, 1.0, width=0.25, suffix="-narrow") for d in (10, 100) for dtype in DTYPES],
    *[laplacian(d, dtype, 3.0) for d in (10, 100) for dtype in DTYPES],
    *[sum_of_three(d, dtype, related) for related in (False, True) for d in GAUSSIAN for dtype in DTYPES],
]
