"""Collections with counts of their features, and the kernels that are inner products of such counts.

Two collections are compared by counting them together: both then have columns for every feature that occurs in either.
For this an encoding keeps its objects. No vocabulary is learned, and no hash can collide.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.errors import CapabilityError
from mercer.kernels.base import Kernel
from mercer.kernels.counting.table import FeatureTable
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.numeric import tiles
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Counts, Encoded, Encoding, Index, squared_norms
from mercer.numeric.sparse_products import PER_PAIR, PER_STORED, SparseRows, whole_in_single

#: Rows of a tile: some hundreds of objects are compared with all others at once. Row: gapped-*.
STRIP = 1024

#: Objects whose inner products with each other are kept, at most: 64 MB. They are computed and kept when this multiple of
#: their number is asked for: by folds, by steps of a search, or by several models. A matrix alone is asked for by halves.
KEPT_OBJECTS, ASKED = 4096, 0.75


class Countable(Protocol):
    """Objects whose features can be counted: strings as `Letters`, graphs as a `Batch`."""

    def __len__(self) -> int: ...

    def take(self, rows: Index) -> Self: ...

    def align(self, other: Self) -> tuple[Self, Self]: ...

    def joined(self, other: Self) -> Self: ...


class DirectProducts(Protocol):
    """Inner products of features that are computed without a table of counts."""

    @property
    def strip(self) -> int | None:
        """Rows of a tile; None for the default."""

    def between(self, left: Ints, right: Ints) -> Floats:  # (r,), (m,) -> (r, m)
        """Inner products of the objects `left` with the objects `right`."""

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """Inner product of each object with itself."""


def _none(items: Any) -> None:
    """No products without the table."""


class CountingRecipe(NamedTuple):
    """How objects are counted: their table, and, if that is cheaper, products without making it."""

    table: Callable[[Any], FeatureTable]
    direct: Callable[[Any], DirectProducts | None] = _none


class Profile(Encoded):
    """Objects and the table of their features, which are rows of a table that may be shared with other objects."""

    blockwise = True

    def __init__(
        self, items: Any, recipe: CountingRecipe, shared: SharedTable | None = None, rows: Index | None = None
    ) -> None:
        self.items, self.recipe = items, recipe
        self.shared = SharedTable(items, recipe) if shared is None else shared
        self.rows = slice(0, len(items)) if rows is None else rows  # rows of these objects in the shared table

    def __len__(self) -> int:
        return len(self.items)

    @property
    def many(self) -> bool:
        """Whether the table would be so large that products are computed without it."""
        return self.shared.direct() is not None

    @property
    def strip(self) -> int:
        """Rows of a tile: some hundreds of objects against all others, at most 2^24 values."""
        direct = self.shared.direct()
        if direct is not None and direct.strip is not None:
            return direct.strip
        return max(16, min(STRIP, max(256, len(self) // 8), 2**24 // len(self)))

    @property
    def names(self) -> list[Hashable]:
        """The features that the columns count."""
        return self.shared.table().names()

    @property
    def matrix(self) -> sp.csr_array:  # (n, D)
        """phi(x), one row per object."""
        whole = self.shared.table().matrix
        if isinstance(self.rows, slice) and (self.rows.start, self.rows.stop) == (0, whole.shape[0]):
            return whole
        return whole[self.rows]

    def take(self, rows: Index) -> Profile:
        places = self._places(slice(0, len(self)))[rows]
        run = isinstance(self.rows, slice) and isinstance(rows, slice) and rows.step in (None, 1) and len(places) > 0
        where: Index = slice(int(places[0]), int(places[-1]) + 1) if run else places
        return Profile(self.items.take(rows), self.recipe, self.shared, where)

    def align(self, other: Profile) -> tuple[Profile, Profile]:
        if self.shared is other.shared:
            return self, other
        left, right = self.items.align(other.items)
        joint = SharedTable(left.joined(right), self.recipe)
        n, m = len(self), len(other)
        return Profile(left, self.recipe, joint, slice(0, n)), Profile(right, self.recipe, joint, slice(n, n + m))

    def project(self, like: Profile) -> Counts:
        """The same objects with exactly the columns of another collection."""
        theirs, mine = like.align(self)
        columns = np.unique(theirs.matrix.indices)
        if len(columns) != like.matrix.shape[1]:  # a class of substrings splits if other strings tell its members apart
            raise CapabilityError(
                "the columns of this feature map are classes of substrings that occur together, which depend on the "
                "collection; make the features of both collections at once."
            )
        return Counts(like.names, sp.csr_array(sp.csc_array(mine.matrix)[:, columns]))

    def between(self, rows: slice, other: Profile, cols: slice) -> Floats:  # -> (r, c)
        """Inner products of some of these objects with some of the others, which have the same columns."""
        if self.shared is other.shared:
            kept = self.shared.products((rows.stop - rows.start) * (cols.stop - cols.start))
            if kept is not None:
                return np.asarray(kept[self._part(rows)][:, other._part(cols)], dtype=np.float64)
            direct = self.shared.direct()
            if direct is not None:
                return direct.between(self._places(rows), other._places(cols))
            prepared = self.shared.prepared()
            if prepared is not None:
                return prepared.between(self._places(rows), other._part(cols))
        return np.asarray((self.take(rows).matrix @ other.take(cols).matrix.T).toarray())

    def _part(self, rows: slice) -> Index:
        """Some of these objects as rows of the shared table."""
        if isinstance(self.rows, slice):
            return slice(self.rows.start + rows.start, self.rows.start + rows.stop)
        return self.rows[rows]

    def _places(self, rows: slice) -> Ints:
        part = self._part(rows)
        return np.arange(part.start, part.stop) if isinstance(part, slice) else np.asarray(part, dtype=np.int64)

    def norms(self) -> Floats:  # -> (n,)
        kept = self.shared.products(0)
        if kept is not None:
            return np.asarray(np.diagonal(kept)[self._part(slice(0, len(self)))], dtype=np.float64)
        direct = self.shared.direct()
        if direct is not None:
            return direct.own(self._places(slice(0, len(self))))
        return squared_norms(self.matrix)


class SharedTable:
    """The table of one or two collections; each part is computed once, on first use by any thread."""

    def __init__(self, items: Countable, recipe: CountingRecipe) -> None:
        self._items = items
        self._recipe = recipe
        self._table: FeatureTable | None = None
        self._prepared: SparseRows | None = None
        self._direct: DirectProducts | None = None
        self._direct_known = False
        self._asked = 0  # inner products that were asked for
        self._products: Array | None = None
        self._lock = threading.RLock()

    def table(self) -> FeatureTable:
        """The counts."""
        with self._lock:
            if self._table is None:
                self._table = self._recipe.table(self._items)
            return self._table

    def direct(self) -> DirectProducts | None:
        """The object that computes products without the table, if that is cheaper."""
        with self._lock:
            if not self._direct_known:
                self._direct, self._direct_known = self._recipe.direct(self._items), True
            return self._direct

    def prepared(self) -> SparseRows | None:
        """The table prepared for products; None if it is so small that SciPy is as fast."""
        with self._lock:
            matrix = self.table().matrix
            if self._prepared is None and (worth(matrix.nnz, PER_STORED) or worth(matrix.shape[0] ** 2, PER_PAIR)):
                self._prepared = SparseRows(matrix)
            return self._prepared

    def products(self, asked: int) -> Array | None:  # -> (N, N)
        """The inner products of all objects with each other, if they are kept; `asked` more are now asked for."""
        with self._lock:
            n = len(self._items)
            if self._products is None and n <= KEPT_OBJECTS:
                self._asked += asked
                if self._asked > ASKED * n**2:
                    self._products = self._all_products(n)
            return self._products

    def _all_products(self, n: int) -> Array | None:
        """The inner products if they are exact in single precision: kept values and computed ones are then equal."""
        matrix = self.table().matrix if self.direct() is None else None
        if matrix is None or not whole_in_single(matrix):
            self._asked = -(2**62)  # never again
            return None
        places, prepared = np.arange(n), self.prepared()

        def block(rows: slice, cols: slice) -> Floats:
            if prepared is not None:
                return prepared.between(places[rows], cols)
            return np.asarray((matrix[rows] @ matrix[cols].T).toarray())

        strip = max(16, min(STRIP, max(256, n // 8)))
        return tiles.fill(block, np.empty((n, n), dtype=np.float32), symmetric=True, strip=strip)


class CountKernel(Kernel):
    """Abstract: the inner product of explicit counts."""

    def _block(self, pair: Pair) -> Array:
        return pair.inner().copy()

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(encoding.norms())

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: encoding.matrix,
            lambda encoding: int(encoding.matrix.shape[1]),
            lambda encoding: list(encoding.names),
            shared=False,
        )
