"""Kernels on single columns of a table: categories, ordered levels, dates and times, and columns with missing cells."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.inputs.tables import as_categories, as_days, missing_cells
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.fields import Rule, positive
from mercer.kernels.operators import node
from mercer.kernels.vectors import Constant
from mercer.kernels.views import View
from mercer.kernels.wrappers import Sample, grand_pullback, means_pullback
from mercer.numeric import tiles
from mercer.numeric.encodings import Encoded, Encoding, Index, Values, gather
from mercer.numeric.points import Points


class Codes(Encoded):
    """One whole number per object, and the categories that the numbers stand for."""

    __slots__ = ("codes", "names")
    names: list[Hashable]

    def __init__(self, names: list[Hashable], codes: Ints) -> None:
        self.names, self.codes = names, codes

    @classmethod
    def of(cls, cells: list[Hashable]) -> Codes:
        """Number categories in the order in which they appear."""
        number: dict[Hashable, int] = {}
        codes = np.array([number.setdefault(cell, len(number)) for cell in cells], dtype=np.int64)
        return cls(list(number), codes)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Index) -> Codes:
        return Codes(self.names, self.codes[rows])

    def align(self, other: Codes) -> tuple[Codes, Codes]:
        """Give both sides one list of categories; those unseen before are added at its end."""
        if self.names is other.names:
            return self, other
        number = {name: i for i, name in enumerate(self.names)}
        where = np.array([number.setdefault(name, len(number)) for name in other.names], dtype=np.int64)
        names = list(number)
        return Codes(names, self.codes), Codes(names, where[other.codes])

    def project(self, like: Codes) -> Codes:
        """The same objects with the categories of another collection first."""
        return like.align(self)[1]


def _similarity(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 <= float(value) <= 1.0:
        raise ValueError
    return float(value)


@dataclass(frozen=True, repr=False)
class Categorical(Kernel):
    """1 if two categories are equal, else `similarity`, a number in [0, 1]; unseen categories are compared in the same way.

    >>> Categorical(similarity=0.25)(["red", "blue", "red"]).tolist()
    [[1.0, 0.25, 1.0], [0.25, 1.0, 0.25], [1.0, 0.25, 1.0]]
    """

    similarity: float = field(default=0.0, metadata={"rule": Rule("a number in [0, 1]", _similarity)})
    domain = "categories"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("categories", lambda: Codes.of(as_categories(rows.items("categories"), rows.name)))

    def _block(self, pair: Pair) -> Array:
        equal = np.equal.outer(pair.A.codes[pair.rows], pair.B.codes[pair.cols])
        return np.where(equal, 1.0, self.similarity)

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding))

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: self._indicators(encoding),
            lambda encoding: 1 + len(encoding.names),
            lambda encoding: ["any", *encoding.names],
            shared=False,
            stay=False,
        )

    def _indicators(self, encoding: Codes) -> sp.csr_array:  # -> (n, 1 + categories)
        n, width = len(encoding), len(encoding.names)
        heights = np.full(n, (1.0 - self.similarity) ** 0.5)
        own = sp.csr_array((heights, encoding.codes, np.arange(n + 1)), shape=(n, width))
        return sp.csr_array(sp.hstack([sp.csr_array(np.full((n, 1), self.similarity**0.5)), own]))

    def _derivation(self) -> Derivation:
        because = (
            f"s + (1 - s) 1[x = z] with s = {self.similarity!r} in [0, 1]: a constant >= 0 plus (1 - s) times the inner "
            "product of indicators of the categories"
        )
        return Derivation("equality of categories", because, (Constant(self.similarity),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.number(1.0 if x == z else self.similarity)


def _levels(value: Any) -> tuple[Hashable, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError
    levels = tuple(item.item() if isinstance(item, np.generic) else item for item in value)
    if not levels or len(set(levels)) != len(levels):
        raise ValueError
    return levels


@dataclass(frozen=True, repr=False)
class Ordered(Kernel):
    """exp(-|rank(x) - rank(z)| / length_scale) for levels given in their order.

    >>> Ordered(("low", "mid", "high"), length_scale=1.0)(["low"], ["low", "high"]).round(3).tolist()
    [[1.0, 0.135]]
    """

    levels: tuple[Hashable, ...] = field(metadata={"rule": Rule("a sequence of different levels in order", _levels)})
    length_scale: float = positive(1.0)
    domain = "categories"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("ranks", self.levels), lambda: Points(self._ranks(rows)))

    def _ranks(self, rows: Rows) -> Floats:
        number = {level: float(i) for i, level in enumerate(self.levels)}
        cells = as_categories(rows.items("levels"), rows.name)
        unknown = [cell for cell in cells if cell not in number]
        if unknown:
            known = ", ".join(map(repr, self.levels[:8]))
            raise InputError(f"{rows.name} holds {unknown[0]!r}, which is not among the levels of Ordered: {known}.")
        return np.array([number[cell] for cell in cells])[:, None]

    def _block(self, pair: Pair) -> Array:
        return pair.exp(pair.manhattan_distances(), -1.0 / self.length_scale)

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return np.array([np.vdot(pair.block(self) * W, pair.manhattan_distances()) / self.length_scale])

    def _derivation(self) -> Derivation:
        from mercer.kernels.stationary import Laplacian

        because = "phi(x) is the rank of x among the levels"
        return Derivation("k(phi(x), phi(z))", because, (Laplacian(self.length_scale),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        step = abs(self.levels.index(x) - self.levels.index(z))
        return m.exp(m.number(-float(step)) / m.number(self.length_scale))


@node
@dataclass(frozen=True, repr=False)
class Dated(View):
    """k(day(x), day(z)): a kernel on one number, the days since 1970-01-01 UTC of a date or a time.

    >>> from mercer import Periodic
    >>> week = Periodic(length_scale=1.0, period=7.0).dates()
    >>> bool(abs(week(["2026-11-16"], ["2026-11-23"])[0, 0] - 1.0) < 1e-9)
    True
    """

    inner: Kernel = field(metadata={"child": True})

    def width(self) -> None:
        return None

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    def view(self, rows: Rows) -> Rows:
        return rows.remember("days", lambda: Rows(as_days(rows.items("dates"), rows.name), f"days of {rows.name}"))

    def _derivation(self) -> Derivation:
        return Derivation("k(phi(x), phi(z))", "phi(x) is the number of days since 1970-01-01", (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.dates()"


MEAN, INDICATOR = "mean", "indicator"


@node
@dataclass(frozen=True, repr=False)
class Missing(Wrapper):
    """k on a column with holes, the observed values of a sample being part of the kernel's value.

    rule="mean": a hole has the mean features of the sample, k(?, z) = mean_b k(b, z) and k(?, ?) = mean_bb' k(b, b').
    This is the rule inside a product over columns. rule="indicator": 1[x observed] k(x, z) 1[z observed] + 1[both
    missing], for a sum over columns.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> k = Gaussian(length_scale=1.0).missing([[0.0], [2.0]])
    >>> X = np.array([[0.0], [np.nan]])
    >>> bool(np.isclose(k(X)[0, 1], (1.0 + np.exp(-2.0)) / 2.0))
    True
    """

    sample: Sample = field()
    rule: str = field(default=MEAN)
    inner: Kernel = child()

    def __post_init__(self) -> None:
        if self.rule not in (MEAN, INDICATOR):
            raise InputError(f"missing: rule is {MEAN!r} or {INDICATOR!r}; got {self.rule!r}.")
        if missing_cells(Rows(self.sample.data).items("cells")).any():
            raise InputError("missing: the sample holds observed values only; it has holes itself.")

    def width(self) -> None:
        return None

    def without_holes(self) -> Kernel:
        """Return the kernel of observed cells."""
        return self.inner.without_holes()

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    # -- encoding: the rows with a stand-in in every hole, where the holes are, and what stands in a row of the matrix there

    def _filled(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        return rows.remember(("filled", self.sample), lambda: self._fill(rows))

    def _fill(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        cells = rows.items("cells with holes")
        holes = missing_cells(cells)
        stand_in = Rows(self.sample.data).items("cells")[0]
        numbers = isinstance(self.sample.data, np.ndarray) and self.sample.data.dtype.kind in "fiu"
        whole: list[Any] = [stand_in if hole else cell for cell, hole in zip(cells, holes, strict=True)]
        try:
            data = np.array(whole, dtype=np.float64)[:, None] if numbers else whole
        except (TypeError, ValueError):
            raise InputError(f"{rows.name} was a column of numbers and now holds text; it changed its type.") from None
        return Rows(data, rows.name, rows.weights), holes

    def _sampled(self) -> Encoding:
        return self.inner._encode(Rows(self.sample.data, "the sample"))

    def _encode(self, rows: Rows) -> Encoding:
        filled, holes = self._filled(rows)
        encoding, flags = self.inner._encode(filled), Values(holes.astype(np.float64))
        if self.rule == INDICATOR:
            return encoding, flags, Values(holes.astype(np.float64))
        sample = self._sampled()
        means = self._means(encoding, sample)
        means[holes] = self._means(sample, sample).mean()
        return encoding, flags, Values(means)

    def _means(self, A: Encoding, B: Encoding) -> Floats:
        """mean_j k(x_i, b_j) without holding the matrix."""
        pair = Pair.whole(A, B)
        ones = np.full((pair.shape[1], 1), 1.0 / pair.shape[1])
        symmetric = A is B and self.symmetric
        return tiles.product(lambda r, c: self.inner._block(pair.tile(r, c)), pair.shape, ones, symmetric)[:, 0]

    def _resolve(self, rows: Rows) -> Kernel:
        sample = Rows(self.sample.data, "the sample")  # stand-ins are not observations
        return self.with_children((self.inner._resolve(sample),))

    # -- values ------------------------------------------------------------------------------------------------------

    def _holes(self, pair: Pair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        flags = pair.part(1)
        return flags.left.array > 0, flags.right.array > 0

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair.part(0))
        left, right = self._holes(pair)
        ends = pair.part(2)
        values[left, :] = ends.right.array[None, :]
        values[:, right] = ends.left.array[:, None]
        return values

    def _diag(self, encoding: Encoding) -> Array:
        holes = encoding[1].array > 0
        return np.where(holes, encoding[2].array, self.inner._diag(encoding[0]))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        left, right = self._holes(pair)
        inside = np.where(left[:, None] | right[None, :], 0.0, W)
        total = self.inner._pullback(pair.part(0), inside)
        if self.rule == INDICATOR or not (left.any() or right.any()):
            return total
        sample = self._sampled()
        at_right = np.where(right, 0.0, W[left].sum(axis=0))  # holes of the rows against observed columns
        at_left = np.where(left, 0.0, W[:, right].sum(axis=1))
        total = total + means_pullback(self.inner, gather(pair.B[0], pair.cols), sample, at_right)
        total = total + means_pullback(self.inner, gather(pair.A[0], pair.rows), sample, at_left)
        return total + grand_pullback(self.inner, sample, float(W[np.ix_(left, right)].sum()))

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        holes = encoding[1].array > 0
        total = self.inner._diag_pullback(encoding[0], np.where(holes, 0.0, w))
        if self.rule == INDICATOR:
            return total
        return total + grand_pullback(self.inner, self._sampled(), float(w[holes].sum()))

    def _feature_map(self, *terms: FeatureMap) -> None:
        return None

    def _derivation(self) -> Derivation:
        if self.rule == MEAN:
            because = "phi(x), and for a hole the mean of phi over a fixed sample: inner products of fixed features"
        else:
            because = "g(x) k(x, z) g(z) + h(x) h(z) with g = 1[observed] and h = 1 - g, both rules of closure"
        return Derivation("missing cells", because, (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.missing({self.sample!r}, rule={self.rule!r})"


@node
def missing(sample: Any, rule: str, inner: Kernel) -> Missing:
    """The node for `k.missing(sample, rule)`; one number per row becomes a column."""
    if isinstance(sample, Sample):
        return Missing(sample, rule, inner=inner)
    cells = Rows(sample, "the sample").items("observed cells")
    cells = [cell[0] if isinstance(cell, (list, tuple)) and len(cell) == 1 else cell for cell in cells]
    if all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in cells):
        return Missing(Sample(np.array(cells, dtype=np.float64)[:, None]), rule, inner=inner)
    return Missing(Sample(cells), rule, inner=inner)
