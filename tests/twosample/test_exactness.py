"""The engine against its twins: the formula, the permutations, the ties, the precision."""

from __future__ import annotations

import numpy as np
import pytest
from tests.twosample import naive

from mercer import Gaussian, Graph, Laplacian, Linear, Polynomial, Precomputed, Spectrum, VertexHistogram
from mercer.inputs import Rows
from mercer.kernels.evaluation import Bundle
from mercer.twosample import mmd_test
from mercer.twosample.quadratic_forms import ROUNDING, Forms, Permutations, Swaps, permutations, swaps


def _samples(m, n, d=3, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(shift, 1.2, size=(n, d))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2, offset=1.0), Polynomial(degree=3, offset=0.5)])
@pytest.mark.parametrize(("m", "n"), [(30, 30), (17, 41)])
def test_the_three_terms_are_the_squared_distance_of_feature_means(kernel, m, n):
    X, Y = _samples(m, n)
    result = mmd_test(X, Y, kernel, n_permutations=19, random_state=0, biased=True)
    difference = kernel.feature_map(X).mean(axis=0) - kernel.feature_map(Y).mean(axis=0)
    assert abs(result.statistic - difference @ difference) <= 1e-12 * max(1.0, difference @ difference)
    assert result.statistic == result.mmd2_biased


def test_the_same_for_strings_and_graphs():
    X, Y = ["abab", "bab", "aabb", "b"], ["bbbb", "abba", "ab", "bba", "aaa"]
    phi = Spectrum(2).feature_map([*X, *Y]).toarray()
    difference = phi[:4].mean(axis=0) - phi[4:].mean(axis=0)
    assert abs(mmd_test(X, Y, Spectrum(2), n_permutations=9).mmd2_biased - difference @ difference) < 1e-12
    rng = np.random.default_rng(0)
    A = [Graph(4, [(0, 1)], node_labels=rng.choice(list("CNO"), 4).tolist()) for _ in range(6)]
    B = [Graph(5, [(0, 1)], node_labels=rng.choice(list("CN"), 5).tolist()) for _ in range(7)]
    phi = VertexHistogram().feature_map([*A, *B]).toarray()
    difference = phi[:6].mean(axis=0) - phi[6:].mean(axis=0)
    assert abs(mmd_test(A, B, VertexHistogram(), n_permutations=9).mmd2_biased - difference @ difference) < 1e-12


def test_the_unbiased_statistic_is_its_definition_in_scalars():
    X, Y = _samples(6, 9)
    expected = naive.mmd2_by_loops(lambda x, z: np.exp(-((x - z) ** 2).sum() / 4.5), X, Y)
    assert abs(mmd_test(X, Y, Gaussian(1.5), n_permutations=5).statistic - expected) < 1e-14


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "resampling"),
    [(40, 40, "swaps"), (300, 300, "swaps"), (40, 40, "permutations"), (25, 300, "auto"), (290, 31, "auto")],
)
def test_equal_to_a_naive_permutation_test(m, n, resampling, biased):
    X, Y = _samples(m, n, seed=m)
    kernel = Gaussian(1.5)
    result = mmd_test(X, Y, kernel, n_permutations=199, random_state=7, resampling=resampling, biased=biased)
    rng = np.random.default_rng(7)
    rng.integers(2**63)  # the seed of explanations is drawn before the relabelings
    signs = swaps(rng, n, 199) if resampling == "swaps" else permutations(rng, m, n, 199)
    K = kernel(np.concatenate([X, Y]))
    statistic, pvalue, null = naive.pvalue(K, naive.relabelings(signs, m, n), m, biased)
    assert abs(result.statistic - statistic) < 1e-13
    assert result.pvalue == pvalue
    assert np.abs(result.null_distribution - null).max() < 1e-6


