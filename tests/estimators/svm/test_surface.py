"""The surface of support vector machines against a grid search that fits every point from nothing."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as Peer  # noqa: N811

from mercer import Gaussian
from mercer.errors import InputError
from mercer.estimators.svm import surface as svm_surface
from mercer.estimators.svm.grid import merge, read_penalties, sample, tabulate
from mercer.estimators.svm.path import Stop, solve_path
from mercer.estimators.svm.surface import Labeled, SVMSurface, choose, held_together, surface
from mercer.gram.row_cache import KernelRows
from mercer.selection.label_scoring import as_label_scoring

N = 240
CS = np.array([10.0, 0.3, 300.0])  # not sorted: the path is, the answer is not
SCALES = [4.0, 2.0, 2.0**0.5, 1.0, 0.3]
STOP = Stop(tol=1e-5)


def rows_of(classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def labeled(X: np.ndarray, y: np.ndarray, folds: int = 4) -> Labeled:
    classes, codes = np.unique(y, return_inverse=True)
    splits = tuple(StratifiedKFold(folds).split(X, y))
    return Labeled(X, codes, classes, lambda train: np.ones(len(train)), splits)


def compute(data: Labeled, scoring: object = None, budget: int = 2**30, scales: list[float] = SCALES) -> SVMSurface:
    params = [{"length_scale": scale} for scale in scales]
    kernels = [Gaussian(scale) for scale in scales]
    scored = as_label_scoring(scoring, len(data.classes))
    return surface(params, kernels, data, CS, scored, stop=STOP, budget=budget, step=lambda done, total: None)


def search(data: Labeled, y: np.ndarray, scoring: object = None) -> np.ndarray:  # (scales, Cs)
    grid = {"gamma": [0.5 / scale**2 for scale in SCALES], "C": CS}
    found = GridSearchCV(Peer(tol=1e-5), grid, cv=data.splits, scoring=scoring).fit(data.X, y)
    return found.cv_results_["mean_test_score"].reshape(len(CS), len(SCALES)).T


@pytest.mark.parametrize("budget", [2**30, 200_000], ids=["held", "rows on demand"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_scores_of_a_grid_search(rng: np.random.Generator, classes: int, budget: int) -> None:
    X, y = rows_of(classes, rng)
    data = labeled(X, y)
    found = compute(data, budget=budget)
    # a held-out row whose decision value is nearly 0 may fall on either side
    assert np.abs(found.scores - search(data, y)).max() <= 1.01 / N
    assert found.converged.all()
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
    matrices = svm_surface._Matrices(X, 50, 4, 1e-3)
    scale = 4.0
    for step in range(7):
        made = matrices.make(step % 4, Gaussian(scale))
        assert matrices.squared == step % (svm_surface.SQUARINGS + 1)
        np.testing.assert_allclose(made.store, Gaussian(scale)(X), rtol=4e-7)
        scale /= 2.0**0.5


def test_two_squarings_where_length_scales_are_halved(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 3))
    matrices = svm_surface._Matrices(X, 50, 2, 1e-3)
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
    path = solve_path(rows, np.arange(N), signs, np.ones(N), Cs, Stop(1e-6))
    for C, machine in zip(Cs, path, strict=True):
        [cold] = solve_path(rows, np.arange(N), signs, np.ones(N), np.array([C]), Stop(1e-6))
        K = rows.store
        objective = [0.5 * m.coef @ K @ m.coef - np.abs(m.coef).sum() for m in (machine, cold)]
        assert objective[0] == pytest.approx(objective[1], rel=1e-7)
        np.testing.assert_allclose(K @ machine.coef - machine.offset, K @ cold.coef - cold.offset, atol=1e-3)
    assert path[-1].n_iter == 0  # at C = 1000 nothing touches the box any more


def test_weights_and_rows_of_weight_zero(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    weights = rng.integers(0, 3, N).astype(float)
    data = labeled(X, y)
    data = Labeled(X, data.codes, data.classes, lambda train: weights[train], data.splits)
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
        compute(Labeled(X, y, np.array([0, 1]), lambda train: np.ones(len(train)), splits))


def test_interrupting_ends_every_thread(rng: np.random.Generator) -> None:
    X, y = rows_of(2, rng)
    params = [{"length_scale": scale} for scale in SCALES]

    def step(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        surface(params, [Gaussian(s) for s in SCALES], labeled(X, y), CS, as_label_scoring(None, 2), stop=STOP,
                budget=2**30, step=step)  # fmt: skip


def small_surface(scores: list[list[float]], Cs: list[float]) -> SVMSurface:
    values = np.array(scores)[:, :, None] + np.array([-0.01, 0.01])
    ones = np.ones(values.shape[:2])
    params = tuple({"length_scale": float(i + 1)} for i in range(len(values)))
    kernels = tuple(Gaussian(float(i + 1)) for i in range(len(values)))
    return SVMSurface(params, kernels, np.array(Cs), values, ones, ones.astype(int), ones > 0, "accuracy")


def test_the_choice() -> None:
    found = small_surface([[0.7, 0.9, 0.9], [0.6, 0.895, 0.9]], [100.0, 10.0, 1.0])
    assert choose(found) == (0, 2)  # equal scores: the smallest C
    # one standard error is 0.01
    assert choose(small_surface([[0.7, 0.9], [0.895, 0.6]], [1.0, 10.0]), "one_standard_error") == (1, 0)
    with pytest.raises(InputError, match="finite"):
        choose(small_surface([[np.nan]], [1.0]))


def test_the_table_and_two_surfaces_as_one() -> None:
    first, second = small_surface([[0.7, 0.9]], [1.0, 10.0]), small_surface([[0.9, 0.8]], [1.0, 10.0])
    table = tabulate(merge(first, second))
    assert table["rank_test_score"].tolist() == [4, 1, 1, 3]
    assert table["params"][2] == {"length_scale": 1.0, "C": 1.0}
    np.testing.assert_allclose(table["split1_test_score"], [0.71, 0.91, 0.91, 0.81])


def test_penalties_from_the_data(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 3))
    ours = read_penalties(None, Gaussian(1.0), X)
    np.testing.assert_allclose(read_penalties(None, 4.0 * Gaussian(1.0), X), ours / 4.0)
    for wrong in ([0.0], [], [np.inf], [-1.0, 1.0]):
        with pytest.raises(InputError, match="Cs must be finite numbers > 0"):
            read_penalties(wrong, Gaussian(1.0), X)


def test_a_sample_keeps_its_splits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.estimators.svm.grid.SAMPLE", 100)
    X, y = rows_of(2, rng)
    whole = labeled(X, y)
    part = sample(whole)
    assert len(part.codes) == 100
    for (train, test), (all_train, all_test) in zip(part.splits, whole.splits, strict=True):
        assert len(train) + len(test) == 100
        assert {tuple(row) for row in part.X[train]} <= {tuple(row) for row in X[all_train]}
        assert {tuple(row) for row in part.X[test]} <= {tuple(row) for row in X[all_test]}
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
