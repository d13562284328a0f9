r"""Random labels fitted without overfitting

A kernel can fit random labels perfectly, and yet does not overfit the true ones.

    python examples/random_labels.py [--out FOLDER]

A classifier by kernel ridge is tuned on the true labels. Then the labels of the training images are permuted, and alpha
is lowered, if need be, until every random label is fitted. With exactly these settings the true labels are fitted again:
the test error stays where it was. What tells the two fits apart is the norm $\lVert f \rVert$.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from digits import Digits, load

from mercer import KernelRidgeClassifier


def norm(model: KernelRidgeClassifier) -> float:
    """The norm of all class functions together."""
    return float(np.sqrt(np.sum(np.square(model.rkhs_norm_))))


def wrong(model: KernelRidgeClassifier, X: Any, digits: Any) -> float:
    """The fraction of rows that get another digit than theirs."""
    return float(np.mean(model.predict(X) != digits))


def experiment(data: Digits, seed: int = 0) -> dict[str, float]:
    """Tune on true labels, fit permuted ones without error, fit the true ones with the same settings."""
    tuned = KernelRidgeClassifier(alpha="loo").fit(data.train, data.train_digits)
    permuted = np.random.default_rng(seed).permutation(data.train_digits)
    alpha = float(tuned.best_alpha_)
    while True:
        settings = {"kernel": tuned.kernel_, "alpha": alpha}
        random = KernelRidgeClassifier(**settings).fit(data.train, permuted)
        if wrong(random, data.train, permuted) == 0 or alpha < 1e-9:
            break
        alpha /= 10
    true = KernelRidgeClassifier(**settings).fit(data.train, data.train_digits)
    return {
        "n": len(data.train),
        "tested": len(data.test),
        "length_scale": float(tuned.best_length_scale_),
        "tuned_alpha": float(tuned.best_alpha_),
        "tuned_test_error": wrong(tuned, data.test, data.test_digits),
        "alpha": alpha,
        "random_training_error": wrong(random, data.train, permuted),
        "random_test_error": wrong(random, data.test, data.test_digits),
        "random_norm": norm(random),
        "true_training_error": wrong(true, data.train, data.train_digits),
        "true_test_error": wrong(true, data.test, data.test_digits),
        "true_norm": norm(true),
    }


def draw(found: dict[str, float], out: Path) -> None:
    """Errors and norms of the two fits, side by side."""
    from lecture import save

    from mercer.report.drawing import BLUE, VERMILLION, pyplot

    figure, (left, right) = pyplot().subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for place, (kind, color) in enumerate((("random", VERMILLION), ("true", BLUE))):
        errors = [100 * found[f"{kind}_training_error"], 100 * found[f"{kind}_test_error"]]
        bars = left.bar([place * 0.4, 1 + place * 0.4], errors, 0.36, color=color, label=f"{kind} labels")
        left.bar_label(bars, fmt="%.1f", padding=2)
        right.bar_label(right.bar([f"{kind} labels"], [found[f"{kind}_norm"]], color=color), fmt="%.1f", padding=2)
    left.set_xticks([0.2, 1.2], ["training", "test"])
    left.set(ylabel="error in %", ylim=(0, 115), title="the same kernel and alpha")
    left.legend(frameon=False, loc="upper left")
    right.set(title="the norm ||f||", ylim=(0, 1.15 * found["random_norm"]))
    save(figure, out / "random_labels.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--train", type=int, default=2000, help="training images")
    parser.add_argument("--test", type=int, default=10000, help="test images")
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    options = parser.parse_args()
    data = load(options.train, options.test)
    found = experiment(data)
    print(f"{data.origin}: {found['n']} training and {found['tested']} test images\n")
    print(f"{'':34}{'alpha':>10}{'training error':>16}{'test error':>12}{'||f||':>12}")
    print(f"{'true labels, tuned':34}{found['tuned_alpha']:>10.1e}{'':>16}{found['tuned_test_error']:>12.2%}")
    for kind, name in (("random", "random labels"), ("true", "true labels, the same settings")):
        print(
            f"{name:34}{found['alpha']:>10.1e}{found[kind + '_training_error']:>16.2%}"
            f"{found[kind + '_test_error']:>12.2%}{found[kind + '_norm']:>12.4g}"
        )
    points = 100 * (found["true_test_error"] - found["tuned_test_error"])
    kept = found["random_training_error"] == 0 and points <= 1
    print(f"\nlength scale {found['length_scale']:.3g} by leave-one-out; fitting noise with it costs {points:+.2f} points.")
    print(f"Random labels need a function {found['random_norm'] / found['true_norm']:.1f} times as long.")
    print("PASS" if kept else "FAIL", "- random labels fitted without error, true ones within one point of the tuned error")
    if options.out is not None:
        draw(found, options.out)
    if not kept:
        sys.exit(1)


if __name__ == "__main__":
    main()
