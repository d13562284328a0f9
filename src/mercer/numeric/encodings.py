"""Encodings: what is computed once per collection and reused for every tile.

An encoding has a length, can be cut by rows (`take`) and can be made comparable with another (`align`): vectors get a
common width, dtype and mean, counts a common vocabulary. A tuple of encodings is an encoding too (the parts of a sum).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array
from mercer.errors import InputError

Index: TypeAlias = slice | NDArray[np.integer[Any]]
Encoding: TypeAlias = Any  # Dots | Points | Counts | Given | Raw | Values | tuple[Encoding, ...]: each node has its own

#: CSR tiles of at most this many columns are multiplied as dense ones, which is faster than a sparse product.
#: Row: svc-fit-a9a.
DENSE_WIDTH = 4096


class Encoded:
    """Abstract: the defaults of an encoding."""

    __slots__ = ()

    blockwise = False  # inner products come from `between`, without cutting

    @property
    def names(self) -> Sequence[Hashable]:
        """Features that the columns count; empty if columns have no names."""
        return ()

    @property
    def many(self) -> bool:
        """Whether explicit features would be too large to compute."""
        return False

    @property
    def strip(self) -> int:
        """Rows of a tile that spans the whole width; 0 for square tiles."""
        return 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its numbers; counts, letters and objects have no floats."""
        return np.dtype(np.float64)

    def project(self, like: Any) -> Any:
        """The same objects with the columns of another collection, where columns are named by what occurs."""
        return self


class FloatRows(Encoded):
    """Abstract: an encoding with a float `array`, whose dtype decides that of kernel values."""

    __slots__ = ()
    array: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return np.dtype(self.array.dtype)


class Dots(FloatRows):
    """Vectors for inner products: x'z of any two slices."""

    __slots__ = ("array",)

    def __init__(self, array: Array | sp.csr_array) -> None:
        self.array = array

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def take(self, rows: Index) -> Dots:
        return Dots(self.array[rows])

    def align(self, other: Dots) -> tuple[Dots, Dots]:
        check_width(self.array, other.array)
        left, right = same_dtype(self.array, other.array)
        return Dots(left), Dots(right)

    def inner(self, other: Dots) -> Array:  # (n, d), (m, d) -> (n, m)
        return inner(self.array, other.array)

    def norms(self) -> NDArray[np.float64]:  # (n, d) -> (n,)
        return squared_norms(self.array)


class Values(Encoded):
    """One number per object, such as the weight f(x) or 1/sqrt(k(x, x))."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray[np.float64]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Index) -> Values:
        return Values(self.array[rows])

    def align(self, other: Values) -> tuple[Values, Values]:
        return self, other


class Raw(Encoded):
    """The objects themselves, for functions of the user's own."""

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows  # Rows: the collection as it came in

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Index) -> Raw:
        return Raw(self.rows.take(rows))

    def align(self, other: Raw) -> tuple[Raw, Raw]:
        return self, other


class Given(FloatRows):
    """Given kernel values: those of every object with all N training objects, and its place among these."""

    __slots__ = ("array", "places")
    blockwise = True

    def __init__(self, array: Array, places: Array | None) -> None:
        self.array = array  # (n, N), or (n, 0) for training objects whose own values are not needed
        self.places = places  # (n,), None for 0 … n - 1

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Index) -> Given:
        square = self.array.shape[0] == self.array.shape[1]  # else they are new objects, without a place
        places = np.arange(len(self)) if self.places is None and square else self.places
        return Given(self.array[rows], None if places is None else places[rows])

    def align(self, other: Given) -> tuple[Given, Given]:
        if other.array.shape[1]:
            check_width(self.array, other.array)
        elif other.places is not None and other.places.max() >= self.array.shape[1]:
            self._refuse(int(other.places.max()) + 1)
        left, right = same_dtype(self.array, other.array)
        return Given(left, self.places), Given(right, other.places)

    def between(self, rows: slice, other: Given, cols: slice) -> Array:  # -> (r, c)
        """The values of some objects with some training objects, in an array of their own."""
        if self.array.shape[1] == 0 or (other.places is None and self.array.shape[1] != len(other)):
            self._refuse(len(other))
        return np.array(self.array[rows, cols] if other.places is None else self.array[rows][:, other.places[cols]])

    def _refuse(self, known: int) -> None:
        raise InputError(
            f"Precomputed: X has {self.array.shape[1]} columns for {known} training objects; each row holds the kernel "
            "values against all of them."
        )

    def diag(self) -> Array:  # -> (n,)
        """The value of every training object with itself."""
        if self.array.shape[1] == 0 or (self.places is None and self.array.shape[0] != self.array.shape[1]):
            raise InputError(
                f"Precomputed: the diagonal needs a square matrix; got shape {self.array.shape}. "
                "k(x, x) of new objects is not among their values against the training set."
            )
        return np.array(self.array[np.arange(len(self)), np.arange(len(self)) if self.places is None else self.places])


