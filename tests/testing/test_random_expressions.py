"""The law suite on random nested expressions of depth >= 3, each against the naive twin grown beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.testing import check_kernel, random_kernel, random_rows, tree_depth

GROUP = 25


def check_group(domain: str, group: int, size: int = GROUP, width: int = 4) -> None:
    for seed in range(group * size, (group + 1) * size):
        rng = np.random.default_rng([seed, len(domain)])
        kernel, twin = random_kernel(rng, depth=3, width=width, domain=domain)
        assert tree_depth(kernel) >= 3
        check_kernel(kernel, random_rows(rng, width=width, domain=domain), twin=twin)


@pytest.mark.parametrize("group", range(20))
def test_five_hundred_expressions_on_vectors(group: int) -> None:
    check_group("vectors", group)


@pytest.mark.parametrize("group", range(20, 23))
def test_expressions_in_the_compiled_loops(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are made in NumPy; large ones in compiled loops, which are asked here on small data."""
    monkeypatch.setattr("mercer.numeric.compiling.LOADING", 0)
    check_group("vectors", group)


@pytest.mark.parametrize("group", range(4))
def test_expressions_with_a_finite_feature_map(group: int) -> None:
    check_group("finite", group, width=2)


@pytest.mark.parametrize("domain", ["sparse", "strings", "graphs"])
@pytest.mark.parametrize("group", range(2))
def test_expressions_on_other_objects(domain: str, group: int) -> None:
    check_group(domain, group)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(0, 4),
    width=st.integers(1, 6),
    n=st.integers(1, 9),
    domain=st.sampled_from(["vectors", "finite", "sparse", "strings", "graphs"]),
)
def test_any_expression_obeys_the_laws(seed: int, depth: int, width: int, n: int, domain: str) -> None:
    rng = np.random.default_rng(seed)
    kernel, twin = random_kernel(rng, depth=depth, width=width, domain=domain)
    check_kernel(kernel, random_rows(rng, n, width, domain=domain), twin=twin)
