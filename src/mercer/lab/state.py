"""The state of a page: a plain frozen value. Whatever is shown is computed from it, and nothing else is kept."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mercer.errors import InputError, shown

#: The square that is drawn: |x|, |y| <= BOX.
BOX = 3.0

#: Digits behind the point of a coordinate, so that an address gives the same points back.
DIGITS = 3

MAX_POINTS, MAX_WORDS, MAX_LETTERS, MAX_CLASSES, MAX_KERNEL = 500, 80, 120, 4, 2000

CURVE, PLANE, WORDS = "curve", "plane", "words"


@dataclass(frozen=True)
class Parameter:
    """A number of an algorithm: its range, and how a slider walks through it."""

    name: str
    default: float
    least: float
    most: float
    scale: str = "log"  # "log", "linear" or "whole"
    words: str = ""  # beside the slider

    def check(self, owner: str, value: Any) -> float:
        """Return the number as it is stored; raise if it breaks a rule."""
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
        if not self.least <= number <= self.most or (self.scale == "whole" and number != int(number)):
            kind = "a whole number" if self.scale == "whole" else "a number"
            raise InputError(f"{owner}: {self.name} is {kind} from {self.least:g} to {self.most:g}; got {shown(value)}.")
        return float(f"{number:.6g}")  # as many digits as an address holds


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: its name in an address, its title, its kinds of data and its parameters."""

    name: str
    title: str
    takes: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    views: tuple[str, ...] = ()  # beside gram and spectrum, which all have


_ALPHA = Parameter("alpha", 0.1, 1e-6, 1e2, words="alpha, the penalty")
MOST_STEPS = 5000

ALGORITHMS: dict[str, Algorithm] = {
    one.name: one
    for one in (
        Algorithm("ridge", "Ridge regression", (CURVE,), (_ALPHA,), ("loo",)),
        Algorithm(
            "gp", "Gaussian process", (CURVE,), (Parameter("noise", 0.05, 1e-6, 1e1, words="noise variance"),), ("loo",)
        ),
        Algorithm(
            "features", "Random features", (CURVE,),
            (
                _ALPHA, Parameter("D", 30, 2, 400, "whole", "D, random features"),
                Parameter("seed", 0, 0, 99, "whole", "number of the draw"),
            ),
            ("loo",),
        ),
        Algorithm(
            "svm", "Support vector machine", (PLANE, WORDS),
            (Parameter("C", 10.0, 1e-2, 1e4, words="C, the price of errors"),), ("margins",),
        ),
        Algorithm(
            "perceptron", "Perceptron", (PLANE, WORDS),
            (Parameter("steps", 0, 0, MOST_STEPS, "whole", "corrections made"),), ("mistakes",),
        ),
        Algorithm("mean", "Nearest mean", (PLANE, WORDS), (), ("margins",)),
        Algorithm("knn", "Nearest neighbors", (PLANE, WORDS), (Parameter("k", 5, 1, 25, "whole", "k, neighbors"),)),
        Algorithm("ball", "Novelty ball", (PLANE,), (Parameter("quantile", 0.9, 0.5, 1.0, "linear", "share inside"),)),
        Algorithm(
            "pca", "Kernel PCA", (PLANE, WORDS),
            (
                Parameter("components", 3, 1, 20, "whole", "components kept"),
                Parameter("shown", 1, 1, 20, "whole", "component shown"),
            ),
        ),
        Algorithm(
            "discriminant", "Discriminant", (PLANE, WORDS),
            (Parameter("penalty", 1e-3, 1e-7, 1.0, words="penalty"),), ("projections",),
        ),
        Algorithm(
            "kmeans", "Kernel k-means", (PLANE, WORDS),
            (
                Parameter("clusters", 2, 1, MAX_CLASSES, "whole", "clusters"),
                Parameter("spectral", 0, 0, 1, "whole", "1: spectral clustering"),
            ),
            ("silhouettes",),
        ),
        Algorithm("mmd", "Two samples (MMD)", (PLANE,), (), ("null",)),
    )
}  # fmt: skip

#: The pictures that can stand beside the main one.
VIEWS = {
    "gram": "Gram matrix", "spectrum": "Spectrum", "loo": "Leave-one-out", "margins": "Margins",
    "mistakes": "Mistakes", "null": "Null distribution", "projections": "Projections", "silhouettes": "Silhouettes",
}  # fmt: skip


