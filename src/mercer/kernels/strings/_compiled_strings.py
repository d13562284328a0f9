"""The recurrence of gap-weighted subsequences, sixteen pairs at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from mercer.arrays import Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit

#: Pairs that one vector instruction takes, and pairs that go through the recurrence side by side: four instructions that
#: need not wait for each other.
VECTOR, LANES = 4, 16


@njit()
def subsequence_pairs(a: Codes, a_starts: Ints, b: Codes, b_starts: Ints, p: int, decay: float, out: Floats) -> None:
    """out[i, j] = K_p(string i of a, string j of b), one string of a against LANES strings of b."""
    m = b_starts.shape[0] - 1
    order = np.argsort(b_starts[1:] - b_starts[:-1])  # strings of one batch have about the same length
    for start in range(0, m, LANES):
        count = min(LANES, m - start)
        width = 0
        for lane in range(count):
            j = order[start + lane]
            width = max(width, b_starts[j + 1] - b_starts[j])
        letters = np.full((width, LANES), -1, np.int32)
        for lane in range(count):
            j = order[start + lane]
            for k in range(b_starts[j + 1] - b_starts[j]):
                letters[k, lane] = b[b_starts[j] + k]
        prefix = np.empty((p + 1, width + 1, LANES))
        sums = np.empty((2, LANES))
        for i in range(a_starts.shape[0] - 1):
            sweep(a[a_starts[i] : a_starts[i + 1]], letters, p, decay, prefix, sums)
            for lane in range(count):
                out[i, order[start + lane]] = sums[0, lane]


@njit()
def subsequence_diagonal(codes: Codes, starts: Ints, p: int, decay: float, out: Floats) -> None:
    """out[i] = K_p of string i with itself."""
    sums = np.empty((2, VECTOR))
    for i in range(starts.shape[0] - 1):
        own = codes[starts[i] : starts[i + 1]]
        letters = np.empty((own.shape[0], VECTOR), np.int32)
        for k in range(own.shape[0]):
            letters[k] = own[k]
        sweep(own, letters, p, decay, np.empty((p + 1, own.shape[0] + 1, VECTOR)), sums)
        out[i] = sums[0, 0]


@intrinsic
def advance(context, run, below, own, letters, letter, decay, square):  # type: ignore[no-untyped-def]
    """run = decay run + [letters = letter] square below, own = decay own + run, for VECTOR pairs at these addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        run, below, own, letters, letter, decay, square = arguments
        double, whole = ir.VectorType(ir.DoubleType(), VECTOR), ir.VectorType(ir.IntType(32), VECTOR)

        def load(address: Any, kind: Any, align: int) -> Any:
            found = builder.load(builder.inttoptr(address, kind.as_pointer()))
            found.align = align
            return found

        def all_lanes(value: Any, kind: Any) -> Any:
            vector = ir.Constant(kind, ir.Undefined)
            for lane in range(VECTOR):
                vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
            return vector

        rate = all_lanes(decay, double)
        equal = builder.icmp_signed("==", load(letters, whole, 4), all_lanes(letter, whole))
        gain = builder.fmul(all_lanes(square, double), load(below, double, 8))
        nothing = ir.Constant(double, [0.0] * VECTOR)
        new = builder.fadd(builder.fmul(rate, load(run, double, 8)), builder.select(equal, gain, nothing))
        grown = builder.fadd(builder.fmul(rate, load(own, double, 8)), new)
        for value, address in ((new, run), (grown, own)):
            builder.store(value, builder.inttoptr(address, double.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(*[types.uintp] * 4, types.int32, types.float64, types.float64), generate


@njit()
def sweep(
    s: Codes, letters: Codes, p: int, decay: float, prefix: Floats, sums: Floats
) -> None:  # (L,), (M, lanes), (p + 1, M + 1, lanes), (2, lanes)
    """One string against several: prefix[l, j] is K'_l of the letters so far and the first j letters of each t.

    sums[0] are the values: the last level, K_p, is a sum over j of what the others put into K'_l, which is what `run`
    would be with decay 1.
    """
    width, lanes = letters.shape
    square = decay * decay
    prefix[0] = 1.0
    prefix[1:] = 0.0
    sums[:] = 0.0
    values, run = np.uintp(sums.ctypes.data), np.uintp(sums[1].ctypes.data)
    base, codes = np.uintp(prefix.ctypes.data), np.uintp(letters.ctypes.data)
    line, level_size = np.uintp(8 * lanes), np.uintp(8 * lanes * (width + 1))
    for i in range(s.shape[0]):
        letter = s[i]
        for level in range(p, 0, -1):
            below, own = base + level_size * np.uintp(level - 1), base + level_size * np.uintp(level) + line
            rate, target = (1.0, values) if level == p else (decay, run)
            if level < p:
                sums[1] = 0.0
            for j in range(width):
                at = np.uintp(j)
                for k in range(0, lanes, VECTOR):
                    o = np.uintp(8 * k)
                    place = codes + np.uintp(4) * (at * np.uintp(lanes) + np.uintp(k))
                    advance(target + o, below + line * at + o, own + line * at + o, place, letter, rate, square)  # type: ignore[call-arg]


@njit()
def matches(left: Codes, right: Codes, gain: Floats, out: Floats) -> None:  # (n, L), (M, m), (degree + 1,), (n, m)
    """out[i, j] = sum over places of gain[length of the run of equal letters that ends there, at most degree]."""
    width, degree, m = min(left.shape[1], right.shape[0]), gain.shape[0] - 1, out.shape[1]
    run = np.empty(m, np.int32)
    for i in range(left.shape[0]):
        run[:] = 0
        row = out[i]
        row[:] = 0.0
        for k in range(width):
            letter = left[i, k]
            others = right[k]
            for j in range(m):
                r = min(run[j] + 1, degree) if others[j] == letter else 0
                run[j] = r
                row[j] += gain[r]


@njit()
def spell(codes: Codes, starts: Ints, mask: Ints, width: int, base: int, first: Ints, out: Ints) -> None:
    """out[first[i] + k] = the number that the letters at `mask` of the k-th window of string i spell."""
    for i in range(starts.shape[0] - 1):
        begin = starts[i]
        for k in range(first[i + 1] - first[i]):
            code = 0
            for q in mask:
                code = code * base + codes[begin + k + q]
            out[first[i] + k] = code


@cache
def compiled_branches(loop: Callable[[Ints], tuple[Ints, Ints, Ints]]) -> Callable[[Ints], tuple[Ints, Ints, Ints]]:
    """The loop `all_substrings.branches`, compiled."""
    return numba.njit(nogil=True)(loop)


@njit()
def visited_nodes(owner: Ints, leaf: Ints, height: Ints, parent: Ints) -> tuple[Ints, Ints, Floats]:
    """(string, node, count) of every node above a suffix of a string; suffixes are in the order of their strings."""
    size, used = max(2 * owner.shape[0], 1), 0
    rows, nodes, counts = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    seen, tally = np.full(height.shape[0], -1), np.zeros(height.shape[0])
    begin = 0
    while begin < owner.shape[0]:
        own, first, end = owner[begin], used, begin
        while end < owner.shape[0] and owner[end] == own:
            node = leaf[end]
            while node > 0 and seen[node] != own:
                seen[node], tally[node] = own, 0.0
                if used == size:
                    rows, nodes, counts = (
                        np.append(rows, np.empty(size, np.int64)),
                        np.append(nodes, np.empty(size, np.int64)),
                        np.append(counts, np.empty(size)),
                    )
                    size *= 2
                rows[used], nodes[used] = own, node
                used += 1
                node = parent[node]
            tally[leaf[end]] += 1.0
            end += 1
        met = nodes[first:used]
        for k in np.argsort(-height[met]):  # children are higher than their parents
            node = met[k]
            counts[first + k] = tally[node]
            tally[parent[node]] += tally[node]
        begin = end
    return rows[:used], nodes[:used], counts[:used]
