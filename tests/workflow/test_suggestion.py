"""A table model as a Gaussian process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.workflow.suggestion import as_process


def test_the_process_has_the_function_of_the_member() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = mercer.TableRegressor(kernel=mercer.Gaussian(1.0), random_state=0).fit(
        X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    )
    member = model.members_[0]
    process = as_process(member, 40)
    new = model.new_inputs(rng.normal(size=(7, 2)))[member.scaling].data
    expected = member.model.predict(new)[:, 0] - member.model.columns()[1][0]
    np.testing.assert_allclose(process.predict(new), expected, rtol=1e-6, atol=1e-8)
    assert (process.predict(new, return_std=True)[1] > 0).all()


def test_landmarks_are_refused() -> None:
    X = np.linspace(0.0, 1.0, 20)[:, None]
    model = mercer.TableRegressor(kernel=mercer.Gaussian(1.0), random_state=0).fit(X, X[:, 0] ** 2)
    with pytest.raises(InputError, match="fitted on 20 landmarks of 21 rows"):
        as_process(replace(model.members_[0], weight=1.0), 21)
