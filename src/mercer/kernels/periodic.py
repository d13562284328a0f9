"""The periodic kernel: a Gaussian on circles, one circle per column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import length_scale, positive
from mercer.kernels.spectral.laws import CircleLaw
from mercer.kernels.stationary import Exp, Gaussian, Stationary
from mercer.numeric.encodings import Dots, Encoding
from mercer.numeric.points import Points


@dataclass(frozen=True, repr=False)
class Periodic(Stationary):
    """exp(-2 sum_k sin^2(pi (x_k - z_k) / period) / length_scale_k^2): a product over the columns.

    Since 4 sin^2(pi t / period) is the squared distance on a circle, this is a Gaussian of (cos, sin) of every column.
    With the Euclidean distance inside the sine, as in scikit-learn's ExpSineSquared, it is not a kernel for d >= 2; for
    d = 1 the two agree.

    >>> import numpy as np
    >>> X = np.array([[0.1], [3.1]])
    >>> bool(np.isclose(Periodic(length_scale=0.7, period=3.0)(X)[0, 1], 1.0))
    True
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)
    period: float = positive(1.0)
    _rough = False
    _dense = True

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if sp.issparse(X):
            raise InputError(f"Periodic takes dense arrays; {rows.name} is sparse. Use {rows.name}.toarray().")
        if self._width() not in (None, X.shape[1]):
            raise InputError(
                f"Periodic: length_scale has {self._width()} entries, but {rows.name} has {X.shape[1]} columns."
            )
        key = ("circles", self.period, self.length_scale if self._width() else None)
        return rows.remember(key, lambda: self._circles(X))

    def _circles(self, X: Array) -> tuple[Points, Dots]:
        # np.remainder first: the sine of a huge angle has lost its digits, the remainder has not
        angle = np.remainder(X, self.period) * (2.0 * np.pi / self.period)
        scales = self._scales()
        circle = np.hstack([np.cos(angle), np.sin(angle)]).astype(X.dtype, copy=False)
        return Points(circle, None if scales is None else np.tile(scales, 2)), Dots(X)

    def _block(self, pair: Pair) -> Array:
        return super()._block(pair.part(0))

    def _diag(self, encoding: Encoding) -> Array:
        return super()._diag(encoding[0])

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        return exp(d2, -0.5 * factor)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        S = pair.block(self) * W
        x, z = pair.A[1].array[pair.rows], pair.B[1].array[pair.cols]
        scales = self._scales()
        scale = np.full(x.shape[1], self.length_scale) if scales is None else scales
        own, period = np.zeros(x.shape[1]), 0.0
        for k in range(x.shape[1]):
            turn = np.pi * np.subtract.outer(x[:, k], z[:, k]) / self.period
            own[k] = 4.0 * np.vdot(S, np.sin(turn) ** 2) / scale[k] ** 2
            period += 2.0 * np.vdot(S, np.sin(2.0 * turn) * turn) / scale[k] ** 2
        return np.array([own.sum(), period]) if scales is None else np.append(own, period)

    def _spectral(self, width: int) -> CircleLaw:
        return CircleLaw(tuple(s * s for s in self._inverse_scales(width)), self.period)

    def _facts(self) -> frozenset[str]:
        return frozenset({"stationary"})

    def _derivation(self) -> Derivation:
        because = (
            "a Gaussian of phi(x) = (cos(2 pi x_k / period), sin(2 pi x_k / period)) of every column k, "
            "since ||phi(x) - phi(z)||^2 = 4 sum_k sin^2(pi (x_k - z_k) / period); it holds on every R^d"
        )
        scale = self.length_scale
        return Derivation("k(phi(x), phi(z))", because, (Gaussian(scale * 2 if isinstance(scale, tuple) else scale),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            scale = m.number(float(self.length_scale if scales is None else scales[i]))  # type: ignore[arg-type]
            turn = m.sin(m.pi() * (a - b) / m.number(self.period)) / scale
            total = total + turn * turn
        return m.exp(m.number(-2.0) * total)
