"""Fits of one variable as pictures: under- and over-fitting over alpha and length scale, and outliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.kernels.base import Kernel
from mercer.kernels.text import as_kernel
from mercer.report.drawing import BLACK, BLUE, GRAY, VERMILLION, Drawing, Panels, many_axes, one_axes, one_column
from mercer.report.models import one_ridge
from mercer.selection.surface import length_scale_paths

#: Points of a curve.
POINTS = 400

#: Factors on a chosen alpha and length scale that are clearly too small and clearly too large.
ALPHA_FACTORS, SCALE_FACTORS = (1e-6, 1.0, 1e4), (0.1, 1.0, 10.0)
WORDS = ("too small", "right", "too large")


@dataclass
class FitDisplay(Panels):
    """Fits of one variable under several alphas (columns) and length scales (rows), with data and truth.

    Too much penalty or too wide a kernel misses the shape (under-fitting); too little of either follows the noise
    (over-fitting). Each panel tells its leave-one-out error; the smallest is set in bold.

    >>> import numpy as np
    >>> from mercer.report.ridge import FitDisplay
    >>> X = np.linspace(0, 6, 30)
    >>> display = FitDisplay.from_data(X, np.sin(X), alphas=(1e-6, 0.1, 100.0), length_scales=(0.1, 1.0))
    >>> display.axes_.shape
    (2, 3)
    """

    X: Array  # (n, 1)
    y: Array  # (n,)
    grid: Array  # (m,)
    curves: Array  # (rows, columns, m)
    loo_errors: Array  # (rows, columns) root mean squared leave-one-out residual
    alphas: Array  # (columns,)
    length_scales: Array  # (rows,)
    truth: Array | None  # (m,)
    around: bool = False  # whether the middle panel is the chosen fit, those around it too small or too large

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        kernel: Any = DEFAULT_KERNEL,
        alphas: Sequence[float],
        length_scales: Sequence[float],
        fit_intercept: bool = False,
        truth: Callable[[Array], Array] | None = None,
        around: bool = False,
        ax: Any = None,
    ) -> FitDisplay:
        """Fit every alpha with every length scale and draw the panels; truth maps (m,) inputs to (m,) values.

        around=True says in words that the middle one of three is right and the others are too small and too large.
        """
        column, targets = one_column(X), np.asarray(y, dtype=np.float64)
        if targets.shape != (len(column),):
            raise InputError(f"y has shape {targets.shape} for {len(column)} rows of X; give one target value per row.")
        base = as_kernel(kernel).resolve(column)
        path = _length_scale(base)
        grid = np.linspace(column.min(), column.max(), POINTS)
        curves = np.empty((len(length_scales), len(alphas), POINTS))
        errors = np.empty(curves.shape[:2])
        for i, scale in enumerate(length_scales):
            for j, alpha in enumerate(alphas):
                set_kernel = base.set_params(**{path: float(scale)})
                model = KernelRidge(set_kernel, alpha=alpha, fit_intercept=fit_intercept).fit(column, targets)
                curves[i, j] = model.predict(grid[:, None])
                errors[i, j] = np.sqrt(np.mean(model.loo_residuals_**2))
        known = None if truth is None else np.asarray(truth(grid), dtype=np.float64)
        values = np.asarray(alphas, dtype=np.float64), np.asarray(length_scales, dtype=np.float64)
        return cls(column, targets, grid, curves, errors, *values, known, around).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        alpha_factors: Sequence[float] = ALPHA_FACTORS,
        scale_factors: Sequence[float] = SCALE_FACTORS,
        truth: Callable[[Array], Array] | None = None,
        ax: Any = None,
    ) -> FitDisplay:
        """Draw the fit of a ridge regression amid those with alpha and length scale multiplied by the factors."""
        problem = one_ridge(estimator, cls.__name__)
        kernel, alpha = problem.kernel, float(problem.alpha)
        scale = float(kernel.get_params()[_length_scale(kernel)])
        return cls.from_data(
            X,
            y,
            kernel=kernel,
            alphas=[alpha * factor for factor in alpha_factors],
            length_scales=[scale * factor for factor in scale_factors],
            fit_intercept=problem.fit_intercept,
            truth=truth,
            around=True,
            ax=ax,
        )

    def plot(self, *, ax: Any = None) -> FitDisplay:
        """Draw the panels, on one axes cut into parts, on as many as there are, or on a new figure."""
        rows, columns = self.loo_errors.shape
        size = (0.8 + 2.9 * columns, 0.8 + 2.2 * rows)
        self.figure_, self.axes_ = many_axes(ax, rows, columns, size, sharex=True, sharey=True)
        self.ax_ = self.axes_[0, 0]
        low, high = float(self.y.min()), float(self.y.max())
        margin = 0.25 * (high - low)
        for i, j in np.ndindex(rows, columns):
            self._panel(self.axes_[i, j], i, j)
            self.axes_[i, j].set_ylim(low - margin, high + margin)
        for i in range(rows):
            self.axes_[i, 0].set_ylabel(f"length scale {self.length_scales[i]:.2g}\n{self._word(i, rows)}".rstrip())
        for j in range(columns):
            self.axes_[0, j].annotate(
                f"alpha {self.alphas[j]:.2g}  {self._word(j, columns)}".rstrip(),
                (0.5, 1.0),
                xytext=(0, 22),
                xycoords="axes fraction",
                textcoords="offset points",
                ha="center",
            )
            self.axes_[-1, j].set_xlabel("x")
        if ax is None:
            handles, labels = self.ax_.get_legend_handles_labels()
            self.figure_.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        else:  # the rest of the figure is not ours
            self.ax_.legend(fontsize="x-small", frameon=False)
        return self

    def _word(self, index: int, count: int) -> str:
        """Too small, right, too large, where that is known."""
        return f"({WORDS[index]})" if self.around and count == 3 else ""

    def _panel(self, ax: Any, i: int, j: int) -> None:
        ax.plot(self.X[:, 0], self.y, "o", ms=3, color=GRAY, mec="none", alpha=0.7, label="data")
        if self.truth is not None:
            ax.plot(self.grid, self.truth, color=BLACK, lw=1.2, ls="--", label="truth")
        ax.plot(self.grid, self.curves[i, j], color=BLUE, lw=1.8, label="fit")
        best = self.loo_errors[i, j] == np.nanmin(self.loo_errors)
        weight = "bold" if best else "normal"
        ax.set_title(f"leave-one-out error {self.loo_errors[i, j]:.3g}", fontsize="small", fontweight=weight)


@dataclass
class RobustDisplay(Drawing):
    """Plain ridge against Huber's loss on data with outliers; points are filled as far as they are counted.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.report.ridge import RobustDisplay
    >>> X = np.linspace(0, 6, 40)
    >>> y = np.sin(X)
    >>> y[5] += 10.0
    >>> display = RobustDisplay.from_data(X, y, kernel=Gaussian(1.0), alpha=0.1, truth=np.sin)
    >>> display.huber_error < display.plain_error
    True
    """

    X: Array  # (n, 1)
    y: Array  # (n,)
    weights: Array  # (n,) in [0, 1], those of Huber's reweighting
    grid: Array  # (m,)
    plain: Array  # (m,)
    huber: Array  # (m,)
    truth: Array | None  # (m,)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        kernel: Any = DEFAULT_KERNEL,
        alpha: float = 1.0,
        delta: float | None = None,
        fit_intercept: bool = False,
        truth: Callable[[Array], Array] | None = None,
        ax: Any = None,
    ) -> RobustDisplay:
        """Fit with both losses and draw them."""
        column = one_column(X)
        settings: dict[str, Any] = {"alpha": alpha, "fit_intercept": fit_intercept}
        plain = KernelRidge(kernel, **settings).fit(column, y)
        robust = KernelRidge(kernel, loss="huber", delta=delta, **settings).fit(column, y)
        grid = np.linspace(column.min(), column.max(), POINTS)
        known = None if truth is None else np.asarray(truth(grid), dtype=np.float64)
        curves = plain.predict(grid[:, None]), robust.predict(grid[:, None])
        return cls(column, np.asarray(y, dtype=np.float64), robust.huber_.value, grid, *curves, known).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, truth: Callable[[Array], Array] | None = None, ax: Any = None
    ) -> RobustDisplay:
        """Draw a fitted ridge regression and the same settings with the other loss."""
        problem = one_ridge(estimator, cls.__name__)
        delta = getattr(estimator, "delta", None)
        settings: dict[str, Any] = {
            "alpha": float(problem.alpha),
            "fit_intercept": problem.fit_intercept,
            "delta": delta,
        }
        return cls.from_data(X, y, kernel=problem.kernel, truth=truth, ax=ax, **settings)

    @property
    def plain_error(self) -> float:
        """The root mean squared distance of the plain fit from the truth; NaN where the truth is not known."""
        return _distance(self.plain, self.truth)

    @property
    def huber_error(self) -> float:
        """The same for Huber's fit."""
        return _distance(self.huber, self.truth)

    def plot(self, *, ax: Any = None) -> RobustDisplay:
        """Draw on the axes given, or on a new figure."""
        self.figure_, self.ax_ = one_axes(ax, (7.0, 4.2))
        x = self.X[:, 0]
        points = self.ax_.scatter(
            x, self.y, c=self.weights, cmap="Greys", vmin=0, vmax=1, s=26, edgecolors=BLACK, linewidths=0.6, label="data"
        )
        if self.truth is not None:
            self.ax_.plot(self.grid, self.truth, color=BLACK, lw=1.2, ls="--", label="truth")
        self.ax_.plot(
            self.grid, self.plain, color=VERMILLION, lw=2, ls="-.", label=self._label("plain ridge", self.plain_error)
        )
        self.ax_.plot(self.grid, self.huber, color=BLUE, lw=2, label=self._label("Huber", self.huber_error))
        self.figure_.colorbar(points, ax=self.ax_, label="weight in Huber's fit")
        self.ax_.set(xlabel="x", ylabel="y")
        self.ax_.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return self

    def _label(self, name: str, error: float) -> str:
        return name if self.truth is None else f"{name}, {error:.2g} from the truth"


def _distance(curve: Array, truth: Array | None) -> float:
    return float("nan") if truth is None else float(np.sqrt(np.mean((curve - truth) ** 2)))


def _length_scale(kernel: Kernel) -> str:
    """The name of the one length scale of a kernel."""
    paths = length_scale_paths(kernel)
    if len(paths) != 1:
        raise InputError(
            f"this display varies one length scale, but {kernel} has {len(paths)}: {', '.join(paths) or 'none'}."
        )
    return paths[0]
