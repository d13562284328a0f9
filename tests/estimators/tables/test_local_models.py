"""Local models of large tables: cells of trees, ridges in them, and the member that holds them, each with a slow twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Laplacian, TableClassifier, TableRegressor
from mercer.errors import CapabilityError, InputError, NumericalError
from mercer.estimators.tables import fitting, local_models
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.local_models import LocalModel, LocalSearch, cells_of, fit_local, fit_tree, grow, relevance_of
from mercer.inputs import Rows

KERNEL = Laplacian((1.0, 2.0))


def walked(columns: Any, cuts: Any, children: Any, x: Any) -> int:
    """Return the cell of one row by walking down the tree."""
    node = 0 if len(cuts) else -1
    while node >= 0:
        node = int(children[node][int(x[columns[node]] > cuts[node])])
    return -1 - node


def ridge_by_hand(K: Any, Y: Any, alpha: float, weights: Any, k: Any) -> Any:
    """Return the values of a ridge with a free intercept at new rows with kernel values k, by one linear system."""
    n = len(K)
    system = np.block([[K + alpha * np.diag(1.0 / weights), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return k @ solution[:n] + solution[n]


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.0), (0.2, 1.0)])
def test_cells_divide_the_rows_and_follow_the_weighted_columns(weights: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=900), rng.integers(0, 40, 900) / 40.0])
    tree = grow(X, np.array(weights), 100, rng)
    own = cells_of(*tree, X)
    counts = np.bincount(own)
    assert counts.max() <= 100 and counts.min() >= 15  # a cut leaves 15 % of the rows of a cell at least
    assert own.tolist() == [walked(*tree, x) for x in X]
    if weights[1] == 0.0:
        assert set(tree[0].tolist()) == {0}
    assert len(set(tree[0].tolist())) == (1 if weights[1] == 0.0 else 2)


def test_equal_rows_and_rare_values_are_not_cut() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(500), (np.arange(500) < 5).astype(float)])
    columns, cuts, children = grow(X, np.ones(2), 100, rng)
    assert len(cuts) == 0 and cells_of(columns, cuts, children, X).max() == 0
    X[:, 0] = rng.integers(0, 2, 500)
    assert grow(X, np.ones(2), 100, rng)[0].tolist() == [0]


@pytest.mark.parametrize("weighted", [False, True])
def test_ridges_in_cells_equal_refits_with_and_without_the_left_out_rows(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X, R = rng.uniform(size=(240, 2)), rng.standard_normal((240, 2))
    w = rng.uniform(0.5, 2.0, 240) if weighted else None
    counted = np.ones(240) if w is None else w
    cuts = grow(X, np.ones(2), 60, rng)
    groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 6])
    tree, held_out = fit_tree(cuts, KERNEL, 0.3, Rows(X), R, groups, w)
    model = LocalModel(X, (tree,))
    own = cells_of(*cuts, X)
    new = rng.uniform(size=(30, 2))
    found = model.predict(Rows(new))
    for i, x in enumerate(new):
        rows = np.flatnonzero(own == walked(*cuts, x))
        K, k = np.asarray(KERNEL(X[rows])), np.asarray(KERNEL(x[None], X[rows]))
        np.testing.assert_allclose(found[i], ridge_by_hand(K, R[rows], 0.3, counted[rows], k)[0], atol=1e-9)
    labels = np.concatenate([10 + np.arange(230), groups])
    for row in [3, 77, *range(230, 240)]:
        left = np.flatnonzero(labels == labels[row])
        rows = np.setdiff1d(np.flatnonzero(own == own[row]), left)
        K, k = np.asarray(KERNEL(X[rows])), np.asarray(KERNEL(X[row : row + 1], X[rows]))
        np.testing.assert_allclose(held_out[row], ridge_by_hand(K, R[rows], 0.3, counted[rows], k)[0], atol=1e-9)


def test_a_cell_that_cannot_be_cut_is_thinned_out_and_keeps_the_left_out_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "SIZE", 20)
    X = np.ones((200, 2))
    R = np.random.default_rng(0).standard_normal((200, 1))
    cuts = grow(X, np.ones(2), 20, np.random.default_rng(0))
    tree, held_out = fit_tree(cuts, KERNEL, 1.0, Rows(X), R, np.arange(5), None)
    assert tree.n_cells == 1 and len(tree.rows) == 45 and set(range(195, 200)) <= set(tree.rows.tolist())
    rest = np.setdiff1d(tree.rows, [199])
    assert held_out[199, 0] == pytest.approx(R[rest].mean())  # equal rows: the mean of the others


def test_cells_without_enough_rows_add_nothing() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [5.3], [5.4], [5.5]])
    cuts = (np.array([0]), np.array([2.0]), np.array([[-1, -2]]))
    tree, _ = fit_tree(cuts, Laplacian(1.0), 0.1, Rows(X), np.ones((9, 1)), np.empty(0, dtype=np.intp), None)
    found = LocalModel(X, (tree,)).predict(Rows(np.array([[0.1], [5.2]])))
    assert found[0, 0] == 0.0 and found[1, 0] == pytest.approx(1.0)


def test_a_cell_of_the_search_holds_the_nearest_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "CELL_ROWS", 50)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=400), rng.integers(0, 3, 400).astype(float)])
    search = LocalSearch(Rows(X), rng.standard_normal((400, 1)), None, rng)
    for weights in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, 0.5])):
        rows = search.cell(7, weights)
        distance = np.max(weights * np.abs(X - X[7]), axis=1)
        assert len(rows) == len(set(rows.tolist())) == 50
        assert distance[rows].max() <= np.sort(distance)[49] + 1e-12


def test_the_relevance_of_a_column_is_its_inverse_length_scale_or_metric() -> None:
    assert relevance_of(Laplacian((1.0, 4.0)), 2).tolist() == [1.0, 0.25]
    assert relevance_of(Laplacian(2.0), 3).tolist() == [0.5] * 3
    S = np.array([[2.0, 0.0], [0.0, 1.0]])
    assert relevance_of(Laplacian(2.0).linear(S), 2).tolist() == [2.0, 1.0]


def days(n: int = 1500, seed: int = 0) -> tuple[Any, Any]:
    """Return rows with a level for each of thirty days, which only cells of few days can follow, and a smooth part."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    level = np.random.default_rng(1).standard_normal(30)[np.floor(30 * X[:, 0]).astype(int)]
    return X, level + np.sin(4.0 * X[:, 1]) + 0.2 * rng.standard_normal(n)


