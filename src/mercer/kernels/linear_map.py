"""A kernel behind a linear map of its vectors: k(Sx, Sz), with S as part of the value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.algebra import child
from mercer.kernels.base import ATOM, Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.operators import node
from mercer.kernels.spectral.composition import LinearImage
from mercer.kernels.spectral.measure import Measure
from mercer.kernels.views import View
from mercer.numeric.frozen import FrozenArray


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

    def _width(self) -> int:
        return int(self.S.array.shape[-1])

    def _views(self) -> frozenset[str]:
        return frozenset({"vectors"})

    def _view(self, rows: Rows) -> Rows:
        return rows.remember(("linear", self.S), lambda: Rows(self._mapped(rows), f"S {rows.name}", rows.weights))

    def _mapped(self, rows: Rows) -> Any:
        X, S = rows.vectors(), self.S.array
        if X.shape[1] != self._width():
            raise InputError(f"linear: S has {self._width()} columns, but {rows.name} has {X.shape[1]}.")
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
            raise InputError(f"linear: S has {S.shape[1]} columns; a spectral measure on {width} was asked for.")
        return LinearImage(self.inner._spectral(len(S)), S)

    def _derivation(self) -> Derivation:
        shape = " x ".join(str(size) for size in self.S.array.shape)
        return Derivation("k(phi(x), phi(z))", f"phi(x) = Sx with a fixed S ({shape})", (self.inner,))

    def _facts(self) -> frozenset[str]:
        S = self.S.array
        injective = bool((S != 0).all()) if S.ndim == 1 else int(np.linalg.matrix_rank(S)) == S.shape[1]
        return self.inner._facts() if injective else self.inner._facts() & {"stationary"}

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
