"""No valid kernel is ever called invalid: by proof on ten thousand trees, by search alone on a few hundred."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.testing.random_kernels import random_kernel, random_rows
from mercer.validity import certify
from mercer.validity.counterexamples import search

DOMAINS = ("vectors", "strings", "graphs", "sparse")


def test_ten_thousand_random_trees_are_all_proved() -> None:
    rng = np.random.default_rng(0)
    for i in range(10_000):
        kernel, _ = random_kernel(rng, depth=1 + i % 4, width=1 + i % 3, domain=DOMAINS[0 if i % 5 else i % 4])
        certificate = certify(kernel)
        assert certificate.status == "valid", kernel
        if i % 50 == 0:
            assert str(certificate) and certificate.tree()


def _search_alone(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for i in range(count):
        domain, width = DOMAINS[i % 3], 1 + i % 3
        kernel, _ = random_kernel(rng, depth=1 + i % 3, width=width, domain=domain)
        X = random_rows(rng, n=10, width=width, domain=domain) if i % 2 else None
        found, _ = search(kernel, X)
        assert found is None, f"{found}"


def test_search_without_the_proof_finds_nothing_either() -> None:
    _search_alone(60, seed=1)


@pytest.mark.slow
def test_search_without_the_proof_finds_nothing_on_many_more() -> None:
    _search_alone(1000, seed=2)
