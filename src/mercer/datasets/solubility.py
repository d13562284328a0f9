"""Molecules with measured solubility, as strings and as graphs."""

from __future__ import annotations

import gzip
import json

import numpy as np

from mercer.arrays import Floats
from mercer.datasets.dataset import FOLDER, Dataset, shipped
from mercer.inputs import Graph


def load_solubility() -> Dataset:
    """1128 molecules as SMILES strings, with the logarithm of their solubility in water (ESOL).

    >>> import mercer
    >>> mercer.datasets.load_solubility().table.shape
    (1128, 2)
    """
    return shipped(
        "solubility.csv",
        name="ESOL",
        description="Small molecules as SMILES with measured log solubility (moles per liter).",
        source="J. S. Delaney (2004), J. Chem. Inf. Comput. Sci. 44, 1000-1005; as in DeepChem.",
        license="MIT (PandeLab, DeepChem)",
        target="log solubility",
    )


def load_solubility_graphs() -> tuple[list[Graph], Floats]:
    """The same molecules as graphs of atoms and bonds, in the same order, and their log solubility: no chemistry needed.

    >>> import mercer
    >>> graphs, y = mercer.datasets.load_solubility_graphs()
    >>> len(graphs), graphs[1].n_nodes, y[1]
    (1128, 15, np.float64(-3.3))
    """
    with gzip.open(FOLDER / "solubility_graphs.json.gz") as file:
        records = json.load(file)
    graphs = [Graph(one["n"], one["edges"], one["atoms"], one["bonds"]) for one in records]
    y = load_solubility().table["log solubility"].to_numpy()
    return graphs, np.asarray(y, dtype=np.float64)
