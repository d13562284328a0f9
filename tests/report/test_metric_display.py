"""The picture of a learned metric says what the metric is."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, RFMRegressor
from mercer.errors import InputError
from mercer.report.metric import DirectionsDisplay


def test_directions_are_those_of_the_metric(rng: np.random.Generator) -> None:
    X = rng.standard_normal((120, 4))
    model = RFMRegressor(metric="full", n_steps=2).fit(X, np.sin(X[:, 0] - X[:, 2]))
    shown = DirectionsDisplay.from_estimator(model, count=2, most=3)
    M = model.metric_
    for value, direction in zip(shown.values, shown.directions, strict=True):
        np.testing.assert_allclose(M @ direction, value * direction, atol=1e-10)
        assert direction[np.argmax(np.abs(direction))] > 0
    assert abs(shown.directions[0, 0] - -shown.directions[0, 2]) < 0.1  # the planted direction (1, 0, -1, 0)
    np.testing.assert_allclose(shown.shares, shown.values / np.trace(M))
    assert {0, 2} < set(shown.shown) and len(shown.axes_.flat) == 2
    assert [label.get_text() for label in shown.axes_.flat[0].get_yticklabels()] == [f"x{i}" for i in shown.shown]


def test_a_diagonal_metric_and_a_model_without_one(rng: np.random.Generator) -> None:
    X = rng.standard_normal((60, 3))
    model = RFMRegressor(metric="diagonal", n_steps=1).fit(X, X[:, 1])
    shown = DirectionsDisplay.from_estimator(model, count=1)
    np.testing.assert_allclose(shown.directions, [[0.0, 1.0, 0.0]])
    assert shown.shares[0] == pytest.approx(1.0 / model.metric_.sum())
    with pytest.raises(InputError, match="no learned metric to draw"):
        DirectionsDisplay.from_estimator(KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]))
