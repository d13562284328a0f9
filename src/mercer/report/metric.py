"""Displays of a learned metric: the directions along which the model changes most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.errors import plural
from mercer.estimators.tables.rfm import RFMClassifier, RFMRegressor
from mercer.report.drawing import BLUE, GRAY, VERMILLION, many_axes, require_fitted


class DirectionsDisplay:
    """The top eigenvectors of M as bars over the columns, one panel per direction, each with its share of the trace.

    Parameters
    ----------
    values : (q,) the largest eigenvalues of M, in descending order
    directions : (q, d) their unit vectors
    shares : (q,) of the trace of M
    names : one per column
    most : number of columns shown, those with the largest entries; the title counts the others
    """

    def __init__(self, values: Array, directions: Array, shares: Array, names: Sequence[str], most: int = 15) -> None:
        self.values, self.directions, self.shares = values, directions, shares
        self.names, self.most = list(names), most

    @classmethod
    def from_estimator(cls, estimator: Any, *, count: int = 3, most: int = 15, ax: Any = None) -> Self:
        """Draw a fitted RFMRegressor or RFMClassifier; signs make the largest entry of each direction positive."""
        kinds = (RFMRegressor, RFMClassifier)
        require_fitted(estimator, kinds, "has no learned metric to draw; fit an RFMRegressor first.")
        values, directions = estimator.directions(count)
        largest = directions[np.arange(len(directions)), np.argmax(np.abs(directions), axis=1)]
        directions = directions * np.where(largest < 0, -1.0, 1.0)[:, None]
        metric = np.asarray(estimator.metric_)
        total = float(metric.sum() if metric.ndim == 1 else np.trace(metric))
        names = vars(estimator).get("feature_names_in_", [f"x{i}" for i in range(metric.shape[0])])
        return cls(values, directions, values / total, [str(name) for name in names], most).plot(ax)

    @property
    def shown(self) -> list[int]:
        """Columns shown in the panels, in the order of the table."""
        weight = np.max(np.abs(self.directions) * np.sqrt(np.maximum(self.values, 0.0))[:, None], axis=0)
        return sorted(np.argsort(-weight, kind="stable")[: self.most].tolist())

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `axes_` and `figure_`."""
        q, shown = len(self.values), self.shown
        size = (2.6 * q + 1.0, 0.28 * len(shown) + 1.0)
        self.figure_, self.axes_ = many_axes(ax, 1, q, size, sharey=True)
        for number, panel in enumerate(self.axes_.flat):
            entries = self.directions[number, shown]
            panel.barh(range(len(shown)), entries, color=np.where(entries < 0, VERMILLION, BLUE))
            panel.axvline(0.0, color=GRAY, lw=0.8)
            panel.set(xlim=(-1.05, 1.05), yticks=range(len(shown)), yticklabels=[self.names[i] for i in shown])
            panel.set_title(f"direction {number + 1}, {100 * self.shares[number]:.0f} % of M", fontsize=9)
        self.axes_.flat[0].invert_yaxis()
        hidden = len(self.names) - len(shown)
        if hidden:
            self.axes_.flat[0].set_xlabel(f"not shown: {plural(hidden, 'column')}", fontsize=8, loc="left")
        return self
