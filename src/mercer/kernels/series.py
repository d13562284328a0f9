"""Kernels on time series: global alignment, signatures, and maps that add channels."""

from __future__ import annotations

import abc
import dataclasses
from dataclasses import dataclass, field

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError, describe
from mercer.inputs import Rows
from mercer.inputs.series import joined_steps
from mercer.kernels.algebra import child
from mercer.kernels.base import ATOM, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import one_of, whole, whole_or_none
from mercer.kernels.operators import node
from mercer.kernels.vectors import Linear
from mercer.kernels.views import View
from mercer.numeric.encodings import Encoded, Encoding, Index, Values, align, gather

#: Values of the base kernel that are held at once for one pair, and for several: these stay in the cache.
MOST_VALUES, CACHED_VALUES = 2**22, 2**20

#: "median" inside an alignment is the median distance between steps times the root of the median length times this number,
#: chosen on the five series sets of the archive. With the median alone, values of different series are nearly 0.
MEDIAN_FACTOR = 0.5


class Steps(Encoded):
    """The steps of many series below each other, encoded by the base kernel, and where each series begins."""

    __slots__ = ("first", "inner")

    strip = 4  # series that are compared with all others by one thread: a pair takes much longer than a call

    def __init__(self, inner: Encoding, first: Ints) -> None:
        self.inner, self.first = inner, first  # …, (n + 1,)

    def __len__(self) -> int:
        return len(self.first) - 1

    def take(self, rows: Index) -> Steps:
        chosen = np.arange(len(self))[rows]
        sizes = np.diff(self.first)[chosen]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(int(first[-1])) + np.repeat(self.first[chosen] - first[:-1], sizes)
        return Steps(gather(self.inner, places), first)

    def align(self, other: Steps) -> tuple[Steps, Steps]:
        left, right = align(self.inner, other.inner)
        return Steps(left, self.first), Steps(right, other.first)

    def steps(self, i: int, j: int | None = None) -> slice:
        """The steps of the series i, or of the series i … j - 1."""
        return slice(int(self.first[i]), int(self.first[i + 1 if j is None else j]))


