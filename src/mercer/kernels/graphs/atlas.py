"""The atlas of graphlets: all graphs with at most five nodes up to isomorphism, and how their counts hang together.

A graph on q nodes is a mask: bit b of (i, j) is set if nodes i < j are joined; pairs are numbered (0,1), (0,2), (1,2),
(0,3), …, so that the first bits of a mask are the graph of its first nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np

from mercer.arrays import Ints

#: Edges of the connected classes that have a name.
_NAMED: dict[int, dict[str, tuple[tuple[int, int], ...]]] = {
    1: {"node": ()},
    2: {"edge": ((0, 1),)},
    3: {"path 3": ((0, 1), (1, 2)), "triangle": ((0, 1), (1, 2), (0, 2))},
    4: {
        "path 4": ((0, 1), (1, 2), (2, 3)),
        "star 4": ((0, 1), (0, 2), (0, 3)),
        "cycle 4": ((0, 1), (1, 2), (2, 3), (0, 3)),
        "paw": ((0, 1), (1, 2), (0, 2), (2, 3)),
        "diamond": ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2)),
        "clique 4": tuple(combinations(range(4), 2)),
    },
    5: {
        "path 5": ((0, 1), (1, 2), (2, 3), (3, 4)),
        "fork": ((0, 1), (0, 2), (0, 3), (3, 4)),
        "star 5": ((0, 1), (0, 2), (0, 3), (0, 4)),
        "cycle 5": ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)),
        "bull": ((0, 1), (1, 2), (0, 2), (0, 3), (1, 4)),
        "banner": ((0, 1), (1, 2), (2, 3), (0, 3), (3, 4)),
        "cricket": ((0, 1), (1, 2), (0, 2), (2, 3), (2, 4)),
        "lollipop": ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4)),
        "bipartite 2,3": ((0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)),
        "house": ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)),
        "dart": ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (0, 4)),
        "kite": ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 4)),
        "butterfly": ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)),
        "clique 4 with tail": (*combinations(range(4), 2), (3, 4)),
        "gem": ((0, 1), (1, 2), (2, 3), (0, 4), (1, 4), (2, 4), (3, 4)),
        "book": ((0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)),
        "braced house": tuple(e for e in combinations(range(5), 2) if e not in ((0, 1), (1, 2), (3, 4))),
        "wheel": ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)),
        "clique 5 less path 3": tuple(e for e in combinations(range(5), 2) if e not in ((0, 1), (1, 2))),
        "clique 5 less edge": tuple(e for e in combinations(range(5), 2) if e != (0, 1)),
        "clique 5": tuple(combinations(range(5), 2)),
    },
}


@dataclass(frozen=True)
class Class:
    """One class of graphs with `size` nodes."""

    name: str
    size: int
    mask: int  # the smallest mask of a graph of this class
    parts: int  # connected components

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges of the graph with that mask."""
        return tuple(pair for bit, pair in enumerate(pairs(self.size)) if self.mask >> bit & 1)


def pairs(size: int) -> list[tuple[int, int]]:
    """All pairs of nodes, in the order of the bits of a mask."""
    return [(i, j) for j in range(size) for i in range(j)]


@cache
def canonical(size: int) -> Ints:  # -> (2^(size choose 2),)
    """The smallest mask that is isomorphic to each mask."""
    places = {pair: bit for bit, pair in enumerate(pairs(size))}
    masks = np.arange(1 << len(places))
    best = masks.copy()
    for order in permutations(range(size)):
        moved = np.zeros_like(masks)
        for (i, j), bit in places.items():
            to = places[(min(order[i], order[j]), max(order[i], order[j]))]
            moved |= (masks >> bit & 1) << to
        np.minimum(best, moved, out=best)
    best.setflags(write=False)
    return best


@cache
def classes(size: int, connected: bool = False) -> tuple[Class, ...]:
    """All classes of `size` nodes, by number of edges; or only the connected ones."""
    found = [_class(size, int(mask)) for mask in np.unique(canonical(size))]
    found.sort(key=lambda one: (len(one.edges), one.parts > 1, one.mask))
    return tuple(one for one in found if one.parts == 1 or not connected)


