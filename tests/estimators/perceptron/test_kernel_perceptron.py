"""KernelPerceptron: its forms make the mistakes of the plain loop, and every inequality of Novikoff's proof holds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer.errors import InputError
from mercer.estimators.perceptron.fit import PATIENCE, TOL
from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron
from mercer.estimators.perceptron.min_norm import min_norm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FORMS = ("gram", "blocked", "online")


def plain(K, y, orders, zero=0.0):
    """The lectures' loop: a count per row, one example after the other. Returns the mistakes, times and scores."""
    counts, mistakes, times, scores, time = np.zeros(len(y)), [], [], [], 0
    for order in orders:
        wrong = 0
        for i in order:
            time += 1
            score = float(sum(counts[j] * y[j] * K[j, i] for j in np.flatnonzero(counts)))
            if y[i] * score <= zero:
                counts[i] += 1
                mistakes.append(i)
                times.append(time)
                scores.append(score)
                wrong += 1
        if wrong == 0:
            break
    return np.array(mistakes, dtype=int), counts, np.array(times), np.array(scores), time


def orders_of(seed, n, epochs):
    random = np.random.RandomState(seed)
    return [random.permutation(n) for _ in range(epochs)]


def plain_voted(K, y, mistakes, times, total, new):
    votes, score = np.zeros(len(new)), np.zeros(len(new))
    ends = np.append(times[1:], total + 1)
    for i, start, end in zip(mistakes, times, ends, strict=True):
        score += y[i] * new[:, i]
        votes += (end - start) * np.where(score > 0, 1, -1)
    return votes / total


@pytest.mark.parametrize("solver", ["primal", *FORMS])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_forms_make_the_mistakes_of_the_plain_loop(solver, shuffle, fit_intercept, rng):
    X = rng.integers(-3, 4, size=(700, 3)).astype(float)  # whole numbers: every sum is exact, ties included
    y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=700) > 0, 1.0, -1.0)
    k = mercer.Polynomial(degree=2, offset=1.0)
    epochs = orders_of(3, 700, 4) if shuffle else [np.arange(700)] * 4
    mistakes, counts, *_ = plain(k(X) + fit_intercept, y, epochs)
    model = KernelPerceptron(k, max_iter=4, solver=solver, shuffle=shuffle, random_state=3, fit_intercept=fit_intercept).fit(
        X, y
    )
    assert model.route_.solver == solver
    assert np.array_equal(model.mistakes_, mistakes)
    assert np.array_equal(model.dual_coef_, counts * y)


@pytest.mark.parametrize("kernel", [mercer.Linear(), mercer.Bilinear(np.diag([1.0, 2.0, 3.0]))], ids=str)
def test_the_primal_form_is_exact_too(kernel, rng):
    X = rng.integers(-3, 4, size=(400, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] + 2 * rng.normal(size=400) > 0, 1.0, -1.0)
    runs = [KernelPerceptron(kernel, max_iter=5, solver=s, random_state=0).fit(X, y).mistakes_ for s in ("primal", *FORMS)]
    assert all(np.array_equal(runs[0], other) for other in runs[1:])


@pytest.mark.parametrize(
    "kernel", [mercer.Gaussian(1.0), mercer.Laplacian(2.0), mercer.Gaussian(0.5) * mercer.Linear()], ids=str
)
def test_real_valued_kernels(kernel, rng):
    X = rng.normal(size=(600, 3))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=600) > 0, 1.0, -1.0)
    zero = 1e-10 * float(kernel.diag(X).max())
    mistakes, counts, times, scores, total = plain(kernel(X), y, orders_of(1, 600, 3), zero)
    new = rng.normal(size=(20, 3))
    for solver in FORMS:
        model = KernelPerceptron(kernel, max_iter=3, solver=solver, random_state=1).fit(X, y)
        assert np.array_equal(model.mistakes_, mistakes)
    average = np.zeros(600)
    np.add.at(average, mistakes, y[mistakes] * (total - times + 1) / total)
    assert np.allclose(model.average_coef_, average, atol=1e-12)
    assert np.allclose(model.decision_function(new), kernel(new, X) @ average, atol=1e-9)
    last = KernelPerceptron(kernel, max_iter=3, random_state=1, average=False).fit(X, y)
    assert np.allclose(last.decision_function(new), kernel(new, X) @ (counts * y), atol=1e-9)
    voted = KernelPerceptron(kernel, max_iter=3, random_state=1, average="voted").fit(X, y)
    assert np.allclose(
        voted.decision_function(new), plain_voted(None, y, mistakes, times, total, kernel(new, X)), atol=1e-12
    )
    norms = np.cumsum(2 * y[mistakes] * scores + kernel.diag(X)[mistakes])
    assert np.allclose(model.weight_norms_**2, norms, rtol=1e-9)


