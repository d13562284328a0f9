"""Profiles: strings, or other objects, with counts of their features, made when first asked for.

Two collections are counted together to be compared, so that both have the columns of everything that occurs in either.
That is why an encoding keeps its letters: a vocabulary is never learned, and no hash can collide.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Ints
from mercer.errors import CapabilityError
from mercer.kernels.strings.engine.diagonals import Diagonals
from mercer.kernels.strings.engine.masks import Windows
from mercer.kernels.strings.engine.sparse_products import PER_PAIR, PER_STORED, Listed
from mercer.kernels.strings.engine.substrings import Table
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Counts, Encoded, Index, squared_norms

#: Rows of a tile: strings go through sets of bits, some hundreds at a time against all others. Row: gapped-*.
STRIP = 1024
SHORT_STRIP = 32


class Countable(Protocol):
    """Objects whose features can be counted: strings as `Letters`, graphs as a `Batch`."""

    def __len__(self) -> int: ...

    def take(self, rows: Index) -> Self: ...

    def align(self, other: Self) -> tuple[Self, Self]: ...

    def joined(self, other: Self) -> Self: ...


class Recipe(NamedTuple):
    """What is counted: the table of the objects, and windows to compare without making it, where that is cheaper."""

    table: Callable[[Any], Table]
    windows: Callable[[Any], Windows | Diagonals | None]


class Profile(Encoded):
    """Strings and the table of their features; rows [start, stop) of a table that is shared with others."""

    blockwise = True

    def __init__(self, letters: Countable, recipe: Recipe, shared: Shared | None = None, rows: Index | None = None) -> None:
        self.letters, self.recipe = letters, recipe
        self.shared = Shared(letters, recipe) if shared is None else shared
        self.rows = slice(0, len(letters)) if rows is None else rows  # where these strings stand in the shared table

    def __len__(self) -> int:
        return len(self.letters)

    @property
    def many(self) -> bool:
        """Whether the table would be so large that it is better not made."""
        return self.shared.windows() is not None

    @property
    def strip(self) -> int:
        """Some hundreds of strings against all others at once, in tiles of at most 2^24 values.

        Along the diagonals nothing is made once per strip, so that short ones react sooner to Ctrl-C.
        """
        if isinstance(self.shared.windows(), Diagonals):
            return SHORT_STRIP
        return max(16, min(STRIP, max(256, len(self) // 8), 2**24 // len(self)))

    @property
    def names(self) -> list[Hashable]:
        """What the columns count."""
        return self.shared.table().names()

    @property
    def matrix(self) -> sp.csr_array:  # (n, D)
        """phi(x), one row per string."""
        whole = self.shared.table().matrix
        if isinstance(self.rows, slice) and (self.rows.start, self.rows.stop) == (0, whole.shape[0]):
            return whole
        return whole[self.rows]

    def take(self, rows: Index) -> Profile:
        places = self._places(slice(0, len(self)))[rows]
        run = isinstance(self.rows, slice) and isinstance(rows, slice) and rows.step in (None, 1) and len(places) > 0
        where: Index = slice(int(places[0]), int(places[-1]) + 1) if run else places
        return Profile(self.letters.take(rows), self.recipe, self.shared, where)

    def align(self, other: Profile) -> tuple[Profile, Profile]:
        if self.shared is other.shared:
            return self, other
        left, right = self.letters.align(other.letters)
        joint = Shared(left.joined(right), self.recipe)
        n, m = len(self), len(other)
        return Profile(left, self.recipe, joint, slice(0, n)), Profile(right, self.recipe, joint, slice(n, n + m))

    def project(self, like: Profile) -> Counts:
        """The same strings with exactly the columns of another collection."""
        theirs, mine = like.align(self)
        columns = np.unique(theirs.matrix.indices)
        if len(columns) != like.matrix.shape[1]:  # classes of substrings split where other strings tell their members apart
            raise CapabilityError(
                "the columns of this feature map are classes of substrings that occur together, which depend on the "
                "collection; make the features of both collections at once."
            )
        return Counts(like.names, sp.csr_array(sp.csc_array(mine.matrix)[:, columns]))

    def between(self, rows: slice, other: Profile, cols: slice) -> Floats:  # -> (r, c)
        """Inner products of some of these strings with some of the others, whose columns are the same."""
        if self.shared is other.shared:
            windows = self.shared.windows()
            if windows is not None:
                return windows.between(self._places(rows), other._places(cols))
            listed = self.shared.listed() if isinstance(other.rows, slice) else None
            if listed is not None:
                first = other.rows.start  # type: ignore[union-attr]
                return listed.between(self._places(rows), first + cols.start, first + cols.stop)
        return np.asarray((self.take(rows).matrix @ other.take(cols).matrix.T).toarray())

    def _places(self, rows: slice) -> Ints:
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start + rows.start, self.rows.start + rows.stop)
        return np.asarray(self.rows[rows], dtype=np.int64)

    def norms(self) -> Floats:  # -> (n,)
        windows = self.shared.windows()
        if windows is not None:
            return windows.own(self._places(slice(0, len(self))))
        return squared_norms(self.matrix)


class Shared:
    """The table of one or two collections, made once whichever thread asks first."""

    def __init__(self, letters: Countable, recipe: Recipe) -> None:
        self._letters = letters
        self._recipe = recipe
        self._table: Table | None = None
        self._listed: Listed | None = None
        self._windows: Windows | Diagonals | None = None
        self._asked = False
        self._lock = threading.RLock()

    def table(self) -> Table:
        """The table, counted on the first question."""
        with self._lock:
            if self._table is None:
                self._table = self._recipe.table(self._letters)
            return self._table

    def windows(self) -> Windows | Diagonals | None:
        """The windows to compare, if that is how; looked at on the first question."""
        with self._lock:
            if not self._asked:
                self._windows, self._asked = self._recipe.windows(self._letters), True
            return self._windows

    def listed(self) -> Listed | None:
        """The table prepared for products; None for one so small that no compiler is needed."""
        with self._lock:
            matrix = self.table().matrix
            if self._listed is None and (worth(matrix.nnz, PER_STORED) or worth(matrix.shape[0] ** 2, PER_PAIR)):
                self._listed = Listed(matrix)
            return self._listed
