"""A ridge along its penalty: norm, degrees of freedom, spread over resamples, errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.ridge.summary import rms
from mercer.grams import gram
from mercer.kernels.text import as_kernel
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.report.drawing import BLUE, GRAY, GREEN, ORANGE, VERMILLION, Panels, log_axis, many_axes, positive
from mercer.report.models import one_ridge
from mercer.selection.surface import default_alphas


@dataclass
class PathDisplay(Panels):
    """||f||, degrees of freedom, spread of fits over resamples, and errors, all along alpha.

    A small penalty leaves the norm large and the fit unstable: other samples of the same rows give other functions. A
    larger one damps both, at the price of a training error; leave-one-out finds the point between.

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
        """Draw four panels, on one axes cut into parts, on four, or on a new figure."""
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
        """Keep an exploding leave-one-out error from flattening the rest."""
        finite = self.loo_errors[np.isfinite(self.loo_errors)]
        if finite.size and finite.max() > 5 * finite[-1]:
            ax.set_ylim(0, 2 * finite[-1])
