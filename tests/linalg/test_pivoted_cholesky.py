"""Pivoted Cholesky against the plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.linalg.pivoted_cholesky import NEARLY, pivoted_cholesky

Array = NDArray[Any]


def gram(n: int, seed: int = 0, scale: float = 1.0) -> Array:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2) / scale**2)


def naive(K: Array, m: int) -> list[int]:
    """One pivot at a time: the row with the largest variance left, by dense algebra."""
    chosen: list[int] = []
    for _ in range(m):
        if chosen:
            S = K[:, chosen]
            left = np.diag(K) - np.einsum("ij,ji->i", S, np.linalg.solve(K[np.ix_(chosen, chosen)], S.T))
        else:
            left = np.diag(K).copy()
        left[chosen] = -1.0
        chosen.append(int(left.argmax()))
    return chosen


def test_one_candidate_is_the_plain_loop() -> None:
    K = gram(60) * np.random.default_rng(1).uniform(1, 2, 60) ** 0.5
    K = 0.5 * (K + K.T) + 0.5 * np.diag(np.arange(60) / 60)  # no two equal entries on the diagonal
    assert pivoted_cholesky(lambda c: K[:, c], np.diag(K), 15, candidates=1).index.tolist() == naive(K, 15)


@pytest.mark.parametrize("rule", ["greedy", "random"])
@pytest.mark.parametrize("candidates", [1, 7, 64])
def test_factor_and_residual_belong_to_the_pivots(rule: str, candidates: int) -> None:
    K = gram(120, 2)
    found = pivoted_cholesky(lambda c: K[:, c], np.diag(K), 40, rule=rule, candidates=candidates)
    assert len(set(found.index.tolist())) == len(found.index) == 40
    S = K[:, found.index]
    Q = S @ np.linalg.solve(K[np.ix_(found.index, found.index)], S.T)
    assert np.allclose(found.factor @ found.factor.T, Q, atol=1e-8)
    assert np.allclose(found.residual, np.diag(K - Q), atol=1e-8)


def test_a_greedy_round_takes_only_what_is_nearly_the_largest() -> None:
    K = gram(200, 3, 0.7)
    found = pivoted_cholesky(lambda c: K[:, c], np.diag(K), 100, candidates=16)
    for r in range(1, 100):
        S = K[:, found.index[:r]]
        left = np.diag(K) - np.einsum("ij,ji->i", S, np.linalg.solve(K[np.ix_(found.index[:r], found.index[:r])], S.T))
        assert left[found.index[r]] >= NEARLY * left.max() - 1e-10


def test_it_stops_at_the_rank() -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    for rule in ("greedy", "random"):
        found = pivoted_cholesky(lambda c: X @ X[c].T, (X**2).sum(axis=1), 30, rule=rule)
        assert len(found.index) == 4
        assert np.allclose(found.factor @ found.factor.T, X @ X.T)
    assert len(pivoted_cholesky(lambda c: np.zeros((5, len(c))), np.zeros(5), 3).index) == 0


def test_the_random_rule_follows_its_law() -> None:
    """The law of the second pivot, given the first, is the residual diagonal; rejection must not bend it."""
    K = np.diag([1.0, 1.0, 1.0, 3.0]) + 0.9 * np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    for candidates in (1, 2):
        counts = np.zeros((4, 4))
        rng = np.random.default_rng(5)
        for _ in range(300):
            i, j = pivoted_cholesky(lambda c: K[:, c], np.diag(K), 2, rule="random", rng=rng, candidates=candidates).index
            counts[i, j] += 1
        first = np.diag(K) / np.trace(K)
        for i in range(4):
            left = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0.0)
            expected = 300 * first[i] * left / left.sum()
            assert np.all(np.abs(counts[i] - expected) < 5 * np.sqrt(expected + 1)), (candidates, i)


def test_same_seed_same_rows() -> None:
    K = gram(80)
    rows = [
        pivoted_cholesky(lambda c: K[:, c], np.diag(K), 20, rule="random", rng=np.random.default_rng(7)).index
        for _ in range(2)
    ]
    assert np.array_equal(*rows)


def test_arguments() -> None:
    K = gram(5)
    with pytest.raises(InputError, match="rule must be one of greedy, random; got 'best'"):
        pivoted_cholesky(lambda c: K[:, c], np.diag(K), 2, rule="best")
    with pytest.raises(InputError, match="at least 1; got 0"):
        pivoted_cholesky(lambda c: K[:, c], np.diag(K), 0)
