"""scikit-learn's own tests of its support vector machines, run on mercer's through a thin adapter.

The adapter turns kernel="rbf", gamma=… into a mercer kernel and hands everything else on. Tests of estimators that mercer
does not have (LinearSVC, LinearSVR) run on scikit-learn's and are left out. EXCUSES lists the single assertions that do not
hold here, with what holds instead and the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from tests.estimators.as_sklearn import Excuse, read_tests

import mercer

TYPES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


def mercer_kernel(model: Any, X: Any) -> tuple[Any, float]:
    """The kernel that scikit-learn's parameters mean for these data, and the number gamma."""
    if callable(model.kernel):
        return mercer.Function(model.kernel), 0.0
    if model.kernel == "precomputed":
        return mercer.Precomputed(), 0.0
    if model.kernel == "linear":
        return mercer.Linear(), 0.0
    dense = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    variance = dense.multiply(dense).mean() - dense.mean() ** 2 if sp.issparse(dense) else dense.var()
    gamma = {"scale": 1.0 / (dense.shape[1] * variance) if variance else 1.0, "auto": 1.0 / dense.shape[1]}.get(
        model.gamma, model.gamma
    )
    assert model.kernel == "rbf", "the only further kernel that the file asks for"
    return mercer.Gaussian.from_gamma(float(gamma)), float(gamma)


class Adapter(BaseEstimator):
    """scikit-learn's parameters outside, a mercer estimator inside; what is asked after fit, the inner one answers."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        kernel, gamma = mercer_kernel(self, X)
        own = {name: getattr(self, name) for name in ("C", "nu", "epsilon", *SHARED) if hasattr(self, name)}
        inner = getattr(mercer, type(self).__name__)(kernel, **own)
        self.inner_ = inner.fit(X, y, sample_weight=sample_weight)
        self._gamma = gamma
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner_":
            raise AttributeError(name)
        if name in METHODS and "inner_" not in vars(self):
            return getattr(getattr(mercer, type(self).__name__)(), name)
        return getattr(vars(self).get("inner_"), name)


METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples")
SHARED = ("tol", "max_iter", "class_weight", "decision_function_shape", "break_ties", "random_state")


def adapter(name: str) -> type:
    """An adapter class with the parameters of scikit-learn's estimator of that name."""
    peer = getattr(sklearn.svm, name)
    defaults = peer().get_params()
    arguments = ", ".join(f"{p}={v!r}" for p, v in defaults.items())
    body = "\n".join(f"    self.{p} = {p}" for p in defaults)
    space: dict[str, Any] = {}
    exec(f"def __init__(self, *, {arguments}):\n{body}", space)
    kind = {"SVC": ClassifierMixin, "NuSVC": ClassifierMixin, "OneClassSVM": OutlierMixin}.get(name, RegressorMixin)
    return type(name, (kind, Adapter), {"__init__": space["__init__"], "coef_": property(lambda self: self.inner_.coef_)})


