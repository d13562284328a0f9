"""Smoothness as a picture: ||f||^2 = sum_l |f_l|^2 / k_l, the coefficients of a fit against the kernel's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError
from mercer.grams import gram
from mercer.kernels.base import Kernel
from mercer.report.drawing import BLACK, BLUE, GRAY, VERMILLION, Panels, many_axes, one_column
from mercer.report.models import one_ridge

Parts = tuple[Array, Array, Array, Array | None, Array]

#: Points per period at which a kernel is sampled for its Fourier coefficients.
POINTS = 2**14

#: A kernel counts as decayed where it is this fraction of k(0).
DECAYED = 1e-9

#: A kernel whose tail falls slowly gets a circle of SLOW times the data, if it is below SLOWLY of k(0) half way round.
SLOW, SLOWLY = 256.0, 0.02

#: Coefficients of the kernel below this fraction of the largest are rounding.
FLOOR = 1e-14


@dataclass
class SmoothnessDisplay(Panels):
    """Squared coefficients of a fit against the kernel's own, and the share of ||f||^2 that each has.

    In the Mercer basis, f = sum_l f_l e_l with e_l the eigenfunctions of the kernel on the training rows and k_l their
    eigenvalues (those of K / n); in the Fourier basis, for one variable and a stationary kernel, e_l are waves. Either
    way ||f||^2 = sum_l |f_l|^2 / k_l: a rough function, with |f_l|^2 large where k_l is small, is long.

    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> from mercer.report.ridge import SmoothnessDisplay
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> model = KernelRidge(Gaussian(0.7), alpha=0.1).fit(X, np.sin(3 * X[:, 0]))
    >>> displays = [SmoothnessDisplay.from_estimator(model, basis=basis) for basis in ("mercer", "fourier")]
    >>> bool(np.allclose([display.shares.sum() for display in displays], model.rkhs_norm_**2))
    True
    """

    index: Array  # (r,) number of the eigenfunction, or frequency in cycles per unit of x
    kernel: Array  # (r,) k_l
    fit: Array  # (r,) |f_l|^2
    data: Array | None  # (r,) |y_l|^2, of the targets
    shares: Array  # (r,) |f_l|^2 / k_l
    norm_squared: float  # of the fitted model
    basis: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, basis: str = "mercer", period: float | None = None, ax: Any = None
    ) -> SmoothnessDisplay:
        """Draw a fitted regression of one target; basis is "mercer" (any input) or "fourier" (one variable).

        `period` is the length of the circle on which the waves live, for basis "fourier": if not given, one that is
        long enough for the kernel to decay. A periodic kernel has one of its own, which has to be given.
        """
        problem = one_ridge(estimator, cls.__name__)
        dual = np.asarray(estimator.dual_coef_, dtype=np.float64)
        if basis == "mercer":
            y = np.asarray(problem.Y, dtype=np.float64) - float(estimator.intercept_)
            parts: Parts = _mercer(estimator.kernel_, estimator.X_fit_, dual, y)
        elif basis == "fourier":
            parts = _fourier(estimator.kernel_, one_column(estimator.X_fit_)[:, 0], dual, period)
        else:
            raise InputError(f'basis must be "mercer" or "fourier"; got {basis!r}.')
        return cls(*parts, float(estimator.rkhs_norm_) ** 2, basis).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SmoothnessDisplay:
        """Draw two panels, on one axes cut into parts, on two, or on a new figure."""
        self.figure_, self.axes_ = many_axes(ax, 1, 2, (9.4, 4.0), sharex=True)
        self.ax_, shares = self.axes_.flat
        fourier = self.basis == "fourier"
        style: dict[str, Any] = {"ls": "none", "ms": 3.5}
        if self.data is not None:
            self.ax_.plot(self.index, self.data, marker="x", color=GRAY, label=r"$|y_l|^2$, the targets", zorder=1, **style)
        self.ax_.plot(self.index, self.fit, marker="o", color=BLUE, label=r"$|f_l|^2$, the fit", zorder=3, **style)
        self.ax_.plot(self.index, self.kernel, color=VERMILLION, lw=2, label=r"$k_l$, the kernel", zorder=2)
        self.ax_.set(yscale="log", ylabel="squared coefficient", title=self._title())
        self._limit()
        self.ax_.legend(frameon=False)
        total = np.cumsum(self.shares)
        shares.plot(self.index, total, color=BLUE, lw=2, label=r"sum of $|f_l|^2 / k_l$ up to here")
        shares.axhline(self.norm_squared, color=BLACK, lw=1, ls="--", label=rf"$||f||^2$ = {self.norm_squared:.4g}")
        left_out = f"{100 * self.left_out:.2g} % left out"
        shares.set(ylabel=r"sum of $|f_l|^2 / k_l$", title=f"where the norm comes from\n({left_out})")
        shares.set_ylim(0, 1.35 * self.norm_squared if self.norm_squared > 0 else 1.0)
        shares.legend(frameon=False, loc="upper left")
        for panel in self.axes_.flat:
            panel.set_xlabel("frequency, cycles per unit of x" if fourier else "l, number of the eigenfunction")
            if not fourier:
                panel.set_xscale("log")
            panel.grid(alpha=0.25)
        if fourier:
            self.ax_.set_xlim(0, self._last_frequency())
        return self

    @property
    def left_out(self) -> float:
        """The part of ||f||^2 that the waves or eigenfunctions kept here do not show: below the cut-off, or beyond."""
        return 1.0 - float(self.shares.sum()) / self.norm_squared if self.norm_squared > 0 else 0.0

    def _title(self) -> str:
        return "Fourier coefficients" if self.basis == "fourier" else "Mercer coefficients on the training rows"

    def _limit(self) -> None:
        """Leave out what is only rounding."""
        top = max(float(self.kernel.max()), float(self.fit.max()), 0.0 if self.data is None else float(self.data.max()))
        self.ax_.set_ylim(max(FLOOR * top, 1e-300), 10 * top)

    def _last_frequency(self) -> float:
        """The frequency up to which nearly all of the norm has come together, with some room."""
        total = np.cumsum(self.shares)
        last = int(np.searchsorted(total, (1 - 1e-4) * total[-1]))
        return float(self.index[min(int(1.3 * last) + 2, len(self.index) - 1)])


def _mercer(kernel: Kernel, X: Any, dual: Array, y: Array) -> Parts:
    """index, k_l, |f_l|^2, |y_l|^2 and shares on the training rows, where e_l = sqrt(n) u_l for the eigenvectors u_l."""
    K = np.asarray(gram(kernel, X), dtype=np.float64)
    n = len(K)
    values, U = np.linalg.eigh(K)
    values, U = values[::-1], U[:, ::-1]
    kept = values > 10 * n * np.finfo(np.float64).eps * values[0]
    values, U = values[kept], U[:, kept]
    along = U.T @ dual
    # f = K dual has the coefficient s (u'dual) along u; its mean square over the rows is the sum of |f_l|^2
    return np.arange(1, len(values) + 1), values / n, (values * along) ** 2 / n, (U.T @ y) ** 2 / n, values * along**2


def _fourier(kernel: Kernel, x: Array, dual: Array, period: float | None) -> Parts:
    """frequency, k_l, |f_l|^2, nothing, and shares on a circle: f_l = k_l sum_i dual_i exp(-2 pi i l x_i / period)."""
    if "stationary" not in kernel.certificate().facts:
        raise CapabilityError(f'basis="fourier" needs a kernel known to be stationary; {kernel} is not. Use basis="mercer".')
    length = float(period) if period is not None else _decay(kernel, float(np.ptp(x)) or 1.0)
    lags = np.arange(POINTS) * (length / POINTS)
    # on a circle a lag and the way round are the same; for a kernel of this period so they are anyway
    profile = kernel(np.zeros((1, 1)), np.minimum(lags, length - lags)[:, None])[0]
    spectrum = np.fft.rfft(profile).real / POINTS
    count = int(np.flatnonzero(spectrum > FLOOR * spectrum.max()).max()) + 1
    spectrum = np.maximum(spectrum[: min(count, POINTS // 2)], 0.0)
    waves = np.arange(len(spectrum))
    amplitude = np.array([np.abs(np.exp(-2j * np.pi * wave * (x / length)) @ dual) ** 2 for wave in waves])
    twice = np.where(waves == 0, 1.0, 2.0)  # l and -l together
    kept = spectrum > 0
    parts = waves / length, spectrum, twice * spectrum**2 * amplitude, twice * spectrum * amplitude
    frequency, coefficients, squares, shares = (part[kept] for part in parts)
    return frequency, coefficients, squares, None, shares


def _decay(kernel: Kernel, extent: float) -> float:
    """A circumference on which the kernel has decayed beyond the data, so that the circle is as good as the line."""
    zero, top = np.zeros((1, 1)), float(kernel.diag(np.zeros((1, 1)))[0])
    for doubling in range(12):
        reach = extent * 2.0**doubling / 4
        if float(np.abs(kernel(zero, np.array([[reach], [0.9 * reach], [0.8 * reach]]))).max()) <= DECAYED * top:
            return extent + 2 * reach
    # algebraic tails, as of RationalQuadratic, never get that small: a circle many times the data is taken, and what it and
    # the cut-off of the spectrum leave out is said in the picture
    if float(np.abs(kernel(zero, np.array([[SLOW * extent / 2]])))[0, 0]) <= SLOWLY * top:
        return SLOW * extent
    raise InputError(f"{kernel} does not decay within {extent * 512:.3g}; give period=, the length after which it repeats.")
