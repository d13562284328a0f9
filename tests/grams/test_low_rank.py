"""Landmarks: the factor, the feature map of new rows, any kernel on any input, and what they miss."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.errors import InputError, MemoryBudgetError
from mercer.grams.low_rank import low_rank


def points(n: int = 120, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_factor_is_the_projection_on_the_landmarks() -> None:
    X, k = points(), mercer.Gaussian(1.5)
    found = low_rank(k, X, 30)
    S = found.index
    K = k(X)
    np.testing.assert_allclose(found.factor @ found.factor.T, K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S]), atol=1e-9)
    np.testing.assert_allclose(found.factor @ found.factor[S].T, K[:, S], atol=1e-9)  # exact where a landmark is concerned
    np.testing.assert_allclose(found.residual, K.diagonal() - (found.factor**2).sum(axis=1), atol=1e-9)
    assert found.missed == pytest.approx(found.residual.sum() / 120)
    assert len(set(S.tolist())) == 30


def test_new_rows_get_the_same_features() -> None:
    X, k = points(), mercer.Matern(nu=2.5, length_scale=2.0)
    found = low_rank(k, X, 25)
    np.testing.assert_allclose(found.features(X), found.factor, atol=1e-9)
    new = points(7, seed=1)
    F = found.features(new)
    assert F.shape == (7, 25) and (k.diag(new) - (F**2).sum(axis=1) > -1e-10).all()
    np.testing.assert_allclose(F @ found.factor[found.index].T, k(new, X[found.index]), atol=1e-9)


def test_vectors_given_by_features_are_expansions_on_landmarks() -> None:
    X, k = points(), mercer.Gaussian(1.0)
    found = low_rank(k, X, 20)
    w = np.random.default_rng(5).normal(size=(20, 2))
    new = points(6, seed=2)
    c = found.features.expansion(w)
    np.testing.assert_allclose(k(new, X[found.index]) @ c, found.features(new) @ w, atol=1e-9)


def test_more_landmarks_than_rank_stop_early() -> None:
    found = low_rank(mercer.Linear(), points(50, 4), 30)
    assert found.factor.shape == (50, 4) and found.missed < 1e-10


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (mercer.Spectrum(p=2), ["banana", "bandana", "ananas", "kiwi", "kiwano", "papaya"]),
        (mercer.VertexHistogram(), [mercer.Graph(3, [(0, 1)], node_labels=[a, b, 1]) for a in (0, 1, 2) for b in (0, 1)]),
        (mercer.Linear() + mercer.Gaussian(1.0), points(20)),
    ],
)
def test_any_kernel_on_any_input(kernel: mercer.Kernel, X: object) -> None:
    found = low_rank(kernel, X, 100)
    np.testing.assert_allclose(found.factor @ found.factor.T, kernel(X), atol=1e-8)
    np.testing.assert_allclose(found.features(X), found.factor, atol=1e-7)


def test_kernel_values_from_outside() -> None:
    X = points(40)
    K, new = mercer.Gaussian(1.0)(X), mercer.Gaussian(1.0)(points(5, seed=3), X)
    found, same = low_rank(mercer.Precomputed(), K, 15), low_rank(mercer.Gaussian(1.0), X, 15)
    assert found.index.tolist() == same.index.tolist()
    np.testing.assert_allclose(found.features(new), same.features(points(5, seed=3)), atol=1e-9)


def test_draws_follow_the_generator() -> None:
    X = points()
    first, second = (low_rank(mercer.Gaussian(1.0), X, 10, rng=np.random.default_rng(s)).index for s in (1, 2))
    assert first.tolist() != second.tolist()
    again = low_rank(mercer.Gaussian(1.0), X, 10, rng=np.random.default_rng(1)).index
    assert first.tolist() == again.tolist()


def test_random_landmarks_come_near_the_best_matrix_of_their_rank() -> None:
    X, k = points(400, 2), mercer.Gaussian(1.0)
    values = np.linalg.eigvalsh(k(X))[::-1]
    errors = [low_rank(k, X, 30, rng=np.random.default_rng(s)).residual.sum() for s in range(10)]
    assert np.mean(errors) < 4.0 * values[20:].sum()  # the theorem has 30 > 20 landmarks come near the best 20


def test_duplicates_zero_rows_and_one_row() -> None:
    X = np.repeat(points(5, 2), 4, axis=0)
    assert low_rank(mercer.Gaussian(1.0), X, 20).factor.shape == (20, 5)
    zero = low_rank(mercer.Linear(), np.zeros((4, 2)), 3)
    assert zero.factor.shape == (4, 1) and not zero.factor.any() and zero.missed == 0.0
    assert not zero.features(np.zeros((2, 2))).any()
    assert low_rank(mercer.Gaussian(1.0), points(1), 3).factor.shape == (1, 1)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="whole number >= 1"):
        low_rank(mercer.Gaussian(1.0), points(), 0)
    with pytest.raises(MemoryBudgetError, match="fewer landmarks"):
        low_rank(mercer.Gaussian(1.0), points(), 50, memory="1 KB")
    with pytest.raises(InputError, match="not a kernel"):
        low_rank(mercer.Tanh(1.0, offset=-3.0), points(), 5)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    low_rank(mercer.Gaussian(0.5), points(300), 100, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][1] == 100 and seen == sorted(seen)
