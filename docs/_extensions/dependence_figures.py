"""Figures of the chapter on dependence."""

from __future__ import annotations

from typing import Any

import numpy as np


def within(flipper: Any, depth: Any, species: Any) -> Any:
    """Draw two columns of the penguins, and their deviations from the means of the species."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for name in np.unique(species):
        rows = species == name
        axes[0].scatter(flipper[rows], depth[rows], s=10, label=name.split()[0])
        axes[1].scatter(flipper[rows] - flipper[rows].mean(), depth[rows] - depth[rows].mean(), s=10)
    axes[0].set(xlabel="flipper length (mm)", ylabel="bill depth (mm)", title="as measured")
    axes[1].set(xlabel="flipper length, less the mean", ylabel="bill depth, less the mean", title="given the species")
    axes[0].legend(frameon=False)
    return figure


def misfit(draws: Any, contributions: Any) -> Any:
    """Draw the contributions of rows to a Stein discrepancy over a histogram."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    ax.hist(draws, bins=40, color="lightgray", density=True)
    ax.set(xlabel="x", ylabel="density of the sample")
    right = ax.twinx()
    order = np.argsort(draws)
    right.plot(draws[order], contributions[order], color="tab:red", lw=1.5)
    right.set_ylabel("contribution to the statistic", color="tab:red")
    return figure