def test_repeated_rows_with_both_labels(rng):
    """Scores that are zero but for rounding are mistakes in every form."""
    X = rng.integers(0, 2, size=(500, 4)).astype(float)
    y = rng.choice([-1.0, 1.0], size=500)
    runs = [KernelPerceptron(mercer.Gaussian(1.3), max_iter=6, solver=s, random_state=0).fit(X, y).mistakes_ for s in FORMS]
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


def test_blocks_do_not_show(rng, monkeypatch):
    from mercer.estimators.perceptron import weight_forms as perceptron_forms

    X, y = rng.normal(size=(300, 2)), rng.choice([-1, 1], size=300)
    reference = KernelPerceptron(mercer.Gaussian(0.5), max_iter=3, solver="blocked", random_state=0).fit(X, y).mistakes_
    for size in (1, 7, 1000):
        monkeypatch.setattr(perceptron_forms, "BLOCK_ROWS", size)
        again = KernelPerceptron(mercer.Gaussian(0.5), max_iter=3, solver="blocked", random_state=0, memory=40_000_000)
        assert np.array_equal(again.fit(X, y).mistakes_, reference)


def random_kernel(seed):
    random = np.random.default_rng(seed)
    pieces = [
        mercer.Linear(),
        mercer.Polynomial(degree=2, offset=float(random.uniform(0.1, 2))),
        mercer.Gaussian(float(random.uniform(0.3, 3))),
        mercer.Laplacian(float(random.uniform(0.5, 3))),
        mercer.Matern(nu=1.5, length_scale=float(random.uniform(0.5, 2))),
    ]
    a, b = random.choice(len(pieces), size=2)
    return [pieces[a], pieces[a] + pieces[b], pieces[a] * pieces[b], 2.0 * pieces[a], pieces[a].normalized()][
        random.integers(5)
    ]


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 4), intercept=st.booleans())
@settings(max_examples=60)
def test_novikoff_holds_at_every_update(seed, n, d, intercept):
    random = np.random.default_rng(seed)
    X, kernel = random.normal(size=(n, d)), random_kernel(seed)
    y = np.where(X[:, 0] + 0.3 * X[:, -1] > random.normal() * 0.3, 1.0, -1.0)
    if len(np.unique(y)) < 2:
        y[0] = -y[0]
    Q = (kernel(X) + intercept) * y[:, None] * y[None, :]
    hard = min_norm(lambda i: Q[:, i], np.diagonal(Q).copy(), max_iter=4000)
    model = KernelPerceptron(kernel, random_state=seed, fit_intercept=intercept, margin="hard").fit(X, y)
    t, R = np.arange(1, model.n_updates_ + 1), model.radius_
    assert pytest.approx(np.sqrt(np.diagonal(Q).max())) == R
    assert (model.weight_norms_**2 <= t * R**2 * (1 + 1e-9)).all()
    assert (model.weight_norms_ >= t * hard.margin * (1 - 1e-6)).all()
    if model.converged_:
        assert 0 < model.margin_ <= hard.norm * (1 + 1e-6)
        assert model.n_updates_ <= model.novikoff_bound_ * (1 + 1e-6)
        assert np.abs(model.dual_coef_).max() <= model.novikoff_bound_ * (1 + 1e-6)
        assert np.isfinite(model.novikoff_bound_)
    else:
        assert model.novikoff_bound_ == np.inf
        assert hard.margin < 0.05 * R  # a comfortable margin is always found


def test_the_hard_margin_makes_the_bound_no_larger(rng):
    X = rng.normal(size=(80, 2))
    y = np.where(X @ [1.0, 2.0] > 0, "up", "down")
    X += 0.2 * np.where(y == "up", 1, -1)[:, None]
    reached = KernelPerceptron(mercer.Linear(), random_state=0).fit(X, y)
    hard = KernelPerceptron(mercer.Linear(), random_state=0, margin="hard").fit(X, y)
    assert hard.n_updates_ == reached.n_updates_ <= hard.novikoff_bound_ <= reached.novikoff_bound_
    assert "Novikoff" in str(hard.ledger_) and "largest possible" in str(hard)