@pytest.mark.parametrize("resampling", ["swaps", "permutations"])
def test_ties_of_discrete_data_are_counted_as_in_the_naive_test(resampling):
    """Coins and dice: hundreds of relabelings have exactly the observed statistic, which float32 alone would scatter."""
    rng = np.random.default_rng(3)
    X, Y = rng.integers(0, 2, (24, 1)).astype(float), rng.integers(0, 2, (24, 1)).astype(float)
    result = mmd_test(X, Y, Gaussian(0.7), n_permutations=499, random_state=1, resampling=resampling)
    again = np.random.default_rng(1)
    again.integers(2**63)
    signs = swaps(again, 24, 499) if resampling == "swaps" else permutations(again, 24, 24, 499)
    _, pvalue, null = naive.pvalue(Gaussian(0.7)(np.concatenate([X, Y])), naive.relabelings(signs, 24, 24), 24)
    assert result.pvalue == pvalue
    assert len(np.unique(np.round(null, 12))) < 20


@pytest.mark.parametrize("labels", [Permutations(300, 300), Swaps(300, 300), Permutations(70, 530)])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.3), Gaussian(1e3), Laplacian(2.0), Linear(), Polynomial(degree=4, offset=1.0)]
)
def test_float32_forms_stay_within_the_stated_rounding(labels, kernel):
    """Wide kernels are nearly constant: without taking a constant off, float32 would leave nothing of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 1.0, size=(600, 4))
    forms = Forms(Bundle([kernel], Rows(X)), labels)
    signs = labels.draw(rng, 64)
    light, moments = forms.first(signs)
    error = np.abs(light - forms.more(signs, exact=True)).max()
    bound = ROUNDING * np.finfo(np.float32).eps * labels.size * moments.peak[0]
    assert error <= bound / 4


@pytest.mark.parametrize("hold", [True, False])
def test_further_relabelings_are_those_of_one_pass(hold):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(530, 3))
    forms = Forms(Bundle([Gaussian(1.0), Laplacian(2.0)], Rows(X)), Permutations(200, 330), hold)
    signs = permutations(rng, 200, 330, 40)
    whole, _ = forms.first(signs)
    assert np.allclose(forms.more(signs[10:25]), whole[:, 10:25], rtol=1e-5, atol=1e-3)


def test_many_kernels_share_a_pass_and_each_has_its_own_statistic():
    X, Y = _samples(60, 60)
    kernels = [Gaussian(0.5), Gaussian(2.0), Laplacian(1.0)]
    result = mmd_test(X, Y, kernels, n_permutations=99, random_state=0)
    for kernel, detail in zip(kernels, result.details, strict=True):
        alone = mmd_test(X, Y, kernel, n_permutations=99, random_state=0)
        assert detail.kernel == kernel
        assert abs(detail.unbiased - alone.statistic) < 1e-14
        assert abs(detail.pvalue - alone.pvalue) < 1e-12


def test_draws_are_what_they_say():
    rng = np.random.default_rng(0)
    signs = permutations(rng, 3, 5, 20000)
    assert (signs == 1).sum(axis=1).tolist() == [3] * 20000
    codes, counts = np.unique((signs == 1) @ 2 ** np.arange(8), return_counts=True)
    assert len(codes) == 56  # all subsets of 3 of 8, each about as often
    assert ((counts - 20000 / 56) ** 2 / (20000 / 56)).sum() < 90  # chi-square with 55 degrees: 0.2 % beyond
    fair = swaps(rng, 11, 20000)
    assert set(np.unique(fair).tolist()) == {-1, 1}
    assert np.abs(fair.mean(axis=0)).max() < 0.03
    assert np.abs(np.corrcoef(fair.T.astype(float)) - np.eye(11)).max() < 0.03


def test_a_precomputed_gram_matrix_gives_the_same():
    X, Y = _samples(20, 30)
    K = Gaussian(1.0)(np.concatenate([X, Y]))
    one = mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=3)
    two = mmd_test(K[:20], K[20:], Precomputed(), n_permutations=99, random_state=3)
    assert one.pvalue == two.pvalue
    assert abs(one.statistic - two.statistic) < 1e-14
