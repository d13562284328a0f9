"""Surnames of eighteen languages: strings with classes."""

from __future__ import annotations

from mercer.datasets.dataset import Dataset, shipped


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
