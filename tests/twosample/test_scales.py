"""The same p-value whatever the data are measured in, or a refusal; never a p-value below 1 / (1 + B)."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Polynomial, Precomputed, hsic_test, mmd_test
from mercer.errors import InputError, MercerError, NumericalError
from mercer.numeric.points import median_distance
from mercer.twosample.hsic import _by_pairs_of_rows, centered
from mercer.twosample.relabeling import RelabeledStatistics

B = 199
SCALES = [2.0**-40, 1e-22, 1e-60, 1e-120, 1e22, 1e39, 1e120]
EXTREME = [1e-310, 1e-200, 1e-160, 1e160, 1e200, 1e307]


def samples(m=50, n=45, shift=0.0):
    rng = np.random.default_rng(3)
    return rng.normal(size=(m, 3)), rng.normal(shift, 1.0, size=(n, 3))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sizes", [(50, 45), (48, 48)])
@pytest.mark.parametrize(
    "kernel", [None, Linear(), Gaussian("median"), [Gaussian("median"), Laplacian("median"), Linear()]], ids=str
)
def test_same_pvalue_at_every_scale(kernel, sizes, scale):
    X, Y = samples(*sizes)
    here = mmd_test(X, Y, kernel, n_permutations=B, random_state=0)
    there = mmd_test(X * scale, Y * scale, kernel, n_permutations=B, random_state=0)
    assert there.pvalue == here.pvalue >= 1 / (1 + B)
    assert np.isclose(there.power.achieved, here.power.achieved)
    assert np.isfinite(there.mmd2) and np.isfinite(there.confidence_interval().high)
    assert np.isfinite(there.witness(X[:3] * scale)).all()
    assert "nan" not in str(there)


@pytest.mark.parametrize("method", ["exact", "features"])
@pytest.mark.parametrize("scale", [1e-60, 1e39])
@pytest.mark.parametrize("kernel", [None, Linear()], ids=str)
def test_every_route_at_every_scale(kernel, scale, method):
    X, Y = samples(40, 60)
    options = {"n_permutations": B, "random_state": 0, "method": method}
    for more in ({}, {"aggregation": "softmax"}, {"early_stopping": True}, {"biased": True}):
        here, there = mmd_test(X, Y, kernel, **options, **more), mmd_test(X * scale, Y * scale, kernel, **options, **more)
        assert here.pvalue == there.pvalue


@pytest.mark.parametrize("scale", EXTREME)
@pytest.mark.parametrize("kernel", [None, Linear(), Gaussian("median"), [Linear(), Polynomial(3)]], ids=str)
def test_beyond_the_range_of_floats_there_is_a_refusal(kernel, scale):
    X, Y = samples()
    with pytest.raises(MercerError):
        mmd_test(X * scale, Y * scale, kernel, n_permutations=B, random_state=0)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e30])
def test_float32_data_too(scale):
    X, Y = (part.astype(np.float32) for part in samples())
    here = mmd_test(X, Y, Linear(), n_permutations=B, random_state=0).pvalue
    assert mmd_test(X * np.float32(scale), Y * np.float32(scale), Linear(), n_permutations=B, random_state=0).pvalue == here
    assert hsic_test(X[:40], Y[:40] * np.float32(scale), Linear(), Linear(), n_permutations=B, random_state=0).pvalue == (
        hsic_test(X[:40], Y[:40], Linear(), Linear(), n_permutations=B, random_state=0).pvalue
    )


def test_the_statistic_is_in_the_units_of_the_kernel():
    X, Y = samples(shift=0.5)
    one, other = (mmd_test(X * s, Y * s, Linear(), n_permutations=B, random_state=0) for s in (1.0, 2.0**-200))
    assert np.isclose(other.statistic, one.statistic * 2.0**-400, rtol=1e-12)
    assert np.isclose(other.mmd2_biased, ((X.mean(axis=0) - Y.mean(axis=0)) ** 2).sum() * 2.0**-400, rtol=1e-10)
    assert np.allclose(other.null_distribution, one.null_distribution * 2.0**-400, rtol=1e-5, atol=0.0)


def test_zero_data_have_p_one_and_no_refusal():
    zeros = np.zeros((20, 2))
    assert mmd_test(zeros, zeros, Linear(), n_permutations=B, random_state=0).pvalue == 1.0
    assert mmd_test(zeros, zeros, n_permutations=B, random_state=0).pvalue == 1.0
    assert mmd_test(np.full((20, 2), 1e200), np.full((9, 2), 1e200), n_permutations=B, random_state=0).pvalue == 1.0


def test_a_matrix_of_nan_statistics_is_never_a_pvalue(monkeypatch):
    X, Y = samples()
    statistics = RelabeledStatistics._start

    def broken(self, signs):
        self.labels.statistics = lambda *_: np.full((self.forms.count, len(signs) + 1), np.nan)
        statistics(self, signs)

    monkeypatch.setattr(RelabeledStatistics, "_start", broken)
    for kernel in (None, Linear(), [Linear(), Polynomial(2)]):
        with pytest.raises(NumericalError, match="NaN or infinite"):
            mmd_test(X, Y, kernel, n_permutations=B, random_state=0)


def test_precomputed_values_may_be_tiny():
    X, Y = samples(30, 30)
    K = Gaussian(1.0)(np.vstack([X, Y]))
    pvalues = {mmd_test(K[:30] * s, K[30:] * s, Precomputed(), n_permutations=B, random_state=0).pvalue for s in (1, 1e-200)}
    assert len(pvalues) == 1


@pytest.mark.parametrize("scale", [1e-90, 1e-60, 1e60])
@pytest.mark.parametrize("method", ["exact", "features"])
def test_hsic_at_every_scale(scale, method):
    X, Y = samples(40, 40)
    Y = Y + X
    for kernel in (None, Linear()):
        options = {"n_permutations": B, "random_state": 0, "method": method}
        here, there = hsic_test(X, Y, kernel, kernel, **options), hsic_test(X * scale, Y * scale, kernel, kernel, **options)
        assert here.pvalue == there.pvalue >= 1 / (1 + B)


@pytest.mark.parametrize("scale", EXTREME)
def test_hsic_refuses_beyond(scale):
    X, Y = samples(40, 40)
    for kernel in (None, Linear()):
        with pytest.raises(MercerError):
            hsic_test(X * scale, Y, kernel, kernel, n_permutations=B, random_state=0, scale=False)


@pytest.mark.parametrize("scale", EXTREME)
def test_hsic_in_units_of_columns_refuses_or_agrees(scale):
    X, Y = samples(40, 40)
    expected = hsic_test(X, Y, n_permutations=B, random_state=0).pvalue
    try:
        found = hsic_test(X * scale, Y, n_permutations=B, random_state=0)
    except MercerError:
        return
    assert found.pvalue == expected


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e60, 1e200])
def test_the_reasons_at_every_scale(scale):
    X, Y = samples(shift=0.8)
    kernel = Gaussian(1.0)
    scaled = mmd_test(X, Y, kernel, n_permutations=B, random_state=0)
    far = mmd_test(np.c_[X, X[:, :1] * scale], np.c_[Y, Y[:, :1] * scale], kernel.on(0), n_permutations=B, random_state=0)
    reasons = {reason.name: reason.score for reason in far.explain(99).reasons}
    assert np.isclose(reasons[3], reasons[0], rtol=1e-6)
    assert scaled.pvalue <= 0.05


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e200, 1e300])
def test_the_median_distance_at_every_scale(metric, scale):
    X = samples()[0]
    assert np.isclose(median_distance(X * scale, metric), median_distance(X, metric) * scale, rtol=1e-12)


def test_rows_of_weight_zero_have_no_part_in_the_median_of_many_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(1500, 2)), rng.normal(size=(1500, 2)) * 1e6])
    weights = np.repeat([0.0, 1.0], 1500)
    assert median_distance(X, "euclidean", weights) > 1e5


def test_kernels_that_see_little_say_so():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(0.0, 1.0, (400, 1)), rng.normal(0.0, 3.0, (400, 1))
    Y += X.mean() - Y.mean()
    result = mmd_test(X, Y, Linear(), n_permutations=B, random_state=0)
    assert result.pvalue > 0.05
    assert "means only" in str(result)
    assert "no sample size, the estimated difference is zero (means only)" in str(result)
    assert "moments up to order 2 only" in str(mmd_test(X, Y, Polynomial(2), n_permutations=B, random_state=0))
    assert "only" not in str(mmd_test(X, Y, Gaussian("median"), n_permutations=B, random_state=0))
    assert "only" not in str(mmd_test(X, Y, [Linear(), Gaussian("median")], n_permutations=B, random_state=0))


def test_moments_of_composed_kernels():
    assert (Linear() + Polynomial(3)).moment_order() == 3
    assert (Linear() * Polynomial(3)).moment_order() == 4
    assert (2.0 * Linear()).polynomial((1.0, 0.0, 2.0)).moment_order() == 2
    assert (Linear() ** 3).moment_order() == 3
    assert Linear().exp().moment_order() is None and Linear().normalized().moment_order() is None


def test_hsic_with_five_rows_is_exact_over_all_permutations():
    """Every order of Y is equally likely under independence; over all of them p <= a must hold for a share of at most a."""
    from itertools import permutations

    orders = np.array(list(permutations(range(5))))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
        values, _ = _by_pairs_of_rows(centered(Gaussian(1.0)(X)), centered(Gaussian(1.0)(Y)), orders)
        pvalues = np.array([(values >= value - 1e-12).mean() for value in values])
        assert all((pvalues <= a + 1e-12).mean() <= a + 1e-12 for a in np.arange(1, 121) / 120)


@pytest.mark.slow
def test_hsic_level_with_five_rows():
    """At level 0.2: 20,000 draws, seeds of data and permutations the same on purpose."""
    hits = 0
    for seed in range(20_000):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
        hits += hsic_test(X, Y, n_permutations=99, random_state=seed).pvalue <= 0.2
    print(f"hsic, 5 rows, level 0.2: {hits / 20_000:.4f}")
    assert abs(hits / 20_000 - 0.2) <= 0.012


def test_the_refusals_say_what_to_do():
    X, Y = samples()
    with pytest.raises(InputError, match=r"their squares leave the range of floats\. Multiply the column by a constant"):
        mmd_test(X * 1e-200, Y * 1e-200)
    with pytest.raises(InputError, match=r"underflow on these data\. Multiply"):
        mmd_test(X * 1e-200, Y * 1e-200, Linear())
