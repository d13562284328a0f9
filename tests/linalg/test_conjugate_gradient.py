import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linalg.ridge import naive

from mercer.errors import InputError, NumericalError
from mercer.linalg.cholesky import cholesky
from mercer.linalg.conjugate_gradient import conjugate_gradient


class Operator:
    """A matrix that can only multiply, and counts how often and how many columns."""

    def __init__(self, A, dtype=np.float64):
        self.A, self.shape, self.widths = A.astype(dtype), A.shape, []

    def __matmul__(self, P):
        self.widths.append(P.shape[1])
        return self.A @ P.astype(self.A.dtype)

    def diag(self):
        return self.A.diagonal().copy()


@pytest.mark.parametrize("shift", [0.1, "vector"])
def test_against_a_direct_solve(shift):
    rng = np.random.default_rng(0)
    K, _ = naive.gram(rng, 60)
    K = K * np.outer(*[rng.uniform(0.1, 10, 60)] * 2)  # a diagonal that varies, for the preconditioner to mend
    ridge = rng.uniform(0.1, 1, 60) if shift == "vector" else shift
    B = rng.normal(size=(60, 3))
    G = K + np.diag(np.broadcast_to(ridge, 60))
    for A in (K, Operator(K)):
        found = conjugate_gradient(A, B, shift=ridge, tol=1e-12)
        assert found.converged and found.residual <= 1e-12
        assert np.allclose(found.value, np.linalg.solve(G, B), rtol=1e-8, atol=1e-9)
    assert conjugate_gradient(K, B[:, 0], shift=ridge).value.shape == (60,)


@given(st.integers(1, 15), st.floats(0.05, 10), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_at_most_as_many_steps_as_distinct_eigenvalues(n, alpha, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    found = conjugate_gradient(Z @ Z.T, rng.normal(size=n), shift=alpha)
    assert found.converged and found.n_iter <= 3 + 2  # rank two plus the shift, and slack for rounding


def test_the_error_falls_in_the_norm_of_the_matrix():
    rng = np.random.default_rng(1)
    K, _ = naive.gram(rng, 50)
    G, b = K + 0.01 * np.eye(50), rng.normal(size=50)
    exact = np.linalg.solve(G, b)
    energies = []
    for steps in range(1, 20):
        e = conjugate_gradient(G, b, max_iter=steps).value - exact
        energies.append(e @ G @ e)
    assert (np.diff(energies) <= 1e-12).all()


def test_preconditioner_start_and_columns_that_finish_early():
    rng = np.random.default_rng(2)
    K, _ = naive.gram(rng, 80, length_scale=2.0)
    G = K + 1e-3 * np.eye(80)
    B = np.c_[rng.normal(size=80), G[:, 0], np.zeros(80)]
    plain = conjugate_gradient(Operator(G), B)
    helped = conjugate_gradient(Operator(G), B, preconditioner=cholesky(G.astype(np.float32)).solve)
    assert helped.converged and helped.n_iter < plain.n_iter / 3
    assert np.allclose(helped.value[:, 2], 0)
    counted = Operator(G)
    again = conjugate_gradient(counted, B, start=plain.value)
    assert again.n_iter == 0 and again.converged and counted.widths == [3]
    narrowing = Operator(G)
    conjugate_gradient(narrowing, B, start=np.c_[np.zeros((80, 1)), plain.value[:, 1:]])
    assert set(narrowing.widths[1:-1]) == {1}


def test_convergence_is_a_result():
    rng = np.random.default_rng(3)
    K, _ = naive.gram(rng, 60, length_scale=3.0)
    b = rng.normal(size=60)
    short = conjugate_gradient(K, b, shift=1e-6, max_iter=3)
    assert not short.converged and short.n_iter == 3 and "not converged in 3 iterations" in short.message
    assert np.isclose(short.residual, np.linalg.norm(b - K @ short.value - 1e-6 * short.value) / np.linalg.norm(b))
    coarse = conjugate_gradient(Operator(K, np.float32), b, shift=0.1, tol=1e-12)
    assert not coarse.converged and "not accurate enough" in coarse.message and coarse.residual < 1e-5
    singular = conjugate_gradient(np.diag([1.0, 0.0]), np.array([1.0, 1.0]))
    assert not singular.converged and "singular" in singular.message


def test_callback_sees_progress_and_can_stop():
    rng = np.random.default_rng(4)
    K, _ = naive.gram(rng, 40)
    seen = []
    found = conjugate_gradient(K, rng.normal(size=40), shift=0.01, callback=lambda p: seen.append(p) or len(seen) == 4)
    assert [p.n_iter for p in seen] == [1, 2, 3, 4] and seen[0].tol == 1e-8
    assert not found.converged and found.n_iter == 4 and "stopped by the callback" in found.message


def test_an_interrupt_leaves_the_arguments_alone():
    rng = np.random.default_rng(5)
    K, _ = naive.gram(rng, 40)
    b, start = rng.normal(size=40), np.ones(40)
    before = K.copy(), b.copy()

    def interrupt(progress):
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conjugate_gradient(K, b, shift=0.01, start=start, callback=interrupt)
    assert np.array_equal(K, before[0]) and np.array_equal(b, before[1]) and np.array_equal(start, np.ones(40))


def test_what_cannot_be_solved_is_an_error():
    with pytest.raises(NumericalError, match=r"not positive definite: a direction p with p'Ap / p'p = -1"):
        conjugate_gradient(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, -1.0]))
    with pytest.raises(NumericalError, match="NaN or infinity"):
        conjugate_gradient(np.full((2, 2), np.nan), np.ones(2))
    with pytest.raises(NumericalError, match="0 in row 1"):
        conjugate_gradient(Operator(np.diag([1.0, 0.0])), np.ones(2))
    with pytest.raises(InputError, match="square"):
        conjugate_gradient(np.ones((2, 3)), np.ones(2))
    with pytest.raises(InputError, match="shape of B"):
        conjugate_gradient(np.eye(2), np.ones(2), start=np.ones((2, 3)))
    with pytest.raises(InputError, match="keep the shape"):
        conjugate_gradient(np.eye(2), np.ones(2), preconditioner=lambda R: R[:, 0])
    with pytest.raises(InputError, match="row 1"):
        conjugate_gradient(np.eye(2), np.array([1.0, np.nan]))
