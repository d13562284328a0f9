"""Every loop changes at the amount of work that its benchmark row found."""

from __future__ import annotations

import pytest

from mercer.estimators.gp import exact
from mercer.estimators.svm import decision
from mercer.kernels.counting import table
from mercer.kernels.spectral import fourier_map
from mercer.kernels.strings import letters, subsequence, weighted_degree, windows
from mercer.numeric import points as exponential
from mercer.numeric import sparse_products
from mercer.numeric.compiling import worth


@pytest.mark.parametrize(
    ("saved", "first"),
    [
        (letters.PER_LETTER, 2**15),
        (table.PER_KEY, 2**15),
        (windows.PER_WINDOW, 2**17),
        (sparse_products.PER_STORED, 2**17),
        (subsequence.PER_STEP, 2**22),
        (weighted_degree.PER_STEP, 2**23),
        (exponential.PER_VALUE, 2**22),
        (decision.PER_VALUE, 2**18),
        (fourier_map.PER_VALUE, 2**20),
    ],
)
def test_steps(saved: float, first: int) -> None:
    assert worth(first, saved)
    assert not worth(first - 1, saved)


@pytest.mark.parametrize(("saved", "rows"), [(sparse_products.PER_PAIR, 1024), (exact.PER_ENTRY, 700)])
def test_pairs_of_rows(saved: float, rows: int) -> None:
    assert worth(rows**2, saved)
    assert not worth((rows - 1) ** 2, saved)
