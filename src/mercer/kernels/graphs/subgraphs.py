"""Counts of induced subgraphs of at most five nodes, by class of isomorphic graphs.

A graph on q nodes is a mask: bit b of (i, j) is set if nodes i < j are joined; pairs are numbered (0,1), (0,2), (1,2),
(0,3), …, so that the first bits of a mask are the graph of its first nodes. Counts are exact, or estimated from samples if
that was allowed and exact counting would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.kernels.graphs.batch import Batch, chunks
from mercer.numeric.threads import cpu_count, run

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
class GraphClass:
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
    """Return all pairs of nodes, in the order of the bits of a mask."""
    return [(i, j) for j in range(size) for i in range(j)]


@cache
def canonical(size: int) -> Ints:  # -> (2^(size choose 2),)
    """Return the smallest mask that is isomorphic to each mask."""
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
def classes(size: int, connected: bool = False) -> tuple[GraphClass, ...]:
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


def _class(size: int, mask: int) -> GraphClass:
    parts = _components(size, mask)
    if len(parts) == 1:
        known = {int(canonical(size)[_mask(size, edges)]): name for name, edges in _NAMED[size].items()}
        return GraphClass(known[mask], size, mask, 1)
    words = sorted((_class(len(p), part_mask(size, mask, p)) for p in parts), key=lambda one: (-one.size, one.mask))
    named: dict[str, int] = {}
    for one in words:
        named[one.name] = named.get(one.name, 0) + 1
    return GraphClass(" + ".join(n if k == 1 else f"{k} {n}s" for n, k in named.items()), size, mask, len(parts))


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
class CountRule:
    """count(target) = (count(one) count(rest) - sum of weights times counts) / times, for a class that is not connected."""

    target: tuple[int, int]  # size, mask
    one: tuple[int, int]
    rest: tuple[int, int]
    minus: tuple[tuple[tuple[int, int], int], ...]
    times: int


@cache
def count_rules(size: int) -> tuple[CountRule, ...]:
    """Return rules that give counts of all classes up to `size` nodes from those of the connected ones.

    The pairs (S, T) of a set S of nodes that induces a connected H and a set T that induces D are counted by their union:
    count(H) count(D) = sum over classes U of (ways to write U as such a union) count(U). Where S and T neither meet nor
    touch, U has one component more than D; all other U have fewer, so that their counts are known before.
    """
    small = [one for q in range(1, size + 1) for one in classes(q)]
    broken = sorted((one for one in small if one.parts > 1), key=lambda one: (one.parts, one.size))
    return tuple(_count_rule(target, [u for u in small if u.size <= target.size]) for target in broken)


def _count_rule(target: GraphClass, others: list[GraphClass]) -> CountRule:
    part = max(_components(target.size, target.mask), key=len)
    rest = tuple(v for v in range(target.size) if v not in part)
    one = (len(part), part_mask(target.size, target.mask, part))
    left = (len(rest), part_mask(target.size, target.mask, rest))
    ways = {(u.size, u.mask): _ways(u, one, left) for u in others}
    times = ways.pop((target.size, target.mask))
    return CountRule((target.size, target.mask), one, left, tuple((u, k) for u, k in ways.items() if k), times)


def _ways(u: GraphClass, one: tuple[int, int], rest: tuple[int, int]) -> int:
    """Return how often the nodes of u are the union of a set that induces `one` and one that induces `rest`."""
    nodes = range(u.size)
    first = [set(s) for s in combinations(nodes, one[0]) if part_mask(u.size, u.mask, s) == one[1]]
    second = [set(s) for s in combinations(nodes, rest[0]) if part_mask(u.size, u.mask, s) == rest[1]]
    return sum(len(s | t) == u.size for s in first for t in second)


#: Largest number of connected sets of five nodes that are enumerated for one graph, which takes some minutes.
MOST_SETS = 2**38

#: Sampled sets of nodes are drawn from this seed, graph by graph: the same graph always gives the same numbers.
SAMPLING_SEED = 17


def induced_counts(batch: Batch, p: int, connected: bool, samples: int | None) -> Floats:  # -> (n, classes)
    """Return how many sets of p nodes of every graph induce each class, in the order of `classes`."""
    sizes = np.diff(batch.first)
    sampled = _too_long(batch, samples) if p == 5 else np.zeros(len(batch), dtype=bool)
    known = _connected_counts(batch, p, ~sampled)
    chosen = classes(p, connected)
    out = np.empty((len(batch), len(chosen)))
    safe = sizes.astype(np.float64) ** p < 2.0**62  # products of counts stay below the number of p-tuples
    for rows, kind in ((np.flatnonzero(safe), np.int64), (np.flatnonzero(~safe), object)):
        if len(rows):
            counts = {key: values[rows].astype(kind) for key, values in known.items()}
            if not connected:
                _add_broken(counts, p)
            for column, one in enumerate(chosen):
                out[rows, column] = counts[(p, one.mask)].astype(np.float64)
    for g in np.flatnonzero(sampled):
        out[g] = _sampled(batch, int(g), p, connected, samples or 0)
    return out


def _add_broken(counts: dict[tuple[int, int], Array], p: int) -> None:
    """Add counts of classes that are not connected, from those of the connected ones."""
    for rule in count_rules(p):
        total = counts[rule.one] * counts[rule.rest]
        for key, weight in rule.minus:
            total = total - weight * counts[key]
        counts[rule.target] = total // rule.times


def _connected_counts(batch: Batch, p: int, exact: NDArray[np.bool_]) -> dict[tuple[int, int], Array]:
    """Connected classes of 1 … p nodes: {(size, mask): (n,)}."""
    from mercer.kernels.graphs._compiled_graphlets import five_counts, small_counts

    indptr, neighbors, _ = batch.adjacency
    raw = np.zeros((len(batch), 10), dtype=np.int64)
    parts, order = chunks(batch), batch.sorted_by(batch.degrees)

    def small(part: tuple[int, int], worker: int) -> None:
        small_counts(indptr, neighbors, order, batch.first, *part, p, raw)

    run(parts, small, min(cpu_count(), len(parts)))
    found = _named(_induced(raw), p)
    if p == 5:
        place = numbers(5, True)
        five = np.zeros((len(batch), len(classes(5, True))), dtype=np.int64)
        picked = [np.arange(*part)[exact[slice(*part)]] for part in parts]

        def large(chosen: Ints, worker: int) -> None:
            five_counts(indptr, neighbors, batch.first, chosen, place, five)

        run(picked, large, min(cpu_count(), len(picked)))
        found |= {(5, one.mask): five[:, i] for i, one in enumerate(classes(5, True))}
    return found


def _induced(raw: Ints) -> dict[str, Ints]:  # (n, 10) -> by name
    """Return induced counts from counts of all subgraphs: occurrences of sparser classes in denser ones are subtracted."""
    node, edge, path3, triangle, star, path, paw, cycle, diamond, clique = raw.T
    diamond = diamond - 6 * clique
    cycle = cycle - diamond - 3 * clique
    paw = paw - 4 * diamond - 12 * clique
    star = star - paw - 2 * diamond - 4 * clique
    path = path - 2 * paw - 4 * cycle - 6 * diamond - 12 * clique
    return {
        "node": node, "edge": edge, "path 3": path3 - 3 * triangle, "triangle": triangle, "star 4": star, "path 4": path,
        "paw": paw, "cycle 4": cycle, "diamond": diamond, "clique 4": clique,
    }  # fmt: skip


def _named(found: dict[str, Ints], p: int) -> dict[tuple[int, int], Array]:
    return {(q, one.mask): found[one.name] for q in range(1, min(p, 4) + 1) for one in classes(q, True)}


# -- graphs that are too large to enumerate -----------------------------------------------------------------------------


def set_bounds(batch: Batch) -> Floats:  # -> (n,)
    """Return bounds on the connected sets of five nodes of each graph: the number of its subtrees of five nodes."""
    degree = batch.degrees.astype(np.float64)
    pairs, first = batch.pairs, batch.first
    star = degree * (degree - 1) * (degree - 2) * (degree - 3) / 24.0
    beyond = np.zeros((2, len(degree)))  # sums over neighbors u of (d_u - 1) and its square
    for a, b in ((0, 1), (1, 0)):
        np.add.at(beyond[0], pairs[:, a], degree[pairs[:, b]] - 1)
        np.add.at(beyond[1], pairs[:, a], (degree[pairs[:, b]] - 1) ** 2)
    fork = np.maximum(degree - 1, 0) * np.maximum(degree - 2, 0) / 2.0 * beyond[0]
    path = (beyond[0] ** 2 - beyond[1]) / 2.0
    return np.diff(np.concatenate([[0.0], np.cumsum(star + fork + path)])[first])


def _too_long(batch: Batch, samples: int | None) -> NDArray[np.bool_]:
    bounds = set_bounds(batch)
    long = bounds > MOST_SETS
    if long.any() and samples is None:
        g = int(np.argmax(bounds))
        raise InputError(
            f"Graphlet(5): graph {g} of {batch.name} with {batch.graphs[g].n_nodes} nodes and {len(batch.graphs[g].pairs)} "
            f"edges may have {bounds[g]:.2g} connected sets of five nodes, too many to enumerate; take p=4, or allow "
            "estimates for such graphs: samples=100000."
        )
    return long


def _sampled(batch: Batch, g: int, p: int, connected: bool, samples: int) -> Floats:
    """Return estimates from sets of p nodes drawn at random: (n choose p) times the share of each class."""
    from mercer.kernels.graphs._compiled_graphlets import masks_of

    n = batch.graphs[g].n_nodes
    rng = np.random.default_rng(SAMPLING_SEED)
    sets = np.empty((0, p), dtype=np.int64)
    while len(sets) < samples:  # draws with a node twice are drawn again
        drawn = np.sort(rng.integers(0, n, (samples, p)), axis=1)
        sets = np.concatenate([sets, drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]])
    indptr, neighbors, _ = batch.adjacency
    masks = canonical(p)[masks_of(indptr, neighbors, int(batch.first[g]), sets[:samples])]
    share = np.array([(masks == one.mask).mean() for one in classes(p, connected)])
    return share * float(comb(n, p))
