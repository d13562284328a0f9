"""Random attacks on the prover: no false "valid", no false "invalid", whatever the numbers.

    python -m tests.validity.attack [TRIES] [SEED]

Every try draws one of six cases whose truth is known by other means, asks for a certificate, and compares:

    edge      x'Bz with B at the edge of rounding; the truth is the sign of all principal minors, in fractions
    tainted   a term that is not psd inside wrappers that keep it so: never "valid", and a counter-example must hold
    grown     random valid trees over psd matrices at the edge: "valid", and nothing is found by searching all the same
    extreme   leaves with huge and tiny parameters, nested: "valid", and nothing is found
    function  a valid kernel hidden in a Python function, on awkward points: never "invalid"
    cancel    a kernel by the closure rules, written as a function whose terms cancel: never "invalid"
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

import mercer
from mercer import Bilinear, Function, Gaussian, Linear, Polynomial
from mercer.kernels.base import Kernel
from mercer.validity.counterexamples import search
from mercer.validity.witness import CounterExample

#: How often each case is drawn.
CASES = {"edge": 0.45, "tainted": 0.2, "grown": 0.15, "extreme": 0.06, "function": 0.04, "cancel": 0.1}


class FalseAnswerError(AssertionError):
    """The prover said something that is not true."""


def attack(tries: int, seed: int) -> Counter[str]:
    """Return how often each answer was given in each case; a false one raises."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    names, weights = list(CASES), list(CASES.values())
    with np.errstate(all="ignore"):
        for _ in range(tries):
            case = str(rng.choice(names, p=weights))
            counts[f"{case}: {globals()[case](rng)}"] += 1
    return counts


# -- the cases ----------------------------------------------------------------------------------------------------------


def edge(rng: np.random.Generator) -> str:
    B = edge_matrix(rng)
    status, truth = Bilinear(B).certificate(), minors_say_psd(B)
    if (status.status == "valid" and not truth) or (status.status == "invalid" and truth):
        raise FalseAnswerError(f"{status.status}, but psd is {truth}: {B.tolist()!r}")
    if status.counterexample is not None:
        verify(status.counterexample, B)
    return status.status


def tainted(rng: np.random.Generator) -> str:
    B = edge_matrix(rng)
    while minors_say_psd(B):
        B = edge_matrix(rng)
    kernel: Kernel = Bilinear(B)
    width = len(B)
    for _ in range(int(rng.integers(1, 4))):
        kernel = keeping(rng, kernel, width)
        width = kernel.width() or width
    status = kernel.certificate()
    if status.status == "valid":
        raise FalseAnswerError(f"valid, but it is not psd: {kernel}")
    if status.counterexample is not None and not status.counterexample.value < 0:
        raise FalseAnswerError(f"a counter-example of {status.counterexample.value}: {kernel}")
    return status.status


def grown(rng: np.random.Generator) -> str:
    B = edge_matrix(rng)
    while not minors_say_psd(B):
        B = edge_matrix(rng)
    kernel: Kernel = Bilinear(B)
    for _ in range(int(rng.integers(0, 4))):
        kernel = closing(rng, kernel, len(B))
    return _valid(kernel, rng, len(B))


def extreme(rng: np.random.Generator) -> str:
    width = int(rng.integers(1, 4))
    kernel = extreme_leaf(rng)
    for _ in range(int(rng.integers(0, 4))):
        kernel = closing(rng, kernel, width)
    return _valid(kernel, rng, width)


def function(rng: np.random.Generator) -> str:
    width = int(rng.integers(1, 4))
    kernel = closing(rng, extreme_leaf(rng), width)
    hidden = Function(lambda X, Z: kernel(X, Z))
    found = search(hidden, awkward_points(rng, width))[0]
    if found is not None:
        raise FalseAnswerError(
            f"invalid ({found.kind}), but it is a kernel: {kernel} at {found.points!r}, c = {found.vector!r}"
        )
    return "not refuted"


def cancel(rng: np.random.Generator) -> str:
    width = int(rng.integers(1, 4))
    formula, text = cancelling(rng, width)
    seen = str(rng.choice(["as NumPy", "as NumPy", "after asarray", "row by row"]))
    formula = PROGRAMS[seen](formula)
    X = near_points(rng, width) if rng.random() < 0.9 else None
    found = search(Function(formula), X)[0]
    if found is not None:
        raise FalseAnswerError(f"invalid, but it is a kernel ({seen}): {text} at {found.points!r}, c = {found.vector!r}")
    return "not refuted"


def _valid(kernel: Kernel, rng: np.random.Generator, width: int) -> str:
    status = kernel.certificate().status
    if status == "invalid":
        raise FalseAnswerError(f"invalid, but it is a kernel: {kernel}")
    found = search(kernel, awkward_points(rng, width))[0] if rng.random() < 0.2 else None
    if found is not None:
        raise FalseAnswerError(f"a search refutes a kernel: {kernel} at {found.points!r}, c = {found.vector!r}")
    return status


