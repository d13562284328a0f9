"""Kernels on the columns of a table: a product for mixed tables, and a kernel that the user gives."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.estimators.tables.encoding import COLUMNS, Encoder, encoding_of, numbered
from mercer.inputs.frames import CATEGORY, DATE, MOLECULE, OBJECTS, TEXT, Column
from mercer.kernels.base import Kernel
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.molecules import molecule_kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.tables.cells import INDICATOR, Categorical
from mercer.kernels.tables.frame import calendar_kernel

#: Note of a column that a given kernel does not use.
NOT_NAMED = "not in the kernel"

#: Observed cells that represent a missing cell.
CELLS_FOR_A_HOLE = 100


def product_kernel(columns: list[Column], table: Any) -> Kernel:  # table (n, width), as `Numbered` makes it
    """Return prod_j k_j(x_j, z_j): exp(-|x - z| / l) for numbers, a + b k for categories, text, graphs and molecules.

    A missing cell has the mean features of the observed cells of its column, a missing molecule those of `with_empty_cells`.
    Length scales and weights are starting values for maximizing the marginal likelihood.
    """
    words = {CATEGORY, *OBJECTS}
    whole = [i for i, column in enumerate(columns) if column.kind not in words | {DATE} and not column.holes.any()]
    factors: list[Kernel] = []
    width = float(len(columns))
    if whole:
        factors.append(Laplacian((width,) * len(whole) if len(whole) > 1 else width).on(*whole))
    for place, column in enumerate(columns):
        if place in whole:
            continue
        if column.kind == MOLECULE:
            factors.append((with_empty_cells(molecule_kernel(), column) + 1.0).on(place))
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


def with_empty_cells(kernel: Kernel, column: Column) -> Kernel:
    """Return a kernel on molecules for a column: a missing cell is similar to missing cells only, if there are any.

    Mean features would need the similarities to many molecules at every step of a search.
    """
    return kernel.missing(column.observed()[:1], rule=INDICATOR) if column.holes.any() else kernel


def sample_for_holes(cells: Any, column: Column) -> Any:
    """Return observed cells that represent a missing cell, evenly spaced in their order; `cells` as the kernel sees them."""
    here = [cell for cell, hole in zip(cells, column.holes, strict=True) if not hole]
    if column.kind not in (CATEGORY, *OBJECTS):
        here = sorted(here)
    picks = np.linspace(0, len(here) - 1, min(CELLS_FOR_A_HOLE, len(here))).round().astype(int)
    return [here[i] for i in picks]


def read_kernel(kernel: Any) -> Kernel | None:
    """Return the kernel of a parameter: None, a kernel or its text."""
    return None if kernel is None else as_kernel(kernel)


def named(kernel: Kernel, columns: list[Column]) -> tuple[Kernel, list[str]]:
    """Return the kernel with its columns named, and these names; no names for a kernel on whole rows.

    A kernel on text or graphs that names no column applies to the column of a table with one column.
    """
    names = [column.name for column in columns]
    found: list[str] = []
    changes: dict[str, Any] = {}
    for path, places in _places(kernel).items():
        labels = tuple(_name(place, names) for place in places)
        changes[path] = labels
        found += [label for label in labels if label not in found]
    if changes:
        return kernel.set_params(**changes), found
    if len(columns) == 1 and columns[0].kind in OBJECTS:
        return kernel.on(names[0]), names
    return kernel, []


def _places(kernel: Kernel) -> dict[str, tuple[Any, ...]]:
    return {path: tuple(value) for path, value in kernel.get_params().items() if path.rpartition("__")[2] == "columns"}


def _name(place: Any, names: list[str]) -> str:
    if isinstance(place, str) and place in names:
        return place
    if not isinstance(place, str) and -len(names) <= place < len(names):
        return names[place]
    raise InputError(f"the kernel uses the column {place!r}, which is not in the table; its columns are {', '.join(names)}.")


def by_number(kernel: Kernel, columns: list[Column], table: Any) -> Kernel:
    """Return the kernel on numbered columns; missing cells get the mean features of the observed cells of their column."""
    place = {column.name: i for i, column in enumerate(columns)}
    for path, labels in _places(kernel).items():
        holed = [label for label in labels if columns[place[label]].holes.any()]
        if holed and len(labels) > 1:
            raise InputError(
                f"column {holed[0]!r} has missing cells and is one of several in .on({', '.join(map(repr, labels))}): "
                "give it a factor of its own, or fill the cells."
            )
        if holed:
            inner = path.removesuffix("columns") + "0"
            cells = sample_for_holes(table[:, place[labels[0]]], columns[place[labels[0]]])
            kernel = kernel.set_params(**{inner: kernel.get_params()[inner].missing(cells)})
        kernel = kernel.set_params(**{path: tuple(place[label] for label in labels)})
    return kernel


def refuse_unfit(kernel: Kernel, columns: list[Column]) -> None:
    """Raise if a column is text, graphs or has missing cells: a kernel on whole rows does not take them."""
    for column in columns:
        if column.kind in OBJECTS:
            raise InputError(
                f"column {column.name!r} holds {column.kind}, which {kernel} does not take with the others: name columns in "
                f"the kernel, as in {kernel}.on('a', 'b') * Spectrum(3).on({column.name!r}), or leave it out."
            )
        if column.holes.any():
            raise InputError(
                f"column {column.name!r} has {_missing(int(column.holes.sum()))}, for which {kernel} on whole rows has "
                f"no rule: name columns in the kernel, as in {kernel}.on({column.name!r}), fill the cells, or leave out the "
                "rows (--drop-missing) or the column (--drop)."
            )


def _missing(count: int) -> str:
    return f"{count} missing cell{'s' if count != 1 else ''}"


def encoders_for(kernel: Kernel, columns: list[Column]) -> dict[str, Encoder]:
    """Return the encoder for a given kernel: numbered columns if it names columns, otherwise vectors."""
    if named(kernel, columns)[1]:
        return {COLUMNS: numbered(columns, "standard")}
    refuse_unfit(kernel, columns)
    return {"standard": encoding_of(columns, "standard")}
