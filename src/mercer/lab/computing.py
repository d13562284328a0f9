"""A state becomes a picture: the one table of algorithms, and the kernel with its numbers in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.lab import fits, planes
from mercer.lab.kernels import read
from mercer.lab.pictures import Picture
from mercer.lab.samples import arrays, kind_of, texts
from mercer.lab.state import ALGORITHMS, CURVE, WORDS, State
from mercer.lab.words import words

_PICTURES: dict[str, Callable[[State, Kernel], Picture]] = {
    "ridge": fits.ridge, "gp": fits.gp, "features": fits.features, "svm": planes.svm, "perceptron": planes.perceptron,
    "mean": planes.mean, "knn": planes.knn, "ball": planes.ball, "pca": planes.pca, "mmd": planes.mmd,
}  # fmt: skip


def rows_of(state: State) -> Any:
    """What the kernel compares: one column for a curve, two for the plane, or words."""
    kind = kind_of(state.data)
    if kind == WORDS:
        return texts(state.data)[0]
    P, _ = arrays(state.data)
    return P[:, :1] if kind == CURVE else P


def kernel_of(state: State) -> Kernel:
    """The kernel of a state, "median" replaced by its number."""
    kernel = read(state.kernel)
    return kernel.resolve(rows_of(state)) if kernel.unresolved else kernel


def picture(state: State) -> Picture:
    """The main picture of a state; what cannot be computed is an error of mercer with its reason."""
    kind = kind_of(state.data)
    if kind not in state.asks.takes:
        takes = " or ".join(
            {"curve": "a curve", "plane": "points of the plane", "words": "words"}[k] for k in state.asks.takes
        )
        raise InputError(f"{state.asks.title} takes {takes}; choose other data, or another algorithm.")
    kernel = kernel_of(state)
    return words(state, kernel) if kind == WORDS else _PICTURES[state.algorithm](state, kernel)


assert set(_PICTURES) == set(ALGORITHMS)
