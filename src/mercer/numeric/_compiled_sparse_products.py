"""Products of sparse rows: counts of equal keys in sets of bits, 256 rows per step, and sums along lists of rows.

For every key there is a set of the rows that have it, one bit each. The number of keys that a row shares with each of 256
others is the sum of such sets. Numbers are kept one binary digit per word, so that a few logical operations add them for
256 rows. Comments call rows strings and their items windows, after the first use of these loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from mercer.arrays import Array, Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit

Marks = NDArray[np.uint32]  # unsigned: an index that cannot be negative is used as it is
Words = NDArray[np.uint64]

#: Words of 64 bits that one vector instruction takes.
VECTOR = 4

#: Sets for strings that have a feature once, twice, …; what goes beyond is listed. Row: gapped-*.
LEVELS = 4

#: What is known of a key: the first of its sets, how many it has, its list, the key, and the string being read.
ROW, DEPTH, BEGIN, END, KEY, STRING, TIMES = range(7)

#: Strings whose numbers are written out together.
BATCH = 16

#: Sets that are added in one go (2^d - 1, so that no digit is left over), and how many groups have a sum of eight digits.
GROUP, GROUPS = 15, 17


def at_addresses(builder: Any, kind: Any, align: int) -> tuple[Any, Any]:
    """load(address) and store(value, address) of vectors of a kind; addresses need no proof that they differ."""

    def load(address: Any) -> Any:
        found = builder.load(builder.inttoptr(address, kind.as_pointer()))
        found.align = align
        return found

    def store(value: Any, address: Any) -> None:
        builder.store(value, builder.inttoptr(address, kind.as_pointer())).align = align

    return load, store


def _vector_tools(builder: Any) -> Any:
    """Load, store and add words."""
    load, store = at_addresses(builder, ir.VectorType(ir.IntType(64), VECTOR), 8)

    def add(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
        """The sum of three digits: the digit, and the carry."""
        half = builder.xor(a, b)
        return builder.xor(half, c), builder.or_(builder.and_(a, b), builder.and_(half, c))

    return load, store, add


@intrinsic
def add_sets(context, rows, base, size, digits, step):  # type: ignore[no-untyped-def]
    """Add GROUP sets to numbers of eight digits that lie `step` bytes apart.

    `rows` is the address of GROUP row numbers (uint32), and row r begins at base + size r.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        load, store, add = _vector_tools(builder)
        rows, base, size, at, step = arguments
        index = ir.IntType(32)
        numbers = builder.inttoptr(rows, index.as_pointer())
        waiting = []
        for k in range(GROUP):
            row = builder.zext(builder.load(builder.gep(numbers, [ir.Constant(index, k)])), base.type)
            waiting.append(load(builder.add(base, builder.mul(row, size))))
        summed = []  # the digits of the number of sets that each string is in
        while waiting:
            carries = []
            while len(waiting) > 1:
                digit, carry = add(waiting.pop(0), waiting.pop(0), waiting.pop(0))
                waiting.append(digit)
                carries.append(carry)
            summed.append(waiting[0])
            waiting = carries
        carry = None
        for place in range(8):
            digit = load(at)
            if place == 0 or place >= len(summed):
                new = summed[0] if place == 0 else carry
                digit, carry = builder.xor(digit, new), builder.and_(digit, new)
            else:
                digit, carry = add(digit, summed[place], carry)
            store(digit, at)
            at = builder.add(at, step)
        return context.get_dummy_value()

    return types.void(*[types.uintp] * 5), generate


@njit()
def add_digits(small: Words, large: Words) -> None:  # (8, W), (P, W)
    """Add numbers of eight digits to numbers of more."""
    for w in range(small.shape[1]):
        carry = np.uint64(0)
        for place in range(large.shape[0]):
            digit = large[place, w]
            if place < 8:
                new = small[place, w]
                half = digit ^ new
                large[place, w] = half ^ carry
                carry = (digit & new) | (half & carry)
            else:
                large[place, w] = digit ^ carry
                carry &= digit


