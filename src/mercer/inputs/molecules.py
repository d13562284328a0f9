"""Molecules written in SMILES as graphs, read by RDKit."""

from __future__ import annotations

from typing import Any

from mercer.errors import InputError, MissingExtraError, describe

#: How bonds are labeled; others carry RDKit's own name, such as "DATIVE".
BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}


def read_molecule(text: Any, where: str, hydrogens: bool = False) -> tuple[int, list[tuple[int, int]], list[str], list[str]]:
    """Number of atoms, bonds, labels of both: what makes the graph of a molecule; `where` names the text in messages."""
    if not isinstance(text, str):
        raise InputError(f"{where} takes a SMILES text such as 'CCO'; got {describe(text)}.")
    try:
        from rdkit import Chem
        from rdkit.rdBase import BlockLogs
    except ImportError:
        raise MissingExtraError(
            f"{where} is a text, which is read as a molecule in SMILES by RDKit: pip install 'mercer[graphs]'."
        ) from None
    with BlockLogs():  # what is wrong is said below, once
        molecule = Chem.MolFromSmiles(text)
    if molecule is None or not text.strip():
        raise InputError(f"{where}: {text!r} is not a valid SMILES of a molecule; correct it or leave the row out.")
    if hydrogens:
        molecule = Chem.AddHs(molecule)
    bonds = list(molecule.GetBonds())
    return (
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        [_atom(atom) for atom in molecule.GetAtoms()],
        [BONDS.get(str(bond.GetBondType()), str(bond.GetBondType())) for bond in bonds],
    )


def _atom(atom: Any) -> str:
    symbol = atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
    charge = atom.GetFormalCharge()
    return str(symbol + ("+" if charge > 0 else "-") * abs(charge))
