"""`mmd_test` on rows that come in chunks, with the relabelings, statistic and p-value of the same rows in memory.

MMD^2 of a relabeling s needs s'K0 s and the row sums of K0, the Gram matrix without its diagonal. With rows in chunks
s'K0 s is the sum of s_i'K_ij s_j over pairs of chunks, for all B relabelings at once. A pair gets the signs of its own
rows as one bit per relabeling, and evaluates K_ij by tiles. The matrix is never held, and the client holds N x B signs.

The test in linear time sums features over blocks of rows in one pass. Blocks are drawn as in memory, and every chunk adds
the features of its rows to the sums of their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import CapabilityError, InputError
from mercer.grams.chunks.operator import ChunkOperator, diagonal_of
from mercer.grams.chunks.rows import ChunkedRows, resolved
from mercer.grams.operator import GramOperator
from mercer.inputs import Rows, count, is_frame, take
from mercer.inputs.chunks import Chunk, Chunks, DaskPart, Loaded, UnreadPart, as_chunks, chunks, stacked
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Bundle, check_symmetric
from mercer.numeric import tiles
from mercer.numeric.encodings import dense
from mercer.numeric.memory import DEFAULT_BUDGET, check_fits
from mercer.numeric.threads import cpu_count, run
from mercer.twosample import feature_blocks
from mercer.twosample.default_kernels import Scales, object_kernels, rows_for_scales, scale_kernels, scales_of
from mercer.twosample.quadratic_forms import Forms, ObservedSums, Permutations, Relabelings, Tile
from mercer.twosample.relabeling import MMDOptions, check, choose_labels, choose_method, compare_blocks, relabeling_test
from mercer.twosample.result import MMDTestResult
from mercer.twosample.samples import Pooled, kind_of
from mercer.twosample.scaled_grams import ScaledGrams, StoredGrams, is_array, refuse_underflow


@dataclass(frozen=True, eq=False)
class ChunkedSamples:
    """The m rows of X followed by the n rows of Y, in chunks."""

    rows: ChunkedRows
    m: int
    n: int
    kind: str  # "numbers", "sparse" or "objects"

    def in_memory(self, what: str) -> Pooled:
        """Raise, because `what` needs the rows in memory."""
        raise CapabilityError(
            f"{what} needs the rows of both samples in memory, and a test by chunks does not keep them. Draw a few thousand "
            "rows of each sample, compute() them, and run the test on these."
        )

    def witness(self, kernel: Kernel, Z: Any) -> Floats:  # (r, d) -> (r,)
        """Return mean_i k(x_i, z) - mean_j k(y_j, z), in one more pass over the chunks."""
        weights = np.repeat([1.0 / self.m, -1.0 / self.n], [self.m, self.n])
        (total,) = self.rows.sum(_witness_of, kernel, Z, each=self.rows.split(weights))
        return np.asarray(total)

    def scales(self, rng: np.random.Generator, scale: bool) -> Scales:
        """Return the length scales of the rows that a test in memory would use."""
        drawn = np.sort(rows_for_scales(self.rows.n, rng))
        return scales_of(dense(self.rows.take(drawn).X), scale=scale and self.kind != "sparse")

    def default_kernels(self, rng: np.random.Generator, scale: bool) -> tuple[Kernel, ...]:
        """Return the default kernels for these samples."""
        if self.kind == "objects":
            return object_kernels(self.rows.head.X)
        return scale_kernels(self.scales(rng, scale), self.kind)

    @property
    def chunk_count(self) -> str:
        """Number of chunks, as text."""
        return f"{len(self.rows.lengths or ())} chunks"


def _witness_of(chunk: Chunk, weights: Floats, kernel: Kernel, Z: Any) -> tuple[Floats]:
    return (GramOperator(kernel, Z, chunk.X).times(weights),)


def is_chunked(X: Any, Y: Any) -> bool:
    """Return whether a sample comes in chunks."""
    return as_chunks(X) is not None or as_chunks(Y) is not None


def open_samples(X: Any, Y: Any, kernels: Sequence[Kernel], test: str, seeded: bool) -> ChunkedSamples:
    """Read the first chunk and count the rows; `test` identifies a checkpoint, which needs a `seeded` test."""
    first, second = _both(X, Y)
    source, cut = _joined(first, second), len(first.parts)  # type: ignore[arg-type]
    if source.checkpoint is not None and not seeded:
        raise InputError(
            "mmd_test: checkpoint= needs an integer random_state=, because a restart must draw the same relabelings."
        )
    known = _kind_of(kernels)
    looked = ChunkedRows.opened(replace(source, checkpoint=None), known or "table", None, test, owner="")
    kind = kind_of(looked.head.X, known in ("strings", "graphs"))
    rows, source = looked, replace(source, lengths=looked.lengths)
    if known is None or source.checkpoint is not None:
        rows = ChunkedRows.opened(source, known or ("strings" if kind == "objects" else "vectors"), None, test, owner="")
    if rows.weighted:
        raise InputError("mmd_test: a two-sample test does not take weights. Remove them from the chunks.")
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
    """Return the kind of rows that the kernels compare; None without kernels, where the rows decide."""
    views = {view for kernel in kernels for view in kernel.views}
    if any(kernel.given for kernel in kernels):
        raise CapabilityError("mmd_test: Precomputed() does not accept chunks. Give the rows and a kernel.")
    if not kernels:
        return None
    return next((kind for kind in ("table", "strings", "graphs") if kind in views), "vectors")


def _both(X: Any, Y: Any) -> tuple[Chunks, Chunks]:
    """Return both samples as chunks with a list of parts; a sample in memory is cut like the other."""
    found = [as_chunks(X), as_chunks(Y)]
    lengths = next((sample.lengths for sample in found if sample is not None), None)
    step = max(lengths) if lengths else None
    sides = [
        chunks(given, rows=step or None) if sample is None else sample for given, sample in zip((X, Y), found, strict=True)
    ]
    client = sides[0].client or sides[1].client
    return _listed(sides[0], "X", client), _listed(sides[1], "Y", client)


def _listed(sample: Chunks, name: str, client: Any) -> Chunks:
    """Return parts that name their sample and can be loaded in any order."""
    parts = [UnreadPart(f"{part.where} of {name}", part.load) for part in sample.parts]
    # pairs read the chunks many times: iterators, and collections without a cluster, are kept in memory
    if not isinstance(sample.parts, list) or (client is None and any(isinstance(part.load, DaskPart) for part in parts)):
        parts = [UnreadPart(part.where, LoadedPart(part.load()[0])) for part in parts]
    return replace(sample, parts=parts, once=False)


class LoadedPart:
    """Rows that are already loaded, as the loader of a part."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows if is_array(rows) or is_frame(rows) else list(rows)

    def __call__(self) -> Loaded:
        return self.rows, None, None


