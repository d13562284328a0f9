"""The detector: its dense twin, exact p-values, false discoveries, contamination, column shares, any input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, Graph, Laplacian, Linear, NoveltyDetector, Spectrum
from mercer.errors import CapabilityError, InputError
from mercer.estimators.novelty.column_map import column_map, column_units
from mercer.estimators.novelty.novelty_detector import NOISE, found_among
from mercer.estimators.novelty.residuals import Residuals

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
NEW = np.concatenate([RNG.normal(size=(20, 3)), RNG.normal(size=(5, 3)) + 6.0])


THEMSELVES = "training rows explain themselves: asked as new rows none of them is novel; loo_scores_ are without themselves"
EXCUSED = dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), THEMSELVES)


@parametrize_with_checks(
    [NoveltyDetector(), NoveltyDetector(Gaussian(1.0), alpha=0.1)],
    expected_failed_checks=lambda model: EXCUSED if model.kernel is None else {},
)
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def dense(kernel: Any, rows: Any, new: Any, noise: float) -> Any:
    G = np.asarray(kernel(rows)) + noise * np.eye(len(rows))
    k = np.asarray(kernel(new, rows))
    return np.asarray(kernel.diag(new)) - np.einsum("ij,ij->i", k @ np.linalg.inv(G), k)


def test_scores_are_those_of_the_definition() -> None:
    model = NoveltyDetector(Gaussian(1.5)).fit(X)
    assert np.allclose(1.0 - np.exp(model.score_samples(NEW)), dense(Gaussian(1.5), X, NEW, NOISE), atol=1e-10)
    left_out = [dense(Gaussian(1.5), np.delete(X, i, axis=0), X[i : i + 1], NOISE)[0] for i in range(len(X))]
    assert np.allclose(1.0 - np.exp(model.loo_scores_), left_out, atol=1e-9)
    linear = NoveltyDetector(Linear()).fit(X)  # not normalized: minus the residual
    noise = NOISE * float((X**2).sum(axis=1).mean())
    assert np.allclose(linear.score_samples(NEW), -dense(Linear(), X, NEW, noise), atol=1e-10)


def test_p_values_are_counts_of_residuals_of_all_rows_with_the_new_one() -> None:
    rows, kernel = X[:40], Gaussian(1.5)
    for counted in (np.arange(40), np.arange(7, 30)):
        found = Residuals(kernel, rows, 0.1).pvalues(NEW, counted)
        for x, p in zip(NEW, found, strict=True):
            every = np.concatenate([rows, x[None]])
            each = [dense(kernel, np.delete(every, i, axis=0), every[i : i + 1], 0.1)[0] for i in [*counted, 40]]
            assert p == pytest.approx((np.array(each) >= each[-1] - 1e-12).mean())


@pytest.mark.parametrize(("kernel", "columns", "counted"), [(Laplacian(1.0), 2, 30), (None, 15, 22)])
def test_p_values_are_uniform_on_rows_of_the_same_source(kernel: Any, columns: int, counted: int) -> None:
    pvalues = []
    for seed in range(300):
        rows = np.random.default_rng(seed).standard_t(2, size=(31, columns))
        model = NoveltyDetector(kernel).fit(rows[:-1])
        assert len(model.calibrating_) == counted
        pvalues.append(model.pvalues(rows[-1:])[0])
    for level in (0.1, 0.2, 0.5):  # 3.5 standard deviations of a binomial share, about the level that the rows allow
        exact = np.floor(level * (counted + 1)) / (counted + 1)
        assert abs(np.mean(np.array(pvalues) <= level) - exact) < 3.5 * np.sqrt(exact * (1 - exact) / 300)


def test_the_scales_of_columns_come_from_rows_that_do_not_count() -> None:
    model = NoveltyDetector().fit(X)
    scaling = np.setdiff1d(np.arange(120), model.calibrating_)
    assert len(scaling) == 30 and np.array_equal(model._columns.units, column_map(X[scaling]).units)
    assert model.offset_ == np.sort(model.loo_scores_[model.calibrating_])[4 - 1]  # level .05 of 90 + 1
    assert len(NoveltyDetector().fit(X[:9]).calibrating_) == 9  # too few for two parts
    sparse = np.r_[np.zeros((30, 1)), np.ones((1, 1))]  # nearly always a part of equal rows
    assert len(NoveltyDetector().fit(sparse).calibrating_) == 31
    trimmed = NoveltyDetector(contamination=0.1).fit(X)
    assert len(trimmed.calibrating_) < 90 and np.isin(trimmed.places_[trimmed.calibrating_], model.calibrating_).all()


def test_false_discoveries_stay_below_the_rate() -> None:
    shares, powers = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        train, usual, novel = rng.normal(size=(300, 2)), rng.normal(size=(80, 2)), rng.normal(size=(20, 2)) + 5.0
        found = NoveltyDetector(Gaussian(1.0)).fit(train).predict(np.concatenate([usual, novel]), 0.2, control="fdr") < 0
        shares.append(found[:80].sum() / max(1, found.sum()))
        powers.append(found[80:].mean())
    assert np.mean(shares) < 0.2 and np.mean(powers) > 0.8


def test_the_rule_of_benjamini_and_hochberg() -> None:
    p = np.array([0.001, 0.8, 0.02, 0.03, 0.5])
    assert found_among(p, 0.05).tolist() == [True, False, True, True, False]
    assert not found_among(np.array([0.4, 0.9]), 0.05).any()


def test_contaminated_rows_are_left_out() -> None:
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(180, 2)), rng.uniform(-8, 8, size=(20, 2))])
    far = np.array([[5.0, -5.0], [0.0, 0.0]])
    plain, trimmed = NoveltyDetector().fit(rows), NoveltyDetector(contamination=0.1).fit(rows)
    assert len(trimmed.places_) == 180 and np.mean(trimmed.places_ >= 180) < 0.05
    assert trimmed.score_samples(far)[0] - trimmed.score_samples(far)[1] < plain.score_samples(far)[0]
    assert (trimmed.predict(rows) < 0).sum() == 20 and trimmed.predict(rows)[180:].mean() <= -0.4


def test_shares_split_the_distance_to_the_nearest_rows() -> None:
    model = NoveltyDetector().fit(X)
    row = np.array([[0.0, 9.0, 0.0]])
    shares = model.column_shares(row)
    parts = np.abs(model._columns.first(row) - model._columns.first(X))
    nearest = np.argsort(parts.sum(axis=1), kind="stable")[:5]
    assert np.allclose(shares[0], parts[nearest].mean(axis=0) / parts[nearest].mean(axis=0).sum())
    assert shares.argmax() == 1 and shares.sum() == pytest.approx(1.0)
    assert np.allclose(model.column_shares(NEW).sum(axis=1), 1.0)
    with pytest.raises(CapabilityError, match="a product over columns"):
        NoveltyDetector(Gaussian(1.0) + Linear()).fit(X).column_shares(NEW)
    with pytest.raises(CapabilityError, match="single objects"):
        NoveltyDetector().fit(["ab", "ba", "aba"]).column_shares(["ab"])


def test_mixed_tables_with_holes(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(2)
    n = 80
    age = rng.normal(40, 10, n).round(1).tolist()
    age[3] = None
    frame = pl.DataFrame({"age": age, "city": rng.choice(["Rome", "Oslo"], n), "size": rng.normal(size=n)})
    model = NoveltyDetector().fit(frame)
    new = pl.DataFrame({"age": [41.0, 300.0, None], "city": ["Rome", "Oslo", "Lima"], "size": [0.0, 0.1, 0.0]})
    scores = model.score_samples(new)
    assert scores[0] > scores[1] and model.column_shares(new)[1].argmax() == 0
    assert model.pvalues(new)[1] < 0.05
    mercer.save(model, tmp_path / "model")
    assert np.allclose(mercer.load(tmp_path / "model").score_samples(new), scores, rtol=1e-12)


def test_strings_graphs_series_and_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abc"), 12)) for _ in range(40)]
    model = NoveltyDetector().fit(words)
    assert model.kernel_ == Spectrum(3).normalized()
    assert model.score_samples(["xyzxyzxyz"])[0] < model.loo_scores_.min()
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(3, 15)]
    star = Graph(9, [(0, i) for i in range(1, 9)])
    assert NoveltyDetector().fit(graphs).pvalues([star])[0] <= 2 / 13
    waves = [np.sin(np.linspace(0, 6, 20) + s)[:, None] for s in rng.uniform(0, 1, 15)]
    assert NoveltyDetector().fit(waves).pvalues([10.0 * rng.normal(size=(20, 1))])[0] <= 2 / 16
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert np.array_equal(loaded.pvalues(words[:5]), model.pvalues(words[:5]))
    assert "smallest p-value" in str(model)


def test_many_rows_are_drawn() -> None:
    model = NoveltyDetector(max_rows=50).fit(X)
    assert len(model.places_) == 50 and np.array_equal(model.X_fit_, X[model.places_])
    assert "50 of 120 rows" in model.route_.reason
    assert np.array_equal(NoveltyDetector(max_rows=50).fit(X).score_samples(NEW), model.score_samples(NEW))


@pytest.mark.parametrize("settings", [{}, {"contamination": 0.1}, {"kernel": Gaussian("median")}, {"max_rows": 500}])
def test_chunks_give_the_same_digits_as_rows_in_memory(settings: dict[str, Any]) -> None:
    settings = {"max_rows": 70, **settings}
    here, there = NoveltyDetector(**settings).fit(X), NoveltyDetector(**settings).fit(mercer.chunks(X, rows=25))
    assert np.array_equal(here.places_, there.places_) and np.array_equal(here.X_fit_, there.X_fit_)
    assert np.array_equal(here.pvalues(NEW), there.pvalues(NEW))
    assert np.array_equal(here.score_samples(NEW), there.score_samples(NEW))
    assert here.offset_ == pytest.approx(there.offset_, rel=1e-12)


def test_strings_in_chunks_and_chunks_that_are_read_once() -> None:
    words = ["".join(np.random.default_rng(i).choice(list("acgt"), 8)) for i in range(60)]
    kernel = Spectrum(2).normalized()
    here = NoveltyDetector(kernel, max_rows=40).fit(words)
    there = NoveltyDetector(kernel, max_rows=40).fit(mercer.chunks(words, rows=7))
    assert np.array_equal(here.pvalues(words), there.pvalues(words))
    with pytest.raises(InputError, match="draws rows from all chunks; an iterator is read once"):
        NoveltyDetector().fit(part for part in (X[:50], X[50:]))


def test_scores_of_far_rows_differ() -> None:
    scores = NoveltyDetector().fit(X).score_samples(np.array([[30.0, 0, 0], [60.0, 0, 0], [1e9, 0, 0]]))
    assert scores[0] > scores[1] > scores[2] and np.isfinite(scores).all()


def test_units_of_columns() -> None:
    table = np.column_stack([np.ones(50), np.arange(50.0), np.r_[np.zeros(49), 7.0]])
    units = column_units(table)
    assert units[0] == 1.0 and units[2] > table[:, 2].std()
    rising = np.array([[1.0, -100.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [1.0, 49.0, 7.0]])
    mapped = column_map(table)(rising)
    assert mapped.shape == (4, 6) and (np.diff(mapped[:, 1]) > 0).all() and np.ptp(mapped[:, 0]) == 0.0


def test_the_default_kernel_is_its_formula() -> None:
    def typical(rows: Any, order: int) -> float:
        gaps = np.linalg.norm(rows[:, None] - rows, order, axis=2)
        return float(np.median(gaps[np.triu_indices(len(rows), 1)]))

    units = np.sqrt(X.std(axis=0) * np.ptp(X, axis=0) / 4.0)
    quartiles = np.quantile(X, [0.25, 0.75], axis=0)
    rounded = np.arcsinh((X - np.median(X, axis=0)) / ((quartiles[1] - quartiles[0]) / 1.3489795003921634))
    extent = X / np.ptp(X, axis=0)
    x, z = 4, 17
    first = np.abs(X[x] - X[z]) / units / typical(X / units, 1) + np.abs(rounded[x] - rounded[z]) / typical(rounded, 1)
    second = np.linalg.norm(extent[x] - extent[z]) / (0.5 * typical(extent, 2))
    mapped = column_map(X)(X)
    value = column_map(X).kernel()(mapped[x : x + 1], mapped[z : z + 1])[0, 0]
    assert value == pytest.approx(0.5 * np.exp(-first.sum()) + 0.5 * np.exp(-second), rel=1e-9)
    assert NoveltyDetector().fit(X).kernel_ == column_map(X).kernel()


def test_constant_columns_are_allowed() -> None:
    table = np.column_stack([np.ones(50), np.arange(50.0), np.r_[np.zeros(49), 7.0]])
    assert np.isfinite(NoveltyDetector().fit(table).score_samples(table + 1.0)).all()


def test_equal_training_rows() -> None:
    with pytest.warns(UserWarning) as caught:
        model = NoveltyDetector().fit(np.full((30, 2), 5.0))
    assert ["all training rows are equal" in str(one.message) for one in caught] == [True]
    assert model.predict([[5.0, 5.0], [5.0, 5.1]]).tolist() == [1, -1]
    assert np.allclose(model.pvalues([[5.0, 5.0], [5.0, 6.0]]), [1.0, 1.0 / 31.0])


@pytest.mark.parametrize(
    ("change", "rows", "words"),
    [
        ({"alpha": 0.0}, X, "alpha must be a number between 0 and 1"),
        ({"contamination": 0.7}, X, "contamination must be None or a number between 0 and 0.5"),
        ({"max_rows": 1}, X, "max_rows"),
        ({"kernel": Linear()}, np.zeros((5, 2)), "nothing to explain"),
        ({"kernel": mercer.Precomputed(), "max_rows": 3}, np.eye(5), "max_rows must be at least"),
        ({}, X[:1], "at least 2 rows"),
        ({}, np.where(X > 2, np.nan, X), "NaN"),
    ],
)
def test_bad_input(change: dict[str, Any], rows: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        NoveltyDetector(**change).fit(rows)


def test_bad_questions() -> None:
    model = NoveltyDetector().fit(X)
    with pytest.raises(InputError, match="control must be one of level, fdr"):
        model.predict(NEW, control="both")
    with pytest.raises(InputError, match="alpha must be"):
        model.predict(NEW, 2.0)
