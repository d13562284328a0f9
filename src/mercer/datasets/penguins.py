"""The Palmer penguins: a small real table with numbers, categories, dates, text and holes."""

from __future__ import annotations

from mercer.datasets.dataset import Dataset, shipped


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