class SeriesKernel(Kernel):
    """Abstract: a kernel on series by a recursion over pairs of steps, which a base kernel compares."""

    base: Kernel
    domain = "series"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Kernel):
            raise InputError(
                f"{type(self).__name__}: base must be a kernel on steps, such as Gaussian(1.0); got {describe(self.base)}."
            )
        super().__post_init__()

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.base,)

    def with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, base=children[0])  # type: ignore[type-var]

    def _map_or_lack(self) -> Kernel:
        return self  # features of the base kernel are not its own

    def width(self) -> None:
        """Channels are not columns."""

    def _views(self) -> frozenset[str]:
        return frozenset({"series"})

    def _steps(self, rows: Rows, from_first: bool = False) -> Steps:
        """Return the encoded steps; `from_first` subtracts the first step of each series from its steps."""
        table, first = rows.remember("steps", lambda: joined_steps(rows.series()))
        if from_first:
            table = table - np.repeat(table[first[:-1]], np.diff(first), axis=0)
        inner = rows.remember(("steps as rows", from_first), lambda: Rows(table, f"the steps of {rows.name}"))
        return rows.remember(("encoded steps", self.base, from_first), lambda: Steps(self.base._encode(inner), first))

    def _resolve(self, rows: Rows) -> Kernel:
        table, first = joined_steps(rows.series())
        factor = self._median_factor(float(np.median(np.diff(first))))
        return self.with_children((self.base._resolve(Rows(table * factor, f"the steps of {rows.name}")),))

    def _median_factor(self, length: float) -> float:
        """What "median" inside the base kernel is multiplied by, for series of this median length."""
        return 1.0

    def _values(self, A: Steps, i: int, B: Steps, cols: slice) -> Floats:  # -> (c,)
        """The recursion for series i of A with some series of B, in groups whose base values fit in memory."""
        out = np.empty(cols.stop - cols.start)
        own = A.steps(i)
        length = own.stop - own.start
        low = cols.start
        while low < cols.stop:
            high = low + 1
            while high < cols.stop and length * (B.steps(low, high + 1).stop - B.steps(low).start) <= CACHED_VALUES:
                high += 1
            self._run(A, own, B, low, high, out[low - cols.start : high - cols.start])
            low = high
        return out

    def _base(self, A: Steps, left: slice, B: Steps, right: slice) -> Floats:
        pair = Pair(A.inner, B.inner, left, right)
        return np.ascontiguousarray(self.base._block(pair), dtype=np.float64)

    @abc.abstractmethod
    def _run(self, A: Steps, own: slice, B: Steps, low: int, high: int, out: Floats) -> None:
        """Write the values of one series with the series low … high - 1 of B."""

    @abc.abstractmethod
    def _slopes(self, K: Floats, weight: float, out: Floats) -> None:
        """Add weight times the derivative in the base values of two series."""

    def _own(self, steps: Steps) -> Floats:  # -> (n,)
        """The recursion of every series with itself."""
        return np.array([self._values(steps, i, steps, slice(i, i + 1))[0] for i in range(len(steps))])

    def _tile(self, A: Steps, B: Steps, rows: slice, cols: slice) -> Floats:
        return np.stack([self._values(A, i, B, cols) for i in range(rows.start, rows.stop)])

    def _pulled(self, A: Steps, i: int, B: Steps, j: int, weight: float) -> Floats:  # -> (p,)
        """Weight times the gradient of the recursion for two series in the parameters of the base kernel."""
        own, other = A.steps(i), B.steps(j)
        K = self._base(A, own, B, other)
        slopes = np.zeros(K.shape)
        self._slopes(K, weight, slopes)
        return self.base._pullback(Pair(A.inner, B.inner, own, other), slopes)


