"""check_kernel: every kernel on every kind of input, what it reports, what it skips, and what it refuses."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import mercer
from mercer import (
    AllSubstrings,
    Bilinear,
    Constant,
    Exponential,
    Function,
    GappedSpectrum,
    Gaussian,
    Graph,
    Laplacian,
    Linear,
    Matern,
    Mismatch,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    Subsequence,
    Tanh,
    VertexHistogram,
    WeightedDegree,
)
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.testing import LawError, check_kernel, naive, random_rows
from mercer.testing.laws import LAWS

B = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]]
ARD = (0.7, 2.0, 1.1)
NUS = (0.5, 0.7, 1.0, 1.5, 2.5, 3.5, 4.2)


def _stationary(kind: Any, twin: Any, **more: float) -> list[tuple[Kernel, naive.Twin]]:
    return [(kind(length_scale=scale, **more), partial(twin, length_scale=scale, **more)) for scale in (1.3, ARD)]


VECTORS: list[tuple[Kernel, naive.Twin]] = [
    (Linear(), naive.linear),
    (Bilinear(B), partial(naive.bilinear, B=B)),
    (Polynomial(3, offset=0.5), partial(naive.polynomial, degree=3, offset=0.5)),
    (Polynomial(2, offset=0.0), partial(naive.polynomial, degree=2, offset=0.0)),
    (Tanh(0.5, offset=0.2), partial(naive.tanh, scale=0.5, offset=0.2)),
    (Constant(0.7), partial(naive.constant, value=0.7)),
    (Constant(0.0), partial(naive.constant, value=0.0)),
    *_stationary(Gaussian, naive.gaussian),
    *_stationary(Exponential, naive.exponential),
    *_stationary(Laplacian, naive.laplacian),
    *_stationary(RationalQuadratic, naive.rational_quadratic, shape=0.7),
    *_stationary(Periodic, naive.periodic, period=2.5),
    *[pair for nu in NUS for pair in _stationary(Matern, naive.matern, nu=nu)],
]


@pytest.mark.parametrize(("kernel", "twin"), VECTORS, ids=[str(kernel) for kernel, _ in VECTORS])
def test_every_kernel_on_vectors(kernel: Kernel, twin: naive.Twin) -> None:
    X = random_rows(np.random.default_rng(5), 8, 3)
    report = check_kernel(kernel, X, twin=twin)
    assert report["naive twin"].status == "passed"
    assert [law.name for law in report.laws] == list(LAWS)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_isotropic_kernel_in_other_dimensions(d: int) -> None:
    """Up to three columns distances are summed column by column, above by a matrix product: both are asked."""
    rng = np.random.default_rng(d)
    for kernel, twin in VECTORS:
        if kernel.width() is None:
            check_kernel(kernel, random_rows(rng, 6, d), random_rows(rng, 5, d), twin=twin)


@pytest.mark.parametrize("kernel", [k for k, _ in VECTORS if not isinstance(k, Laplacian | Periodic)], ids=str)
def test_every_sparse_kernel_on_csr(kernel: Kernel) -> None:
    X = random_rows(np.random.default_rng(2), 8, 3, domain="sparse")
    check_kernel(kernel, X)
    assert np.allclose(kernel(X), kernel(X.toarray()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("presence", [False, True])
def test_spectrum(p: int, presence: bool) -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "äöü√", "cab"]
    check_kernel(Spectrum(p, presence=presence), texts, twin=partial(naive.spectrum, p=p, presence=presence))
    tokens = [text.split() for text in ("to be or not to be", "to be", "or not", "to")]
    check_kernel(Spectrum(p, presence=presence), tokens, twin=partial(naive.spectrum, p=p, presence=presence))


STRINGS: list[tuple[Kernel, naive.Twin]] = [
    (Spectrum(3, shortest=1, weights=(0.5, 0.0, 1.5)), partial(naive.blended, p=3, shortest=1, weights=(0.5, 0.0, 1.5))),
    (GappedSpectrum(2, gaps=2), partial(naive.gapped_spectrum, p=2, gaps=2)),
    (Mismatch(2, alphabet="abc"), partial(naive.mismatch, p=2, mismatches=1, alphabet="abc")),
    (Subsequence(2, decay=0.6), partial(naive.subsequence, p=2, decay=0.6)),
    (AllSubstrings(0.6), partial(naive.all_substrings, decay=0.6)),
    (WeightedDegree(3), partial(naive.weighted_degree, degree=3)),
]


@pytest.mark.parametrize(("kernel", "twin"), STRINGS, ids=[str(kernel) for kernel, _ in STRINGS])
def test_every_kernel_on_strings(kernel: Kernel, twin: naive.Twin) -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "äöü√", "cab"]
    assert check_kernel(kernel, texts, twin=twin)["naive twin"].status == "passed"
    tokens = [text.split() for text in ("a b c b a", "a b", "c b", "a")]
    check_kernel(kernel, tokens, tokens[:2], twin=twin)


def test_vertex_histogram() -> None:
    graphs = [Graph(3, [(0, 1)], node_labels="CCO"), Graph(1, node_labels="C"), Graph(2, node_labels="NN"), Graph(0)]
    check_kernel(VertexHistogram(), graphs, twin=naive.vertex_histogram)
    check_kernel(VertexHistogram(), [Graph(2), Graph(3), Graph(1)], twin=naive.vertex_histogram)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_kernel_over_a_mixed_table(kind: Any) -> None:
    table = kind({"age": [30.0, 40.0, 55.0, 30.0], "name": ["anna", "hanna", "bob", "anna"], "visits": [1, 2, 3, 1]})
    kernel = Gaussian(10.0).on("age") * Spectrum(2).on("name") + 0.5 * Linear().on("visits", "age")
    report = check_kernel(kernel, table)
    assert report["parse(repr(k)) == k"].status == "passed"


def test_function_and_lambda_are_checked_as_far_as_they_go() -> None:
    smaller = Function(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0]))
    report = check_kernel(smaller, np.abs(random_rows(np.random.default_rng(1))))
    assert report["parse(repr(k)) == k"].status == "skipped"
    assert report["pickle"].status == "skipped"


def test_sample_of_centered_is_named_as_the_reason() -> None:
    X = random_rows(np.random.default_rng(1))
    report = check_kernel(Gaussian().centered(X), X)
    assert "sample" in report["parse(repr(k)) == k"].note


@pytest.mark.parametrize("n", [1, 2])
def test_few_objects(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    for kernel, twin in VECTORS:
        check_kernel(kernel, X, twin=twin)


# -- what it finds -------------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(6, 2))


def failures(kernel: Kernel, **options: Any) -> set[str]:
    with pytest.raises(LawError) as caught:
        check_kernel(kernel, X, **options)
    return {law.name for law in caught.value.report.failures}


def _minus(X: Any, Z: Any) -> Any:
    return -X @ Z.T


def _lopsided(X: Any, Z: Any) -> Any:
    return X @ Z.T + X[:, :1]


def _context(X: Any, Z: Any) -> Any:
    return (X - X.mean(axis=0)) @ (Z - Z.mean(axis=0)).T


def _noisy(X: Any, Z: Any) -> Any:
    return X @ Z.T + np.random.default_rng().normal(size=(len(X), len(Z)))


def test_a_function_that_is_not_symmetric_falls() -> None:
    assert {"k(X, Z) = k(Z, X)'", "k(X) is symmetric"} <= failures(Function(_lopsided))


def test_a_function_of_the_whole_collection_falls() -> None:
    """Centering inside the function uses the collection, so the value of a pair depends on who else is there."""
    assert {"blocks tile the whole", "one object", "diag is the diagonal"} <= failures(Function(_context))


def test_a_random_function_falls() -> None:
    assert "k(X) = k(X, X)" in failures(Function(_noisy))


def test_a_negative_eigenvalue_falls_unless_the_certificate_said_so() -> None:
    class Unproven:
        status = "unproven"

    kernel = Function(_minus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.kernels.base.Kernel.certificate", lambda self: Unproven())
        assert "positive semi-definite" in failures(kernel)
    report = check_kernel(Tanh(1.0, offset=-1.0), X)
    assert report["positive semi-definite"].status == "skipped"
    assert report["Cauchy-Schwarz"].status == "skipped"


def test_a_wrong_twin_falls() -> None:
    assert failures(Gaussian(2.0), twin=partial(naive.gaussian, length_scale=2.0 + 1e-9)) == {"naive twin"}


def test_tol_replaces_the_tolerance() -> None:
    wrong = partial(naive.gaussian, length_scale=2.0 + 1e-9)
    assert check_kernel(Gaussian(2.0), X, twin=wrong, tol=1e-6).passed


def test_an_exception_inside_a_law_is_a_failed_law() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.kernels.stationary.Gaussian._slope", lambda self, s, K: 1 / 0)
        assert failures(Gaussian()) == {"pullback is the gradient"}


def test_bad_input_is_not_a_broken_law() -> None:
    with pytest.raises(InputError, match="NaN"):
        check_kernel(Gaussian(), [[np.nan]])
    with pytest.raises(InputError, match="median"):
        check_kernel(Gaussian("median"), X)
    with pytest.raises(InputError, match="check_gram"):
        check_kernel(2.0 * Precomputed(), np.eye(3))


def test_float32_and_read_only_data_pass() -> None:
    data = X.astype(np.float32)
    data.flags.writeable = False
    check_kernel(Gaussian() + Linear(), data)
    check_kernel(Gaussian() + Linear(), sp.coo_array(data))


def test_it_is_public() -> None:
    from mercer import testing

    assert set(testing.__all__) >= {"check_kernel", "naive", "random_kernel"}
    assert mercer.kernels.base.Kernel is Kernel
