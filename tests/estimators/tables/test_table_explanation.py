"""Shapley values of table models: three ways, one answer, and every sum is the prediction."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from mercer import Laplacian, Matern, TableClassifier, TableRegressor, explain
from mercer.errors import InputError
from mercer.estimators.tables import explanation
from mercer.estimators.tables.explanation import _closed, _orders, _subsets
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.targets import transform_of
from mercer.grams.dual_function import DualFunction
from mercer.inputs.frames import read_columns


def member(kernel: object, rule: str, rng: np.random.Generator, n: int = 25, d: int = 4) -> Member:
    X = rng.normal(size=(n, d))
    y = np.exp(X[:, :1]) + X[:, 1:2]
    model = DualFunction(kernel, X, rng.normal(size=(n, 1)), np.array([0.3]), 1.0)
    return Member("one", "standard", transform_of(rule, y), model, 1.0)


def brute(one: Member, x: np.ndarray, rest: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """The definition: the mean gain of a column over all orders, each value a mean over the background."""

    def value(known: list[int]) -> float:
        rows = rest.copy()
        for j in known:
            rows[:, groups[j]] = x[0, groups[j]]
        return float(one.transform.backward(one.model.predict(rows))[:, 0].mean())

    found = np.zeros(len(groups))
    orders = list(permutations(range(len(groups))))
    for order in orders:
        for place, j in enumerate(order):
            found[j] += value(list(order[: place + 1])) - value(list(order[:place]))
    return found / len(orders)


def test_the_closed_form_is_the_definition(rng: np.random.Generator) -> None:
    one = member(Laplacian((1.0, 2.0, 0.5, 3.0)), "none", rng)
    x, rest, groups = rng.normal(size=(1, 4)), one.model.X[:7], [[0], [1, 3], [2]]
    expected = brute(one, x, rest, groups)
    for found in (_closed(one, x, rest, groups, 0), _subsets(one, x, rest, groups, 0)):
        np.testing.assert_allclose(found.contributions, expected, atol=1e-10)
        assert found.base + found.contributions.sum() == pytest.approx(one.transform.backward(one.model.predict(x))[0, 0])


def test_subsets_explain_what_is_no_product_and_a_transformed_target(rng: np.random.Generator) -> None:
    one = member(Matern(1.5, length_scale=1.0), "yeo-johnson", rng)
    x, rest, groups = rng.normal(size=(1, 4)), one.model.X[:5], [[0], [1], [2, 3]]
    np.testing.assert_allclose(_subsets(one, x, rest, groups, 0).contributions, brute(one, x, rest, groups), atol=1e-10)


def test_random_orders_come_near_and_add_up(rng: np.random.Generator) -> None:
    one = member(Matern(1.5, length_scale=1.0), "none", rng)
    x, rest, groups = rng.normal(size=(1, 4)), one.model.X, [[0], [1], [2], [3]]
    found = _orders(one, x, rest, groups, 0, 10**6)
    expected = _subsets(one, x, rest, groups, 0).contributions
    assert (np.abs(found.contributions - expected) <= 4 * found.errors + 1e-12).all()
    assert found.base + found.contributions.sum() == pytest.approx(one.transform.backward(one.model.predict(x))[0, 0])


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    age = [None if i % 9 == 0 else float(v) for i, v in enumerate(rng.normal(size=60))]
    return pl.DataFrame({"age": age, "city": rng.choice(["Rome", "Oslo"], 60).tolist(), "x": rng.normal(size=60)})


def test_a_table_with_holes_is_explained_in_closed_form(frame: pl.DataFrame) -> None:
    y = np.nan_to_num(frame["age"].to_numpy().astype(float)) + frame["x"].to_numpy()
    model = TableRegressor(time=0.1).fit(frame, y)
    found = explain(model, frame[:2])
    assert isinstance(found, list)
    for one, predicted in zip(found, model.predict(frame[:2]), strict=True):
        assert one.names == ("age", "city", "x")
        assert one.base + one.contributions.sum() == pytest.approx(predicted)
        assert one.value == pytest.approx(predicted)
        assert one.errors is None or (one.errors >= 0).all()
    assert abs(found[0].contributions[1]) < np.abs(found[0].contributions).max()
    with pytest.raises(InputError, match="leave target out"):
        explain(model, frame[:1], target="a")
    with pytest.raises(InputError, match="background is a table"):
        explain(model, frame[:1], background="baseline")


@pytest.mark.parametrize(("n", "memory"), [(60, None), (2600, None), (300, "100 KB")], ids=["exact", "judged", "landmarks"])
def test_rows_are_those_of_the_training_table(n: int, memory: str | None, rng: np.random.Generator) -> None:
    X = rng.normal(size=(n, 2))
    model = TableRegressor(kernel="Gaussian(0.001)", memory=memory).fit(X, np.sin(X[:, 0]) + 2.0)
    for fitted in (model, model.refitted(read_columns(X), np.sin(X[:, 0]) + 2.0)):
        [member] = fitted.members_
        numbers = member.model.numbers()
        np.testing.assert_array_equal(fitted.new_inputs(X)[member.scaling].data[numbers], member.model.X)
        row = int(numbers[11])
        found = explain(fitted, X[row : row + 1])
        assert found.examples[0][0] == row  # nothing but the row itself is near
        far = fitted.renumbered(np.arange(n) + 1000)
        assert explain(far, X[row : row + 1]).examples[0][0] == row + 1000


def test_a_classifier_explains_the_score_of_a_class(frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.where(frame["x"].to_numpy() > 0, "up", "down")
    model = TableClassifier(time=0.1).fit(frame, labels)
    found = explain(model, frame[:1], target="up")
    assert found.label == "score of class 'up'"
    assert found.top()[0][0] == "x"
    assert found.base + found.contributions.sum() == pytest.approx(found.value)
    with pytest.raises(InputError, match="one of the classes 'down', 'up'"):
        explain(model, frame[:1], target="left")
    monkeypatch.setattr(explanation, "KERNEL_VALUES", 10)
    again = explain(model, frame[:1], target="up", background=frame[:20])
    assert again.base + again.contributions.sum() == pytest.approx(again.value)
