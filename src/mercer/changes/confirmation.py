"""Which changes of a segmentation are confirmed: permutation tests, a rule for trends, and series without a change."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.changes.segmentation import OrderedFeatures, OrderedGram
from mercer.numeric.threads import cpu_count, run
from mercer.twosample.dependent_rows import WINDOW, block_permutation, serial_dependence

#: Rows of two merged segments whose permutations use kernel values; more use features.
PERMUTED = 1_000

#: Rows of a block in units of the correlation time, and the fewest blocks of two merged segments.
BLOCK_TIMES, FEWEST_BLOCKS = 2.0, 2

#: Windows in which the dependence within segments is measured.
MOST_WINDOWS = 40

#: A step is confirmed only if a straight line leaves more than this share of what the step leaves.
LINE_SHARE = 0.8

#: Principal directions of features for the rule of trends and simulated series, and numbers of one simulated series.
DIRECTIONS, FEWEST_DIRECTIONS, SIMULATED = 24, 4, 2**21

#: The largest coefficient of simulated series, and the most steps before their first row.
LARGEST_FACTOR, MOST_BEFORE = 0.98, 1_000


class Confirmation:
    """Tests of the changes of segmentations of the same rows."""

    def __init__(
        self, source: OrderedGram | OrderedFeatures, least: int, blocks: int | None, permutations: int, rng: Any
    ) -> None:
        self.source, self.least, self.blocks, self.permutations, self.rng = source, least, blocks, permutations, rng
        self._known: dict[tuple[int, int, int], float] = {}
        self._directions: Floats | None = None

    def accepts(self, places: Ints, alpha: float) -> bool:
        """Return whether every change is confirmed."""
        size = self.block(places)
        bounds = self._bounds(places)
        for low, place, high in zip(bounds, bounds[1:], bounds[2:], strict=False):
            if self._is_trend(low, place, high) or self._pvalue(low, high, size) > alpha:
                return False
        return self.blocks is not None or size == 1 or self._whole(places) <= alpha

    def block(self, places: Ints) -> int:
        """Return how many neighboring rows are permuted together: twice the correlation time within the segments."""
        if self.blocks is not None:
            return self.blocks
        time = serial_dependence(lambda part: self.source.block(part, part), self._windows(places)).time
        return 1 if time == 1.0 else math.ceil(BLOCK_TIMES * time)

    def pvalues(self, places: Ints) -> Floats:  # (D,) -> (D,)
        """Return the p-value of every change: the rows of both segments beside it are permuted, and cut again."""
        size, bounds = self.block(places), self._bounds(places)
        return np.array([self._pvalue(low, high, size) for low, high in zip(bounds, bounds[2:], strict=False)])

    def _bounds(self, places: Ints) -> list[int]:
        return [0, *places.tolist(), self.source.n]

    def _windows(self, places: Ints) -> list[slice]:
        """Return the segments, long ones in pieces; at most MOST_WINDOWS of them, spread evenly."""
        found = []
        for low, high in pairwise(self._bounds(places)):
            pieces = -(-(high - low) // WINDOW)
            cuts = np.linspace(low, high, pieces + 1).astype(int).tolist()
            found += [slice(a, b) for a, b in pairwise(cuts)]
        return [found[i] for i in np.unique(np.linspace(0, len(found) - 1, MOST_WINDOWS).astype(int))]

    def _pvalue(self, low: int, high: int, size: int) -> float:
        """The p-value of the best cut of the rows low … high - 1."""
        size = max(1, min(size, (high - low) // FEWEST_BLOCKS))
        if (low, high, size) not in self._known:
            gain = self._gains(low, high)
            observed = gain(np.arange(high - low))
            reached = observed - 1e-9 * abs(observed)
            permuted = self._gained(gain, lambda: block_permutation(self.rng, high - low, size))
            self._known[low, high, size] = (1 + np.count_nonzero(permuted >= reached)) / (1 + self.permutations)
        return self._known[low, high, size]

    def _gained(self, gain: Callable[[Any], float], draw: Callable[[], Any]) -> Floats:  # -> (B,)
        """Return the gains of as many draws as there are permutations; draws are made in order, gains on all threads."""
        found = np.empty(self.permutations)

        def work(task: tuple[int, Any], worker: int) -> None:
            found[task[0]] = gain(task[1])

        run(((number, draw()) for number in range(self.permutations)), work, cpu_count(), short=True)
        return found

    def _gains(self, low: int, high: int) -> Any:
        from mercer.changes._compiled_segments import best_feature_split, best_split

        part = slice(low, high)
        if isinstance(self.source, OrderedGram) and high - low <= PERMUTED:
            K = self.source.block(part, part)
            return lambda order: best_split(K, order, self.least)
        Z = self.source.features(part, self.rng)
        return lambda order: best_feature_split(Z, order, self.least)

    def directions(self) -> Floats:  # -> (n, r)
        """Return the rows in the principal directions of their features."""
        if self._directions is None:
            n = self.source.n
            Z = self.source.features(slice(0, n), self.rng)
            Z = Z - Z.mean(axis=0)
            count = int(np.clip(SIMULATED // n, FEWEST_DIRECTIONS, DIRECTIONS))
            vectors = np.linalg.eigh(Z.T @ Z)[1][:, ::-1][:, :count]
            self._directions = np.ascontiguousarray(Z @ vectors)
        return self._directions

    def _is_trend(self, low: int, place: int, high: int) -> bool:
        """Return whether a straight line in time describes two segments about as well as a step between them."""
        Z = self.directions()
        step = float(np.square(within(Z[low:high], np.array([place - low]))).sum())
        rows = Z[low:high] - Z[low:high].mean(axis=0)
        time = np.arange(high - low) - 0.5 * (high - low - 1)
        slopes = time @ rows / np.square(time).sum()
        line = float(np.square(rows).sum() - np.square(time).sum() * np.square(slopes).sum())
        return line <= LINE_SHARE * step

    def _whole(self, places: Ints) -> float:
        """Return the p-value of the best single cut of all rows among autoregressive series without a change.

        Each direction has the coefficient that rows one and two steps apart within segments have: their squared differences
        are as 1 to 1 + c, whatever the means of segments are. Innovations are drawn from those within segments.
        """
        from mercer.changes._compiled_segments import autoregressive, best_feature_split

        Z = self.directions()
        n, label = len(Z), np.searchsorted(places, np.arange(len(Z)), side="right")
        one, two = (squared_differences(Z, label, lag) for lag in (1, 2))
        factors = np.clip(two / np.maximum(one, np.finfo(float).tiny) - 1.0, 0.0, LARGEST_FACTOR)
        rest = within(Z, places) * math.sqrt(n / max(1, n - len(places) - 1))
        innovations = (rest[1:] - factors * rest[:-1])[label[1:] == label[:-1]]
        innovations = np.ascontiguousarray(innovations - innovations.mean(axis=0))
        before = min(MOST_BEFORE, math.ceil(5.0 / (1.0 - float(factors.max()))))
        order = np.arange(n)

        def gain(picks: Ints) -> float:
            simulated = np.empty(Z.shape)
            autoregressive(innovations, factors, picks, simulated)
            return float(best_feature_split(simulated, order, self.least))

        found = self._gained(gain, lambda: self.rng.randint(0, len(innovations), n + before))
        above = np.count_nonzero(found >= best_feature_split(Z, order, self.least))
        return (1 + above) / (1 + self.permutations)


def within(Z: Floats, places: Ints) -> Floats:  # (n, r) -> (n, r)
    """Return the differences of rows from the means of their segments."""
    return np.concatenate([part - part.mean(axis=0) for part in np.split(Z, places)])


def squared_differences(Z: Floats, label: Array, lag: int) -> Floats:  # (n, r) -> (r,)
    """Return the mean squared difference of rows `lag` apart with the same label; of all such rows if none have it."""
    same = label[lag:] == label[:-lag]
    differences = Z[lag:] - Z[:-lag]
    return np.asarray(np.square(differences[same] if same.any() else differences).mean(axis=0))
