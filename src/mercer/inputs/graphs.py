"""The graph value: an immutable, validated, compact form of an undirected graph with optional labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Ints
from mercer.errors import InputError


class Graph:
    """An undirected graph with optional labels, as an immutable value.

    Nodes are 0 … n_nodes - 1. Each edge is a pair of two different nodes; its direction and repetition do not matter
    (edges are stored once, smaller node first, sorted). Labels are any hashable values. Loops, and edges that come twice
    with different labels, are refused.

    Parameters
    ----------
    n_nodes : int >= 0
    edges : sequence of pairs of node numbers, or an (m, 2) array
    node_labels : one hashable value per node, optional
    edge_labels : one hashable value per edge, in the order of `edges`, optional

    >>> Graph(3, [(0, 1), (2, 1), (1, 0)]).edges
    ((0, 1), (1, 2))
    >>> Graph(2, [(0, 1)], node_labels="CO") == Graph(2, [(1, 0)], node_labels=["C", "O"])
    True
    """

    __slots__ = ("edge_codes", "edge_vocabulary", "n_nodes", "node_codes", "node_vocabulary", "pairs", "smiles")

    n_nodes: int
    pairs: NDArray[np.int32]  # (m, 2) smaller node first, sorted, read-only
    node_codes: NDArray[np.int32] | None  # (n_nodes,) places in node_vocabulary
    node_vocabulary: tuple[Hashable, ...]  # the different labels in the order of first use
    edge_codes: NDArray[np.int32] | None  # (m,)
    edge_vocabulary: tuple[Hashable, ...]
    smiles: str | None  # the text that it was read from, for kernels on molecules; not part of its equality

    def __init__(
        self,
        n_nodes: int,
        edges: Iterable[Sequence[int]] = (),
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
    ) -> None:
        count = _node_count(n_nodes)
        given = _pairs(edges, count)
        labels = None if edge_labels is None else tuple(edge_labels)
        if labels is not None and len(labels) != len(given):
            raise InputError(f"Graph: edge_labels has {len(labels)} entries for {len(given)} edges; give one per edge.")
        nodes = None if node_labels is None else tuple(node_labels)
        if nodes is not None and len(nodes) != count:
            raise InputError(f"Graph: node_labels has {len(nodes)} entries for {count} nodes; give one per node.")
        pairs, kept = _merged(given, count)
        if labels is not None:
            _check_hashable(labels, "edge_labels")
            if len(pairs) < len(given):
                _check_repeated(given, labels)
            labels = tuple(labels[i] for i in kept.tolist())
        node_codes, node_vocabulary = _coded(nodes, "node_labels")
        edge_codes, edge_vocabulary = _coded(labels, "edge_labels")
        self._set(count, pairs, node_codes, node_vocabulary, edge_codes, edge_vocabulary, None)

    def _set(self, *values: Any) -> None:
        names = ("n_nodes", "pairs", "node_codes", "node_vocabulary", "edge_codes", "edge_vocabulary", "smiles")
        for name, value in zip(names, values, strict=True):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Graph: {name} cannot be set; a graph is a value, make another one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Graph: {name} cannot be deleted; a graph is a value.")

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.pairs)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges, smaller node first, sorted."""
        return tuple((u, v) for u, v in self.pairs.tolist())

    @property
    def node_labels(self) -> tuple[Hashable, ...] | None:
        """The label of every node, or None."""
        return _spelled_out(self.node_codes, self.node_vocabulary)

    @property
    def edge_labels(self) -> tuple[Hashable, ...] | None:
        """The label of every edge in the order of `edges`, or None."""
        return _spelled_out(self.edge_codes, self.edge_vocabulary)

    @classmethod
    def from_smiles(cls, text: str, *, hydrogens: bool = False) -> Graph:
        """The graph of a molecule written in SMILES, read by RDKit (extra `graphs`).

        Nodes are atoms, labeled by element, in small letters where aromatic, with the charge if there is one ("C", "c",
        "N+"); edges are bonds, labeled "-", "=", "#" or ":" (aromatic). Hydrogen atoms are nodes only on request, or
        where the text needs them, as in "[H][H]".

        >>> Graph.from_smiles("C=O")  # doctest: +SKIP
        Graph(n_nodes=2, edges=((0, 1),), node_labels=('C', 'O'), edge_labels=('=',))
        """
        from mercer.inputs.molecules import molecule_graph, read_molecule

        return cls(*molecule_graph(read_molecule(text, "Graph.from_smiles"), hydrogens)).with_smiles(text)

    def with_smiles(self, text: str | None) -> Graph:
        """Return the same graph with the SMILES text that kernels on molecules read."""
        same = object.__new__(Graph)
        codes = (self.node_codes, self.node_vocabulary, self.edge_codes, self.edge_vocabulary)
        same._set(self.n_nodes, self.pairs, *codes, text)
        return same

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.n_nodes == other.n_nodes
            and np.array_equal(self.pairs, other.pairs)
            and self.node_labels == other.node_labels
            and self.edge_labels == other.edge_labels
        )

    def __hash__(self) -> int:
        return hash((self.n_nodes, self.pairs.tobytes(), self.node_labels, self.edge_labels))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.n_nodes, self.pairs, self.node_labels, self.edge_labels, self.smiles)

    def __repr__(self) -> str:
        return (
            f"Graph(n_nodes={self.n_nodes}, edges={self.edges}, node_labels={self.node_labels}, "
            f"edge_labels={self.edge_labels})"
        )


