"""Displays of ridge regression, in scikit-learn's Display pattern.

| display | shows |
|---|---|
| SurfaceDisplay | cross-validated error over alpha and length scale, the chosen point, points within one standard error |
| FitDisplay | fits of one variable with alpha and length scale too small, right and too large |
| PathDisplay | ||f||, degrees of freedom, spread over resamples and errors along alpha |
| SmoothnessDisplay | ||f||^2 = sum |f_l|^2 / k_l, Mercer or Fourier coefficients |
| PredictionDisplay | predicted against true values, with intervals |
| RobustDisplay | squared loss against Huber's loss, with outliers |

Each has `from_estimator` and a second constructor, `plot(ax=None)`, and the attributes `ax_` and `figure_` (`axes_` if there
are several panels). They need matplotlib: the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.ridge.problem import RidgeProblem
from mercer.estimators.ridge.summary import rms
from mercer.grams import gram
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.report.drawing import (
    BLACK,
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    VERMILLION,
    Drawing,
    Panels,
    log_axis,
    many_axes,
    one_axes,
    one_column,
    positive,
)
from mercer.report.predictions import PredictionDisplay
from mercer.report.surface import SurfaceDisplay
from mercer.selection.surface import default_alphas, length_scale_paths

__all__ = [
    "FitDisplay",
    "PathDisplay",
    "PredictionDisplay",
    "RobustDisplay",
    "SmoothnessDisplay",
    "SurfaceDisplay",
]


def one_ridge(estimator: Any, display: str) -> RidgeProblem:
    """Return the problem that a fitted ridge regression of one target has solved."""
    check_is_fitted(estimator)
    problem = vars(estimator).get("_problem")
    if not isinstance(problem, RidgeProblem):
        raise InputError(f"{display} draws a KernelRidge or KernelRidgeCV; got {type(estimator).__name__}.")
    if problem.Y.ndim != 1:
        raise InputError(
            f"{display} draws one target; the estimator was fitted to {problem.Y.shape[1]}. Fit them one by one."
        )
    return problem


#: Points of a curve.
POINTS = 400

#: Factors on a chosen alpha and length scale that are clearly too small and clearly too large.
ALPHA_FACTORS, SCALE_FACTORS = (1e-6, 1.0, 1e4), (0.1, 1.0, 10.0)
WORDS = ("too small", "right", "too large")


@dataclass
class FitDisplay(Panels):
    """Fits of one variable under several alphas (columns) and length scales (rows), with data and truth.

    Too large a penalty or too wide a kernel misses the shape (under-fitting); too small a penalty or too narrow a kernel
    follows the noise (over-fitting). Each panel shows its leave-one-out error; the smallest is in bold.

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
    around: bool = False  # whether the middle panel is the chosen fit and the others have too small or too large values

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

        around=True labels the middle value of three as right and the others as too small and too large.
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
        """Draw the fit of a ridge regression, and fits with alpha and length scale multiplied by the factors."""
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
        """Draw the panels on one axes, which is divided, on one axes per panel, or on a new figure."""
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
        else:  # the caller owns the rest of the figure
            self.ax_.legend(fontsize="x-small", frameon=False)
        return self

    def _word(self, index: int, count: int) -> str:
        """Return "too small", "right" or "too large" for a panel around a chosen fit, otherwise an empty text."""
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
    """Plain ridge against Huber's loss on data with outliers; the fill of a point shows its weight.

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
        delta = vars(estimator).get("delta")
        settings: dict[str, Any] = {
            "alpha": float(problem.alpha),
            "fit_intercept": problem.fit_intercept,
            "delta": delta,
        }
        return cls.from_data(X, y, kernel=problem.kernel, truth=truth, ax=ax, **settings)

    @property
    def plain_error(self) -> float:
        """The root mean squared distance of the plain fit from the truth; NaN if the truth is not known."""
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
    """Return the name of the only length scale of a kernel."""
    paths = length_scale_paths(kernel)
    if len(paths) != 1:
        raise InputError(
            f"This display varies one length scale, but {kernel} has {len(paths)}: {', '.join(paths) or 'none'}."
        )
    return paths[0]


@dataclass
class PathDisplay(Panels):
    """||f||, degrees of freedom, spread of fits over resamples, and errors, all along alpha.

    A small penalty leaves the norm large and the fit unstable: resamples of the rows give different functions. A larger one
    reduces both, but increases the training error; leave-one-out finds the best value between.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.report.ridge import PathDisplay
    >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
    >>> display = PathDisplay.from_data(X, np.sin(X[:, 0]), kernel=Gaussian(1.0), resamples=5)
    >>> bool(np.all(np.diff(display.norms) <= 0) and np.all(np.diff(display.dof) <= 0))
    True
    """

    alphas: Array  # (L,) ascending
    norms: Array  # (L,) ||f||
    dof: Array  # (L,) tr K (K + alpha I)^-1
    spread: Array  # (L,) root mean variance of f(x_i) over the resamples
    loo_errors: Array  # (L,)
    training_errors: Array  # (L,)
    n: int
    resamples: int
    chosen: float | None  # the alpha of the estimator

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        kernel: Any = DEFAULT_KERNEL,
        alphas: Sequence[float] | None = None,
        fit_intercept: bool = False,
        resamples: int = 20,
        random_state: int = 0,
        chosen: float | None = None,
        ax: Any = None,
    ) -> PathDisplay:
        """Compute the path of one kernel, by one eigendecomposition and one more per resample, and draw it.

        A resample draws n rows with replacement; a row drawn twice has weight two, one not drawn has none. Each takes
        about 10 n^3 flops: from a few thousand rows on, give a sample of them or fewer resamples.
        """
        targets = np.asarray(y, dtype=np.float64)
        if targets.ndim != 1:
            raise InputError(f"PathDisplay draws one target; y has shape {targets.shape}, give (n,).")
        resolved = as_kernel(kernel).resolve(X)
        values = default_alphas(resolved.diag(X)) if alphas is None else np.sort(np.asarray(alphas, dtype=np.float64))
        K, n, rng = gram(resolved, X), len(targets), np.random.default_rng(random_state)
        K = np.asarray(K, dtype=np.float64)
        path = EigenPath.from_gram(K, fit_intercept=fit_intercept)
        whole = EigenFit(path, targets)
        fits = np.empty((resamples, len(values), n))
        for index in range(resamples):
            weights = rng.multinomial(n, np.full(n, 1 / n)).astype(np.float64)
            again = EigenFit(EigenPath.from_gram(K, weights=weights, fit_intercept=fit_intercept), targets)
            fits[index] = targets - again.residuals(values)
        spread = np.sqrt(fits.var(axis=0, ddof=1).mean(axis=1)) if resamples > 1 else np.full(len(values), np.nan)
        return cls(
            values,
            np.sqrt(whole.norm_squared(values)),
            path.effective_dof(values),
            spread,
            np.array([rms(loo) for loo in whole.leave_one_out(values)]),
            np.array([rms(residuals) for residuals in whole.residuals(values)]),
            n,
            resamples,
            chosen,
        ).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> PathDisplay:
        """Draw the path of a fitted ridge regression's kernel, its alpha marked; options are those of `from_data`."""
        problem = one_ridge(estimator, cls.__name__)
        given = {"kernel": problem.kernel, "fit_intercept": problem.fit_intercept, "chosen": float(problem.alpha)}
        return cls.from_data(X, y, ax=ax, **{**given, **options})

    def plot(self, *, ax: Any = None) -> PathDisplay:
        """Draw four panels on one axes, which is divided, on four axes, or on a new figure."""
        self.figure_, self.axes_ = many_axes(ax, 2, 2, (8.4, 6.0), sharex=True)
        self.ax_ = self.axes_[0, 0]
        x = positive(self.alphas)
        norm, dof, spread, errors = self.axes_.flat
        norm.plot(x, self.norms, color=BLUE, marker="o", ms=3)
        norm.set(yscale="log", ylabel="||f||", title="norm: damped by alpha")
        dof.plot(x, self.dof, color=GREEN, marker="o", ms=3)
        dof.set(ylabel="degrees of freedom", title=f"tr K (K + alpha I)⁻¹, of {self.n} rows")
        spread.plot(x, self.spread, color=ORANGE, marker="o", ms=3)
        spread.set(yscale="log", ylabel="standard deviation of f(x)", title=f"spread over {self.resamples} resamples")
        errors.plot(x, self.loo_errors, color=VERMILLION, marker="o", ms=3, label="leave-one-out")
        errors.plot(x, self.training_errors, color=GRAY, marker="s", ms=3, ls="--", label="training")
        errors.set(ylabel="RMSE", title="error")
        self._limit_errors(errors)
        for panel in self.axes_.flat:
            panel.set_xscale("log")
            log_axis(panel.xaxis, self.alphas)
            if self.chosen is not None and self.chosen > 0:
                panel.axvline(self.chosen, color=GRAY, lw=1, ls=":", label="chosen alpha")
            panel.grid(alpha=0.25)
        for panel in self.axes_[1]:
            panel.set_xlabel("alpha")
        errors.legend(frameon=False)
        return self

    def _limit_errors(self, ax: Any) -> None:
        """Limit the axis of errors, because a very large leave-one-out error would hide the other curves."""
        finite = self.loo_errors[np.isfinite(self.loo_errors)]
        if finite.size and finite.max() > 5 * finite[-1]:
            ax.set_ylim(0, 2 * finite[-1])


