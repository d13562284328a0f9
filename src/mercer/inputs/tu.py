"""Reader of graph sets in the text format of the TU Dortmund collection: a folder with several files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Array, Ints
from mercer.errors import InputError
from mercer.inputs.graphs import Graph


class GraphSet(NamedTuple):
    """Result of `read_tu`: the graphs, and the class (or target) of each, None if the folder has none."""

    graphs: list[Graph]
    labels: Array | None


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    """Read a folder in the TU format: graphs, and the class of each.

    For a set called DS the folder holds DS_A.txt (an edge "i, j" per line, nodes numbered from 1 through all graphs),
    DS_graph_indicator.txt (the graph of every node) and, where there are such, DS_graph_labels.txt,
    DS_graph_attributes.txt (targets; read if there are no labels), DS_node_labels.txt and DS_edge_labels.txt. The two
    directions of an edge are one edge. Several numbers on a line of labels become a tuple. Node and edge attributes are
    not read.

    >>> import pathlib, tempfile
    >>> files = {"A": "1, 2\\n2, 1\\n", "graph_indicator": "1\\n1\\n2\\n", "graph_labels": "1\\n-1\\n"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = pathlib.Path(folder, f"TWO_{name}.txt").write_text(text)
    ...     graphs, labels = read_tu(folder)
    >>> [(g.n_nodes, g.edges) for g in graphs], labels.tolist()
    ([(2, ((0, 1),)), (1, ())], [1, -1])
    """
    place = Path(folder)
    found = sorted(place.glob("*_graph_indicator.txt")) if place.is_dir() else []
    if len(found) != 1:
        what = f"{len(found)} files" if place.is_dir() else "no such folder, so none"
        raise InputError(f"read_tu: {place} must hold one file NAME_graph_indicator.txt; there is {what}.")
    files = _Files(place, found[0].name.removesuffix("_graph_indicator.txt"))
    owner = files.numbers("graph_indicator")[:, 0]
    sizes = np.bincount(owner)[1:] if owner.min(initial=1) >= 1 else None
    if sizes is None or np.any(np.diff(owner) < 0):
        raise InputError(f"read_tu: {files.path('graph_indicator')} must count graphs from 1, in order.")
    graphs = _graphs(files, owner - 1, sizes)
    return GraphSet(graphs, _targets(files, len(graphs)))


class _Files:
    """The files of one set."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def path(self, subject: str) -> Path:
        return self._folder / f"{self._name}_{subject}.txt"

    def lines(self, subject: str) -> list[str] | None:
        """The lines of a file, None if there is no such file."""
        if not self.path(subject).exists():
            return None
        return [line for line in self.path(subject).read_text(encoding="utf-8").splitlines() if line.strip()]

    def numbers(self, subject: str) -> Ints:  # -> (lines, 1 or 2)
        """Whole numbers, one or two on a line."""
        lines = self.lines(subject)
        if lines is None:
            raise InputError(f"read_tu: {self.path(subject)} is missing; the set cannot be read without it.")
        width = 2 if subject == "A" else 1
        rows = [line.split(",") for line in lines]
        try:
            return np.array([[int(cell) for cell in row] for row in rows], dtype=np.int64).reshape(len(rows), width)
        except ValueError:
            wrong = [not (len(row) == width and all(_is_whole(cell) for cell in row)) for row in rows].index(True)
            raise InputError(
                f"read_tu: {self.path(subject)}: line {wrong + 1} must hold {width} whole number(s); it is {lines[wrong]!r}."
            ) from None

    def labels(self, subject: str, count: int, what: str) -> list[Any] | None:
        """One label per line, None if there is no such file."""
        lines = self.lines(subject)
        if lines is not None and len(lines) != count:
            raise InputError(f"read_tu: {self.path(subject)} has {len(lines)} lines for {count} {what}.")
        return None if lines is None else [_label(line) for line in lines]


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit()


def _label(line: str) -> Any:
    cells = [_value(cell.strip()) for cell in line.split(",")]
    return cells[0] if len(cells) == 1 else tuple(cells)


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _graphs(files: _Files, owner: Ints, sizes: Ints) -> list[Graph]:
    arcs = files.numbers("A") - 1
    if len(arcs) and (arcs.min() < 0 or arcs.max() >= len(owner)):
        line = int(np.flatnonzero((arcs < 0).any(1) | (arcs >= len(owner)).any(1))[0])
        raise InputError(f"read_tu: {files.path('A')}: line {line + 1} names a node outside 1 … {len(owner)}.")
    crossing = np.flatnonzero(owner[arcs[:, 0]] != owner[arcs[:, 1]])
    if len(crossing):
        raise InputError(f"read_tu: {files.path('A')}: line {crossing[0] + 1} joins nodes of two graphs.")
    nodes = files.labels("node_labels", len(owner), "nodes")
    bonds = files.labels("edge_labels", len(arcs), "edges")
    first = np.concatenate([[0], np.cumsum(sizes)])
    order = np.argsort(owner[arcs[:, 0]], kind="stable")
    cuts = np.searchsorted(owner[arcs[order, 0]], np.arange(len(sizes) + 1))
    graphs = []
    for i in range(len(sizes)):
        mine = order[cuts[i] : cuts[i + 1]]
        chosen = None if bonds is None else [bonds[k] for k in mine.tolist()]
        try:
            graphs.append(Graph(int(sizes[i]), arcs[mine] - first[i], _part(nodes, first[i : i + 2]), chosen))
        except InputError as error:
            raise InputError(f"read_tu: graph {i + 1} of {files.path('A')}: {error}") from None
    return graphs


def _part(labels: Sequence[Any] | None, ends: Ints) -> Sequence[Any] | None:
    return None if labels is None else labels[ends[0] : ends[1]]


def _targets(files: _Files, count: int) -> Array | None:
    for subject in ("graph_labels", "graph_attributes"):
        found = files.labels(subject, count, "graphs")
        if found is not None:
            return np.array(found)
    return None