def _joined(first: Chunks, second: Chunks) -> Chunks:
    pairs = {"client": (first.client, second.client), "checkpoint": (first.checkpoint, second.checkpoint)}
    for name, (one, other) in pairs.items():
        if one is not None and other is not None and one != other:
            raise InputError(f"mmd_test: X and Y have different values of {name}. Give both the same one.")
    lengths = None if first.lengths is None or second.lengths is None else first.lengths + second.lengths
    checkpoint = first.checkpoint if second.checkpoint is None else second.checkpoint
    return Chunks([*first.parts, *second.parts], lengths, False, checkpoint, first.client or second.client)


#: Chunks return sums only. The largest of P values is replaced by the root of this order of their summed powers, which is
#: not smaller, and at most 1.7 times as large for 5000 pairs of chunks.
ORDER = 16


class ChunkGrams:
    """Gram matrices of several kernels on rows in chunks: diagonals and single tiles."""

    dtype = np.dtype(np.float64)

    def __init__(self, kernels: tuple[Kernel, ...], rows: ChunkedRows) -> None:
        self.kernels, self.length, self._rows = kernels, rows.n, rows
        self._diag = rows.column(diagonal_of, kernels).T  # (q, N)

    def diag(self) -> Floats:  # -> (q, N)
        """Return k(x, x) of every kernel."""
        return self._diag

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """Return one tile of every matrix; its chunks are read for it."""
        index = np.union1d(np.r_[rows], np.r_[cols])
        places = [np.searchsorted(index, (part.start, part.stop - 1)) for part in (rows, cols)]
        bundle = Bundle(self.kernels, Rows(self._rows.take(index).X, "the pooled sample"))
        return bundle.tile(*(slice(int(low), int(high) + 1) for low, high in places))

    def ends(self, size: int) -> Bundle:
        """Return the kernels on the first and the last rows, which belong to both samples."""
        index = np.union1d(np.arange(min(size, self.length)), np.arange(max(0, self.length - size), self.length))
        return Bundle(self.kernels, Rows(self._rows.take(index).X, "the pooled sample"))


