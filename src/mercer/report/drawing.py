"""Shared parts of the displays: matplotlib, colors, given or new axes, and checks of estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MissingExtraError, install_command

# The palette of Okabe and Ito: distinct for color-blind readers, and in gray.
BLUE, VERMILLION, GREEN, ORANGE, SKY, GRAY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#7F7F7F",
    "#000000",
)
#: A map from light to dark that keeps its order in gray: small errors are bright.
HEAT = "cividis_r"


@dataclass
class Drawing:
    """Abstract: a display; `plot` sets its axes and its figure."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)


@dataclass
class Panels(Drawing):
    """Abstract: a display with several axes, `ax_` being the first."""

    axes_: Any = field(default=None, init=False, repr=False)


def pyplot() -> Any:
    """Return matplotlib.pyplot; raise MissingExtraError if matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(f"Pictures need matplotlib, which is not installed: {install_command('plots')}") from None
    return plt


def require_fitted(estimator: Any, kinds: type | tuple[type, ...], advice: str) -> None:
    """Raise InputError with advice unless the estimator is a fitted one of the given classes."""
    if not isinstance(estimator, kinds) or not estimator.__sklearn_is_fitted__():  # type: ignore[attr-defined]
        raise InputError(f"{type(estimator).__name__} {advice}")


def one_axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return (figure, axes): those given, or new ones of this size in inches."""
    plt = pyplot()
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=size, layout="constrained")


def many_axes(ax: Any, rows: int, columns: int, size: tuple[float, float], **share: Any) -> tuple[Any, Array]:
    """Return (figure, (rows, columns) axes): an array of them as given, one axes cut into parts, or new ones."""
    plt = pyplot()
    if ax is None:
        return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **share)
    given = np.asarray(ax, dtype=object)
    if given.size == rows * columns > 1:
        return given.flat[0].figure, given.reshape(rows, columns)
    if given.size != 1:
        raise InputError(f"This display has {rows} x {columns} panels; give one axes or {rows * columns}, not {given.size}.")
    whole = given.flat[0]
    whole.set_axis_off()
    parts = whole.get_subplotspec().subgridspec(rows, columns).subplots(squeeze=False, **share)
    return whole.figure, parts


def positive(values: Sequence[float] | Array) -> Array:  # (m,) -> (m,)
    """Return positions on a logarithmic axis; a zero is put one step below the smallest positive value.

    >>> positive([0.0, 1.0, 4.0]).tolist()
    [0.25, 1.0, 4.0]
    """
    places = np.asarray(values, dtype=np.float64).copy()
    above = np.sort(places[places > 0])
    if not above.size:
        return np.ones_like(places)
    places[places <= 0] = above[0] * (above[0] / above[1] if above.size > 1 else 0.1)
    return places


def log_axis(axis: Any, values: Sequence[float] | Array) -> None:
    """Label the position of a zero on a logarithmic axis, if there is one; the other ticks are powers of ten."""
    given = np.asarray(values, dtype=np.float64)
    if not (given <= 0).any() or not (given > 0).any():
        return
    above = given[given > 0]
    decades = range(int(np.ceil(np.log10(above.min()) - 1e-9)), int(np.floor(np.log10(above.max()) + 1e-9)) + 1)
    zero = float(positive(given)[given <= 0][0])
    axis.set_ticks([zero, *(10.0**d for d in decades)], labels=["0", *(f"$10^{{{d}}}$" for d in decades)])
    axis.set_ticks([], minor=True)


def edges(places: Array) -> Array:  # (m,) ascending, positive -> (m + 1,)
    """Return borders of cells around positions on a logarithmic axis, half way between neighbors.

    >>> edges(np.array([1.0, 100.0])).round(6).tolist()
    [0.1, 10.0, 1000.0]
    """
    logs = np.log(places)
    inner = (logs[1:] + logs[:-1]) / 2
    step = (logs[1] - logs[0]) / 2, (logs[-1] - logs[-2]) / 2
    return np.exp(np.concatenate([[logs[0] - step[0]], inner, [logs[-1] + step[1]]]))


def one_column(X: Any) -> Array:  # (n,) or (n, 1) -> (n, 1)
    """Return the inputs as one column; raise InputError if there are several."""
    column = np.asarray(X, dtype=np.float64)
    column = column.reshape(-1, 1) if column.ndim == 1 else column
    if column.ndim != 2 or column.shape[1] != 1:
        raise InputError(f"This display draws a function of one number; X has shape {column.shape}, not (n,) or (n, 1).")
    return column
