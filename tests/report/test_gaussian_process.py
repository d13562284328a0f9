"""Displays of a Gaussian process, and the examples a reader runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, GaussianProcessRegressor
from mercer.errors import InputError
from mercer.report.gaussian_process import LINE, CalibrationDisplay, ProcessDisplay, RelevanceDisplay

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wave() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 10, 60))[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    return GaussianProcessRegressor(Gaussian(1.0), noise=0.04, optimizer=None).fit(X, y), X, y


def test_mean_bands_and_samples(wave: tuple[Any, Any, Any]) -> None:
    import matplotlib.pyplot as plt

    model, X, y = wave
    _, ax = plt.subplots()
    display = ProcessDisplay.from_estimator(model, X, y, n_samples=2, ax=ax)
    assert display.ax_ is ax
    mean, std = model.predict(display.points[:, None], return_std=True)
    assert np.array_equal(display.mean, mean)
    assert np.array_equal(display.latent, std)
    assert np.allclose(display.noisy**2 - display.latent**2, 0.04)
    assert display.samples.shape == (LINE, 2)
    assert len(ax.lines) == 3, "two samples and the mean"
    assert len(ax.collections) == 3, "two bands and the data"
    assert ProcessDisplay.from_estimator(model, X[:, 0], y, n_samples=0).samples.shape == (LINE, 0)


def test_what_cannot_be_drawn_is_refused(wave: tuple[Any, Any, Any]) -> None:
    model, X, y = wave
    with pytest.raises(InputError, match="function of one number"):
        ProcessDisplay.from_estimator(model, np.hstack([X, X]), y)
    with pytest.raises(InputError, match="one target: y has shape"):
        ProcessDisplay.from_estimator(model, X, np.c_[y, y])
    with pytest.raises(InputError, match="between 0 and 1; got 95"):
        ProcessDisplay.from_estimator(model, X, y, coverage=95)
    with pytest.raises(InputError, match="with their targets y, or neither"):
        CalibrationDisplay.from_estimator(model, X)
    with pytest.raises(InputError, match="columns of an"):
        RelevanceDisplay.from_estimator(model, X[:, 0])
    with pytest.raises(InputError, match=r"2 names for 1 column\."):
        RelevanceDisplay.from_estimator(model, X, names=["a", "b"])


def test_calibration_of_the_right_model_is_near_the_diagonal(wave: tuple[Any, Any, Any]) -> None:
    model, _, _ = wave
    inside = CalibrationDisplay.from_estimator(model)
    assert inside.source == "leave-one-out"
    assert np.array_equal(inside.pit, model.loo_.pit)
    new = np.random.default_rng(1).uniform(0, 10, (500, 1))
    truth = np.sin(new[:, 0]) + 0.2 * np.random.default_rng(2).normal(size=500)
    outside = CalibrationDisplay.from_estimator(model, new, truth, levels=(0.5, 0.9))
    assert outside.source == "new rows"
    assert np.all(np.abs(outside.observed - [0.5, 0.9]) < 0.08)
    interval = model.predict_interval(new, 0.9)
    assert np.isclose(outside.observed[1], np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))


def test_relevance_follows_the_length_scales() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    kernel = Gaussian([4.0, 1.0, 100.0])
    model = GaussianProcessRegressor(kernel, noise=0.1, optimizer=None).fit(X, rng.normal(size=80))
    display = RelevanceDisplay.from_estimator(model, X, names=["wide", "narrow", "flat"])
    assert display.names == ("narrow", "wide", "flat")
    spread = X.std(axis=0)
    assert np.allclose(display.relevance, np.array([1.0, spread[0] / spread[1] / 4, spread[2] / spread[1] / 100]), rtol=1e-5)
    assert len(display.ax_.patches) == 3
    assert RelevanceDisplay.from_estimator(model, X, shown=1).names == ("column 1",)


# -- examples ----------------------------------------------------------------------------------------------------------


def run(name: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments, "--out", "pictures"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_conditioned_gaussian_is_ridge(tmp_path: Path) -> None:
    lines = run("gp_is_ridge", tmp_path).splitlines()
    assert len(lines) == 4
    assert all(float(line.split()[-1]) < 1e-10 for line in lines)
    assert (tmp_path / "pictures" / "gp_is_ridge.png").stat().st_size > 5_000


def test_a_composition_finds_the_season(tmp_path: Path) -> None:
    told = run("gp_composition", tmp_path)
    assert abs(float(told.split("period found: ")[1].split()[0]) - 1.0) < 0.002
    own, naive = (float(told.split(mark)[1].split(end)[0]) for mark, end in (("RMSE ", " "), ("repeated: ", ")")))
    assert own < naive
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"gp_composition.png", "gp_calibration.png"}


@pytest.mark.slow
def test_molecules(tmp_path: Path) -> None:
    told = run("gp_molecules", tmp_path)
    assert float(told.split("new molecules: ")[1].split()[0]) < 1.1
    assert 92 <= float(told.split("intervals hold ")[1].split("%")[0]) <= 99
