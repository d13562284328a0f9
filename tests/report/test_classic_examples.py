"""The examples on feature maps, the perceptron and novelty run as a reader runs them; the displays say what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.estimators.means.nearest_mean import NearestMean
from mercer.estimators.means.novelty_ball import NoveltyBall
from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron
from mercer.report.novelty import NoveltyDisplay
from mercer.report.perceptron import NovikoffDisplay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--out", "pictures"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_feature_maps_separate(tmp_path: Path) -> None:
    lines = run("feature_maps", tmp_path).splitlines()
    assert ["not separable" in line for line in lines[:5]] == [True, False, True, False, False]
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 5


def test_mistakes_stay_below_the_bound(tmp_path: Path) -> None:
    table, _, runs = run("perceptron_mistakes", tmp_path).partition("\n\n")
    assert "60 updates, R^2/gamma^2 = 60" in runs
    for line in table.splitlines()[1:]:
        words = line.split()
        assert int(words[4]) <= int(words[5])
    assert (tmp_path / "pictures" / "perceptron_novikoff.png").stat().st_size > 5_000


def test_novelty_on_digits(tmp_path: Path) -> None:
    told = run("novelty_digits", tmp_path)
    assert float(told.split("ROC-AUC against the other digits: ")[1].split()[0]) > 0.99
    assert (tmp_path / "pictures" / "novelty_digits.png").exists()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_displays(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = KernelPerceptron(mercer.Gaussian(0.3), random_state=0).fit(X, y)
    assert len(NovikoffDisplay.from_estimator(model, label=1).norms) == model.n_updates_[1]
    with pytest.raises(InputError, match="one of the classes"):
        NovikoffDisplay.from_estimator(model, label="none")
    with pytest.raises(InputError, match="ledger_"):
        NovikoffDisplay.from_estimator(NearestMean().fit(X, y))
    ball = NoveltyBall().fit(X)
    assert NoveltyDisplay.from_estimator(ball).new is None
    assert len(NoveltyDisplay.from_estimator(ball, X[:4]).new) == 4
    detector = mercer.NoveltyDetector().fit(X)
    drawn = NoveltyDisplay.from_estimator(detector, X[:4] + 9.0)
    assert np.array_equal(drawn.known, -detector.loo_scores_) and (drawn.new > drawn.radius).all()
    with pytest.raises(InputError, match="has no scores of rows left out"):
        NoveltyDisplay.from_estimator(model)