class Counts(Encoded):
    """How often each of the named features occurs in each object: a vocabulary and CSR counts over it."""

    __slots__ = ("matrix", "names")
    names: Sequence[Hashable]

    def __init__(self, names: Sequence[Hashable], matrix: sp.csr_array) -> None:
        self.names = names
        self.matrix = matrix

    @classmethod
    def of(cls, features: Sequence[dict[Hashable, float]]) -> Counts:
        """Build counts from one {feature: count} dictionary per object."""
        number: dict[Hashable, int] = {}
        indices = [number.setdefault(name, len(number)) for row in features for name in row]
        data = np.array([value for row in features for value in row.values()], dtype=np.float64)
        indptr = np.cumsum([0] + [len(row) for row in features])
        return cls(list(number), sp.csr_array((data, indices, indptr), shape=(len(features), len(number))))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def take(self, rows: Index) -> Counts:
        return Counts(self.names, self.matrix[rows])

    def align(self, other: Counts) -> tuple[Counts, Counts]:
        if self.names is other.names:
            return self, other
        number = {name: i for i, name in enumerate(self.names)}
        where = np.array([number.setdefault(name, len(number)) for name in other.names], dtype=np.int64)
        names = list(number)
        left = sp.csr_array((self.matrix.data, self.matrix.indices, self.matrix.indptr), shape=(len(self), len(names)))
        columns = where[other.matrix.indices] if len(where) else other.matrix.indices
        right = sp.csr_array((other.matrix.data, columns, other.matrix.indptr), shape=(len(other), len(names)))
        return Counts(names, left), Counts(names, right)

    def project(self, like: Counts) -> Counts:
        """The same objects with exactly the columns of another collection."""
        mine, theirs = like.align(self)[1].matrix, len(like.names)  # the columns of `like` come first
        return Counts(like.names, sp.csr_array(mine[:, :theirs]))

    def inner(self, other: Counts) -> NDArray[np.float64]:  # (n, F), (m, F) -> (n, m)
        return np.asarray((self.matrix @ other.matrix.T).toarray())

    def norms(self) -> NDArray[np.float64]:
        return squared_norms(self.matrix)


def align(left: Encoding, right: Encoding, memo: dict[tuple[int, int], Any] | None = None) -> tuple[Encoding, Encoding]:
    """Return two encodings in comparable form; terms that share an encoding still share it."""
    if left is right:
        return left, right
    memo = {} if memo is None else memo
    key = (id(left), id(right))
    if key not in memo:
        if isinstance(left, tuple):
            pairs = [align(a, b, memo) for a, b in zip(left, right, strict=True)]
            memo[key] = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        else:
            memo[key] = left.align(right)
    aligned: tuple[Encoding, Encoding] = memo[key]
    return aligned


def projected(encoding: Encoding, like: Encoding) -> Encoding:
    """An encoding with the columns of another, where columns are named by what occurs."""
    if isinstance(encoding, tuple):
        return tuple(projected(a, b) for a, b in zip(encoding, like, strict=True))
    return encoding.project(like)


