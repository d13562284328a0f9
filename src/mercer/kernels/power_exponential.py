"""The family exp(-(||x - z||_p / l)^q), 0 < q <= p <= 2: Laplacian, Exponential, Gaussian and everything between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import length_scale, positive
from mercer.kernels.spectral.stable import StableLaw
from mercer.kernels.stationary import Stationary
from mercer.numeric.encodings import Encoding
from mercer.numeric.points import median_distance, power_slopes, weighted_sums


@dataclass(frozen=True, repr=False)
class PowerExponential(Stationary):
    """exp(-(||x - z||_p / length_scale)^q) with norm p and power q, 0 < power <= norm <= 2.

    norm = power = 1 is Laplacian, norm = 2 and power = 1 is Exponential, norm = power = 2 is a Gaussian whose length
    scale is sqrt(2) times larger. With a sequence of length scales, ||.||_p is that of the columns divided by theirs.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> bool(np.isclose(PowerExponential(2.0, power=1.0, length_scale=10.0)(X)[0, 1], np.exp(-0.5)))
    True
    >>> bool(np.isclose(PowerExponential(1.0, power=0.5, length_scale=7.0)(X)[0, 1], np.exp(-1.0)))
    True
    """

    norm: float = positive(2.0, keyword=False, free=False)
    power: float = positive(1.0, free=False)
    length_scale: float | tuple[float, ...] | str = length_scale()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.power <= self.norm <= 2.0:
            raise InputError(
                f"PowerExponential needs 0 < power <= norm <= 2; got norm={self.norm!r}, power={self.power!r}. Outside "
                "these bounds it is not a kernel in every dimension."
            )

    @property
    def _rough(self) -> bool:  # type: ignore[override]
        return self.power < 2.0

    @property
    def _dense(self) -> bool:  # type: ignore[override]
        return self.norm != 2.0

    def _encode(self, rows: Rows) -> Encoding:
        if self.norm != 2.0 and sp.issparse(rows.vectors()):
            raise InputError(f"PowerExponential with norm < 2 takes dense arrays; {rows.name} is sparse.")
        return super()._encode(rows)

    def _sums(self, pair: Pair) -> Array:
        """sum_k |x_k - z_k|^p / l_k^p, in a shared array unless one length scale serves all columns."""
        if self.norm == 2.0:
            sums = self._distances(pair)
        else:
            sums = pair.manhattan_distances() if self.norm == 1.0 else pair.power_sums(self.norm)
        return sums if self._factor() == 1.0 else sums * sums.dtype.type(self._factor() ** (self.norm / 2.0))

    def _block(self, pair: Pair) -> Array:
        sums = self._sums(pair)
        if self.power == self.norm:
            return pair.exp(sums, -1.0)
        exponent = np.sqrt(sums) if self.norm == 2.0 * self.power else sums ** sums.dtype.type(self.power / self.norm)
        return pair.exp(exponent, -1.0, exponent)

    def _weights(self, pair: Pair, K: Array) -> Array:
        """power K s^(power/norm - 1), and 0 where s = 0: what every derivative has as a factor."""
        sums = self._sums(pair)
        if self.power == self.norm:
            return self.power * K
        near = sums > 0
        slope = np.zeros_like(sums)
        np.power(sums, self.power / self.norm - 1.0, out=slope, where=near)
        return self.power * K * slope

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        S = self._weights(pair, pair.block(self)) * W  # dK / dlog(l_k) = S (|x_k - z_k| / l_k)^p
        if self._width() is None:
            return np.array([np.vdot(S, self._sums(pair))])
        a, b = pair.A.array[pair.rows], pair.B.array[pair.cols]
        return weighted_sums(a, b, S, self.norm)

    def _input_slopes(self, pair: Pair, coef: Array) -> Floats:  # (m,) -> (n, d)
        weights = -self._weights(pair, pair.block(self)) * coef
        scale = self._scales()
        a, b = pair.A.array[pair.rows], pair.B.array[pair.cols]
        if scale is None:  # encoded rows are divided by several length scales, not by one
            scale = np.array(self._factor() ** -0.5)
            a, b = a / scale, b / scale
        return power_slopes(a, b, weights, self.norm) / scale

    def _median(self, rows: Rows) -> float:
        return median_distance(rows.vectors(), "manhattan" if self.norm < 1.5 else "euclidean", rows.weights)

    def _spectral(self, width: int) -> StableLaw:
        return StableLaw(self._inverse_scales(width), self.norm, self.power)

    def _derivation(self) -> Derivation:
        because = (
            f"|t|^p is negative definite for 0 < p = {self.norm!r} <= 2, so is the sum over columns, so is its power "
            f"q/p = {self.power / self.norm:.3g} <= 1 (a Bernstein function), and exp(-psi) of such a psi is a kernel"
        )
        return Derivation("Schoenberg", because)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        if self.norm not in (1.0, 2.0) or self.power not in (self.norm, self.norm / 2.0):
            return Kernel._value(self, x, z, m)
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            step = m.absolute(a - b) / m.number(float(self.length_scale if scales is None else scales[i]))  # type: ignore[arg-type]
            total = total + (step if self.norm == 1.0 else step * step)
        return m.exp(m.number(-1.0) * (total if self.power == self.norm else m.sqrt(total)))
