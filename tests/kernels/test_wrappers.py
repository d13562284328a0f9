"""Weights, normalization and centering."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import Constant, Gaussian, Graph, Linear, Polynomial, Spectrum, Tanh, VertexHistogram, parse
from mercer.errors import CapabilityError, InputError
from mercer.kernels.wrappers import Sample

X = np.random.default_rng(0).normal(size=(12, 3))
Z = np.random.default_rng(1).normal(size=(5, 3))


def root(A: np.ndarray) -> np.ndarray:
    return A[:, 0] ** 2 + 0.5


# -- weights ---------------------------------------------------------------------------------------------------------------


def test_weights_multiply_both_sides() -> None:
    f = root(X)
    assert np.allclose(Gaussian().weighted(root)(X), np.outer(f, f) * Gaussian()(X), rtol=1e-14)
    assert np.allclose(Constant(1.0).weighted(root)(X), np.outer(f, f), rtol=1e-15)
    phi = Linear().weighted(root).feature_map(X)
    assert np.allclose(phi, f[:, None] * X)


def test_functions_that_return_the_wrong_thing_are_named() -> None:
    def one_row(A: np.ndarray) -> np.ndarray:
        return A[:1]

    with pytest.raises(InputError, match="one_row returned 1 row for 12"):
        Linear().map(one_row)(X)
    with pytest.raises(InputError, match=r"one_row returned shape \(1, 3\) for 12 rows"):
        Linear().weighted(one_row)(X)
    with pytest.raises(InputError, match="returned nan for row 3"):
        Linear().weighted(lambda A: np.where(np.arange(len(A)) == 3, np.nan, 1.0))(X)


# -- Tanimoto --------------------------------------------------------------------------------------------------------------


def test_tanimoto_is_the_share_of_common_features() -> None:
    sets = (np.random.default_rng(2).random((9, 20)) < 0.4).astype(float)
    common, sizes = sets @ sets.T, sets.sum(axis=1)
    assert np.array_equal(Linear().tanimoto()(sets), common / (sizes[:, None] + sizes - common))
    assert (np.diagonal(Polynomial(2).tanimoto()(X)) == 1.0).all()
    full, cross = Polynomial(2)(X), Polynomial(2)(X, Z)
    union = np.diagonal(full)[:, None] + Polynomial(2).diag(Z) - cross
    assert np.allclose(Polynomial(2).tanimoto()(X, Z), cross / union, rtol=1e-14)


@pytest.mark.parametrize("kernel", [Linear().tanimoto(), Spectrum(2).tanimoto(), VertexHistogram().tanimoto()])
def test_tanimoto_of_what_has_no_features_is_zero(kernel: Any) -> None:
    sets = {"Linear": np.array([[0.0, 0.0], [1.0, 2.0]]), "Spectrum": ["", "abc"], "VertexH": [Graph(0, []), Graph(1, [])]}
    given = next(value for name, value in sets.items() if repr(kernel).startswith(name))
    assert kernel(given).tolist() == [[0.0, 0.0], [0.0, 1.0]] and kernel.diag(given).tolist() == [0.0, 1.0]


def test_tanimoto_keeps_single_precision_and_sparse_rows() -> None:
    rows = sp.random_array((8, 50), density=0.2, rng=np.random.default_rng(3), format="csr")
    assert np.allclose(Linear().tanimoto()(rows), Linear().tanimoto()(rows.toarray()), rtol=1e-14)
    assert Linear().tanimoto()(rows.astype(np.float32)).dtype == np.float32


def test_tanimoto_states_its_proof_and_its_text() -> None:
    kernel = (Spectrum(3) + 1.0).tanimoto()
    proof = str(kernel.certificate())
    assert kernel.certificate().status == "valid" and "by the rule: Tanimoto" in proof and "(a + b) / 2" in proof
    assert parse(repr(kernel)) == kernel and "frac" in kernel._repr_latex_()
    assert "stationary" in str(Gaussian().tanimoto().certificate())


def test_tanimoto_of_a_function_with_negative_self_values_is_refused() -> None:
    with pytest.raises(InputError, match=r"k\(x, x\) = -.* < 0 for row 0 of X"):
        Tanh(scale=1.0, offset=-2.0).tanimoto()(np.zeros((2, 1)))
    with pytest.raises(CapabilityError, match="no finite feature map"):
        Linear().tanimoto().feature_map(X)


# -- normalized ------------------------------------------------------------------------------------------------------------


def test_normalized_is_the_cosine_with_ones_on_the_diagonal() -> None:
    K = Polynomial(2).normalized()(X)
    assert (np.diagonal(K) == 1.0).all()
    full = Polynomial(2)(X)
    assert np.allclose(K, full / np.sqrt(np.outer(np.diagonal(full), np.diagonal(full))), rtol=1e-14)


def test_zero_norm_gives_zero() -> None:
    A = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert Linear().normalized()(A).tolist() == [[0, 0], [0, 1]]
    assert Linear().normalized().diag(A).tolist() == [0, 1]
    assert Spectrum(3).normalized()(["a", "abcd"]).tolist() == [[0, 0], [0, 1]]
    assert (0.0 * Linear()).normalized()(A).tolist() == [[0, 0], [0, 0]]


def test_tiny_norms_are_still_norms() -> None:
    A = np.array([[1e-150], [-1e-150], [1.0]])
    assert Linear().normalized()(A).tolist() == [[1, -1, 1], [-1, 1, -1], [1, -1, 1]]


def test_a_negative_norm_is_no_norm() -> None:
    with pytest.raises(InputError, match=r"k\(x, x\) = .* < 0 for row \d+ of X.*not a kernel"):
        Tanh(1.0, offset=-5.0).normalized()(X)


# -- centered --------------------------------------------------------------------------------------------------------------


def test_centering_with_the_sample_itself_takes_the_mean_out() -> None:
    kernel = Gaussian().centered(X)
    H = np.eye(12) - 1.0 / 12
    assert np.allclose(kernel(X), H @ Gaussian()(X) @ H, rtol=0, atol=1e-15)
    assert np.abs(kernel(X).sum(axis=0)).max() < 1e-14


def test_centering_linear_is_subtracting_the_mean() -> None:
    A = Z - X.mean(axis=0)
    kernel = Linear().centered(X)
    assert np.allclose(kernel(Z), A @ A.T, rtol=0, atol=1e-14)
    assert np.allclose(kernel.feature_map(Z), A, rtol=0, atol=1e-15)


def test_at_the_mean_itself_there_is_nothing_left_to_normalize() -> None:
    """Cancellation leaves 1e-17 or -1e-17 there: neither a direction nor a sign that it is no kernel."""
    for inner in (Gaussian(), 0.3 * Linear() + 0.7, Polynomial(3)):
        K = inner.centered(X[:1]).normalized()(X)
        assert (K[0] == 0.0).all()
        assert (np.diagonal(K)[1:] == 1.0).all()


def test_features_of_centered_strings_count_what_occurs_in_the_sample_too() -> None:
    kernel = Spectrum(1).centered(["abc", "cde"])
    phi = kernel.feature_map(["a", "b"])
    assert phi.shape[1] == kernel.n_features(["a", "b"]) == 5
    assert np.allclose(phi @ phi.T, kernel(["a", "b"]))


def test_large_samples_are_averaged_over_tiles() -> None:
    S = np.random.default_rng(2).normal(size=(700, 3))
    plain = Gaussian()
    expected = plain(X) - plain(X, S).mean(1)[:, None] - plain(X, S).mean(1)[None] + plain(S).mean()
    assert np.allclose(plain.centered(S)(X), expected, rtol=0, atol=1e-14)


SAMPLES = {
    "array": lambda: X.copy(),
    "float32": lambda: X.astype(np.float32),
    "csr": lambda: sp.csr_array(X),
    "coo": lambda: sp.coo_array(X),
    "rows": lambda: X.tolist(),
    "arrays": lambda: list(X),
    "pandas": lambda: pd.DataFrame(X, index=range(100, 112)),
    "polars": lambda: pl.DataFrame(X),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_every_kind(name: str) -> None:
    kernel, again = (Gaussian().centered(SAMPLES[name]()) for _ in range(2))
    assert kernel == again
    assert hash(kernel) == hash(again)
    assert np.allclose(kernel(Z), Gaussian().centered(X)(Z), rtol=0, atol=1e-6)
    back = pickle.loads(pickle.dumps(kernel))
    assert back == kernel
    assert np.array_equal(back(Z), kernel(Z))


def test_samples_of_strings_and_graphs() -> None:
    texts = ["ab", "bc", "abc"]
    series = pd.Series(texts, index=[7, 8, 9])
    assert Spectrum(1).centered(series) == Spectrum(1).centered(texts) == Spectrum(1).centered(np.array(texts, dtype=object))
    path, ring = nx.path_graph(3), nx.cycle_graph(3)
    assert VertexHistogram().centered([path]) == VertexHistogram().centered([nx.path_graph(3)])
    assert VertexHistogram().centered([path]) != VertexHistogram().centered([ring])


def test_samples_that_differ_in_the_middle_differ() -> None:
    long = [np.arange(3000.0), np.zeros(3000)]
    other = [np.arange(3000.0), np.zeros(3000)]
    other[0][1500] += 1.0
    assert Sample(long) != Sample(other)
    assert Sample(X) != Sample(X.astype(np.float32))


@pytest.mark.parametrize("make", [lambda: X.copy(), X.tolist, lambda: sp.csr_array(X), lambda: pd.DataFrame(X)])
def test_the_caller_cannot_change_the_sample(make) -> None:
    data = make()
    kernel = Linear().centered(data)
    before = kernel(Z)
    if sp.issparse(data):
        data.data[:] = 99.0
    elif isinstance(data, list):
        data[0][0] = 99.0
    else:
        data[0] = 99.0
    assert np.array_equal(kernel(Z), before)
    with pytest.raises(AttributeError, match="read-only"):
        kernel.sample.data = data  # type: ignore[attr-defined]


def test_the_sample_prints_as_a_digest() -> None:
    assert repr(Linear().centered(X)).startswith("Linear().centered(<sample ")
    with pytest.raises(InputError, match="not a collection"):
        Linear().centered("abc")
    with pytest.raises(InputError, match="columns"):
        Linear().centered(X)(Z[:, :2])
