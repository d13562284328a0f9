"""Molecules read by RDKit: from SMILES text, from RDKit's own objects, and from graphs that were read from SMILES."""

from __future__ import annotations

from typing import Any

from mercer.errors import InputError, MissingExtraError, describe

#: How bonds are labeled; others carry RDKit's own name, such as "DATIVE".
BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}

#: The largest SMILES text that is read; RDKit needs time and memory beyond proportion for longer ones.
LONGEST_SMILES = 20_000


def read_molecule(text: Any, where: str) -> Any:
    """Return RDKit's molecule of a SMILES text; `where` names the text in messages."""
    if not isinstance(text, str):
        raise InputError(f"{where} takes a SMILES text such as 'CCO'; got {describe(text)}.")
    try:
        from rdkit import Chem
        from rdkit.rdBase import BlockLogs
    except ImportError:
        raise MissingExtraError(
            f"{where} is a text, which is read as a molecule in SMILES by RDKit: pip install 'mercer[graphs]'."
        ) from None
    if len(text) > LONGEST_SMILES:
        raise InputError(f"{where}: the SMILES has {len(text)} characters; at most {LONGEST_SMILES} are read.")
    with BlockLogs():  # the message below replaces RDKit's output on the terminal
        molecule = Chem.MolFromSmiles(text)
    if molecule is None or not text.strip():
        shown = text if len(text) <= 80 else text[:77] + "…"
        raise InputError(f"{where}: {shown!r} is not a valid SMILES of a molecule; correct it or leave the row out.")
    return molecule


def as_molecule(value: Any, where: str) -> Any:
    """Return RDKit's molecule behind a SMILES text, an RDKit molecule, or a graph that was read from SMILES."""
    if is_molecule(value):
        if value.GetNumAtoms() == 0:
            raise InputError(f"{where} is a molecule without atoms; leave the row out.")
        return value
    if isinstance(value, str):
        return read_molecule(value, where)
    smiles = getattr(value, "smiles", None)
    if isinstance(smiles, str):
        return read_molecule(smiles, where)
    raise InputError(
        f"{where} is {describe(value)}, not a molecule. Give SMILES text such as 'CCO', an RDKit molecule, or "
        "mercer.Graph.from_smiles(text); other graphs have too little chemistry."
    )


def is_molecule(value: Any) -> bool:
    """Whether a value is a molecule of RDKit; RDKit is not imported for it."""
    return type(value).__module__.startswith("rdkit.") and hasattr(value, "GetNumAtoms")


def molecule_graph(molecule: Any, hydrogens: bool = False) -> tuple[int, list[tuple[int, int]], list[str], list[str]]:
    """Return number of atoms, bonds, labels of atoms and of bonds: the arguments of `Graph`."""
    if hydrogens:
        from rdkit import Chem

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
