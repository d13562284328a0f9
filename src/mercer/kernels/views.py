"""k(phi(x), phi(z)): kernels on a view of the rows, some columns of a table or their image under a function."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError, shown
from mercer.inputs import Rows
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, Summand
from mercer.kernels.names import check_callable, name_of
from mercer.kernels.operators import node
from mercer.kernels.spectral.composition import LinearImage
from mercer.kernels.spectral.measure import Measure
from mercer.numeric.encodings import Encoding


class View(Wrapper):
    """Abstract: k(phi(x), phi(z)), the inner kernel on what `_view` makes of the rows."""

    @abc.abstractmethod
    def _view(self, rows: Rows) -> Rows: ...

    def _encode(self, rows: Rows) -> Encoding:
        return self.inner._encode(self._view(rows))

    def _resolve(self, rows: Rows) -> Kernel:
        return self._with_children((self.inner._resolve(self._view(rows)),))

    def _block(self, pair: Pair) -> Array:
        return self.inner._block(pair)

    def _diag(self, encoding: Encoding) -> Array:
        return self.inner._diag(encoding)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return self.inner._pullback(pair, W)

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return self.inner._diag_pullback(encoding, w)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return terms[0]

    def _summands(self, rows: Rows) -> list[Summand]:
        return self.inner._summands(self._view(rows))


@node
@dataclass(frozen=True, repr=False)
class On(View):
    """k on some columns: numbers choose columns of an array, names columns of a data frame.

    >>> import numpy as np
    >>> from mercer import Gaussian, Linear
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> k = Gaussian(length_scale=2.0).on(0) * Linear().on(1, 2)
    >>> bool(np.allclose(k(X), Gaussian(length_scale=2.0)(X[:, [0]]) * Linear()(X[:, 1:])))
    True
    """

    columns: tuple[int | str, ...] = field()
    inner: Kernel = child()

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("on: name at least one column, e.g. k.on(0) or k.on('age', 'income').")
        clean: list[int | str] = []
        for column in self.columns:
            number = isinstance(column, Integral) and not isinstance(column, bool) and abs(column) < 2**31
            if not number and not isinstance(column, str):
                raise InputError(f"on: a column is a number or a name; got {shown(column)}.")
            clean.append(column if isinstance(column, str) else int(column))
        object.__setattr__(self, "columns", tuple(clean))

    def _views(self) -> frozenset[str]:
        return frozenset({"table"})

    def _width(self) -> int | None:
        numbers = [c if c >= 0 else -c - 1 for c in self.columns if isinstance(c, int)]
        return max(numbers) + 1 if numbers else None

    def _view(self, rows: Rows) -> Rows:
        return rows.columns(self.columns)

    def _spectral(self, width: int) -> Measure:
        chosen = [column for column in self.columns if isinstance(column, int)]
        if len(chosen) != len(self.columns):
            raise CapabilityError(f"{self} names its columns, and a spectral measure numbers them: write on(0, 1, …).")
        if any(not -width <= column < width for column in chosen):
            raise InputError(f"{self}: there is no such column among {width}.")
        return LinearImage.of_columns(self.inner._spectral(len(chosen)), chosen, width)

    def _derivation(self) -> Derivation:
        chosen = ", ".join(repr(column) for column in self.columns)
        return Derivation("k(phi(x), phi(z))", f"phi(x) keeps the columns {chosen}", (self.inner,))

    def _facts(self) -> frozenset[str]:
        return self.inner._facts() & {"stationary"}  # it sees some columns only, so it cannot tell all laws apart

    def _by_differences(self) -> bool:
        return self.inner._by_differences()

    def _weak_points(self) -> Floats | None:
        parts = self.inner._weak_points()
        width = self._width()
        chosen = [column % width for column in self.columns if isinstance(column, int)] if width else []
        if parts is None or width is None or len(set(chosen)) < len(self.columns):
            return None
        points = np.zeros((len(parts), width))
        points[:, chosen] = parts
        return points

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        chosen = [column for column in self.columns if isinstance(column, int)]
        if len(chosen) != len(self.columns):
            return Kernel._value(self, x, z, m)
        return self.inner._value([x[c] for c in chosen], [z[c] for c in chosen], m)

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.on({', '.join(repr(column) for column in self.columns)})"


@node
@dataclass(frozen=True, repr=False)
class Mapped(View):
    """k(phi(x), phi(z)): any function of the objects may come before a kernel."""

    phi: Callable[[Any], Any] = field()
    inner: Kernel = child()
    _domain = "any"

    def __post_init__(self) -> None:
        check_callable(self.phi, "map", "from a collection to a collection of the same length")

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    def _width(self) -> None:
        return None

    def _view(self, rows: Rows) -> Rows:
        return rows.mapped(self.phi)

    def _derivation(self) -> Derivation:
        because = f"the Gram matrix is that of the inner kernel at the points {name_of(self.phi)}(x_i)"
        return Derivation("k(phi(x), phi(z))", because, (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.map({name_of(self.phi)})"
