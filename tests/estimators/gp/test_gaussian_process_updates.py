"""Rows added and removed, models saved and loaded, strings and graphs: the same numbers as from scratch."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Gaussian, GaussianProcessRegressor, Graph, Linear, Precomputed, Spectrum, VertexHistogram
from mercer.errors import InputError

FIXED = {"noise": 0.05, "optimizer": None}


def _data(rng: np.random.Generator, n: int = 70) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def _same(one: GaussianProcessRegressor, other: GaussianProcessRegressor, Z: np.ndarray) -> None:
    for left, right in zip(one.predict(Z, return_std=True), other.predict(Z, return_std=True), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, rtol=1e-7, atol=1e-8)
    assert one.log_marginal_likelihood_value_ == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-8)


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
def test_added_rows_are_as_if_fitted_at_once(rng: np.random.Generator, mean: str) -> None:
    X, y = _data(rng)
    # units and mean columns are those of the first fit, so that the comparison is of what the update promises
    grown = GaussianProcessRegressor(Gaussian(1.0) + Linear(), mean=mean, normalize_y=False, **FIXED).fit(X[:50], y[:50])
    grown.add_rows(X[50:60], y[50:60]).add_rows(X[60:], y[60:])
    whole = GaussianProcessRegressor(Gaussian(1.0) + Linear(), mean=mean, normalize_y=False, **FIXED).fit(X, y)
    _same(grown, whole, rng.normal(size=(20, 3)))
    np.testing.assert_allclose(grown.loo_mean_, whole.loo_mean_, atol=1e-8)
    assert grown.diagnosis_.rows == 70
    assert len(grown.X_fit_) == 70


@pytest.mark.parametrize("gone", [[0], [69, 3, 40], -1, list(range(30))])
def test_removed_rows_were_never_there(rng: np.random.Generator, gone: list[int] | int) -> None:
    X, y = _data(rng)
    less = GaussianProcessRegressor(Gaussian(1.0), normalize_y=False, **FIXED).fit(X, y).remove_rows(gone)
    kept = np.delete(np.arange(70), gone)
    whole = GaussianProcessRegressor(Gaussian(1.0), normalize_y=False, **FIXED).fit(X[kept], y[kept])
    _same(less, whole, rng.normal(size=(20, 3)))


def test_a_window_that_slides_for_long_stays_exact(rng: np.random.Generator) -> None:
    X, y = _data(rng, 300)
    gp = GaussianProcessRegressor(Gaussian(1.0), normalize_y=False, **FIXED).fit(X[:60], y[:60])
    for start in range(60, 300, 10):
        gp.add_rows(X[start : start + 10], y[start : start + 10]).remove_rows(range(10))
    _same(gp, GaussianProcessRegressor(Gaussian(1.0), normalize_y=False, **FIXED).fit(X[240:], y[240:]), X[:30])


def test_several_targets_noise_per_row_and_other_containers(rng: np.random.Generator) -> None:
    X, y = _data(rng)
    Y, noise = np.column_stack([y, X[:, 1]]), rng.uniform(0.1, 1.0, 70)
    grown = GaussianProcessRegressor(Gaussian(1.0), noise=noise[:50], optimizer=None, normalize_y=False).fit(X[:50], Y[:50])
    grown.add_rows(X[50:], Y[50:], noise=noise[50:]).remove_rows([0, 1])
    whole = GaussianProcessRegressor(Gaussian(1.0), noise=noise[2:], optimizer=None, normalize_y=False).fit(X[2:], Y[2:])
    _same(grown, whole, X[:9])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kernel = Gaussian(1.0).on("a", "b") + Linear().on("c")
    grown = GaussianProcessRegressor(kernel, **FIXED, mean="zero", normalize_y=False).fit(frame[:50], y[:50])
    whole = GaussianProcessRegressor(kernel, **FIXED, mean="zero", normalize_y=False).fit(frame, y)
    _same(grown.add_rows(frame[50:], y[50:]), whole, frame[:9])


def test_updates_that_cannot_be_are_refused(rng: np.random.Generator) -> None:
    X, y = _data(rng)
    gp = GaussianProcessRegressor(Gaussian(1.0), **FIXED).fit(X, y)
    for call, message in (
        (lambda: gp.remove_rows([70]), "row numbers must lie in 0 … 69"),
        (lambda: gp.remove_rows([0.5]), "takes row numbers"),
        (lambda: gp.remove_rows(range(70)), "at least one must stay"),
        (lambda: gp.add_rows(X, np.column_stack([y, y])), r"the model has 1 target"),
        (lambda: gp.add_rows(X, y, noise=np.ones(70)), "one noise for all rows"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    per_row = GaussianProcessRegressor(Gaussian(1.0), noise=np.ones(70), optimizer=None).fit(X, y)
    with pytest.raises(InputError, match="the noise was given per row"):
        per_row.add_rows(X, y)
    K = Gaussian(1.0)(X)
    with pytest.raises(InputError, match="cannot take Precomputed"):
        GaussianProcessRegressor(Precomputed(), **FIXED).fit(K, y).add_rows(K, y)
    assert len(gp.X_fit_) == 70


@pytest.mark.parametrize("mean", ["constant", "linear"])
def test_a_saved_model_predicts_the_same(rng: np.random.Generator, tmp_path: Path, mean: str) -> None:
    X, y = _data(rng)
    gp = GaussianProcessRegressor(Gaussian([1.0, 1.0, 1.0]), mean=mean, n_restarts=0).fit(X, y)
    gp.loo_  # noqa: B018 - what has been computed is kept
    mercer.save(gp, tmp_path / "gp.mercer")
    again = mercer.load(tmp_path / "gp.mercer")
    Z = rng.normal(size=(10, 3))
    np.testing.assert_array_equal(again.predict(Z), gp.predict(Z))
    np.testing.assert_allclose(again.predict(Z, return_std=True)[1], gp.predict(Z, return_std=True)[1], rtol=1e-10)
    np.testing.assert_array_equal(again.loo_mean_, gp.loo_mean_)
    assert str(again.diagnosis_) == str(gp.diagnosis_)
    assert again.kernel_ == gp.kernel_
    assert again.log_marginal_likelihood(eval_gradient=True)[0] == pytest.approx(gp.log_marginal_likelihood_value_)
    again.add_rows(Z, np.zeros(10))
    assert (tmp_path / "gp.mercer").stat().st_size < 8 * 70 * 70 * 4  # the factor is computed again, not written


def test_graphs_and_strings(rng: np.random.Generator) -> None:
    graphs = [Graph(3, [(0, 1), (1, 2)], node_labels=list(labels)) for labels in ("CCO", "CCC", "CNO", "OOO", "CCN")]
    counts = [2.0, 3.0, 1.0, 0.0, 2.0]  # the number of carbon atoms
    gp = GaussianProcessRegressor(VertexHistogram(), n_restarts=0).fit(graphs, counts)
    np.testing.assert_allclose(gp.predict(graphs), counts, atol=0.6)
    assert gp.theta_names_ == ["scale", "noise"]
    texts = ["abab", "baba", "bbbb", "aaaa", "abbb", "aabb"]
    scores = [float(text.count("ab")) for text in texts]
    gp = GaussianProcessRegressor(Spectrum(2), n_restarts=0).fit(texts, scores)
    f, std = gp.predict(["abab", "bbab"], return_std=True)
    assert abs(f[0] - 2.0) < 0.7
    assert (std > 0).all()
    gp.add_rows(["babb"], [1.0]).remove_rows([0])
    assert len(gp.X_fit_) == 6


def test_molecules_as_texts(shared_data: Path) -> None:
    with gzip.open(shared_data / "str_smiles_esol.json.gz", "rt") as file:
        record = json.load(file)
    texts, y = record["strings"], np.array(record["targets"], dtype=float)
    order = np.random.default_rng(0).permutation(len(texts))
    train, test = order[:400], order[400:600]
    kernel = Spectrum(2).normalized() + Spectrum(3).normalized()
    gp = GaussianProcessRegressor(kernel, n_restarts=0).fit([texts[i] for i in train], y[train])
    new = [texts[i] for i in test]
    error = np.sqrt(np.mean((gp.predict(new) - y[test]) ** 2))
    assert error < 0.65 * y[test].std()
    interval = gp.predict_interval(new, 0.9)
    inside = np.mean((interval[:, 0] <= y[test]) & (y[test] <= interval[:, 1]))
    assert 0.82 <= inside <= 0.97
    assert gp.theta_names_ == ["scale", "noise"]
