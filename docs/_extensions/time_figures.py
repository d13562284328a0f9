"""Figures of the chapter on time."""

from __future__ import annotations

from typing import Any

import numpy as np


def steps(X: Any, found: Any, names: Any) -> Any:
    """Draw columns in order with their changes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(X.shape[1], 1, figsize=(8.5, 1.5 * X.shape[1] + 0.6), sharex=True, layout="constrained")
    for ax, name, values in zip(axes, names, X.T, strict=True):
        ax.plot(values, lw=0.7)
        ax.set_ylabel(name)
        for place in found.places.tolist():
            ax.axvline(place - 0.5, color="tab:red", lw=1.2)
    axes[-1].set_xlabel("row, in order")
    return figure


def distances(monitor: Any, X: Any, change: int) -> Any:
    """Draw the standardized distance of a monitor after every fourth row, its threshold, and the alarm."""
    import matplotlib.pyplot as plt

    monitor.reset()
    rows, values = [], []
    for start in range(0, len(X) - 3, 4):
        monitor.update(X[start : start + 4])
        rows.append(start + 4)
        values.append(monitor.distance_)
        if monitor.alarm_:
            break
    figure, ax = plt.subplots(figsize=(8.5, 3.0), layout="constrained")
    known = np.isfinite(values)
    ax.plot(np.array(rows)[known], np.array(values)[known], lw=1.0, label="largest distance of a window")
    ax.axhline(monitor.threshold_, color="black", lw=1.0, ls="--", label="threshold")
    ax.axvline(change, color="gray", lw=1.0, ls=":", label="the shift begins")
    ax.plot(rows[-1], values[-1], marker="v", color="tab:red", ls="", label="alarm")
    ax.set(xlabel="row", ylabel="standardized distance")
    ax.legend(frameon=False, fontsize=8)
    return figure
