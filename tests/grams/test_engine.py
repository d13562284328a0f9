"""gram: the matrix within a budget, into memory of the caller's own."""

import numpy as np
import pytest

from mercer import Constant, Function, Gaussian, Linear, Precomputed, Spectrum, gram
from mercer.errors import InputError, MemoryBudgetError


@pytest.fixture(name="X")
def points(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(600, 5))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_out_is_filled_whatever_its_order_and_dtype(X: np.ndarray, order: str, dtype: type) -> None:
    k = 2.0 * Gaussian(1.5) + Linear()
    out = np.empty((600, 600), dtype, order=order)
    assert gram(k, X, out=out) is out
    np.testing.assert_allclose(out, k(X), rtol=1e-6 if dtype is np.float32 else 0)


def test_the_gram_of_one_collection_is_exactly_symmetric(X: np.ndarray) -> None:
    K = gram("Gaussian(length_scale=2.0) * Linear()", X)
    assert np.array_equal(K, K.T)


def test_a_function_is_not_made_symmetric_behind_the_users_back(X: np.ndarray) -> None:
    def lopsided(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.add.outer(A[:, 0], 2 * B[:, 0])

    np.testing.assert_array_equal(gram(Function(lopsided), X), lopsided(X, X))


def test_rectangular_grams_of_every_kind() -> None:
    strings, others = ["abcab", "bca", ""], ["ab", "cabc"]

    def common(s: str, t: str) -> int:
        return sum(s[i : i + 2] == t[j : j + 2] for i in range(len(s) - 1) for j in range(len(t) - 1))

    assert gram(Spectrum(2), strings, others).tolist() == [[common(s, t) for t in others] for s in strings]


def test_the_budget_refuses_before_allocating(X: np.ndarray) -> None:
    with pytest.raises(MemoryBudgetError, match=r"2\.7 MiB.*budget of 976\.6 KiB.*GramOperator"):
        gram(Linear(), X, memory="1 MB")
    with pytest.raises(MemoryBudgetError, match="is free"):
        Linear()(np.broadcast_to(np.zeros((1, 1)), (10**7, 1)))


@pytest.mark.parametrize("memory", ["much", "-4 GB", 0, True])
def test_budgets_that_make_no_sense(X: np.ndarray, memory: object) -> None:
    with pytest.raises(InputError, match="memory"):
        gram(Linear(), X, memory=memory)


def test_wrong_out(X: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"shape \(3, 3\)"):
        gram(Linear(), X, out=np.empty((3, 3)))
    with pytest.raises(InputError, match="float32 or float64"):
        gram(Linear(), X, out=np.empty((600, 600), int))
    frozen = np.empty((600, 600))
    frozen.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        gram(Linear(), X, out=frozen)


def test_progress_counts_to_the_end_and_may_stop_the_work(X: np.ndarray) -> None:
    seen: list[tuple[int, int]] = []
    gram(Linear(), X, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 1

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gram(Linear(), X, progress=stop)
    np.testing.assert_array_equal(gram(Constant(2.0), X), np.full((600, 600), 2.0))


def test_precomputed_passes_through(X: np.ndarray) -> None:
    K = X @ X.T
    np.testing.assert_array_equal(gram(2.0 * Precomputed(), K), 2.0 * K)
    with pytest.raises(InputError, match="600 columns but X has 10"):
        gram(Precomputed(), K[:, :10], K)
    with pytest.raises(InputError, match="600 columns for 5 training objects"):
        gram(Precomputed(), K, K[:5])