@dataclass(frozen=True, repr=False)
class GlobalAlignment(SeriesKernel):
    """All ways to align two series, each weighted by the similarity of the aligned steps (Cuturi 2011).

    k(x, z) = L(x, z) / sqrt(L(x, x) L(z, z)) with L the sum over all monotone alignments of the product of kappa over the
    aligned pairs of steps, kappa = (b / 2) / (1 - b / 2) for a base kernel b with values in [0, 1]. Sums are kept with
    exponents of their own: no length overflows.

    Parameters
    ----------
    base : kernel on steps with values in [0, 1], such as Gaussian("median")
        "median" is half the median distance between steps times the root of the median length.
    band : int >= 1, optional
        Pairs of steps i and j weigh less by 1 - |i - j| / band inside the local kernel; series whose lengths differ by
        `band` or more have the value 0.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> x, z = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 2.0])
    >>> GlobalAlignment(Gaussian(1.0))([x, z]).round(3).tolist()
    [[1.0, 0.711], [0.711, 1.0]]
    """

    base: Kernel = field(metadata={"child": True})
    band: int | None = whole_or_none(None, at_least=1)

    def __post_init__(self) -> None:
        if isinstance(self.base, Kernel):
            self._refuse_base()
        super().__post_init__()

    def _median_factor(self, length: float) -> float:
        return MEDIAN_FACTOR * float(np.sqrt(length))

    def _refuse_base(self) -> None:
        lacking = self.base._beyond_unit()
        if lacking is not None:
            where = "" if lacking is self.base else f", a term of {self.base},"
            raise InputError(
                f"GlobalAlignment: the base kernel needs values in [0, 1]; {lacking}{where} is not known to have them. Take "
                "Gaussian, Exponential, Matern, RationalQuadratic, or products of such."
            )

    def _encode(self, rows: Rows) -> Encoding:
        steps = self._steps(rows)
        return steps, Values(self._own(steps))

    def _run(self, A: Steps, own: slice, B: Steps, low: int, high: int, out: Floats) -> None:
        from mercer.kernels import _compiled_series as loops

        band, columns = self.band or 0, B.steps(low, high)
        length, width = own.stop - own.start, columns.stop - columns.start
        if length * width <= MOST_VALUES or high - low > 1:
            loops.log_alignments(self._base(A, own, B, columns), B.first[low : high + 1] - columns.start, band, out)
            return
        value, exponent = np.empty(width + 1), np.empty(width + 1, np.int64)  # one long pair, some rows at a time
        loops.start(value, exponent, width)
        rows = max(1, MOST_VALUES // width)
        for row in range(0, length, rows):
            part = slice(own.start + row, min(own.start + row + rows, own.stop))
            loops.advance(self._base(A, part, B, columns), row, band, value, exponent)
        out[0] = loops.logarithm(value[width], exponent[width])

    def _slopes(self, K: Floats, weight: float, out: Floats) -> None:
        from mercer.kernels._compiled_series import alignment_slopes

        alignment_slopes(K, self.band or 0, weight, out)

    def _block(self, pair: Pair) -> Array:
        logs = self._tile(pair.A[0], pair.B[0], pair.rows, pair.cols)
        own = pair.part(1)
        logs -= 0.5 * np.add.outer(own.left.array, own.right.array)
        return np.exp(np.minimum(logs, 0.0))

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding[0]))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        A, B = pair.A[0], pair.B[0]
        weights = W * self._block(pair)
        total = np.zeros(len(self.theta))
        for r, i in enumerate(range(pair.rows.start, pair.rows.stop)):
            for c, j in enumerate(range(pair.cols.start, pair.cols.stop)):
                if weights[r, c]:
                    total += self._pulled(A, i, B, j, float(weights[r, c]))
        for side, steps, start in ((weights.sum(axis=1), A, pair.rows.start), (weights.sum(axis=0), B, pair.cols.start)):
            for number, weight in enumerate(side):
                total += self._pulled(steps, start + number, steps, start + number, -0.5 * float(weight))
        return total

    def _derivation(self) -> Derivation:
        because = (
            "sum over alignments of products of kappa is a kernel if kappa / (1 + kappa) is one (Cuturi 2011); with "
            "kappa = (w b / 2) / (1 - w b / 2) that is w b / 2"
            + (", w = max(0, 1 - |i - j| / band) being a kernel of the places" if self.band else ", w = 1")
            + "; then normalized"
        )
        return Derivation("global alignment", because, (self.base,))

    def _text(self) -> str:
        return f"GlobalAlignment({self.base!r}{'' if self.band is None else f', band={self.band}'})"