def test_the_search_follows_the_column_that_the_rest_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "CELL_ROWS", 100)
    X, _ = days(3000)
    rng = np.random.default_rng(2)
    R = rng.standard_normal(30)[np.floor(30 * X[:, 0]).astype(int)][:, None] + 0.3 * rng.standard_normal((3000, 1))
    smooth = LearnedKernel("a", Gaussian(1.0), 1.0)  # it follows no level of a day, only cells do
    candidate = Candidate("a", "standard", "plain", Gaussian(1.0))
    search = LocalSearch(Rows(X), R, None, np.random.default_rng(0))
    weights, kernel, _ = search.run(candidate, smooth, np.ones(3))
    assert weights[0] > 0.0 and weights[1] == weights[2] == 0.0 and kernel == smooth.kernel


def test_a_second_tree_is_fitted_to_leave_one_out_residuals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SIZE": 200, "CELL_ROWS": 100, "COMPARED": 3, "LEARNED": 2}.items():
        monkeypatch.setattr(local_models, name, value)
    X, y = days(900)
    R = (y + np.sign(X[:, 2] - 0.5))[:, None]
    state = LearnedKernel("a", Laplacian((3.0, 3.0, 3.0)), 1.0)
    candidate = Candidate("a", "standard", "plain", Laplacian("median"))
    groups = np.arange(40)
    local, values = fit_local(candidate, state, Rows(X), R, groups, None, 0)
    rest, left = R, np.zeros((40, 1))
    for tree in local.trees:
        again, held_out = fit_tree(
            (tree.columns, tree.cuts, tree.children), tree.kernel, tree.alpha, Rows(X), rest, groups, None
        )
        np.testing.assert_allclose(again.dual, tree.dual)
        rest, left = rest - held_out, left + held_out[-40:]
    np.testing.assert_allclose(values, left, atol=1e-12)
    assert np.mean((values - R[-40:]) ** 2) < 0.5 * np.var(R)
    np.testing.assert_allclose(local.predict(Rows(X[:5])), local.refitted(Rows(X), R, None).predict(Rows(X[:5])))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables of 1,300 rows count as large."""
    for name, value in {"EXACT": 500, "FEWEST_LOCAL": 1000, "SEARCHED": 300, "JUDGES": 200, "MOST_LANDMARKS": 80}.items():
        monkeypatch.setattr(fitting, name, value)
    for name, value in {"SIZE": 200, "CELL_ROWS": 100, "COMPARED": 3, "LEARNED": 2}.items():
        monkeypatch.setattr(local_models, name, value)
    one = [Candidate("Laplacian", "standard", "plain", Laplacian("median"))]
    monkeypatch.setattr(fitting, "candidates", lambda tied, mixed: one)


@pytest.mark.usefixtures("small")
def test_a_model_of_a_large_table_has_local_models_where_they_help(tmp_path: Path) -> None:
    X, y = days()
    model = TableRegressor(order=False).fit(X[:1300], y[:1300])
    member = next(one for one in model.members_ if one.local is not None)
    plain = replace(member, local=None)
    inputs = model.new_inputs(X[1300:])
    before, after = (np.sqrt(np.mean((one.predict(inputs)[:, 0] - y[1300:]) ** 2)) for one in (plain, member))
    assert after < 0.8 * before
    assert any("local ridges in" in note for note in model.result_.notes)
    assert model.result_.error == pytest.approx(np.sqrt(np.mean((model.predict(X[1300:]) - y[1300:]) ** 2)), rel=0.25)
    assert sum(one.weight for one in model.result_.chosen) == pytest.approx(1.0)
    many = np.tile(X, (8, 1))
    assert np.allclose(model.predict(many)[:1500], model.predict(X), atol=0.01 * model.result_.error)
    mercer.save(model, tmp_path / "model.mercer")
    assert np.array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))
    again = model.refit(X[:1300], y[:1300])
    errors = [np.sqrt(np.mean((one.predict(X[1300:]) - y[1300:]) ** 2)) for one in (model, again)]
    assert errors[1] < 1.15 * errors[0]  # landmarks are drawn from the rows again
    with pytest.raises(CapabilityError, match="local models"):
        mercer.to_onnx(model)


@pytest.mark.usefixtures("small")
def test_contributions_of_columns_contain_the_local_part() -> None:
    X, y = days()
    model = TableRegressor(order=False).fit(X[:1300], y[:1300])
    found = mercer.explain(model, X[:1])
    assert float(np.sum(found.contributions)) + found.base == pytest.approx(float(model.predict(X[:1])[0]), abs=1e-6)


@pytest.mark.usefixtures("small")
def test_a_fit_goes_on_without_local_models_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise NumericalError("the matrix is not positive definite.")

    monkeypatch.setattr(fitting, "fit_local", fail)
    X, y = days()
    model = TableRegressor(order=False).fit(X[:1300], y[:1300])
    assert "local models failed: the matrix is not positive definite." in model.result_.notes
    assert all(member.local is None for member in model.members_)


@pytest.mark.usefixtures("small")
def test_classes_have_local_models_too() -> None:
    X, y = days()
    labels = np.where(y > 0.5, "high", "low")
    model = TableClassifier(order=False).fit(X[:1300], labels[:1300])
    assert any(member.local is not None for member in model.members_)
    assert np.mean(model.predict(X[1300:]) == labels[1300:]) > 0.8


def test_a_damaged_local_model_is_refused() -> None:
    X = np.random.default_rng(0).uniform(size=(100, 2))
    cuts = grow(X, np.ones(2), 30, np.random.default_rng(0))
    tree = fit_tree(cuts, KERNEL, 0.3, Rows(X), X[:, :1], np.empty(0, dtype=np.intp), None)[0]
    tree._check_loaded()
    for change in (
        {"children": np.zeros_like(tree.children)},  # a circle
        {"children": tree.children - 50},
        {"starts": tree.starts[:-1]},
        {"starts": tree.starts[::-1].copy()},
    ):
        with pytest.raises(InputError, match="damaged"):
            replace(tree, **change)._check_loaded()
    model = LocalModel(X, (tree,))
    for damaged in (replace(model, X=X[:50]), replace(model, X=X[:, :1]), replace(model, trees=())):
        with pytest.raises(InputError, match="damaged"):
            damaged._check_loaded()
