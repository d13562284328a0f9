"""`coef_`: the normal vector w in the coordinates of the features, for every kernel with finitely many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer

WORDS = ["abab", "bcb", "aab", "bbc", "ccc", "cab"]
NEW = ["abc", "ccab", "zz"]
GRAPHS = [mercer.Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (2, 3, 4, 5, 6, 7)]
X = np.random.default_rng(0).normal(size=(6, 2))
LABELS = [0, 1, 0, 1, 2, 2]


def differences(model: Any, new: Any) -> Any:
    """f(x) from coef_ and the features, less f(x) from the support vectors."""
    like = {} if model.kernel_.features.shared else {"like": model.support_vectors_}
    found = model.kernel_.feature_map(new, **like) @ model.coef_.T + model.intercept_
    return found - np.reshape(model.dual_function().predict(new), found.shape)


@pytest.mark.parametrize(
    ("kernel", "rows", "new"),
    [
        (mercer.Spectrum(2), WORDS, NEW),
        (mercer.Spectrum(2).normalized(), WORDS, NEW),
        (mercer.GappedSpectrum(2, gaps=1), WORDS, NEW),
        (mercer.Spectrum(1) * mercer.Spectrum(2) + mercer.Constant(1.0), WORDS, NEW),
        (mercer.WeisfeilerLehman(2), GRAPHS, GRAPHS[::2]),
        (mercer.Polynomial(2), X, X[:2] + 1),
    ],
)
@pytest.mark.parametrize("labels", [LABELS, [v % 2 for v in LABELS]])
def test_the_decision_is_linear_in_the_features(kernel: Any, rows: Any, new: Any, labels: Any) -> None:
    model = mercer.SVC(kernel).fit(rows, labels)
    assert np.abs(differences(model, new)).max() < 1e-12
    if kernel != mercer.Polynomial(2):
        assert model.coef_.shape[1] == len(kernel.feature_names(model.support_vectors_))


def test_other_machines_and_no_support_vectors() -> None:
    machine = mercer.NuSVC(mercer.Spectrum(2), nu=0.2).fit(WORDS, LABELS)
    assert np.abs(differences(machine, NEW)).max() < 1e-12
    model = mercer.SVR(mercer.Spectrum(2)).fit(WORDS, np.arange(6.0))
    assert np.abs(differences(model, NEW)).max() < 1e-12
    assert mercer.SVR(mercer.Spectrum(2), epsilon=10.0).fit(WORDS, np.arange(6.0)).coef_.shape == (1, 0)


@pytest.mark.parametrize("kernel", [mercer.Gaussian(1.0), mercer.Precomputed()])
def test_kernels_without_finite_features_have_none(kernel: Any) -> None:
    model = mercer.SVC(kernel).fit(np.eye(6), LABELS)
    assert not hasattr(model, "coef_") and not hasattr(mercer.SVC(mercer.Linear()), "coef_")
