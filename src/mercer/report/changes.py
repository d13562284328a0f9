"""Display of change points: columns in order, with a line at every change."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Ints
from mercer.changes.change_points import ChangePoints
from mercer.report.drawing import BLUE, VERMILLION, Panels, pyplot
from mercer.workflow.ordered_tables import TableChanges

#: Columns drawn.
MOST_PANELS = 6


@dataclass
class ChangesDisplay(Panels):
    """Columns of ordered rows below each other, with a vertical line at the first row of every new segment.

    >>> import numpy as np
    >>> from mercer import change_points
    >>> from mercer.report.changes import ChangesDisplay
    >>> x = np.concatenate([np.zeros(40), np.ones(30)]) + 0.1 * np.sin(np.arange(70.0) ** 2)
    >>> ChangesDisplay.from_result(change_points(x), x).places.tolist()
    [40]
    """

    columns: Array  # (n, d)
    places: Ints
    names: tuple[str, ...]

    @classmethod
    def from_result(cls, found: ChangePoints, X: Any, names: tuple[str, ...] = ()) -> ChangesDisplay:
        """Draw the columns of X, (n,) or (n, d), with the changes that were found; the first six columns."""
        columns = np.asarray(X, dtype=np.float64)
        columns = (columns[:, None] if columns.ndim == 1 else columns)[:, :MOST_PANELS]
        named = names or tuple(f"column {j}" for j in range(columns.shape[1]))
        return cls(columns, found.places, named[: columns.shape[1]]).plot()

    def plot(self) -> ChangesDisplay:
        """Draw into a new figure."""
        count = max(1, self.columns.shape[1])
        self.figure_, axes = pyplot().subplots(count, 1, figsize=(7.0, 1.0 + 1.3 * count), sharex=True, squeeze=False)
        self.axes_ = axes[:, 0]
        self.ax_ = self.axes_[0]
        for ax, name, values in zip(self.axes_, self.names, self.columns.T, strict=False):
            ax.plot(values, color=BLUE, linewidth=0.8)
            ax.set_ylabel(name)
        for ax in self.axes_:
            for place in self.places:
                ax.axvline(place - 0.5, color=VERMILLION, linewidth=1.2)
        self.axes_[-1].set_xlabel("row, in order")
        self.figure_.tight_layout()
        return self


def changes_picture(found: TableChanges, kind: str) -> bytes:
    """Return the picture of the changes of a table: "png", "pdf" or "svg". Columns without an order are left out."""
    if isinstance(found.rows, np.ndarray):
        table, names = found.rows, found.names
    else:
        kept = [name for name in found.names if found.rows[name].to_numpy().dtype.kind == "f"]
        columns = [found.rows[name].to_numpy() for name in kept]
        table, names = np.column_stack(columns) if kept else np.zeros((found.found.n, 0)), tuple(kept)
    display = ChangesDisplay.from_result(found.found, table, names)
    stream = io.BytesIO()
    display.figure_.savefig(stream, format=kind, dpi=130)
    pyplot().close(display.figure_)
    return stream.getvalue()


__all__ = ["ChangesDisplay", "changes_picture"]
