"""`FeatureMap`, the explicit features of a kernel that has finitely many, and how feature matrices are combined."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.errors import check_whole
from mercer.inputs import as_rows
from mercer.numeric.encodings import Encoding, dense, squared_norms
from mercer.numeric.memory import check_fits

if TYPE_CHECKING:
    from mercer.inputs import Rows
    from mercer.kernels.base import Kernel

REMEDY = "Use the kernel itself: it never makes these columns."


@dataclass(frozen=True)
class FeatureMap:
    """phi with <phi(x), phi(z)> = k(x, z), as functions of an encoded collection.

    Kernels that count have a column for every feature of the collection: their columns are not `shared` with other
    collections. They `stay` if the columns of one collection can be computed for another, feature_map(Z, like=X).
    """

    matrix: Callable[[Encoding, bool], Any]  # (encoding, combined) -> (n, D), dense or CSR
    count: Callable[[Encoding], int]  # D, without making the columns
    label: Callable[[Encoding], list[Any]] | None = None  # what the columns count, where they have names
    shared: bool = True
    stay: bool = True

    def names(self, encoding: Encoding) -> list[Any]:
        """What the columns count; numbers where they have no names."""
        return list(range(self.count(encoding))) if self.label is None else self.label(encoding)


def stack(blocks: list[Any]) -> Any:  # (n, a), (n, b), … -> (n, a + b + …)
    """Return feature blocks side by side; CSR if one of them is."""
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.hstack(blocks)


def times(block: Any, factors: Array | float) -> Any:  # (n, a), (n,) or number -> (n, a)
    """Return every row times its factor."""
    if np.ndim(factors) == 0:
        return block * factors
    if sp.issparse(block):
        return sp.csr_array(sp.diags_array(np.asarray(factors)) @ block)
    return block * np.asarray(factors)[:, None]


def kronecker(left: Any, right: Any) -> Any:  # (n, a), (n, b) -> (n, a b)
    """Return the row-wise Kronecker product, whose inner products are products of inner products."""
    n, width = left.shape[0], left.shape[1] * right.shape[1]
    if sp.issparse(left) or sp.issparse(right):
        return _sparse_kronecker(sp.csr_array(left), sp.csr_array(right))
    _check(n, width, left.dtype)
    return (left[:, :, None] * right[:, None, :]).reshape(n, width)


def _sparse_kronecker(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    a, b = np.diff(left.indptr), np.diff(right.indptr)
    row_of = np.repeat(np.arange(left.shape[0]), a)  # row of each stored value on the left
    repeats = b[row_of]
    first = np.repeat(np.arange(left.nnz), repeats)
    start = np.concatenate([[0], np.cumsum(repeats)])
    offset = np.arange(start[-1]) - np.repeat(start[:-1], repeats)
    second = right.indptr[row_of[first]] + offset
    columns = left.indices[first].astype(np.int64) * right.shape[1] + right.indices[second]
    indptr = np.concatenate([[0], np.cumsum(a * b)])
    return sp.csr_array(
        (left.data[first] * right.data[second], columns, indptr), shape=(left.shape[0], left.shape[1] * right.shape[1])
    )


def tensor_power(block: Any, power: int) -> Any:  # (n, a) -> (n, a^power)
    """Return all ordered products of `power` features: vec(xx') for power 2."""
    result = np.ones((block.shape[0], 1), block.dtype)
    for _ in range(power):
        result = kronecker(result, block)
    return result


def symmetric_power(block: Any, power: int) -> Any:  # (n, a) -> (n, (a + power - 1 choose power))
    """Return all monomials of degree `power`, each times the root of how many ordered products it merges."""
    if sp.issparse(block):
        return _sparse_symmetric_power(block, power)
    n, a = block.shape
    _check(n, comb(a + power - 1, power), block.dtype)
    columns = list(combinations_with_replacement(range(a), power))
    out = np.empty((n, len(columns)), block.dtype)
    for position, chosen in enumerate(columns):
        merged = factorial(power) / prod(factorial(chosen.count(i)) for i in set(chosen))
        column = out[:, position]
        column[:] = np.sqrt(merged)
        for i in chosen:
            column *= block[:, i]
    return out


def _sparse_symmetric_power(block: sp.csr_array, power: int) -> sp.csr_array:
    """The same columns in the same order, from the ordered products whose indices do not fall."""
    n, a = block.shape
    ordered = sp.coo_array(tensor_power(block, power))
    digits = np.stack([ordered.col.astype(np.int64) // a**k % a for k in range(power - 1, -1, -1)])  # (power, nnz)
    kept = (np.diff(digits, axis=0) >= 0).all(axis=0)
    digits = digits[:, kept]
    run, merged, column = np.ones(kept.sum()), np.full(kept.sum(), float(factorial(power))), np.zeros(kept.sum(), np.int64)
    for k in range(power):
        if k:  # the length of the run of equal indices so far, so that `merged` ends as power! / product of count!
            run = np.where(digits[k] == digits[k - 1], run + 1.0, 1.0)
        merged /= run
        # the place among all choices: those that come later have a larger index at the first difference
        column += _choose(a - 1 - digits[k] + power - 1 - k, power - k)
    values = ordered.data[kept] * np.sqrt(merged)
    shape = (n, comb(a + power - 1, power))
    return sp.csr_array((values.astype(block.dtype), (ordered.row[kept], shape[1] - 1 - column)), shape=shape)


def _choose(n: Ints, k: int) -> Ints:
    """(n choose k) in whole numbers, 0 for n < k."""
    result = np.ones_like(n)
    for i in range(k):
        result = result * np.maximum(n - i, 0) // (i + 1)
    return result


def power(block: Any, exponent: int, combined: bool) -> Any:
    """Return features of <phi, phi>^exponent."""
    if exponent == 0:
        return np.ones((block.shape[0], 1), block.dtype)
    if exponent == 1:
        return block
    return symmetric_power(block, exponent) if combined else tensor_power(block, exponent)


def power_count(width: int, exponent: int) -> int:
    """How many columns `power(…, combined=True)` has for a dense block of `width` columns."""
    return comb(width + exponent - 1, exponent) if exponent else 1


def _check(n: int, width: int, dtype: Any) -> None:
    check_fits(n * width * np.dtype(dtype).itemsize, f"a feature map of shape ({n}, {width})", REMEDY)


class Summand(NamedTuple):
    """One term of k(x, z) = sum_t g_t(x) k_t(x, z) g_t(z), on one collection."""

    kernel: Kernel  # k_t
    rows: Rows  # input of k_t: the collection, some of its columns, or its image under a map
    factor: Floats  # (n,) g_t

    def times(self, factor: Floats | float) -> Summand:
        """The same term with g_t multiplied."""
        return self._replace(factor=self.factor * factor)


class Occurrence(NamedTuple):
    """A feature in an object: phi_f(x) is the sum of the weights of the occurrences of f in x."""

    feature: Hashable  # as feature names call it
    positions: tuple[int, ...]  # of the letters that make it; none for a feature of the object as a whole
    weight: float
    example: tuple[int, ...] = ()  # one place, if the feature is about several places at once


@dataclass(frozen=True)
class TaylorFeatures:
    """Features Z with |Z Z' - K| <= error on the data they were made from."""

    values: Array
    error: float


def taylor_features(factor: float, scales: Floats | None, X: Any, degree: int) -> TaylorFeatures:
    """exp(-||x - z||^2/2) = e^(-||x||^2/2) e^(-||z||^2/2) sum_j <x, z>^j / j!, cut after j = degree.

    The rest is at most e^(-(a + b)/2) sum_{j > degree} (a b)^(j/2) / j! with a = ||x||^2, b = ||z||^2, and (a b)^(1/2) <=
    (a + b)/2 =: t, so it is bounded by the largest Poisson tail P(N > degree) of mean t <= max ||x||^2.
    """
    check_whole("taylor_features", "degree", degree, 0)
    raw = dense(as_rows(X).vectors()).astype(np.float64)
    Z = raw * factor**0.5 if scales is None else raw / scales
    a = squared_norms(Z)
    damping = np.exp(-0.5 * a)
    blocks = [power(Z, j, combined=True) * (damping / factorial(j) ** 0.5)[:, None] for j in range(degree + 1)]
    from scipy.special import pdtrc

    return TaylorFeatures(np.hstack(blocks), float(pdtrc(degree, a.max())))