_WORDS = "refused here too, in other words"
_NEGATIVE = "a negative weight is refused; it does not count as 0"
_PRIVATE = "a private attribute of the wrapper of LIBSVM"
_PROBABILITY = "probability= is no parameter here: probabilities are computed when they are asked for"
_REFUSED = "    with pytest.raises(ValueError, match='sample_weight'):\n        "
_BELOW = "    if min(sample_weight) < 0:\n        with pytest.raises(ValueError, match='sample_weight'):\n            "
EXCUSES: list[Excuse] = [
    (
        "    clf.fit(X, y)\n    with pytest.raises(ValueError):\n        clf.predict(X)\n\n\ndef test_oneclass():",
        "    with pytest.raises(ValueError):\n        clf.fit(X, y)\n\n\ndef test_oneclass():",
        "a function that returns a wrong shape is refused by fit already",
    ),
    (
        "    clf._dual_coef_ = np.array([[0.0, 1.0]])\n    assert_array_equal(clf.predict([[-0.1, -0.1]]), [2])\n",
        "",
        _PRIVATE,
    ),
    (
        '    est = Estimator(kernel="linear")\n    with pytest.raises(ValueError, match=err_msg):\n'
        "        est.fit(X, Y, sample_weight=sample_weight)\n",
        f'    est = Estimator(kernel="linear")\n{_REFUSED}est.fit(X, Y, sample_weight=sample_weight)\n',
        _WORDS,
    ),
    (
        '    clf = Classifier(kernel="linear")\n    with pytest.raises(ValueError, match=err_msg):\n'
        "        clf.fit(X, Y, sample_weight=sample_weight)\n",
        f'    clf = Classifier(kernel="linear")\n{_REFUSED}clf.fit(X, Y, sample_weight=sample_weight)\n',
        _WORDS,
    ),
    (
        "    clf.fit(X, Y, sample_weight=sample_weight)\n    assert_allclose(clf.coef_, [model[mask_side]], rtol=1e-3)\n",
        f"{_BELOW}clf.fit(X, Y, sample_weight=sample_weight)\n"
        "    clf.fit(X, Y, sample_weight=np.maximum(sample_weight, 0))\n"
        "    assert_allclose(clf.coef_, [model[mask_side]], rtol=1e-3)\n",
        _NEGATIVE,
    ),
    (
        "    est.fit(X, Y, sample_weight=sample_weight)\n    coef = np.abs(est.coef_).ravel()\n",
        f"{_BELOW}est.fit(X, Y, sample_weight=sample_weight)\n"
        "    est.fit(X, Y, sample_weight=np.maximum(sample_weight, 0))\n    coef = np.abs(est.coef_).ravel()\n",
        _NEGATIVE,
    ),
    (
        "    clf = svm.SVC().fit(X, Y)\n    with pytest.raises(ValueError):\n        clf.predict(lil_container(X))\n",
        "    clf = svm.SVC().fit(X, Y)\n    assert_array_equal(clf.predict(lil_container(X)), clf.predict(X))\n",
        "sparse rows can be predicted by a model fitted on dense ones",
    ),
    (
        '    msg = "The dual coefficients or intercepts are not finite"\n    with pytest.raises(ValueError, match=msg):\n',
        "    with pytest.raises((ValueError, ArithmeticError)):\n",
        _WORDS,
    ),
    (
        '    with pytest.raises(TypeError, match="Sparse precomputed"):\n',
        "    with pytest.raises(ValueError):\n",
        "refused here too, as a ValueError",
    ),
    (
        '    assert not model.dual_coef_.data.size\n\n\n@pytest.mark.parametrize("loss"',
        '    assert not model.dual_coef_.size\n\n\n@pytest.mark.parametrize("loss"',
        "dual_coef_ is a dense array for sparse data too",
    ),
    (
        '    warning_msg = (\n        r"Solver terminated early \\(max_iter=2\\).  Consider pre-processing "\n'
        '        r"your data with StandardScaler or MinMaxScaler."\n    )\n'
        "    with pytest.warns(ConvergenceWarning, match=warning_msg):\n        a.fit(np.array(X), Y)\n"
        "    assert np.all(a.n_iter_ == 2)\n",
        "    a.fit(np.array(X), Y)\n    assert np.all(a.n_iter_ <= 2) and a.fit_status_ == 0\n",
        "two steps are enough here",
    ),
    (
        "    G = svm.SVC(probability=False)\n    assert not hasattr…        G.predict_proba(iris.data)\n",
        "    assert G.predict_proba(iris.data).shape == (150, 3)\n",
        _PROBABILITY,
    ),
    (
        '    n_iter = estimator(kernel="linear").fit(X, y).n_iter_\n',
        '    nu = {"nu": 0.6} if estimator is svm.NuSVC else {}\n'
        '    n_iter = estimator(kernel="linear", **nu).fit(X, y).n_iter_\n',
        "at nu=0.5 the optimum of classes 0 and 2 of 4 is 0: see test_nu_svc_refuses_a_problem_of_scikit_learns_tests",
    ),
    (
        "    assert not np.all(pred == np.argmax(dv, axis=1))\n",
        "",
        "a decision of 0 goes to the first class, in votes and in decision values: no such tie",
    ),
    (
        "            for jj in range(ii, n_samples2):\n",
        "            for jj in range(n_samples2):\n",
        "its function fills square matrices only; new rows meet support vectors here",
    ),
    (
        "                K[jj, ii] = K[ii, jj]\n        return K\n\n    K = string_kernel(data, data)\n",
        "        return K\n\n    K = string_kernel(data, data)\n",
        "the same function, made to fill any matrix",
    ),
    (
        '    clf._n_support[0] = 1000000\n\n    msg = "The internal representation of SVC was altered"\n'
        "    with pytest.raises(ValueError, match=msg):\n        clf.predict(X)\n",
        "    assert not hasattr(clf.inner_, '_n_support')\n",
        _PRIVATE,
    ),
    (
        '    with pytest.warns(FutureWarning, match="probability.+parameter.+deprecated"):\n'
        "        Estimator(probability=probability).fit(X, y)\n",
        "    Estimator(probability=probability).fit(X, y)\n",
        _PROBABILITY,
    ),
    (
        '    with pytest.warns(FutureWarning, match="Attribute `probA_` was deprecated"):\n        _ = est.probA_\n'
        '    with pytest.warns(FutureWarning, match="Attribute `probB_` was deprecated"):\n        _ = est.probB_\n',
        "    assert not hasattr(est, 'probA_') and not hasattr(est, 'probB_')\n",
        _PROBABILITY,
    ),
]
PATH = Path(sklearn.svm.__file__).parent / "tests" / "test_svm.py"
MODULE = read_tests(PATH, EXCUSES, sklearn.svm, {name: adapter(name) for name in TYPES})

#: Tests of what mercer does not have.
LINEAR_ONLY = {name for name in vars(MODULE) if "linearsv" in name or "liblinear" in name or "crammer" in name} | {
    "test_linear_svm_convergence_warnings", "test_lsvc_intercept_scaling_zero", "test_dual_auto",
    "test_dual_auto_edge_cases",
    "test_linearsvm_liblinear_sample_weight",
}  # fmt: skip

for _name, _test in list(vars(MODULE).items()):
    if _name.startswith("test_") and _name not in LINEAR_ONLY:
        globals()[_name] = _test


@pytest.fixture
def global_random_seed() -> int:
    """scikit-learn's default seed."""
    return 42
