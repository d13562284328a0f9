"""Columns of molecules: whether cells are SMILES, and which of them RDKit cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.inputs.graphs import LONGEST_SMILES, MOST_ATOMS, is_molecule, parsed

#: Cells that are read to tell SMILES from text, and the share of them that must be readable.
SAMPLE, SHARE = 100, 0.9

_LETTERS = re.compile(r"[A-Za-z0-9@+\-\[\]()=#$:/\\%.*]+")

#: Atoms without brackets; words such as "Oslo" have other letters.
_ORGANIC = re.compile(r"(?:Br|Cl|[BCNOSPFIbcnosp]|\[[^\]\[]+\]|[-=#$:/\\.*()0-9%])+")


def looks_like_molecules(cells: Sequence[Any]) -> bool:
    """Return whether nearly all cells are SMILES texts; RDKit reads some of them if their letters could be SMILES.

    >>> looks_like_molecules(["Oslo", "Rome", "a sentence"])
    False
    """
    if not cells or not all(isinstance(cell, str) for cell in cells):
        return False
    chosen = [cells[i] for i in np.unique(np.linspace(0, len(cells) - 1, SAMPLE).astype(np.intp))]
    likely = [cell for cell in chosen if _LETTERS.fullmatch(cell) and _ORGANIC.fullmatch(cell)]
    if len(likely) < SHARE * len(chosen) or find_spec("rdkit") is None:
        return False
    # words such as "NO" are SMILES too: bonds, branches, rings or brackets are in many molecules
    if 4 * sum(not cell.isalpha() for cell in likely) < len(likely):
        return False
    return len(likely) - len(unreadable(likely)) >= SHARE * len(chosen)


def unreadable(cells: Iterable[Any]) -> Indices:
    """Return the places of cells that are no molecule of 1 to 1,000 atoms; missing cells, None, are left out.

    >>> unreadable(["CCO", "C1CC", None]).tolist()  # doctest: +SKIP
    [1]
    """
    from rdkit.rdBase import BlockLogs

    found, known = [], dict[str, bool]()
    with BlockLogs():
        for place, cell in enumerate(cells):
            if cell is None:
                continue
            if is_molecule(cell):
                readable = _in_size(cell)
            elif not isinstance(cell, str) or not cell.strip() or len(cell) > LONGEST_SMILES:
                readable = False
            else:
                if cell not in known:
                    known[cell] = _in_size(parsed(cell))
                readable = known[cell]
            if not readable:
                found.append(place)
    return np.array(found, dtype=np.intp)


def _in_size(molecule: Any) -> bool:
    return molecule is not None and 0 < molecule.GetNumAtoms() <= MOST_ATOMS


def fault(cell: Any) -> str:
    """Return what is wrong with a cell that `unreadable` names.

    >>> fault("C" * 1001)  # doctest: +SKIP
    'has 1,001 atoms, and at most 1,000 are read'
    """
    from rdkit.rdBase import BlockLogs

    if isinstance(cell, str) and len(cell) > LONGEST_SMILES:
        return f"has {len(cell):,} characters, and at most {LONGEST_SMILES:,} are read"
    with BlockLogs():
        molecule = parsed(cell) if isinstance(cell, str) else cell
    if is_molecule(molecule) and molecule.GetNumAtoms() > MOST_ATOMS:
        return f"has {molecule.GetNumAtoms():,} atoms, and at most {MOST_ATOMS:,} are read"
    return "is no valid SMILES"


def as_smiles(cell: Any) -> Any:
    """Return the SMILES text of an RDKit molecule; other cells as they are."""
    if not is_molecule(cell):
        return cell
    from rdkit import Chem

    return Chem.MolToSmiles(cell)


def shown(text: Any, width: int = 60) -> str:
    """Return a cell for a message."""
    written = repr(text)
    return written if len(written) <= width else written[: width - 2] + "…'"
