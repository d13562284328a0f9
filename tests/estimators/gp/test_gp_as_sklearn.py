"""scikit-learn's own tests of Gaussian process regression, run on mercer's through a thin adapter.

The adapter translates kernels with `mercer.from_sklearn`, bounds and fixed parameters with them, and theta back and forth:
the entries come in the same order. EXCUSES lists the single assertions that do not hold here, and why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.gaussian_process
import sklearn.gaussian_process.kernels as theirs
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from tests.estimators.as_sklearn import Excuse, read_tests

import mercer


def is_white(kernel: Any) -> bool:
    return isinstance(kernel, theirs.WhiteKernel)


def translated(kernel: Any) -> Any:
    """The kernel without its noise; what scikit-learn does not have by name is a Python function."""
    if isinstance(kernel, theirs.Sum) and (is_white(kernel.k1) or is_white(kernel.k2)):
        return translated(kernel.k1 if is_white(kernel.k2) else kernel.k2)
    return mercer.from_sklearn(kernel) if type(kernel).__module__ == theirs.__name__ else mercer.Function(kernel)


def parts_of(kernel: Any) -> list[Any]:
    """The terms of a sum."""
    return [*parts_of(kernel.k1), *parts_of(kernel.k2)] if isinstance(kernel, theirs.Sum) else [kernel]


#: The climb goes on until nothing is gained: their tests compare optima to seven digits.
TOLERANCE = 1e-12


class GaussianProcessRegressor(RegressorMixin, BaseEstimator):
    """scikit-learn's parameters outside, mercer's estimator inside."""

    def __init__(
        self, kernel: Any = None, *, alpha: Any = 1e-10, optimizer: Any = "fmin_l_bfgs_b", n_restarts_optimizer: Any = 0,
        normalize_y: Any = False, copy_X_train: Any = True, n_targets: Any = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.kernel, self.alpha, self.optimizer, self.n_restarts_optimizer = kernel, alpha, optimizer, n_restarts_optimizer
        self.normalize_y, self.copy_X_train, self.n_targets = normalize_y, copy_X_train, n_targets
        self.random_state = random_state

    def _entries(self) -> list[tuple[str, tuple[float, float] | None]]:
        """Name and bounds, None for a fixed one, of every number of the kernel; the noise of a WhiteKernel comes last."""
        found = []
        for part in self._kernel.hyperparameters:
            for i in range(part.n_elements):
                bounds = None if part.fixed else tuple(map(float, np.broadcast_to(part.bounds, (part.n_elements, 2))[i]))
                found.append((part.name, bounds))
        return sorted(found, key=lambda entry: entry[0].endswith("noise_level"))

    def fit(self, X: Any, y: Any) -> Any:
        self._kernel = theirs.ConstantKernel() * theirs.RBF() if self.kernel is None else clone(self.kernel)
        optimizer = "bfgs" if self.optimizer == "fmin_l_bfgs_b" else self.optimizer
        kernel, alpha = translated(self._kernel), np.asarray(self.alpha)
        entries = [] if isinstance(kernel, mercer.Function) else self._entries()
        noisy = [part for part in entries if part[0].endswith("noise_level")]
        free = self.optimizer is not None and any(bounds is not None for _, bounds in entries)
        level = sum(part.noise_level for part in parts_of(self._kernel) if is_white(part))
        spread = np.var(y) if self.normalize_y and np.ndim(y) == 1 else 1.0  # theirs are in units of the spread of y
        if self.normalize_y and np.ndim(y) == 1 and spread > 0:
            kernel, alpha = float(spread) * kernel, spread * alpha
        names = [*kernel.theta_names, *["noise"] * bool(noisy)]
        own = names[len(names) - len(entries) :]  # without the spread
        inner = mercer.GaussianProcessRegressor(
            kernel, noise="fit" if noisy and free else alpha + level, mean="zero", normalize_y=self.normalize_y,
            n_restarts=self.n_restarts_optimizer, priors=None, optimizer=optimizer if free else None, tol=TOLERANCE,
        )  # fmt: skip
        if free:
            limits = {name: bounds for name, (_, bounds) in zip(own, entries, strict=True) if bounds is not None}
            fixed = [name for name, (_, bounds) in zip(own, entries, strict=True) if bounds is None]
            # no overall scale is added, and that of y stays
            inner.set_params(bounds=limits, fixed=[*fixed, *(["scale"] if "scale" not in own else [])])
        self.inner_ = inner.fit(X, y)
        self._y_train_std = self.inner_._units.scale
        places = [self.inner_.theta_names_.index(name) for name in own]
        # in the order of their theta, in which the noise need not be last
        said = [part.name for part in self._kernel.hyperparameters]
        order = sorted(range(len(entries)), key=lambda i: said.index(entries[i][0]))
        self._free = [places[i] for i in order if entries[i][1] is not None]
        self.kernel_ = self._kernel.clone_with_theta(self._outside(self.inner_.theta_)) if entries else self._kernel
        return self

    def _outside(self, vector: Any) -> Any:
        return np.asarray(vector)[self._free]

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        if theta is None:
            return self.inner_.log_marginal_likelihood(None, eval_gradient)
        vector = self.inner_.theta_.copy()
        vector[self._free] = theta
        found = self.inner_.log_marginal_likelihood(vector, eval_gradient)
        return (found[0], self._outside(found[1])) if eval_gradient else np.float64(found)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        return self._model().predict(X, return_std, return_cov)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        return self._model().sample_y(X, n_samples, random_state)

    def _model(self) -> Any:
        return getattr(self, "inner_", None) or mercer.GaussianProcessRegressor()


_PRIOR = "there is no prediction before fit"
_COLUMN = "targets of shape (n, 1) keep their column"
_NOTE = "a parameter at its bound is a note of the diagnosis and the summary, not a warning"
_WORDS = "the same in other words"
EXCUSES: list[Excuse] = [
    (
        "    assert_almost_equal(gpr.kernel_.theta, input_theta, 7)\n",
        "",
        "asking for a likelihood never changes a fitted model",
    ),
    (
        "    y_mean, y_cov = gpr.predict(X, return_cov=True)\n\n    assert_almost_equal(y_mean, 0, 5)\n"
        "    if len(gpr.kernel.theta) > 1:\n"
        "        # XXX: quite hacky, works only for current kernels\n"
        "        assert_almost_equal(np.diag(y_cov), np.exp(kernel.theta[0]), 5)\n"
        "    else:\n"
        "        assert_almost_equal(np.diag(y_cov), 1, 5)\n",
        "    with pytest.raises(NotFittedError):\n        gpr.predict(X, return_cov=True)\n",
        _PRIOR,
    ),
    (
        "    _, y_std1 = gpr1.predict(X, return_std=True)\n    _, y_cov1 = gpr1.predict(X, return_cov=True)\n",
        "    with pytest.raises(NotFittedError):\n        gpr1.predict(X, return_std=True)\n",
        _PRIOR,
    ),
    (
        "    _, y_std2 = gpr2.predict(X, return_std=True)\n    _, y_cov2 = gpr2.predict(X, return_cov=True)\n\n"
        "    assert_array_almost_equal(y_std1, y_std2)\n    assert_array_almost_equal(y_cov1, y_cov2)\n",
        "    with pytest.raises(NotFittedError):\n        gpr2.predict(X, return_std=True)\n",
        _PRIOR,
    ),
    (
        "    shape_before_fit = model.sample_y(X, n_samples=n_samples).shape\n",
        "    with pytest.raises(NotFittedError):\n        model.sample_y(X, n_samples=n_samples)\n",
        _PRIOR,
    ),
    (
        "    assert shape_before_fit == shape_after_fit\n",
        "    assert shape_after_fit == (10, y.shape[1], n_samples)\n",
        f"{_PRIOR}; {_COLUMN}",
    ),
    (
        "    mean_prior, cov_prior = model.predict(X, return_cov=True)\n"
        "    _, std_prior = model.predict(X, return_std=True)\n",
        "    with pytest.raises(NotFittedError):\n        model.predict(X, return_cov=True)\n",
        _PRIOR,
    ),
    (
        "    assert mean_prior.shape == mean_post.shape\n    assert cov_prior.shape == cov_post.shape\n"
        "    assert std_prior.shape == std_post.shape\n",
        "    assert mean_post.shape == std_post.shape == y.shape\n    assert cov_post.shape == (10, *y.shape)\n",
        f"{_PRIOR}; {_COLUMN}",
    ),
    (
        "    model = GaussianProcessRegressor(n_targets=1)\n"
        '    with pytest.raises(ValueError, match="The number of targets seen in `y`"):\n        model.fit(X, y)\n',
        "    assert GaussianProcessRegressor(n_targets=1).fit(X, y).predict(X).shape == y.shape\n",
        "there is no n_targets: y says how many there are",
    ),
    (
        "    # By convention single-output data is squeezed upon prediction\n    y_test_shape = (n_samples_test,)\n"
        "    if n_targets is not None and n_targets > 1:\n",
        "    y_test_shape = (n_samples_test,)\n    if n_targets is not None:\n",
        _COLUMN,
    ),
    (
        "    # By convention single-output data is squeezed upon prediction\n"
        "    if n_targets is not None and n_targets > 1:\n",
        "    if n_targets is not None:\n",
        _COLUMN,
    ),
    (
        "    gpr.fit(X_train, y_train)\n    X_test = np.array(",
        "    gpr.fit(X_train, y_train.ravel())\n    X_test = np.array(",
        _COLUMN,
    ),
    (
        "    gpr.fit(X, y)\n    # Checks that optimizer improved marginal likelihood\n"
        "    assert gpr.log_marginal_likelihood(gpr.kernel_.theta) > gpr.log_marginal_likelihood(\n"
        "        gpr.kernel.theta\n    )\n",
        "    with pytest.raises(ValueError, match='optimizer must be'):\n        gpr.fit(X, y)\n",
        "the climb is mercer's own; functions are not taken",
    ),
    (
        "    with pytest.raises(np.linalg.LinAlgError, match=re.escape(message)):\n        gpr.fit(X, y)\n",
        "    assert 0 < gpr.fit(X, y).inner_.jitter_ < 1e-9\n",
        "what is missing to positive definiteness by rounding is added to the diagonal, and said",
    ),
    (
        "    assert_almost_equal(y_pred_equal, y_pred_similar)\n    assert_almost_equal(y_std_equal, y_std_similar)\n",
        "    assert_almost_equal(y_pred_equal, y_pred_similar, 5)\n    assert_almost_equal(y_std_equal, y_std_similar, 5)\n",
        "two climbs end up to 9e-7 apart in a flat direction",
    ),
    (
        "    with pytest.warns(ConvergenceWarning, match=warning_message):\n        gpr.fit(X, y)\n",
        "    assert 'length_scale is at its high bound 0.001' in ' '.join(gpr.fit(X, y).inner_.diagnosis_.notes)\n",
        _NOTE,
    ),
    (
        "        gpr_sum.fit(X, y)\n\n        assert len(record) == 2\n…\n\n    X_tile",
        "        notes = gpr_sum.fit(X, y).inner_.diagnosis_.notes\n"
        "    assert [note.split(';')[0] for note in notes] == [\n"
        "        'length_scale is at its low bound 1e+03', 'noise is at its high bound 0.001']\n\n    X_tile",
        _NOTE,
    ),
    (
        "        gpr_dims.fit(X_tile, y)\n\n        assert len(record) == 2\n…\n\n\ndef test_bound_check",
        "        notes = gpr_dims.fit(X_tile, y).inner_.diagnosis_.notes\n"
        "    assert [note.split(';')[0] for note in notes] == [\n"
        "        'length_scale[0] is at its low bound 10', 'length_scale[1] is at its low bound 10']\n\n\n"
        "def test_bound_check",
        _NOTE,
    ),
    (
        "    assert gpr._y_train_std == pytest.approx(1.0)\n",
        "",
        "a private attribute",
    ),
    (
        '            "alpha must be a scalar or an array with same number of entries as y",\n',
        '            "give one number, or one variance per row",\n',
        _WORDS,
    ),
    (
        '            "requires that all bounds are finite",\n',
        '            "WhiteKernel is no kernel on objects but the noise",\n',
        "noise alone is no process here",
    ),
    (
        '    err_msg = "Gradient can only be evaluated for theta!=None"\n'
        "    with pytest.raises(ValueError, match=err_msg):\n        gpr.log_marginal_likelihood(eval_gradient=True)\n",
        "    value, gradient = gpr.log_marginal_likelihood(eval_gradient=True)\n"
        "    assert value == gpr.log_marginal_likelihood() and gradient.shape == gpr.inner_.theta_.shape\n",
        "without theta the gradient is that at the fitted one",
    ),
    (
        '    err_msg = "At most one of return_std or return_cov can be requested."\n'
        "    with pytest.raises(RuntimeError, match=err_msg):\n",
        "    with pytest.raises(ValueError, match='not both at once'):\n",
        _WORDS,
    ),
]
PATH = Path(sklearn.gaussian_process.__file__).parent / "tests" / "test_gpr.py"
ADAPTERS = {"GaussianProcessRegressor": GaussianProcessRegressor}
MODULE = read_tests(PATH, EXCUSES, sklearn.gaussian_process, ADAPTERS, NotFittedError=NotFittedError)

for _name, _test in list(vars(MODULE).items()):
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture
def global_random_seed() -> int:
    """scikit-learn's default seed."""
    return 42
