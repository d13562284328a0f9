"""Display of a cross-validated surface: error over alpha and a kernel parameter, with the chosen point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.report.drawing import BLACK, BLUE, GRAY, HEAT, VERMILLION, Drawing, edges, log_axis, one_axes, positive
from mercer.selection.surface import Surface

#: Errors above this multiple of the smallest error share one color, because errors far out can be arbitrarily large.
SPAN = 20.0


@dataclass
class SurfaceDisplay(Drawing):
    """Cross-validated error over alpha, or C (and a kernel parameter), with the chosen point marked.

    The outline contains all points within one standard error of the best. With one kernel setting, or one alpha, the
    picture is a curve with error bars.

    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.report.ridge import SurfaceDisplay
    >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
    >>> model = KernelRidgeCV().fit(X, np.sin(X[:, 0]))
    >>> display = SurfaceDisplay.from_estimator(model)
    >>> display.errors.shape == (len(model.surface_.params), len(model.surface_.alphas))
    True
    """

    alphas: Array  # (L,) ascending; the values of C for support vector machines
    settings: tuple[dict[str, Any], ...]  # S kernel settings, sorted by the parameter if there is one
    errors: Array  # (S, L), smaller is better
    standard_errors: Array  # (S, L)
    near: Array  # (S, L) within one standard error of the best
    best_index: tuple[int, int]
    measure: str
    parameter: str | None  # the name of the one numeric kernel parameter that varies
    axis: str = "alpha"  # name of the columns

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> SurfaceDisplay:
        """Draw the surface of a fitted KernelRidgeCV or SVCCV, or of a KernelRidgeClassifier(alpha="loo")."""
        surface = vars(estimator).get("surface_")
        if surface is None:
            raise InputError(
                f"{type(estimator).__name__} has no surface_; fit a KernelRidgeCV, an SVCCV, or a KernelRidgeClassifier "
                "with alpha='loo'."
            )
        return cls.from_surface(surface, estimator.best_index_, ax=ax)

    @classmethod
    def from_surface(cls, surface: Surface, best_index: tuple[int, int], *, ax: Any = None) -> SurfaceDisplay:
        """Draw a surface with a chosen (kernel, alpha or C) index."""
        scores, spread = surface.mean_scores, surface.mean_errors
        kind = "leave-one-out" if surface.split_scores is None else "held-out"
        errors, spread_of_errors, measure = _as_errors(scores, spread, surface.scoring, kind)
        among = np.where(surface.compared, scores, np.nan)
        best = np.unravel_index(np.nanargmax(among), scores.shape)
        near = among >= scores[best] - np.nan_to_num(spread[best])
        parameter = _parameter(surface.params)
        rows = np.arange(len(surface.params))
        if parameter is not None:
            rows = np.argsort([params[parameter] for params in surface.params], kind="stable")
        axis, values = surface.axis.name, surface.axis.values
        columns = np.argsort(values, kind="stable")
        pick = np.ix_(rows, columns)
        chosen = (int(np.flatnonzero(rows == best_index[0])[0]), int(np.flatnonzero(columns == best_index[1])[0]))
        settings = tuple(surface.params[row] for row in rows)
        display = cls(
            values[columns], settings, errors[pick], spread_of_errors[pick], near[pick], chosen, measure, parameter, axis
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SurfaceDisplay:
        """Draw on the axes given, or on a new figure."""
        rows, columns = self.errors.shape
        named = self.parameter is None and rows > 1  # labels of settings beside the axes need space
        self.figure_, self.ax_ = one_axes(ax, (8.6, 2.0 + 0.35 * rows) if named else (6.4, 4.4))
        if rows == 1:
            self._curve(self.alphas, 0)
        elif columns == 1 and self.parameter is not None:
            self._curve(np.array([setting[self.parameter] for setting in self.settings], dtype=float), 1)
        else:
            self._heat_map()
        return self

    def _curve(self, values: Array, axis: int) -> None:
        """Draw error bars along the only axis that varies: alpha (0) or the kernel parameter (1)."""
        ax, errors, spread = self.ax_, self.errors.ravel(), self.standard_errors.ravel()
        places, best = positive(values), self.best_index[1 - axis]
        ax.errorbar(
            places, errors, np.nan_to_num(spread), color=BLUE, marker="o", ms=4, capsize=2, label="± 1 standard error"
        )
        ax.plot(places[best], errors[best], "*", ms=16, color=VERMILLION, mec=BLACK, mew=0.8, label="chosen", zorder=4)
        ax.set_xscale("log")
        # a very large error at one end would hide the relevant part
        low, high = float(np.nanmin(errors)), float(np.nanmax(errors))
        if low > 0 and high > SPAN * low:
            ax.set_yscale("log")
        log_axis(ax.xaxis, values)
        ax.set(xlabel=self.axis if axis == 0 else self._label(), ylabel=self.measure)
        ax.legend(frameon=False)

    def _heat_map(self) -> None:
        from matplotlib.colors import LogNorm

        ax, places = self.ax_, positive(self.alphas)
        heights = self._heights()
        numeric = self.parameter is not None
        borders = edges(heights) if numeric else np.arange(len(heights) + 1) - 0.5
        finite = self.errors[np.isfinite(self.errors)]
        above = finite[finite > 0]
        low = float(above.min()) if above.size else 1e-3
        high = max(min(float(finite.max()), SPAN * low), 1.001 * low)
        image = ax.pcolormesh(edges(places), borders, self.errors, norm=LogNorm(low, high), cmap=HEAT, rasterized=True)
        self._outline(edges(places), borders)
        row, column = self.best_index
        mark = f"chosen: {self.measure} {self.errors[row, column]:.3g}"
        ax.plot(places[column], heights[row], "*", ms=17, color=VERMILLION, mec="white", mew=1.2, ls="none", label=mark)
        ax.set_xscale("log")
        log_axis(ax.xaxis, self.alphas)
        if numeric:
            ax.set_yscale("log")
            _decimal_ticks(ax.yaxis, borders[0], borders[-1])
        else:
            ax.set_yticks(range(len(heights)), [_spelled(setting) for setting in self.settings])
        ax.set(xlabel=self.axis, ylabel=self._label())
        if len(finite) < self.errors.size:
            ax.patch.set(hatch="xx", facecolor="white", edgecolor=GRAY)
            ax.fill_between([], [], hatch="xx", facecolor="white", edgecolor=GRAY, label="undefined")
        bar = self.figure_.colorbar(image, ax=ax, extend="max" if float(finite.max()) > high else "neither")
        _decimal_ticks(bar.ax.yaxis, low, high)
        bar.set_label(self.measure)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)

    def _outline(self, xs: Array, ys: Array) -> None:
        """Draw the border of the region within one standard error along the cells, as steps."""
        padded = np.pad(self.near, 1)
        lines = []
        for i, j in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):  # between rows i - 1 and i
            lines.append([(xs[j], ys[i]), (xs[j + 1], ys[i])])
        for i, j in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
            lines.append([(xs[j], ys[i]), (xs[j], ys[i + 1])])
        from matplotlib.collections import LineCollection

        label = "within one standard error"
        self.ax_.add_collection(LineCollection(lines, colors=VERMILLION, linewidths=1.8, label=label, zorder=3))

    def _heights(self) -> Array:
        if self.parameter is None:
            return np.arange(len(self.settings), dtype=np.float64)
        return positive([float(setting[self.parameter]) for setting in self.settings])

    def _label(self) -> str:
        return "kernel setting" if self.parameter is None else _readable(self.parameter)


def _parameter(params: tuple[dict[str, Any], ...]) -> str | None:
    """Return the only parameter in which the settings differ, if it is a positive number."""
    names = set().union(*params)
    if len(names) != 1 or len(params) < 2:
        return None
    name = names.pop()
    values = [setting.get(name) for setting in params]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values)
    return name if numbers and len(set(values)) == len(values) else None


def _as_errors(scores: Array, spread: Array, scoring: str, kind: str) -> tuple[Array, Array, str]:
    """Return scores (greater is better) as errors, with their standard errors and a readable name."""
    if scoring == "neg_mean_squared_error":
        root = np.sqrt(np.maximum(-scores, 0.0))
        return root, spread / np.where(root > 0, 2 * root, np.inf), f"{kind} RMSE"
    if scoring == "accuracy":
        return 1.0 - scores, spread, f"{kind} error rate"
    if scoring == "r2":
        return 1.0 - scores, spread, f"{kind} 1 - R²"
    if scoring.startswith("neg_"):
        return -scores, spread, f"{kind} {scoring[4:].replace('_', ' ')}"
    top = float(np.nanmax(scores))
    return top - scores, spread, f"best {scoring} - {scoring}"


def _decimal_ticks(axis: Any, low: float, high: float) -> None:
    """Label a short logarithmic axis with plain numbers; by default only powers of ten have labels."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [step for decade in decades for digit in digits if low <= (step := digit * 10.0**decade) <= high]
        if len(ticks) >= 4:
            break
    if len(ticks) < 2:
        ticks = [low, (low * high) ** 0.5, high]
    axis.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def _spelled(setting: dict[str, Any]) -> str:
    """Return a kernel setting as short text: the values of its parameters with their names."""
    parts = [
        f"{_readable(name)} {value:.3g}" if isinstance(value, float) else f"{_readable(name)} {value}"
        for name, value in setting.items()
    ]
    return ", ".join(parts)


def _readable(name: str) -> str:
    return name.replace("__", ".").replace("_", " ")
