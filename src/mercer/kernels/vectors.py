"""Kernels on vectors that are functions of the inner product, and the constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, shown
from mercer.inputs import Rows
from mercer.kernels.base import Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, Occurrence, power_count, stack, symmetric_power, tensor_power
from mercer.kernels.fields import nonnegative, real, whole
from mercer.kernels.spectral.measures import Atoms
from mercer.numeric.definite import definiteness, root_of
from mercer.numeric.encodings import Dots, Encoding, Values, dense
from mercer.numeric.frozen import FrozenArray


class DotProduct(Kernel):
    """Abstract: a kernel that needs inner products of the vectors as they are."""

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("dots", lambda: Dots(rows.vectors()))


def _dot(x: Any, z: Any, m: Arithmetic) -> Any:
    total = m.number(0.0)
    for a, b in zip(x, z, strict=True):
        total = total + a * b
    return total


@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """<x, z>: the inner product itself, phi(x) = x.

    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> bool(np.all(Linear()(X) == X @ X.T))
    True
    """

    def _block(self, pair: Pair) -> Array:
        return pair.inner().copy()

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(encoding.norms())

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: encoding.array,
            lambda encoding: int(encoding.array.shape[1]),
            lambda encoding: list(monomials(encoding.array.shape[1], 1)),
        )

    def _derivation(self) -> Derivation:
        return Derivation("inner product", "c'XX'c = ||X'c||^2 >= 0, with phi(x) = x")

    def by_differences(self) -> bool:
        return True

    def moment_order(self) -> int:
        return 1

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return _dot(x, z, m)


@dataclass(frozen=True, repr=False)
class Bilinear(DotProduct):
    """x'Bz: a kernel exactly when B is symmetric positive semi-definite; then phi(x) = R x with R'R = B.

    >>> import numpy as np
    >>> Bilinear([[2.0, 1.0], [1.0, 2.0]]).certificate().status
    'valid'
    >>> Bilinear([[1.0, 2.0], [2.0, 1.0]]).certificate().status
    'invalid'
    """

    B: FrozenArray = field()

    def __post_init__(self) -> None:
        try:
            frozen = self.B if isinstance(self.B, FrozenArray) else FrozenArray(self.B)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"Bilinear: B must be a square matrix of numbers; got {shown(self.B)}.") from None
        if frozen.array.ndim != 2 or frozen.array.shape[0] != frozen.array.shape[1] or frozen.array.size == 0:
            raise InputError(f"Bilinear: B must be a square matrix; got shape {frozen.array.shape}.")
        if not np.isfinite(frozen.array).all():
            raise InputError("Bilinear: B must hold finite numbers; it has NaN or infinite entries.")
        object.__setattr__(self, "B", frozen)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return bool(np.array_equal(self.B.array, self.B.array.T))

    def width(self) -> int:
        return len(self.B.array)

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if X.shape[1] != self.width():
            raise InputError(f"Bilinear: B is for {self.width()} columns, but {rows.name} has {X.shape[1]}.")
        image = X @ self.B.array.astype(X.dtype)  # x'B once per row; the tile then is a plain inner product
        return super()._encode(rows), Dots(sp.csr_array(image) if sp.issparse(image) else np.ascontiguousarray(image))

    def _block(self, pair: Pair) -> Array:
        left, right = pair.part(1).left, pair.part(0).right
        return np.asarray(left.inner(right))

    def _diag(self, encoding: Encoding) -> Array:
        X, image = (dense(part.array) for part in encoding)
        return np.einsum("ij,ij->i", X, image)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap | None:
        if not self.symmetric or not definiteness(self.B).psd:
            return None
        width = max(1, int(np.count_nonzero(np.diagonal(self.B.array) > 0)))
        return FeatureMap(lambda encoding, combined: self._image(encoding[0].array), lambda encoding: width)

    def _image(self, X: Any) -> Any:  # (n, d) -> (n, r)
        return X @ root_of(self.B.array).astype(X.dtype)

    def _why_no_features(self) -> str:
        return (
            " since B is not shown to be positive semi-definite. A product A'A is rounded, and with fewer rows than columns "
            "it seldom is: add a small multiple of the identity, or write Linear() on X @ A.T"
        )

    def _derivation(self) -> Derivation | None:
        found = definiteness(self.B) if self.symmetric else None
        if found is None or not found.psd:
            return None
        return Derivation("x'Bz with B psd", f"B is symmetric, and {found.how}; so B = R'R, and x'Bz = <Rx, Rz>")

    def weak_points(self) -> Floats | None:
        return definiteness(self.B).point if self.symmetric else None

    def by_differences(self) -> bool:
        return True

    def moment_order(self) -> int:
        return 1

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        rows = [_dot([m.number(float(b)) for b in row], z, m) for row in self.B.array]
        return _dot(x, rows, m)


@dataclass(frozen=True, repr=False)
class Polynomial(DotProduct):
    """(<x, z> + c)^p with a whole degree p >= 1 and offset c >= 0: all monomials up to degree p.

    With c < 0 it is no kernel: (<x, z> - 1)^2 on {0, 1} has the eigenvalue -0.62.

    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> Z = Polynomial(degree=3, offset=0.5).feature_map(X)
    >>> bool(Z.shape == (2, 10) and np.allclose(Z @ Z.T, (X @ X.T + 0.5) ** 3))
    True
    """

    degree: int = whole(2, at_least=1, keyword=False)
    offset: float = nonnegative(1.0)

    def __post_init__(self) -> None:
        if isinstance(self.offset, (int, float)) and self.offset < 0:
            raise InputError(
                f"Polynomial: offset must be >= 0; got {shown(self.offset)}. With a negative offset it is not a kernel: "
                "(<x, z> - 1)^2 on the points {0, 1} has the eigenvalue -0.62."
            )
        super().__post_init__()

    def _block(self, pair: Pair) -> Array:
        values = pair.inner() + pair.inner().dtype.type(self.offset)
        return _power(values, self.degree)

    def _diag(self, encoding: Encoding) -> Array:
        return _power(encoding.norms() + self.offset, self.degree)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return self._gradient(pair.inner(), W)

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return self._gradient(encoding.norms(), w)

    def _gradient(self, inner: Array, W: Array) -> Floats:
        if self.offset == 0:
            return np.empty(0)
        return np.array([self.offset * self.degree * np.vdot(W, (inner + self.offset) ** (self.degree - 1))])

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: self._monomials(dense(encoding.array), combined),
            lambda encoding: power_count(encoding.array.shape[1] + (self.offset > 0), self.degree),
            lambda encoding: list(monomials(encoding.array.shape[1], self.degree, self.offset > 0)),
        )

    def _monomials(self, X: Array, combined: bool) -> Any:  # (n, d) -> (n, D)
        c, p = self.offset, self.degree
        if not combined:  # the lectures' order: vec(xx'), sqrt(2c) x, c
            degrees = range(p, -1, -1) if c > 0 else [p]
            return stack([tensor_power(X, j) * (comb(p, j) * c ** (p - j)) ** 0.5 for j in degrees])
        if c > 0:
            X = np.hstack([X, np.full((len(X), 1), c**0.5, X.dtype)])
        return symmetric_power(X, p)

    def _derivation(self) -> Derivation:
        because = f"it is a whole power of <x, z> + c, and the offset c = {self.offset!r} is >= 0"
        base = Linear() + self.offset if self.offset > 0 else Linear()
        return Derivation("polynomial of the inner product", because, (base**self.degree,))

    def moment_order(self) -> int:
        return self.degree

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base = _dot(x, z, m) + m.number(self.offset)
        value = base
        for _ in range(self.degree - 1):
            value = value * base
        return value


def monomials(width: int, degree: int, lower: bool = False) -> list[str]:
    """Names of the features of (<x, z> + c)^degree, combined: "x0^2", "x0 x1", …; with `lower`, those of lower degree too.

    >>> monomials(2, 2, lower=True)
    ['x0^2', 'x0 x1', 'x0', 'x1^2', 'x1', '1']
    """
    columns = combinations_with_replacement(range(width + lower), degree)
    return [_monomial([i for i in chosen if i < width]) for chosen in columns]


def _monomial(chosen: list[int]) -> str:
    powers = {i: chosen.count(i) for i in chosen}
    return " ".join(f"x{i}" if p == 1 else f"x{i}^{p}" for i, p in powers.items()) or "1"


def _power(values: Array, degree: int) -> Array:
    """values ** degree in place, by squaring: np.power calls a slow pow for whole exponents above 2."""
    result, square = None, values
    while degree:
        if degree & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        degree >>= 1
        if degree:
            square = square * square
    assert result is not None
    return result


@dataclass(frozen=True, repr=False)
class Tanh(DotProduct):
    """tanh(a <x, z> + c), the "sigmoid kernel": known not to be a kernel, except for a = 0 and c >= 0 (a constant).

    >>> Tanh(scale=1.0, offset=-1.0).certificate().status
    'invalid'
    """

    scale: float = real(1.0, keyword=False)
    offset: float = real(0.0)

    def _block(self, pair: Pair) -> Array:
        values = pair.inner() * pair.inner().dtype.type(self.scale)
        values += values.dtype.type(self.offset)
        return np.tanh(values, out=values)

    def _diag(self, encoding: Encoding) -> Array:
        return np.tanh(self.scale * encoding.norms() + self.offset)

    def _derivation(self) -> Derivation | None:
        if self.scale == 0 and self.offset >= 0:
            return Derivation("constant", f"with scale 0 it is the constant tanh({self.offset!r}) >= 0")
        return None

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.tanh(m.number(self.scale) * _dot(x, z, m) + m.number(self.offset))


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """A constant c >= 0: phi(x) = sqrt(c). Takes any collection.

    >>> Constant(2.0)(["any", "thing"]).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    value: float = nonnegative(1.0, keyword=False)
    domain = "any"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("ones", lambda: Values(np.ones(len(rows))))

    def _block(self, pair: Pair) -> Array:
        return np.full(pair.shape, self.value)

    def _diag(self, encoding: Encoding) -> Array:
        return np.full(len(encoding), self.value)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return np.array([self.value * W.sum(dtype=np.float64)]) if self.value > 0 else np.empty(0)

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return np.array([self.value * w.sum(dtype=np.float64)]) if self.value > 0 else np.empty(0)

    def amplified(self, factor: float) -> Kernel | None:
        return Constant(self.value * factor) if self.value > 0 else None

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        root = self.value**0.5
        return FeatureMap(lambda encoding, combined: np.full((len(encoding), 1), root), lambda e: 1, lambda e: ["1"])

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        yield Occurrence("constant", (), self.value**0.5)

    def _derivation(self) -> Derivation:
        return Derivation("constant", f"{self.value!r} >= 0, and c'11'c = (sum c)^2 >= 0")

    def _spectral(self, width: int) -> Atoms:
        return Atoms.at_zero(width, self.value)

    def facts(self) -> frozenset[str]:
        return frozenset({"stationary"})

    def by_differences(self) -> bool:
        return True

    def moment_order(self) -> int:
        return 0

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.number(self.value)
