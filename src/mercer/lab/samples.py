"""Data to start from: generated ones, and tables of `mercer.datasets` moved into the square of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.lab.state import BOX, CURVE, MAX_WORDS, PLANE, WORDS, Data, DrawnPoints, NamedData, Words

Drawn = tuple[Array, Array]  # (n, 2) coordinates and (n,) classes

#: Tables are moved into |x|, |y| <= INNER, so that no point lies on the edge.
INNER = 2.6


@dataclass(frozen=True)
class Kind:
    """A recipe: its title, what it makes, and how."""

    title: str
    kind: str
    make: Callable[[int, Any], Any]


def _halves(n: int) -> Array:
    return np.arange(n) % 2


def _moons(n: int, rng: Any) -> Drawn:
    c = _halves(n)
    t = rng.uniform(0.0, np.pi, n)
    P = np.column_stack([np.cos(t), np.sin(t)]) * np.where(c, -1.0, 1.0)[:, None]
    P += np.where(c[:, None] == 1, [0.5, 0.25], [-0.5, -0.25]) + 0.12 * rng.normal(size=(n, 2))
    return 1.5 * P, c


def _circles(n: int, rng: Any) -> Drawn:
    c = _halves(n)
    t, r = rng.uniform(0.0, 2 * np.pi, n), np.where(c, 0.8, 2.1) + 0.15 * rng.normal(size=n)
    return np.column_stack([r * np.cos(t), r * np.sin(t)]), c


def _blobs(n: int, rng: Any) -> Drawn:
    c = np.arange(n) % 3
    centers = np.array([[-1.5, -1.0], [1.5, -1.0], [0.0, 1.5]])
    return centers[c] + 0.55 * rng.normal(size=(n, 2)), c


def _line(n: int, rng: Any) -> Drawn:
    """Two classes that a straight line separates, with a gap."""
    c = _halves(n)
    along, across = rng.uniform(-2.0, 2.0, n), rng.uniform(0.12, 1.5, n) * np.where(c, 1.0, -1.0)
    return np.column_stack([along - across, along + across]) / np.sqrt(2.0) + [0.45, -0.35], c


def _random(n: int, rng: Any) -> Drawn:
    """Random labels."""
    return rng.uniform(-2.5, 2.5, size=(n, 2)), rng.permutation(_halves(n))


def _spread(n: int, rng: Any) -> Drawn:
    """Two samples with one mean and different spread."""
    c = _halves(n)
    return rng.normal(size=(n, 2)) * np.where(c, 1.1, 0.5)[:, None], c


def _arc(n: int, rng: Any) -> Drawn:
    """A noisy arc, one class."""
    t = rng.uniform(-2.4, 2.4, n)
    P = np.column_stack([t, 0.55 * t**2 - 1.6]) + 0.2 * rng.normal(size=(n, 2))
    return P, np.zeros(n, int)


def _sine(n: int, rng: Any) -> Drawn:
    x = np.sort(rng.uniform(-2.8, 2.8, n))
    return np.column_stack([x, 1.5 * np.sin(2.0 * x) + 0.25 * rng.normal(size=n)]), np.zeros(n, int)


def _gap(n: int, rng: Any) -> Drawn:
    """A sine with a gap without points."""
    x = np.sort(np.concatenate([rng.uniform(-2.8, -0.8, n - n // 3), rng.uniform(1.2, 2.8, n // 3)]))
    return np.column_stack([x, 1.3 * np.sin(1.8 * x) + 0.15 * rng.normal(size=n)]), np.zeros(n, int)


def _tent(n: int, rng: Any) -> Drawn:
    x = np.linspace(-2.8, 2.8, n)
    return np.column_stack([x, np.maximum(0.0, 2.0 - 1.5 * np.abs(x))]), np.zeros(n, int)


def _penguins(n: int, rng: Any) -> Drawn:
    from mercer.datasets import load_penguins

    table = load_penguins().table
    P = np.column_stack([table["Culmen Length (mm)"].to_numpy(), table["Culmen Depth (mm)"].to_numpy()]).astype(float)
    species = np.unique(table["Species"].to_numpy(), return_inverse=True)[1]
    rows = _some(n, np.isfinite(P).all(axis=1).nonzero()[0], rng)
    return _moved(P[rows]), species[rows]


def _airfoil(n: int, rng: Any) -> Drawn:
    from mercer.datasets import load_airfoil

    table = load_airfoil().table
    P = np.column_stack([table["displacement thickness"].to_numpy(), table["sound pressure"].to_numpy()]).astype(float)
    rows = _some(n, np.arange(len(P)), rng)
    P[:, 0] = np.log(P[:, 0] - P[:, 0].min() + 2e-4)  # from millimeters to tens of them: by powers
    return _moved(P[rows]), np.zeros(len(rows), int)


def _names(n: int, rng: Any) -> tuple[tuple[str, int], ...]:
    from mercer.datasets import load_names

    table = load_names().table
    names, languages = table["name"].to_numpy(), table["language"].to_numpy()
    each = max(1, min(n, MAX_WORDS) // 3)
    found = []
    for label, language in enumerate(("Italian", "Japanese", "Polish")):
        mine = np.unique([name for name in names[languages == language] if name.isprintable() and "," not in name])
        found += [(str(name), label) for name in rng.choice(mine, each, replace=False)]
    return tuple(found)


def _fruit(n: int, rng: Any) -> tuple[tuple[str, int], ...]:
    return tuple((word, 0) for word in ["banana", "bandana", "cabana", "ananas", "panama"]) + tuple(
        (word, 1) for word in ["kiwi", "kiwis", "wiki", "wikis", "taiwan"]
    )


def _genes(n: int, rng: Any) -> tuple[tuple[str, int], ...]:
    """Random letters; those of class 0 contain TATAAT."""
    found = []
    for i in range(min(n, 30)):
        gene = "".join(rng.choice(list("ACGT"), 14))
        place = int(rng.integers(0, 8))
        found.append((gene[:place] + "TATAAT" + gene[place + 6 :] if i % 2 == 0 else gene, i % 2))
    return tuple(found)


RECIPES: dict[str, Kind] = {
    "moons": Kind("Two moons", PLANE, _moons),
    "circles": Kind("Circles", PLANE, _circles),
    "line": Kind("Separable by a line", PLANE, _line),
    "blobs": Kind("Three blobs", PLANE, _blobs),
    "random": Kind("Random labels", PLANE, _random),
    "spread": Kind("Same mean, other spread", PLANE, _spread),
    "arc": Kind("Noisy arc", PLANE, _arc),
    "penguins": Kind("Penguins (culmens)", PLANE, _penguins),
    "sine": Kind("Sine", CURVE, _sine),
    "gap": Kind("Sine with a gap", CURVE, _gap),
    "tent": Kind("Tent", CURVE, _tent),
    "airfoil": Kind("Airfoil (noise)", CURVE, _airfoil),
    "fruit": Kind("Words", WORDS, _fruit),
    "names": Kind("Surnames", WORDS, _names),
    "genes": Kind("Genes", WORDS, _genes),
}

#: Default data for algorithms that cannot take the current data.
FIRST = {CURVE: NamedData("sine", 40), PLANE: NamedData("moons", 60), WORDS: NamedData("fruit")}


def kind_of(data: Data) -> str:
    """Whether data are a curve, points of the plane, or words."""
    if isinstance(data, NamedData):
        return RECIPES[data.name].kind
    return WORDS if isinstance(data, Words) else data.kind


@lru_cache(maxsize=32)
def drawn(data: Data) -> DrawnPoints | Words:
    """Return the points or words of named data, as drawn data."""
    if not isinstance(data, NamedData):
        return data
    if data.name not in RECIPES:
        raise InputError(f"data must be one of {', '.join(RECIPES)}; got {data.name!r}.")
    recipe = RECIPES[data.name]
    made = recipe.make(data.n, np.random.default_rng(data.seed))
    if recipe.kind == WORDS:
        return Words(made)
    P, c = made
    return DrawnPoints(tuple((float(x), float(y), int(label)) for (x, y), label in zip(P, c, strict=True)), recipe.kind)


def arrays(data: Data) -> tuple[Array, Array]:
    """Coordinates, (n, 2), and classes, (n,), of points."""
    found = drawn(data)
    if isinstance(found, Words):
        raise InputError("words have no coordinates.")
    table = np.array(found.points, dtype=np.float64).reshape(-1, 3)
    return table[:, :2], table[:, 2].astype(int)


def texts(data: Data) -> tuple[list[str], Array]:
    """Words, and their classes, (n,)."""
    found = drawn(data)
    if not isinstance(found, Words):
        raise InputError("these data are points, not words.")
    return [word for word, _ in found.words], np.array([label for _, label in found.words], dtype=int)


def _some(n: int, rows: Array, rng: Any) -> Array:
    return rows if n >= len(rows) else np.sort(rng.choice(rows, n, replace=False))


def _moved(P: Array) -> Array:
    low, high = P.min(axis=0), P.max(axis=0)
    return (2.0 * (P - low) / np.maximum(high - low, 1e-12) - 1.0) * INNER


assert INNER < BOX
