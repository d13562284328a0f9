"""One rule for every estimator: without a kernel, no guarantee that rests on one, and it is said once."""

import pickle
import warnings

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    Function,
    Gaussian,
    KernelPerceptron,
    Linear,
    NoveltyBall,
    NuSVR,
    OneClassSVM,
    Precomputed,
    Tanh,
    load,
    save,
)
from mercer.errors import InputError
from mercer.estimators.definiteness import NotAKernelWarning, known_psd

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)
BAD = Tanh(1.0, offset=1.0)


def once(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    said = [w for w in caught if issubclass(w.category, NotAKernelWarning)]
    assert not [w for w in caught if issubclass(w.category, RuntimeWarning)]
    return result, said


@pytest.mark.parametrize("offset", [1.0, -1.0])
def test_svc_on_something_that_is_no_kernel_promises_nothing(offset):
    model, said = once(lambda: SVC(Tanh(1.0, offset=offset), C=100.0).fit(X, LABELS))
    assert len(said) == 1 and "is not a kernel on these rows" in str(said[0].message)
    for value in (model.loo_bound_, model.margin_bound_, model.duality_gap_, model.primal_objective_, model.margin_):
        assert np.isnan(value)
    assert "not available" in str(model) and "nan" not in str(model).replace("margin nan", "")
    assert model.predict(X).shape == (24,)


def test_a_kernel_keeps_its_bounds_and_nothing_is_said():
    model, said = once(lambda: SVC(Gaussian(1.0), C=100.0).fit(X, LABELS))
    assert not said and 0 <= model.loo_bound_ <= 1 and model.duality_gap_ >= 0


def test_a_psd_matrix_is_enough_for_the_training_rows():
    K = Gaussian(1.0)(X)
    model, said = once(lambda: SVC(Precomputed(), C=10.0).fit(K, LABELS))
    assert not said and np.isfinite(model.loo_bound_)
    model, said = once(lambda: SVC(Function(lambda A, B: A @ B.T), C=10.0).fit(X, LABELS))
    assert not said and np.isfinite(model.loo_bound_)
    model, said = once(lambda: SVC(Precomputed(), C=10.0).fit(BAD(X), LABELS))
    assert len(said) == 1 and np.isnan(model.loo_bound_)


def test_a_part_of_many_rows_is_no_proof():
    many = RNG.normal(size=(1100, 2))
    with pytest.warns(NotAKernelWarning, match="is not known to be a kernel"):
        assert not known_psd(Function(lambda A, B: A @ B.T), many, "test")
    assert known_psd(Linear(), many, "test")


@pytest.mark.parametrize("model", [SVR(BAD), NuSVR(BAD), OneClassSVM(BAD)], ids=str)
def test_the_other_machines(model):
    fitted, said = once(lambda: model.fit(X, X[:, 0]))
    assert len(said) == 1 and np.isnan(fitted.duality_gap_)


def test_the_ball():
    with pytest.warns(NotAKernelWarning), pytest.raises(InputError, match="squared"):
        NoveltyBall(Tanh(1.0, offset=-3.0)).fit(X)
    ball, said = once(lambda: NoveltyBall(Function(lambda A, B: A @ B.T - 1e-3)).fit(X))
    assert len(said) == 1 and np.isnan(ball.guaranteed_radius_) and np.isnan(ball.false_alarm_bound_)
    assert once(lambda: NoveltyBall(Gaussian(1.0)).fit(X))[1] == []


def test_the_perceptron():
    y = (X[:, 0] > 0).astype(int)
    model, said = once(lambda: KernelPerceptron(BAD).fit(X, y))
    assert len(said) == 1 and not np.isfinite(model.novikoff_bound_)
    assert "no bound" in str(model)
    model, said = once(lambda: KernelPerceptron(Linear(), fit_intercept=True).fit(X, y))
    assert not said and model.novikoff_bound_ >= model.n_updates_


def test_repaired_similarities_have_bounds_again():
    model, said = once(lambda: SVC(BAD.repaired(X, method="flip"), C=10.0).fit(X, LABELS))
    assert not said and np.isfinite(model.loo_bound_)


# -- probabilities of copies ---------------------------------------------------------------------------------------------


def test_probabilities_of_copies_are_the_same_without_a_seed(tmp_path):
    model = SVC(Gaussian(1.0), random_state=None).fit(X, LABELS)
    save(model, tmp_path / "model.mercer")
    copies = [pickle.loads(pickle.dumps(model)), load(tmp_path / "model.mercer")]
    for copy in copies:
        assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    generator = np.random.RandomState(3)
    model = SVC(Gaussian(1.0), random_state=generator).fit(X, LABELS)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


# -- targets of any size -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SVR, NuSVR])
@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-12])
def test_small_targets_are_fitted_as_large_ones_are(kind, scale):
    """Targets, C and the tube times s give the function times s."""
    A = np.random.default_rng(1).normal(size=(60, 2))
    y = np.sin(A[:, 0])
    options = [{"C": s, "epsilon": 0.1 * s} if kind is SVR else {"C": s} for s in (1.0, scale)]
    large, small = kind(Gaussian(1.0), **options[0]).fit(A, y), kind(Gaussian(1.0), **options[1]).fit(A, y * scale)
    np.testing.assert_allclose(small.predict(A) / scale, large.predict(A), atol=2e-3)
    assert small.duality_gap_ <= 1e-6 * abs(small.dual_objective_)
    assert small.tube_ == pytest.approx(large.tube_ * scale, rel=1e-2, abs=1e-3 * scale)


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_small_targets_with_the_usual_penalty(kind):
    A = np.random.default_rng(1).normal(size=(60, 2))
    y = 1e-3 * (np.sin(A[:, 0]) + 0.1 * np.random.default_rng(2).normal(size=60))
    model = (kind(Gaussian(1.0), epsilon=1e-4) if kind is SVR else kind(Gaussian(1.0))).fit(A, y)
    assert model.fit_status_ == 0 and model.duality_gap_ <= 1e-4 * abs(model.dual_objective_)
    assert np.corrcoef(model.predict(A), y)[0, 1] > 0.9
