"""GaussianProcessRegressor: the laws it obeys, what it fits, its parameters, its messages."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import stats
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    Constant,
    Gaussian,
    GaussianProcessRegressor,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Precomputed,
)
from mercer.errors import InputError, MemoryBudgetError
from mercer.testing import random_kernel

N = 60
PLAIN = {"mean": "zero", "normalize_y": False, "optimizer": None}


@parametrize_with_checks([GaussianProcessRegressor(n_restarts=0, max_iter=20)])
def test_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N), rng.normal(size=(25, 3))


# -- the same as ridge, and as the formulas ------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [1e-3, 0.3])
def test_the_mean_is_kernel_ridge_at_alpha_equal_noise(data: tuple, noise: float) -> None:
    X, y, Z = data
    kernel = 2.0 * Gaussian([1.0, 2.0, 3.0]) + Linear()
    gp = GaussianProcessRegressor(kernel, noise=noise, **PLAIN).fit(X, y)
    ridge = KernelRidge(kernel, alpha=noise, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(gp.predict(Z), ridge.predict(Z), atol=1e-10)
    np.testing.assert_allclose(gp.dual_coef_, ridge.dual_coef_, rtol=1e-9, atol=1e-9)
    assert gp.rkhs_norm_ == pytest.approx(ridge.rkhs_norm_, rel=1e-8)
    with_mean = GaussianProcessRegressor(kernel, noise=noise, optimizer=None).fit(X, y)  # a constant mean is an intercept
    centered = KernelRidge(kernel, alpha=noise, fit_intercept=True, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(with_mean.predict(Z), centered.predict(Z), atol=1e-10)
    assert with_mean.intercept_ == pytest.approx(centered.intercept_, abs=1e-10)


def test_attributes_are_in_the_units_of_y_and_reproduce_everything(data: tuple) -> None:
    X, y, Z = data
    y = 1000.0 * y + 5e4
    gp = GaussianProcessRegressor().fit(X, y)
    G = gp.kernel_(X) + gp.noise_ * np.eye(N)
    law = multivariate_normal(np.full(N, gp.intercept_), G)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(law.logpdf(y), abs=1e-6)
    f, latent = gp.predict(Z, return_std=True)
    _, noisy = gp.predict(Z, return_std=True, include_noise=True)
    np.testing.assert_allclose(noisy**2 - latent**2, gp.noise_, rtol=1e-8)
    np.testing.assert_allclose(f, gp.kernel_(Z, X) @ gp.dual_coef_ + gp.intercept_, rtol=1e-10)
    np.testing.assert_array_equal(gp.alpha_, gp.dual_coef_)
    np.testing.assert_array_equal(gp.X_train_, X)


def test_the_fit_does_not_depend_on_the_units_of_y(data: tuple) -> None:
    X, y, Z = data
    one = GaussianProcessRegressor(n_restarts=1).fit(X, y)
    other = GaussianProcessRegressor(n_restarts=1).fit(X, 1e8 * y - 3e9)
    f, s = one.predict(Z, return_std=True)
    g, t = other.predict(Z, return_std=True)
    np.testing.assert_allclose(g, 1e8 * f - 3e9, rtol=1e-5, atol=1e4)
    np.testing.assert_allclose(t, 1e8 * s, rtol=1e-4)
    shift = N * np.log(1e8)
    assert other.log_marginal_likelihood_value_ == pytest.approx(one.log_marginal_likelihood_value_ - shift, abs=1e-4)


def test_std_cov_and_samples_tell_the_same_story(data: tuple) -> None:
    X, y, Z = data
    gp = GaussianProcessRegressor(noise=0.1, n_restarts=0).fit(X, y)
    f, std = gp.predict(Z, return_std=True)
    g, cov = gp.predict(Z, return_cov=True)
    np.testing.assert_array_equal(f, g)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, atol=1e-8)
    draws = gp.sample_y(Z, n_samples=4000, random_state=1)
    assert draws.shape == (25, 4000)
    np.testing.assert_allclose(draws.mean(axis=1), f, atol=5 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.1 * std.max() ** 2)
    np.testing.assert_array_equal(draws, gp.sample_y(Z, n_samples=4000, random_state=1))
    noisy = gp.sample_y(Z, n_samples=4000, random_state=1, include_noise=True)
    np.testing.assert_allclose(noisy.var(axis=1), std**2 + 0.1, rtol=0.15)


def test_an_uncertain_mean_widens_the_error_bars_far_away(data: tuple) -> None:
    X, y, _ = data
    far = np.full((1, 3), 1e3)
    for mean, wider in (("zero", False), ("constant", True), ("linear", True)):
        gp = GaussianProcessRegressor(2.0 * Gaussian(1.0), noise=0.1, mean=mean, optimizer=None).fit(X, y)
        std = gp.predict(far, return_std=True)[1][0]
        assert (std > np.sqrt(2.0) + 1e-3) == wider
    assert gp.coef_.shape == (3,)
    np.testing.assert_allclose(gp.predict(far), gp.intercept_ + far @ gp.coef_, rtol=1e-8)


def test_a_linear_mean_finds_the_line(rng: np.random.Generator) -> None:
    X = rng.uniform(size=(80, 2))
    y = 4.0 + X @ [2.0, -3.0] + 0.01 * rng.normal(size=80)
    gp = GaussianProcessRegressor(0.01 * Gaussian(0.2), noise=1e-4, mean="linear", optimizer=None).fit(X, y)
    np.testing.assert_allclose(gp.coef_, [2.0, -3.0], atol=0.3)
    assert gp.intercept_ == pytest.approx(4.0, abs=0.3)


def test_several_targets_share_the_kernel(data: tuple, rng: np.random.Generator) -> None:
    X, y, Z = data
    Y = np.column_stack([y, 100.0 * np.cos(X[:, 2]) + 7.0])
    both = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, normalize_y=False, optimizer=None).fit(X, Y)
    f, s = both.predict(Z, return_std=True)
    assert f.shape == s.shape == (25, 2)
    for j in range(2):
        one = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, normalize_y=False, optimizer=None).fit(X, Y[:, j])
        np.testing.assert_allclose(f[:, j], one.predict(Z), rtol=1e-9)
        np.testing.assert_allclose(s[:, j], one.predict(Z, return_std=True)[1], rtol=1e-9)
    scaled = GaussianProcessRegressor(n_restarts=0).fit(X, Y)
    f, s = scaled.predict(Z, return_std=True)
    np.testing.assert_allclose(s[:, 1] / s[:, 0], Y[:, 1].std() / Y[:, 0].std(), rtol=1e-9)
    assert scaled.predict(Z, return_cov=True)[1].shape == (25, 25, 2)
    assert scaled.sample_y(Z, 3).shape == (25, 2, 3)
    assert scaled.predict_interval(Z).shape == (25, 2, 2)
    assert scaled.loo_mean_.shape == (N, 2)
    # densities are in the units of y: the value is that of the sum over targets of unscaled processes
    total = 0.0
    for j in range(2):
        sd = Y[:, j].std()
        law = multivariate_normal(np.full(N, scaled.intercept_[j]), sd**2 * (scaled.kernel_(X) + scaled.noise_ * np.eye(N)))
        total += law.logpdf(Y[:, j])
    assert scaled.log_marginal_likelihood_value_ == pytest.approx(total, abs=1e-6)


# -- the gradient, on any kernel -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_gradients_are_finite_differences_on_random_nested_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, _ = random_kernel(rng, depth=int(rng.integers(1, 4)), width=3)
    X, y = rng.normal(size=(25, 3)), rng.normal(size=25)
    mean = ("zero", "constant")[seed % 2]
    gp = GaussianProcessRegressor(kernel, noise=0.5, mean=mean, optimizer=None).fit(X, y)
    value, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    assert value == pytest.approx(gp.log_marginal_likelihood_value_, abs=1e-8)
    assert gradient.shape == (len(gp.theta_names_),) == (len(kernel.theta) + 1,)
    for i in range(len(gp.theta_)):
        step = 1e-5 * np.eye(len(gp.theta_))[i]
        slope = (gp.log_marginal_likelihood(gp.theta_ + step) - gp.log_marginal_likelihood(gp.theta_ - step)) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=2e-5, abs=2e-5 * (1 + abs(value)))


@pytest.mark.parametrize("domain", ["strings", "graphs", "sparse"])
def test_gradients_on_other_collections(domain: str) -> None:
    from mercer.testing import random_rows

    rng = np.random.default_rng(5)
    kernel = 0.7 * random_kernel(rng, depth=2, domain=domain)[0]
    X, y = random_rows(rng, n=12, domain=domain), rng.normal(size=12)
    gp = GaussianProcessRegressor(kernel, noise=0.5, optimizer=None).fit(X, y)
    _, gradient = gp.log_marginal_likelihood(eval_gradient=True)
    step = 1e-5 * np.eye(len(gp.theta_))[0]
    slope = (gp.log_marginal_likelihood(gp.theta_ + step) - gp.log_marginal_likelihood(gp.theta_ - step)) / 2e-5
    assert gradient[0] == pytest.approx(slope, rel=1e-4, abs=1e-5)


# -- fitting ---------------------------------------------------------------------------------------------------------------


def test_the_fit_is_at_a_top_of_likelihood_plus_priors(data: tuple) -> None:
    X, y, _ = data
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), tol=1e-8).fit(X, y)
    assert gp.theta_names_ == ["scale", "length_scale[0]", "length_scale[1]", "length_scale[2]", "noise"]
    assert gp.diagnosis_.converged
    _, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    _, pull = gp._parameters.log_prior(gp.theta_)
    np.testing.assert_allclose(gradient + pull, 0.0, atol=2e-3)
    bare = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), tol=1e-8, priors=None).fit(X, y)
    assert bare.log_marginal_likelihood_value_ >= gp.log_marginal_likelihood_value_ - 1e-6


def test_it_finds_the_noise_and_the_relevant_column(rng: np.random.Generator) -> None:
    X = rng.uniform(-2, 2, size=(250, 3))
    y = 3.0 * np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=250)
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0])).fit(X, y)
    assert gp.noise_ == pytest.approx(0.04, rel=0.3)
    scales = np.array(gp.kernel_.get_params()["0__length_scale"])
    assert scales[1:].min() > 5 * scales[0]


def test_a_subset_first_ends_where_all_starts_would(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rng.uniform(-2, 2, size=(350, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=350)
    whole = GaussianProcessRegressor(Gaussian([1.0, 1.0]), n_restarts=0, tol=1e-6).fit(X, y)
    monkeypatch.setattr("mercer.estimators.gp.search.SUBSET", 120)
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0])).fit(X, y)
    assert {attempt.rows for attempt in gp.diagnosis_.attempts} == {120, 175, 350}
    assert gp.diagnosis_.n_evaluations < 25
    assert gp.log_marginal_likelihood_value_ >= whole.log_marginal_likelihood_value_ - 0.05


def test_on_the_part_only_the_better_half_of_the_starts_climbs_on(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.uniform(-2, 2, size=(300, 3))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=300)
    monkeypatch.setattr("mercer.estimators.gp.search.SUBSET", 150)
    monkeypatch.setattr("mercer.estimators.gp.search.TRIAL_STEPS", 3)
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), n_restarts=3).fit(X, y)
    counts = sorted(attempt.n_evaluations for attempt in gp.diagnosis_.attempts if attempt.rows == 150)
    assert len(counts) == 4
    assert counts[1] <= 3 * 3 + 1  # stopped on trial: three steps, some of them shortened
    assert counts[2] > counts[1]
    whole = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), n_restarts=0, tol=1e-6).fit(X, y)
    assert gp.log_marginal_likelihood_value_ >= whole.log_marginal_likelihood_value_ - 0.05


def test_compiled_loops_and_one_thread_change_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(320, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=320)
    kernel = 1.5 * Gaussian([1.0, 2.0, 3.0, 4.0]) + 0.5 * Laplacian(3.0)
    found = []
    for loading, alone in ((0, 600), (2**62, 600), (0, 0), (2**62, 0)):
        monkeypatch.setattr("mercer.numeric.compiling.LOADING", loading)
        monkeypatch.setattr("mercer.estimators.gp.exact.ALONE_ROWS", alone)
        gp = GaussianProcessRegressor(kernel, noise=0.1, **PLAIN).fit(X, y)
        value, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
        found.append(np.append(gradient, value))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10)


def test_restarts_escape_a_bad_start(rng: np.random.Generator) -> None:
    X = np.linspace(0, 10, 60)[:, None]
    y = np.sin(X[:, 0]) + 0.05 * rng.normal(size=60)
    bad = 1.0 * Gaussian(1e4)  # as written, the data look like noise round a constant
    stuck = GaussianProcessRegressor(bad, n_restarts=0, fixed=("length_scale",)).fit(X, y)
    free = GaussianProcessRegressor(bad, n_restarts=2).fit(X, y)
    assert free.log_marginal_likelihood_value_ > stuck.log_marginal_likelihood_value_ + 50
    assert [attempt.label for attempt in free.diagnosis_.attempts] == [
        "as written", "from the data", "short length scales, little noise"
    ]  # fmt: skip


def test_fixed_bounds_and_priors(data: tuple) -> None:
    X, y, _ = data
    kernel = 2.0 * Gaussian([1.0, 2.0, 3.0]) + Constant(1.5)
    gp = GaussianProcessRegressor(kernel, fixed=("0__0__length_scale[1]", "value"), n_restarts=0).fit(X, y)
    values = dict(zip(gp.theta_names_, np.exp(gp.theta_), strict=True))
    assert values["0__0__length_scale[1]"] == pytest.approx(2.0, rel=1e-12)
    assert values["1__value"] == pytest.approx(1.5, rel=1e-12)
    assert values["0__0__length_scale[0]"] != 1.0
    tight = GaussianProcessRegressor(kernel, bounds={"length_scale": (0.9, 1.1), "noise": (0.5, 0.6)}).fit(X, y)
    values = dict(zip(tight.theta_names_, np.exp(tight.theta_), strict=True))
    assert all(0.9 - 1e-9 <= values[f"0__0__length_scale[{i}]"] <= 1.1 + 1e-9 for i in range(3))
    assert any("is at its" in note for note in tight.diagnosis_.notes)
    pulled = GaussianProcessRegressor(kernel, priors={"noise": (3.0, 1.01)}, n_restarts=0).fit(X, y)
    assert pulled.noise_ == pytest.approx(3.0, rel=0.05)
    still = GaussianProcessRegressor(Gaussian(1.0), fixed=("scale", "length_scale"), n_restarts=0).fit(X, y)
    assert still.kernel_ == Gaussian(1.0)
    assert still.theta_names_ == ["length_scale", "noise"]


def test_an_overall_scale_is_added_only_where_there_is_none() -> None:
    X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
    cases = {
        Gaussian(1.0): ["scale", "length_scale", "noise"],
        Gaussian(1.0) + Linear(): ["scale", "0__length_scale", "noise"],
        2.0 * Gaussian(1.0): ["scale", "0__length_scale", "noise"],
        (2.0 * Gaussian(1.0)) * Periodic(1.0): ["0__scale", "0__0__length_scale", "1__length_scale", "1__period", "noise"],
        2.0 * Gaussian(1.0) + 3.0 * Linear(): ["0__scale", "0__0__length_scale", "1__scale", "noise"],
        Gaussian(1.0).normalized(): ["scale", "0__length_scale", "noise"],
    }
    for kernel, names in cases.items():
        gp = GaussianProcessRegressor(kernel, n_restarts=0, max_iter=3).fit(X, y)
        assert gp.theta_names_ == names, str(kernel)


def test_noise_per_row_is_believed(data: tuple, rng: np.random.Generator) -> None:
    X, y, Z = data
    noise = rng.uniform(0.01, 1.0, N)
    gp = GaussianProcessRegressor(Gaussian(1.0), noise=noise, **PLAIN).fit(X, y)
    np.testing.assert_allclose(gp.predict(Z), Gaussian(1.0)(Z, X) @ np.linalg.solve(Gaussian(1.0)(X) + np.diag(noise), y))
    np.testing.assert_array_equal(gp.noise_, noise)
    routed = GaussianProcessRegressor(Gaussian(1.0), noise=9.0, **PLAIN).fit(X, y, noise=noise)
    np.testing.assert_array_equal(routed.predict(Z), gp.predict(Z))
    _, latent = gp.predict(Z, return_std=True)
    own = np.linspace(0.0, 1.0, 25)
    np.testing.assert_allclose(gp.predict(Z, return_std=True, include_noise=own)[1] ** 2, latent**2 + own)
    np.testing.assert_allclose(gp.predict(Z, return_std=True, include_noise=True)[1] ** 2, latent**2 + noise.mean())
    fitted = GaussianProcessRegressor(Gaussian(1.0), noise=noise, n_restarts=0).fit(X, y)
    assert fitted.theta_names_ == ["scale", "length_scale"]


def test_kernels_that_are_values_of_a_matrix(data: tuple) -> None:
    X, y, Z = data
    kernel = Gaussian(1.5)
    gp = GaussianProcessRegressor(Precomputed(), n_restarts=0).fit(kernel(X), y)
    free = GaussianProcessRegressor(kernel, fixed=("length_scale",), n_restarts=0).fit(X, y)
    np.testing.assert_allclose(gp.predict(kernel(Z, X)), free.predict(Z), rtol=1e-6, atol=1e-8)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(free.log_marginal_likelihood_value_, abs=1e-6)
    with pytest.raises(InputError, match="diagonal needs a square matrix"):
        gp.predict(kernel(Z, X), return_std=True)


def test_given_values_climb_on_parts_as_the_kernel_does(rng: np.random.Generator) -> None:
    X = rng.uniform(-3, 3, size=(410, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=410)
    kernel = Gaussian(0.7)
    gp = GaussianProcessRegressor(Precomputed(), n_restarts=1, random_state=0).fit(kernel(X), y)
    free = GaussianProcessRegressor(kernel, fixed=("length_scale",), n_restarts=1, random_state=0).fit(X, y)
    assert [one.rows for one in gp.diagnosis_.attempts] == [one.rows for one in free.diagnosis_.attempts]
    assert min(one.rows for one in gp.diagnosis_.attempts) < 410
    np.testing.assert_allclose(gp.predict(kernel(X[:5], X)), free.predict(X[:5]), rtol=1e-4)


def test_intervals_cover_what_they_say(rng: np.random.Generator) -> None:
    X = rng.uniform(-3, 3, size=(700, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=700)
    gp = GaussianProcessRegressor(n_restarts=0).fit(X[:200], y[:200])
    for coverage in (0.5, 0.9):
        interval = gp.predict_interval(X[200:], coverage)
        inside = np.mean((interval[:, 0] <= y[200:]) & (y[200:] <= interval[:, 1]))
        assert abs(inside - coverage) < 4 * np.sqrt(coverage * (1 - coverage) / 500)
    assert abs(gp.loo_.coverage(0.9) - 0.9) < 0.07
    levels, reached = gp.loo_.calibration()
    assert np.abs(levels - reached).max() < 0.12
    assert gp.loo_.rmse == pytest.approx(0.3, rel=0.15)
    assert "90 % intervals hold" in str(gp.loo_)


# -- scikit-learn's tools, the plan, the messages --------------------------------------------------------------------------


def test_it_works_inside_scikit_learn(data: tuple) -> None:
    X, y, Z = data
    model = GaussianProcessRegressor("Gaussian(length_scale=1.0)", noise=0.1, optimizer=None)
    search = GridSearchCV(model, {"kernel__length_scale": [0.5, 1.0, 5.0], "noise": [0.01, 0.1]}, cv=3).fit(X, y)
    assert search.best_estimator_.kernel_.length_scale in (0.5, 1.0, 5.0)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(Z, return_std=True)[1], model.predict(Z, return_std=True)[1])
    assert clone(model).kernel == model.kernel


def test_the_plan_knows_the_bytes_and_a_small_budget_is_refused(data: tuple) -> None:
    X, y, _ = data
    plan = mercer.plan(GaussianProcessRegressor(solver="exact"), np.zeros((3000, 4)))
    assert plan.route.solver == "exact"
    assert 8 * 3000**2 <= plan.bytes <= 1.6 * 8 * 3000**2
    with pytest.raises(MemoryBudgetError, match="memory budget"):
        GaussianProcessRegressor(solver="exact", memory="1 kB").fit(X, y)


def test_one_matrix_is_all_a_value_with_gradient_holds(rng: np.random.Generator) -> None:
    n, d = 1800, 12
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    gp = GaussianProcessRegressor(1.0 * Gaussian([3.0] * d), noise=0.1, optimizer=None).fit(X[:50], y[:50])
    model = gp
    tracemalloc.start()
    try:
        gp = GaussianProcessRegressor(1.0 * Gaussian([3.0] * d), noise=0.1, optimizer=None).fit(X, y)
        fit = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        kept = tracemalloc.get_traced_memory()[0]
        gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
        gradient = tracemalloc.get_traced_memory()[1] - kept
        assert kept < 1.3 * 8 * n * n  # the factor stays, for variances
        assert fit < 1.6 * 8 * n * n
        assert gradient < 1.6 * 8 * n * n  # an (n, n, p) array of derivatives would take 14
    finally:
        tracemalloc.stop()
    assert gp.diagnosis_.bytes == 8 * n * n
    assert model.diagnosis_.bytes == 8 * 50 * 50


def test_float32_rows_are_fitted_in_float64(data: tuple) -> None:
    X, y, Z = data
    single = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None).fit(X.astype(np.float32), y)
    double = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None).fit(X, y)
    np.testing.assert_allclose(single.predict(Z), double.predict(Z), atol=1e-5)
    assert single.dual_coef_.dtype == np.float64


def test_it_says_what_it_is(data: tuple) -> None:
    X, y, _ = data
    gp = GaussianProcessRegressor(Matern(2.5, length_scale="median")).fit(X, y)
    text = str(gp)
    assert "log marginal likelihood" in text
    assert "kept for variances" in text
    assert "Matern" in gp._repr_html_()
    report = str(gp.diagnosis_)
    assert "noise = " in report
    assert "start as written" in report
    assert "length_scale = " in report


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"noise": -1.0}, "noise is a variance"),
        ({"noise": "free"}, 'noise must be "fit"'),
        ({"noise": [1.0, 2.0]}, "noise has shape"),
        ({"noise": [[1.0], "a"]}, "noise must be"),
        ({"noise": "fit", "optimizer": None}, 'noise="fit" needs an optimizer'),
        ({"optimizer": "adam"}, "optimizer must be"),
        ({"n_restarts": -1}, "n_restarts must be a whole number"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"tol": 0.0}, "tol must be a number > 0"),
        ({"mean": "quadratic"}, "mean must be"),
        ({"solver": "best"}, "solver must be one of"),
        ({"fixed": ("width",)}, "fixed names 'width'"),
        ({"bounds": {"width": (1, 2)}}, "bounds names 'width'"),
        ({"bounds": {"noise": (2, 1)}}, "0 < low <= high"),
        ({"bounds": {"noise": 3}}, "must be a pair"),
        ({"priors": "strong"}, 'priors must be "weak"'),
        ({"priors": {"noise": 3}}, "must be a pair"),
        ({"priors": {"noise": (1.0, 0.5)}}, "factor > 1"),
    ],
)
def test_what_breaks_a_rule_is_named(data: tuple, params: dict, message: str) -> None:
    X, y, _ = data
    with pytest.raises(InputError, match=message):
        GaussianProcessRegressor(**params).fit(X, y)


def test_questions_that_make_no_sense_are_refused(data: tuple) -> None:
    X, y, Z = data
    gp = GaussianProcessRegressor(n_restarts=0, max_iter=5).fit(X, y)
    with pytest.raises(InputError, match="not both at once"):
        gp.predict(Z, return_std=True, return_cov=True)
    with pytest.raises(InputError, match="coverage must be"):
        gp.predict_interval(Z, 1.5)
    with pytest.raises(InputError, match="level must lie"):
        gp.loo_.coverage(2.0)
    with pytest.raises(InputError, match="include_noise must be"):
        gp.predict(Z, return_std=True, include_noise=np.ones(3))
    with pytest.raises(InputError, match="theta has shape"):
        gp.log_marginal_likelihood(np.zeros(7))


def test_intervals_of_few_rows_are_wider_by_the_stated_rule() -> None:
    """Twin: fit again without each of the 20 rows, starting at the hyper-parameters of all rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=20)
    model = GaussianProcessRegressor().fit(X, y)
    squares = []
    for i in range(20):
        keep = np.arange(20) != i
        kernel, noise = model._parameters.setting(model.theta_)
        rest = GaussianProcessRegressor(kernel, noise_start=noise, n_restarts=0, tol=1e-5).fit(X[keep], y[keep])
        mean, std = rest.predict(X[i : i + 1], return_std=True, include_noise=True)
        squares.append(float((y[i] - mean[0]) / std[0]) ** 2)
    mean, std = model.predict(X, return_std=True, include_noise=True)
    low, high = model.predict_interval(X).T
    free = int(np.count_nonzero(~model._parameters.fixed))
    expected = stats.t(20 - free).ppf(0.95) * np.sqrt(np.mean(squares))
    np.testing.assert_allclose((high - low) / (2 * std), expected, rtol=0.05)  # the climbs stop at a tolerance


def test_intervals_without_fitted_parameters_are_those_of_the_normal_law() -> None:
    X = np.linspace(0.0, 1.0, 12)[:, None]
    model = GaussianProcessRegressor(optimizer=None, noise=0.1).fit(X, X[:, 0] ** 2)
    std = model.predict(X, return_std=True, include_noise=True)[1]
    np.testing.assert_allclose(np.diff(model.predict_interval(X))[:, 0], 2 * stats.norm.ppf(0.95) * std, rtol=1e-9)


def test_copies_of_rows_do_not_narrow_intervals() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=25)
    copied = GaussianProcessRegressor().fit(np.vstack([X, X[:12]]), np.append(y, y[:12]))
    copied.predict_interval(X)
    assert copied._widening[0] > 1.2  # the likelihood takes copies for observations, the widening does not