def test_min_norm_is_the_hard_margin_of_the_svm(rng):
    """Against a hard-margin SVM through the origin, by a general solver of the dual: min a'Qa - 2 sum a, a >= 0."""
    from scipy.optimize import minimize

    X = rng.normal(size=(25, 3))
    y = np.sign(X @ [1.0, -1.0, 0.5])
    Q = (X @ X.T) * np.outer(y, y)
    found = min_norm(lambda i: Q[:, i], np.diagonal(Q).copy())
    dual = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(25),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, None)] * 25,
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10},
    )
    assert found.norm == pytest.approx(1 / np.sqrt(2 * -dual.fun), rel=1e-4)
    assert found.margin == pytest.approx(found.norm, rel=1e-6) and found.separable is True


@pytest.mark.parametrize("repeat", [True, False])
def test_a_run_that_cannot_end_says_why(repeat, rng):
    if repeat:
        X, y = np.vstack([rng.normal(size=(20, 2)), [[9.0, 9.0], [9.0, 9.0]]]), np.append(np.ones(20), [-1.0, 1.0])
        y[:10] = -1
        kernel = mercer.Gaussian(1.0)
    else:
        X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
        kernel = mercer.Linear()  # type: ignore[assignment]  # exclusive or
    with pytest.warns(ConvergenceWarning, match="not separable") as said:
        model = KernelPerceptron(kernel, random_state=0).fit(X, y)
    a, Z = model.certificate_, kernel(X) * np.outer(y, y)
    assert a.min() >= 0 and a.sum() == pytest.approx(1.0)
    assert np.sqrt(max(a @ Z @ a, 0.0)) <= 1e-6 * model.radius_
    assert not model.converged_ and model.novikoff_bound_ == np.inf and model.n_iter_ < 1000
    assert "certificate_" in str(said[0].message)


def test_without_a_proof_nothing_is_claimed(rng):
    X, y = rng.normal(size=(60, 2)), rng.choice([0, 1], size=60)
    with pytest.warns(ConvergenceWarning, match="not converged in 3 epochs"):
        model = KernelPerceptron(mercer.Gaussian(0.5), max_iter=3, random_state=0).fit(X, y)
    assert model.certificate_ is None and model.n_iter_ == 3


def test_many_classes_are_one_against_the_rest(rng):
    X, y = rng.normal(size=(150, 2)), np.array(["a", "b", "c"])[rng.integers(0, 3, size=150)]
    X += 2.0 * np.array([[0, 0], [1, 0], [0, 1]])[np.searchsorted(["a", "b", "c"], y)]
    k = mercer.Gaussian(1.0)
    for solver in FORMS:
        model = KernelPerceptron(k, random_state=5, solver=solver, max_iter=30).fit(X, y)
        for c, label in enumerate("abc"):
            alone = KernelPerceptron(k, random_state=5, solver=solver, max_iter=30).fit(X, y == label)
            assert np.array_equal(model.mistakes_[c], alone.mistakes_)
            assert np.allclose(model.decision_function(X)[:, c], alone.decision_function(X), atol=1e-9)
            assert model.novikoff_bound_[c] == pytest.approx(alone.novikoff_bound_)
    voted = KernelPerceptron(k, random_state=5, max_iter=30, average="voted").fit(X, y)
    assert voted.decision_function(X).shape == (150, 3) and voted.score(X, y) > 0.7


@pytest.mark.parametrize("average", [True, False, "voted"])
@pytest.mark.parametrize("labels", [2, 3])
def test_batches_make_the_mistakes_of_one_pass(average, labels, rng):
    X, y = rng.normal(size=(400, 3)), rng.integers(0, labels, size=400)
    X[:, 0] += y
    k, new = mercer.Gaussian(1.0), rng.normal(size=(11, 3))
    whole = KernelPerceptron(k, shuffle=False, max_iter=1, average=average, fit_intercept=True).fit(X, y)
    stream = KernelPerceptron(k, average=average, fit_intercept=True)
    for part in np.split(np.arange(400), [1, 30, 31, 200]):
        stream.partial_fit(X[part], y[part], classes=np.arange(labels))
    lists = (stream.mistakes_, whole.mistakes_) if labels == 3 else ([stream.mistakes_], [whole.mistakes_])
    assert all(np.array_equal(a, b) for a, b in zip(*lists, strict=True))
    assert np.allclose(stream.decision_function(new), whole.decision_function(new), atol=1e-9)
    assert len(stream.X_fit_) == len(stream.support_) < 400 and stream.n_seen_ == 400
    assert np.allclose(X[stream.support_], stream.X_fit_)
    ours, theirs = (m.weight_norms_ if labels == 2 else np.concatenate(m.weight_norms_) for m in (stream, whole))
    assert np.allclose(ours, theirs)


