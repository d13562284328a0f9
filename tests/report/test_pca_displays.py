"""Displays of kernel PCA say what they draw, and the examples run as a reader runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mercer import Gaussian, KernelPCA, NoveltyBall
from mercer.errors import InputError
from mercer.estimators.pca.denoising import noise_level
from mercer.report.pca import ComponentsDisplay, ImagesDisplay, ProjectionDisplay, ScreeDisplay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_displays(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 2))
    model = KernelPCA(Gaussian(1.0), n_components=4).fit(X)
    scree = ScreeDisplay.from_estimator(model)
    np.testing.assert_array_equal(scree.variances, model.explained_variance_)
    shown = ComponentsDisplay.from_estimator(model, X, grid=12)
    assert shown.values.shape == (4, 12, 12) and len(shown.names) == 4
    corner = model.transform([[shown.x[0], shown.y[-1]]])[0]
    np.testing.assert_allclose(shown.values[:, -1, 0], corner, atol=1e-12)
    plane = ProjectionDisplay.from_estimator(model, {"a": X[:10], "b": X[10:]}, components=(1, 3))
    np.testing.assert_allclose(plane.groups["a"], model.transform(X[:10])[:, [1, 3]])
    assert len(ImagesDisplay({"clean": rng.normal(size=(3, 4, 4)), "noisy": rng.normal(size=(3, 4, 4))}).plot().axes_) == 2
    with pytest.raises(InputError, match="points of the plane"):
        ComponentsDisplay.from_estimator(model, rng.normal(size=(5, 3)))
    with pytest.raises(InputError, match="no component 7"):
        ProjectionDisplay.from_estimator(model, {"a": X}, components=(0, 7))
    with pytest.raises(InputError, match="fit a KernelPCA first"):
        ScreeDisplay.from_estimator(NoveltyBall().fit(X))
    with pytest.raises(InputError, match="their numbers differ"):
        ImagesDisplay({"a": np.zeros((2, 3, 3)), "b": np.zeros((1, 3, 3))})


def test_the_level_of_noise_is_measured(rng: np.random.Generator) -> None:
    clean = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 40))
    for level in (0.0, 0.1, 1.0):
        found = noise_level(clean, clean + level * rng.normal(size=clean.shape))
        assert found == pytest.approx(level, abs=0.02 + 0.05 * level)
    with pytest.raises(InputError, match="same columns"):
        noise_level(clean, clean[:, :5])


def test_the_plane(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "kernel_pca_plane.py"), "--out", "pictures"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    words = result.stdout.split("distance to the ring: noisy ")[1].split()
    assert float(words[2].rstrip(";")) < 0.3 * float(words[0].rstrip(","))
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 4


@pytest.mark.slow
def test_digits(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "kernel_pca_digits.py"), "--out", "pictures"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    for line in result.stdout.splitlines()[::2]:
        errors = dict(part.rsplit(" ", 1) for part in line.split(": ")[1].split(", "))
        assert float(errors["kernel PCA"]) < float(errors["linear PCA"]) < float(errors["noisy"])
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 3
