"""Explanations of predictions on molecules: contributions of atoms and substructures, drawn by RDKit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import plural
from mercer.explanations.graphs import Placed, Places, SubgraphPart, term_positions
from mercer.explanations.strings import Contributions, Weigh, explanation_fragment, signed
from mercer.inputs.graphs import check_atoms
from mercer.inputs.molecules import as_smiles
from mercer.kernels.features import Occurrence, Summand
from mercer.markup.html import text
from mercer.markup.svg import NEGATIVE, POSITIVE, element

#: Atoms and substructures printed by default.
SHOWN = 10


@dataclass(frozen=True)
class Molecule:
    """The explained molecule in the form in which it was given, and as RDKit reads it."""

    item: Any
    rdkit: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Molecule) and (self.item is other.item or self.item == other.item)

    __hash__ = None  # type: ignore[assignment]  # molecules of RDKit have no hash by content


def term_atoms(
    known: Summand, here: Summand, coefficients: Floats, places: Places, weigh: Weigh | None = None
) -> Contributions:
    """Return the contributions to one term of a kernel on molecules; equal substructures are listed once."""
    molecule = here.rows.molecules()[0]
    check_atoms(molecule, "x", "explanations are of molecules")
    thing = Molecule(here.rows.items("molecules")[0], molecule)
    found = list(known.kernel.occurrences(molecule) or ())
    placed = Placed(thing, molecule.GetNumAtoms(), found, fragment_names(molecule))
    parts = term_positions(placed, known, here, coefficients, places, weigh)
    merged: dict[str, tuple[float, float, int]] = {}
    for name, part, weight, count in parts.features:  # a substructure that occurs t times has t features
        old = merged.get(name, (0.0, 0.0, 0))
        merged[name] = old[0] + part, old[1] + weight, old[2] + count
    return replace(parts, features=tuple((name, *values) for name, values in merged.items()))


def fragment_names(molecule: Any) -> Callable[[Occurrence], str]:
    """Return the function that writes a substructure as SMILES, or two separate atoms with their distance."""
    from rdkit import Chem

    distance = Chem.GetDistanceMatrix(molecule)
    names: dict[tuple[int, ...], str] = {}

    def write(one: Occurrence) -> str:
        key = tuple(sorted(set(one.example or one.positions)))
        if key not in names:
            steps = distance[key[0], key[-1]]
            pair = len(key) == 2 and steps > 1
            written = Chem.MolFragmentToSmiles(molecule, list(key), canonical=True)
            names[key] = f"{written.replace('.', ' … ')}, {steps:.0f} bonds apart" if pair else written
        return names[key]

    return write


@dataclass(frozen=True, eq=False)
class MoleculeExplanation:
    """One decision as a sum: intercept + descriptors + contributions.sum() == value.

    Attributes
    ----------
    smiles : the molecule as SMILES
    atoms : symbols of the atoms, in the order of the SMILES that was given
    contributions : (n_atoms,) array, the contribution of each atom
    value : the decision value; positive values support `label`
    intercept : the intercept of the model plus the constant terms of its kernel
    descriptors : contribution of terms that describe the whole molecule, 0 if there are none
    features : tuple of SubgraphPart, the substructures by size of contribution
    label : what was explained, such as "class 'active'"
    """

    smiles: str
    atoms: tuple[str, ...]
    contributions: Floats
    value: float
    intercept: float
    descriptors: float
    features: tuple[SubgraphPart, ...]
    label: str
    molecule: Any = None  # as RDKit reads it

    def top(self, n: int = SHOWN) -> tuple[SubgraphPart, ...]:
        """Return the n substructures with the largest contributions of either sign."""
        return self.features[:n]

    def __str__(self) -> str:
        lines = [self._head(), f"  {self.smiles}"]
        for v in np.argsort(-np.abs(self.contributions), kind="stable")[:SHOWN].tolist():
            lines.append(f"  {f'atom {v} ({self.atoms[v]})':<14} {signed(float(self.contributions[v])):>9}")
        if self.descriptors:
            lines.append(f"  {'descriptors':<14} {signed(self.descriptors):>9} (logP, mass, rings, … of the whole molecule)")
        width = max((len(one.name) for one in self.top()), default=0)
        for one in self.top():
            lines.append(f"  {one.name:<{width}} {signed(one.contribution):>9} ({plural(one.count, 'time')})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.html()

    def svg(self, width: int = 420, height: int = 300) -> str:
        """Return a picture: atoms with positive contributions in blue, with negative ones in vermillion."""
        return picture(self.molecule, self.atoms, self.contributions, width, height)

    def html(self) -> str:
        """Return HTML: the picture and a table of substructures."""
        rows = [(one.name, one.contribution, one.weight, one.count) for one in self.top()]
        return explanation_fragment(self._head(), self.svg(), "substructure", rows)

    def _head(self) -> str:
        atoms = float(self.contributions.sum())
        other = f" {_signed(self.descriptors)} (descriptors)" if self.descriptors else ""
        return (
            f"{self.label}: {self.value:.4g} = {self.intercept:.4g} (intercept) {_signed(atoms)} "
            f"({plural(len(self.contributions), 'atom')}){other}"
        )


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.3g}"


def molecule_explanation(parts: Contributions, places: Places, intercept: float, label: str) -> MoleculeExplanation:
    """Return the explanation of a molecule from the sum of all terms; `intercept` is that of the model."""
    molecule = parts.text.rdkit
    return MoleculeExplanation(
        str(as_smiles(parts.text.item) if isinstance(parts.text.item, str) else as_smiles(molecule)),
        tuple(atom.GetSymbol() for atom in molecule.GetAtoms()), parts.contributions, parts.total + intercept,
        intercept + parts.base, parts.whole, places.parts(parts), label, molecule,
    )  # fmt: skip


def picture(molecule: Any, atoms: tuple[str, ...], parts: Floats, width: int, height: int) -> str:
    """Return the structural formula as SVG on disks in the color of each contribution, which is also a tooltip."""
    from rdkit.Chem.Draw import rdMolDraw2D

    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    colors = {v: _blended(float(part) / largest) for v, part in enumerate(parts)}
    drawing = rdMolDraw2D.MolDraw2DSVG(width, height)
    rdMolDraw2D.PrepareAndDrawMolecule(
        drawing, molecule, highlightAtoms=list(colors), highlightAtomColors=colors, highlightBonds=[],
        highlightAtomRadii=dict.fromkeys(colors, 0.4),
    )  # fmt: skip
    drawing.FinishDrawing()
    tips = []
    for v, part in enumerate(parts.tolist()):
        place = drawing.GetDrawCoords(v)
        tip = element("title", text(f"atom {v} ({atoms[v]}): {part:+.3g}"))
        tips.append(element("circle", tip, cx=place.x, cy=place.y, r=12, fill="#fff", fill_opacity=0))
    drawn = str(drawing.GetDrawingText())
    drawn = drawn[drawn.index("<svg") :]  # the picture may stand inside a page
    return drawn[: drawn.rindex("</svg>")] + "".join(tips) + "</svg>"


def _blended(share: float) -> tuple[float, ...]:
    """Return a color between white and blue or vermillion."""
    full = [int(value) / 255 for value in (POSITIVE if share > 0 else NEGATIVE).split(",")]
    return tuple(1.0 - abs(share) * 0.75 * (1.0 - value) for value in full)
