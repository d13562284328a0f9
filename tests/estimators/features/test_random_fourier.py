"""RandomFourierFeatures: the limit, certificates in simulation, edge cases, scikit-learn's checks, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import (
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    RandomFourierFeatures,
    RationalQuadratic,
    Spectrum,
)  # fmt: skip
from mercer.errors import CapabilityError, InputError
from mercer.kernels.base import Kernel

LEAVES: list[Kernel] = [
    Gaussian(1.2), Exponential(1.5), Matern(1.5), Matern(2.5), Matern(0.8), Laplacian(2.0), RationalQuadratic(shape=0.7),
    Periodic(1.0, period=4.0),
]  # fmt: skip
COMPOSED: list[Kernel] = [
    2.0 * Gaussian() + Laplacian() + Constant(0.5),
    Gaussian(2.0) * Matern(1.5),
    (Gaussian() + Periodic()) ** 2,
]


@pytest.mark.slow
@pytest.mark.parametrize("draws", ["auto", "plain"])
@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("kernel", [*LEAVES, *COMPOSED], ids=str)
def test_the_limit(kernel: Kernel, d: int, draws: str) -> None:
    """|error| <= 4 sqrt(Var / m) on at least 95 % of 1000 pairs with 100,000 frequencies."""
    the_limit(kernel, d, draws, 200_000, 1000)


@pytest.mark.parametrize("kernel", [*LEAVES[:6], *COMPOSED], ids=str)
def test_the_limit_with_fewer_features(kernel: Kernel) -> None:
    the_limit(kernel, 3, "auto", 8_000, 300)


def the_limit(kernel: Kernel, d: int, draws: str, columns: int, pairs: int) -> None:
    rng = np.random.default_rng(d)
    X, Z = rng.normal(size=(2, pairs, d))
    model = RandomFourierFeatures(kernel, n_components=columns, draws=draws, random_state=0).fit(X)
    error = np.empty(pairs)
    for start in range(0, pairs, 50):
        rows = slice(start, start + 50)
        error[rows] = np.einsum("ij,ij->i", model.transform(X[rows]), model.transform(Z[rows]))
    zero = np.zeros((1, d))
    exact, top = kernel(X - Z, zero)[:, 0], float(kernel.diag(zero)[0])
    variance = (top**2 + top * kernel(2.0 * (X - Z), zero)[:, 0]) / 2.0 - exact**2
    inside = np.abs(error - exact) <= 4.0 * np.sqrt(np.maximum(variance, 0.0) / (columns // 2)) + 1e-9
    assert inside.mean() >= 0.95


SIX: list[Kernel] = [
    Gaussian(1.5),
    Matern(2.5),
    Laplacian(2.0),
    Exponential(2.0),
    RationalQuadratic(),
    2.0 * Gaussian() + Matern(1.5),
]


@pytest.mark.parametrize("form", ["pairs", "phases"])
@pytest.mark.parametrize("kernel", SIX, ids=str)
def test_certificates_hold(kernel: Kernel, form: str) -> None:
    """In 20 of 20 seeds: the two bounds on all pairs, and the measured one on all but the stated share of pairs."""
    X = np.random.default_rng(1).normal(size=(60, 3))
    exact = kernel(X)
    for seed in range(20):
        model = RandomFourierFeatures(kernel, n_components=400, draws="plain", form=form, random_state=seed).fit(X)
        found = model.certificate(X, n_pairs=500, random_state=100 + seed)
        Z = model.transform(X)
        errors = np.abs(Z @ Z.T - exact)
        assert found.pairs is not None and errors.max() <= found.pairs
        assert found.uniform is None or errors.max() <= found.uniform
        off = errors[np.triu_indices(60, 1)]
        assert np.mean(off > found.measured) <= found.share


@pytest.mark.slow
def test_certificates_fail_as_rarely_as_they_say() -> None:
    """2400 simulations: the proven bounds never fail; the measured one says 99.9 %, so that 10 failures would refute it."""
    failures = 0
    for kernel in SIX:
        for form in ("pairs", "phases"):
            for seed in range(200):
                X = np.random.default_rng(5000 + seed).normal(size=(60, 3))
                model = RandomFourierFeatures(kernel, n_components=400, draws="plain", form=form, random_state=seed).fit(X)
                found = model.certificate(X, n_pairs=500, random_state=100 + seed)
                Z = model.transform(X)
                errors = np.abs(Z @ Z.T - kernel(X))
                assert found.pairs is not None and errors.max() <= found.pairs
                assert found.uniform is None or errors.max() <= found.uniform
                failures += np.mean(errors[np.triu_indices(60, 1)] > found.measured) > found.share
    assert failures < 10


@pytest.mark.parametrize("form", ["pairs", "phases"])
def test_eps_chooses_the_number_of_components(form: str) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = RandomFourierFeatures(2.0 * Gaussian(), eps=0.4, form=form, random_state=0).fit(X)
    Z = model.transform(X)
    assert Z.shape[1] == model.n_components_ and model.draws_ == "plain"
    assert np.abs(Z @ Z.T - 2.0 * Gaussian()(X)).max() <= 0.4
    assert model.certificate(X).pairs <= 0.4
    half = RandomFourierFeatures(2.0 * Gaussian(), eps=0.2, form=form, random_state=0).fit(X)
    assert abs(half.n_components_ / model.n_components_ - 4.0) < 0.02


def test_what_the_certificate_says() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    plain = str(RandomFourierFeatures(Gaussian(), n_components=2000, draws="plain", random_state=0).fit(X).certificate(X))
    assert "all pairs of the 50 rows (Hoeffding" in plain and "box of these rows" in plain and "99.9 %" in plain
    auto = str(RandomFourierFeatures(Gaussian(), random_state=0).fit(X).certificate(X))
    assert "not proven: only independent draws" in auto and "these are sobol" in auto
    kink = str(RandomFourierFeatures(Laplacian(), draws="plain", random_state=0).fit(X).certificate(X))
    assert "kink at 0" in kink
    few = str(RandomFourierFeatures(Gaussian(), n_components=4, draws="plain", random_state=0).fit(X).certificate(X))
    assert "needs more components" in few


def test_structured_draws_print_their_bias() -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    found = RandomFourierFeatures(Gaussian(1.5), n_components=512, draws="structured", random_state=0).fit(X).certificate(X)
    assert found.bias > 0.05 and "stays however many components" in str(found)


@pytest.mark.parametrize("n_components", [1, 2, 3, 500])
@pytest.mark.parametrize("form", ["pairs", "phases"])
def test_any_number_of_components(n_components: int, form: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel = Gaussian() + Constant(1.0)
    assert RandomFourierFeatures(kernel, n_components=n_components, form=form).fit_transform(X).shape == (20, n_components)


@pytest.mark.parametrize("n_components", [1, 3])
def test_single_columns_are_unbiased(n_components: int) -> None:
    X = np.array([[0.0, 0.0], [0.6, -0.4]])
    values = []
    for seed in range(1500):
        Z = RandomFourierFeatures(Gaussian(), n_components=n_components, draws="plain", random_state=seed).fit_transform(X)
        values.append(Z[0] @ Z[1])
    assert abs(np.mean(values) - Gaussian()(X)[0, 1]) < 4.5 * np.std(values) / np.sqrt(len(values))


def test_float32_far_from_zero() -> None:
    X = (np.random.default_rng(0).normal(size=(100, 3)) + 1e6).astype(np.float32)
    Z = RandomFourierFeatures(Gaussian(1.0), n_components=8000, random_state=0).fit_transform(X)
    assert Z.dtype == np.float32
    assert np.abs(Z @ Z.T - Gaussian(1.0)(X.astype(np.float64))).max() < 0.03


def test_sparse_rows_and_constant_columns() -> None:
    X = sp.random_array((30, 20), density=0.2, format="csr", random_state=np.random.default_rng(0))
    model = RandomFourierFeatures(Gaussian(2.0), n_components=4000, random_state=0).fit(X)
    assert np.abs(model.transform(X) @ model.transform(X).T - Gaussian(2.0)(X)).max() < 0.1
    ones = np.ones((10, 2))
    assert np.allclose(RandomFourierFeatures(Gaussian(2.0), n_components=10).fit_transform(ones) ** 2 @ np.ones(10), 1.0)


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (RandomFourierFeatures(Gaussian() + Linear()), np.ones((3, 2)), "Linear() has no spectral measure"),
        (RandomFourierFeatures(Spectrum(2)), ["ab", "cd"], "use Nystroem"),
        (RandomFourierFeatures(n_components=0), np.ones((3, 2)), "n_components must be a whole number >= 1"),
        (RandomFourierFeatures(draws="best"), np.ones((3, 2)), "draws must be one of"),
        (RandomFourierFeatures(form="both"), np.ones((3, 2)), "form must be one of"),
        (RandomFourierFeatures(eps=-1.0), np.ones((3, 2)), "eps must be"),
        (RandomFourierFeatures(eps=0.1, draws="sobol"), np.ones((3, 2)), "proven for independent draws only"),
        (RandomFourierFeatures(Laplacian(), draws="orthogonal"), np.ones((3, 2)), "isotropic"),
        (RandomFourierFeatures(), np.full((3, 2), np.nan), "NaN"),
        (RandomFourierFeatures(), np.ones((3, 0)), "0 feature"),
    ],
)
def test_refusals(model: RandomFourierFeatures, X: object, words: str) -> None:
    with pytest.raises((InputError, CapabilityError, ValueError)) as error:
        model.fit(X)
    assert words in str(error.value)
    assert not hasattr(model, "kernel_")


def test_default_draws_need_a_third_of_the_features_of_scikit_learn() -> None:
    """At d <= 8, and they are never worse above: mean squared error over seeds, Gaussian kernel."""
    from sklearn.kernel_approximation import RBFSampler

    for d, share in ((1, 3), (2, 3), (4, 3), (8, 3), (20, 1), (60, 1)):
        X = np.random.default_rng(d).normal(size=(150, d))
        kernel = Gaussian(float(np.sqrt(d)))
        ours, theirs, m = 0.0, 0.0, 1536
        for seed in range(4):
            Z = RandomFourierFeatures(kernel, n_components=m // share, random_state=seed).fit_transform(X)
            R = RBFSampler(gamma=1 / (2 * d), n_components=m, random_state=seed).fit_transform(X)
            ours += np.mean((Z @ Z.T - kernel(X)) ** 2)
            theirs += np.mean((R @ R.T - kernel(X)) ** 2)
        assert ours <= theirs


def test_scikit_learn_checks() -> None:
    check_estimator(RandomFourierFeatures(random_state=0))


def test_names_of_the_columns_and_a_pipeline() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    model = make_pipeline(RandomFourierFeatures(Gaussian(0.8), n_components=300, random_state=0), Ridge(1e-3)).fit(X, y)
    assert model.score(X, y) > 0.99
    assert list(model[0].get_feature_names_out()[:2]) == ["randomfourierfeatures0", "randomfourierfeatures1"]
    assert "components" in str(model[0])


def test_files(tmp_path: object) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = RandomFourierFeatures("Matern(nu=1.5, length_scale=2.0)", n_components=31, random_state=0).fit(X)
    mercer.save(model, f"{tmp_path}/z.mercer")
    again = mercer.load(f"{tmp_path}/z.mercer")
    assert np.array_equal(again.transform(X), model.transform(X))
    assert str(again.certificate(X)) == str(model.certificate(X))
