"""Novelty on handwritten digits

A ball around the mean of one digit, and which other digits fall outside.

    python examples/novelty_digits.py [--digit D] [--out FOLDER]

The ball is fitted to half of the images of one digit. The other half are alarms that should not be, the other digits
alarms that should: printed are the ROC-AUC, the rule's alarm rates, and those of the conformal p-values at 5 %.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from mercer import Gaussian, NoveltyBall


def split(digit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images of the digit to train on, more of it, and images of all others."""
    X, y = load_digits(return_X_y=True)
    own = np.random.default_rng(0).permutation(X[y == digit] / 16.0)
    return own[: len(own) // 2], own[len(own) // 2 :], X[y != digit] / 16.0


def main() -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description="Which digits are new to a ball that knows one?")
    parser.add_argument("--digit", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    chosen = parser.parse_args()
    folder = Path(chosen.out)
    folder.mkdir(parents=True, exist_ok=True)
    train, same, others = split(chosen.digit)
    ball = NoveltyBall(Gaussian("median"), quantile=0.95).fit(train)
    measured = ball.false_alarm_rate_  # computed on first access; the summary shows it from then on
    print(f"{ball}\nmeasured false alarms (leave-one-out): {measured:.3f}")
    scores = -ball.score_samples(np.vstack([same, others]))
    area = roc_auc_score(np.repeat([0, 1], [len(same), len(others)]), scores)
    print(f"ROC-AUC against the other digits: {area:.4f}")
    for name, alarm in (
        ("outside the ball", lambda X: ball.predict(X) == -1),
        ("p-value <= 0.05", lambda X: ball.p_values(X) <= 0.05),
    ):
        print(f"{name:18s} the same digit {alarm(same).mean():.3f}   other digits {alarm(others).mean():.3f}")
    from mercer.report.novelty import NoveltyDisplay

    NoveltyDisplay.from_estimator(ball, others).figure_.savefig(folder / "novelty_digits.png", dpi=110)


if __name__ == "__main__":
    main()
