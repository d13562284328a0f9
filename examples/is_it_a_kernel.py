"""Is it a kernel? Proofs and counter-examples

Proofs and counter-examples for a set of expressions, as `make show-proofs` prints them; with a folder, a picture of spectra.

    python examples/is_it_a_kernel.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.validity import check_gram, repair

PROVEN = [
    "Gaussian(length_scale=2.0)",
    "Polynomial(degree=2, offset=1.0)",
    "3.0 * Laplacian(length_scale=1.0) + Linear() ** 2",
    "(Linear() * Periodic(length_scale=1.0, period=7.0)).exp().normalized()",
    "Spectrum(p=3, presence=False).on('name') + Matern(nu=2.5, length_scale=1.0).on('age')",
]

REFUTED = [
    "Bilinear([[1.0, 2.0], [2.0, 1.0]])",
    "Tanh(scale=1.0, offset=-1.0)",
    "Tanh(scale=1.0, offset=1.0)",
    "Gaussian(length_scale=1.0) + Tanh(scale=1.0, offset=0.0)",
]

REFUSED = ["Gaussian() - Linear()", "-2.0 * Gaussian()", "Linear().polynomial((1.0, -1.0))", "Gaussian() ** 0.5"]


def minus_inner(X: Any, Z: Any) -> Any:
    """-<x, z>."""
    return -(X @ Z.T)


def neighbors(X: Any, Z: Any) -> Any:
    """1 if two points are at most 1 apart, else 0."""
    return np.float64(np.abs(X[:, None, :] - Z[None, :, :]).max(axis=-1) <= 1.0)


def shortest(X: Any, Z: Any) -> Any:
    """min(|x|, |z|), the covariance of Brownian motion: a kernel, but no rule here knows it."""
    return np.minimum(np.abs(X).sum(axis=1)[:, None], np.abs(Z).sum(axis=1)[None, :])


def heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def draw(out: Path) -> None:
    """Eigenvalues of Gram matrices on thirty points of a line: those of a kernel never fall below zero."""
    from lecture import save

    from mercer.report.drawing import BLUE, GREEN, ORANGE, VERMILLION, pyplot

    X = np.linspace(-2.0, 2.0, 30)[:, None]
    shown = [
        (mercer.Gaussian(0.5), "Gaussian(0.5)", BLUE),
        (mercer.Function(shortest), "min(|x|, |z|)", GREEN),
        (mercer.Tanh(scale=1.0, offset=-1.0), "Tanh(1, offset=-1)", VERMILLION),
        (mercer.Function(neighbors), "1 if within 1, else 0", ORANGE),
    ]
    figure, axes = pyplot().subplots(2, 4, figsize=(11, 5), layout="constrained", height_ratios=(1.2, 1.0))
    for (kernel, name, color), top, below in zip(shown, *axes, strict=True):
        K = np.asarray(kernel(X))
        top.imshow(K, cmap="cividis", vmin=-1.0, vmax=2.0)
        top.set(title=name, xticks=[], yticks=[])
        s = np.linalg.eigvalsh(K)[::-1]
        below.axhline(0.0, color="black", lw=0.8)
        below.bar(range(1, 13), [*s[:6], *s[-6:]], color=color)
        below.set(yscale="symlog", xticks=[1, 12], xticklabels=["1", "30"], xlabel="eigenvalues 1-6 and 25-30")
        below.set_title(f"smallest {s[-1]:.2g}" if s[-1] < -1e-9 else "none below zero", fontsize=10)
    save(figure, out / "is_it_a_kernel.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    out = parser.parse_args().out
    heading("Proofs by the closure rules")
    for text in PROVEN:
        print(mercer.parse(text).certificate(), end="\n\n")

    heading("The same as a tree")
    print(mercer.parse(PROVEN[2]).certificate().tree())

    heading("Counter-examples")
    for text in REFUTED:
        print(mercer.parse(text).certificate(), end="\n\n")
    for function in (minus_inner, neighbors):
        print(mercer.Function(function).certificate(), end="\n\n")

    heading("Neither: a function that no rule covers and no points refute")
    print(mercer.Function(shortest).certificate())

    heading("Refused where it is written")
    for text in REFUSED:
        try:
            mercer.parse(text)
        except ValueError as error:
            print(f"{text}\n  {str(error).splitlines()[0]}")

    heading("A matrix from elsewhere, and its repair")
    K = [[1.0, 2.0], [2.0, 1.0]]
    print(check_gram(K))
    for method in ("clip", "flip", "shift"):
        print(f"  {method}: {repair(K, method).gram.round(12).tolist()}")
    if out is not None:
        draw(out)


if __name__ == "__main__":
    main()
