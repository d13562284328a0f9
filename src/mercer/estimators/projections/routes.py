"""The two ways to coordinates of rows: all rows, or landmarks where the Gram matrix does not fit."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.grams.coordinates import Coordinates, exact_coordinates, landmark_coordinates
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.generalized import is_large
from mercer.planning import Route, gemm_rate

#: Landmarks where the Gram matrix does not fit into memory.
LANDMARKS = 1000

#: Speed of an eigendecomposition as a share of that of a matrix product.
EIGEN_SHARE = 0.15


def coordinate_routes(n: int, views: int = 1, count: int = 1) -> tuple[Route, ...]:
    """Return the routes for some views of n rows and a number of components."""
    m = min(LANDMARKS, n)
    held = 8 * (3 * views + 4) * n * n
    if views > 2 and not is_large(views * n, count):
        held += 24 * (views * n) ** 2  # all blocks of a dense eigenproblem
    whole = Route("gram", held, views * 6.0 * n**3 / (EIGEN_SHARE * gemm_rate()), "factors of the Gram matrix")
    seconds = views * 8.0 * n * m * m / gemm_rate()
    held = 24 * n * m * views + 48 * m * m
    return whole, Route("landmarks", held, seconds, f"{m} landmarks stand for {n} rows", exact=m >= n)


def coordinates(kernel: Kernel, rows: Rows, weights: Floats, solver: str, seed: int | None) -> Coordinates:
    """Return coordinates of centered feature vectors by a route."""
    if solver == "gram":
        return exact_coordinates(kernel, rows, weights)
    return landmark_coordinates(kernel, rows, weights, min(LANDMARKS, len(rows)), np.random.default_rng(seed))
