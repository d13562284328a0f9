"""Kernel values of rows with categories and missing cells in ONNX, for kernels that are products over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.estimators.tables.encoding import Numbered
from mercer.export.formula import with_cells
from mercer.export.nodes import Nodes
from mercer.grams.dual_function import DualFunction
from mercer.inputs.frames import CATEGORY, Column
from mercer.kernels.base import Kernel
from mercer.kernels.column_terms import column_terms

#: A cell that is none of the levels of training.
UNSEEN = "\0 a level that training did not have"


class ColumnFactors:
    """k(x, x_i) = sum_t w_t prod_j k_tj(x_j, x_ij), with a table of values for categories and a formula for numbers."""

    def __init__(self, to: Nodes, encoder: Numbered, columns: dict[str, Column], function: DualFunction) -> None:
        self.to, self.encoder, self.columns, self.function = to, encoder, columns, function
        self.known = np.asarray(function.X)  # (n, width), objects if there are categories
        self.made: dict[Any, str] = {}

    def values(self, numbers: Callable[[Column, Numbered], str], codes: Callable[[str, tuple[Any, ...], bool], str]) -> str:
        """Return the kernel values, (rows, n); `numbers` and `codes` give the cells of a column."""
        self.numbers, self.codes = numbers, codes
        total = self.to.constant(np.zeros((1, len(self.known))))
        for term in column_terms(self.function.kernel, range(len(self.encoder.names))):
            product = self.to.number(term.weight)
            for place, kernel in term.factors.items():
                key = (place, kernel)
                if key not in self.made:
                    self.made[key] = self._factor(int(place), kernel)
                product = self.to.add("Mul", product, self.made[key])
            total = self.to.add("Add", total, product)
        return total

    def _factor(self, place: int, kernel: Kernel) -> str:
        """Return the values of a kernel on one column, (rows, n)."""
        column = self.columns[self.encoder.names[place]]
        return (
            self._of_category(place, column, kernel) if column.kind == CATEGORY else self._of_number(place, column, kernel)
        )

    def _at(self, place: int, cells: list[Any], kernel: Kernel) -> Floats:  # -> (m, n)
        """Return the kernel values of rows that have these cells in a column; the kernel reads no other column."""
        return np.asarray(kernel(self._rows(place, cells), self.known), dtype=np.float64)

    def _rows(self, place: int, cells: list[Any]) -> Any:  # -> (m, width)
        rows = np.empty((len(cells), self.known.shape[1]), dtype=self.known.dtype)
        rows[:] = self.known[0]
        for row, cell in enumerate(cells):
            rows[row, place] = cell
        return rows

    def _of_category(self, place: int, column: Column, kernel: Kernel) -> str:
        cells = {cell: None for cell in self.known[:, place] if cell is not None}
        cells |= {cell: None for sample in _samples(kernel) for cell in sample}
        levels = tuple(cells)
        hole = self.encoder.fills.get(column.name)  # a hole is the typical level, or None with features of its own
        table = self._at(place, [*levels, UNSEEN, hole], kernel)
        codes = self.codes(column.name, levels, True)
        return self.to.add("Gather", self.to.constant(table), self.to.flat(codes), axis=0)

    def _of_number(self, place: int, column: Column, kernel: Kernel) -> str:
        cells, observed = np.asarray(self.known[:, place], dtype=np.float64), kernel.without_holes()
        values, n = self.numbers(column, self.encoder), len(self.known)
        if observed == kernel:
            return self.to.formula(values, with_cells(kernel, place, cells), n)
        sample, there = np.ravel(np.asarray(_samples(kernel)[0], dtype=np.float64)), np.isnan(cells)
        here = self.to.add("IsNaN", values)
        filled = self.to.add("Where", here, self.to.number(sample[0]), values)
        found = self.to.formula(filled, with_cells(observed, place, np.where(there, sample[0], cells)), n)
        if there.any():
            self._check_means(place, column, kernel, sample)
            means = self.to.formula(filled, with_cells(observed, place, sample), len(sample))
            mean = self.to.add("Div", self.to.sum(means), self.to.number(len(sample)))
            found = self.to.add("Where", self.to.constant(there[None, :]), mean, found)
        return self.to.add("Where", here, self.to.constant(self._at(place, [np.nan], kernel)), found)

    def _check_means(self, place: int, column: Column, kernel: Kernel, sample: Floats) -> None:
        """Raise unless a missing cell has the mean features of the sample."""
        cells = list(sample[:5])
        found = np.asarray(kernel(self._rows(place, cells), self._rows(place, [np.nan])))[:, 0]
        mean = np.asarray(kernel(self._rows(place, cells), self._rows(place, list(sample)))).mean(axis=1)
        if not np.allclose(found, mean, rtol=1e-9):
            raise CapabilityError(
                f"column {column.name!r} has missing cells, and {kernel} has another rule for them than mean features; such "
                "a term cannot be exported."
            )


def _samples(kernel: Kernel) -> list[Any]:
    """The observed cells that represent a hole in the nodes of a kernel."""
    return [value.data for path, value in kernel.get_params().items() if path.rpartition("__")[2] == "sample"]