def _restored(n_nodes: int, pairs: Any, node_labels: Any, edge_labels: Any, smiles: str | None) -> Graph:
    return Graph(n_nodes, pairs, node_labels, edge_labels).with_smiles(smiles)


def _node_count(n_nodes: Any) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, (int, np.integer)) or not 0 <= n_nodes < 2**31:
        raise InputError(f"Graph: n_nodes must be a whole number >= 0; got {n_nodes!r}.")
    return int(n_nodes)


def _pairs(edges: Any, count: int) -> Ints:  # -> (m, 2), smaller node first
    """The edges as an array; a wrong one is named as it came."""
    listed = edges if isinstance(edges, np.ndarray) else list(edges)
    if len(listed) == 0:
        return np.empty((0, 2), dtype=np.int64)
    try:
        found = np.asarray(listed)
    except ValueError:  # pairs and triples together
        found = np.empty(0)
    if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2:
        return np.array([_edge(edge, count) for edge in listed], dtype=np.int64)
    u, v = found.min(axis=1), found.max(axis=1)
    wrong = np.flatnonzero((u < 0) | (v >= count) | (u == v))
    if len(wrong):
        _edge(tuple(found[wrong[0]].tolist()), count)
    return np.stack([u, v], axis=1).astype(np.int64)


def _edge(edge: Any, count: int) -> tuple[int, int]:
    try:
        u, v = (int(node) for node in edge)
        whole = [u, v] == list(edge)
    except (TypeError, ValueError):
        raise InputError(f"Graph: an edge is a pair of node numbers; got {edge!r}.") from None
    if not whole:
        raise InputError(f"Graph: an edge is a pair of whole node numbers; got {edge!r}.")
    if not (0 <= u < count and 0 <= v < count):
        raise InputError(f"Graph: edge {edge!r} names a node outside 0 … {count - 1}.")
    if u == v:
        raise InputError(f"Graph: edge {edge!r} is a loop; loops are not supported, remove it.")
    return (u, v) if u < v else (v, u)


def _merged(pairs: Ints, count: int) -> tuple[NDArray[np.int32], Ints]:
    """Every edge once, sorted, and the place where each came first."""
    _, kept = np.unique(pairs[:, 0] * max(count, 1) + pairs[:, 1], return_index=True)
    return np.ascontiguousarray(pairs[kept], dtype=np.int32), kept


def _check_repeated(pairs: Ints, labels: tuple[Hashable, ...]) -> None:
    first: dict[tuple[int, int], Hashable] = {}
    for u, v, label in zip(*pairs.T.tolist(), labels, strict=True):
        known = first.setdefault((u, v), label)
        if known != label:
            raise InputError(f"Graph: edge {(u, v)} comes twice with labels {known!r} and {label!r}.")


def _check_hashable(labels: tuple[Any, ...], word: str) -> None:
    try:
        hash(labels)
    except TypeError:
        raise InputError(f"Graph: {word} must be hashable values, such as strings or tuples; got {labels!r}.") from None


def _coded(labels: tuple[Any, ...] | None, word: str) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Labels as numbers, and what the numbers stand for."""
    if labels is None:
        return None, ()
    _check_hashable(labels, word)
    number: dict[Hashable, int] = {}
    codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int32)
    return codes, tuple(number)


def _spelled_out(codes: NDArray[np.int32] | None, vocabulary: tuple[Hashable, ...]) -> tuple[Hashable, ...] | None:
    return None if codes is None else tuple(vocabulary[code] for code in codes.tolist())
