"""Points at which a function that claims to be a kernel is tried: simple ones first, so that a failure reads well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.inputs import Graph, Rows, take
from mercer.kernels.base import Kernel

#: Rows of one collection of generated points, and of one sample of given data.
GENERATED, GIVEN = 30, 120

#: How often data of more than GIVEN rows are sampled.
SAMPLES = 3

POINTS_SEED = 20_240_229


@dataclass(frozen=True, eq=False)
class Collection:
    """Some points, and what to call them in a sentence.

    `free` points may be moved in search of something better. `rows` numbers the rows of a matrix of kernel values, whose
    points are known by nothing but their number; `points` then is a square block of it.
    """

    points: Any
    words: str
    free: bool = False
    rows: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(Rows(self.points))

    def take(self, chosen: list[int]) -> Collection:
        """Some of the points."""
        if self.rows is None:
            return replace(self, points=take(self.points, chosen))
        block = self.points[np.ix_(chosen, chosen)]
        return replace(self, points=block, rows=tuple(self.rows[i] for i in chosen))


def nodes(kernel: Kernel) -> Iterator[Kernel]:
    """Every node of the tree once, however often it is shared."""
    seen: set[int] = set()
    waiting = [kernel]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(node.children)


def given(X: Any, kernel: Kernel) -> list[Collection]:
    """Given data as one collection, or as samples of it if it is large."""
    rows = Rows(X)
    data = sp.csr_array(rows.data) if sp.issparse(rows.data) else rows.data
    if (isinstance(data, np.ndarray) or sp.issparse(data)) and data.dtype.kind == "f":
        data = data.astype(np.float64)  # exact; in float32 the values themselves would be rounded too coarsely
    numbers = None
    if kernel.given:
        data, numbers = np.asarray(rows.vectors(), dtype=np.float64), tuple(range(len(rows)))
    if len(rows) <= GIVEN:
        return [Collection(data, f"the {len(rows)} given points", rows=numbers)]
    rng = np.random.default_rng(POINTS_SEED)
    samples = [sorted(rng.choice(len(rows), GIVEN, replace=False).tolist()) for _ in range(SAMPLES)]
    everything = Collection(data, f"{GIVEN} of the {len(rows)} given points, {SAMPLES} times", rows=numbers)
    return [everything.take(chosen) for chosen in samples]


def generated(kernel: Kernel) -> list[list[Collection]]:
    """Families of points in the kernel's domain; a later family is for kernels that cannot read the ones before."""
    domains = {node.domain for node in nodes(kernel)}
    if kernel.given or kernel.views & {"series", "molecules"}:
        return []
    width = kernel.width()
    families = {
        "strings": strings(),
        "graphs": graphs(),
        "vectors": [c for d in ([width] if width else [1, 2, 3]) for c in vectors(d)],
    }
    named = [families[domain] for domain in families if domain in domains]
    # a function of the user's own, or a map before a kernel, may take anything: numbers are the likeliest
    others = [families[d] for d in ("vectors", "strings", "graphs") if "any" in domains and d not in domains]
    return named + others


def vectors(width: int) -> list[Collection]:
    """Points in R^width: simple ones, the same at other scales, and random ones at several scales."""
    rng = np.random.default_rng(POINTS_SEED + width)
    simple = simple_vectors(width)
    found = [Collection(simple, f"simple points of R^{width}", free=True)]
    for scale in (10.0, 0.1, 100.0, 1e4):
        found.append(Collection(simple * scale, f"multiples of simple points of R^{width}", free=True))
    whole = rng.integers(-5, 6, (GENERATED, width)).astype(float)
    found.append(Collection(np.unique(whole, axis=0), f"points of R^{width} with whole coordinates", free=True))
    for scale in (1.0, 0.1, 10.0, 100.0):
        found.append(Collection(rng.normal(0.0, scale, (GENERATED, width)), f"random points of R^{width}", free=True))
    return found


def simple_vectors(width: int) -> Floats:
    """Up to about forty points that are easy to compute with: unit vectors, 0, sums and differences, multiples."""
    if width == 1:
        return np.array([1, 0, -1, 2, -2, 0.5, -0.5, 3, -3, 4, 5, 0.25, 1.5, 2.5, 6, 8]).reshape(-1, 1)
    units = np.eye(min(width, 12), width)
    points = [*units, np.zeros(width), np.ones(width)]
    if width <= 3:
        points += [np.array(corner, dtype=float) for corner in product((0, 1, -1), repeat=width)]
    for i in range(len(units) - 1):
        points += [units[i] - units[i + 1], units[i] + units[i + 1]]
    points += [-units[0], 2 * units[0], 2 * units[1], -2 * units[0], units[0] / 2, units[0] / 2 + units[1] / 2, 3 * units[0]]
    distinct: list[Floats] = []
    for point in points:
        if not any(np.array_equal(point, other) for other in distinct):
            distinct.append(point)
    return np.array(distinct) + 0.0  # no -0.0 in print


def strings() -> list[Collection]:
    """Short strings: all of up to three letters, and random ones over two and four letters."""
    rng = np.random.default_rng(POINTS_SEED)
    short = ["".join(letters) for length in (1, 2, 3) for letters in product("ab", repeat=length)]
    found = [Collection(short, "strings of up to three letters")]
    for alphabet, longest in (("ab", 8), ("ACGT", 20), ("abcdefgh", 12)):
        words = ["".join(rng.choice(list(alphabet), rng.integers(1, longest + 1))) for _ in range(GENERATED)]
        found.append(Collection(list(dict.fromkeys(words)), f"random strings over {alphabet!r}"))
    return found


def graphs() -> list[Collection]:
    """Small graphs: paths, cycles, stars and random ones, without labels and with labels."""
    rng = np.random.default_rng(POINTS_SEED)
    bare = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(1, 6)]
    bare += [Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in range(3, 6)]
    bare += [Graph(n, [(0, i) for i in range(1, n)]) for n in (4, 5)]
    for size in (3, 4, 5, 6):
        pairs = [(i, j) for i in range(size) for j in range(i)]
        bare += [Graph(size, [pair for pair in pairs if rng.random() < 0.5]) for _ in range(4)]
    labeled = [Graph(g.n_nodes, g.edges, node_labels=rng.choice(list("CNO"), g.n_nodes).tolist()) for g in bare]
    return [Collection(bare, "small graphs"), Collection(labeled, "small graphs with labels C, N, O")]