class ChunkForms:
    """Quadratic forms of several kernels under relabelings of rows in chunks."""

    def __init__(self, matrices: ScaledGrams, rows: ChunkedRows, labels: Relabelings) -> None:
        self.bundle, self.count, self._rows, self._labels = matrices, len(matrices.kernels), rows, labels
        size = min(64, matrices.length)
        corner = matrices.tile(slice(0, size), slice(matrices.length - size, matrices.length))
        self._shift = np.array([block.mean(dtype=np.float64) for block in corner])

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, ObservedSums]:  # (B, size) -> (q, B)
        """Return the forms, and the sums of the observed labels."""
        forms, squares, powers = self._summed(signs, exact=False)
        peak = powers ** (1.0 / ORDER) * (self._rows.n / self._labels.size)
        shift = self._shift if self._labels.shifted else np.zeros(self.count)
        # sum_i k(x_i, y_i) is 0 here: it is part of the forms and of the observed form, and cancels
        return forms, ObservedSums(self._row_sums(), squares, np.zeros(self.count), self.bundle.diag(), shift, peak)

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats:  # (B, size) -> (q, B)
        """Return the forms of further relabelings; `exact` multiplies in float64."""
        return self._summed(signs, exact)[0]

    def _summed(self, signs: NDArray[np.int8], exact: bool) -> tuple[Floats, Floats, Floats]:
        wide = self._labels.over_rows(signs)  # (B, N)
        bits = [np.packbits(part.T > 0, axis=1) for part in self._rows.split(wide.T)]
        pairs = self._rows.pairs(bits)
        with quiet_graphs():
            forms, squares, powers = pairs.sum(pair_forms, self.bundle.kernels, self.bundle.unit, self._shift, exact)
        self._rows.passes += pairs.passes
        if not self._labels.shifted:  # with signs that sum to 0 the subtracted constant adds N times itself
            forms = forms - self._shift[:, None] * self._rows.n
        return forms, squares, powers

    def _row_sums(self) -> Floats:  # -> (q, N, 2)
        """Return K0 v and K0 1 for the observed labels v."""
        V = np.stack([self._labels.observed, np.ones(self._rows.n)], axis=1)
        found = ChunkOperator(self.bundle.kernels, self._rows) @ V
        sums = found.reshape(self._rows.n, self.count, 2).transpose(1, 0, 2) / self.bundle.unit[:, None, None]
        return np.asarray(sums - self.bundle.diag()[:, :, None] * V)


def pair_forms(chunk: Chunk, kernels: tuple[Kernel, ...], unit: Floats, shift: Floats, exact: bool) -> tuple[Floats, ...]:
    """Return the forms (q, B), sums of squares (q,) and powers of the largest entry (q,) of a pair of chunks."""
    sizes = [count(X) for X in chunk.X]
    rows = Rows(stacked(chunk.X), chunk.where)
    ones = np.hstack([np.unpackbits(bits, axis=1)[:, :n] for bits, n in zip(chunk.y, sizes, strict=True)])
    signs: NDArray[np.int8] = np.where(ones > 0, np.int8(1), np.int8(-1))  # (B, c)
    labels = Permutations(sizes[0], sum(sizes[1:]))
    forms = Forms(ScaledGrams(Bundle(kernels, rows), unit=unit), labels, pieces=_pieces(sizes), shift=shift)
    if exact:
        return forms.more(signs, exact=True), np.zeros(len(kernels)), np.zeros(len(kernels))
    values, moments = forms.first(signs)
    return values, moments.squares, moments.peak**ORDER


def _pieces(sizes: list[int]) -> list[Tile]:
    """Return the tiles on and above the diagonal of one chunk, or all tiles between two chunks."""
    if len(sizes) == 1:
        return list(tiles.tiles((sizes[0], sizes[0]), symmetric=True))
    first, second = sizes
    between = tiles.tiles((first, second), symmetric=False)
    return [(rows, slice(cols.start + first, cols.stop + first)) for rows, cols in between]


