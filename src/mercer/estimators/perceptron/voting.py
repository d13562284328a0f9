"""The voted perceptron: every weight vector of the run votes with the number of presentations it survived."""

from __future__ import annotations

import numpy as np

from mercer.estimators.perceptron.passes import Mistakes
from mercer.linalg.solution import Array


def survivals(mistakes: Mistakes, presented: int) -> Array:  # (T,)
    """How many presentations each weight vector was in force, the one of its making included."""
    return np.diff(np.append(mistakes.times, presented + 1)).astype(np.int64)


def vote(values: Array, mistakes: Mistakes, signs: Array, presented: int) -> Array:  # (r, S), (T,) -> (r,)
    """Votes in [-1, 1] for r new points with kernel values against the rows that mistakes.rows number."""
    from mercer.estimators.perceptron._compiled_passes import votes

    out = np.empty(len(values))
    votes(np.ascontiguousarray(values), mistakes.rows, signs, survivals(mistakes, presented), out)
    return out / max(1, presented)
