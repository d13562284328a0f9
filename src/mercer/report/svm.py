"""Displays of support vector machines, in scikit-learn's Display pattern.

| display | shows |
|---|---|
| MarginDisplay | regions of the classes over two columns, the margin, the support vectors |
| SurfaceDisplay | cross-validated error over C and the length scale, the chosen point, points within one standard error |

Each has `from_estimator`, `plot(ax=None)`, and the attributes `ax_` and `figure_`. They need matplotlib:
the extra `plots`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.svm.svc import SVC, SupportClassifier
from mercer.estimators.svm.svc_cv import SVCCV
from mercer.report.drawing import BLACK, BLUE, GRAY, GREEN, ORANGE, SKY, VERMILLION, one_axes, require_fitted
from mercer.report.surface import SurfaceDisplay

__all__ = ["MarginDisplay", "SurfaceDisplay"]

#: Colors and marks of classes, first to last.
COLORS = (BLUE, VERMILLION, GREEN, ORANGE, SKY, GRAY)
MARKS = ("o", "s", "^", "D", "v", "P")

#: Points along each side of the picture, and the share of the range that is left around the data.
POINTS, MARGIN = 220, 0.08


@dataclass
class MarginDisplay:
    """Decision regions over two columns: f = 0 as a line, f = -1 and +1 dashed, support vectors ringed.

    Rings are thin for support vectors on the margin (0 < a < C) and thick for those inside it or on the wrong side
    (a = C). More than two classes are shown as regions, without margins.

    >>> import numpy as np
    >>> from mercer import SVC, Gaussian
    >>> from mercer.report.svm import MarginDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.5, "out", "in")
    >>> model = SVC(Gaussian(1.0), C=10.0).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y)
    >>> len(display.support) == len(model.support_)
    True
    """

    X: Array  # (n, 2)
    codes: Array  # (n,) class numbers
    classes: Array  # (c,)
    support: Array  # (v,) rows of X that are support vectors
    bounded: Array  # (v,) whether the coefficient is at its bound C
    places: tuple[Array, Array]  # (m,) each
    values: Array  # (m, m) f for two classes, class numbers for more
    title: str
    columns: tuple[str, str] = ("x1", "x2")
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, points: int = POINTS, ax: Any = None) -> MarginDisplay:
        """Draw a fitted SVC (NuSVC, SVCCV) with the two columns X and labels y that it was fitted on."""
        require_fitted(estimator, SupportClassifier, "is not a fitted support vector classifier; fit an SVC first.")
        data = np.asarray(X, dtype=np.float64)
        if data.ndim != 2 or data.shape[1] != 2:
            raise InputError(f"MarginDisplay draws a plane; X has shape {data.shape}, not (n, 2).")
        labels = np.asarray(y)
        if labels.shape != (len(data),) or not np.isin(labels, estimator.classes_).all():
            raise InputError("MarginDisplay: y must be the labels that the model was fitted on, one per row of X.")
        support = np.asarray(estimator.support_)
        if len(support) and support.max() >= len(data):
            raise InputError(f"MarginDisplay: the model was fitted on more rows than the {len(data)} of X; give those.")
        places = _range(data[:, 0], points), _range(data[:, 1], points)
        mesh = np.column_stack([part.ravel() for part in np.meshgrid(*places)])
        classes = np.asarray(estimator.classes_)
        if len(classes) == 2:
            values = np.asarray(estimator.decision_function(mesh), dtype=np.float64)
        else:
            values = np.searchsorted(classes, estimator.predict(mesh)).astype(np.float64)
        return cls(
            data,
            np.searchsorted(classes, labels),
            classes,
            support,
            _bounded(estimator),
            places,
            values.reshape(points, points),
            _title(estimator),
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> MarginDisplay:
        """Draw on the axes given, or on a new figure."""
        from matplotlib.colors import ListedColormap

        self.figure_, self.ax_ = one_axes(ax, (5.6, 4.8))
        count = len(self.classes)
        region = (self.values > 0).astype(float) if count == 2 else self.values
        colors = [COLORS[c % len(COLORS)] for c in range(count)]
        self.ax_.pcolormesh(
            *self.places, region, cmap=ListedColormap(colors), vmin=-0.5, vmax=count - 0.5, alpha=0.18, rasterized=True
        )
        self._lines(count)
        for c in range(count):
            chosen = self.codes == c
            look = {"color": colors[c], "marker": MARKS[c % len(MARKS)], "ls": "none", "ms": 4}
            self.ax_.plot(*self.X[chosen].T, label=str(self.classes[c]), zorder=3, **look)
        for on, width, what in ((False, 0.9, "on the margin"), (True, 1.8, "at the bound C")):
            rings = self.X[self.support[self.bounded == on]]
            if len(rings):
                look = {"marker": "o", "ms": 9, "mfc": "none", "mec": BLACK, "mew": width, "ls": "none"}
                self.ax_.plot(*rings.T, label=f"{len(rings)} {what}", zorder=4, **look)
        self.ax_.set(xlabel=self.columns[0], ylabel=self.columns[1])
        self.ax_.set_title(self.title, fontsize="medium")
        self.ax_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
        return self

    def _lines(self, count: int) -> None:
        """Draw f = 0 and the margins f = -1, +1 if the function takes these values, otherwise the borders of regions."""
        if count > 2:
            self.ax_.contour(*self.places, self.values, levels=np.arange(count - 1) + 0.5, colors=BLACK, linewidths=1.0)
            return
        for level, style, width in ((-1.0, "--", 0.9), (0.0, "-", 1.6), (1.0, "--", 0.9)):
            if self.values.min() < level < self.values.max():
                self.ax_.contour(*self.places, self.values, levels=[level], colors=BLACK, linestyles=style, linewidths=width)


def _range(column: Array, points: int) -> Array:
    low, high = float(column.min()), float(column.max())
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, points)


def _bounded(estimator: Any) -> Array:  # -> (v,)
    """Return the mask of support vectors at the bound in some pair of classes; nu forms have no bound in dual_coef_."""
    coefficients = np.abs(np.asarray(estimator.dual_coef_))  # (c - 1, v)
    C = _box(estimator)
    return np.asarray((coefficients >= (np.inf if C is None else C) * (1.0 - 1e-9)).any(axis=0))


def _box(estimator: Any) -> float | None:
    """Return C; None for machines without it, such as NuSVC."""
    if isinstance(estimator, SVCCV):
        return float(estimator.best_C_)
    return float(estimator.C) if isinstance(estimator, SVC) else None


def _title(estimator: Any) -> str:
    C = _box(estimator)
    box = "" if C is None else f", C = {C:.4g}"
    kernel = re.sub(r"\d+\.\d+", lambda found: f"{float(found.group()):.4g}", str(estimator.kernel_))
    return f"{kernel if len(kernel) < 60 else kernel[:57] + '…'}{box}\n{len(estimator.support_)} support vectors"