def test_a_stream_may_go_on_after_a_fit(rng):
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, size=200)
    k = mercer.Gaussian(0.7)
    model = KernelPerceptron(k, shuffle=False, max_iter=1).fit(X[:120], y[:120]).partial_fit(X[120:], y[120:])
    whole = KernelPerceptron(k, shuffle=False, max_iter=1).fit(X, y)
    assert np.array_equal(model.mistakes_, whole.mistakes_)
    assert np.allclose(model.decision_function(X), whole.decision_function(X))


def plain_budget(K, y, order, budget, policy):
    """The slow twin: a list of held rows and their coefficients."""
    held, alpha, mistakes, total = [], {}, [], np.zeros(len(y))
    for i in order:
        score = sum(alpha[j] * K[j, i] for j in held)
        if y[i] * score <= 1e-10:
            mistakes.append(i)
            if i in alpha:
                alpha[i] += y[i]
            elif len(held) < budget:
                held.append(i)
                alpha[i] = y[i]
            elif policy == "removal":
                gone = held.pop(0)
                del alpha[gone]
                total[gone] = 0.0
                held.append(i)
                alpha[i] = y[i]
            else:
                move = np.linalg.pinv(K[np.ix_(held, held)], hermitian=True) @ K[held, i]
                for j, value in zip(held, move, strict=True):
                    alpha[j] += y[i] * value
        for j in held:
            total[j] += alpha[j]
    last = np.zeros(len(y))
    for j in held:
        last[j] = alpha[j]
    return np.array(mistakes), last, total / len(order)


