"""Induced subgraphs of p nodes by class, exactly; sampled, where that was allowed and exact counting would take too long."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.kernels.graphs.atlas import canonical, classes, numbers, steps
from mercer.kernels.graphs.batch import Batch
from mercer.kernels.graphs.chunks import chunks
from mercer.numeric.threads import cpu_count, run

#: Connected sets of five nodes, at most, that one graph is enumerated for: some minutes.
MOST_SETS = 2**38

#: Sampled sets of nodes are drawn from this seed, graph by graph: the same graph always gives the same numbers.
SAMPLING_SEED = 17

Counts = Array  # int64, or Python integers where those could overflow


def induced_counts(batch: Batch, p: int, connected: bool, samples: int | None) -> Floats:  # -> (n, classes)
    """How many sets of p nodes of every graph induce each class, in the order of `atlas.classes`."""
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


def _add_broken(counts: dict[tuple[int, int], Counts], p: int) -> None:
    """Counts of classes that are not connected from those of the connected ones."""
    for step in steps(p):
        total = counts[step.one] * counts[step.rest]
        for key, weight in step.minus:
            total = total - weight * counts[key]
        counts[step.target] = total // step.times


def _connected_counts(batch: Batch, p: int, exact: NDArray[np.bool_]) -> dict[tuple[int, int], Counts]:
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
    """Induced counts from counts of all subgraphs: what a denser class holds of a sparser one is taken off."""
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


def _named(found: dict[str, Ints], p: int) -> dict[tuple[int, int], Counts]:
    return {(q, one.mask): found[one.name] for q in range(1, min(p, 4) + 1) for one in classes(q, True)}


# -- graphs that are too large to enumerate -----------------------------------------------------------------------------


def set_bounds(batch: Batch) -> Floats:  # -> (n,)
    """At most how many connected sets of five nodes each graph has: the number of its subgraphs that are trees of five."""
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
    """Estimates from sets of p nodes drawn at random: (n choose p) times the share of each class."""
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
