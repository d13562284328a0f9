"""scikit-learn's own tests of its kernel PCA, run on mercer's through a thin adapter.

The adapter turns kernel="rbf", gamma=… into a mercer kernel and names of solvers into mercer's. EXCUSES lists the single
assertions that do not hold here, with the reason and what holds instead; everything else of the file runs as it is.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.base import BaseEstimator, TransformerMixin

import mercer

SOLVERS = {"auto": "auto", "dense": "eigh", "arpack": "lanczos", "randomized": "lanczos"}


def mercer_kernel(model: Any, width: int) -> mercer.Kernel:
    """The kernel that scikit-learn's parameters mean for these data."""
    if callable(model.kernel):
        return mercer.Function(lambda X, Z: np.array([[model.kernel(x, z) for z in np.asarray(Z)] for x in np.asarray(X)]))
    gamma = 1.0 / width if model.gamma is None else float(model.gamma)
    if model.kernel == "poly":
        return gamma**model.degree * mercer.Polynomial(model.degree, offset=model.coef0 / gamma)
    known = {"linear": mercer.Linear(), "precomputed": mercer.Precomputed(), "rbf": mercer.Gaussian.from_gamma(gamma)}
    return known[model.kernel]


class KernelPCA(TransformerMixin, BaseEstimator):
    """scikit-learn's parameters outside, mercer's estimator inside."""

    def __init__(
        self, n_components: Any = None, *, kernel: Any = "linear", gamma: Any = None, degree: Any = 3, coef0: Any = 1,
        alpha: Any = 1.0, fit_inverse_transform: Any = False, eigen_solver: Any = "auto", remove_zero_eig: Any = False,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_components, self.kernel, self.gamma, self.degree, self.coef0 = n_components, kernel, gamma, degree, coef0
        self.alpha, self.fit_inverse_transform, self.eigen_solver = alpha, fit_inverse_transform, eigen_solver
        self.remove_zero_eig, self.random_state = remove_zero_eig, random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None) -> Any:
        width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        self.inner_ = mercer.KernelPCA(
            mercer_kernel(self, width), n_components=self.n_components, alpha=self.alpha, random_state=self.random_state,
            fit_inverse_transform=self.fit_inverse_transform, eigen_solver=SOLVERS[self.eigen_solver],
            remove_zero_eig=self.remove_zero_eig,
        )  # fmt: skip
        if hasattr(self, "_sklearn_output_config"):
            self.inner_.set_output(transform=self._sklearn_output_config["transform"])
        self.inner_.fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        self.fit(X)
        return self.inner_.fit_transform(X)

    def transform(self, X: Any) -> Any:
        return self.inner_.transform(X)

    def get_feature_names_out(self, names: Any = None) -> Any:
        return self.inner_.get_feature_names_out(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.startswith("_sklearn") or name == "inner_":
            raise AttributeError(name)
        return getattr(vars(self).get("inner_"), name)


#: (assertion of scikit-learn, what holds here, reason)
EXCUSES = [
    (
        "            with pytest.raises(NotFittedError):\n                kpca.inverse_transform(X_pred_transformed)",
        "            assert kpca.inverse_transform(X_pred_transformed).shape == X_pred.shape",
        "pre-images need no fit_inverse_transform, for sparse rows either",
    ),
    (
        "    with pytest.raises(NotFittedError):\n        kpca.inverse_transform(X)",
        "    assert kpca.inverse_transform(X).shape == X.shape",
        "pre-images need no fit_inverse_transform",
    ),
    (
        "        # general case: make sure that it works\n        kpca.fit(K)",
        "        with pytest.raises(ValueError, match='There are significant negative'):\n            kpca.fit(K)",
        "an indefinite matrix is refused whatever the number of components: it has no feature space",
    ),
    (
        "    assert kpca1.gamma_ == expected_gamma\n    assert kpca2.gamma_ == expected_gamma\n",
        "",
        "there is no gamma_: the resolved kernel is kernel_",
    ),
]  # fmt: skip


def load() -> ModuleType:
    """A copy of scikit-learn's test module that sees the adapter, with the excused assertions replaced."""
    path = Path(sklearn.decomposition.__file__).parent / "tests" / "test_kernel_pca.py"
    source = path.read_text(encoding="utf-8")
    for theirs, ours, _ in EXCUSES:
        assert source.count(theirs) == 1, f"scikit-learn changed: {theirs}"
        source = source.replace(theirs, ours)
    module = ModuleType("scikit_learn_kernel_pca_tests")
    kept = sklearn.decomposition.KernelPCA
    try:
        sklearn.decomposition.KernelPCA = KernelPCA
        exec(compile(source, str(path), "exec"), vars(module))
    finally:
        sklearn.decomposition.KernelPCA = kept
    return module


for _name, _test in list(vars(load()).items()):
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture
def global_random_seed() -> int:
    """scikit-learn's default seed."""
    return 42
