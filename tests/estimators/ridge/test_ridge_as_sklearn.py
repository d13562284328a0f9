"""scikit-learn's own tests of kernel ridge regression, run on mercer's through a thin adapter; nothing is excused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import sklearn.kernel_ridge
from sklearn.base import BaseEstimator, RegressorMixin
from tests.estimators.as_sklearn import read_tests

import mercer


class KernelRidge(RegressorMixin, BaseEstimator):
    """scikit-learn's parameters outside, mercer's estimator inside."""

    def __init__(
        self, alpha: Any = 1, *, kernel: Any = "linear", gamma: Any = None, degree: Any = 3, coef0: Any = 1
    ) -> None:
        self.alpha, self.kernel, self.gamma, self.degree, self.coef0 = alpha, kernel, gamma, degree, coef0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        kernel = {
            "linear": mercer.Linear(), "precomputed": mercer.Precomputed(), "rbf": mercer.Gaussian.from_gamma(gamma),
            "cosine": mercer.Linear().normalized(),
            "poly": gamma**self.degree * mercer.Polynomial(self.degree, offset=self.coef0 / gamma),
        }[self.kernel]  # fmt: skip
        self.inner_ = mercer.KernelRidge(kernel, alpha=self.alpha).fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


PATH = Path(sklearn.__file__).parent / "tests" / "test_kernel_ridge.py"
MODULE = read_tests(PATH, [], sklearn.kernel_ridge, {"KernelRidge": KernelRidge})

for _name, _test in list(vars(MODULE).items()):
    if _name.startswith("test_"):
        globals()[_name] = _test


def test_the_adapter_was_seen() -> None:
    assert MODULE.KernelRidge is KernelRidge
    assert np.shape(MODULE.X) == (100, 10)
