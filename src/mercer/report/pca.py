"""Displays of kernel PCA: scree plot, components as contours, projections, and images side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, plural
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.report.drawing import BLACK, BLUE, GRAY, GREEN, ORANGE, SKY, VERMILLION, many_axes, one_axes, require_fitted

COLORS = (BLUE, VERMILLION, GREEN, ORANGE, SKY, BLACK, GRAY)


def _of_pca(estimator: Any) -> Any:
    require_fitted(estimator, KernelPCA, "has no components to draw; fit a KernelPCA first.")
    return estimator


class ScreeDisplay:
    """Eigenvalues by number, and their cumulative share of the variance.

    Parameters
    ----------
    variances : (q,) of the components, in descending order
    shares : (q,) of the total variance in feature space
    """

    def __init__(self, variances: Array, shares: Array) -> None:
        self.variances, self.shares = variances, shares

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted KernelPCA."""
        model = _of_pca(estimator)
        return cls(model.explained_variance_, model.explained_variance_ratio_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (6.0, 4.0))
        number = np.arange(1, len(self.variances) + 1)
        shown = self.variances > 0
        self.ax_.semilogy(number[shown], self.variances[shown], color=BLUE, marker="o", ms=3, lw=1)
        self.ax_.set(xlabel="component", ylabel="variance in feature space")
        self.ax_.yaxis.label.set_color(BLUE)
        share = self.ax_.twinx()
        share.plot(number, 100 * np.cumsum(self.shares), color=VERMILLION, lw=1.5)
        share.set(ylim=(0, 102), ylabel="share of the variance, cumulative, in %")
        share.yaxis.label.set_color(VERMILLION)
        return self


class ComponentsDisplay:
    """Contours of <phi(x) - mean, f_l> over the plane, one panel per component, with the points it was fitted on.

    Parameters
    ----------
    x, y : coordinates of the grid
    values : (q, len(y), len(x)) the components there
    points : (n, 2)
    names : one title per panel
    """

    def __init__(self, x: Array, y: Array, values: Array, points: Array, names: Sequence[str]) -> None:
        self.x, self.y, self.values, self.points, self.names = x, y, values, points, list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, n_components: int = 6, grid: int = 80, ax: Any = None) -> Self:
        """Draw the first components of a KernelPCA on two columns, over the range of X."""
        model, points = _of_pca(estimator), np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise InputError(f"Contours need points of the plane; X has shape {points.shape}, not (n, 2).")
        q = min(n_components, len(model.eigenvalues_))
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.15 * (high - low)
        x, y = (np.linspace(low[i] - margin[i], high[i] + margin[i], grid) for i in range(2))
        places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        values = np.asarray(model.transform(places))[:, :q].T.reshape(q, grid, grid)
        names = [f"component {i + 1}, {100 * model.explained_variance_ratio_[i]:.1f} %" for i in range(q)]
        return cls(x, y, values, points, names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `axes_` and `figure_`."""
        q = len(self.values)
        columns = min(3, q)
        rows = -(-q // columns)
        self.figure_, self.axes_ = many_axes(ax, rows, columns, (3.0 * columns, 2.8 * rows), sharex=True, sharey=True)
        for panel, values, name in zip(self.axes_.flat, self.values, self.names, strict=False):
            reach = float(np.abs(values).max()) or 1.0
            panel.contourf(self.x, self.y, values, levels=np.linspace(-reach, reach, 17), cmap="RdBu_r")
            panel.contour(self.x, self.y, values, levels=[0.0], colors=BLACK, linewidths=0.8)
            panel.scatter(*self.points.T, s=4, color=BLACK, alpha=0.5, lw=0)
            panel.set_title(name, fontsize=9)
        for panel in list(self.axes_.flat)[q:]:
            panel.set_axis_off()
        return self


class ProjectionDisplay:
    """Rows in the plane of two components, one color per group, such as known and new rows.

    Parameters
    ----------
    groups : name -> (n, 2) coordinates
    components : the two numbers, counted from 0
    """

    def __init__(self, groups: Mapping[str, Array], components: tuple[int, int] = (0, 1)) -> None:
        self.groups, self.components = dict(groups), components

    @classmethod
    def from_estimator(
        cls, estimator: Any, groups: Mapping[str, Any], *, components: tuple[int, int] = (0, 1), ax: Any = None
    ) -> Self:
        """Draw the projections of named groups of rows."""
        model = _of_pca(estimator)
        if max(components) >= len(model.eigenvalues_):
            raise InputError(
                f"The model has {plural(len(model.eigenvalues_), 'component')}; there is no component {max(components)}."
            )
        found = {name: np.asarray(model.transform(X))[:, list(components)] for name, X in groups.items()}
        return cls(found, components).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (5.5, 4.5))
        for i, (name, values) in enumerate(self.groups.items()):
            color, marker = COLORS[i % len(COLORS)], "os^Dv<>"[i % 7]
            self.ax_.scatter(*values.T, s=9, color=color, marker=marker, alpha=0.7, lw=0, label=name)
        first, second = (c + 1 for c in self.components)
        self.ax_.set(xlabel=f"component {first}", ylabel=f"component {second}")
        self.ax_.legend(frameon=False, fontsize=8, markerscale=2, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self


class ImagesDisplay:
    """The same images in several rows, such as clean, noisy, and denoised by several methods.

    Parameters
    ----------
    lines : name -> (n, h, w) images, the same images in every line
    most : largest number of images per line
    """

    def __init__(self, lines: Mapping[str, Array], most: int = 12) -> None:
        self.lines, self.most = {name: np.asarray(images) for name, images in lines.items()}, most
        if len({len(images) for images in self.lines.values()}) != 1:
            raise InputError("every line of an ImagesDisplay shows the same images; their numbers differ.")

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `axes_` and `figure_`."""
        n = min(self.most, len(next(iter(self.lines.values()))))
        first = next(iter(self.lines.values()))[:n]
        low, high = float(np.quantile(first, 0.002)), float(np.quantile(first, 0.998))
        self.figure_, self.axes_ = many_axes(ax, len(self.lines), n, (0.75 * n + 1.2, 0.8 * len(self.lines)))
        for line, (name, images) in zip(self.axes_, self.lines.items(), strict=True):
            for panel, image in zip(line, images[:n], strict=True):
                panel.imshow(image, cmap="gray", vmin=low, vmax=high if high > low else low + 1.0, interpolation="nearest")
                panel.set(xticks=[], yticks=[])
            line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
        return self