def gather(encoding: Encoding, index: Index, memo: dict[int, Any] | None = None) -> Encoding:
    """Return some rows of an encoding as an encoding; terms that share an encoding still share it."""
    memo = {} if memo is None else memo
    if id(encoding) not in memo:
        if isinstance(encoding, tuple):
            memo[id(encoding)] = tuple(gather(part, index, memo) for part in encoding)
        else:
            memo[id(encoding)] = encoding.take(index)
    return memo[id(encoding)]


def length(encoding: Encoding) -> int:
    """Return the number of objects of an encoding."""
    return length(encoding[0]) if isinstance(encoding, tuple) else len(encoding)


def dtype_of(encoding: Encoding) -> np.dtype[Any]:
    """Return the dtype of kernel values on an encoding: float32 if every part with numbers is float32."""
    found = _dtypes(encoding)
    return np.result_type(*found) if found else np.dtype(np.float64)


def _dtypes(encoding: Encoding) -> list[np.dtype[Any]]:
    if isinstance(encoding, tuple):
        return [dtype for part in encoding for dtype in _dtypes(part)]
    if isinstance(encoding, Values):  # a weight does not widen the values it multiplies
        return []
    return [encoding.dtype]


def has_many(encoding: Encoding) -> bool:
    """Return whether explicit features of the encoding would be too large to compute."""
    return any(has_many(part) for part in encoding) if isinstance(encoding, tuple) else encoding.many


def strip_of(encoding: Encoding) -> int:
    """Return the rows of tiles that span the whole width, if every part uses such tiles; 0 for square tiles."""
    if not isinstance(encoding, tuple):
        return int(encoding.strip)
    strips = [strip_of(part) for part in encoding if not isinstance(part, Values)]
    return max(strips) if strips and all(strips) else 0


def check_width(left: Any, right: Any) -> None:
    """Raise if two collections have different widths."""
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"Z has {right.shape[1]} columns but X has {left.shape[1]}; both must have the same columns in the same order."
        )


def same_dtype(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two float arrays in the wider of their dtypes."""
    dtype = np.result_type(left.dtype, right.dtype)
    return left.astype(dtype, copy=False), right.astype(dtype, copy=False)


def inner(left: Any, right: Any) -> Array:  # (n, d), (m, d) -> (n, m)
    """Return left @ right.T as a dense array; either may be CSR."""
    if not (sp.issparse(left) or sp.issparse(right)):
        return np.asarray(left @ right.T)
    if left.shape[1] <= DENSE_WIDTH:
        return np.asarray(dense(left) @ dense(right).T)
    value = left @ right.T
    return np.asarray(value.toarray() if sp.issparse(value) else value)


def dense(array: Any) -> Array:
    """Return an array as a dense one."""
    return np.asarray(array.toarray() if sp.issparse(array) else array)


def squared_norms(array: Any) -> NDArray[np.float64]:  # (n, d) -> (n,)
    """Return ||x_i||^2 for every row, summed in float64."""
    if sp.issparse(array):
        csr = sp.csr_array(array)
        squares = sp.csr_array((np.square(csr.data, dtype=np.float64), csr.indices, csr.indptr), shape=csr.shape)
        return np.asarray(squares @ np.ones(csr.shape[1]))
    if array.dtype == np.float64:
        return np.asarray(np.einsum("ij,ij->i", array, array))
    return np.asarray(np.einsum("ij,ij->i", array, array, dtype=np.float64, casting="safe"))


def narrow_indices(Z: Any) -> Any:
    """Return a sparse matrix with 32-bit indices if they suffice, because many libraries accept no others.

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> wide = sp.csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])), shape=(1, 1))
    >>> narrow_indices(wide).indices.dtype.name
    'int32'
    """
    if not (sp.issparse(Z) and Z.format == "csr") or max(*Z.shape, Z.nnz) > np.iinfo(np.int32).max:
        return Z
    parts = Z.data, Z.indices.astype(np.int32, copy=False), Z.indptr.astype(np.int32, copy=False)
    return type(Z)(parts, shape=Z.shape)