@cache
def numbers(size: int, connected: bool = False) -> Ints:  # -> (2^(size choose 2),)
    """The place in `classes` of every mask; -1 for masks that are not connected, where only connected ones count."""
    place = {one.mask: i for i, one in enumerate(classes(size, connected))}
    found = np.array([place.get(int(mask), -1) for mask in canonical(size)], dtype=np.int64)
    found.setflags(write=False)
    return found


def _mask(size: int, edges: Any) -> int:
    places = {pair: bit for bit, pair in enumerate(pairs(size))}
    return sum(1 << places[(min(e), max(e))] for e in edges)


def _class(size: int, mask: int) -> Class:
    parts = _components(size, mask)
    if len(parts) == 1:
        known = {int(canonical(size)[_mask(size, edges)]): name for name, edges in _NAMED[size].items()}
        return Class(known[mask], size, mask, 1)
    words = sorted((_class(len(p), part_mask(size, mask, p)) for p in parts), key=lambda one: (-one.size, one.mask))
    named: dict[str, int] = {}
    for one in words:
        named[one.name] = named.get(one.name, 0) + 1
    return Class(" + ".join(n if k == 1 else f"{k} {n}s" for n, k in named.items()), size, mask, len(parts))


def _components(size: int, mask: int) -> list[tuple[int, ...]]:
    group = list(range(size))
    for bit, (i, j) in enumerate(pairs(size)):
        if mask >> bit & 1:
            old, new = group[j], group[i]
            group = [new if g == old else g for g in group]
    return [tuple(v for v in range(size) if group[v] == g) for g in sorted(set(group))]


def part_mask(size: int, mask: int, nodes: tuple[int, ...]) -> int:
    """The canonical mask of the graph that some nodes induce."""
    places = {pair: bit for bit, pair in enumerate(pairs(size))}
    small = [mask >> places[(nodes[i], nodes[j])] & 1 for i, j in pairs(len(nodes))]
    return int(canonical(len(nodes))[sum(on << bit for bit, on in enumerate(small))])


@dataclass(frozen=True)
class Step:
    """count(target) = (count(one) count(rest) - sum of weights times counts) / times, for a class that is not connected."""

    target: tuple[int, int]  # size, mask
    one: tuple[int, int]
    rest: tuple[int, int]
    minus: tuple[tuple[tuple[int, int], int], ...]
    times: int


@cache
def steps(size: int) -> tuple[Step, ...]:
    """How counts of all classes up to `size` nodes follow from those of the connected ones.

    The pairs (S, T) of a set S of nodes that induces a connected H and a set T that induces D are counted by their union:
    count(H) count(D) = sum over classes U of (ways to write U as such a union) count(U). Where S and T neither meet nor
    touch, U has one component more than D; all other U have fewer, so that their counts are known before.
    """
    small = [one for q in range(1, size + 1) for one in classes(q)]
    broken = sorted((one for one in small if one.parts > 1), key=lambda one: (one.parts, one.size))
    return tuple(_step(target, [u for u in small if u.size <= target.size]) for target in broken)


def _step(target: Class, others: list[Class]) -> Step:
    part = max(_components(target.size, target.mask), key=len)
    rest = tuple(v for v in range(target.size) if v not in part)
    one = (len(part), part_mask(target.size, target.mask, part))
    left = (len(rest), part_mask(target.size, target.mask, rest))
    ways = {(u.size, u.mask): _ways(u, one, left) for u in others}
    times = ways.pop((target.size, target.mask))
    return Step((target.size, target.mask), one, left, tuple((u, k) for u, k in ways.items() if k), times)


def _ways(u: Class, one: tuple[int, int], rest: tuple[int, int]) -> int:
    """How often the nodes of u are the union of a set that induces `one` and a set that induces `rest`."""
    nodes = range(u.size)
    first = [set(s) for s in combinations(nodes, one[0]) if part_mask(u.size, u.mask, s) == one[1]]
    second = [set(s) for s in combinations(nodes, rest[0]) if part_mask(u.size, u.mask, s) == rest[1]]
    return sum(len(s | t) == u.size for s in first for t in second)
