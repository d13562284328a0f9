"""The chart of the page "Which estimator?"."""

from __future__ import annotations

from typing import Any

#: Text of each box, and its place.
BOXES = {
    "What is the target?": (3.1, 4.0),
    "a number": (0.6, 3.0),
    "a class": (3.1, 3.0),
    "there is none": (5.6, 3.0),
    "table: TableRegressor\nelse: KernelRidgeCV": (-0.2, 1.9),
    "error bars, few rows:\nGaussianProcessRegressor": (1.2, 0.8),
    "table: TableClassifier\nelse: SVCCV": (2.3, 1.9),
    "probabilities:\nKernelLogisticRegressionCV": (3.8, 0.8),
    "structure: KernelPCA,\nKernelKMeans": (4.8, 1.9),
    "compare: mmd_test,\nhsic_test, ci_test": (6.3, 0.8),
}
#: Pairs of boxes that are connected.
EDGES = ((0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9))


def draw() -> Any:
    """Return the figure."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9.5, 4.6))
    places = list(BOXES.values())
    for a, b in EDGES:
        ax.plot(*zip(places[a], places[b], strict=True), color="gray", lw=1, zorder=0)
    for text, (x, y) in BOXES.items():
        ax.text(x, y, text, ha="center", va="center", bbox={"boxstyle": "round", "fc": "white", "ec": "tab:blue"})
    ax.set(xlim=(-1.2, 7.4), ylim=(0.3, 4.4))
    ax.axis("off")
    return figure