@njit()
def add_values(digits: Words, spread: Words, scratch: Words, out: Ints) -> None:  # (P, W), (256,), (8 W,), (64 W,)
    """out += the numbers that the digits spell; eight digits of eight strings are put together in one word."""
    for low in range(0, digits.shape[0], 8):
        high = min(low + 8, digits.shape[0])
        for w in range(digits.shape[1]):
            for byte in range(8):
                total = np.uint64(0)
                for place in range(low, high):
                    part = (digits[place, w] >> np.uint64(8 * byte)) & np.uint64(255)
                    total += spread[part] << np.uint64(place - low)
                scratch[8 * w + byte] = total
        values = scratch.view(np.uint8)
        for i in range(out.shape[0]):
            out[i] += np.int64(values[i]) << low


@njit()
def keys_of(
    parts: Marks, back: Marks, lut: Marks, strands: int, begin: int, end: int, out: Marks
) -> int:  # (q, M), (q, M) or (q, 0), (q, S)
    """The codes of the windows begin … end - 1; strands = 1 takes the smaller of both directions, 2 takes both."""
    size = end - begin
    spell(parts, lut, begin, out[:size])
    if strands == 0:
        return size
    other = out[size : 2 * size]
    spell(back, lut, begin, other)
    if strands == 2:
        return 2 * size
    for w in range(size):
        out[w] = min(out[w], other[w])
    return size


@njit()
def spell(parts: Marks, lut: Marks, begin: int, out: Marks) -> None:
    """out = the sum over parts of the table entry of the part; the part itself if there is no table."""
    size = out.shape[0]
    column = parts[0, begin : begin + size]
    if lut.shape[1] == 0:
        out[:] = column
        return
    entry = lut[0]
    for w in range(size):
        out[w] = entry[column[w]]
    for q in range(1, parts.shape[0]):
        column, entry = parts[q, begin : begin + size], lut[q]
        for w in range(size):
            out[w] += entry[column[w]]


@njit()
def measure(
    parts: Marks, back: Marks, lut: Marks, strands: int, first: Ints, chunk: Ints, slot: Codes, keys: Marks, info: Codes,
    sizes: Codes,
) -> int:  # fmt: skip
    """Number the keys of the strings `chunk`, slot[key] = number; sizes[number, t] strings have a key more than t times."""
    count = 0
    for r in range(chunk.shape[0]):
        got = keys_of(parts, back, lut, strands, first[chunk[r]], first[chunk[r] + 1], keys)
        for k in range(got):
            s = slot[keys[k]]
            if s < 0:
                s = count
                slot[keys[k]] = s
                info[s, KEY], info[s, STRING], info[s, END] = keys[k], -1, 0
                sizes[s] = 0
                count += 1
            times = info[s, TIMES] if info[s, STRING] == r else 0
            if times < LEVELS:
                sizes[s, times] += 1
            info[s, STRING], info[s, TIMES] = r, times + 1
            info[s, END] += 1
    return count


@njit()
def gather(
    parts: Marks, back: Marks, lut: Marks, strands: int, first: Ints, chunk: Ints, slot: Codes, few: int, keys: Marks,
    info: Codes, sizes: Codes, lists: Codes, bits: Words,
) -> int:  # fmt: skip
    """Sort the keys of the strings `chunk` into sets of strings, and into lists where only a few strings are left.

    The set of level t of a key has the strings with more than t of it: a string that has a key three times is in three
    sets. The list has pairs (string, times) for what no set holds.
    """
    count = measure(parts, back, lut, strands, first, chunk, slot, keys, info, sizes)
    total, sets = 0, 0
    for s in range(count):
        total += info[s, END]
    if total > 4 * count:  # where most keys have sets, a list that is empty more often than not costs more than a set
        few = 0
    total = 0
    for s in range(count):
        size = info[s, END]
        info[s, BEGIN], info[s, END], info[s, STRING] = total, total, -1
        total += size
        levels = 0
        while levels < LEVELS and sizes[s, levels] > few and sets + levels < bits.shape[0]:
            bits[sets + levels] = 0
            levels += 1
        info[s, ROW], info[s, DEPTH] = sets, levels
        sets += levels
    for r in range(chunk.shape[0]):
        word, bit = r // 64, np.uint64(1) << np.uint64(r % 64)
        got = keys_of(parts, back, lut, strands, first[chunk[r]], first[chunk[r] + 1], keys)
        for k in range(got):
            s = slot[keys[k]]
            times = info[s, TIMES] if info[s, STRING] == r else 0
            info[s, STRING], info[s, TIMES] = r, times + 1
            end = info[s, END]
            if times < info[s, DEPTH]:
                bits[info[s, ROW] + times, word] |= bit
            elif end > info[s, BEGIN] and lists[end - 1, 0] == r:
                lists[end - 1, 1] += 1
            else:
                lists[end, 0], lists[end, 1] = r, 1
                info[s, END] = end + 1
    return count


