"""What a picture is: plain arrays with names, made by the algorithms and drawn by somebody else."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.arrays import Array
from mercer.lab.state import BOX

#: Cells of the surface along each side, and points along a curve.
CELLS, ALONG = 101, 301


@dataclass(frozen=True)
class Line:
    """Pieces of a line with one meaning: "boundary", "margin", "fit", "exact", "bound", …"""

    role: str
    pieces: tuple[tuple[Array, Array], ...]
    words: str = ""


@dataclass(frozen=True)
class Picture:
    """The main picture: places of the data, and around them a surface, regions, a band or lines."""

    places: Array  # (n, 2)
    classes: Array  # (n,)
    surface: Array | None = None  # (CELLS, CELLS), rows by y; white at 0, colors beyond
    regions: Array | None = None  # (CELLS, CELLS) of classes, for more than two
    band: tuple[Array, Array, Array] | None = None  # x, low, high
    lines: tuple[Line, ...] = ()
    arrows: tuple[Array, Array] | None = None  # from (n, 2), to (n, 2)
    marked: Array = field(default_factory=lambda: np.empty(0, int))  # rows that stand out
    marks: str = ""  # what they are
    labels: tuple[str, ...] = ()  # words beside the places
    extra: Array | None = None  # (1, 2): where the query lies
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class View:
    """A picture beside the main one: an image on axes, or lines and dots."""

    title: str
    x_label: str
    y_label: str
    image: Array | None = None
    extent: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)  # left, right, bottom, top
    lines: tuple[Line, ...] = ()
    dots: tuple[Array, Array] | None = None
    chosen: tuple[float, float] | None = None  # a point that can be dragged
    best: tuple[float, float] | None = None  # where it would be best
    words: str = ""


def grid() -> tuple[Array, Array]:
    """The coordinates of the cells along a side, and all of them, (CELLS^2, 2), row by row from below."""
    side = np.linspace(-BOX, BOX, CELLS)
    return side, np.column_stack([part.ravel() for part in np.meshgrid(side, side)])


def along() -> Array:
    """Points along the axis of a curve, (ALONG, 1)."""
    return np.linspace(-BOX, BOX, ALONG)[:, None]


def contours(values: Array, level: float, role: str, words: str = "") -> Line:
    """The line on which a surface has a value."""
    from contourpy import contour_generator

    side, _ = grid()
    low, high = float(values.min()), float(values.max())
    found = contour_generator(side, side, values).lines(level) if low < level < high else []
    return Line(role, tuple((piece[:, 0], piece[:, 1]) for piece in found), words)


def number(value: float) -> str:
    """A number for people."""
    return f"{value:.4g}"
