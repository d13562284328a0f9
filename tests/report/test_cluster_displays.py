"""Displays of clusters draw what the estimator says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, KernelKMeans, Spectrum
from mercer.errors import InputError

plt = pytest.importorskip("matplotlib.pyplot", reason="displays need matplotlib")

from mercer.report.clusters import ExamplesDisplay, SilhouetteDisplay  # noqa: E402


@pytest.fixture
def model() -> Any:
    return KernelKMeans(Gaussian(2.0), 2).fit(rows())


def rows() -> Any:
    return np.concatenate([np.random.default_rng(0).normal(size=(20, 4)) + shift for shift in (0.0, 5.0)])


def test_silhouettes_are_sorted_in_their_clusters(model: Any) -> None:
    display = SilhouetteDisplay.from_estimator(model, rows(), names=["near", "far"])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["near", "far"]
    mean = float(model.silhouette_samples(rows()).mean())
    assert display.ax_.lines[0].get_xdata()[0] == pytest.approx(mean)
    with pytest.raises(InputError, match="3 names for 2 clusters"):
        SilhouetteDisplay.from_estimator(model, rows(), names=["a", "b", "c"])
    with pytest.raises(InputError, match="fit a KernelKMeans first"):
        SilhouetteDisplay.from_estimator(KernelKMeans(), rows())
    plt.close("all")


def test_examples_are_images_or_texts(model: Any) -> None:
    display = ExamplesDisplay.from_estimator(model, rows(), n=3, shape=(2, 2))
    assert display.axes_.shape == (2, 3)
    first = model.nearest_rows(rows(), 3)[0][0]
    assert np.array_equal(display.axes_[0, 0].images[0].get_array(), rows()[first].reshape(2, 2))
    words = ["abab", "baba", "cdcd", "dcdc", "cdc"]
    texts = ExamplesDisplay.from_estimator(KernelKMeans(Spectrum(1), 2).fit(words), words, n=3)
    shown = {text.get_text() for panel in texts.axes_.flat for text in panel.texts}
    assert shown == set(words)
    plt.close("all")
