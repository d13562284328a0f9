"""Sparse feature maps have 32-bit indices where these suffice, because forests and other estimators take no others."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import mercer

WORDS = ["abab", "baba", "aabb", "bbaa", "abba", "baab"] * 4


@pytest.mark.parametrize(
    "kernel",
    [
        mercer.Spectrum(p=2),
        mercer.Spectrum(p=2) + mercer.Spectrum(p=3),
        mercer.GappedSpectrum(p=2),
        2.0 * mercer.Spectrum(p=2),
    ],
    ids=str,
)
def test_a_forest_takes_the_feature_map(kernel: mercer.Kernel) -> None:
    Z = kernel.feature_map(WORDS)
    assert Z.indices.dtype == np.int32 and Z.indptr.dtype == np.int32
    np.testing.assert_allclose((Z @ Z.T).toarray(), kernel(WORDS), atol=1e-12)
    labels = [word[0] for word in WORDS]
    assert RandomForestClassifier(5, random_state=0).fit(Z, labels).predict(Z).shape == (24,)
