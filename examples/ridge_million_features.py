r"""Regression in a million dimensions

A regression in a million dimensions from a 1000 x 1000 system: quadratic kernel on images of 32 x 32 pixels.

    python examples/ridge_million_features.py [--out FOLDER]

The quadratic kernel $\langle x, z\rangle^2$ is the inner product of vec(xx') and vec(zz'): $1024^2$ features per image.
Training in the dual solves n equations, whatever the number of features; evaluation costs a kernel value per training
image.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from digits import Digits, load

from mercer import KernelRidge, Linear, Polynomial
from mercer.planning import gemm_rate


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs, the first being off the record."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def costs(n: int, d: int, features: int) -> dict[str, tuple[float, float]]:
    """Flops of training and of evaluating one image: symmetric products count once, a factorization a third of a cube."""
    return {
        "dual, quadratic kernel": (float(n) ** 2 * d + n**3 / 3, n * (2.0 * d + 3)),
        "primal, pixels": (float(d) ** 2 * n + d**3 / 3, 2.0 * d),
        "primal, all products": (float(features) ** 2 * n + float(features) ** 3 / 3, 3.0 * features),
    }


def experiment(data: Digits, alpha: float = 1.0) -> dict[str, Any]:
    """Fit "is the digit even?" both ways and measure; returns all numbers that are printed."""
    n, d = data.train.shape
    y, truth = (np.where(digits % 2 == 0, 1.0, -1.0) for digits in (data.train_digits, data.test_digits))
    models = {
        "dual, quadratic kernel": KernelRidge(Polynomial(degree=2, offset=0.0), alpha=alpha, solver="cholesky"),
        "primal, pixels": KernelRidge(Linear(), alpha=alpha, solver="primal"),
    }
    counted, found = costs(n, d, d * d), {}
    for name, model in models.items():
        training = seconds(lambda model=model: model.fit(data.train, y))
        evaluation = seconds(lambda model=model: model.predict(data.test)) / len(truth)
        wrong = float(np.mean(np.sign(model.predict(data.test)) != truth))
        unknowns = n if name.startswith("dual") else d
        found[name] = (unknowns, counted[name][0], training, counted[name][1], evaluation, wrong)
    features = Polynomial(degree=2, offset=0.0).feature_map(data.train[:1], combined=False).shape[1]
    return {"n": n, "pixels": d, "features": features, "routes": found, "unaffordable": counted["primal, all products"]}


def draw(found: dict[str, Any], out: Path) -> None:
    """Flops of the three ways, for training and for one image."""
    from lecture import save

    from mercer.report.drawing import BLUE, GRAY, pyplot

    counted = costs(found["n"], found["pixels"], found["features"])
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
    for ax, place, title in zip(axes, (0, 1), ("training", "evaluating one image"), strict=True):
        flops = [each[place] for each in counted.values()]
        bars = ax.barh(list(counted), flops, color=[GRAY if "all" in name else BLUE for name in counted])
        ax.bar_label(bars, fmt="%.1e", padding=3)
        ax.set(xscale="log", xlabel="floating-point operations", title=title, xlim=(1e2, max(flops) * 1e4))
    save(figure, out / "ridge_million_features.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--train", type=int, default=1000, help="training images")
    parser.add_argument("--test", type=int, default=2000, help="test images")
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    options = parser.parse_args()
    data = load(options.train, options.test)
    found = experiment(data)
    n, features = found["n"], found["features"]
    print(f"{data.origin}: {n} training and {len(data.test)} test images of {found['pixels']} pixels; even or odd digit?")
    print(f"The quadratic kernel works in a space of {features:,} products of two pixels.\n")
    head = (
        ("unknowns", 10),
        ("train, flops", 14),
        ("train, s", 10),
        ("image, flops", 14),
        ("image, s", 10),
        ("test error", 12),
    )
    print(" " * 24 + "".join(f"{word:>{width}}" for word, width in head))
    for name, (unknowns, flops, spent, each, per_image, wrong) in found["routes"].items():
        print(f"{name:24}{unknowns:>10,}{flops:>14.2e}{spent:>10.3f}{each:>14.2e}{per_image:>10.1e}{wrong:>12.1%}")
    flops, each = found["unaffordable"]
    days = flops / gemm_rate() / 86400
    print(f"{'primal, all products':24}{features:>10,}{flops:>14.2e}{'-':>10}{each:>14.2e}{'-':>10}{'-':>12}")
    print(f"\nThe last line was not run: its matrix takes {8 * features**2 / 1e12:.1f} TB, and {days:,.0f} days here.")
    dual, pixels = found["routes"].values()
    print(f"Training: the dual in {features:,} dimensions takes {dual[1] / pixels[1]:.2f} times the flops of the primal in")
    print(f"{found['pixels']:,} pixels ({dual[2] / pixels[2]:.2f} times its seconds here).")
    print(f"Evaluation: {dual[3] / pixels[3]:,.0f} times the flops, {dual[4] / pixels[4]:,.0f} times the seconds per image.")
    if options.out is not None:
        draw(found, options.out)


if __name__ == "__main__":
    main()
