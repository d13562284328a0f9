"""A kernel that a person gave for a table: which columns it is on, and how they come to it."""

from __future__ import annotations

from typing import Any

from mercer.errors import InputError
from mercer.estimators.tables.product_kernel import sample_for_holes
from mercer.inputs.frames import GRAPH, TEXT, Column
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import parse

#: Why a column has no part in the model.
NOT_NAMED = "not in the kernel"


def read_kernel(kernel: Any) -> Kernel | None:
    """The kernel of a parameter: None, a kernel or its text."""
    return parse(kernel) if isinstance(kernel, str) else kernel


def named(kernel: Kernel, columns: list[Column]) -> tuple[Kernel, list[str]]:
    """The kernel with names for the columns it speaks of, and these names; none for a kernel on whole rows.

    A kernel on words or graphs that names nothing is on the only column of a table that has one.
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
    if len(columns) == 1 and columns[0].kind in (TEXT, GRAPH):
        return kernel.on(names[0]), names
    return kernel, []


def _places(kernel: Kernel) -> dict[str, tuple[Any, ...]]:
    return {path: tuple(value) for path, value in kernel.get_params().items() if path.rpartition("__")[2] == "columns"}


def _name(place: Any, names: list[str]) -> str:
    if isinstance(place, str) and place in names:
        return place
    if not isinstance(place, str) and -len(names) <= place < len(names):
        return names[place]
    raise InputError(f"the kernel speaks of the column {place!r}, which is none of {', '.join(names)}.")


def by_number(kernel: Kernel, columns: list[Column], table: Any) -> Kernel:
    """The kernel over numbered columns; where a column has holes, they get the mean features of its other cells."""
    place = {column.name: i for i, column in enumerate(columns)}
    for path, labels in _places(kernel).items():
        holed = [label for label in labels if columns[place[label]].holes.any()]
        if holed and len(labels) > 1:
            raise InputError(
                f"column {holed[0]!r} has missing cells and is one of several under .on({', '.join(map(repr, labels))}): "
                "give it a factor of its own, or fill the cells."
            )
        if holed:
            inner = path.removesuffix("columns") + "0"
            cells = sample_for_holes(table[:, place[labels[0]]], columns[place[labels[0]]])
            kernel = kernel.set_params(**{inner: kernel.get_params()[inner].missing(cells)})
        kernel = kernel.set_params(**{path: tuple(place[label] for label in labels)})
    return kernel


def refuse_unfit(kernel: Kernel, columns: list[Column]) -> None:
    """A kernel on whole rows takes numbers, categories and dates without holes; what else there is must be said."""
    for column in columns:
        if column.kind in (TEXT, GRAPH):
            raise InputError(
                f"column {column.name!r} holds {column.kind}, which {kernel} does not take with the others: name columns in "
                f"the kernel, as in {kernel}.on('a', 'b') * Spectrum(3).on({column.name!r}), or leave it out."
            )
        if column.holes.any():
            raise InputError(
                f"column {column.name!r} has {int(column.holes.sum())} missing cells, for which {kernel} on whole rows has "
                f"no rule: name columns in the kernel, as in {kernel}.on({column.name!r}), fill the cells, or leave out the "
                "rows (--drop-missing) or the column (--drop)."
            )
