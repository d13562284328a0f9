"""Pictures of support vector machines, and the example that draws them as a reader runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import SVC, SVCCV, Gaussian, KernelRidge, NuSVC, Polynomial
from mercer.errors import InputError
from mercer.report.svm import MarginDisplay, SurfaceDisplay

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "svm_margins.py"


@pytest.fixture
def plane(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(80, 2))
    return X, np.where((X**2).sum(axis=1) + 0.3 * rng.normal(size=80) > 1.5, "out", "in")


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2)], ids=str)
def test_the_picture_holds_the_function_and_the_support_vectors(plane: tuple, kernel: object) -> None:
    X, y = plane
    model = SVC(kernel, C=2.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, points=50)
    corner = np.array([[display.places[0][3], display.places[1][40]]])
    assert display.values[40, 3] == pytest.approx(model.decision_function(corner)[0])
    np.testing.assert_array_equal(np.sort(X[display.support], axis=0), np.sort(model.support_vectors_, axis=0))
    assert display.bounded.sum() == model.ledger_.n_at_bound
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:2] == ["in", "out"] and any("at the bound C" in label for label in labels)
    assert len(display.ax_.collections) >= 4  # the regions and three lines
    assert display.figure_ is display.ax_.figure


def test_many_classes_and_axes_of_ones_own(plane: tuple) -> None:
    import matplotlib.pyplot as plt

    X, _ = plane
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    _, ax = plt.subplots()
    display = MarginDisplay.from_estimator(SVC(Gaussian(1.0)).fit(X, y), X, y, points=40, ax=ax)
    assert display.ax_ is ax
    assert set(np.unique(display.values)) == {0.0, 1.0, 2.0}
    assert MarginDisplay.from_estimator(NuSVC(Gaussian(1.0), nu=0.2).fit(X, y), X, y, points=20).title.count("vectors") == 1


def test_the_surface_of_c_and_length_scale(plane: tuple) -> None:
    X, y = plane
    model = SVCCV(Gaussian(1.0), Cs=[10.0, 0.1, 1.0], length_scales=[2.0, 1.0], cv=3).fit(X, y)
    display = SurfaceDisplay.from_estimator(model)
    assert display.alphas.tolist() == [0.1, 1.0, 10.0]
    assert display.ax_.get_xlabel() == "C" and display.ax_.get_ylabel() == "length scale"
    assert display.errors[display.best_index] == pytest.approx(1.0 - model.best_score_)
    curve = SurfaceDisplay.from_estimator(SVCCV(Gaussian(1.0), Cs=[0.1, 1.0], length_scales=[1.0], cv=3).fit(X, y))
    assert curve.ax_.get_xlabel() == "C"
    assert MarginDisplay.from_estimator(model, X, y, points=20).title.startswith("Gaussian(")


def test_what_cannot_be_drawn(plane: tuple) -> None:
    X, y = plane
    model = SVC(Gaussian(1.0)).fit(X, y)
    with pytest.raises(InputError, match="not a fitted support vector classifier"):
        MarginDisplay.from_estimator(KernelRidge().fit(X, X[:, 0]), X, y)
    with pytest.raises(InputError, match=r"X has shape \(80, 3\)"):
        MarginDisplay.from_estimator(model, np.ones((80, 3)), y)
    with pytest.raises(InputError, match="labels that the model was fitted on"):
        MarginDisplay.from_estimator(model, X, np.arange(80))
    with pytest.raises(InputError, match="fitted on more rows"):
        MarginDisplay.from_estimator(model, X[:5], y[:5])
    with pytest.raises(InputError, match="has no surface_"):
        SurfaceDisplay.from_estimator(model)


@pytest.mark.slow
def test_the_example_draws_its_pictures(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--out", "pictures"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("support vectors") == 7 and "chosen: length scale" in result.stdout
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert names == ["svm_chosen.png", "svm_gaussian.png", "svm_polynomial.png", "svm_surface.png"]


@pytest.mark.parametrize("name", ["KernelPerceptron", "NearestMean", "KernelRidgeClassifier"])
def test_margins_of_other_classifiers_are_not_drawn_as_those_of_a_machine(name):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    model = getattr(mercer, name)(mercer.Linear()).fit(X, y)
    with pytest.raises(mercer.errors.InputError, match="support vector"):
        MarginDisplay.from_estimator(model, X, y)
