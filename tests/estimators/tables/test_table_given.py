"""A kernel that a person gives: on the columns it names, with its numbers kept; and the last fit to all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import mercer
from mercer.errors import InputError
from mercer.inputs.frames import read_columns
from mercer.inputs.tables import Table
from mercer.workflow.question import FitSettings, ask
from mercer.workflow.training import split


def frame(n: int = 60) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    b, c = rng.normal(size=n), rng.choice(["x", "y"], n)
    a = [None if i % 9 == 0 else float(v) for i, v in enumerate(rng.normal(size=n))]
    words = ["".join(rng.choice(list("acgt"), 8)) for _ in range(n)]
    return pl.DataFrame({"a": a, "b": b, "c": c, "t": words}), np.sin(b) + (c == "x")


def test_a_kernel_names_its_columns_and_holes_get_their_rule() -> None:
    table, y = frame()
    text = "Gaussian(2.0).on('a') * Gaussian('median').on('b') * (1.0 + Categorical().on('c')) * (1.0 + Spectrum(2).on('t'))"
    model = mercer.TableRegressor(kernel=text).fit(table, y)
    kernel = model.members_[0].model.kernel
    assert len(model.members_) == 1 and kernel.certificate().status == "valid"
    assert repr(kernel).startswith("Gaussian(length_scale=2.0).missing(") and "median" not in repr(kernel)
    assert np.corrcoef(model.predict(table), y)[0, 1] > 0.9
    assert [attempt.label for attempt in model.result_.chosen] == [repr(mercer.parse(text))]


def test_other_columns_are_left_out_and_named() -> None:
    table, y = frame()
    model = mercer.TableClassifier(kernel=mercer.Laplacian(1.5).on("b")).fit(table, y > 0.5)
    assert {column.name: column.note for column in model.result_.columns} == {
        "a": "not in the kernel", "b": "", "c": "not in the kernel", "t": "not in the kernel"
    }  # fmt: skip
    assert repr(model.members_[0].model.kernel) == "Laplacian(length_scale=1.5).on(0)"
    alone = mercer.TableClassifier(kernel="Spectrum(2)").fit(table.select("t"), y > 0.5)  # the only column, of words
    assert repr(alone.members_[0].model.kernel).endswith(".on(0)")


@pytest.mark.parametrize(
    ("kernel", "columns", "message"),
    [
        ("Linear().on('z')", ["b"], "the kernel uses the column 'z', which is not in the table; its columns are b"),
        ("Gaussian(1.0)", ["a", "b"], "column 'a' has 7 missing cells, for which"),
        ("Gaussian(1.0)", ["b", "t"], "column 't' holds text"),
        ("Gaussian(1.0).on('a', 'b')", ["a", "b"], "'a' has missing cells and is one of several"),
    ],
)
def test_what_does_not_fit_is_said(kernel: str, columns: list[str], message: str) -> None:
    table, y = frame()
    with pytest.raises(InputError) as caught:
        mercer.TableRegressor(kernel=kernel).fit(table.select(columns), y)
    assert message in str(caught.value)


def test_all_rows_with_the_choices_made_before() -> None:
    """The twin: the same kernel and penalty solved by hand on all rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] ** 2
    model = mercer.TableRegressor(kernel="Gaussian(1.0)").fit(X[:60], y[:60])
    again = model.refitted(read_columns(X), y)
    member, old = again.members_[0].model, model.members_[0].model
    assert member.alpha == old.alpha and member.kernel == old.kernel and len(member.dual) == 80 and len(old.dual) == 60
    Z = model._encoders["standard"]({c.name: c for c in read_columns(X)})
    target = model.members_[0].transform.forward(y[:, None])
    G = np.asarray(member.kernel(Z)) + member.alpha * np.eye(80)
    system = np.block([[G, np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([target, [[0.0]]]))
    np.testing.assert_allclose(member.dual, solved[:-1], rtol=1e-6, atol=1e-9)
    small = mercer.TableRegressor(kernel="Gaussian(1.0)", memory=16 * 60 * 60).fit(X[:60], y[:60])
    assert small.refitted(read_columns(X), y) is None  # beyond the memory


def test_what_is_alone_of_its_kind_is_learned_from() -> None:
    """One row of a class: held out, the model could not learn the class."""
    labels = np.array(["u", "v"] * 20, dtype=object)
    labels[7] = "w"
    columns: dict[str, Any] = {"x": np.arange(40.0), "z": np.sin(np.arange(40.0)), "y": labels}
    question = ask("d.csv", Table(columns), "y")
    for seed in range(10):
        train, test = split(question, FitSettings(seed=seed))
        assert 7 in train and not set(train) & set(test) and len(train) + len(test) == 40