@njit()
def stream(
    parts: Marks, back: Marks, lut: Marks, strands: int, begin: int, end: int, slot: Codes, info: Codes, lists: Codes,
    bits: Words, keys: Marks, chosen: Marks, small: Words, large: Words, out: Ints,
) -> None:  # fmt: skip
    """Add to `large`, by digits, and to `out`, one by one, how often the windows of one string are in each string."""
    width = bits.shape[1]
    row = np.uintp(8 * width)
    base, digits = np.uintp(bits.ctypes.data), np.uintp(small.ctypes.data)
    empty = bits.shape[0] - 1  # the last row is the empty set
    got = keys_of(parts, back, lut, strands, begin, end, keys)
    sets = 0
    for k in range(got):
        s = slot[keys[k]]
        if s < 0:
            continue
        of = info[s]
        for at in range(of[BEGIN], of[END]):
            out[lists[at, 0]] += lists[at, 1]
        for level in range(LEVELS):  # all are written and some are kept: no branch to guess
            chosen[sets + level] = of[ROW] + level
        sets += of[DEPTH]
    for k in range(sets, sets + GROUP):
        chosen[k] = empty
    groups = 0
    small[:] = 0
    rows = np.uintp(chosen.ctypes.data)
    for k in range(0, sets, GROUP):
        for w in range(0, width, VECTOR):
            o = np.uintp(8 * w)
            add_sets(rows + np.uintp(4 * k), base + o, row, digits + o, row)  # type: ignore[call-arg]
        groups += 1
        if groups == GROUPS:
            add_digits(small, large)
            small[:] = 0
            groups = 0
    if groups:
        add_digits(small, large)


