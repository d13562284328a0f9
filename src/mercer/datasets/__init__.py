"""Small real tables that are included in the package, one file each in the folder `data`.

`load_…()` returns a `Dataset`: the table, the path of its CSV file, where it is from and under which license. Nothing is
downloaded. (Handwritten digits come with scikit-learn.)
"""

from mercer.datasets.tables import (
    load_airfoil,
    load_co2,
    load_names,
    load_penguins,
    load_solubility,
    load_solubility_graphs,
)

__all__ = ["load_airfoil", "load_co2", "load_names", "load_penguins", "load_solubility", "load_solubility_graphs"]
