"""Columns of molecules: whether cells are SMILES, and which of them RDKit cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.inputs.graphs import LONGEST_SMILES, is_molecule

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
    """Return the places of cells that are not SMILES of a molecule; missing cells, None, are left out.

    >>> unreadable(["CCO", "C1CC", None]).tolist()  # doctest: +SKIP
    [1]
    """
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    found, known = [], dict[str, bool]()
    with BlockLogs():
        for place, cell in enumerate(cells):
            if cell is None or is_molecule(cell):
                continue
            if not isinstance(cell, str) or not cell.strip() or len(cell) > LONGEST_SMILES:
                found.append(place)
                continue
            if cell not in known:
                known[cell] = Chem.MolFromSmiles(cell) is not None
            if not known[cell]:
                found.append(place)
    return np.array(found, dtype=np.intp)


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
