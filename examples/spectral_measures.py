"""Kernels and their spectral measures

Bochner in pictures: a kernel beside its spectral measure, the error of random features, and universality.

    python examples/spectral_measures.py [--out FOLDER]
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from lecture import folder

import mercer


def measures(out: Path) -> None:
    """Kernels of one column beside their spectral densities."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
    t, w = np.linspace(0, 4, 400), np.linspace(0, 8, 400)
    for kernel in (mercer.Gaussian(1.0), mercer.Matern(1.5), mercer.Exponential(1.0), mercer.RationalQuadratic(shape=0.7)):
        left.plot(t, kernel(t[:, None], np.zeros((1, 1)))[:, 0], label=type(kernel).__name__)
        right.semilogy(w, kernel.spectral(1).density(w))
    left.set(xlabel="x - z", title="kernel")
    right.set(xlabel="frequency (radians per unit)", title="spectral density", ylim=(1e-5, 2))
    left.legend()
    figure.tight_layout()
    figure.savefig(out / "measures.png", dpi=120)


def errors(out: Path) -> None:
    """The error of random features against their number, with the line of the theory."""
    rng = np.random.default_rng(0)
    X, kernel = rng.normal(size=(150, 3)), mercer.Gaussian(1.5)
    exact = kernel(X)
    counts = 2 ** np.arange(4, 13)
    figure, axis = plt.subplots(figsize=(5, 3.6))
    for draws in ("plain", "orthogonal", "sobol"):
        found = []
        for count in counts:
            parts = []
            for seed in range(5):
                features = mercer.RandomFourierFeatures(kernel, n_components=int(count), draws=draws, random_state=seed)
                Z = features.fit_transform(X)
                parts.append(np.mean((Z @ Z.T - exact) ** 2))
            found.append(np.sqrt(np.mean(parts)))
        axis.loglog(counts, found, "o-", label=draws)
    variance = (1.0 + kernel(2.0 * X)) / 2.0 - exact**2  # of one frequency
    axis.loglog(counts, np.sqrt(variance.mean() / (counts / 2)), "k--", label="sqrt(Var / m)")
    axis.set(xlabel="columns of features", ylabel="root mean square error of k")
    axis.legend()
    figure.tight_layout()
    figure.savefig(out / "errors.png", dpi=120)


def universality(out: Path) -> None:
    """Finer and finer targets: Gaussian features follow, a polynomial of fixed degree does not."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-1, 1, 3000))[:, None]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
    for axis, turns in zip(axes, (1, 4, 16), strict=True):
        y = np.sin(2 * np.pi * turns * x[:, 0])
        wave = mercer.KernelRidge(mercer.Gaussian(0.3 / turns), alpha=1e-3, solver="nystroem", n_components=400).fit(x, y)
        power = mercer.KernelRidge(mercer.Polynomial(9), alpha=1e-6).fit(x, y)
        axis.plot(x[:, 0], y, "0.7", lw=3, label="target")
        axis.plot(x[:, 0], wave.predict(x), label=f"Gaussian features, error {np.std(y - wave.predict(x)):.2g}")
        axis.plot(x[:, 0], power.predict(x), label=f"degree 9, error {np.std(y - power.predict(x)):.2g}")
        axis.legend(fontsize=7, loc="lower left")
    figure.tight_layout()
    figure.savefig(out / "universality.png", dpi=120)


if __name__ == "__main__":
    place = folder(__doc__)
    for picture in (measures, errors, universality):
        picture(place)
        print(f"{place / picture.__name__}.png")
