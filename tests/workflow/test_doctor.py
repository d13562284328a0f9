"""What a doctor finds, and does not find; dependence, influence and spectrum against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.ridge import fit
from mercer.estimators.tables.targets import transform_of
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.inputs.frames import noted, read_columns
from mercer.inputs.tables import Table
from mercer.workflow.doctor import examine
from mercer.workflow.inspection import GramSpectrum, dependence, influences, neighborhood, spectrum


def healthy(similarity: float = 0.4) -> GramSpectrum:
    return GramSpectrum(10, 10, np.ones(10), 0.1, similarity)


def titles(columns: dict[str, np.ndarray], y: np.ndarray, similarity: float = 0.4, classes: np.ndarray | None = None) -> str:
    found = noted(read_columns(Table(columns)))
    cut = int(0.7 * len(y))
    train = noted(read_columns(Table({name: values[:cut] for name, values in columns.items()})))
    test = read_columns(Table({name: values[cut:] for name, values in columns.items()}))
    notes = {column.name: column.note for column in found}
    return "; ".join(f.title for f in examine(train, y[:cut], test, notes, healthy(similarity), classes))


def test_a_healthy_table_has_no_findings(rng: np.random.Generator) -> None:
    assert titles({"a": rng.normal(size=200), "b": rng.normal(size=200)}, rng.normal(size=200)) == ""


def test_every_illness_is_named(rng: np.random.Generator) -> None:
    n = 200
    y, x = rng.normal(size=n), rng.normal(size=n)
    assert "leak alone predicts the target" in titles({"leak": 3 * y + 1, "x": x}, y)
    assert "Left out: row_id" in titles({"row_id": np.arange(n) * 1.0, "x": x}, y)
    assert "Left out: c" in titles({"c": np.ones(n), "x": x}, y)
    assert "Left out: twin" in titles({"x": x, "twin": x}, y)
    assert "different units" in titles({"x": x, "large": 1e6 * rng.normal(size=n)}, y)
    assert "training rows repeat" in titles({"x": np.tile(x[:10], n // 10)}, y)
    assert "held-out rows equal a training row" in titles({"x": np.tile(x[:10], n // 10)}, y)
    holes = np.where(np.arange(n) % 4 > 0, np.nan, x)
    assert "Mostly missing: holes" in titles({"holes": holes, "x": x}, y)
    assert "very small" in titles({"x": x, "z": y[::-1]}, y, 1e-4)
    assert "very large" in titles({"x": x, "z": y[::-1]}, y, 0.99999)
    labels = np.where(np.arange(n) < 3, "rare", np.where(x > 0, "a", "b"))
    assert "Rare classes: rare (3)" in titles({"z": y}, labels, classes=np.unique(labels))
    assert "Only 6 held-out rows" in titles({"x": x[:20]}, y[:20])


def member(rng: np.random.Generator, n: int = 60) -> tuple[Member, np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 2))
    Y = np.sin(X[:, :1])
    transform = transform_of("none", Y)
    return Member("one", "standard", transform, fit(Gaussian(1.0), X, transform.forward(Y), 0.1), 1.0), X, Y


def test_the_effective_dimension_is_the_trace(rng: np.random.Generator) -> None:
    one, X, _ = member(rng)
    K = np.asarray(Gaussian(1.0)(X))
    found = spectrum(one, Rows(X), len(X))
    assert found.dimension == pytest.approx(np.trace(K @ np.linalg.inv(K + 0.1 * np.eye(60))))


def test_the_middle_of_the_neighborhood_is_leave_one_out(rng: np.random.Generator) -> None:
    one, X, Y = member(rng, 30)
    found = neighborhood(one, Rows(X), Y, 30)
    assert found is not None
    targets = one.transform.forward(Y)
    slow = []
    for i in range(30):
        keep = np.arange(30) != i
        slow.append(fit(Gaussian(1.0), X[keep], targets[keep], 0.1).predict(X[i : i + 1])[0, 0] - targets[i, 0])
    assert found.errors[4, 3] == pytest.approx(np.sqrt(np.mean(np.square(slow))) / targets.std(), rel=1e-6)


def test_influence_is_what_a_row_adds(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 2))
    dual = np.full((20, 1), 0.01)
    dual[7] = 5.0
    one = Member(
        "one",
        "standard",
        transform_of("none", rng.normal(size=(20, 1))),
        DualFunction(Gaussian(1.0), X, dual, np.zeros(1), 1.0),
        1.0,
    )
    found = influences((one,), {"standard": Rows(X)}, 3)
    assert found[0].row == 7 and found[0].share > 0.9
    some = DualFunction(Gaussian(1.0), X[5:9], dual[5:9], np.zeros(1), 1.0, np.arange(5, 9))
    landmarks = Member("one", "standard", one.transform, some, 1.0)
    assert influences((landmarks,), {"standard": Rows(X)}, 3)[0].row == 7


def test_dependence_is_the_mean_over_rows(rng: np.random.Generator) -> None:
    columns = read_columns(Table({"x": rng.normal(size=30), "city": rng.choice(["a", "b"], 30).astype(object)}))

    def predict(rows: list) -> np.ndarray:
        return (2.0 * rows[0].cells + np.array([c == "b" for c in rows[1].cells]))[:, None]

    [curve] = dependence(columns, "x", predict)
    share = np.mean([cell == "b" for cell in columns[1].cells])
    np.testing.assert_allclose(curve.mean, 2.0 * np.array(curve.values) + share)
    [levels] = dependence(columns, "city", predict)
    assert abs(levels.mean[list(levels.values).index("b")] - levels.mean[list(levels.values).index("a")] - 1.0) < 1e-12
