"""Pictures and views on Bokeh figures, which are created once and then updated."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColorBar, ColumnDataSource, LinearColorMapper, Range1d
from bokeh.palettes import Cividis256, Viridis256
from bokeh.plotting import figure

from mercer.arrays import Array
from mercer.lab.labels import LINE, NEAR, UNIT, label_corners, width
from mercer.lab.pictures import Line, Scene, SideView
from mercer.lab.state import BOX
from mercer.lab.styles import CLASS_COLORS, INK, MUTED

#: How each role of a line is drawn.
ROLES: dict[str, dict[str, Any]] = {
    "level": {"line_color": MUTED, "line_width": 1, "line_alpha": 0.7},
    "margin": {"line_color": INK, "line_width": 1.5, "line_dash": "dashed"},
    "edge": {"line_color": "#56B4E9", "line_width": 1, "line_dash": "dotted"},
    "exact": {"line_color": MUTED, "line_width": 1.5},
    "boundary": {"line_color": INK, "line_width": 2.5},
    "fit": {"line_color": CLASS_COLORS[0], "line_width": 3},
    "zero": {"line_color": INK, "line_width": 1},
    "bound": {"line_color": CLASS_COLORS[1], "line_width": 2, "line_dash": "dashed"},
    "negative": {"line_color": CLASS_COLORS[1], "line_width": 4},
}

_RGB = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in CLASS_COLORS], dtype=np.float64)

#: Share of color at the far end of a surface, and of a region.
DEEP, PLAIN = 0.5, 0.25


def colored(picture: Scene) -> Array | None:
    """The surface as pixels, (CELLS, CELLS) of uint32: white at 0, the colors of classes 0 and 1 below and above."""
    if picture.regions is not None:
        share, hue = np.full(picture.regions.shape, PLAIN), _RGB[picture.regions]
    elif picture.surface is not None:
        bound = max(float(np.abs(picture.surface).max()), 1e-300)
        share = DEEP * np.abs(picture.surface) / bound
        hue = _RGB[(picture.surface > 0).astype(int)]
    else:
        return None
    pixels = np.full((*share.shape, 4), 255, dtype=np.uint8)
    pixels[..., :3] = np.round(255.0 + share[..., None] * (hue - 255.0)).astype(np.uint8)
    return pixels.view(np.uint32)[..., 0]


def _source(**columns: Any) -> ColumnDataSource:
    return ColumnDataSource({name: [] if value is None else value for name, value in columns.items()})


class MainPicture:
    """The figure in the middle."""

    def __init__(self) -> None:
        square = Range1d(-BOX, BOX), Range1d(-BOX, BOX)
        self.figure = figure(
            x_range=square[0], y_range=square[1], tools="", toolbar_location=None, sizing_mode="scale_width",
            width=600, height=600, min_border=8, name="picture figure",
        )  # fmt: skip
        quiet(self.figure)
        self.surface = _source(image=None)
        self.band = _source(x=None, low=None, high=None)
        self.lines = {role: _source(xs=None, ys=None) for role in ("level", "margin", "edge", "exact", "boundary", "fit")}
        self.arrows = _source(x0=None, y0=None, x1=None, y1=None)
        self.rings = _source(x=None, y=None)
        self.points = ColumnDataSource({"x": [], "y": [], "color": []}, name="points")
        self.labels = _source(x=None, y=None, text=None, across=None, down=None)
        self.leaders = _source(x0=None, y0=None, x1=None, y1=None)
        self.extra = _source(x=None, y=None)
        self.surface.name, self.lines["fit"].name = "surface", "fit"
        self._draw()

    def _draw(self) -> None:
        plot = self.figure
        plot.image_rgba("image", x=-BOX, y=-BOX, dw=2 * BOX, dh=2 * BOX, source=self.surface)
        plot.varea("x", "low", "high", source=self.band, fill_color="#56B4E9", fill_alpha=0.3)
        for role, source in self.lines.items():
            plot.multi_line("xs", "ys", source=source, **ROLES[role])
        plot.segment("x0", "y0", "x1", "y1", source=self.arrows, line_color=INK, line_width=1, line_alpha=0.6)
        plot.scatter("x1", "y1", source=self.arrows, size=4, color=INK)
        plot.scatter("x", "y", source=self.rings, size=19, fill_color=None, line_color=INK, line_width=2)
        plot.scatter("x", "y", source=self.points, size=10, fill_color="color", line_color="white", line_width=1)
        plot.segment("x0", "y0", "x1", "y1", source=self.leaders, line_color=MUTED, line_width=1)
        plot.text(
            "x", "y", "text", source=self.labels, x_offset="across", y_offset="down", text_baseline="middle",
            text_font_size="13px", text_color=INK,
        )  # fmt: skip
        plot.scatter("x", "y", source=self.extra, marker="star", size=20, fill_color="#E69F00", line_color=INK)

    def show(self, picture: Scene) -> None:
        """Put the numbers of a picture into the figure."""
        pixels = colored(picture)
        put(self.surface, image=[] if pixels is None else [pixels])
        x, low, high = picture.band if picture.band is not None else ([], [], [])
        put(self.band, x=x, low=low, high=high)
        for role, source in self.lines.items():
            put(source, **_pieces([line for line in picture.lines if line.role == role]))
        start, end = picture.arrows if picture.arrows is not None else (np.empty((0, 2)), np.empty((0, 2)))
        put(self.arrows, x0=start[:, 0], y0=start[:, 1], x1=end[:, 0], y1=end[:, 1])
        self.show_points(picture.places, picture.classes)
        ringed = picture.places[picture.marked]
        put(self.rings, x=ringed[:, 0], y=ringed[:, 1])
        self._show_labels(picture)
        extra = picture.extra if picture.extra is not None else np.empty((0, 2))
        put(self.extra, x=extra[:, 0], y=extra[:, 1])

    def _show_labels(self, picture: Scene) -> None:
        """Put the words beside their points, with lines to those that are farther away."""
        places = picture.places if picture.labels else np.empty((0, 2))
        corners = label_corners(places, picture.labels)
        x, y = places.T
        across, down = (corners - UNIT * places).T * np.array([[1.0], [-1.0]])
        put(self.labels, x=x, y=y, text=list(picture.labels), across=across, down=down)
        widths = np.array([width(label) for label in picture.labels])
        nearest = np.clip(0.0, across, across + widths)  # of the word, from its point
        far = np.hypot(nearest, down) > NEAR + LINE / 2
        x1, y1 = x + nearest / UNIT, y - down / UNIT
        put(self.leaders, x0=x[far], y0=y[far], x1=x1[far], y1=y1[far])

    def show_points(self, places: Array, classes: Array) -> None:
        """Put the points alone into the figure."""
        put(self.points, x=places[:, 0], y=places[:, 1], color=[CLASS_COLORS[c] for c in classes])

    def clear(self, places: Array, classes: Array) -> None:
        """Show only the points."""
        self.show(Scene(places, classes))


class SidePicture:
    """The figure on the right: an image, or lines and dots."""

    def __init__(self) -> None:
        self.figure = figure(
            x_range=Range1d(0, 1), y_range=Range1d(0, 1), tools="", toolbar_location=None, sizing_mode="stretch_width",
            height=330, min_border=4, name="view figure",
        )  # fmt: skip
        quiet(self.figure)
        self.mapper = LinearColorMapper(palette=Viridis256, low=0.0, high=1.0)
        self.image = _source(image=None, x=None, y=None, dw=None, dh=None)
        self.lines = {role: _source(xs=None, ys=None) for role in ("exact", "fit", "zero", "bound", "negative")}
        self.dots, self.chosen = _source(x=None, y=None), _source(x=None, y=None)
        self.image.name, self.chosen.name = "view image", "chosen"
        self.figure.image("image", "x", "y", "dw", "dh", source=self.image, color_mapper=self.mapper)
        self.bar = ColorBar(color_mapper=self.mapper, width=10, title=None, major_label_text_color=MUTED)
        self.figure.add_layout(self.bar, "right")
        for role, source in self.lines.items():
            self.figure.multi_line("xs", "ys", source=source, **ROLES[role])
        self.figure.scatter("x", "y", source=self.dots, size=6, color=CLASS_COLORS[0])
        self.figure.scatter("x", "y", source=self.chosen, size=18, fill_color="white", line_color="#D55E00", line_width=3)

    def show(self, view: SideView) -> None:
        """Put a view into the figure."""
        plot = self.figure
        plot.xaxis.axis_label, plot.yaxis.axis_label = view.x_label, view.y_label
        self.bar.visible = view.image is not None
        if view.image is not None:
            left, right, bottom, top = view.extent
            low, high = float(view.image.min()), float(view.image.max())
            ranked = view.chosen is not None  # errors: small ones need most of the colors
            self.mapper.palette = Cividis256 if ranked else Viridis256
            self.mapper.low, self.mapper.high = low, max(min(high, low + 1.5) if ranked else high, low + 1e-9)
            pixels = view.image if ranked else view.image[::-1]  # a matrix is read from above
            put(self.image, image=[pixels.astype(np.float32)], x=[left], y=[bottom], dw=[right - left], dh=[top - bottom])
            _span(plot, (left, right), (bottom, top))
        else:
            put(self.image, image=[], x=[], y=[], dw=[], dh=[])
            xs = [x for line in view.lines for x, _ in line.pieces] + ([view.dots[0]] if view.dots is not None else [])
            ys = [y for line in view.lines for _, y in line.pieces] + ([view.dots[1]] if view.dots is not None else [])
            if xs:
                _span(plot, *(_padded(np.concatenate(parts)) for parts in (xs, ys)))
        plot.yaxis.visible = not (view.image is not None and view.chosen is None)
        plot.xaxis.major_tick_line_color = plot.xaxis.major_label_text_color = INK
        for role, source in self.lines.items():
            put(source, **_pieces([line for line in view.lines if line.role == role]))
        x, y = view.dots if view.dots is not None else ([], [])
        put(self.dots, x=x, y=y)
        self.show_chosen(view.chosen)

    def show_chosen(self, place: tuple[float, float] | None) -> None:
        """Put the point that can be dragged at its place."""
        put(self.chosen, x=[] if place is None else [place[0]], y=[] if place is None else [place[1]])

    def clear(self) -> None:
        """Show nothing."""
        self.show(SideView("", "", ""))


def quiet(plot: Any) -> None:
    """Axes that stay in the background."""
    plot.outline_line_color = "#b8c2cc"
    plot.grid.visible = False
    plot.axis.axis_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_color = plot.axis.major_label_text_color = MUTED
    plot.background_fill_color = "white"
    plot.lod_threshold = None


def put(source: ColumnDataSource, **columns: Any) -> None:
    """Replace the columns of a source; send nothing if the old and the new ones are empty."""
    if all(len(column) == 0 for column in columns.values()) and all(len(column) == 0 for column in source.data.values()):
        return
    source.data = columns


def _pieces(lines: list[Line]) -> dict[str, list[Array]]:
    return {
        "xs": [np.asarray(x) for line in lines for x, _ in line.pieces],
        "ys": [np.asarray(y) for line in lines for _, y in line.pieces],
    }


def _padded(values: Array) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def _span(plot: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    plot.x_range.start, plot.x_range.end = x
    plot.y_range.start, plot.y_range.end = y
