"""Tables of counts: one row per object, one column per feature that occurs, from exact integer keys of occurrences."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Codes, Ints
from mercer.numeric.compiling import worth

#: Nanoseconds that compiled loops save per counted key: they pay from 2^15 keys on. Row: spectrum-*.
PER_KEY = 256

#: Keys below this number are counted in an array of that size, larger ones are ranked first. Row: spectrum-*.
DIRECT = 2**22


@dataclass(frozen=True)
class FeatureTable:
    """phi(x) of every object, one column per feature that occurs; `names()` returns what the columns count."""

    matrix: sp.csr_array  # (n, D)
    names: Callable[[], list[Hashable]]


@dataclass(frozen=True)
class Keys:
    """Occurrences of features, object by object: the code of each, and the place where it can be read."""

    code: Ints  # (M,) < bound
    bound: int
    first: Ints  # (n + 1,) where the keys of each object begin
    place: Callable[[Ints], Ints]  # from numbers of keys to places; -1 - place if the feature is read backwards


def counted(found: Keys, name: Callable[[int], Hashable]) -> FeatureTable:
    """Count the keys; `name(place)` reads the feature at a place."""
    if worth(len(found.code), PER_KEY):
        return _counted_compiled(found, name)
    n = len(found.first) - 1
    distinct, some, column = np.unique(found.code, return_index=True, return_inverse=True)
    width = max(len(distinct), 1)
    row = np.repeat(np.arange(n), np.diff(found.first))
    pairs, counts = np.unique(row * width + column, return_counts=True)
    indptr = np.searchsorted(pairs, np.arange(n + 1) * width)
    matrix = sp.csr_array((counts.astype(np.float64), pairs % width, indptr), shape=(n, len(distinct)))
    return FeatureTable(matrix, lambda: [name(place) for place in found.place(some).tolist()])


def _counted_compiled(found: Keys, name: Callable[[int], Hashable]) -> FeatureTable:
    code: Array = found.code
    bound, n = found.bound, len(found.first) - 1
    if bound > DIRECT:
        code, distinct = ranked(code)
        bound = len(distinct)
    pointer, rows, values = by_columns(code[None], found.first, bound)
    kept = np.flatnonzero(np.diff(pointer))
    matrix = _by_rows(np.append(pointer[kept], pointer[-1]), rows, values, n)

    def names() -> list[Hashable]:
        some = np.zeros(bound, dtype=np.int64)
        some[code] = np.arange(len(code))  # one of the keys with each code
        return [name(place) for place in found.place(some[kept]).tolist()]

    return FeatureTable(matrix, names)


def ranked(keys: Ints) -> tuple[Codes, Ints]:  # (M,) -> (M,), (D,)
    """The rank of each key among the distinct keys, and the distinct keys in ascending order."""
    from mercer.kernels.counting._compiled_counting import numbered

    ids = np.empty(len(keys), dtype=np.int32)
    distinct = numbered(keys, ids)
    order = np.argsort(distinct)
    rank = np.empty(len(distinct), dtype=np.int32)
    rank[order] = np.arange(len(distinct), dtype=np.int32)
    return rank[ids], distinct[order]


def by_columns(keys: Array, first: Ints, bound: int) -> tuple[Ints, Codes, Array]:  # (layers, M), (n + 1,) -> CSC (n, bound)
    """Counts of keys < bound by column; rows of a column ascend. Object i has keys[:, first[i]:first[i + 1]]."""
    from mercer.kernels.counting._compiled_counting import count
    from mercer.numeric._compiled_sparse_products import transposed

    return transposed(*count(keys, first, bound), bound)


def _by_rows(pointer: Ints, rows: Codes, values: Array, n: int) -> sp.csr_array:
    """The matrix of n rows whose columns are given; columns of a row ascend."""
    from mercer.numeric._compiled_sparse_products import transposed

    indptr, indices, data = transposed(pointer, rows, values, n)
    return sp.csr_array((data, indices, indptr), shape=(n, len(pointer) - 1))


def layered_counts(keys: Codes, first: Ints, bound: int) -> sp.csr_array:  # (layers, M), (n + 1,) -> (n, bound)
    """Counts of keys < bound in several layers; columns of a row ascend."""
    return _by_rows(*by_columns(keys, first, bound), len(first) - 1)


def table_of_counts(keys: Ints, counts: Array, first: Ints, name: Callable[[int], Hashable]) -> FeatureTable:
    """The table of (key, count) lists by object; columns are in the order of the keys and have the names name(key)."""
    column, distinct = ranked(keys)
    matrix = sp.csr_array((counts.astype(np.float64), column, _narrow(first)), shape=(len(first) - 1, len(distinct)))
    matrix.sort_indices()
    return FeatureTable(matrix, lambda: [name(key) for key in distinct.tolist()])


def side_by_side(tables: Sequence[FeatureTable]) -> FeatureTable:
    """Tables of different features of the same objects as one table."""
    if len(tables) == 1:
        return tables[0]
    matrix = sp.csr_array(sp.hstack([part.matrix for part in tables], format="csr"))
    return FeatureTable(matrix, lambda: [name for part in tables for name in part.names()])


def scaled(part: FeatureTable, factor: float) -> FeatureTable:
    """Every feature times a number."""
    return part if factor == 1.0 else _with_data(part, part.matrix.data * factor)


def present(part: FeatureTable) -> FeatureTable:
    """1 for every feature that occurs."""
    return _with_data(part, np.ones(part.matrix.nnz))


def unary_table(part: FeatureTable) -> FeatureTable:
    """Every count as that many ones, so that inner products are sums of min(a, b)."""
    from mercer.kernels.counting._compiled_counting import unary

    counts, listed = part.matrix, part.names  # `names` below must not keep the counts
    columns = counts.indices.astype(np.int32, copy=False)
    indptr, indices, first = unary(counts.indptr.astype(np.int64), columns, counts.data, counts.shape[1])
    matrix = sp.csr_array((np.ones(len(indices)), indices, _narrow(indptr)), shape=(counts.shape[0], int(first[-1])))

    def names() -> list[Hashable]:
        times = np.diff(first).tolist()
        return [f"{name} x{t}" for name, most in zip(listed(), times, strict=True) for t in range(1, most + 1)]

    return FeatureTable(matrix, names)


def _narrow(pointer: Ints) -> Array:  # (n + 1,) -> (n + 1,)
    """Return the pointers of a sparse matrix in 32 bits if they fit: SciPy gives them and the indices one type."""
    return pointer.astype(np.int32) if pointer[-1] < 2**31 else pointer


def _with_data(part: FeatureTable, data: Array) -> FeatureTable:
    matrix = part.matrix
    return FeatureTable(sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), part.names)
