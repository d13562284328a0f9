"""`Graph`, and graphs from networkx, adjacency matrices, SMILES and lists of edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Ints
from mercer.errors import InputError, MissingExtraError, describe, install_command


class Graph:
    """An undirected graph with optional labels, as an immutable value.

    Nodes are 0 … n_nodes - 1. Each edge is a pair of two different nodes; its direction and repetition do not matter
    (edges are stored once, smaller node first, sorted). Labels are any hashable values. Loops, and repeated edges with
    different labels, raise an error.

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
    node_vocabulary: tuple[Hashable, ...]  # the distinct labels in the order of first use
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
    def from_smiles(cls, text: str, *, hydrogens: bool = False, rich: bool = False) -> Graph:
        """The graph of a molecule written in SMILES, read by RDKit (extra `graphs`).

        Nodes are atoms, labeled by element, in small letters where aromatic, with the charge if there is one ("C", "c",
        "N+"); edges are bonds, labeled "-", "=", "#" or ":" (aromatic). Hydrogen atoms are nodes only on request, or
        where the text needs them, as in "[H][H]". With `rich` a label also states the number of hydrogens, "ring" for atoms
        in rings, and "R" or "S" for stereo-centers that the text states, and labels of double bonds state "E" or "Z":
        stereo-isomers then have different graphs.

        >>> Graph.from_smiles("C=O")  # doctest: +SKIP
        Graph(n_nodes=2, edges=((0, 1),), node_labels=('C', 'O'), edge_labels=('=',))
        """

        return cls(*molecule_graph(read_molecule(text, "Graph.from_smiles"), hydrogens, rich)).with_smiles(text)

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
    """Return the edges as an array; errors show the first invalid edge as it was given."""
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
    """Return the distinct edges, sorted, and the position where each occurs first."""
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
    """Return labels as integer codes, and the label of each code."""
    if labels is None:
        return None, ()
    _check_hashable(labels, word)
    number: dict[Hashable, int] = {}
    codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int32)
    return codes, tuple(number)


def _spelled_out(codes: NDArray[np.int32] | None, vocabulary: tuple[Hashable, ...]) -> tuple[Hashable, ...] | None:
    return None if codes is None else tuple(vocabulary[code] for code in codes.tolist())


def is_networkx(value: Any) -> bool:
    """Whether a value is a networkx graph."""
    return hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "is_directed")


def as_graph(value: Any, where: str) -> Graph:
    """Return the Graph behind one of the forms that kernels on graphs take; `where` names it in messages.

    A Graph; a networkx graph, whose attribute "label" counts; a pair (adjacency, node labels or None) with a square matrix;
    a list of edges, each a tuple of two node numbers; a pair (list of edges, node labels or None); a SMILES text; a molecule
    of RDKit.
    """
    if isinstance(value, Graph):
        return value
    if isinstance(value, str):
        return Graph(*molecule_graph(read_molecule(value, where))).with_smiles(value)
    if is_molecule(value):
        return Graph(*molecule_graph(value))
    if is_networkx(value):
        return _from_networkx(value, where)
    if is_edge_list(value):
        return _from_edges(value, None, where)
    if isinstance(value, tuple) and len(value) == 2:
        if is_edge_list(value[0]):
            return _from_edges(value[0], value[1], where)
        if _is_matrix(value[0]):
            return _from_adjacency(value[0], value[1], where)
    raise InputError(
        f"{where} is {describe(value)}, not a graph. Give mercer.Graph(n_nodes, edges, …), a networkx graph, "
        "a list of edges such as [(0, 1), (1, 2)], a pair (adjacency matrix or list of edges, node labels or None), or "
        "a SMILES text."
    )


def is_edge_list(value: Any) -> bool:
    """Whether a value is a list of tuples of two numbers. Rows of a matrix are lists, not tuples."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(edge, tuple) and len(edge) == 2 and not np.ndim(edge[0]) for edge in value)
        and not any(isinstance(node, (str, bytes)) for edge in value for node in edge)
    )


def _is_matrix(value: Any) -> bool:
    try:
        return bool(sp.issparse(value)) or np.ndim(value) == 2
    except ValueError:  # rows of different lengths
        return False


def _from_edges(edges: Any, labels: Any, where: str) -> Graph:
    """Return a graph whose number of nodes is that of the labels, or one more than the largest node that occurs."""
    try:
        nodes = None if labels is None else list(labels)
        largest = max(max(edge) for edge in edges)
        return Graph(int(largest) + 1 if nodes is None else len(nodes), edges, nodes)
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from None


def _from_networkx(graph: Any, where: str) -> Graph:
    if graph.is_directed() or graph.is_multigraph():
        raise InputError(f"{where} is a directed or multi graph; give an undirected simple one (networkx.Graph(g)).")
    number = {node: i for i, node in enumerate(graph.nodes)}
    loop = next((u for u, v in graph.edges if u == v), None)
    if loop is not None:
        raise InputError(
            f"{where} has a loop at node {loop!r}; loops are not supported: "
            "g.remove_edges_from(list(networkx.selfloop_edges(g)))."
        )
    node_labels = [data.get("label") for _, data in graph.nodes(data=True)]
    triples = [(number[u], number[v], data.get("label")) for u, v, data in graph.edges(data=True)]
    return Graph(
        len(number),
        [(u, v) for u, v, _ in triples],
        _all_or_none(node_labels, f"{where}: node labels"),
        _all_or_none([label for _, _, label in triples], f"{where}: edge labels"),
    )


def _all_or_none(labels: list[Any], where: str) -> list[Any] | None:
    missing = sum(label is None for label in labels)
    if missing == len(labels):
        return None
    if missing:
        raise InputError(f"{where}: {missing} of {len(labels)} are missing; label all or none (attribute 'label').")
    return labels


def _from_adjacency(adjacency: Any, labels: Any, where: str) -> Graph:
    matrix = sp.coo_array(adjacency)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{where}: the adjacency matrix must be square; got shape {matrix.shape}.")
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix.data).all():
        raise InputError(f"{where}: the adjacency matrix must hold finite numbers.")
    matrix = sp.csr_array(matrix, dtype=np.float64)
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 0:
        raise InputError(f"{where}: the adjacency matrix is not symmetric; only undirected graphs are supported.")
    if matrix.diagonal().any():
        node = int(np.flatnonzero(matrix.diagonal())[0])
        raise InputError(
            f"{where}: the adjacency matrix has {matrix.diagonal()[node]:g} on its diagonal at node {node}; loops are not "
            "supported, set the diagonal to 0."
        )
    upper = sp.coo_array(sp.triu(matrix, k=1))
    kept = upper.data != 0
    try:
        nodes = None if labels is None else list(labels)
        return Graph(matrix.shape[0], np.stack([upper.row[kept], upper.col[kept]], axis=1), nodes)
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from None


#: Labels of bonds; other bonds have RDKit's name, such as "DATIVE".
BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}

#: The longest SMILES text that is read; the time and memory of RDKit grow faster than the length.
LONGEST_SMILES = 20_000

#: The most atoms of a molecule in a table, or whose pairs and paths of atoms are counted: RDKit's table of distances takes
#: seconds for 1,000 atoms, and the cube of the size beyond.
MOST_ATOMS = 1000

#: Molecules that are kept as RDKit reads them: a fit reads each several times, and reading takes as long as counting.
PARSED = 4096


@lru_cache(maxsize=PARSED)
def parsed(text: str) -> Any:
    """Return RDKit's molecule of a SMILES text, or None; shared, to be read only."""
    from rdkit import Chem

    return Chem.MolFromSmiles(text)


