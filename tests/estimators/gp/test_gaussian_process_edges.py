"""Awkward data for a Gaussian process: the right answer or a clear report, and never an unexplained failed factorization."""

import warnings

import numpy as np
import pytest

from mercer import Exponential, Function, Gaussian, GaussianProcessRegressor, Linear, Tanh
from mercer.errors import InputError, NumericalError


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is odd goes into the diagnosis, not into a stream of warnings
        yield


def test_equal_rows_with_different_y_are_averaged(rng: np.random.Generator) -> None:
    X = np.repeat(np.linspace(0, 4, 15), 2)[:, None]
    y = np.sin(X[:, 0]) + np.tile([-0.3, 0.3], 15)
    gp = GaussianProcessRegressor().fit(X, y)
    assert gp.jitter_ == 0.0
    assert gp.noise_ == pytest.approx(0.09, rel=0.5)
    np.testing.assert_allclose(gp.predict(X), np.sin(X[:, 0]), atol=0.15)


def test_equal_rows_with_different_y_contradict_noise_zero_and_that_is_said() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    y = np.array([0.0, 1.0, 3.0, 4.0])
    gp = GaussianProcessRegressor(Gaussian(1.0), noise=0.0, optimizer=None).fit(X, y)
    assert gp.jitter_ > 0
    assert not gp.diagnosis_.ok
    note = " ".join(gp.diagnosis_.notes)
    assert "rows 1 and 2 are equal (their y are different)" in note
    assert 'noise="fit"' in note
    np.testing.assert_allclose(gp.predict(X[1:2]), [2.0], atol=1e-4)  # their average
    fitted = GaussianProcessRegressor(Gaussian(1.0), noise=0.0, n_restarts=0).fit(X, y)
    assert np.isfinite(fitted.predict(X)).all()
    assert not fitted.diagnosis_.ok


def test_noise_zero_interpolates() -> None:
    X = np.linspace(0, 5, 8)[:, None]
    y = np.sin(X[:, 0])
    gp = GaussianProcessRegressor(Exponential(2.0), noise=0.0, n_restarts=0).fit(X, y)
    f, std = gp.predict(X, return_std=True)
    np.testing.assert_allclose(f, y, atol=1e-8)
    np.testing.assert_allclose(std, 0.0, atol=1e-6)
    assert gp.noise_ == 0.0
    assert gp.theta_names_ == ["scale", "length_scale"]
    assert gp.diagnosis_.ok


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_a_constant_y_is_predicted_and_reported(rng: np.random.Generator, mean: str) -> None:
    X = rng.normal(size=(20, 2))
    gp = GaussianProcessRegressor(mean=mean).fit(X, np.full(20, 7.0))
    f, std = gp.predict(X, return_std=True)
    np.testing.assert_allclose(f, 7.0, atol=1e-10)
    assert np.isfinite(std).all()
    assert "y is constant" in gp.diagnosis_.notes[0]
    two = GaussianProcessRegressor(n_restarts=0).fit(X, np.column_stack([np.full(20, 7.0), X[:, 0]]))
    np.testing.assert_allclose(two.predict(X)[:, 0], 7.0, atol=1e-8)
    assert "target 0 of y is constant" in two.diagnosis_.notes[0]


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_one_row(mean: str) -> None:
    with pytest.warns(UserWarning, match="all rows are equal"):
        gp = GaussianProcessRegressor(mean=mean).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(gp.predict([[1.0, 2.0]]), [3.0])
    assert np.isfinite(gp.predict([[5.0, 5.0]], return_std=True)[1]).all()
    assert "one row" in gp.diagnosis_.notes[0]
    if mean == "constant":
        assert np.isnan(gp.loo_.residuals[0])  # nothing is left to fit the mean from
    with pytest.raises(InputError, match=r'mean="linear" has \d coefficients for 1 row'):
        GaussianProcessRegressor(Gaussian(1.0), mean="linear").fit([[1.0, 2.0]], [3.0])


def test_two_rows_and_fewer_rows_than_columns(rng: np.random.Generator) -> None:
    X = rng.normal(size=(8, 40))
    y = X[:, 0] + 0.01 * rng.normal(size=8)
    for kernel in (Gaussian("median"), Gaussian([5.0] * 40), Linear()):
        gp = GaussianProcessRegressor(kernel).fit(X, y)
        f, std = gp.predict(X, return_std=True)
        assert np.isfinite(f).all()
        assert np.isfinite(std).all()
    ard = GaussianProcessRegressor(Gaussian([5.0] * 40), n_restarts=0).fit(X, y)
    assert any("42 parameters were fitted to 8 rows" in note for note in ard.diagnosis_.notes)
    small = GaussianProcessRegressor().fit(X[:2], y[:2])
    assert np.isfinite(small.predict(X, return_std=True)[1]).all()
    with pytest.raises(InputError, match="41 coefficients for 8 rows"):
        GaussianProcessRegressor(mean="linear").fit(X, y)


