"""Quantiles on a table: the folds against a plain loop, units, mixed tables, no crossing, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelQuantileRegressor, Laplacian, Linear, PowerExponential
from mercer.errors import InputError
from mercer.workflow import table_quantiles
from mercer.workflow.table_candidates import Candidate
from mercer.workflow.table_quantiles import _Search, fit_quantiles, lengthened, pinball

Array = Any


def noisy(n: int = 90, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 2))
    return X, np.sin(X[:, 0]) + (0.1 + 0.3 * X[:, 1]) * rng.standard_normal(n)


@pytest.fixture(autouse=True)
def _few_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_quantiles, "PENALTIES", (0.3, 3.0))


def test_held_out_predictions_are_those_of_a_plain_loop() -> None:
    X, y = noisy()
    tried = [
        Candidate("a", "standard", "likelihood", Laplacian("median")),
        Candidate("b", "standard", "full metric", PowerExponential(2.0, power=1.0)),
        Candidate("c", "standard", "plain", Linear()),
    ]
    search = _Search(tried, {"standard": X}, y[:, None], (0.2, 0.9), np.random.default_rng(1))
    search.run()
    Z, t = X[search.rows], y[search.rows]
    checked = 0
    for tau, by_setting in search.held_out.items():
        for (i, multiple, C), held in by_setting.items():
            if np.isnan(held).any():
                continue
            slow = np.empty(len(t))
            for fold in np.unique(search.folds):
                inside = search.folds != fold
                kernel = tried[i].learn(Z[inside], t[inside, None])[-1].kernel
                kernel = lengthened(kernel, multiple)
                model = KernelQuantileRegressor(kernel, quantile=tau, C=C * y.std()).fit(Z[inside], t[inside])
                slow[~inside] = model.predict(Z[~inside])
            assert np.allclose(held[:, 0], slow, atol=1e-8)
            checked += 1
    assert checked >= 6
    assert not any(setting[0] == 2 and setting[1] != 1.0 for setting in search.held_out[0.2])  # Linear has no length scale


def test_predictions_are_the_weighted_mean_of_the_members_on_all_rows() -> None:
    X, y = noisy()
    model = fit_quantiles(X, y, (0.1, 0.9))
    for place, members in enumerate(model.members):
        assert np.isclose(sum(member.weight for member in members), 1.0)
        assert all(member.model.quantile == model.quantiles[place] for member in members)
        assert all(member.model.shape_fit_[0] == len(y) for member in members)
    columns = {c.name: c for c in table_quantiles.read_columns(X)}
    inputs = {rule: encoder(columns) for rule, encoder in model.encoders.items()}
    slow = [sum(m.weight * m.model.predict(inputs[m.scaling]) for m in members) for members in model.members]
    assert np.allclose(model.predict(X), np.sort(np.column_stack(slow), axis=1))


def test_the_spread_is_found_and_beats_constant_quantiles() -> None:
    X, y = noisy(200)
    new, truth = noisy(1000, seed=1)
    levels = (0.1, 0.9)
    model = fit_quantiles(X, y, levels)
    found = model.predict(new)
    for place, tau in enumerate(levels):
        loss = np.mean(pinball(tau)(found[:, [place]], truth[:, None]))
        constant = np.mean(pinball(tau)(np.full((1000, 1), np.quantile(y, tau)), truth[:, None]))
        assert loss < 0.9 * constant
        assert abs(np.mean(truth <= found[:, place]) - tau) < 0.08
    widths = found[:, 1] - found[:, 0]
    assert widths[new[:, 1] > 4.0].mean() > 2.0 * widths[new[:, 1] < 2.0].mean()


def test_units_of_the_target_do_not_matter() -> None:
    X, y = noisy(60)
    small, large = fit_quantiles(X, y, (0.25,)), fit_quantiles(X, 1024.0 * y, (0.25,))
    assert np.allclose(1024.0 * small.predict(X), large.predict(X), rtol=1e-3, atol=1e-3 * 1024.0 * y.std())
    assert np.isclose(1024.0 * small.losses[0], large.losses[0], rtol=1e-3)


def test_mixed_tables_come_in_any_order_of_columns() -> None:
    X, y = noisy(80)
    words = np.where(X[:, 0] > 3.0, "high", "low")
    frame = pd.DataFrame({"kind": words, "x": X[:, 1], "same": 1.0})
    frame.loc[::7, "x"] = np.nan
    model = fit_quantiles(frame, y, (0.1, 0.5, 0.9))
    found = model.predict(frame)
    assert found.shape == (80, 3)
    assert (np.diff(found, axis=1) >= 0.0).all()
    assert [column.name for column in model.columns] == ["kind", "x"]
    assert np.array_equal(found, model.predict(frame[["x", "same", "kind"]]))
    with pytest.raises(InputError, match="no column 'kind'"):
        model.predict(frame[["x"]])


def test_length_scales_are_multiplied_and_nothing_else() -> None:
    assert np.allclose(lengthened(Laplacian((1.0, 3.0)), 2.0).length_scale, (2.0, 6.0))
    kernel = 3.0 * Gaussian(2.0).linear(np.array([[1.0, 0.5], [0.0, 1.0]]))
    X = noisy(6)[0]
    assert np.allclose(lengthened(kernel, 4.0)(X), kernel(X / 4.0))
    assert lengthened(Linear(), 4.0) == Linear()


@pytest.mark.parametrize(
    ("quantiles", "words"),
    [((0.0, 0.5), "between 0 and 1"), ((), "rising order"), ((0.9, 0.1), "rising order"), ((0.5, 0.5), "rising order")],
)
def test_bad_quantiles_are_named(quantiles: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_quantiles(*noisy(20), quantiles)


def test_bad_tables_and_targets_are_named() -> None:
    X, y = noisy(20)
    with pytest.raises(InputError, match="one target per row"):
        fit_quantiles(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match="is constant"):
        fit_quantiles(np.ones((20, 1)), y)
    with pytest.raises(InputError, match="at least 4 rows"):
        fit_quantiles(X[:3], y[:3])
