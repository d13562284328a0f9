"""Small real tables that come with the package, to try things on: each a file of its own here and in `data`.

`load_…()` returns a `Dataset`: the table, the path of its CSV file, where it is from and under which license. Nothing is
downloaded.
"""

from mercer.datasets.penguins import load_penguins

__all__ = ["load_penguins"]