@pytest.mark.parametrize("size", [1e-12, 1e12, 1e100])
def test_y_of_any_size(rng: np.random.Generator, size: float) -> None:
    X = rng.uniform(0, 5, size=(40, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    plain = GaussianProcessRegressor(n_restarts=1).fit(X, y)
    gp = GaussianProcessRegressor(n_restarts=1).fit(X, size * y)
    np.testing.assert_allclose(gp.predict(X) / size, plain.predict(X), rtol=1e-4, atol=1e-4)
    assert gp.noise_ / size / size == pytest.approx(plain.noise_, rel=1e-3)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_y_whose_square_is_no_number_is_refused(size: float) -> None:
    with pytest.raises(InputError, match="rescale y"):
        GaussianProcessRegressor(Gaussian(1.0)).fit(np.arange(5.0)[:, None], size * np.arange(5.0))


def test_a_kernel_with_a_scale_as_written_finds_y_of_another_size(rng: np.random.Generator) -> None:
    X = rng.uniform(0, 5, size=(40, 1))
    y = 1e6 * (np.sin(X[:, 0]) + 0.1 * rng.normal(size=40))
    as_written = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, y)
    added = GaussianProcessRegressor(Gaussian(1.0)).fit(X, y)
    assert as_written.log_marginal_likelihood_value_ == pytest.approx(added.log_marginal_likelihood_value_, abs=0.5)


def test_columns_of_any_size(rng: np.random.Generator) -> None:
    X = rng.uniform(0, 5, size=(60, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + 0.05 * rng.normal(size=60)
    plain = GaussianProcessRegressor(Gaussian([1.0, 1.0])).fit(X, y)
    scaled = GaussianProcessRegressor(Gaussian([1.0, 1.0])).fit(X * [1e5, 1e-4], y)
    assert scaled.log_marginal_likelihood_value_ == pytest.approx(plain.log_marginal_likelihood_value_, abs=0.2)


def test_a_column_without_variance_changes_nothing(rng: np.random.Generator) -> None:
    X = rng.uniform(0, 5, size=(40, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    wide = np.column_stack([X[:, 0], np.full(40, 3.0), X[:, 1]])
    for mean in ("constant", "linear"):
        plain = GaussianProcessRegressor(Gaussian([1.0, 1.0]), noise=0.01, mean=mean, optimizer=None).fit(X, y)
        gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), noise=0.01, mean=mean, optimizer=None).fit(wide, y)
        np.testing.assert_allclose(gp.predict(wide), plain.predict(X), atol=1e-9)
    assert gp.coef_[1] == 0.0
    fitted = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), mean="linear").fit(wide, y)
    assert np.isfinite(fitted.predict(wide, return_std=True)[1]).all()


def test_rows_that_are_all_equal_leave_the_mean(rng: np.random.Generator) -> None:
    with pytest.warns(UserWarning, match="all rows are equal"):
        gp = GaussianProcessRegressor().fit(np.ones((6, 2)), np.arange(6.0))
    np.testing.assert_allclose(gp.predict(np.ones((1, 2))), [2.5], atol=1e-6)


def test_near_duplicates_in_thousands_stay_factorable(rng: np.random.Generator) -> None:
    X = np.repeat(rng.normal(size=(5, 1)), 40, axis=0) + 1e-9 * rng.normal(size=(200, 1))
    y = np.sin(X[:, 0])
    gp = GaussianProcessRegressor(n_restarts=0).fit(X, y)  # free of noise: the bound on the noise keeps G factorable
    np.testing.assert_allclose(gp.predict(X), y, atol=1e-3)
    assert any("noise is at its low bound" in note for note in gp.diagnosis_.notes) or gp.noise_ < 1e-4


def test_what_is_no_kernel_says_so(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(NumericalError, match=r"GaussianProcessRegressor: .* not positive definite.*alpha is the noise"):
        GaussianProcessRegressor(Tanh(1.0, offset=-1.0), noise=1e-6, optimizer=None).fit(X, y)

    def negative(A, B):
        return -np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))

    with pytest.raises(NumericalError, match="not positive definite"):
        GaussianProcessRegressor(Function(negative), noise=1e-6, optimizer=None).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    gp = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None).fit(X, y)
    before = gp.predict(X)
    gp.set_params(mean="nonsense")
    with pytest.raises(InputError):
        gp.fit(X[:5], y[:5])
    np.testing.assert_array_equal(gp.predict(X), before)


def test_a_column_that_is_constant_but_for_rounding_gets_no_tiny_length_scale(rng: np.random.Generator) -> None:
    """The mean of 0.1 three hundred times is not 0.1, so its standard deviation is not 0; distances must not feel that."""
    X = np.column_stack([rng.normal(size=300), np.full(300, 0.1), np.full(300, -1e-5 / 3)])
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=300)
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0])).fit(X, y)
    start = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), n_restarts=0).fit(X, y)
    assert min(gp.kernel_.get_params()["0__length_scale"]) > 0.01
    assert gp._parameters.typical[1:4].min() > np.log(0.1)
    other = rng.normal(size=(50, 1))
    new = np.column_stack([other, np.full(50, 0.1), np.full(50, -1e-5 / 3)])
    plain = GaussianProcessRegressor(Gaussian([1.0])).fit(X[:, :1], y)
    for fit in (gp, start):
        assert np.abs(fit.predict(new) - plain.predict(other)).max() < 0.02
