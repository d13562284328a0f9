"""Bounds: they invert each other, shrink as they should, and hold in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels.spectral.fourier_map import (
    frequencies_for,
    pairs_bound,
    share_above_the_worst,
    uniform_bound,
    uniform_probability,
)


@pytest.mark.parametrize("phases", [False, True])
def test_the_number_of_frequencies_is_the_least_that_will_do(phases: bool) -> None:
    m = frequencies_for(0.1, 1000, 2.0, phases=phases)
    assert pairs_bound(1000, m, 2.0, phases=phases) <= 0.1 < pairs_bound(1000, m - 1, 2.0, phases=phases)


def test_the_constant_of_the_uniform_bound() -> None:
    """beta_d has its maximum 66 over all d (Sutherland and Schneider 2015)."""

    def beta(d: float) -> float:
        return ((d / 2) ** (-d / (d + 2)) + (d / 2) ** (2 / (d + 2))) * 2 ** ((6 * d + 2) / (d + 2))

    assert 65.5 < max(beta(d) for d in range(1, 400)) < 66.5
    assert np.isclose(uniform_probability(2.0, 3, 100, 1.0, 2.0), min(1.0, beta(3) * 1.0 * np.exp(-100 * 4 / 20)))


def test_the_uniform_bound_inverts_the_probability() -> None:
    eps = uniform_bound(3, 5000, 1.0, 3.0, 8.0)
    assert eps is not None and np.isclose(uniform_probability(eps, 3, 5000, 3.0, 8.0), 1e-3, rtol=1e-6)
    assert uniform_bound(3, 5000, 2.0, 3.0, 8.0) == pytest.approx(2.0 * eps)
    assert uniform_bound(3, 5, 1.0, 3.0, 8.0) is None
    assert uniform_bound(3, 5000, 1.0, np.inf, 8.0) is None
    assert uniform_bound(3, 5000, 1.0, 3.0, 0.0) == 0.0


def test_the_share_above_the_worst() -> None:
    """P(all of n random pairs are below the quantile 1 - share) is the risk."""
    assert np.isclose((1.0 - share_above_the_worst(10_000)) ** 10_000, 1e-3)


def test_the_pair_bound_holds_in_simulation() -> None:
    rng, bad = np.random.default_rng(0), 0
    X = rng.normal(size=(40, 2))
    steps = (X[:, None] - X).reshape(-1, 2)
    exact = np.exp(-0.5 * (steps**2).sum(axis=1))
    bound = pairs_bound(40, 200, 1.0, phases=False)
    for _ in range(200):
        near = np.cos(steps @ rng.normal(size=(2, 200))).mean(axis=1)
        bad += bool(np.abs(near - exact).max() > bound)
    assert bad == 0
