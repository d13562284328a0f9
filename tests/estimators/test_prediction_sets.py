"""Coverage, contents and messages of sets of classes."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone

import mercer
from mercer.errors import InputError
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.prediction_sets import marginal_sets

K = mercer.Gaussian(1.0)
CLASSIFIERS = [
    mercer.KernelLogisticRegression(K),
    mercer.NearestMean(K),
    mercer.KernelKNeighborsClassifier(n_neighbors=15),
    mercer.GaussianProcessClassifier(4.0 * K, optimizer=None),
]


def drawn(n, seed):
    """Three overlapping classes of unequal size."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 2.0]])[y], np.array(["a", "b", "c"])[y]


X, Y = drawn(250, 0)
NEW, TRUE = drawn(1500, 1)
ROWS = drawn(400, 2)


def share(sets, classes, true=TRUE):
    return sets[np.arange(len(true)), np.searchsorted(classes, true)]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_every_classifier_with_probabilities(model, tmp_path):
    model = clone(model).fit(X[:150], Y[:150])
    sets = model.predict_set(NEW, 0.8)
    assert sets.shape == (1500, 3) and sets.dtype == bool
    assert (
        0.68 < share(sets, model.classes_).mean() < 0.95
    )  # approximate; shares of neighbors are often equal, and equal scores widen sets
    mercer.save(model, tmp_path / "m")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m").predict_set(NEW, 0.8), sets)


def test_support_vector_machines(tmp_path):
    two = mercer.SVC(K, random_state=0).fit(X, Y == "a")
    sets = two.predict_set(NEW, 0.8)
    assert 0.74 < share(sets, two.classes_, TRUE == "a").mean() < 0.86
    mercer.save(two, tmp_path / "m")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m").predict_set(NEW, 0.8), sets)
    three = mercer.SVC(K, random_state=0).fit(X, Y)
    assert 0.74 < share(three.predict_set(NEW, 0.8, calibration=ROWS), three.classes_).mean() < 0.86
    with pytest.raises(InputError, match=r"give rows that it has not seen: predict_set\(X, calibration=\(X, y\)\)"):
        three.predict_set(NEW, 0.8)


def test_the_set_is_that_of_the_definition():
    model = mercer.NearestMean(K).fit(X, Y)
    scores = 1.0 - model.predict_proba(ROWS[0])[np.arange(400), np.searchsorted(model.classes_, ROWS[1])]
    wanted = 1.0 - model.predict_proba(NEW) <= conformal_radius(scores, 0.9)
    np.testing.assert_array_equal(model.predict_set(NEW, 0.9, calibration=ROWS), wanted)


def test_coverage_over_splits_marginal_and_per_class(monkeypatch):
    """Averages over 200 splits of calibration and new rows: within one point, as the theory says."""
    model = mercer.NearestMean(K).fit(X, Y)
    A, b = drawn(4000, 5)
    P, codes = model.predict_proba(A), np.searchsorted(model.classes_, b)
    rng, all_rows, per_class = np.random.default_rng(0), [], []
    monkeypatch.setattr(model, "predict_proba", lambda rows: P[rows[:, 0].astype(int)])  # rows are numbers of rows here
    for _ in range(200):
        order = rng.permutation(len(A))[:, None].astype(float)
        part, new = order[:1000], order[1000:]
        known, true = (part, b[part[:, 0].astype(int)]), codes[new[:, 0].astype(int)]
        held = [
            model.predict_set(new, 0.9, method=m, calibration=known)[np.arange(3000), true] for m in ("marginal", "class")
        ]
        all_rows.append(held[0].mean())
        per_class.append([held[1][true == c].mean() for c in range(3)])
    print(f"marginal {np.mean(all_rows):.4f}, per class {np.mean(per_class, axis=0).round(4).tolist()} of 0.9 in 200 splits")
    assert abs(np.mean(all_rows) - 0.9) < 0.01
    assert np.abs(np.mean(per_class, axis=0) - 0.9).max() < 0.01


def test_local_sets_cover_near_every_point():
    model = mercer.KernelLogisticRegression(K).fit(X, Y)
    held = share(model.predict_set(NEW, 0.8, method="local", shift=mercer.Gaussian(1.0), calibration=ROWS), model.classes_)
    far = NEW[:, 1] > 1.5
    assert held.mean() > 0.75 and held[far].mean() > 0.6


def test_sets_of_a_table_model():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["u", "v"])
    model = mercer.TableClassifier(kernel=mercer.Gaussian(1.0)).fit(table, Y)
    sets = model.predict_set(pd.DataFrame(NEW, columns=["u", "v"]), 0.8)
    assert 0.7 < share(sets, model.classes_).mean() < 0.9
    P = model.predict_proba(pd.DataFrame(NEW, columns=["u", "v"]))
    np.testing.assert_array_equal(marginal_sets(model, P, 0.8), sets)


def test_messages():
    model = mercer.NearestMean(K).fit(X, Y)
    with pytest.raises(InputError, match=r"coverage 0.9 needs at least 9 calibration rows; got 5"):
        model.predict_set(NEW, calibration=(X[:5], Y[:5]))
    with pytest.raises(InputError, match=r"class 'c': coverage 0.99 needs at least 99 calibration rows"):
        model.predict_set(NEW, 0.99, method="class", calibration=_many(X, Y))
    with pytest.raises(InputError, match=r"the calibration label 'z' \(row 3\) is none of the classes"):
        model.predict_set(NEW, calibration=(X[:20], np.where(np.arange(20) == 3, "z", Y[:20])))
    with pytest.raises(InputError, match=r"pair \(X, y\)"):
        model.predict_set(NEW, calibration=X)
    with pytest.raises(InputError, match="method"):
        model.predict_set(NEW, method="adaptive")
    with pytest.raises(InputError, match='shift= is for method="local"'):
        model.predict_set(NEW, shift=K)
    with pytest.raises(InputError, match=r"does not keep the rows"):
        mercer.SVC(K).fit(X, Y == "a").predict_set(NEW, method="local")
    with pytest.raises(InputError, match="does not hold"):
        mercer.from_sklearn(svm.SVC().fit(X, Y)).predict_set(NEW)


def _many(X, Y):
    """Many rows of the classes a and b, few of c."""
    few = np.flatnonzero(Y == "c")[:5]
    rest = np.tile(np.flatnonzero(Y != "c"), 3)
    rows = np.concatenate([few, rest])
    return X[rows], Y[rows]
