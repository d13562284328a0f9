"""Random kernels: deep enough, varied enough, the same for the same seed, and their twins are not made from them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.testing import random_kernel, random_rows, tree_depth
from mercer.testing.random_kernels import DOMAINS


def nodes_of(domain: str, count: int = 200) -> Counter[str]:
    rng = np.random.default_rng(0)
    return Counter(type(node).__name__ for _ in range(count) for node in random_kernel(rng, domain=domain)[0].walk())


COMBINATORS = {
    "Sum", "Product", "Scaled", "Power", "PolynomialOf", "Exp", "Mapped", "Weighted", "Normalized", "Tanimoto", "Centered",
    "Constant",
}  # fmt: skip
FINITE = {"Linear", "Bilinear", "Polynomial"}
SPARSE = FINITE | {"Gaussian", "Exponential", "Matern", "RationalQuadratic"}
LEAVES = {
    "vectors": SPARSE | {"Laplacian", "Periodic", "PowerExponential", "On"},
    "finite": FINITE | {"On"},
    "sparse": SPARSE | {"On"},
    "strings": {
        "Spectrum",
        "GappedSpectrum",
        "Mismatch",
        "Subsequence",
        "LocalAlignment",
        "AllSubstrings",
        "WeightedDegree",
    },
    "graphs": {
        *("VertexHistogram", "EdgeHistogram", "WeisfeilerLehman", "WLOptimalAssignment", "ShortestPath", "Graphlet"),
        "RandomWalk",
    },
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_leaf_and_every_combinator_turns_up(domain: str) -> None:
    expected = COMBINATORS | LEAVES[domain]
    if domain == "finite":
        expected = expected - {"Exp", "Tanimoto"}
    assert set(nodes_of(domain)) == expected


def test_length_scales_per_column_turn_up() -> None:
    rng = np.random.default_rng(0)
    kernels = [random_kernel(rng)[0] for _ in range(100)]
    scales = [getattr(node, "length_scale", None) for kernel in kernels for node in kernel.walk()]
    assert any(isinstance(scale, tuple) for scale in scales)
    assert any(isinstance(scale, float) for scale in scales)


@pytest.mark.parametrize("depth", [0, 1, 3, 5])
def test_trees_are_as_deep_as_asked(depth: int) -> None:
    rng = np.random.default_rng(1)
    depths = [tree_depth(random_kernel(rng, depth=depth)[0]) for _ in range(100)]
    assert min(depths) >= depth


def test_the_same_seed_gives_the_same_kernel() -> None:
    first, _ = random_kernel(np.random.default_rng(7))
    second, _ = random_kernel(np.random.default_rng(7))
    assert first == second


def test_the_twin_is_not_made_from_the_finished_tree() -> None:
    """No function inside the twin holds a kernel: it cannot have asked the tree."""
    _, twin = random_kernel(np.random.default_rng(3), domain="vectors")
    seen, stack = [], [twin]
    while stack:
        function = stack.pop()
        cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        inner = [part for cell in cells for part in (cell if isinstance(cell, tuple) else (cell,))]
        seen += inner
        stack += [part for part in inner if callable(part)]
    assert seen
    assert not any(isinstance(part, mercer.kernels.base.Kernel) for part in seen)


@pytest.mark.parametrize("domain", DOMAINS)
def test_rows_have_the_awkward_cases_in_them(domain: str) -> None:
    rows = random_rows(np.random.default_rng(0), domain=domain)
    if domain in ("strings", "graphs"):
        assert rows[0] == rows[1]
        assert rows[2] == "" or rows[2].n_nodes == 1
    else:
        dense = rows.toarray() if domain == "sparse" else rows
        assert (dense[0] == dense[1]).all()
        assert (dense[2] == 0).all()
        assert 0 < np.abs(dense[3] - dense[0]).max() < 1e-5


def test_an_unknown_domain_is_refused() -> None:
    with pytest.raises(InputError, match="domain must be one of vectors"):
        random_kernel(np.random.default_rng(0), domain="images")
