"""Pre-images of strings: the best candidate, improved by single edits while the feature-space error falls.

An edit substitutes, inserts or deletes one letter, out of the letters of the training strings. The search ends where no
single edit helps: a local minimum of the error, and said to be no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.grams import GramOperator
from mercer.kernels.base import Kernel

#: Edited strings evaluated at a time.
EDITS_AT_A_TIME = 4096

#: Edits made in a row to one string, at most.
EDITS = 200


def alphabet_of(strings: Sequence[Any]) -> list[Any]:
    """The letters or tokens that occur, in a fixed order."""
    found = {letter for string in strings for letter in string}
    return sorted(found, key=lambda letter: (str(type(letter)), str(letter)))


def neighbors_of(string: Any, alphabet: Sequence[Any]) -> Iterator[Any]:
    """Every string one edit away: substitutions, deletions, insertions."""
    wrap = (lambda letter: letter) if isinstance(string, str) else (lambda letter: (letter,))
    for i in range(len(string)):
        for letter in alphabet:
            if letter != string[i]:
                yield string[:i] + wrap(letter) + string[i + 1 :]
        if len(string) > 1:
            yield string[:i] + string[i + 1 :]
    for i in range(len(string) + 1):
        for letter in alphabet:
            yield string[:i] + wrap(letter) + string[i:]


def errors_of(kernel: Kernel, strings: Sequence[Any], anchors: Any, gamma: Array, square: float) -> Array:
    """||phi(y) - target||^2 for every string y and one target with coefficients gamma on the anchors."""
    listed = list(strings)
    inner = np.asarray(GramOperator(kernel, listed, anchors) @ gamma)
    return np.asarray(kernel.diag(listed), dtype=np.float64) - 2.0 * inner + square


def improve(
    kernel: Kernel, string: Any, error: float, anchors: Any, gamma: Array, square: float, alphabet: list[Any]
) -> tuple[Any, float]:
    """Take the best single edit again and again while it lowers the error."""
    used = np.flatnonzero(gamma)
    for _ in range(EDITS):
        found, least = None, error - 1e-10 * (1.0 + abs(error))
        edited = list(dict.fromkeys(neighbors_of(string, alphabet)))
        for start in range(0, len(edited), EDITS_AT_A_TIME):
            portion = edited[start : start + EDITS_AT_A_TIME]
            errors = errors_of(kernel, portion, [anchors[i] for i in used], gamma[used], square)
            best = int(errors.argmin())
            if errors[best] < least:
                found, least = portion[best], float(errors[best])
        if found is None:
            break
        string, error = found, least
    return string, error
