"""The counter-example: points and a vector c with c'Kc < 0, written out so that a person can check it by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.inputs import Graph, Rows, is_frame
from mercer.kernels.base import Kernel
from mercer.validity.intervals import Interval
from mercer.validity.labels import name

COUNTS = {1: "One point is", 2: "Two points are", 3: "Three points are"}


@dataclass(frozen=True, eq=False)
class CounterExample:
    """Points at which a function fails to be a kernel: c'Kc < 0 for the vector c, or k(x, z) != k(z, x).

    kind says how far it is checked: "exact" (in fractions), "interval" (the upper end of an enclosure is below 0),
    "numerical" (values of a Python function, far beyond rounding), or "asymmetric": then value = k(x1, x2) - k(x2, x1).

    >>> from mercer import Bilinear
    >>> found = Bilinear([[1.0, 2.0], [2.0, 1.0]]).certificate().counterexample
    >>> x, c = found.points, found.vector
    >>> found.kind, found.value == float(c @ x @ [[1.0, 2.0], [2.0, 1.0]] @ x.T @ c) < 0
    ('exact', True)
    """

    kernel: Kernel
    points: Any
    vector: Floats
    value: float
    gram: Floats
    kind: str
    proven: Fraction | Interval | None = field(default=None, repr=False)

    def __str__(self) -> str:
        n = len(self.vector)
        lines = [f"{name(self.kernel)} is not a kernel. {COUNTS.get(n, f'{n} points are')} enough:"]
        shown = [show_point(point) for point in items(self.points)]
        lines += [f"  x{i} = {text}" for i, text in enumerate(shown, 1)]
        lines += _matrix(self.gram)
        return "\n".join(lines + (self._asymmetry() if self.kind == "asymmetric" else self._form()))

    def _form(self) -> list[str]:
        n, K = len(self.vector), self.gram
        lines = [f"  c = ({', '.join(map(show_number, self.vector))})", f"  c'Kc = {self._shown_value()}"]
        reason = "but c'Kc is the squared length of sum_i c_i phi(x_i), and cannot be negative."
        if n == 1:
            lines[0:1] = []
            lines[0] = f"  k(x1, x1) = {self._shown_value()}"
            reason = "but k(x1, x1) is the squared length of phi(x1), and cannot be negative."
        elif n == 2:
            left, right = K[0, 1] * K[1, 0], K[0, 0] * K[1, 1]
            if f"{left:.6g}" != f"{right:.6g}":
                reason += f"\n  (Cauchy-Schwarz fails: k(x1, x2)^2 = {left:.6g} > {right:.6g} = k(x1, x1) k(x2, x2).)"
        return [*lines, f"  {reason}"]

    def _asymmetry(self) -> list[str]:
        K = self.gram
        return [
            f"  k(x1, x2) - k(x2, x1) = {self._shown_value()}",
            f"  since k(x1, x2) = {K[0, 1]:.6g} and k(x2, x1) = {K[1, 0]:.6g}, but a kernel is symmetric.",
        ]

    def _shown_value(self) -> str:
        if isinstance(self.proven, Fraction):
            short = self.proven.numerator.bit_length() + self.proven.denominator.bit_length() <= 80
            text = str(self.proven) if short and len(str(self.proven)) <= 24 else f"{self.value:.6g}"
            return f"{text} < 0, computed in exact arithmetic,"
        if self.proven is not None:
            return f"{self.value:.6g} < 0, in interval arithmetic at most {self.proven.hi!r},"
        return f"{self.value:.6g} < 0, in floating point, far beyond rounding errors,"

    def to_dict(self) -> dict[str, Any]:
        """Return the counter-example as plain data for JSON."""
        return {
            "kind": self.kind,
            "points": [_plain(point) for point in items(self.points)],
            "vector": self.vector.tolist(),
            "value": self.value,
            "gram": self.gram.tolist(),
        }


def items(points: Any) -> list[Any]:
    """The points one by one."""
    if sp.issparse(points):
        return list(points.toarray())
    if is_frame(points):
        names = [str(name) for name in points.columns]
        return [dict(zip(names, row, strict=True)) for row in points.to_numpy().tolist()]
    return [points[i] for i in range(len(Rows(points)))]


def show_number(value: float) -> str:
    """A number as short as it can be: 2 for 2.0, six digits otherwise."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{value:.6g}"


def show_point(point: Any) -> str:
    """A point as text: (1, -1), 'abab', a graph, a row of a table."""
    if isinstance(point, np.ndarray):
        shown = [str(v.item()) if float(v) == round(float(v), 12) else repr(float(v)) for v in point[:20]]
        short = [text.removesuffix(".0") for text in shown]
        more = f", … ({len(point)} in all)" if len(point) > 20 else ""
        return f"({', '.join(short)}{more})"
    if isinstance(point, int):
        return f"row {point}"
    text = repr(point)
    return text if len(text) <= 200 else text[:197] + "…"


def _matrix(K: Floats) -> list[str]:
    if len(K) > 12:
        return [f"  K = k(x_i, x_j), a {len(K)} x {len(K)} matrix"]
    cells = [[show_number(v) for v in row] for row in K]
    width = max(len(cell) for row in cells for cell in row)
    rows = ["[ " + "  ".join(cell.rjust(width) for cell in row) + " ]" for row in cells]
    return [("  K = " if i == 0 else "      ") + row for i, row in enumerate(rows)]


def _plain(point: Any) -> Any:
    if isinstance(point, np.ndarray):
        return [float(v) for v in point] if point.dtype.kind in "fiub" else [str(v) for v in point]
    if isinstance(point, Graph):
        labels = None if point.node_labels is None else [str(v) for v in point.node_labels]
        return {"n_nodes": point.n_nodes, "edges": [list(e) for e in point.edges], "node_labels": labels}
    if isinstance(point, dict):
        return {name: v if isinstance(v, (int, float, str, bool)) else str(v) for name, v in point.items()}
    if isinstance(point, (int, str)):
        return point
    return [str(v) for v in point] if isinstance(point, (list, tuple)) else repr(point)
