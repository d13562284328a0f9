"""Loaders of the small real tables that are included in the package."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Graph
from mercer.inputs.delimited import read_header, read_text
from mercer.inputs.tables import Table

FOLDER = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Dataset:
    """A table with its origin. `path` is a CSV file, for `mercer fit` and for any other program."""

    name: str
    description: str
    source: str
    license: str
    target: str  # the column that examples predict
    path: Path
    table: Table  # columns by name; every estimator on tables takes it

    def split(self, target: str | None = None) -> tuple[Table, Array]:
        """Return the feature columns and the target, (n,), of the rows whose target is known."""
        from mercer.inputs.tables import missing_cells

        wanted = self.target if target is None else target
        if wanted not in self.table.columns:
            raise InputError(f"{self.name} has no column {wanted!r}; it has {', '.join(map(repr, self.table.columns))}.")
        y = self.table[wanted].to_numpy()
        known = (~missing_cells(y)).nonzero()[0]
        return self.table[[name for name in self.table.columns if name != wanted]][known], y[known]


def shipped(file: str, **facts: Any) -> Dataset:
    """Return the dataset of a CSV file in the folder of data."""
    path = FOLDER / file
    return Dataset(path=path, table=Table(read_text(path, file, read_header(path, file))), **facts)


def load_airfoil() -> Dataset:
    """Sound pressure of airfoils in a wind tunnel, 1503 rows of five numbers; every column had its mean taken off.

    >>> import mercer
    >>> X, y = mercer.datasets.load_airfoil().split()
    >>> len(X), len(y)
    (1503, 1503)
    """
    return shipped(
        "airfoil.csv",
        name="Airfoil self-noise",
        description="NASA's measurements of the noise of airfoil sections; all columns centered at their means.",
        source="T. F. Brooks, D. S. Pope, M. A. Marcolini (1989), NASA RP 1218; UCI; as prepared by T. Evans, uci_datasets.",
        license="MIT (T. Evans) for the prepared table, CC BY 4.0 at UCI",
        target="sound pressure",
    )


def load_co2() -> Dataset:
    """Monthly means of carbon dioxide in the air of Mauna Loa, 1958 to 2001, 521 months; five months have no samples.

    >>> import mercer
    >>> co2 = mercer.datasets.load_co2()
    >>> co2.table.shape, co2.target
    ((521, 3), 'co2')
    """
    return shipped(
        "co2.csv",
        name="Carbon dioxide at Mauna Loa",
        description="Monthly means of weekly flask samples, in parts per million by volume.",
        source="C. D. Keeling, T. P. Whorf (2004), CDIAC; weekly table co2 of statsmodels.",
        license="public domain",
        target="co2",
    )


def load_names() -> Dataset:
    """Surnames of eighteen languages, 20,050 of them, some in several languages: which language is a name from?

    >>> import mercer
    >>> names = mercer.datasets.load_names()
    >>> names.table.shape, names.target
    ((20050, 2), 'language')
    """
    return shipped(
        "names.csv",
        name="Surnames by language",
        description="Surnames of eighteen languages, romanized, two to twenty letters.",
        source="S. Robertson (2017), practical-pytorch, data/names; blank lines dropped, spaces at the ends stripped.",
        license="MIT (S. Robertson)",
        target="language",
    )


def load_penguins() -> Dataset:
    """The Palmer penguins, as they were written down: 344 adults of three species on islands of Antarctica, 17 columns.

    >>> import mercer
    >>> penguins = mercer.datasets.load_penguins()
    >>> penguins.table.shape
    (344, 17)
    >>> X, y = penguins.split("Body Mass (g)")
    >>> len(y)
    342
    """
    return shipped(
        "penguins.csv",
        name="Palmer penguins",
        description="Adult penguins near Palmer Station, Antarctica, 2007 to 2009: species, island, date of the first egg, "
        "sizes, body mass, sex, isotopes in the blood, comments.",
        source="K. B. Gorman, T. D. Williams, W. R. Fraser (2014), PLoS ONE 9(3): e90081; collected by Palmer Station LTER; "
        "the table penguins_raw of A. M. Horst, A. P. Hill, K. B. Gorman (2020), palmerpenguins.",
        license="CC0 1.0 (public domain dedication)",
        target="Body Mass (g)",
    )  # fmt: skip


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
