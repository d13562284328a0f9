"""Kernels as sums of products over columns: k(x, z) = sum_t w_t prod_j k_tj(x_j, z_j), for kernels of that form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mercer.errors import CapabilityError
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian, Laplacian, PowerExponential
from mercer.kernels.vectors import Constant, Linear
from mercer.kernels.views import On

#: A product of sums has a term for each choice of a summand per factor; more of them would take minutes.
MOST_TERMS = 1000

Column = int | str


@dataclass(frozen=True)
class ColumnTerm:
    """w prod_j k_j(x_j, z_j): a weight, and per relevant column a kernel on the rows that reads only this column."""

    weight: float
    factors: dict[Column, Kernel]

    def times(self, other: ColumnTerm) -> ColumnTerm:
        """The product of two terms."""
        both = dict(self.factors)
        for column, factor in other.factors.items():
            both[column] = both[column] * factor if column in both else factor
        return ColumnTerm(self.weight * other.weight, both)


def column_terms(kernel: Kernel, columns: Sequence[Column]) -> list[ColumnTerm]:
    """The terms of a kernel on rows with these columns, or an error that names the part that is not a product over columns.

    >>> from mercer import Gaussian, Linear
    >>> [sorted(term.factors) for term in column_terms(2.0 * Gaussian(1.0) + Linear().on(1), range(2))]
    [[0, 1], [1]]
    """
    terms = _terms(kernel, tuple(columns))
    merged: dict[tuple[tuple[Column, Kernel], ...], float] = {}
    for term in terms:
        key = tuple(term.factors.items())
        merged[key] = merged.get(key, 0.0) + term.weight
    return [ColumnTerm(weight, dict(key)) for key, weight in merged.items()]


def _terms(kernel: Kernel, columns: tuple[Column, ...]) -> list[ColumnTerm]:
    if isinstance(kernel, On) and len(kernel.columns) == 1:  # one factor, also if the inner kernel is a sum
        [one] = _looked_at(kernel, columns)
        return [ColumnTerm(1.0, {one: kernel.inner.on(one)})]
    if isinstance(kernel, Sum):
        return [term for child in kernel.children for term in _terms(child, columns)]
    if isinstance(kernel, Product):
        return _product([_terms(child, columns) for child in kernel.children], kernel)
    if isinstance(kernel, Scaled):
        return [ColumnTerm(kernel.scale * term.weight, term.factors) for term in _terms(kernel.inner, columns)]
    if isinstance(kernel, Power):
        return _product([_terms(kernel.inner, columns)] * kernel.power, kernel)
    if isinstance(kernel, Constant):
        return [ColumnTerm(kernel.value, {})]
    if isinstance(kernel, On):
        return _terms(kernel.inner, _looked_at(kernel, columns))
    if len(columns) == 1:  # any kernel on one column
        return [ColumnTerm(1.0, {columns[0]: kernel.on(columns[0])})]
    if isinstance(kernel, Linear):
        return [ColumnTerm(1.0, {column: kernel.on(column)}) for column in columns]
    if isinstance(kernel, (Gaussian, Laplacian)) or (isinstance(kernel, PowerExponential) and kernel.norm == kernel.power):
        return [ColumnTerm(1.0, {c: factor.on(c) for c, factor in zip(columns, _by_column(kernel, columns), strict=True)})]
    raise CapabilityError(
        f"{kernel} on {len(columns)} columns is not a product over columns; its Shapley values have no closed form here. "
        "Gaussian and Laplacian (one length scale or one per column), linear kernels, kernels on single columns, "
        "and their sums, products and multiples have."
    )


def _looked_at(kernel: On, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(columns[c] if isinstance(c, int) else c for c in kernel.columns)


def _by_column(kernel: Gaussian | Laplacian | PowerExponential, columns: tuple[Column, ...]) -> list[Kernel]:
    scales = kernel.length_scale
    each = scales if isinstance(scales, tuple) else (scales,) * len(columns)
    return [kernel.set_params(length_scale=scale) for scale in each]


def _product(factors: list[list[ColumnTerm]], kernel: Kernel) -> list[ColumnTerm]:
    found = [ColumnTerm(1.0, {})]
    for terms in factors:
        found = [left.times(right) for left in found for right in terms]
        if len(found) > MOST_TERMS:
            raise CapabilityError(
                f"{kernel}: written as a sum of products over columns it has more than {MOST_TERMS} terms."
            )
    return found