# -- what they are made of ----------------------------------------------------------------------------------------------


def edge_matrix(rng: np.random.Generator) -> np.ndarray:
    """A psd matrix, exact or rounded, of any rank, nudged at one place, with columns of any size."""
    d = int(rng.integers(1, 5))
    root = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    root = np.rint(3 * root) if rng.random() < 0.5 else root
    B = root.T @ root
    if rng.random() < 0.6:
        i, j = rng.integers(0, d, 2)
        B[i, j] += rng.choice([-1, 1]) * 2.0 ** -float(rng.integers(1, 80)) * max(np.abs(B).max(), 1)
        B[j, i] = B[i, j]
    if rng.random() < 0.5:
        s = 2.0 ** rng.integers(-250, 250, d).astype(float) if rng.random() < 0.5 else 10.0 ** rng.uniform(-75, 75, d)
        B = B * s[:, None] * s[None, :]
    return np.triu(B) + np.triu(B, 1).T


def extreme_leaf(rng: np.random.Generator) -> Kernel:
    size = float(10.0 ** rng.uniform(-140, 140)) if rng.random() < 0.5 else float(10.0 ** rng.uniform(-3, 3))
    small = float(10.0 ** rng.uniform(-30, 30))
    leaves: list[Any] = [
        lambda: Gaussian(size), lambda: mercer.Laplacian(size), lambda: mercer.Exponential(size),
        lambda: mercer.Matern(float(rng.choice([0.5, 1.5, 2.5, 0.7])), length_scale=size),
        lambda: mercer.RationalQuadratic(size, shape=small), lambda: mercer.Periodic(size, period=small),
        lambda: Polynomial(int(rng.integers(1, 9)), offset=small), Linear, lambda: mercer.Constant(size),
    ]  # fmt: skip
    return leaves[int(rng.integers(len(leaves)))]()


def closing(rng: np.random.Generator, kernel: Kernel, width: int) -> Kernel:
    """A kernel made from one by a closure rule."""
    factor = float(10.0 ** rng.uniform(-20, 20))
    ways: list[Any] = [
        lambda: kernel + extreme_leaf(rng), lambda: factor * kernel, lambda: kernel * extreme_leaf(rng),
        lambda: kernel ** int(rng.integers(0, 5)), lambda: (factor * kernel).exp(), lambda: kernel.normalized(),
        lambda: kernel.polynomial((0.5, 0.0, factor)), lambda: kernel + Polynomial(3) * Linear(),
    ]  # fmt: skip
    return ways[int(rng.integers(len(ways)))]()


#: A function of the rows of two arrays.
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]


def cancelling(rng: np.random.Generator, width: int) -> tuple[Formula, str]:
    """A kernel in plain NumPy in which large terms cancel, and its formula.

    Power series with coefficients >= 0, their sums and products, centering and the part of a kernel that is orthogonal to
    one point are kernels by the closure rules.
    """
    a = float(10.0 ** rng.uniform(-3, 0.5))
    leaves: list[tuple[Formula, str]] = [
        (lambda X, Z: a * (X @ Z.T), f"{a} <x,z>"),
        (lambda X, Z: np.exp(-a * distances(X, Z)), f"exp(-{a} |x-z|^2)"),
        (lambda X, Z: (X @ Z.T + a) ** 2, f"(<x,z> + {a})^2"),
        (lambda X, Z: np.tanh(a * X) @ np.tanh(a * Z).T, f"<tanh {a} x, tanh {a} z>"),
    ]  # fmt: skip
    formula, text = leaves[int(rng.integers(len(leaves)))]
    for _ in range(int(rng.integers(1, 4))):
        formula, text = _cancelled(rng, formula, text, width)
    return formula, text


def _cancelled(rng: np.random.Generator, k: Formula, text: str, width: int) -> tuple[Formula, str]:
    c, p, B = float(10.0 ** rng.uniform(-3, 0.5)), int(rng.integers(2, 5)), rng.normal(size=(3, width))
    big = float(10.0 ** rng.uniform(0, 8))
    ways: list[tuple[Formula, str]] = [
        (lambda X, Z: np.exp(c * k(X, Z)) - 1.0, f"exp({c} {text}) - 1"),
        (lambda X, Z: np.exp(c * k(X, Z)) - 1.0 - c * k(X, Z), f"exp({c} {text}) - 1 - {c} {text}"),
        (lambda X, Z: np.cosh(c * k(X, Z)) - 1.0, f"cosh({c} {text}) - 1"),
        (lambda X, Z: (1.0 + c * k(X, Z)) ** p - 1.0, f"(1 + {c} {text})^{p} - 1"),
        (lambda X, Z: (k(X, Z) + big) - big, f"({text} + {big}) - {big}"),
        (lambda X, Z: (k(X, Z) + big * (X @ Z.T)) - big * (X @ Z.T), f"({text} + {big} <x,z>) - {big} <x,z>"),
        (lambda X, Z: k(X, Z) - k(X, B).mean(1)[:, None] - k(B, Z).mean(0) + k(B, B).mean(), f"{text} centered on {B!r}"),
        (lambda X, Z: k(X, Z) - k(X, B[:1]) * k(B[:1], Z) / k(B[:1], B[:1]), f"{text} orthogonal to {B[0]!r}"),
        (lambda X, Z: k(X, Z) * k(X, Z) - 0.5 * k(X, Z) ** 2, f"({text})^2 / 2"),
    ]  # fmt: skip
    return ways[int(rng.integers(len(ways)))]


