"""Windows of one string against windows of many others: agreements along the diagonals, 32 pairs to an instruction.

The number of places at which the window that ends at i agrees with the one that ends at j differs from that of the windows
that end one letter earlier by the letters that come in and go out. So a pair of windows takes a few byte operations, however
wide the windows are and however many ways there are to choose among their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from mercer.arrays import Floats, Ints
from mercer.numeric._compiled_notice import njit
from mercer.numeric._compiled_sparse_products import at_addresses

Bytes = NDArray[np.uint8]

#: Pairs of windows that one vector instruction takes.
VECTOR = 32

#: Letters of the other strings that go along together: their numbers stay in the cache nearest to the core.
#: Row: gapped-*.
BATCH = 4096

#: A letter between strings, and one before the first: they equal nothing, not even each other.
APART, BEFORE = 254, 255

#: Tallies are bytes: this many rows can be added before they are written out.
ROWS_IN_A_BYTE = 255


def _tools(builder: Any) -> Any:
    kind = ir.VectorType(ir.IntType(8), VECTOR)
    load, store = at_addresses(builder, kind, 1)

    def everywhere(value: Any) -> Any:
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(
            one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), [0] * VECTOR)
        )

    return kind, load, store, everywhere


@intrinsic
def advance(context, before, after, letters, gone, ends, came, left, least):  # type: ignore[no-untyped-def]
    """after = before + [letters = came] - [gone = left] for VECTOR pairs; which of those at ends have at least `least`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        before, after, letters, gone, ends, came, left, least = arguments
        kind, load, store, everywhere = _tools(builder)
        enters = builder.sext(builder.icmp_unsigned("==", load(letters), everywhere(came)), kind)  # -1 where equal
        leaves = builder.sext(builder.icmp_unsigned("==", load(gone), everywhere(left)), kind)
        count = builder.add(builder.sub(load(before), enters), leaves)
        store(count, after)
        found = builder.icmp_unsigned(">=", builder.and_(count, load(ends)), everywhere(least))
        return builder.bitcast(found, ir.IntType(32))

    arguments = (*[types.uintp] * 5, *[types.uint8] * 3)
    return types.uint32(*arguments), generate


@intrinsic
def tally(context, counts, ends, sums, least):  # type: ignore[no-untyped-def]
    """sums += [counts at ends >= least], for VECTOR pairs; which of them these are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counts, ends, sums, least = arguments
        kind, load, store, everywhere = _tools(builder)
        found = builder.icmp_unsigned(">=", builder.and_(load(counts), load(ends)), everywhere(least))
        store(builder.sub(load(sums), builder.sext(found, kind)), sums)
        return builder.bitcast(found, ir.IntType(32))

    return types.uint32(types.uintp, types.uintp, types.uintp, types.uint8), generate


@njit()
def agreements(
    codes: Bytes, starts: Ints, chunk: Ints, others: Ints, width: int, least: int, gains: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """out[r, c] += sum over pairs of windows of strings chunk[r] and others[c], with m >= least agreements, of
    gains[0] + … + gains[m - least]."""
    begin = 0
    while begin < others.shape[0]:
        end, letters = begin, 0
        while end < others.shape[0] and (end == begin or letters + starts[others[end] + 1] - starts[others[end]] <= BATCH):
            letters += starts[others[end] + 1] - starts[others[end]]
            end += 1
        _batch(codes, starts, chunk, others, begin, end, letters, width, least, gains, out)
        begin = end


@njit()
def own(codes: Bytes, starts: Ints, rows: Ints, width: int, least: int, gains: Floats, out: Floats) -> None:
    """The same of every string with itself."""
    for r in range(rows.shape[0]):
        value = np.zeros((1, 1))
        letters = starts[rows[r] + 1] - starts[rows[r]]
        _batch(codes, starts, rows[r : r + 1], rows[r : r + 1], 0, 1, letters, width, least, gains, value)
        out[r] += value[0, 0]


@njit()
def _batch(codes, starts, chunk, others, begin, end, letters, width, least, gains, out):  # type: ignore[no-untyped-def]
    """The strings others[begin:end], of this many letters together, side by side."""
    chunks = (letters + VECTOR - 1) // VECTOR
    size = chunks * VECTOR
    line = np.full(width + size, APART, np.uint8)  # the letters, after as many as a window has
    ends = np.zeros(size, np.uint8)  # 255 where a window ends
    firsts = np.zeros(end - begin + 1, np.int64)
    for k in range(end - begin):
        string = others[begin + k]
        first, length = firsts[k], starts[string + 1] - starts[string]
        line[width + first : width + first + length] = codes[starts[string] : starts[string + 1]]
        ends[first + width - 1 : first + length] = 255
        firsts[k + 1] = first + length
    counts = np.zeros((2, size + 1), np.uint8)
    levels = gains.shape[0]
    sums = np.zeros((levels, size), np.uint8)
    at_line, at_ends, at_sums = np.uintp(line.ctypes.data), np.uintp(ends.ctypes.data), np.uintp(sums.ctypes.data)
    at_counts = (np.uintp(counts[0].ctypes.data), np.uintp(counts[1].ctypes.data))
    one, wide, long = np.uintp(1), np.uintp(width), np.uintp(size)
    for r in range(chunk.shape[0]):
        start, stop = starts[chunk[r]], starts[chunk[r] + 1]
        counts[:] = 0
        pending = 0
        for i in range(start, stop):
            came, left = codes[i], codes[i - width] if i - width >= start else np.uint8(BEFORE)
            before, after = at_counts[(i - start) % 2], at_counts[1 - (i - start) % 2]
            whole = i - start >= width - 1
            for c in range(chunks):
                o = np.uintp(c * VECTOR)
                found: np.uint32 = advance(  # type: ignore[call-arg]
                    before + o, after + one + o, at_line + wide + o, at_line + o, at_ends + o, came, left, np.uint8(least)
                )
                level = 0 if whole else levels
                while found != 0 and level < levels:  # more agreements are rarer: most stop after a step
                    found = tally(
                        after + one + o, at_ends + o, at_sums + long * np.uintp(level) + o, np.uint8(least + level)
                    )
                    level += 1
            pending += 1
            if pending == ROWS_IN_A_BYTE or i == stop - 1:
                for level in range(levels):
                    for k in range(end - begin):
                        total = np.int64(0)
                        for j in range(firsts[k], firsts[k + 1]):
                            total += sums[level, j]
                        out[r, begin + k] += gains[level] * total
                sums[:] = 0
                pending = 0