def quiet_graphs() -> Any:
    """Silence the warning about large graphs; signs are part of the graph because they must survive a lost worker."""
    from contextlib import nullcontext

    try:
        import dask
    except ImportError:
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"})


def check_signs(m: int, n: int, relabelings: int, kernels: int) -> None:
    """Raise if the relabelings do not fit into the memory of this process."""
    # signs, their copy with the observed ones, random numbers of permutations, and a few numbers per row
    needed = (m + n) * (2 * relabelings + 48 * kernels) + (0 if m == n else 8 * min(m, n) * relabelings)
    check_fits(
        needed, f"mmd_test by chunks: {relabelings} relabelings of {m + n} rows", "Use fewer, or method='features'.",
        DEFAULT_BUDGET,
    )  # fmt: skip


Portion = Callable[[Indices, list[tuple[int, int, int]]], None]  # rows, and (first, last, block) of runs of rows


def chunk_feature_test(
    samples: ChunkedSamples, kernels: tuple[Kernel, ...] | None, chosen: MMDOptions, rng: np.random.Generator, seed: int
) -> MMDTestResult:
    """Return the test on mean features of blocks of rows; None stands for the default kernels."""
    layout = feature_blocks.lay_out(samples.m, samples.n, rng)
    blocks = np.full(samples.rows.n, -1)
    blocks[layout.index.ravel()] = np.repeat(np.arange(len(layout.index)), layout.size)
    if kernels is None and samples.kind == "numbers":
        scales = feature_blocks.octaves(samples.scales(rng, chosen.scale))
        kernels = scales.kernels()
        arrays = _fourier_grams(samples, scales, layout, blocks, chosen.n_features, rng)
        how = f"{chosen.n_features} random frequencies per family"
    else:
        kernels = samples.default_kernels(rng, chosen.scale) if kernels is None else kernels
        arrays = [_of_kernel(k, samples, layout, blocks, chosen.n_features, rng) for k in kernels]
        how = f"explicit features or {chosen.n_features} landmarks"
    head = Rows(samples.rows.head.X, "the pooled sample")
    found = compare_blocks(samples, head, StoredGrams(kernels, arrays), layout, chosen, rng, seed, how)
    return replace(found, method=f"{found.method}, {samples.chunk_count}")


def _fourier_grams(
    samples: ChunkedSamples, scales: Any, layout: feature_blocks.BlockLayout, blocks: Indices, width: int,
    rng: np.random.Generator,
) -> list[Array]:  # fmt: skip
    rows = samples.rows
    total, number = rows.sum(column_sums)
    families = feature_blocks.draw_frequencies(rows.shape[1], scales, width, rng)
    frequencies, levels = tuple(f for f, _ in families), tuple(n for _, n in families)
    found = rows.sum(fourier_sums, frequencies, levels, total / number, len(layout.index), each=rows.split(blocks))
    return [gram for sums in found for gram in feature_blocks.grams_of_sums(sums, layout, width)]


def column_sums(chunk: Chunk) -> tuple[Floats, Floats]:
    """Return the sums of the columns, and the number of rows."""
    return chunk.X.sum(axis=0, dtype=np.float64), np.array(float(len(chunk)))


def fourier_sums(
    chunk: Chunk,
    blocks: Indices,
    frequencies: tuple[Floats, ...],
    levels: tuple[int, ...],
    center: Floats,
    count: int,
) -> tuple[Floats, ...]:
    """Return sums of cosines and sines over the rows of every block, (blocks, levels, 2 D) for each family."""
    found = []
    for matrix, octaves in zip(frequencies, levels, strict=True):
        sums = np.zeros((count, octaves, 2 * matrix.shape[1]))

        def work(rows: Indices, runs: list[tuple[int, int, int]], matrix: Any = matrix, sums: Any = sums) -> None:
            cosines, sines = feature_blocks.cosines_and_sines((chunk.X[rows] - center) @ matrix)
            for first, last, block in runs:
                feature_blocks.add_octaves_of(cosines[first:last], sines[first:last], sums[block])

        over_runs(blocks, work)
        found.append(sums)
    return tuple(found)


