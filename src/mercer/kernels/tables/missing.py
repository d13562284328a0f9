"""A kernel on a column with holes, psd by construction: a hole is a mean of features, or a value of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.inputs.cells import missing_cells
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Kernel
from mercer.kernels.derivation import Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.operators import node
from mercer.kernels.wrappers import Sample, grand_pullback, means_pullback
from mercer.numeric import tiles
from mercer.numeric.encodings import Encoding, Values, gather

MEAN, INDICATOR = "mean", "indicator"


@node
@dataclass(frozen=True, repr=False)
class Missing(Wrapper):
    """k on a column with holes, the observed values of a sample being part of the kernel's value.

    rule="mean": a hole has the mean features of the sample, k(?, z) = mean_b k(b, z) and k(?, ?) = mean_bb' k(b, b').
    This is the rule inside a product over columns. rule="indicator": 1[x observed] k(x, z) 1[z observed] + 1[both
    missing], for a sum over columns.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> k = Gaussian(length_scale=1.0).missing([[0.0], [2.0]])
    >>> X = np.array([[0.0], [np.nan]])
    >>> bool(np.isclose(k(X)[0, 1], (1.0 + np.exp(-2.0)) / 2.0))
    True
    """

    sample: Sample = field()
    rule: str = field(default=MEAN)
    inner: Kernel = child()

    def __post_init__(self) -> None:
        if self.rule not in (MEAN, INDICATOR):
            raise InputError(f"missing: rule is {MEAN!r} or {INDICATOR!r}; got {self.rule!r}.")
        if missing_cells(Rows(self.sample.data)._items("cells")).any():
            raise InputError("missing: the sample holds observed values only; it has holes itself.")

    def _width(self) -> None:
        return None

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    # -- encoding: the rows with a stand-in in every hole, where the holes are, and what stands in a row of the matrix there

    def _filled(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        return rows.remember(("filled", self.sample), lambda: self._fill(rows))

    def _fill(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        cells = rows._items("cells with holes")
        holes = missing_cells(cells)
        stand_in = Rows(self.sample.data)._items("cells")[0]
        numbers = isinstance(self.sample.data, np.ndarray) and self.sample.data.dtype.kind in "fiu"
        whole: list[Any] = [stand_in if hole else cell for cell, hole in zip(cells, holes, strict=True)]
        try:
            data = np.array(whole, dtype=np.float64)[:, None] if numbers else whole
        except (TypeError, ValueError):
            raise InputError(f"{rows.name} was a column of numbers and now holds text; it changed its type.") from None
        return Rows(data, rows.name, rows.weights), holes

    def _sampled(self) -> Encoding:
        return self.inner._encode(Rows(self.sample.data, "the sample"))

    def _encode(self, rows: Rows) -> Encoding:
        filled, holes = self._filled(rows)
        encoding, flags = self.inner._encode(filled), Values(holes.astype(np.float64))
        if self.rule == INDICATOR:
            return encoding, flags, Values(holes.astype(np.float64))
        sample = self._sampled()
        means = self._means(encoding, sample)
        means[holes] = self._means(sample, sample).mean()
        return encoding, flags, Values(means)

    def _means(self, A: Encoding, B: Encoding) -> Floats:
        """mean_j k(x_i, b_j) without holding the matrix."""
        pair = Pair.whole(A, B)
        ones = np.full((pair.shape[1], 1), 1.0 / pair.shape[1])
        symmetric = A is B and self._symmetric
        return tiles.product(lambda r, c: self.inner._block(pair.tile(r, c)), pair.shape, ones, symmetric)[:, 0]

    def _resolve(self, rows: Rows) -> Kernel:
        sample = Rows(self.sample.data, "the sample")  # stand-ins are no observations
        return self._with_children((self.inner._resolve(sample),))

    # -- values ------------------------------------------------------------------------------------------------------

    def _holes(self, pair: Pair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        flags = pair.part(1)
        return flags.left.array > 0, flags.right.array > 0

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair.part(0))
        left, right = self._holes(pair)
        ends = pair.part(2)
        values[left, :] = ends.right.array[None, :]
        values[:, right] = ends.left.array[:, None]
        return values

    def _diag(self, encoding: Encoding) -> Array:
        holes = encoding[1].array > 0
        return np.where(holes, encoding[2].array, self.inner._diag(encoding[0]))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        left, right = self._holes(pair)
        inside = np.where(left[:, None] | right[None, :], 0.0, W)
        total = self.inner._pullback(pair.part(0), inside)
        if self.rule == INDICATOR or not (left.any() or right.any()):
            return total
        sample = self._sampled()
        at_right = np.where(right, 0.0, W[left].sum(axis=0))  # holes of the rows against observed columns
        at_left = np.where(left, 0.0, W[:, right].sum(axis=1))
        total = total + means_pullback(self.inner, gather(pair.B[0], pair.cols), sample, at_right)
        total = total + means_pullback(self.inner, gather(pair.A[0], pair.rows), sample, at_left)
        return total + grand_pullback(self.inner, sample, float(W[np.ix_(left, right)].sum()))

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        holes = encoding[1].array > 0
        total = self.inner._diag_pullback(encoding[0], np.where(holes, 0.0, w))
        if self.rule == INDICATOR:
            return total
        return total + grand_pullback(self.inner, self._sampled(), float(w[holes].sum()))

    def _feature_map(self, *terms: FeatureMap) -> None:
        return None

    def _derivation(self) -> Derivation:
        if self.rule == MEAN:
            because = "phi(x), and for a hole the mean of phi over a fixed sample: inner products of fixed features"
        else:
            because = "g(x) k(x, z) g(z) + h(x) h(z) with g = 1[observed] and h = 1 - g, both rules of closure"
        return Derivation("missing cells", because, (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.missing({self.sample!r}, rule={self.rule!r})"


@node
def missing(sample: Any, rule: str, inner: Kernel) -> Missing:
    """The node for `k.missing(sample, rule)`; one number per row becomes a column."""
    if isinstance(sample, Sample):
        return Missing(sample, rule, inner=inner)
    cells = Rows(sample, "the sample")._items("observed cells")
    cells = [cell[0] if isinstance(cell, (list, tuple)) and len(cell) == 1 else cell for cell in cells]
    if all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in cells):
        return Missing(Sample(np.array(cells, dtype=np.float64)[:, None]), rule, inner=inner)
    return Missing(Sample(cells), rule, inner=inner)
