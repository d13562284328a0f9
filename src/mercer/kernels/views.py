"""k(phi(x), phi(z)): kernels on some columns of a table, on the image of a function, or behind a linear map."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError, shown
from mercer.inputs import Rows
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, Summand
from mercer.kernels.functions import check_callable, name_of
from mercer.kernels.operators import node
from mercer.kernels.spectral.composition import LinearImage
from mercer.kernels.spectral.measures import Measure
from mercer.numeric.encodings import Encoding
from mercer.numeric.frozen import FrozenArray


class View(Wrapper):
    """Abstract: k(phi(x), phi(z)), the inner kernel on what `view` makes of the rows."""

    @abc.abstractmethod
    def view(self, rows: Rows) -> Rows: ...

    def _encode(self, rows: Rows) -> Encoding:
        return self.inner._encode(self.view(rows))

    def _resolve(self, rows: Rows) -> Kernel:
        return self.with_children((self.inner._resolve(self.view(rows)),))

    def _beyond_unit(self) -> Kernel | None:
        return self.inner._beyond_unit()

    def amplified(self, factor: float) -> Kernel | None:
        louder = self.inner.amplified(factor)
        return None if louder is None else self.with_children((louder,))

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
        return self.inner._summands(self.view(rows))


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
        inner = self.inner._views()
        return inner if inner == {"series"} else frozenset({"table"})  # channels of series are chosen like columns

    def width(self) -> int | None:
        numbers = [c if c >= 0 else -c - 1 for c in self.columns if isinstance(c, int)]
        return max(numbers) + 1 if numbers else None

    def view(self, rows: Rows) -> Rows:
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

    def facts(self) -> frozenset[str]:
        return self.inner.facts() & {"stationary"}  # it sees some columns only, so it cannot tell all laws apart

    def by_differences(self) -> bool:
        return self.inner.by_differences()

    def weak_points(self) -> Floats | None:
        parts = self.inner.weak_points()
        width = self.width()
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
    domain = "any"

    def __post_init__(self) -> None:
        check_callable(self.phi, "map", "from a collection to a collection of the same length")

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    def width(self) -> None:
        return None

    def view(self, rows: Rows) -> Rows:
        return rows.mapped(self.phi)

    def _derivation(self) -> Derivation:
        because = f"the Gram matrix is that of the inner kernel at the points {name_of(self.phi)}(x_i)"
        return Derivation("k(phi(x), phi(z))", because, (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.map({name_of(self.phi)})"


@node
@dataclass(frozen=True, repr=False)
class LinearMap(View):
    """k(Sx, Sz): rows become X @ S.T for S (r, d), and X * S, a factor per column, for S (d,).

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> k = Gaussian(length_scale=1.0).linear([[1.0, 1.0]])
    >>> bool(np.allclose(k(X), Gaussian(length_scale=1.0)(X.sum(axis=1, keepdims=True))))
    True
    """

    S: FrozenArray = field()
    inner: Kernel = child()

    def __post_init__(self) -> None:
        try:
            frozen = self.S if isinstance(self.S, FrozenArray) else FrozenArray(self.S)
        except (TypeError, ValueError):
            raise InputError(f"linear takes numbers, S (r, d) or (d,); got {self.S!r}.") from None
        if frozen.array.ndim not in (1, 2) or frozen.array.size == 0 or not np.isfinite(frozen.array).all():
            raise InputError(f"linear takes finite numbers, S (r, d) or (d,); got an array of shape {frozen.array.shape}.")
        object.__setattr__(self, "S", frozen)

    def width(self) -> int:
        return int(self.S.array.shape[-1])

    def _views(self) -> frozenset[str]:
        return frozenset({"vectors"})

    def view(self, rows: Rows) -> Rows:
        return rows.remember(("linear", self.S), lambda: self._moved(rows))

    def _moved(self, rows: Rows) -> Rows:
        X, name = self._mapped(rows), f"S {rows.name}"
        return Rows(X, name, rows.weights) if sp.issparse(X) else Rows.computed(X, name, rows.weights)

    def _mapped(self, rows: Rows) -> Any:
        X, S = rows.vectors(), self.S.array
        if X.shape[1] != self.width():
            raise InputError(f"linear: S has {self.width()} columns, but {rows.name} has {X.shape[1]}.")
        S = S.astype(X.dtype)
        if S.ndim == 2:
            return X @ S.T
        return sp.csr_array(X.multiply(S[None, :])) if sp.issparse(X) else X * S

    def _input_slopes(self, pair: Pair, coef: Array) -> Floats:  # (m,) -> (n, d)
        inside, S = self.inner._input_slopes(pair, coef), self.S.array
        return inside * S if S.ndim == 1 else inside @ S

    def _spectral(self, width: int) -> Measure:
        S = np.diag(self.S.array) if self.S.array.ndim == 1 else self.S.array
        if S.shape[1] != width:
            raise InputError(f"linear: S has {S.shape[1]} columns; the spectral measure was requested for {width}.")
        return LinearImage(self.inner._spectral(len(S)), S)

    def _derivation(self) -> Derivation:
        shape = " x ".join(str(size) for size in self.S.array.shape)
        return Derivation("k(phi(x), phi(z))", f"phi(x) = Sx with a fixed S ({shape})", (self.inner,))

    def facts(self) -> frozenset[str]:
        S = self.S.array
        injective = bool((S != 0).all()) if S.ndim == 1 else int(np.linalg.matrix_rank(S)) == S.shape[1]
        return self.inner.facts() if injective else self.inner.facts() & {"stationary"}

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return self.inner._value(self._point(x, m), self._point(z, m), m)

    def _point(self, x: Any, m: Arithmetic) -> list[Any]:
        if self.S.array.ndim == 1:
            return [m.number(float(s)) * a for s, a in zip(self.S.array, x, strict=True)]
        image = []
        for row in self.S.array:
            total = m.number(0.0)
            for s, a in zip(row, x, strict=True):
                total = total + m.number(float(s)) * a
            image.append(total)
        return image

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.linear({self.S!r})"