@pytest.mark.parametrize("policy", ["projection", "removal"])
@pytest.mark.parametrize("budget", [1, 5, 40, 1000])
def test_a_budget_is_kept(policy, budget, rng):
    X = rng.normal(size=(300, 2))
    y = np.where(np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    k = mercer.Gaussian(0.6)
    mistakes, last, average = plain_budget(k(X), y, np.arange(300), budget, policy)
    model = KernelPerceptron(k, budget=budget, budget_policy=policy, shuffle=False, max_iter=1).fit(X, y)
    assert np.array_equal(model.mistakes_, mistakes)
    assert len(model.support_) <= budget
    assert np.allclose(model.dual_coef_, last, atol=1e-6)
    assert np.allclose(model.average_coef_, average, atol=1e-6)
    stream = KernelPerceptron(k, budget=budget, budget_policy=policy)
    for part in np.array_split(np.arange(300), 4):
        stream.partial_fit(X[part], y[part], classes=[-1, 1])
    assert np.array_equal(stream.mistakes_, mistakes)
    assert np.allclose(stream.decision_function(X), model.decision_function(X), atol=1e-6)
    if budget == 1000:
        free = KernelPerceptron(k, shuffle=False, max_iter=1).fit(X, y)
        assert np.array_equal(free.mistakes_, mistakes)


def test_a_budget_ends_the_theorem(rng):
    X, y = rng.normal(size=(100, 2)), rng.choice([-1, 1], size=100)
    model = KernelPerceptron(mercer.Gaussian(0.5), budget=3, budget_policy="removal", max_iter=5, random_state=0).fit(X, y)
    assert model.novikoff_bound_ == np.inf and len(model.support_) <= 3


def test_strings_graphs_tables_and_precomputed(rng):
    words, y = ["banana", "bandana", "cabana", "kiwi", "kiwano", "kiwis"], ["b"] * 3 + ["k"] * 3
    model = KernelPerceptron(mercer.Spectrum(p=2), random_state=0).fit(words, y)
    assert model.predict(["bananas", "kiwic"]).tolist() == ["b", "k"] and model.converged_
    stream = KernelPerceptron(mercer.Spectrum(p=2)).partial_fit(words[:4], y[:4]).partial_fit(words[4:], y[4:])
    assert stream.predict(words).tolist() == y
    graphs = [mercer.Graph(n, [], node_labels=[label] * n) for n, label in [(3, 0), (4, 0), (3, 1), (5, 1)]]
    assert KernelPerceptron(mercer.VertexHistogram()).fit(graphs, [0, 0, 1, 1]).score(graphs, [0, 0, 1, 1]) == 1.0
    table = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]})
    assert KernelPerceptron(mercer.Gaussian(1.0).on("x")).fit(table, [0, 0, 1, 1]).predict(table).tolist() == [0, 0, 1, 1]
    X, labels = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    k = mercer.Gaussian(0.5)
    direct = KernelPerceptron(k, random_state=0, max_iter=5).fit(X, labels)
    for solver in FORMS:
        given_values = KernelPerceptron(mercer.Precomputed(), random_state=0, max_iter=5, solver=solver).fit(k(X), labels)
        assert np.array_equal(given_values.mistakes_, direct.mistakes_)
        assert np.allclose(given_values.decision_function(k(X[:4], X)), direct.decision_function(X[:4]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"budget": 0}, "budget"),
        ({"average": "yes"}, "average"),
        ({"margin": "soft"}, "margin"),
        ({"budget": 5, "average": "voted"}, "voted"),
        ({"budget_policy": "none"}, "budget_policy"),
        ({"solver": "smo"}, "solver"),
        ({"solver": "primal"}, "finite feature map"),
    ],
)
def test_what_is_refused(parameters, message, rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(InputError, match=message):
        KernelPerceptron(mercer.Gaussian(1.0), **parameters).fit(X, y)


def test_labels_and_batches_that_are_refused(rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(InputError, match="one class only"):
        KernelPerceptron().fit(X, np.zeros(10))
    with pytest.raises(ValueError, match="0 sample"):
        KernelPerceptron().partial_fit(X[:0], y[:0])
    with pytest.raises(InputError, match="none of the classes"):
        KernelPerceptron().partial_fit(X, y).partial_fit(X, y + 5)
    with pytest.raises(InputError, match="Precomputed"):
        KernelPerceptron(mercer.Precomputed()).partial_fit(X @ X.T, y)
    one = KernelPerceptron(mercer.Linear()).fit([[1.0], [2.0], [-1.0]], ["a", "a", "b"])  # a class with one member
    assert one.predict([[-5.0], [5.0]]).tolist() == ["b", "a"]


def test_summary_and_plan(rng):
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 3
    assert "class 2" in str(KernelPerceptron(random_state=0, max_iter=5).fit(X, y))
    assert mercer.plan(KernelPerceptron(mercer.Linear()), X).route.solver == "primal"
    assert mercer.plan(KernelPerceptron(), rng.normal(size=(5000, 2))).route.solver == "blocked"


def test_sklearn_contract():
    check_estimator(KernelPerceptron(max_iter=50))
    check_estimator(KernelPerceptron(average="voted", max_iter=5))
    check_estimator(KernelPerceptron(budget=20, max_iter=5))


def overlapping(n, rng):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("solver", ["gram", "blocked", "online"])
def test_a_run_stops_when_its_averaged_weights_no_longer_improve(solver, rng):
    X, y = overlapping(400, rng)
    kernel = mercer.Gaussian(2.0)
    model = KernelPerceptron(kernel, random_state=0, solver=solver).fit(X, y)
    epochs = model.n_iter_
    assert PATIENCE < epochs < 100 and not model.converged_ and "no longer improve" in str(model.ledger_)
    errors = []  # the slow twin: as many fits as there were epochs, each judged by its own predictions
    for most in range(1, epochs + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            short = KernelPerceptron(kernel, random_state=0, solver=solver, max_iter=most, stopping="mistakes").fit(X, y)
        errors.append(np.mean(np.where(y == 1, 1, -1) * short.decision_function(X) <= 0))
    best, since, ends = np.inf, 0, []
    for epoch, error in enumerate(errors, 1):
        best, since = (error, 0) if error < best - TOL else (best, since + 1)  # type: ignore[assignment]
        ends += [epoch] if since >= PATIENCE else []
    assert ends[0] == epochs


def test_the_rule_of_the_lectures_on_request(rng):
    X, y = overlapping(200, rng)
    with pytest.warns(ConvergenceWarning, match="not converged in 40 epochs|not separable"):
        long = KernelPerceptron(mercer.Gaussian(2.0), random_state=0, max_iter=40, stopping="mistakes").fit(X, y)
    with pytest.warns(ConvergenceWarning):
        last = KernelPerceptron(mercer.Gaussian(2.0), random_state=0, max_iter=40, average=False).fit(X, y)
    assert np.array_equal(long.mistakes_, last.mistakes_)  # the last weights have no average to watch
    with pytest.raises(mercer.errors.InputError, match="stopping must be"):
        KernelPerceptron(stopping="never").fit(X, y)


def test_separable_data_are_run_to_the_end(rng):
    X = rng.normal(size=(150, 2))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.05, -0.05)  # a thin margin: the averaged weights are right long before the last ones
    model = KernelPerceptron(mercer.Linear(), random_state=0).fit(X, y)
    assert model.converged_ and model.n_updates_ <= model.novikoff_bound_
