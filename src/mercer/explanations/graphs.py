"""A term of a model on graphs, taken apart by nodes and by features."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mercer.arrays import Floats
from mercer.explanations.graph_result import SubgraphPart
from mercer.explanations.strings import Letters
from mercer.kernels.base import Kernel
from mercer.kernels.features import Summand
from mercer.numeric.encodings import projected

#: Training rows whose features are made at a time.
CHUNK = 256

#: Places of a feature that are kept for pictures.
PLACES = 20


class Places:
    """Where the features of the explained graph sit, by name."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, ...]]] = {}

    def add(self, name: str, nodes: tuple[int, ...]) -> None:
        known = self._found.setdefault(name, [])
        if len(known) < PLACES:
            known.append(nodes)

    def parts(self, letters: Letters) -> tuple[SubgraphPart, ...]:
        """All features by what they add, with their places."""
        return tuple(
            SubgraphPart(one.name, one.contribution, one.weight, one.count, tuple(self._found.get(one.name, ())))
            for one in letters.substrings()
        )


def term_nodes(known: Summand, here: Summand, coefficients: Floats, places: Places) -> Letters:
    """One term: `known` on the training rows, `here` on the one graph; coefficients (n,) of the rows."""
    kernel, factor = known.kernel, float(here.factor[0])
    graph = here.rows.graphs()[0]
    occurrences = list(kernel._occurrences(graph) or ())
    if not occurrences:  # too small to hold a feature
        return Letters(graph, np.zeros(graph.n_nodes), 0.0, ())
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(one.feature, len(number)) for one in occurrences])
    weights = _weights(kernel, known, here, coefficients, number)
    parts = factor * np.array([one.weight for one in occurrences]) * weights[which]
    contributions = np.zeros(graph.n_nodes)
    for one, part in zip(occurrences, parts.tolist(), strict=True):
        contributions[list(one.positions)] += part / len(one.positions)
        places.add(str(one.feature), one.positions)
    totals, counts = np.bincount(which, parts), np.bincount(which)
    names = [str(feature) for feature in number]
    features = tuple(zip(names, totals.tolist(), weights.tolist(), counts.tolist(), strict=True))
    return Letters(graph, contributions, 0.0, features)


def _weights(kernel: Kernel, known: Summand, here: Summand, coefficients: Floats, wanted: dict[Hashable, int]) -> Floats:
    """w_f = sum_i a_i g(x_i) phi_f(x_i) for the features of the one graph."""
    features = kernel.features
    assert features is not None  # a kernel whose features have places has features
    mine = kernel._encode(here.rows)
    column = {name: i for i, name in enumerate(features.names(mine))}
    a, weights = coefficients * known.factor, np.zeros(len(column))
    for start in range(0, len(known.rows), CHUNK):
        rows = slice(start, min(start + CHUNK, len(known.rows)))
        theirs = projected(kernel._encode(known.rows.take(rows)), mine)
        weights += np.asarray(features.matrix(theirs, True).T @ a[rows]).ravel()
    return np.array([weights[column[feature]] for feature in wanted])
