"""`change_points`: where ordered rows change, how sure that is, and whether they change at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.utils import check_random_state

from mercer.arrays import Floats, Ints
from mercer.changes.confirmation import Confirmation
from mercer.changes.segmentation import (
    OrderedFeatures,
    OrderedGram,
    Segmentations,
    best_segmentations,
    grid_segmentations,
    landmark_features,
    penalized_places,
)
from mercer.errors import InputError, describe, plural, readable
from mercer.inputs import Rows, is_frame, looks_like_vectors
from mercer.inputs.frames import NUMBER, read_columns
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.kernels.tables.frame import frame_kernel
from mercer.kernels.vectors import Linear
from mercer.numeric.spread import column_spread

#: More rows than this are cut through features on a grid of places.
EXACT = 20_000

#: Places of that grid.
GRID = 2_000

#: The largest number of changes that is tried if none is given.
MOST = 30

#: Share of the numbers of changes, the largest ones, from which the slope heuristic reads the noise.
TAIL = 0.6


@dataclass(frozen=True)
class ChangePoints:
    """Where ordered rows change.

    Attributes
    ----------
    places : (D,) first row of each new segment
    pvalues : (D,) chance of a gain as large if the two segments beside a change were one
    costs : (M + 1,) cost of the best segmentation with 0 … M changes; only the chosen one if a penalty was given
    kernel : the kernel with numbers
    exact : whether every row could be a place; False for many rows, whose places were searched on a grid
    block : rows that were permuted together
    n : number of rows
    """

    places: Ints
    pvalues: Floats
    costs: Floats
    kernel: Kernel
    exact: bool
    block: int
    n: int

    @property
    def segments(self) -> list[slice]:
        """The rows of every segment."""
        bounds = [0, *self.places.tolist(), self.n]
        return [slice(a, b) for a, b in pairwise(bounds)]

    @property
    def labels(self) -> Ints:  # (n,)
        """The number of the segment of every row."""
        return np.searchsorted(self.places, np.arange(self.n), side="right").astype(np.int64)

    def __str__(self) -> str:
        if len(self.places) == 0:
            return readable(f"No change in {self.n} rows ({self.kernel}).")
        lines = [f"{plural(len(self.places), 'change')} in {self.n} rows ({self.kernel}):"]
        lines += [f"  from row {place}   p = {p:.3g}" for place, p in zip(self.places.tolist(), self.pvalues, strict=True)]
        return readable("\n".join(lines))


def change_points(
    X: Any,
    kernel: Kernel | str | None = None,
    n_changes: int | None = None,
    penalty: float | None = None,
    *,
    min_size: int = 2,
    alpha: float = 0.05,
    max_changes: int | None = None,
    blocks: int | str = "auto",
    n_permutations: int = 199,
    random_state: Any = 0,
) -> ChangePoints:
    """Find the places where ordered rows change their distribution.

    Segments are chosen to minimize the sum of squared distances of feature vectors to the mean of their segment, exactly by
    dynamic programming. Without `n_changes` and `penalty` the number of changes is the one that the penalty
    (c1 log binomial(n - 1, D) + c2 (D + 1)) of Arlot, Celisse and Harchaoui (2019) prefers, with constants from the slope
    of the costs at many changes. It is lowered until every change is confirmed: a permutation test at level `alpha` of the
    two segments beside it, and a step that describes them clearly better than a straight line in time does. If rows
    depend on their neighbors, the rows as a whole must also change more than autoregressive series without a change do.
    "No change" is a possible answer. A trend that is strong compared with the noise is not a change; a weak one may be cut
    into steps, so subtract a known trend first.

    Parameters
    ----------
    X : rows in order: an array (n,) or (n, d), a data frame, a list of strings, graphs or series
    kernel : kernel or text, default Gaussian("median") on columns in units of their spread
        Linear() finds changes of the mean, a Gaussian any change. The default for data frames with columns other than
        numbers, or with holes, is `frame_kernel`.
    n_changes : int >= 0, optional
        Exactly this many changes.
    penalty : float >= 0, optional
        Minimize cost + penalty times the number of changes.
    min_size : int >= 1, default 2
        The least number of rows of a segment.
    alpha : float, default 0.05
        Level of the tests of single changes; used only if the number of changes is chosen.
    max_changes : int, optional
        The largest number of changes that is tried; default 30, less for few rows.
    blocks : int or "auto"
        Rows that depend on each other are permuted in blocks of this length. "auto" takes twice the correlation time of
        rows within segments; 1 if they are independent. With a number the comparison with autoregressive series is left
        out.
    n_permutations : int, default 199
    random_state : int or Generator, default 0

    The p-values are approximate: each permutation of the two segments beside a change searches its best place again, but
    the ends of these segments were chosen from the same data.

    >>> import numpy as np
    >>> x = np.concatenate([np.zeros(40), np.ones(30)]) + 0.1 * np.sin(np.arange(70.0) ** 2)
    >>> found = change_points(x)
    >>> found.places.tolist(), bool(found.pvalues[0] < 0.05)
    ([40], True)
    """
    rows, chosen = _read(X, kernel)
    n = len(rows)
    _check(n, n_changes, penalty, min_size, alpha, n_permutations, blocks)
    most = _most(n, n_changes, min_size, max_changes)
    rng = _random_state(random_state)
    source = _source(rows, chosen, rng)
    if penalty is not None:
        places, cost = _penalized(source, float(penalty), min_size, most)
        costs = np.array([cost])
    else:
        found = _segmentations(source, most, min_size)
        costs = found.costs
        places = found.places[n_changes if n_changes is not None else chosen_number(costs, n)]
    judge = Confirmation(source, min_size, None if blocks == "auto" else int(blocks), n_permutations, rng)
    if n_changes is None and penalty is None:
        while len(places) and not judge.accepts(places, alpha):
            places = found.places[len(places) - 1]
    exact = isinstance(source, OrderedGram)
    return ChangePoints(places, judge.pvalues(places), costs, chosen, exact, judge.block(places), n)


def _random_state(seed: Any) -> Any:
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)
    try:
        return check_random_state(seed)
    except ValueError:
        raise InputError(f"change_points: random_state must be an int, a Generator or None; got {describe(seed)}.") from None


def _read(X: Any, kernel: Kernel | str | None) -> tuple[Rows, Kernel]:
    data = np.asarray(X, dtype=np.float64)[:, None] if not is_frame(X) and looks_like_vectors(X) and np.ndim(X) == 1 else X
    if kernel is not None:
        rows, chosen = Rows(data), as_kernel(kernel)
        if isinstance(chosen, Linear) and looks_like_vectors(data) and not sp.issparse(rows.vectors()):
            table = np.asarray(rows.vectors(), dtype=np.float64)
            rows = Rows(table - table.mean(axis=0))  # equal costs, with the digits of differences
        return rows, chosen.resolve(rows)
    of_table = table_kernel(data) if is_frame(data) else None
    if of_table is not None:
        return Rows(data), of_table
    if not looks_like_vectors(data):
        raise InputError("change_points: name a kernel for rows that are not vectors, such as 'Spectrum(3).normalized()'.")
    table = Rows(data).vectors()
    table = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    rows = Rows((table - np.median(table, axis=0)) / _spread(table))
    return rows, Gaussian("median").resolve(rows)


def table_kernel(frame: Any) -> Kernel | None:
    """Return the kernel of a table with columns other than numbers, or with holes; None for a table of numbers."""
    columns = read_columns(frame, "the table")
    other = any(column.kind != NUMBER or column.holes.any() for column in columns)
    return frame_kernel(frame) if other else None


def _spread(table: Floats) -> Floats:  # (n, d) -> (d,)
    """Robust spread of every column; the standard deviation if that is 0, and 1 for a constant column."""
    spread = column_spread(table)
    return np.where(spread > 0, spread, 1.0)


def _check(n: int, n_changes: Any, penalty: Any, min_size: Any, alpha: Any, n_permutations: Any, blocks: Any) -> None:
    def whole(value: Any, least: int) -> bool:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)

    if n_changes is not None and penalty is not None:
        raise InputError("change_points: give n_changes or penalty, not both.")
    if not whole(min_size, 1):
        raise InputError(f"change_points: min_size must be a whole number >= 1; got {describe(min_size)}.")
    if n < 2 * min_size:
        raise InputError(f"change_points: {n} rows cannot be cut into segments of at least {min_size}; give more rows.")
    if n_changes is not None and not (whole(n_changes, 0) and (n_changes + 1) * min_size <= n):
        raise InputError(
            f"change_points: n_changes must be a whole number from 0 to {n // min_size - 1} for {n} rows in segments of at "
            f"least {min_size}; got {describe(n_changes)}."
        )
    if penalty is not None and not (isinstance(penalty, (int, float)) and 0.0 <= penalty < math.inf):
        raise InputError(f"change_points: penalty must be a finite number >= 0; got {describe(penalty)}.")
    if not (isinstance(alpha, (int, float)) and 0.0 < alpha < 1.0):
        raise InputError(f"change_points: alpha must be a number between 0 and 1; got {describe(alpha)}.")
    if not whole(n_permutations, 1):
        raise InputError(f"change_points: n_permutations must be a whole number >= 1; got {describe(n_permutations)}.")
    if blocks != "auto" and not whole(blocks, 1):
        raise InputError(f"change_points: blocks must be a whole number >= 1 or 'auto'; got {describe(blocks)}.")


def _most(n: int, n_changes: int | None, min_size: int, max_changes: Any) -> int:
    if n_changes is not None:
        return n_changes
    if max_changes is not None and not (isinstance(max_changes, (int, np.integer)) and max_changes >= 0):
        raise InputError(f"change_points: max_changes must be a whole number >= 0; got {describe(max_changes)}.")
    return min(MOST if max_changes is None else int(max_changes), max(n // (5 * min_size), 1), n // min_size - 1)


def _source(rows: Rows, kernel: Kernel, rng: Any) -> OrderedGram | OrderedFeatures:
    """Kernel values, or features on landmarks for many rows."""
    if len(rows) <= EXACT:
        return OrderedGram(kernel, rows)
    return landmark_features(kernel, rows, rng)


def _segmentations(source: OrderedGram | OrderedFeatures, most: int, least: int) -> Segmentations:
    if isinstance(source, OrderedGram):
        return best_segmentations(source, most, least)
    return grid_segmentations(source, most, least, max(1, source.n // GRID))


def _penalized(source: OrderedGram | OrderedFeatures, penalty: float, least: int, most: int) -> tuple[Ints, float]:
    if isinstance(source, OrderedGram):
        return penalized_places(source, penalty, least)
    found = _segmentations(source, most, least)
    best = int(np.argmin(found.costs + penalty * np.arange(len(found.costs))))
    return found.places[best], float(found.costs[best])


def chosen_number(costs: Floats, n: int) -> int:
    """Return the number of changes by the slope heuristic: (c1, c2) is twice the slope of the costs at many changes."""
    numbers = np.arange(len(costs))
    known = np.isfinite(costs)
    choices = gammaln(n) - gammaln(numbers + 1) - gammaln(n - numbers)  # log binomial(n - 1, D)
    tail = known & (numbers >= TAIL * numbers[known].max())
    if tail.sum() < 4:
        return int(numbers[known].max())  # too few to read a slope from: the tests of single changes decide
    design = np.stack([choices, numbers + 1.0, np.ones(len(numbers))], axis=1)
    slopes = np.linalg.lstsq(design[tail], costs[tail], rcond=None)[0]
    shape = np.maximum(-2.0 * slopes[:2], 0.0)
    scores = np.where(known, costs + choices * shape[0] + (numbers + 1.0) * shape[1], np.inf)
    return int(np.argmin(scores))


__all__ = ["ChangePoints", "change_points"]
