"""Kernels on categories: equal or not, and ordered levels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.inputs.cells import as_categories
from mercer.kernels.base import Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.fields import Rule, positive
from mercer.kernels.vectors import Constant
from mercer.numeric.encodings import Encoded, Encoding, Index
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
    """1 if two categories are equal, else `similarity`, a number in [0, 1]; unseen categories are no special case.

    >>> Categorical(similarity=0.25)(["red", "blue", "red"]).tolist()
    [[1.0, 0.25, 1.0], [0.25, 1.0, 0.25], [1.0, 0.25, 1.0]]
    """

    similarity: float = field(default=0.0, metadata={"rule": Rule("a number in [0, 1]", _similarity)})
    _domain = "categories"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("categories", lambda: Codes.of(as_categories(rows._items("categories"), rows.name)))

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
    if isinstance(value, str) or not hasattr(value, "__iter__"):
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
    _domain = "categories"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("ranks", self.levels), lambda: Points(self._ranks(rows)))

    def _ranks(self, rows: Rows) -> Floats:
        number = {level: float(i) for i, level in enumerate(self.levels)}
        cells = as_categories(rows._items("levels"), rows.name)
        unknown = [cell for cell in cells if cell not in number]
        if unknown:
            known = ", ".join(map(repr, self.levels[:8]))
            raise InputError(f"{rows.name} holds {unknown[0]!r}, which is none of the levels of Ordered: {known}.")
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