@njit()
def shared_keys(
    parts: Marks, back: Marks, luts: Marks, strands: Ints, first: Ints, bound: int, chunk: Ints, others: Ints, few: int,
    places: int, out: Floats, weight: float,
) -> None:  # (q, M), (q, M or 0), (masks, q, S), (masks,), (n + 1,), (R,), (m,), (R, m)  # fmt: skip
    """out[r, j] += weight * the number of pairs of windows, of string chunk[r] and string others[j], with equal keys."""
    words = VECTOR * ((chunk.shape[0] + 64 * VECTOR - 1) // (64 * VECTOR))
    windows, longest = 0, 1
    for r in range(chunk.shape[0]):
        windows += first[chunk[r] + 1] - first[chunk[r]]
        longest = max(longest, first[chunk[r] + 1] - first[chunk[r]])
    for j in range(others.shape[0]):
        longest = max(longest, first[others[j] + 1] - first[others[j]])
    times = 2 if back.shape[1] else 1
    windows, longest = windows * times, longest * times
    slot = np.full(bound, -1, np.int32)
    keys = np.empty(2 * longest + 7, np.uint32)
    distinct = min(windows, bound)
    info, sizes = np.empty((distinct, 8), np.int32), np.empty((distinct, LEVELS), np.int32)
    lists, chosen = np.empty((windows, 2), np.int32), np.empty(LEVELS * (longest + 1) + GROUP, np.uint32)
    bits = np.zeros((windows + 1, words), np.uint64)
    small = np.empty((8, words), np.uint64)
    # with one mask some strings are finished before the next, in memory that stays in cache; else all wait for the last
    size = min(BATCH, others.shape[0]) if luts.shape[0] == 1 else others.shape[0]
    large = np.empty((size, places, words), np.uint64)
    counts = np.empty((size, 64 * words), np.int64)
    spread, scratch = spread_bits(), np.empty(8 * words, np.uint64)
    for start in range(0, others.shape[0], max(size, 1)):
        stop = min(start + size, others.shape[0])
        large[:] = 0
        counts[:] = 0
        for mask in range(luts.shape[0]):
            lut, both = luts[mask], strands[mask]
            if start == 0:
                found = gather(parts, back, lut, both, first, chunk, slot, few, keys, info, sizes, lists, bits[:-1])
            for j in range(start, stop):
                begin, end, at = first[others[j]], first[others[j] + 1], j - start
                stream(
                    parts, back, lut, both, begin, end, slot, info, lists, bits, keys, chosen, small, large[at], counts[at]
                )
            if luts.shape[0] > 1:
                for s in range(found):
                    slot[info[s, KEY]] = -1
        for low in range(start, stop, BATCH):  # some columns at a time, so that lines of `out` are written whole
            high = min(low + BATCH, stop)
            for j in range(low, high):
                add_values(large[j - start], spread, scratch, counts[j - start])
            for r in range(chunk.shape[0]):
                for j in range(low, high):
                    out[r, j] += weight * counts[j - start, r]


@njit()
def spread_bits() -> Words:  # -> (256,)
    """For every byte, the word whose bytes are its bits."""
    out = np.zeros(256, np.uint64)
    for byte in range(256):
        for bit in range(8):
            if (byte >> bit) & 1:
                out[byte] |= np.uint64(1) << np.uint64(8 * bit)
    return out


@njit()
def own_keys(
    parts: Marks, back: Marks, luts: Marks, strands: Ints, first: Ints, bound: int, chunk: Ints, weight: float,
    out: Floats,
) -> None:  # fmt: skip
    """out[r] += weight * the number of pairs of windows of string chunk[r] with equal keys, over all masks."""
    longest = 1
    for r in range(chunk.shape[0]):
        longest = max(longest, first[chunk[r] + 1] - first[chunk[r]])
    keys = np.empty(2 * longest + 7, np.uint32)
    seen = np.zeros(bound, np.int64)
    for r in range(chunk.shape[0]):
        total = 0
        for mask in range(luts.shape[0]):
            begin, end = first[chunk[r]], first[chunk[r] + 1]
            got = keys_of(parts, back, luts[mask], strands[mask], begin, end, keys)
            for k in range(got):
                total += 2 * seen[keys[k]] + 1  # the square grows by this
                seen[keys[k]] += 1
            for k in range(got):
                seen[keys[k]] = 0
        out[r] += weight * total


@njit()
def transposed(
    indptr: Ints, indices: Codes, data: Array, width: int
) -> tuple[Ints, Codes, Array]:  # CSR of (n, width) -> CSR of (width, n), sorted
    """The same matrix by columns; rows of a column ascend."""
    pointer = np.zeros(width + 1, np.int64)
    for k in range(indices.shape[0]):
        pointer[indices[k] + 1] += 1
    for c in range(width):
        pointer[c + 1] += pointer[c]
    place = pointer[:-1].copy()
    rows = np.empty(indices.shape[0], np.int32)
    values = np.empty(indices.shape[0], data.dtype)
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            at = place[indices[k]]
            place[indices[k]] = at + 1
            rows[at] = i
            values[at] = data[k]
    return pointer, rows, values


@njit()
def lower_bound(rows: Codes, start: int, stop: int, value: int) -> int:
    """The first place in rows[start:stop], ascending, with an entry >= value."""
    while start < stop:
        middle = (start + stop) // 2
        if rows[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@njit()
def add_common(
    indptr: Ints, indices: Codes, data: Array, picked: Ints,
    pointer: Ints, rows: Codes, values: Array, low: int, high: int, out: Floats,
) -> None:  # CSR (n, D), (r,), lists of D columns, (r, high - low)  # fmt: skip
    """out[i, j - low] += sum over columns c of data[i, c] values[c, j], for rows `picked` and low <= j < high."""
    for i in range(picked.shape[0]):
        total = out[i]
        for k in range(indptr[picked[i]], indptr[picked[i] + 1]):
            start, stop = pointer[indices[k]], pointer[indices[k] + 1]
            if start == stop:
                continue
            if rows[start] < low:
                start = lower_bound(rows, start, stop, low)
            if start < stop and rows[stop - 1] >= high:
                stop = lower_bound(rows, start, stop, high)
            weight = data[k]
            for at in range(start, stop):
                total[rows[at] - low] += weight * values[at]
