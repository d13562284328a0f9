"""Displays of clusters: silhouettes in feature space, and the rows nearest to the centers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.clusters.kernel_kmeans import KernelKMeans
from mercer.inputs import take
from mercer.report.drawing import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILLION, many_axes, one_axes, require_fitted

COLORS = (BLUE, VERMILLION, GREEN, ORANGE, SKY)

#: Letters of a text that are shown.
LETTERS = 24

_ADVICE = "has no clusters to draw; fit a KernelKMeans first."


class SilhouetteDisplay:
    """Silhouettes of rows, sorted within their clusters, with the mean of all.

    Parameters
    ----------
    values : (n,) silhouettes
    labels : (n,) clusters
    names : one for each cluster
    """

    def __init__(self, values: Array, labels: Array, names: Sequence[str]) -> None:
        self.values, self.labels, self.names = values, labels, list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, names: Sequence[str] | None = None, ax: Any = None) -> Self:
        """Draw the silhouettes of rows X for a fitted KernelKMeans."""
        require_fitted(estimator, KernelKMeans, _ADVICE)
        given = [str(c) for c in range(estimator.n_clusters_)] if names is None else list(names)
        if len(given) != estimator.n_clusters_:
            raise InputError(f"{len(given)} names for {estimator.n_clusters_} clusters; give one for each.")
        return cls(estimator.silhouette_samples(X), estimator.predict(X), given).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (6.0, 4.0))
        gap = max(1, len(self.values) // 50)
        start, places = 0, []
        for cluster in range(len(self.names)):
            values = np.sort(self.values[self.labels == cluster])
            rows = np.arange(start, start + len(values))
            self.ax_.fill_betweenx(rows, 0.0, values, color=COLORS[cluster % len(COLORS)], alpha=0.8, lw=0, step="mid")
            places.append(start + len(values) / 2.0)
            start += len(values) + gap
        mean = float(self.values.mean())
        self.ax_.axvline(mean, color=BLACK, ls="--", lw=1, label=f"mean {mean:.2f}")
        self.ax_.set_yticks(places, labels=self.names)
        self.ax_.set(xlabel="silhouette in feature space", ylabel="cluster", xlim=(min(-0.1, float(self.values.min())), 1.0))
        self.ax_.legend(frameon=False, loc="lower right")
        return self


class ExamplesDisplay:
    """The rows nearest to the center of every cluster, one line per cluster: images, or texts.

    Parameters
    ----------
    lines : for every cluster, rows in order of their distance: (h, w) arrays or texts
    names : one for each cluster
    """

    def __init__(self, lines: Sequence[Sequence[Any]], names: Sequence[str]) -> None:
        self.lines, self.names = [list(line) for line in lines], list(names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, n: int = 6, shape: tuple[int, int] | None = None, names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the n rows of X nearest to every center; with `shape` vectors are images of that shape, otherwise texts."""
        require_fitted(estimator, KernelKMeans, _ADVICE)
        lines = []
        for places in estimator.nearest_rows(X, n):
            rows = take(X, places)
            lines.append([np.reshape(row, shape) if shape is not None else _text(row) for row in rows])
        return cls(lines, [str(c) for c in range(len(lines))] if names is None else names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `axes_` and `figure_`."""
        most = max(len(line) for line in self.lines)
        images = not isinstance(next(iter(row for line in self.lines for row in line)), str)
        size = (0.8 if images else 1.6) * most + 1.2, (0.8 if images else 0.4) * len(self.lines) + 0.3
        self.figure_, self.axes_ = many_axes(ax, len(self.lines), most, size)
        for panels, line, name in zip(self.axes_, self.lines, self.names, strict=True):
            for panel, row in zip(panels, [*line, *[None] * (most - len(line))], strict=True):
                panel.set(xticks=[], yticks=[], frame_on=False)
                if isinstance(row, str):
                    panel.text(0.5, 0.5, row, ha="center", va="center", fontsize=9, transform=panel.transAxes)
                elif row is not None:
                    panel.imshow(row, cmap="gray_r", interpolation="nearest")
            panels[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
        return self


def _text(row: Any) -> str:
    words = str(row)
    return words if len(words) <= LETTERS else words[: LETTERS - 1] + "…"