def read_molecule(text: Any, where: str) -> Any:
    """Return RDKit's molecule of a SMILES text; `where` names the text in messages."""
    if not isinstance(text, str):
        raise InputError(f"{where} takes a SMILES text such as 'CCO'; got {describe(text)}.")
    try:
        from rdkit.rdBase import BlockLogs
    except ImportError:
        raise MissingExtraError(
            f"{where} is a text, which is read as a molecule in SMILES by RDKit: {install_command('graphs')}"
        ) from None
    if len(text) > LONGEST_SMILES:
        raise InputError(f"{where}: the SMILES has {len(text)} characters; at most {LONGEST_SMILES} are read.")
    with BlockLogs():  # the message below replaces RDKit's output on the terminal
        molecule = parsed(text)
    if molecule is None or not text.strip():
        shown = text if len(text) <= 80 else text[:77] + "…"
        raise InputError(f"{where}: {shown!r} is not a valid SMILES of a molecule; correct it or leave the row out.")
    return molecule


def check_atoms(molecule: Any, where: str, what: str) -> None:
    """Raise if a molecule has so many atoms that `what` takes minutes or more."""
    if molecule.GetNumAtoms() > MOST_ATOMS:
        raise InputError(
            f"{where} has {molecule.GetNumAtoms():,} atoms; {what} of at most {MOST_ATOMS:,} atoms, because the time grows "
            "with the cube of the size. Leave the row out."
        )


def as_molecule(value: Any, where: str) -> Any:
    """Return RDKit's molecule behind a SMILES text, an RDKit molecule, or a graph that was read from SMILES."""
    if is_molecule(value):
        if value.GetNumAtoms() == 0:
            raise InputError(f"{where} is a molecule without atoms; leave the row out.")
        return value
    if isinstance(value, str):
        return read_molecule(value, where)
    smiles = getattr(value, "smiles", None)
    if isinstance(smiles, str):
        return read_molecule(smiles, where)
    raise InputError(
        f"{where} is {describe(value)}, not a molecule. Give SMILES text such as 'CCO', an RDKit molecule, or "
        "mercer.Graph.from_smiles(text); other graphs have too little chemistry."
    )


def is_molecule(value: Any) -> bool:
    """Whether a value is a molecule of RDKit; RDKit is not imported for it."""
    return type(value).__module__.startswith("rdkit.") and hasattr(value, "GetNumAtoms")


def molecule_graph(
    molecule: Any, hydrogens: bool = False, rich: bool = False
) -> tuple[int, list[tuple[int, int]], list[str], list[str]]:
    """Return number of atoms, bonds, labels of atoms and of bonds: the arguments of `Graph`."""
    if hydrogens:
        from rdkit import Chem

        molecule = Chem.AddHs(molecule)
    bonds = list(molecule.GetBonds())
    return (
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        [_rich_atom(atom) if rich else _atom(atom) for atom in molecule.GetAtoms()],
        [_bond(bond, rich) for bond in bonds],
    )


def _bond(bond: Any, rich: bool) -> str:
    label = BONDS.get(str(bond.GetBondType()), str(bond.GetBondType()))
    stereo = str(bond.GetStereo()).removeprefix("STEREO")
    return f"{label} {stereo}" if rich and stereo in ("E", "Z") else label


def _rich_atom(atom: Any) -> str:
    words = [_atom(atom), f"H{atom.GetTotalNumHs()}"]
    if atom.IsInRing():
        words.append("ring")
    if atom.HasProp("_CIPCode"):
        words.append(atom.GetProp("_CIPCode"))
    return " ".join(words)


def _atom(atom: Any) -> str:
    symbol = atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
    charge = atom.GetFormalCharge()
    return str(symbol + ("+" if charge > 0 else "-") * abs(charge))