def _of_kernel(
    kernel: Kernel, samples: ChunkedSamples, layout: feature_blocks.BlockLayout, blocks: Indices, most: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Return the Gram matrix of block means, by explicit features if all chunks share them, otherwise by landmarks."""
    rows, finite = samples.rows, kernel.features
    whitening = landmarks = None
    width = kernel.n_features(take(rows.head.X, slice(0, 1))) if finite is not None and finite.shared else None
    if width is None or width > feature_blocks.EXPLICIT:
        drawn = np.sort(rng.choice(rows.n, min(most, rows.n), replace=False))
        landmarks = rows.take(drawn).X
        whitening = feature_blocks.whitened(kernel, Rows(landmarks))
        width = whitening.shape[1]
    (sums,) = rows.sum(feature_sums, kernel, landmarks, whitening, width, len(layout.index), each=rows.split(blocks))
    means = sums / layout.size
    return np.asarray(means @ means.T)


def feature_sums(
    chunk: Chunk, blocks: Indices, kernel: Kernel, landmarks: Any, whitening: Any, width: int, count: int
) -> tuple[Floats]:
    """Return sums of features over the rows of every block, (blocks, D)."""
    sums = np.zeros((count, width))
    near = None if landmarks is None else Rows(landmarks)
    data = Rows(chunk.X, chunk.where)

    def work(rows: Indices, runs: list[tuple[int, int, int]]) -> None:
        part = data.take(rows)
        values = (
            dense(kernel.feature_map(part))
            if near is None
            else feature_blocks.landmark_values(kernel, part, near) @ whitening
        )
        for first, last, block in runs:
            sums[block] += values[first:last].sum(axis=0, dtype=np.float64)

    over_runs(blocks, work)
    return (sums,)


def over_runs(blocks: Indices, work: Portion) -> None:
    """Call work on all cores for groups of rows in the order of blocks; each block belongs to one thread."""
    order = np.argsort(blocks, kind="stable")
    order = order[np.searchsorted(blocks[order], 0) :]  # -1 marks rows that are left out
    own = blocks[order]
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    cuts = starts[np.flatnonzero(np.diff(starts // feature_blocks.CACHED_ROWS, prepend=-1))].tolist()
    parts = list(zip(cuts, [*cuts[1:], len(own)], strict=True))

    def one(part: tuple[int, int], _: int) -> None:
        for low in range(*part, feature_blocks.CACHED_ROWS):
            high = min(low + feature_blocks.CACHED_ROWS, part[1])
            edges = np.flatnonzero(np.diff(own[low:high], prepend=-1)).tolist()
            runs = [(a, b, int(own[low + a])) for a, b in zip(edges, [*edges[1:], high - low], strict=True)]
            work(order[low:high], runs)

    run(parts, one, min(cpu_count(), max(1, len(parts))))


def chunk_test(X: Any, Y: Any, given: tuple[Kernel, ...], chosen: MMDOptions, random_state: Any) -> MMDTestResult:
    """Return the test on two samples of which one or both come in chunks; no kernels stand for the default."""
    seeded = isinstance(random_state, (int, np.integer))
    samples = open_samples(X, Y, given, f"mmd_test {given!r} {chosen!r} {random_state!r}", seeded)
    check(chosen, samples)
    rng = np.random.default_rng(random_state)
    kernels = tuple(resolved(one, samples.rows) for one in given) or samples.default_kernels(rng, chosen.scale)
    seed = int(rng.integers(2**63))
    if choose_method(chosen, samples, len(kernels)) == "features":
        found = chunk_feature_test(samples, kernels if given else None, chosen, rng, seed)
    else:
        check_signs(samples.m, samples.n, chosen.n_permutations, len(kernels))
        matrices = ChunkGrams(kernels, samples.rows)
        check_symmetric(matrices.ends(32))
        scaled = ScaledGrams(matrices)
        refuse_underflow(kernels, scaled.diag(), Rows(samples.rows.head.X))
        labels = choose_labels(chosen.resampling, samples.m, samples.n)
        forms = ChunkForms(scaled, samples.rows, labels)
        found = relabeling_test(
            samples, scaled, labels, chosen, rng, seed, f"all pairs of rows, {samples.chunk_count}", forms
        )
    samples.rows.close()
    return found
