"""Random nested kernels, each grown beside its naive twin, and random collections with the awkward cases in them.

The twin is made in the same step as the expression and never from the finished tree: a bug in how trees are built
(flattened wrongly, brackets lost) would otherwise be repeated by the twin and go unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.errors import InputError
from mercer.inputs import Graph
from mercer.kernels.base import Kernel
from mercer.testing import leaves, naive
from mercer.testing.functions import MAPS, WEIGHTS
from mercer.testing.leaves import Grown
from mercer.testing.naive import Twin

VECTOR_DOMAINS = ("vectors", "finite", "sparse")
DOMAINS = (*VECTOR_DOMAINS, "strings", "graphs")

#: Larger kernels are scaled down, so that powers and exponentials of them stay in range.
LARGEST_KERNEL = 1000.0


def random_kernel(
    rng: np.random.Generator, depth: int = 3, width: int = 4, *, domain: str = "vectors"
) -> tuple[Kernel, Twin]:
    """Return a random kernel whose tree is at least `depth` levels deep, and its naive twin (x, z) -> float.

    `width` is the number of columns. `domain` is "vectors", "finite" (vector kernels with a finite feature map),
    "sparse" (those that take CSR), "strings" or "graphs". Every kernel returned is valid by the closure rules, and its
    values are of moderate size on `random_rows`.

    >>> import numpy as np
    >>> kernel, twin = random_kernel(np.random.default_rng(3), depth=2, width=2)
    >>> X = [[0.5, 1.0], [2.0, -1.0]]
    >>> bool(np.isclose(kernel(X)[0, 1], twin(X[0], X[1])))
    True
    """
    if domain not in DOMAINS:
        raise InputError(f"random_kernel: domain must be one of {', '.join(DOMAINS)}; got {domain!r}.")
    grown = _Grower(rng, domain).grow(depth, width)
    return grown.kernel, grown.twin


def random_rows(rng: np.random.Generator, n: int = 7, width: int = 4, *, domain: str = "vectors") -> Any:
    """Return n random objects, among them a duplicate, a near duplicate and a zero (empty string, one-node graph)."""
    if domain in VECTOR_DOMAINS:
        X = rng.standard_normal((n, width))
        if domain == "sparse":
            X[rng.random((n, width)) < 0.5] = 0.0
        X[1:2], X[2:3], X[3:4] = X[0], 0.0, X[0] * (1.0 + 1e-6)
        return sp.csr_array(X) if domain == "sparse" else X
    if domain == "strings":
        texts = ["".join(rng.choice(list("abc"), size=rng.integers(3, 12))) for _ in range(n)]
        return [texts[0], texts[0], "", *texts[3:]][:n]
    graphs = [_random_graph(rng, int(rng.integers(2, 7))) for _ in range(n)]
    return [graphs[0], graphs[0], _random_graph(rng, 1), *graphs[3:]][:n]


def tree_depth(kernel: Kernel) -> int:
    """Return the number of levels below the root: 0 for a leaf."""
    return 1 + max(map(tree_depth, kernel.children)) if kernel.children else 0


def _random_graph(rng: np.random.Generator, nodes: int) -> Graph:
    edges = [(u, v) for u in range(nodes) for v in range(u) if rng.random() < 0.4]
    return Graph(nodes, edges, [str(label) for label in rng.choice(list("abc"), size=nodes)])


@dataclass
class _Grower:
    """Grows kernel and twin together, from the root down."""

    rng: np.random.Generator
    domain: str
    may_center: bool = True  # once on a path: the twin of a centered kernel evaluates its inner twin many times

    def grow(self, depth: int, width: int, unlike: tuple[str, ...] = ()) -> Grown:
        """Return a tree of at least this depth; `unlike` names the verbs that would be flattened into their parent."""
        if depth <= 0:
            return leaves.leaf(self.rng, self.domain, width)
        verbs = [verb for verb in self.verbs(width) if verb not in unlike]
        grown = self.verbs(width)[str(self.rng.choice(verbs))](depth, width)
        return self.shrunk(grown) if grown.size > LARGEST_KERNEL else grown

    def verbs(self, width: int) -> dict[str, Callable[[int, int], Grown]]:
        found: dict[str, Callable[[int, int], Grown]] = {
            "sum": self.sum, "shift": self.shift, "scale": self.scale, "product": self.product, "power": self.power,
            "polynomial": self.polynomial, "exp": self.exp, "map": self.map, "weight": self.weight,
            "normalize": self.normalize, "tanimoto": self.tanimoto,
        }  # fmt: skip
        if self.may_center:
            found["center"] = self.center
        if self.domain in VECTOR_DOMAINS and width > 1:
            found["on"] = self.on
        if self.domain == "finite":
            del found["exp"], found["tanimoto"]
        return found

    def number(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 2)

    def shrunk(self, grown: Grown) -> Grown:
        factor = round(100.0 / grown.size, 6)
        return grown.become(factor * grown.kernel, naive.scaled(factor, grown.twin), factor * grown.size)

    # -- one method per closure rule: the kernel by the public operators, the twin by naive -----------------------------

    def several(self, depth: int, width: int, unlike: tuple[str, ...]) -> list[Grown]:
        parts = [self.grow(depth - 1, width, unlike)]
        for _ in range(int(self.rng.integers(1, 3))):
            parts.append(self.grow(int(self.rng.integers(0, depth)), width))
        self.rng.shuffle(parts)
        return parts

    def sum(self, depth: int, width: int) -> Grown:
        first, *others = self.several(depth, width, ("sum", "shift"))
        kernel = first.kernel
        for other in others:
            kernel = kernel + other.kernel
        return leaves.joined(kernel, naive.added(*[g.twin for g in (first, *others)]), [first, *others], sum)

    def product(self, depth: int, width: int) -> Grown:
        first, *others = self.several(depth, width, ("product",))
        kernel = first.kernel
        for other in others:
            kernel = kernel * other.kernel
        twin = naive.multiplied(*[g.twin for g in (first, *others)])
        return leaves.joined(kernel, twin, [first, *others], math.prod)

    def shift(self, depth: int, width: int) -> Grown:
        inner, number = self.grow(depth - 1, width, ("sum", "shift")), self.number(0.0, 2.0)
        kernel = inner.kernel + number if self.rng.random() < 0.5 else number + inner.kernel
        twin = naive.added(inner.twin, lambda x, z: naive.constant(x, z, number))
        return inner.become(kernel, twin, inner.size + number)

    def scale(self, depth: int, width: int) -> Grown:
        inner, number = self.grow(depth - 1, width), float(self.rng.choice([0.0, 0.25, 0.7, 1.0, 2.5]))
        ways = [number * inner.kernel, inner.kernel * np.float64(number)] + ([inner.kernel / (1 / number)] if number else [])
        factor = 1.0 / (1 / number) if number else 0.0
        kernel = ways[int(self.rng.integers(len(ways)))]
        return inner.become(kernel, naive.scaled(factor, inner.twin), factor * inner.size)

    def power(self, depth: int, width: int) -> Grown:
        inner, p = self.grow(depth - 1, width), int(self.rng.choice([0, 1, 2, 2, 3, 3]))
        return inner.become(inner.kernel**p, naive.powered(p, inner.twin), inner.size**p)

    def polynomial(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        coefficients = [self.number(0.0, 1.0) * int(self.rng.random() < 0.8) for _ in range(int(self.rng.integers(1, 5)))]
        size = sum(c * inner.size**i for i, c in enumerate(coefficients))
        twin = naive.polynomial_of(coefficients, inner.twin)
        return inner.become(inner.kernel.polynomial(coefficients), twin, size)

    def exp(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        factor = round(min(1.0, 1.0 / max(inner.size, 1.0)), 6)
        twin = naive.exponential_of(naive.scaled(factor, inner.twin))
        return inner.become((factor * inner.kernel).exp(), twin, float(np.exp(factor * inner.size)))

    def map(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        phi = MAPS[self.domain][int(self.rng.integers(len(MAPS[self.domain])))]
        return inner.become(inner.kernel.map(phi.collection), naive.mapped(phi.single, inner.twin), inner.size)

    def weight(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        f = WEIGHTS[self.domain][int(self.rng.integers(len(WEIGHTS[self.domain])))]
        largest = 100.0 if self.domain == "graphs" else 1.0
        return inner.become(inner.kernel.weighted(f.collection), naive.weighted(f.single, inner.twin), largest * inner.size)

    def normalize(self, depth: int, width: int) -> Grown:
        inner = self.divisible(depth, width)
        return inner.become(inner.kernel.normalized(), naive.normalized(inner.twin), 1.0)

    def tanimoto(self, depth: int, width: int) -> Grown:
        inner = self.divisible(depth, width)
        return inner.become(inner.kernel.tanimoto(), naive.tanimoto(inner.twin), 1.0)

    def divisible(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        if inner.cancels:  # dividing by what cancellation left over would compare rounding errors; added to 1 it is safe
            inner = inner.become(inner.kernel + 1.0, naive.added(inner.twin, naive.constant), inner.size + 1.0)
        return inner

    def center(self, depth: int, width: int) -> Grown:
        inner = replace(self, may_center=False).grow(depth - 1, width)
        sample = random_rows(self.rng, 4, width, domain=self.domain)
        objects = sample.toarray().tolist() if sp.issparse(sample) else list(sample)
        twin = naive.centered(objects, inner.twin)
        return replace(inner.become(inner.kernel.centered(sample), twin, 4.0 * inner.size), cancels=True)

    def on(self, depth: int, width: int) -> Grown:
        chosen = [int(c) for c in self.rng.permutation(width)[: int(self.rng.integers(1, width + 1))]]
        inner = self.grow(depth - 1, len(chosen))
        # some columns are counted from the end, as Python does
        columns = [c - width if self.rng.random() < 0.2 else c for c in chosen]
        return inner.become(inner.kernel.on(*columns), naive.on(chosen, inner.twin), inner.size)
