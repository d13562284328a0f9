"""Two samples whose rows come in chunks: those of X, then those of Y, as one sequence of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError, InputError
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.operator import GramOperator
from mercer.inputs.chunks import Chunk, Chunks, Loaded, Part, as_chunks, chunks
from mercer.inputs.dask_parts import DaskPart
from mercer.kernels.base import Kernel
from mercer.numeric.encodings import dense
from mercer.twosample.collection import Scales, object_kernels, rows_for_scales, scale_kernels, scales_of
from mercer.twosample.samples import Pooled, kind_of


@dataclass(frozen=True, eq=False)
class ChunkedSamples:
    """The rows of X followed by those of Y, in chunks; `m` rows come from X, `n` from Y."""

    rows: ChunkedRows
    m: int
    n: int
    kind: str  # "numbers", "sparse" or "objects"

    def at_hand(self, what: str) -> Pooled:
        """Refuse what looks at single rows again and again."""
        raise CapabilityError(
            f"{what} looks at the rows of both samples, which a test by chunks does not keep. Draw some thousand rows of "
            "each, compute() them, and ask a test of these."
        )

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """mean_i k(x_i, z) - mean_j k(y_j, z), in one more pass."""
        weights = np.repeat([1.0 / self.m, -1.0 / self.n], [self.m, self.n])
        (total,) = self.rows.sum(_witness_of, kernel, Z, each=self.rows.split(weights))
        return np.asarray(total)

    def scales(self, rng: np.random.Generator) -> Scales:
        """The length scales of the same rows as in memory."""
        drawn = np.sort(rows_for_scales(self.rows.n, rng))
        return scales_of(dense(self.rows.take(drawn).X))

    def default_kernels(self, rng: np.random.Generator) -> tuple[Kernel, ...]:
        """The kernels to aggregate over when none is given."""
        return object_kernels(self.rows.head.X) if self.kind == "objects" else scale_kernels(self.scales(rng), self.kind)

    @property
    def words(self) -> str:
        """How many chunks there are."""
        return f"{len(self.rows.lengths or ())} chunks"


def _witness_of(chunk: Chunk, weights: Floats, kernel: Kernel, Z: Any) -> tuple[Floats]:
    return (GramOperator(kernel, Z, chunk.X).times(weights),)


def is_chunked(X: Any, Y: Any) -> bool:
    """Whether a sample comes in chunks."""
    return as_chunks(X) is not None or as_chunks(Y) is not None


def open_samples(X: Any, Y: Any, kernels: Sequence[Kernel], test: str, seeded: bool) -> ChunkedSamples:
    """Look at the first chunk and count the rows; `test` says what a checkpoint is of, and whether it is `seeded`."""
    first, second = _both(X, Y)
    source, cut = _joined(first, second), len(first.parts)  # type: ignore[arg-type]
    if source.checkpoint is not None and not seeded:
        raise InputError("mmd_test: checkpoint= needs random_state=, a whole number: the relabelings must come out again.")
    known = _kind_of(kernels)
    looked = ChunkedRows.opened(replace(source, checkpoint=None), known or "table", None, test, owner="")
    kind = kind_of(looked.head.X, known in ("strings", "graphs"))
    rows, source = looked, replace(source, lengths=looked.lengths)
    if known is None or source.checkpoint is not None:
        rows = ChunkedRows.opened(source, known or ("strings" if kind == "objects" else "vectors"), None, test, owner="")
    if rows.weighted:
        raise InputError("mmd_test: the rows of a two-sample test have no weights; leave them out of the chunks.")
    lengths = rows.lengths or ()
    m, n = sum(lengths[:cut]), sum(lengths[cut:])
    for name, size in (("X", m), ("Y", n)):
        if size < 2:
            raise InputError(
                f"{name} has {size} row{'s' * (size == 0)}; the unbiased statistic averages over pairs of different rows, "
                "so each sample needs at least 2."
            )
    return ChunkedSamples(rows, m, n, "numbers" if kind == "frame" else kind)


def _kind_of(kernels: Sequence[Kernel]) -> str | None:
    """What the rows are for the given kernels; None where none is given, and the rows have to say it."""
    views = {view for kernel in kernels for view in kernel._views()}
    if any(kernel.given for kernel in kernels):
        raise CapabilityError("mmd_test: Precomputed kernel values do not come in chunks; give the rows.")
    if not kernels:
        return None
    return next((kind for kind in ("table", "strings", "graphs") if kind in views), "vectors")


def _both(X: Any, Y: Any) -> tuple[Chunks, Chunks]:
    """Both samples as chunks whose parts are a list; one that is in memory is cut like the other."""
    found = [as_chunks(X), as_chunks(Y)]
    lengths = next((sample.lengths for sample in found if sample is not None), None)
    step = max(lengths) if lengths else None
    sides = [
        chunks(given, rows=step or None) if sample is None else sample for given, sample in zip((X, Y), found, strict=True)
    ]
    client = sides[0].client or sides[1].client
    return _listed(sides[0], "X", client), _listed(sides[1], "Y", client)


def _listed(sample: Chunks, name: str, client: Any) -> Chunks:
    """Parts that say whose they are, and can be loaded in any order."""
    parts = [Part(f"{part.where} of {name}", part.load) for part in sample.parts]
    # pairs go through the chunks many times: iterators, and collections that nobody else computes, are kept
    if not isinstance(sample.parts, list) or (client is None and any(isinstance(part.load, DaskPart) for part in parts)):
        parts = [Part(part.where, Kept(part.load()[0])) for part in parts]
    return replace(sample, parts=parts, once=False)


class Kept:
    """Rows that were loaded before."""

    def __init__(self, rows: Any) -> None:
        self.rows = list(rows) if not hasattr(rows, "shape") else rows

    def __call__(self) -> Loaded:
        return self.rows, None, None


def _joined(first: Chunks, second: Chunks) -> Chunks:
    for name in ("client", "checkpoint"):
        one, other = getattr(first, name), getattr(second, name)
        if one is not None and other is not None and one != other:
            raise InputError(f"mmd_test: X and Y come with a {name} each; give both the same one.")
    lengths = None if first.lengths is None or second.lengths is None else first.lengths + second.lengths
    checkpoint = first.checkpoint if second.checkpoint is None else second.checkpoint
    return Chunks([*first.parts, *second.parts], lengths, False, checkpoint, first.client or second.client)
