"""One kernel over the columns of a data frame: a product of a factor for every column, holes by the mean embedding."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.inputs.frames import CATEGORY, DATE, GRAPH, MOLECULE, NUMBER, ORDERED, TEXT, Column, noted, read_columns
from mercer.inputs.tables import as_days
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Periodic
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.molecules import molecule_kernel
from mercer.kernels.stationary import Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.tables.cells import Categorical, Ordered

#: Observed values that stand for a hole, at most, taken evenly from the sorted column.
VALUES_FOR_A_HOLE = 200

#: Periods in days, each used where the table spans at least twice as many.
PERIODS = (1.0, 7.0, 365.25)


def frame_kernel(frame: Any, *, exclude: tuple[str, ...] = ()) -> Kernel:
    """A sensible kernel over the columns of a data frame, by their types; every name appears in it.

    The product over columns of exp(-|x - z| / l) for numbers, of `Categorical`, of `Ordered`, of a trend and periods for
    dates, and of (1 + k) / 2 with a normalized kernel k for text, graphs and molecules. Length scales are the mean absolute
    differences times the number of columns, so that two typical rows have a similarity of about 1/e. A hole has the mean
    features of the column's observed values. Constant, identifier-like and repeated columns are left out.

    frame: pandas, polars or Arrow. exclude: names to leave out, the target for instance.

    >>> import polars as pl
    >>> k = frame_kernel(pl.DataFrame({"age": [20.0, 30.0, 50.0], "city": ["Rome", "Oslo", "Rome"]}))
    >>> print(k)
    Laplacian(length_scale=40.0).on('age') * Categorical(similarity=0.4724).on('city')
    """
    columns = [column for column in noted(read_columns(frame, "frame")) if column.name not in exclude]
    used = [column for column in columns if not column.note]
    if not used:
        reasons = "; ".join(f"{column.name!r} is {column.note}" for column in columns[:8])
        raise InputError(f"frame_kernel: the frame has no usable column: {reasons}.")
    return column_product(used)


def column_product(columns: list[Column], places: dict[str, int | str] | None = None, reach: float | None = None) -> Kernel:
    """The product kernel of some columns; `places` gives the number of each where the table has no names.

    Length scales are typical differences times `reach`, by default the number of columns.
    """
    where = places or {}
    whole = [column for column in columns if column.kind == NUMBER and not column.holes.any()]
    count = float(len(columns)) if reach is None else reach
    factors: list[Kernel] = []
    if whole:
        scales = tuple(_round(count * _spread(column.cells)) for column in whole)
        numbers = Laplacian(scales[0] if len(scales) == 1 else scales)
        factors.append(numbers.on(*[where.get(column.name, column.name) for column in whole]))
    for column in columns:
        if column not in whole:
            factors.append(column_factor(column, count).on(where.get(column.name, column.name)))
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def column_factor(column: Column, count: float) -> Kernel:
    """The factor of one column, its length scale `count` typical differences.

    With holes, the mean of its observed values stands for them.
    """
    factor = _factor(column, count)
    if not column.holes.any():
        return factor
    here = column.observed()
    return factor.missing(_even(np.asarray(here)[:, None] if column.kind == NUMBER else list(here), column.kind))


def _factor(column: Column, count: float) -> Kernel:
    if column.kind == NUMBER:
        return Laplacian(_round(count * _spread(column.observed())))
    if column.kind == CATEGORY:
        return Categorical(_round(exp(-1.5 / count)))
    if column.kind == ORDERED:
        rank = {level: float(i) for i, level in enumerate(column.levels)}
        return Ordered(column.levels, length_scale=count * _spread(np.array([rank[cell] for cell in column.observed()])))
    if column.kind == DATE:
        return calendar_kernel(as_days(column.observed(), column.name)[:, 0], count).dates()
    if column.kind in (TEXT, GRAPH):
        inner: Kernel = Spectrum(3).normalized() if column.kind == TEXT else WeisfeilerLehman(iterations=2).normalized()
        return 0.5 * inner + 0.5
    if column.kind == MOLECULE:
        return 0.5 * molecule_kernel() + 0.5
    raise InputError(f"column {column.name!r}: there is no kernel for {column.kind!r}.")


def calendar_kernel(days: Any, count: float) -> Kernel:  # (n,)
    """A trend, times periods of day, week and year where the days span at least two of them."""
    kernel: Kernel = Laplacian(_round(count * _spread(days)))
    span, times = float(np.ptp(days)), bool(np.any(days != np.floor(days)))
    for period in PERIODS:
        if span >= 2.0 * period and (period > 1.0 or times):
            kernel = kernel * Periodic(_round(2.0 * count**0.5), period=period)
    return kernel


def _spread(values: Any) -> float:
    """The mean absolute difference of two values, 1.0 where all are equal."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n < 2:
        return 1.0
    weights = 2.0 * np.arange(n) - (n - 1)
    mean = float(2.0 * (weights @ (ordered - ordered.mean())) / (n * (n - 1)))
    return _round(mean) if mean > 1e-140 else 1.0


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _even(cells: Any, kind: str) -> Any:
    if len(cells) <= VALUES_FOR_A_HOLE:
        return cells
    if kind == NUMBER:
        cells = np.sort(cells, axis=0)
    picks = np.linspace(0, len(cells) - 1, VALUES_FOR_A_HOLE).round().astype(int)
    return cells[picks] if kind == NUMBER else [cells[i] for i in picks]
