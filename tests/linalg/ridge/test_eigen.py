import numpy as np
import pytest
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem

from mercer.errors import InputError, NumericalError
from mercer.linalg.ridge.eigen import EigenPath, _eigh_in_place

ALPHAS = np.array([1e-3, 0.1, 1.0, 50.0])


@pytest.mark.parametrize(("kind", "intercept"), CASES)
@pytest.mark.parametrize("features", [False, True])
def test_leverage_dof_and_influence(kind, intercept, features):
    K, _, w = problem(kind)
    if features:
        Z = np.random.default_rng(9).normal(size=(25, 4))
        K = Z @ Z.T
        path = EigenPath.from_features(Z, weights=w, fit_intercept=intercept)
    else:
        path = EigenPath.from_gram(K, weights=w, fit_intercept=intercept)
    levers, dof = path.leverage(ALPHAS), path.effective_dof(ALPHAS)
    assert levers.shape == (4, 25)
    for index, alpha in enumerate(ALPHAS):
        H = naive.smoother(K, alpha, w, intercept)
        assert np.allclose(levers[index], np.where((w if w is not None else 1) == 0, 0, H.diagonal()), atol=1e-10)
        assert np.isclose(dof[index], levers[index].sum())
        assert np.allclose(path.influence(K, alpha), H, atol=1e-9)
        G = K if w is None else None
        if G is not None:
            assert np.isclose(path.condition(alpha), np.linalg.cond(K + alpha * np.eye(25)), rtol=1e-6)


def test_the_vectors_live_in_the_memory_of_the_gram():
    K, _, w = problem("zeros")
    mine = K.copy()
    path = EigenPath.from_gram(mine, weights=w, overwrite=True)
    assert np.shares_memory(path.vectors, mine)
    untouched = K.copy()
    EigenPath.from_gram(untouched, weights=w)
    assert np.array_equal(untouched, K)


def test_float32_stays_float32():
    K, _, _ = problem(None)
    path = EigenPath.from_gram(K.astype(np.float32), fit_intercept=True)
    assert path.vectors.dtype == np.float32 and path.values.dtype == np.float64
    H = naive.smoother(K, 0.1, None, True)
    assert np.allclose(path.leverage([0.1])[0], H.diagonal(), atol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [None, "weights", "zeros"])
def test_alpha_zero_is_least_squares(kind, intercept):
    """The hat matrix of plain least squares, from a Gram of rank 4 of 25."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(25, 4)) + 2
    _, _, w = problem(kind)
    weights, b = naive.least_squares(Z, np.eye(25), w, intercept)
    H = Z @ weights + b
    for path in (
        EigenPath.from_gram(Z @ Z.T, weights=w, fit_intercept=intercept),
        EigenPath.from_features(Z, weights=w, fit_intercept=intercept),
    ):
        assert path.rank == 4
        assert np.allclose(path.influence(Z @ Z.T, 0.0), H, atol=1e-9)
        active = np.ones(25, bool) if w is None else w > 0
        assert np.allclose(path.leverage([0.0])[0][active], H.diagonal()[active], atol=1e-9)
        assert np.isclose(path.effective_dof([0.0])[0], 4 + intercept)


def test_rounding_below_zero_is_zero_and_more_is_an_error():
    X = np.linspace(0, 1, 60)
    smooth = EigenPath.from_gram(np.exp(-(np.subtract.outer(X, X) ** 2)))
    assert smooth.values.min() >= 0 and smooth.rank < 20
    indefinite = EigenPath.from_gram(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert np.isclose(indefinite.leverage([1.5])[0, 0], np.linalg.inv([[2.5, 2], [2, 2.5]])[0] @ [1, 2])
    with pytest.raises(NumericalError, match=r"eigenvalue -1.*alpha = 0.5.*above 1"):
        indefinite.leverage([0.5])
    with pytest.raises(NumericalError, match="eigenvalue -1"):
        indefinite.leverage([0.0])


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"K\[1, 1\] is nan"):
        EigenPath.from_gram(np.diag([1.0, np.nan]))
    with pytest.raises(InputError, match="row 1"):
        EigenPath.from_features(np.array([[1.0], [np.inf]]))
    with pytest.raises(InputError, match="non-empty"):
        EigenPath.from_features(np.ones((0, 2)))


def test_more_rows_than_lapack_can_count_are_refused():
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (40_000, 40_000), (0, 0))  # a matrix of one number
    with pytest.raises(InputError, match=r"40000 x 40000.*Cholesky route"):
        _eigh_in_place(huge)


def test_a_gram_of_zeros_fits_nothing():
    path = EigenPath.from_gram(np.zeros((3, 3)), fit_intercept=True)
    assert path.rank == 0
    assert np.allclose(path.leverage([0.0, 1.0]), 1 / 3)
