"""Curves: ridge regression, Gaussian process, random features. The height of a point is its target."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.features.random_fourier import RandomFourierFeatures
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.kernels.base import Kernel
from mercer.kernels.vectors import Linear
from mercer.lab.pictures import Line, Picture, along, number
from mercer.lab.samples import arrays
from mercer.lab.state import State

#: Half the width of a band of a Gaussian process, in standard deviations.
WIDTH = 2.0


def read_curve(state: State) -> tuple[Array, Array]:
    """Rows, (n, 1), and targets, (n,)."""
    P, _ = arrays(state.data)
    if len(P) < 2:
        raise InputError("a curve needs two points; click into the picture to put some there.")
    return P[:, :1], P[:, 1]


def process(state: State, kernel: Kernel, optimizer: str | None = None) -> GaussianProcessRegressor:
    """The Gaussian process of a page, unfitted."""
    noise: Any = state.parameters["noise"] if optimizer is None else "fit"
    return GaussianProcessRegressor(kernel, noise=noise, mean="zero", normalize_y=False, optimizer=optimizer)


def ridge(state: State, kernel: Kernel) -> Picture:
    """The fit of ridge regression."""
    X, y = read_curve(state)
    model = KernelRidge(kernel, alpha=state.parameters["alpha"], solver="cholesky").fit(X, y)
    facts = (
        ("error on the points (RMSE)", number(_rmse(y - model.predict(X)))),
        ("leave-one-out error", number(_rmse(model.loo_residuals_))),
        ("norm of f", number(float(model.rkhs_norm_))),
    )
    return _curve(state, (Line("fit", ((along()[:, 0], model.predict(along())),), "f"),), facts)


def gp(state: State, kernel: Kernel) -> Picture:
    """Mean and error bars of a Gaussian process."""
    X, y = read_curve(state)
    model = process(state, kernel).fit(X, y)
    mean, std = model.predict(along(), return_std=True)
    new = np.sqrt(std**2 + state.parameters["noise"])
    inside = np.mean(np.abs(y - model.loo_mean_) <= WIDTH * model.loo_std_)
    facts = (
        ("log marginal likelihood", number(model.log_marginal_likelihood_value_)),
        ("leave-one-out error", number(_rmse(y - model.loo_mean_))),
        ("points within their leave-one-out band", f"{100 * inside:.0f} %"),
    )
    x = along()[:, 0]
    edges = Line("edge", ((x, mean - WIDTH * new), (x, mean + WIDTH * new)), "of a new observation")
    band = (x, mean - WIDTH * std, mean + WIDTH * std)
    return _curve(state, (Line("fit", ((x, mean),), "mean"), edges), facts, band)


def features(state: State, kernel: Kernel) -> Picture:
    """Ridge on D random features beside the exact fit."""
    X, y = read_curve(state)
    alpha, x = state.parameters["alpha"], along()
    exact = KernelRidge(kernel, alpha=alpha, solver="cholesky").fit(X, y).predict(x)
    drawn = RandomFourierFeatures(
        kernel, n_components=int(state.parameters["D"]), random_state=int(state.parameters["seed"])
    )
    Z = drawn.fit_transform(X)
    near = KernelRidge(Linear(), alpha=alpha).fit(Z, y).predict(drawn.transform(x))
    facts = (
        ("largest error of a kernel value", number(float(np.abs(Z @ Z.T - drawn.kernel_(X)).max()))),
        ("largest difference of the curves", number(float(np.abs(near - exact).max()))),
    )
    lines = (Line("exact", ((x[:, 0], exact),), "exact"), Line("fit", ((x[:, 0], near),), "random features"))
    return _curve(state, lines, facts)


def best_process(state: State, kernel: Kernel) -> tuple[Kernel, float]:
    """Kernel and noise of largest marginal likelihood."""
    X, y = read_curve(state)
    model = process(state, kernel, optimizer="bfgs").fit(X, y)
    return model.kernel_, float(model.noise_)


def _curve(state: State, lines: tuple[Line, ...], facts: tuple[tuple[str, str], ...], band: Any = None) -> Picture:
    P, c = arrays(state.data)
    return Picture(P, c, band=band, lines=lines, facts=facts)


def _rmse(residuals: Array) -> float:
    return float(np.sqrt(np.mean(np.square(residuals))))
