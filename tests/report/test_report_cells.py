"""Distributions of columns and the map of missing cells in a report."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer.inputs.frames import CATEGORY, NUMBER, ORDERED, TEXT, Column
from mercer.report.document.cells import BINS, LEVELS, MAPPED, distribution, missing_map


def numbers(*cells: float, name: str = "x") -> Column:
    values = np.array(cells, dtype=np.float64)
    return Column(name, NUMBER, values, np.isnan(values))


def heights(picture: str) -> list[float]:
    return [float(found) for found in re.findall(r'height="([\d.]+)"', picture)]


def words(kind: str, cells: list[str | None], levels: tuple[str, ...] = ()) -> Column:
    return Column("c", kind, cells, np.array([cell is None for cell in cells]), levels)


def test_bars_are_the_counts_of_a_histogram() -> None:
    values = np.random.default_rng(0).normal(size=500)
    counts = np.histogram(values, bins=BINS)[0]
    shown = heights(distribution(numbers(*values, np.nan)))
    assert shown == pytest.approx(28.0 * counts[counts > 0] / counts.max(), abs=0.051)


def test_categories_are_sorted_by_count_and_levels_keep_their_order() -> None:
    cells = ["b", "a", "a", "a", "c", "c", None]
    assert heights(distribution(words(CATEGORY, cells))) == pytest.approx([28.0, 56 / 3, 28 / 3], abs=0.051)
    assert heights(distribution(words(ORDERED, cells, ("c", "b", "a")))) == pytest.approx([56 / 3, 28 / 3, 28.0], abs=0.051)
    assert len(heights(distribution(words(CATEGORY, [str(i) for i in range(99)])))) == LEVELS


@pytest.mark.parametrize("cells", [[1e308, -1e308], [np.nan, np.nan], [], [np.inf, 1.0], [5e-324, 0.0], [3.0, 3.0]])
def test_odd_numbers_do_no_harm(cells: list[float]) -> None:
    picture = distribution(numbers(*cells))
    assert picture == "" or "<svg" in picture


def test_other_columns_and_names_with_markup() -> None:
    assert distribution(words(TEXT, ["some words"])) == ""
    assert "<script" not in distribution(numbers(1.0, 2.0, name="<script>"))
    [found] = missing_map([numbers(1.0, np.nan, name="<script>")], np.arange(2))
    assert "<script" not in found


def test_the_map_counts_missing_cells_in_the_order_of_the_source() -> None:
    full, late = numbers(*range(8)), numbers(*[np.nan] * 2, *range(6), name="late")
    assert missing_map([full], np.arange(8)) == []
    order = np.array([2, 3, 4, 5, 6, 7, 0, 1])  # the missing cells are those of the last rows of the source
    [found] = missing_map([full, late], order)
    assert "Missing cells of 1 column, " in found and "2 of 16 cells are missing" in found and "late" in found
    [path] = re.findall(r'<path[^>]*d="([^"]*)"', found)
    starts = [float(x) for x in re.findall(r"M([\d.]+) ", path)]
    step = (352.0 - 37.2) / 8
    assert starts == pytest.approx([352.0 - 2 * step, 352.0 - step], abs=0.1)


def test_the_map_shows_the_columns_with_most_missing_cells() -> None:
    columns = [numbers(*[np.nan] * (i + 1), *[0.0] * (40 - i - 1), name=f"c{i}") for i in range(30)]
    [found] = missing_map(columns, np.arange(40))
    assert f"the {MAPPED} of 30 columns with most" in found and ">c29<" in found and ">c9<" not in found
