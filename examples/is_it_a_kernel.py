"""Is it a kernel? Proofs and counter-examples for a set of expressions; run by `make demo`."""

from __future__ import annotations

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


def main() -> None:
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


if __name__ == "__main__":
    main()
