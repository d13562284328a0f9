"""Many graphs as one: nodes end to end, neighbors as lists, labels as numbers. Arrays are computed on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mercer.arrays import Array, Codes, Ints
from mercer.errors import InputError
from mercer.inputs import Graph
from mercer.numeric.encodings import Encoded, Index
from mercer.numeric.threads import cpu_count, run

T = TypeVar("T")


class Unlabeled:
    """The label of nodes and edges without one; no label of the user is equal to it."""

    def __repr__(self) -> str:
        return "no label"


UNLABELED = Unlabeled()

REMEDY = 'or choose what stands for a missing label: unlabeled="constant" or unlabeled="degree".'


@dataclass(frozen=True)
class Degree:
    """The label of a node without label under unlabeled="degree"; no label of the user is equal to it."""

    value: int

    def __repr__(self) -> str:
        return f"degree {self.value}"


@dataclass(frozen=True)
class Degrees:
    """The label of an edge without label under unlabeled="degree": the degrees of its ends."""

    lower: int
    upper: int

    def __repr__(self) -> str:
        return f"degrees {self.lower}, {self.upper}"


class Batch(Encoded):
    """A collection of graphs under one rule for those without labels: None, "constant" or "degree".

    `reads` names the labels that are used: ("node",), ("edge",), both or none.
    """

    def __init__(self, graphs: Sequence[Graph], unlabeled: str | None, reads: tuple[str, ...], name: str = "X") -> None:
        self.graphs, self.unlabeled, self.reads, self.name = graphs, unlabeled, reads, name
        self._memo: dict[Hashable, Any] = {}
        self._lock = threading.Lock()
        self.labeled = {word: self._one_kind(word) for word in reads if unlabeled is None}

    def __len__(self) -> int:
        return len(self.graphs)

    def _one_kind(self, word: str) -> bool | None:
        """Return whether the graphs have such labels; None if they have no such nodes or edges."""
        if word == "node":
            kinds = [g.node_codes is not None for g in self.graphs if g.n_nodes]
        else:
            kinds = [g.edge_codes is not None for g in self.graphs if len(g.pairs)]
        if any(kinds) and not all(kinds):
            raise InputError(
                f"{self.name}: {sum(kinds)} of {len(kinds)} graphs have {word} labels; label all of them or none, {REMEDY}"
            )
        return kinds[0] if kinds else None

    # -- what an encoding does ---------------------------------------------------------------------------------------

    def take(self, rows: Index) -> Batch:
        """Return some of the graphs."""
        chosen = self.graphs[rows] if isinstance(rows, slice) else [self.graphs[i] for i in np.arange(len(self))[rows]]
        return Batch(chosen, self.unlabeled, self.reads, self.name)

    def align(self, other: Batch) -> tuple[Batch, Batch]:
        """Return both batches; raise if they cannot be compared."""
        for word, mine in self.labeled.items():
            theirs = other.labeled[word]
            if mine is not None and theirs is not None and mine != theirs:
                raise InputError(
                    f"the graphs of one collection have {word} labels, those of the other have none; label all of them "
                    f"or none, {REMEDY}"
                )
        return self, other

    def joined(self, other: Batch) -> Batch:
        """Return the graphs of both, these first."""
        return Batch([*self.graphs, *other.graphs], self.unlabeled, self.reads, self.name)

    # -- arrays ------------------------------------------------------------------------------------------------------

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value stored under `key`, computing it on first use.

        `make` runs without the lock, because it may wait for threads that need other arrays.
        """
        if key not in self._memo:
            made = make()
            with self._lock:
                self._memo.setdefault(key, made)
        found: T = self._memo[key]
        return found

    @property
    def first(self) -> Ints:  # (n + 1,)
        """Where the nodes of each graph begin."""
        return self.remember("first", self._first)

    @property
    def adjacency(self) -> tuple[Ints, Codes, Codes]:  # (N + 1,), (2 M,), (2 M,)
        """Where the neighbors of each node begin, the neighbors, ascending, and the number of the edge to each."""
        return self.remember("adjacency", self._adjacency)

    @property
    def nodes(self) -> tuple[Codes, list[Hashable]]:  # (N,)
        """The label of every node as a number, and what the numbers stand for, in the order of first use."""
        return self.remember("nodes", self._nodes)

    @property
    def bonds(self) -> tuple[Codes, list[Hashable]]:  # (M,)
        """The label of every edge as a number, and what the numbers stand for, in the order of first use."""
        return self.remember("bonds", self._bonds)

    @property
    def pairs(self) -> Ints:  # (M, 2)
        """The edges of all graphs as nodes of the batch."""
        sizes = [len(g.pairs) for g in self.graphs]
        shift = np.repeat(self.first[:-1], sizes)
        together = np.concatenate([g.pairs for g in self.graphs]) if self.graphs else np.empty((0, 2), np.int32)
        return together + shift[:, None]

    @property
    def edges_first(self) -> Ints:  # (n + 1,)
        """Where the edges of each graph begin."""
        return np.concatenate([[0], np.cumsum([len(g.pairs) for g in self.graphs])]).astype(np.int64)

    @property
    def degrees(self) -> Ints:  # (N,)
        """The number of neighbors of each node."""
        return np.bincount(self.pairs.ravel(), minlength=int(self.first[-1]))

    def sorted_by(self, values: Array) -> Ints:  # (N,) -> (N,)
        """Return the nodes of each graph sorted by a value, graph after graph."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.first))
        return np.lexsort((values, owner))

    def _first(self) -> Ints:
        return np.concatenate([[0], np.cumsum([g.n_nodes for g in self.graphs])]).astype(np.int64)

    def _adjacency(self) -> tuple[Ints, Codes, Codes]:
        from mercer.kernels.graphs._compiled_graphs import neighbor_lists

        return neighbor_lists(self.pairs, int(self.first[-1]))

    def _nodes(self) -> tuple[Codes, list[Hashable]]:
        sizes = np.diff(self.first)
        return self._coded([(g.node_codes, g.node_vocabulary) for g in self.graphs], sizes, self._stand_ins)

    def _bonds(self) -> tuple[Codes, list[Hashable]]:
        sizes = np.diff(self.edges_first)
        return self._coded([(g.edge_codes, g.edge_vocabulary) for g in self.graphs], sizes, self._edge_stand_ins)

    def _stand_ins(self) -> tuple[Ints, list[Hashable]]:
        """Return labels for nodes without one: a number per node, and what the numbers stand for."""
        if self.unlabeled != "degree":
            return np.zeros(int(self.first[-1]), np.int64), [UNLABELED]
        degrees = self.degrees
        return degrees, [Degree(d) for d in range(int(degrees.max(initial=0)) + 1)]

    def _edge_stand_ins(self) -> tuple[Ints, list[Hashable]]:
        if self.unlabeled != "degree":
            return np.zeros(int(self.edges_first[-1]), np.int64), [UNLABELED]
        ends = np.sort(self.degrees[self.pairs], axis=1)
        distinct, codes = np.unique(ends, axis=0, return_inverse=True)
        return codes.reshape(-1), [Degrees(low, high) for low, high in distinct.tolist()]

    def _coded(self, given: list[Any], sizes: Ints, stand_ins: Any) -> tuple[Codes, list[Hashable]]:
        """Return labels of the whole batch from those of every graph, each with its own vocabulary."""
        missing = np.array([codes is None for codes, _ in given])
        parts = [np.empty(0, np.int32) if codes is None else codes for codes, _ in given]
        number: dict[Hashable, int] = {}
        table = np.array([number.setdefault(label, len(number)) for _, words in given for label in words], dtype=np.int64)
        shift = np.concatenate([[0], np.cumsum([len(words) for _, words in given])])[:-1]
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        known = table[np.concatenate(parts) + np.repeat(shift, lengths)] if len(table) else np.empty(0, np.int64)
        bare = np.repeat(missing, sizes)
        if not bare.any():
            return known.astype(np.int32), list(number)
        codes = np.empty(int(sizes.sum()), dtype=np.int64)
        codes[~bare] = known
        own, words = stand_ins()
        used, place = np.unique(own[bare], return_inverse=True)
        codes[bare] = len(number) + place
        # numbered by first use, so that the order of labels does not depend on the graphs that follow
        names = [*number, *(words[i] for i in used.tolist())]
        distinct, some, back = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(some)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank[back.reshape(-1)].astype(np.int32), [names[i] for i in distinct[order].tolist()]


#: Nodes of a chunk: enough to outweigh the start of a thread, few enough to spread large graphs over threads.
NODES = 2**11


def chunks(batch: Batch) -> list[tuple[int, int]]:
    """Return ranges of graphs, each of about NODES nodes."""
    cuts, ends = [0], batch.first
    for i in range(1, len(batch)):
        if ends[i] - ends[cuts[-1]] >= NODES:
            cuts.append(i)
    return list(zip(cuts, [*cuts[1:], len(batch)], strict=True))


def by_chunks(batch: Batch, work: Callable[[int, int], tuple[Any, Any, Ints]]) -> tuple[Any, Any, Ints]:
    """Run work(low, high) -> (keys, counts, begins) over all graphs; keys and counts end to end, (n + 1,) begins."""
    parts = chunks(batch)
    found: list[Any] = [None] * len(parts)

    def one(number: int, worker: int) -> None:
        found[number] = work(*parts[number])

    run(range(len(parts)), one, min(cpu_count(), len(parts)))
    shift = np.concatenate([[0], np.cumsum([len(keys) for keys, _, _ in found])])
    begins = [begin[:-1] + at for (_, _, begin), at in zip(found, shift[:-1], strict=True)]
    keys = np.concatenate([keys for keys, _, _ in found])
    counts = np.concatenate([counts for _, counts, _ in found])
    return keys, counts, np.concatenate([*begins, shift[-1:]])