Parts = tuple[Array, Array, Array, Array | None, Array]

#: Points per period at which a kernel is sampled for its Fourier coefficients.
FOURIER_POINTS = 2**14

#: A kernel has decayed when it is below this fraction of k(0).
DECAYED = 1e-9

#: A kernel with a slowly decaying tail gets a circle of SLOW times the data, if k is below SLOWLY of k(0) at half of it.
SLOW, SLOWLY = 256.0, 0.02

#: Coefficients of the kernel below this fraction of the largest are rounding.
FLOOR = 1e-14


@dataclass
class SmoothnessDisplay(Panels):
    """Squared coefficients of a fit against the kernel's own, and the share of ||f||^2 that each has.

    In the Mercer basis, f = sum_l f_l e_l with e_l the eigenfunctions of the kernel on the training rows and k_l their
    eigenvalues (those of K / n); in the Fourier basis, for one variable and a stationary kernel, e_l are waves. Either
    way ||f||^2 = sum_l |f_l|^2 / k_l: a rough function, with |f_l|^2 large where k_l is small, has a large norm.

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

        `period` is the length of the circle of the waves, for basis "fourier". The default is long enough for the kernel to
        decay. For a periodic kernel give its period.
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
        """Draw two panels on one axes, which is divided, on two axes, or on a new figure."""
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
        """The part of ||f||^2 that is not in the waves or eigenfunctions shown here."""
        return 1.0 - float(self.shares.sum()) / self.norm_squared if self.norm_squared > 0 else 0.0

    def _title(self) -> str:
        return "Fourier coefficients" if self.basis == "fourier" else "Mercer coefficients on the training rows"

    def _limit(self) -> None:
        """Limit the axes to values above rounding error."""
        top = max(float(self.kernel.max()), float(self.fit.max()), 0.0 if self.data is None else float(self.data.max()))
        self.ax_.set_ylim(max(FLOOR * top, 1e-300), 10 * top)

    def _last_frequency(self) -> float:
        """Return a frequency slightly above the one that contains nearly all of the norm."""
        total = np.cumsum(self.shares)
        last = int(np.searchsorted(total, (1 - 1e-4) * total[-1]))
        return float(self.index[min(int(1.3 * last) + 2, len(self.index) - 1)])


def _mercer(kernel: Kernel, X: Any, dual: Array, y: Array) -> Parts:
    """Return index, k_l, |f_l|^2, |y_l|^2 and shares on the training rows; e_l = sqrt(n) u_l for the eigenvectors u_l."""
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
    """Return frequency, k_l, |f_l|^2, NaN and shares on a circle: f_l = k_l sum_i dual_i exp(-2 pi i l x_i / period)."""
    if "stationary" not in kernel.certificate().facts:
        raise CapabilityError(f'basis="fourier" needs a kernel known to be stationary; {kernel} is not. Use basis="mercer".')
    length = float(period) if period is not None else _decay(kernel, float(np.ptp(x)) or 1.0)
    lags = np.arange(FOURIER_POINTS) * (length / FOURIER_POINTS)
    # on a circle a lag equals the period minus the lag, as it does for a kernel of this period
    profile = kernel(np.zeros((1, 1)), np.minimum(lags, length - lags)[:, None])[0]
    spectrum = np.fft.rfft(profile).real / FOURIER_POINTS
    count = int(np.flatnonzero(spectrum > FLOOR * spectrum.max()).max()) + 1
    spectrum = np.maximum(spectrum[: min(count, FOURIER_POINTS // 2)], 0.0)
    waves = np.arange(len(spectrum))
    amplitude = np.array([np.abs(np.exp(-2j * np.pi * wave * (x / length)) @ dual) ** 2 for wave in waves])
    twice = np.where(waves == 0, 1.0, 2.0)  # l and -l together
    kept = spectrum > 0
    parts = waves / length, spectrum, twice * spectrum**2 * amplitude, twice * spectrum * amplitude
    frequency, coefficients, squares, shares = (part[kept] for part in parts)
    return frequency, coefficients, squares, None, shares


def _decay(kernel: Kernel, extent: float) -> float:
    """Return a period at which the kernel has decayed beyond the data, so the circle approximates the line."""
    zero, top = np.zeros((1, 1)), float(kernel.diag(np.zeros((1, 1)))[0])
    for doubling in range(12):
        reach = extent * 2.0**doubling / 4
        if float(np.abs(kernel(zero, np.array([[reach], [0.9 * reach], [0.8 * reach]]))).max()) <= DECAYED * top:
            return extent + 2 * reach
    # algebraic tails, as of RationalQuadratic, never get that small: the period is then many times the extent of the data,
    # and the picture reports the part of the norm that is left out
    if float(np.abs(kernel(zero, np.array([[SLOW * extent / 2]])))[0, 0]) <= SLOWLY * top:
        return SLOW * extent
    raise InputError(f"{kernel} does not decay within {extent * 512:.3g}; give period=, the length after which it repeats.")
