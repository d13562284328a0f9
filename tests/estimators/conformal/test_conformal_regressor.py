"""Coverage, widths, inputs and messages of local intervals."""

import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

import mercer
from mercer.errors import InputError
from mercer.estimators.local_intervals import PENALTIES, calibrate, choose_penalty


def noisy(n, seed):
    """The noise grows with x from 0.2 to 2.2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, (n, 1))
    return X, np.sin(X[:, 0]) + (0.2 + 0.5 * X[:, 0]) * rng.normal(size=n)


X, Y = noisy(400, 0)
NEW, Y_NEW = noisy(800, 1)
LINE = LinearRegression().fit(*noisy(200, 2))
SHIFT = mercer.Gaussian(0.7)


def fifths(interval, x=NEW, y=Y_NEW):
    inside = (interval[:, 0] <= y) & (y <= interval[:, 1])
    return np.array([part.mean() for part in np.array_split(inside[np.argsort(x[:, 0])], 5)])


def test_local_intervals_cover_in_every_fifth_and_marginal_ones_do_not():
    local = fifths(mercer.ConformalRegressor(LINE, SHIFT).fit(X, Y).predict_interval(NEW))
    marginal = fifths(mercer.ConformalRegressor(LINE).fit(X, Y).predict_interval(NEW))
    assert local.min() > 0.8 and marginal.min() < 0.78 and np.ptp(local) < np.ptp(marginal) - 0.05
    assert abs(local.mean() - 0.9) < 0.03 and abs(marginal.mean() - 0.9) < 0.03


def test_coverage_over_all_rows_is_at_least_the_requested_one_for_any_kernel():
    """Averages over draws: the exact statement of the method, with few rows and a bad penalty."""
    inside = []
    for seed in range(40):
        A, b = noisy(40, 100 + seed)
        new, target = noisy(40, 1000 + seed)
        model = mercer.ConformalRegressor(LINE, mercer.Gaussian(0.3), penalty=0.01).fit(A, b)
        found = model.predict_interval(new, 0.8)
        inside.append(np.mean((found[:, 0] <= target) & (target <= found[:, 1])))
    error = np.std(inside) / np.sqrt(len(inside))
    assert np.mean(inside) > 0.8 - 3 * error


def test_randomized_ends_cover_exactly():
    inside, wide = [], []
    for seed in range(40):
        A, b = noisy(40, 100 + seed)
        new, target = noisy(40, 1000 + seed)
        model = mercer.ConformalRegressor(LINE, mercer.Gaussian(0.5), penalty=0.03, random_state=seed).fit(A, b)
        found = model.predict_interval(new, 0.8)
        inside.append(np.mean((found[:, 0] <= target) & (target <= found[:, 1])))
        wide.append(
            np.mean(
                mercer.ConformalRegressor(LINE, mercer.Gaussian(0.5), penalty=0.03)
                .fit(A, b)
                .predict_interval(new, 0.8)[:, 1]
                >= found[:, 1] - 1e-9
            )
        )
    error = np.std(inside) / np.sqrt(len(inside))
    assert abs(np.mean(inside) - 0.8) < 4 * error
    assert np.mean(wide) == 1.0  # the conservative interval contains the randomized one


def test_groups_are_guarded_by_a_kernel_on_their_column():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=3000), "group": rng.choice(["a", "b"], 3000, p=[0.9, 0.1])})
    y = table["x"] + np.where(table["group"] == "b", 3.0, 1.0) * rng.normal(size=3000)

    class ByX:
        def predict(self, frame):
            return frame["x"].to_numpy()

    model = mercer.ConformalRegressor(ByX(), mercer.Categorical().on("group"), penalty=0.001)
    found = model.fit(table[:800], y[:800]).predict_interval(table[800:])
    inside = (found[:, 0] <= y[800:]) & (y[800:] <= found[:, 1])
    shares = inside.groupby(table["group"][800:]).mean()
    assert shares.min() > 0.86 and shares.max() < 0.95


def test_the_estimated_gap_is_that_of_the_penalty():
    """With a large penalty hardly anything varies: intervals are too wide on the left and too narrow on the right."""
    model = mercer.ConformalRegressor(LINE, SHIFT, penalty=3.0).fit(X, Y)
    gap = model.coverage_gap(np.array([[0.2], [3.8]]))
    assert gap[0] > 0.05 and gap[1] < -0.05
    freer = mercer.ConformalRegressor(LINE, SHIFT, penalty=0.003).fit(X, Y)
    assert np.abs(freer.coverage_gap(np.array([[0.2], [3.8]]))).max() < 0.03


def test_any_regressor_and_save(tmp_path):
    forest = RandomForestRegressor(10, random_state=0).fit(*noisy(200, 2))
    found = mercer.ConformalRegressor(forest, SHIFT).fit(X, Y).predict_interval(NEW[:5])
    assert found.shape == (5, 2) and (found[:, 0] < found[:, 1]).all()
    ridge = mercer.KernelRidge(alpha=0.1).fit(*noisy(200, 2))
    model = mercer.ConformalRegressor(ridge, SHIFT).fit(X, Y)
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_interval(NEW[:20]), model.predict_interval(NEW[:20]))
    np.testing.assert_array_equal(again.predict(NEW), ridge.predict(NEW))


def test_models_read_from_scikit_learn_get_intervals():
    from sklearn.kernel_ridge import KernelRidge

    model = mercer.from_sklearn(KernelRidge(kernel="rbf", gamma=0.5).fit(*noisy(200, 2)))
    assert 0.86 < fifths(mercer.ConformalRegressor(model, SHIFT).fit(X, Y).predict_interval(NEW)).mean() < 0.95


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.3),
        mercer.KernelRidgeCV(mercer.Gaussian(1.0), alphas=[0.1, 1.0], length_scales=[1.0]),
        mercer.GaussianProcessRegressor(mercer.Gaussian(1.0), noise=1.0, optimizer=None),
        mercer.SVR(mercer.Gaussian(1.0)),
        mercer.NuSVR(mercer.Gaussian(1.0)),
        mercer.KernelKNeighborsRegressor(n_neighbors=30),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_regressor_has_local_intervals(model, tmp_path):
    model = clone(model).fit(X, Y)
    found = model.predict_interval(NEW, method="local", shift=SHIFT)
    own = fifths(found)
    assert own.min() > 0.78 and abs(own.mean() - 0.9) < 0.05
    assert np.ptp(own) < np.ptp(fifths(model.predict_interval(NEW)))
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m").predict_interval(NEW[:9], method="local", shift=SHIFT)
    np.testing.assert_allclose(again, found[:9], rtol=1e-9)


def test_the_kernel_of_the_model_is_the_default_shift():
    model = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.3).fit(X[:90], Y[:90])
    own = model.predict_interval(NEW[:3], method="local", shift=mercer.Gaussian(1.0))
    np.testing.assert_array_equal(model.predict_interval(NEW[:3], method="local"), own)


def test_several_targets():
    Y2 = np.column_stack([Y, -Y])
    model = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.3).fit(X, Y2)
    found = model.predict_interval(NEW[:7], method="local", shift=SHIFT)
    assert found.shape == (7, 2, 2)
    np.testing.assert_allclose(found[:, :, 0], -found[:, ::-1, 1], atol=1e-8)


def test_the_penalty_is_chosen_on_rows_that_do_not_calibrate():
    scores = np.abs(Y - LINE.predict(X))
    found = calibrate(SHIFT, X, scores, "auto", 0.9, outside=True)
    assert found.chosen_on == 100 and len(found.scores) == 300
    assert np.isclose(found.penalty / np.sqrt(100 / 300), PENALTIES).any()
    given = calibrate(SHIFT, X, scores, 0.2, 0.9, outside=True)
    assert given.penalty == 0.2 and given.chosen_on == 0 and len(given.scores) == 400
    flat = np.abs(np.random.default_rng(0).normal(size=250))
    assert choose_penalty(SHIFT, X[:250], flat, 0.9) >= choose_penalty(SHIFT, X[:250], scores[:250] ** 2, 0.9)


def test_threads_share_a_model():
    model = mercer.ConformalRegressor(LINE, SHIFT, penalty=0.1).fit(X, Y)
    alone = model.predict_interval(NEW[:60])
    results = [None] * 4

    def ask(i):
        results[i] = model.predict_interval(NEW[:60])

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in results:
        np.testing.assert_array_equal(found, alone)


def test_messages():
    with pytest.raises(InputError, match=r"coverage 0.9 needs at least 9 calibration rows; got 8"):
        mercer.ConformalRegressor(LINE).fit(X[:8], Y[:8]).predict_interval(NEW)
    with pytest.raises(InputError, match=r"coverage 0.99 needs at least 99 calibration rows; got 20"):
        mercer.ConformalRegressor(LINE, SHIFT).fit(X[:20], Y[:20]).predict_interval(NEW, 0.99)
    with pytest.raises(InputError, match=r"after choosing the penalty: coverage 0.99 needs at least 99"):
        mercer.ConformalRegressor(LINE, SHIFT).fit(X[:110], Y[:110]).predict_interval(NEW, 0.99)
    with pytest.raises(InputError, match=r"LinearRegression is not fitted"):
        mercer.ConformalRegressor(LinearRegression()).fit(X, Y)
    with pytest.raises(InputError, match="takes a regressor; got LogisticRegression"):
        mercer.ConformalRegressor(LogisticRegression()).fit(X, Y)
    with pytest.raises(InputError, match="must have predict"):
        mercer.ConformalRegressor(3).fit(X, Y)
    with pytest.raises(InputError, match="one target at a time"):
        mercer.ConformalRegressor(LINE).fit(X, np.column_stack([Y, Y]))
    for coverage, shown in ((90, "got 90"), (1.0, "got 1"), ("0.9", "got str '0.9'"), (True, "got")):
        with pytest.raises(InputError, match=f"coverage must be between 0 and 1, such as 0.9; {shown}"):
            mercer.ConformalRegressor(LINE).fit(X, Y).predict_interval(NEW, coverage)
    with pytest.raises(NotFittedError):
        mercer.ConformalRegressor(LINE).predict_interval(NEW)
    with pytest.raises(InputError, match="needs shift="):
        mercer.ConformalRegressor(LINE).fit(X, Y).predict_interval(NEW, method="local")
    with pytest.raises(InputError, match="Precomputed"):
        mercer.ConformalRegressor(LINE, mercer.Precomputed()).fit(X, Y).predict_interval(NEW)
    for penalty in (0.0, "much", -1.0):
        with pytest.raises(InputError, match="penalty must be"):
            mercer.ConformalRegressor(LINE, SHIFT, penalty=penalty).fit(X, Y).predict_interval(NEW)
    with pytest.raises(InputError, match='shift= is for method="local"'):
        mercer.KernelRidge().fit(X, Y).predict_interval(NEW, shift=SHIFT)
    with pytest.raises(InputError, match='"local"'):
        mercer.SVR().fit(X, Y).predict_interval(NEW, method="jackknife")
    with pytest.raises(InputError, match='"normal" or "local"'):
        mercer.GaussianProcessRegressor(noise=1.0, optimizer=None).fit(X, Y).predict_interval(NEW, method="cv")


class Told:
    """A model that predicts what it was told."""

    def __init__(self, values):
        self.values = values

    def predict(self, X):
        return np.broadcast_to(self.values, (len(X),) if np.ndim(self.values) < 1 else np.shape(self.values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.nan, f"for each of the {len(Y)} calibration rows; .* of which that of row 0 is nan"),
        (np.zeros(3), "got 3 predictions"),
        (np.zeros((len(Y), 2)), "one target at a time"),
    ],
)
def test_predictions_that_cannot_be_calibrated(values, message):
    with pytest.raises(InputError, match=message):
        mercer.ConformalRegressor(Told(values)).fit(X, Y)


def test_a_model_without_errors_has_intervals_of_width_zero():
    for shift in (None, SHIFT):
        found = mercer.ConformalRegressor(Told(2.0), shift).fit(X, np.full(len(X), 2.0)).predict_interval(NEW)
        np.testing.assert_array_equal(found, 2.0)


def test_parameters_and_clone():
    model = mercer.ConformalRegressor(LINE, SHIFT, penalty=0.5, random_state=3)
    assert model.get_params(deep=False) == {"estimator": LINE, "shift": SHIFT, "penalty": 0.5, "random_state": 3}
    assert clone(model).get_params()["penalty"] == 0.5


def test_a_clone_keeps_the_fitted_estimator():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    ridge = mercer.KernelRidge(mercer.Gaussian(1.0)).fit(X[:30], y[:30])
    model = mercer.ConformalRegressor(ridge).fit(X[30:], y[30:])
    copy = clone(model)
    assert copy.estimator is ridge and "scores_" not in vars(copy)
    np.testing.assert_array_equal(copy.fit(X[30:], y[30:]).predict_interval(X), model.predict_interval(X))
