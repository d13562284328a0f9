"""The kernel of a table with holes, text or graphs: a product over its numbered columns, every factor free to move."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from mercer.inputs.frames import CATEGORY, DATE, GRAPH, TEXT, Column
from mercer.kernels.base import Kernel
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.stationary import Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.tables.cells import Categorical
from mercer.kernels.tables.frame import calendar_kernel

#: Observed cells that stand for a hole.
CELLS_FOR_A_HOLE = 100


def product_kernel(columns: list[Column], table: Any) -> Kernel:  # table (n, width), as `Numbered` makes it
    """prod_j k_j(x_j, z_j): exp(-|x - z| / l) for numbers, a + b k for categories, text and graphs.

    A hole has the mean features of the observed cells of its column. Length scales and weights are starts for a climb of
    the marginal likelihood.
    """
    words = {CATEGORY, TEXT, GRAPH}
    whole = [i for i, column in enumerate(columns) if column.kind not in words | {DATE} and not column.holes.any()]
    factors: list[Kernel] = []
    width = float(len(columns))
    if whole:
        factors.append(Laplacian((width,) * len(whole) if len(whole) > 1 else width).on(*whole))
    for place, column in enumerate(columns):
        if place in whole:
            continue
        if column.kind == DATE:
            factor = calendar_kernel(np.asarray(table[~column.holes, place], dtype=np.float64), len(columns))
        else:
            factor = _words(column) if column.kind in words else Laplacian(width)
        if column.holes.any():
            factor = factor.missing(sample_for_holes(table[:, place], column))
        factors.append(factor.on(place))
    return reduce(lambda a, b: a * b, factors)


def _words(column: Column) -> Kernel:
    if column.kind == CATEGORY:
        return 1.0 * Categorical() + 1.0
    inner: Kernel = (
        Spectrum(3, shortest=1).normalized() if column.kind == TEXT else WeisfeilerLehman(iterations=2).normalized()
    )
    return 1.0 * inner + 1.0


def sample_for_holes(cells: Any, column: Column) -> Any:
    """Observed cells that stand for a hole of a column, evenly over their order; `cells` as the kernel sees them."""
    here = [cell for cell, hole in zip(cells, column.holes, strict=True) if not hole]
    if column.kind not in (CATEGORY, TEXT, GRAPH):
        here = sorted(here)
    picks = np.linspace(0, len(here) - 1, min(CELLS_FOR_A_HOLE, len(here))).round().astype(int)
    return [here[i] for i in picks]
