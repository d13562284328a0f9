"""A decision on one string, graph or molecule, taken apart term by term of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.explanations.graphs import GraphExplanation, Places, term_nodes
from mercer.explanations.molecules import Molecule, MoleculeExplanation, molecule_explanation, term_atoms
from mercer.explanations.strings import Contributions, StringExplanation, Weigh, term_constant, term_letters
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Graph, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.features import Summand

ObjectExplanation = StringExplanation | GraphExplanation | MoleculeExplanation


class Term(NamedTuple):
    """One term of the kernel on the training rows and on the explained object, with the coefficients (n,) of the rows."""

    known: Summand
    here: Summand
    coefficients: Floats


@dataclass(frozen=True)
class ObjectParts:
    """The contributions of all terms at one object; without the intercept of the model."""

    letters: Contributions
    places: Places

    def explanation(self, intercept: float, label: str) -> ObjectExplanation:
        """Return the explanation; `intercept` is that of the model."""
        letters, thing = self.letters, self.letters.text
        if isinstance(thing, Molecule):
            return molecule_explanation(letters, self.places, intercept, label)
        value, base = letters.total + intercept, intercept + letters.base
        if isinstance(thing, Graph):
            return GraphExplanation(thing, letters.contributions, value, base, self.places.parts(letters), label)
        return StringExplanation(thing, letters.contributions, value, base, letters.substrings(), label)


def object_parts(function: DualFunction, rows: Rows, here: Rows, weigh: Weigh | None = None) -> ObjectParts:
    """Return the parts of f(x) - b = sum_i a_i k(x_i, x) for the one object x of `here`; `rows` are the x_i.

    A kernel that is divided, such as Tanimoto, is q_i(x) <phi(x_i), phi(x)>: at a given x the model is linear in the
    features of x with the weights sum_i a_i q_i(x) phi(x_i), and the parts are exact.
    """
    letters, places = None, Places()
    for term in terms(function.kernel, rows, here, np.asarray(function.dual)):
        part = _term(term, function.kernel, places, weigh)
        letters = part if letters is None else letters.plus(part, term.known.kernel)
    assert letters is not None  # a kernel has at least one term
    return ObjectParts(letters, places)


def terms(kernel: Kernel, known: Rows, here: Rows, coefficients: Floats) -> Iterator[Term]:
    """Iterate over the terms of a kernel, those of a divided kernel with divided coefficients."""
    for left, right in zip(kernel.summands(known), kernel.summands(here), strict=True):
        divided = left.kernel.quotient(left.rows, right.rows)
        if divided is None:
            yield Term(left, right, coefficients)
        else:
            inner, q = divided
            yield from terms(inner, left.rows, right.rows, coefficients * left.factor * right.factor[0] * q)


def _term(term: Term, whole: Kernel, places: Places, weigh: Weigh | None) -> Contributions:
    known, here, coefficients = term
    domains = known.kernel.domains
    if domains == {"vectors"}:  # descriptors of a molecule
        values = np.asarray(known.kernel(known.rows, here.rows), dtype=np.float64)[:, 0]
        part = float(here.factor[0] * (coefficients * known.factor) @ values)
        return Contributions(None, np.zeros(0), 0.0, (), part)
    if known.kernel.occurrences("C" if domains == {"molecules"} else "") is None:
        raise _no_features(known.kernel, whole)
    if domains == {"graphs"}:
        return term_nodes(known, here, coefficients, places, weigh)
    if domains == {"molecules"}:
        return term_atoms(known, here, coefficients, places, weigh)
    if domains == {"strings"}:
        return term_letters(known, here, coefficients, weigh)
    return term_constant(known, here, coefficients)


def _no_features(term: Kernel, whole: Kernel) -> CapabilityError:
    inside = "" if term is whole else f" (a term of {whole})"
    return CapabilityError(
        f"explain: {term}{inside} has no features with a name and a position in x. These kernels have: Spectrum, "
        "Mismatch, GappedSpectrum, WeightedDegree, CircularSubstructures, all on graphs except RandomWalk, and their sums, "
        "multiples, normalized() and tanimoto()."
    )


def counts_features(kernel: Kernel) -> bool:
    """Return whether a kernel counts features of strings, graphs or molecules, and is not about columns of a table."""
    found = _compared(kernel)
    return bool(found - {"any"}) and found <= {"strings", "graphs", "molecules", "any"}


def _compared(kernel: Kernel) -> frozenset[str]:
    """Return the kinds of objects that parts of a kernel compare; descriptors of a molecule are a part of a molecule."""
    if kernel.views == {"molecules"} or not kernel.children:
        return kernel.views
    return frozenset().union(*[_compared(child) for child in kernel.children])
