"""The tree of common substrings of sorted suffixes: one loop, plain for small collections, compiled for large ones."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Ints


def branches(shared: Ints) -> tuple[Ints, Ints, Ints]:  # (N,) -> heights, parents of the nodes, (N,) node of a suffix
    """The tree of common substrings; node 0 is the root, and its own parent.

    A node of height h is a run of suffixes that share h letters. Runs are opened and closed along the order, on a stack.
    """
    size = len(shared)
    height, parent = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    leaf, stack = np.zeros(size, np.int64), np.zeros(size + 1, np.int64)
    count, top = 1, 0
    for r in range(size):
        common = shared[r] if r > 0 else 0
        closed = -1
        while height[stack[top]] > common:
            closed = stack[top]
            top -= 1
            if height[stack[top]] >= common:
                parent[closed] = stack[top]
        if height[stack[top]] < common:
            height[count] = common
            if closed >= 0:
                parent[closed] = count
            else:
                leaf[r - 1] = count
            top += 1
            stack[top] = count
            count += 1
        leaf[r] = stack[top]
    while top > 0:
        parent[stack[top]] = stack[top - 1]
        top -= 1
    return height[:count], parent[:count], leaf