@dataclass(frozen=True)
class NamedData:
    """Data by name: `samples.RECIPES` says what it makes of a size and a seed."""

    name: str
    n: int = 60
    seed: int = 0


@dataclass(frozen=True)
class DrawnPoints:
    """Points that were drawn: (x, y, class); for a curve y is the target."""

    points: tuple[tuple[float, float, int], ...]
    kind: str = PLANE

    def __post_init__(self) -> None:
        if len(self.points) > MAX_POINTS:
            raise InputError(f"a page holds at most {MAX_POINTS} points; got {len(self.points)}.")
        object.__setattr__(self, "points", tuple(_point(*point) for point in self.points))


@dataclass(frozen=True)
class Words:
    """Texts with their classes, for kernels on strings (or on molecules, written in SMILES)."""

    words: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        if len(self.words) > MAX_WORDS:
            raise InputError(f"a page holds at most {MAX_WORDS} words; got {len(self.words)}.")
        object.__setattr__(self, "words", tuple((check_word(word), _class(label)) for word, label in self.words))


Data = NamedData | DrawnPoints | Words


@dataclass(frozen=True)
class LabState:
    """The content of a page: data, kernel as text, algorithm with its parameters, side view, page of the tour."""

    data: Data = NamedData("moons")
    kernel: str = "Gaussian(length_scale=1.0)"
    algorithm: str = "svm"
    parameters: Mapping[str, float] = field(default_factory=dict)
    view: str = "gram"
    tour: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise InputError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {shown(self.algorithm)}.")
        if self.view not in VIEWS:
            raise InputError(f"view must be one of {', '.join(VIEWS)}; got {shown(self.view)}.")
        if not isinstance(self.kernel, str) or len(self.kernel) > MAX_KERNEL:
            raise InputError(f"the kernel of a page is a text of at most {MAX_KERNEL} characters.")
        if self.query:
            check_word(self.query)
        known = {one.name: one for one in self.asks.parameters}
        for name in self.parameters:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise InputError(f"{self.algorithm} has no parameter {shown(name)}; its parameters: {listed}.")
        full = {name: one.check(self.algorithm, self.parameters.get(name, one.default)) for name, one in known.items()}
        object.__setattr__(self, "parameters", full)

    @property
    def asks(self) -> Algorithm:
        """The algorithm with its parameters."""
        return ALGORITHMS[self.algorithm]

    @property
    def views(self) -> tuple[str, ...]:
        """The side views that this algorithm has."""
        return ("gram", "spectrum", *self.asks.views)

    def having(self, **changes: Any) -> LabState:
        """A state with fields replaced; parameters that another algorithm lacks are dropped."""
        name = changes.get("algorithm", self.algorithm)
        if name != self.algorithm and name in ALGORITHMS and "parameters" not in changes:
            names = {one.name for one in ALGORITHMS[name].parameters}
            changes["parameters"] = {key: value for key, value in self.parameters.items() if key in names}
        return dataclasses.replace(self, **changes)

    def setting(self, **numbers: float) -> LabState:
        """A state with parameters of the algorithm replaced."""
        return dataclasses.replace(self, parameters={**self.parameters, **numbers})


def _point(x: Any, y: Any, label: Any) -> tuple[float, float, int]:
    if not (isinstance(x, (int, float)) and isinstance(y, (int, float)) and math.isfinite(x) and math.isfinite(y)):
        raise InputError(f"a point has two finite coordinates; got {shown((x, y))}.")
    return (_place(x), _place(y), _class(label))


def _place(value: float) -> float:
    return round(min(max(float(value), -BOX), BOX), DIGITS) + 0.0  # no negative zero


def _class(label: Any) -> int:
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < MAX_CLASSES:
        raise InputError(f"a class is a whole number from 0 to {MAX_CLASSES - 1}; got {shown(label)}.")
    return label


def check_word(word: Any) -> str:
    """A text that can be part of an address: printable, not too long, no comma."""
    if not isinstance(word, str) or not word.strip() or len(word) > MAX_LETTERS:
        raise InputError(f"a word has 1 to {MAX_LETTERS} letters; got {shown(word)[:80]}.")
    if not word.isprintable() or "," in word:
        raise InputError(f"a word has printable letters, and no comma; got {shown(word)[:80]}.")
    return word.strip()
