"""The surface of support vector machines against a grid search that fits every point from nothing."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as Peer  # noqa: N811

from mercer import Gaussian
from mercer.errors import InputError
from mercer.estimators.svm import surface as svm_surface
from mercer.estimators.svm.model import SolverSettings
from mercer.estimators.svm.surface import Labeled, held_together, solve_path, surface
from mercer.grams.row_cache import KernelRows
from mercer.inputs import Rows
from mercer.selection.scoring import as_label_scoring
from mercer.selection.surface import PenaltyAxis, Surface, choose_point, cost_axis, merge, sample, statistics, tabulate

N = 240
CS = np.array([10.0, 0.3, 300.0])  # not sorted: the path is, the answer is not
SCALES = [4.0, 2.0, 2.0**0.5, 1.0, 0.3]
AXIS = PenaltyAxis("C", CS, larger_is_simpler=False)


def rows_of(classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def labeled(X: np.ndarray, y: np.ndarray, folds: int = 4) -> Labeled:
    classes, codes = np.unique(y, return_inverse=True)
    splits = tuple(StratifiedKFold(folds).split(X, y))
    return Labeled(Rows(X), codes, classes, lambda train: np.ones(len(train)), splits)


def compute(data: Labeled, scoring: object = None, budget: int = 2**30, scales: list[float] = SCALES) -> Surface:
    params = [{"length_scale": scale} for scale in scales]
    kernels = [Gaussian(scale) for scale in scales]
    scored = as_label_scoring(scoring, len(data.classes))
    settings = SolverSettings(tol=1e-5, memory=budget)
    return surface(params, kernels, data, AXIS, scored, settings, lambda done, total: None)


def search(data: Labeled, y: np.ndarray, scoring: object = None) -> np.ndarray:  # (scales, Cs)
    grid = {"gamma": [0.5 / scale**2 for scale in SCALES], "C": CS}
    found = GridSearchCV(Peer(tol=1e-5), grid, cv=data.splits, scoring=scoring).fit(data.rows.data, y)
    return found.cv_results_["mean_test_score"].reshape(len(CS), len(SCALES)).T


@pytest.mark.parametrize("budget", [2**30, 200_000], ids=["held", "rows on demand"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_scores_of_a_grid_search(rng: np.random.Generator, classes: int, budget: int) -> None:
    X, y = rows_of(classes, rng)
    data = labeled(X, y)
    found = compute(data, budget=budget)
    # a held-out row whose decision value is nearly 0 may fall on either side
    assert np.abs(found.scores - search(data, y)).max() <= 1.01 / N
    assert found.columns["converged"].all()
    assert found.split_scores.shape == (len(SCALES), len(CS), 4)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "roc_auc", "average_precision"])
def test_scores_of_labels_and_of_decision_values(rng: np.random.Generator, scoring: str) -> None:
    X, y = rows_of(2, rng)
    data = labeled(X, y)
    np.testing.assert_allclose(compute(data, scoring).scores, search(data, y, scoring), atol=0.01)


def test_a_function_as_score(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    data = labeled(X, y)

    def hits(labels: np.ndarray, predicted: np.ndarray) -> float:
        return float((labels == predicted).sum())

    np.testing.assert_allclose(compute(data, hits).scores, search(data, y, make_scorer(hits)), atol=0.5)


def test_squared_matrices_are_those_of_the_kernel(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 3))
    matrices = svm_surface._Matrices(Rows(X), 4, 1e-3)
    scale = 4.0
    for step in range(7):
        made = matrices.make(step % 4, Gaussian(scale))
        assert matrices.squared == step % (svm_surface.SQUARINGS + 1)
        np.testing.assert_allclose(made.store, Gaussian(scale)(X), rtol=4e-7)
        scale /= 2.0**0.5


def test_two_squarings_where_length_scales_are_halved(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 3))
    matrices = svm_surface._Matrices(Rows(X), 2, 1e-3)
    params = [{"length_scale": scale} for scale in (4.0, 2.0, 1.0, 0.7)]
    kernels = [Gaussian(**setting) for setting in params]
    for position, squared in enumerate([0, 2, 0, 0]):
        halfway = svm_surface._halfway(params, kernels, [0, 1, 2, 3], position)
        made = matrices.make(position % 2, kernels[position], halfway)
        assert matrices.squared == squared
        np.testing.assert_allclose(made.store, kernels[position](X), rtol=4e-7)


def test_widest_first_whatever_the_order(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    data = labeled(X, y)
    np.testing.assert_array_equal(compute(data).scores, compute(data, scales=SCALES[::-1]).scores[::-1])


def test_a_path_equals_fits_from_nothing(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    signs, rows = np.where(y == 1, 1.0, -1.0), KernelRows.held(Gaussian(0.5), X, dtype=np.float64)
    Cs = np.array([0.1, 1.0, 50.0, 1e3, 1e6])
    path = solve_path(rows, np.arange(N), signs, np.ones(N), Cs, SolverSettings(1e-6))
    for C, machine in zip(Cs, path, strict=True):
        [cold] = solve_path(rows, np.arange(N), signs, np.ones(N), np.array([C]), SolverSettings(1e-6))
        K = rows.store
        objective = [0.5 * m.coef @ K @ m.coef - np.abs(m.coef).sum() for m in (machine, cold)]
        assert objective[0] == pytest.approx(objective[1], rel=1e-7)
        np.testing.assert_allclose(K @ machine.coef + machine.intercept, K @ cold.coef + cold.intercept, atol=1e-3)
    assert path[-1].n_iter == 0  # at C = 1000 nothing touches the box any more


def test_weights_and_rows_of_weight_zero(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    weights = rng.integers(0, 3, N).astype(float)
    data = labeled(X, y)
    data = Labeled(Rows(X), data.codes, data.classes, lambda train: weights[train], data.splits)
    found = compute(data)
    for row, scale in enumerate(SCALES):
        for column, C in enumerate(CS):
            scores = []
            for train, test in data.splits:
                kept = train[weights[train] > 0]
                peer = Peer(C=C, gamma=0.5 / scale**2, tol=1e-5).fit(X[kept], y[kept], weights[kept])
                scores.append(peer.score(X[test], y[test]))
            assert found.scores[row, column] == pytest.approx(np.mean(scores), abs=1.01 / N)


def test_one_class_in_a_training_part_is_refused(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(20, 2)), np.repeat([0, 1], 10)
    splits = ((np.arange(10), np.arange(10, 20)),)
    with pytest.raises(InputError, match="split 0 of the cross-validation trains on one class only"):
        compute(Labeled(Rows(X), y, np.array([0, 1]), lambda train: np.ones(len(train)), splits))


def test_interrupting_ends_every_thread(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    params = [{"length_scale": scale} for scale in SCALES]

    def step(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels, scoring = [Gaussian(s) for s in SCALES], as_label_scoring(None, 2)
        surface(params, kernels, labeled(X, y), AXIS, scoring, SolverSettings(1e-5), step)


def small_surface(scores: list[list[float]], Cs: list[float]) -> Surface:
    values = np.array(scores)[:, :, None] + np.array([-0.01, 0.01])
    params = tuple({"length_scale": float(i + 1)} for i in range(len(values)))
    kernels = tuple(Gaussian(float(i + 1)) for i in range(len(values)))
    axis, columns = PenaltyAxis("C", np.array(Cs), False), {"mean_support_vectors": np.ones(values.shape[:2])}
    return Surface(
        params, kernels, axis, route="gram", scoring="accuracy", split_scores=values, columns=columns, **statistics(values)
    )


def test_the_choice() -> None:
    found = small_surface([[0.7, 0.9, 0.9], [0.6, 0.895, 0.9]], [100.0, 10.0, 1.0])
    assert choose_point(found) == (0, 2)  # equal scores: the smallest C
    # one standard error is 0.01
    assert choose_point(small_surface([[0.7, 0.9], [0.895, 0.6]], [1.0, 10.0]), "one_standard_error") == (1, 0)
    with pytest.raises(InputError, match="finite"):
        choose_point(small_surface([[np.nan]], [1.0]))


def test_the_table_and_two_surfaces_as_one() -> None:
    first, second = small_surface([[0.7, 0.9]], [1.0, 10.0]), small_surface([[0.9, 0.8]], [1.0, 10.0])
    table = tabulate(merge(first, second))
    assert table["rank_test_score"].tolist() == [4, 1, 1, 3]
    assert table["params"][2] == {"length_scale": 1.0, "C": 1.0}
    np.testing.assert_allclose(table["split1_test_score"], [0.71, 0.91, 0.91, 0.81])


def test_penalties_from_the_data(rng: np.random.Generator) -> None:
    rows = Rows(rng.normal(size=(200, 3)))
    ours = cost_axis(None, Gaussian(1.0), rows).values
    np.testing.assert_allclose(cost_axis(None, 4.0 * Gaussian(1.0), rows).values, ours / 4.0)
    for wrong in ([0.0], [], [np.inf], [-1.0, 1.0]):
        with pytest.raises(InputError, match="Cs must be finite numbers > 0"):
            cost_axis(wrong, Gaussian(1.0), rows)


def test_a_sample_keeps_its_splits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.selection.surface.SAMPLE", 100)
    X, y = rows_of(2, rng)
    whole = labeled(X, y)
    part = sample(whole)
    assert len(part.codes) == 100
    for (train, test), (all_train, all_test) in zip(part.splits, whole.splits, strict=True):
        assert len(train) + len(test) == 100
        assert {tuple(row) for row in part.rows.data[train]} <= {tuple(row) for row in X[all_train]}
        assert {tuple(row) for row in part.rows.data[test]} <= {tuple(row) for row in X[all_test]}
    np.testing.assert_array_equal(part.box(part.splits[0][0]), np.ones(len(part.splits[0][0])))


def test_how_many_matrices_at_once() -> None:
    assert held_together(1000, 10, 1e-3, 2**40) == svm_surface.TOGETHER
    assert held_together(1000, 2, 1e-3, 2**40) == 2
    assert held_together(1000, 10, 1e-3, 4_000_000) == 0


def test_scores_that_cannot_be_had() -> None:
    assert get_scorer("neg_log_loss") is not None
    with pytest.raises(InputError, match="needs probabilities"):
        as_label_scoring("neg_log_loss", 2)
    with pytest.raises(InputError, match="decision values of two classes"):
        as_label_scoring("roc_auc", 3)
    with pytest.raises(InputError, match="scoring"):
        as_label_scoring("no_such_score", 2)
    with pytest.raises(InputError, match="scoring must be None"):
        as_label_scoring(3.0, 2)