@dataclass(frozen=True, repr=False)
class Signature(SeriesKernel):
    """The signature kernel: all ordered products of increments that two series have in common.

    k(x, z) = sum over levels l of <S_l(x), S_l(z)> with S_l the iterated integrals of order l of the path that joins the
    steps, in the feature space of the base kernel (Kiraly and Oberhauser 2019). It does not change if a path is run through
    at another pace. With depth=None all levels are summed by the Goursat equation (Salvi et al. 2021), solved numerically.

    Parameters
    ----------
    base : kernel on steps, default Linear()
    depth : int >= 1, optional
        The highest level. None: all of them.
    refinement : int >= 0, default 2
        For depth=None, each step is cut into at least 2^refinement parts; into more where increments are large.

    Values grow quickly with the length of the path: scale the channels, or use `.normalized()`.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> line = np.array([[0.0, 0.0], [1.0, 0.5]])
    >>> Signature(Linear(), depth=3)([line]).round(4).tolist()
    [[2.6949]]
    """

    base: Kernel = field(metadata={"child": True})
    depth: int | None = whole_or_none(None, at_least=1)
    refinement: int = whole(2, at_least=0, at_most=12)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.depth or 0) > 20 or self.refinement > 10:
            raise InputError(
                f"Signature: depth is at most 20 and refinement at most 10; got depth={self.depth}, "
                f"refinement={self.refinement}. Time grows with depth^3 and 4^refinement."
            )

    def _encode(self, rows: Rows) -> Encoding:
        # increments under a linear base do not depend on the first step, whose size would cost them digits
        steps = self._steps(rows, isinstance(self.base, Linear))
        short = np.flatnonzero(np.diff(steps.first) < 2)
        if len(short):
            raise InputError(
                f"Signature: {rows.name}[{short[0]}] has 1 step, and a signature is made of increments; leave it out, or "
                "begin every series with a zero by .base_point()."
            )
        return steps

    def _run(self, A: Steps, own: slice, B: Steps, low: int, high: int, out: Floats) -> None:
        from mercer.kernels._compiled_series import signatures

        columns = B.steps(low, high)
        first = B.first[low : high + 1] - columns.start
        signatures(self._base(A, own, B, columns), first, self.depth or 0, self.refinement, out)

    def _slopes(self, K: Floats, weight: float, out: Floats) -> None:
        from mercer.kernels._compiled_series import signature_slopes

        signature_slopes(K, self.depth or 0, self.refinement, weight, out)

    def _block(self, pair: Pair) -> Array:
        return self._tile(pair.A, pair.B, pair.rows, pair.cols)

    def _diag(self, encoding: Encoding) -> Array:
        return self._own(encoding)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        total = np.zeros(len(self.theta))
        for r, i in enumerate(range(pair.rows.start, pair.rows.stop)):
            for c, j in enumerate(range(pair.cols.start, pair.cols.stop)):
                if W[r, c]:
                    total += self._pulled(pair.A, i, pair.B, j, float(W[r, c]))
        return total

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        total = np.zeros(len(self.theta))
        for i, weight in enumerate(w):
            total += self._pulled(encoding, i, encoding, i, float(weight))
        return total

    def _derivation(self) -> Derivation | None:
        if self.depth is None:
            return None
        because = (
            f"<S(x), S(z)> with S(x) the iterated integrals of orders 0 … {self.depth} of the piecewise linear path through "
            "the steps in the feature space of the base kernel"
        )
        return Derivation("truncated signature", because, (self.base,))

    def why_unproven(self) -> str:
        return " The limit of fine steps is a kernel; its numerical solution is not proven to be one."

    def _text(self) -> str:
        depth = "" if self.depth is None else f", depth={self.depth}"
        refinement = "" if self.refinement == 2 else f", refinement={self.refinement}"
        return f"Signature({self.base!r}{depth}{refinement})"


MAPS = ("time", "lead_lag", "base_point")


@node
@dataclass(frozen=True, repr=False)
class SeriesMap(View):
    """k on series with further channels or steps: time, the lead-lag path, or a zero before the first step."""

    kind: str = one_of(MAPS, "time", keyword=False)
    inner: Kernel = child()

    def view(self, rows: Rows) -> Rows:
        return rows.remember(
            ("series map", self.kind),
            lambda: Rows([mapped(self.kind, one) for one in rows.series()], f"{self.kind}({rows.name})", rows.weights),
        )

    def _derivation(self) -> Derivation:
        return Derivation("k(phi(x), phi(z))", f"phi is the map '{self.kind}' of a series", (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.{self.kind}()"


def mapped(kind: str, series: Floats) -> Floats:  # (l, c)
    """Return one series with a channel for time (0 … 1), as its lead-lag path, or with a zero before the first step."""
    length = len(series)
    if kind == "time":
        return np.column_stack([np.linspace(0.0, 1.0, length) if length > 1 else np.zeros(1), series])
    if kind == "base_point":
        return np.vstack([np.zeros((1, series.shape[1])), series])
    doubled = np.repeat(series, 2, axis=0)
    return np.column_stack([doubled[1:], doubled[:-1]])


__all__ = ["GlobalAlignment", "SeriesMap", "Signature"]
