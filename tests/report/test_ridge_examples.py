"""The examples run as a reader runs them, small; what they promise on real data holds there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(name: str, *arguments: str, folder: Path) -> str:
    """The output of `python examples/NAME.py`, run from somewhere else."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the digits; the others are imported beside it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("digits")


@pytest.mark.slow
def test_under_and_over_fitting_draws_its_pictures(tmp_path: Path) -> None:
    told = run("under_and_over_fitting", "--n", "30", folder=tmp_path)
    pictures = sorted(path.stem for path in (tmp_path / "build" / "examples").glob("*.png"))
    kinds = ["fits", "path", "predictions", "smoothness_fourier", "smoothness_mercer", "surface"]
    assert pictures == [f"ridge_{kind}" for kind in kinds]
    assert "chosen by leave-one-out" in told


def test_robust_ridge_prints_and_draws(tmp_path: Path) -> None:
    told = run("robust_ridge", "--n", "50", "--seeds", "2", "--out", "pictures", folder=tmp_path)
    plain, huber = (float(word) for word in told.splitlines()[-3].split()[1:])  # the line with most outliers
    assert huber < plain
    assert (tmp_path / "pictures" / "ridge_robust.png").stat().st_size > 10_000


def test_a_million_features_prints_both_costs(tmp_path: Path) -> None:
    told = run("ridge_million_features", "--train", "200", "--test", "100", folder=tmp_path)
    assert "1,048,576 products of two pixels" in told
    assert "Training: " in told and "Evaluation: " in told


def test_random_labels_runs_small(tmp_path: Path) -> None:
    assert "PASS" in run("random_labels", "--train", "200", "--test", "300", folder=tmp_path)


def test_the_counted_costs_are_those_of_the_lectures(example: ModuleType) -> None:
    module = importlib.import_module("ridge_million_features")
    dual, pixels, products = module.costs(1000, 1024, 1024**2).values()
    assert dual[0] < pixels[0] < products[0]  # cheaper to train, in a million dimensions ...
    assert dual[1] == pytest.approx(1000 * pixels[1], rel=0.01)  # ... and a thousand times dearer to evaluate


def test_without_mnist_the_digits_of_scikit_learn_serve(example: ModuleType, tmp_path: Path) -> None:
    data = example.load(1000, 797, mnist=tmp_path / "missing.npz")
    assert data.train.shape == (1000, 1024) and data.test.shape == (797, 1024)
    assert "scikit-learn" in data.origin
    module = importlib.import_module("ridge_million_features")
    routes = module.experiment(data._replace(train=data.train[:300], train_digits=data.train_digits[:300]))["routes"]
    assert routes["dual, quadratic kernel"][-1] < routes["primal, pixels"][-1]


def test_mnist_is_padded(example: ModuleType, shared_data: Path) -> None:
    data = example.load(50, 20)
    images = data.train.reshape(-1, 32, 32)
    assert "MNIST" in data.origin and images.max() == 1.0
    assert not images[:, :2].any() and not images[:, :, -2:].any()
    assert len(np.unique(data.train_digits)) > 5


@pytest.mark.slow
def test_random_labels_are_fitted_and_true_ones_learned(example: ModuleType, shared_data: Path) -> None:
    module = importlib.import_module("random_labels")
    found = module.experiment(example.load(2000, 10_000))
    assert found["random_training_error"] == 0
    assert found["random_test_error"] > 0.85  # nothing to learn
    assert found["true_test_error"] <= found["tuned_test_error"] + 0.01
    assert found["tuned_test_error"] < 0.06
    assert found["random_norm"] > 2 * found["true_norm"]


@pytest.mark.slow
def test_a_million_features_beat_the_pixels(example: ModuleType, shared_data: Path) -> None:
    module = importlib.import_module("ridge_million_features")
    found = module.experiment(example.load(1000, 2000))
    assert found["features"] == 1_048_576
    dual, pixels = found["routes"].values()
    assert dual[-1] < 0.08 < 0.12 < pixels[-1]