#: How a formula may be programmed: what happens inside of the second and third cannot be observed.
PROGRAMS: dict[str, Callable[[Formula], Formula]] = {
    "as NumPy": lambda f: f,
    "after asarray": lambda f: lambda X, Z: f(np.asarray(X), np.asarray(Z)),
    "row by row": lambda f: lambda X, Z: np.array([[float(f(x[None], z[None])[0, 0]) for z in Z] for x in X]),
}


def distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Squared distances, expanded into squares as many programs do."""
    return (X * X).sum(1)[:, None] + (Z * Z).sum(1) - 2.0 * (X @ Z.T)


def near_points(rng: np.random.Generator, width: int) -> np.ndarray:
    """Points of one scale, at 0 or around another point, with a duplicate and a near duplicate among them."""
    X = rng.normal(size=(8, width)) * 10.0 ** rng.uniform(-6, 0.7)
    X[1], X[2] = X[0], X[0] * (1 + 1e-8)
    return X + rng.normal(size=width) * (rng.random() < 0.4)


def keeping(rng: np.random.Generator, kernel: Kernel, width: int) -> Kernel:
    """A wrapper after which something that is not psd still is not."""
    ways: list[Any] = [
        lambda: float(10.0 ** rng.uniform(-20, 20)) * kernel, lambda: kernel + mercer.Constant(0.0),
        lambda: kernel * mercer.Constant(2.0), lambda: kernel**1, lambda: kernel.polynomial((0.0, 1.0)),
        lambda: kernel.on(*range(width)), lambda: 0.0 * Gaussian() + kernel,
    ]  # fmt: skip
    return ways[int(rng.integers(len(ways)))]()


def awkward_points(rng: np.random.Generator, width: int) -> np.ndarray:
    """Points of one scale with duplicates, near duplicates, an offset and a zero among them."""
    X = rng.normal(size=(8, width)) * 10.0 ** rng.uniform(-6, 6)
    X[1], X[2], X[3] = X[0], X[0] * (1 + 1e-15), X[0] * (1 + 1e-8)
    X[4] = 0.0
    return X + (10.0 ** rng.uniform(-3, 6) if rng.random() < 0.3 else 0.0)


# -- the truth ----------------------------------------------------------------------------------------------------------


def minors_say_psd(B: np.ndarray) -> bool:
    """All principal minors are >= 0, by Laplace's expansion in fractions."""
    F = [[Fraction(v) for v in row] for row in B.tolist()]
    sets = [c for size in range(1, len(F) + 1) for c in combinations(range(len(F)), size)]
    return all(_determinant([[F[i][j] for j in c] for i in c]) >= 0 for c in sets)


def _determinant(M: list[list[Fraction]]) -> Fraction:
    if len(M) == 1:
        return M[0][0]
    parts = ((-1) ** j * M[0][j] * _determinant([row[:j] + row[j + 1 :] for row in M[1:]]) for j in range(len(M)) if M[0][j])
    return sum(parts, Fraction(0))


def verify(found: CounterExample, B: np.ndarray) -> None:
    """c'Kc < 0 once more, in fractions and without the library."""
    F = [[Fraction(v) for v in row] for row in B.tolist()]
    w = [sum((Fraction(c) * Fraction(x) for c, x in zip(found.vector.tolist(), column, strict=True)), Fraction(0))
         for column in np.asarray(found.points).T.tolist()]  # fmt: skip
    value = sum((w[i] * F[i][j] * w[j] for i in range(len(w)) for j in range(len(w))), Fraction(0))
    if not value < 0 or not found.value < 0:
        raise FalseAnswerError(f"c'Kc = {float(value)}: {B.tolist()!r}")


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    found = attack(*(asked + [100_000, 0][len(asked) :]))
    print(f"{sum(found.values())} tries, 0 false answers")
    print("\n".join(f"  {name:<22} {count}" for name, count in sorted(found.items())))
