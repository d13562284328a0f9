"""`thin`: some of the rows whose mean in feature space is nearly that of all, and `thin_weights` for them.

Rounds of halving bring n rows down to a few times as many as asked for. Each round cuts the rows into groups and halves
every group by signs that keep the difference of the two means small (after the kernel thinning of Dwivedi and Mackey 2021,
with sweeps in the place of random signs). Groups
double in size from round to round while the rows halve, so that every round costs the same and adds the same error (as in
Compress of Shetty, Dwivedi and Mackey 2022). The rest is chosen greedily (kernel herding, every row at most once), and rows
are exchanged while that brings the mean nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, check_whole, describe
from mercer.grams.operator import GramOperator, gram
from mercer.grams.row_cache import KernelRows
from mercer.inputs import Rows, as_rows
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.linalg.box_qp.problems import BoxProblem
from mercer.linalg.box_qp.solver import solve_box

#: Rows of the smallest groups that are halved.
GROUP = 64

#: Rows left for the greedy choice: at least this many times the rows asked for, and this many times sqrt(n).
SPARE, SPARE_ROOT = 4, 8

#: Rows chosen greedily at once, at most; for more the rows are cut into parts of equal size.
MOST = 2000

#: Rounds of exchanges, at most.
EXCHANGES = 10

#: Sweeps over the signs of a group.
SWEEPS = 4

#: Kernel values of groups that are held at a time.
VALUES = 2**24

#: Violation of the optimality conditions of weights, as a share of the largest k(x, x).
TOLERANCE = 1e-6


def thin(X: Any, m: int, kernel: Any = None, *, random_state: int | None = 0) -> Indices:  # -> (m,)
    """Return the places of m rows whose mean in feature space is near that of all rows, ascending.

    The distance of the means (MMD) falls like 1/m, up to logarithms, where that of random rows falls like 1/sqrt(m), as
    long as m is about sqrt(n). Time grows like n log n for m near sqrt(n). Rows may be anything that the kernel takes.

    Parameters
    ----------
    X : collection of n rows
    m : int, from 1 to n
    kernel : Kernel or str, optional
        Gaussian(length_scale="median") by default.
    random_state : int or None

    >>> import numpy as np, mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> places = mercer.thin(X, 30)
    >>> bool(np.abs(X[places].mean(axis=0) - X.mean(axis=0)).max() < 0.02)  # of random rows it is about 0.18
    True
    """
    rows = as_rows(X)
    n, m = len(rows), check_whole("thin", "m", m, 1)
    if m > n:
        raise InputError(f"thin: {m} rows were asked for, but X has {n}.")
    if m == n:
        return np.arange(n)
    own = _resolved(kernel, rows)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(n)
    parts = -(-m // MOST)
    found = [
        _thinned(own, rows, part, len(share), rng)
        for part, share in zip(np.array_split(order, parts), np.array_split(np.empty(m), parts), strict=True)
    ]
    return np.sort(np.concatenate(found))


def thin_weights(X: Any, places: Any, kernel: Any = None) -> Floats:  # (m,) -> (m,)
    """Return weights >= 0 with sum 1 for which the weighted mean of the rows at `places` is nearest to the mean of all.

    They minimize || mean_i phi(x_i) - sum_j w_j phi(x_places_j) ||. For `sample_weight` of an estimator that stands for all
    rows, multiply them by n.

    Parameters
    ----------
    X : collection of n rows
    places : (m,) numbers of rows, such as those of `thin`
    kernel : Kernel or str, optional
        Gaussian(length_scale="median") by default.

    >>> import numpy as np, mercer
    >>> X = np.array([[0.0], [0.0], [0.0], [1.0]])
    >>> mercer.thin_weights(X, [0, 3], mercer.Linear() + 1.0).round(6).tolist()
    [0.75, 0.25]
    """
    rows = as_rows(X)
    chosen = _read_places(places, len(rows))
    own = _resolved(kernel, rows)
    near = rows.take(chosen)
    K = np.asarray(gram(own, near), dtype=np.float64)
    target = np.asarray(GramOperator(own, near, rows) @ np.full(len(rows), 1.0 / len(rows)))
    m = len(chosen)
    scale = float(np.abs(np.diagonal(K)).max()) or 1.0
    problem = BoxProblem(np.ones(m), -target / scale, np.ones(m), np.full(m, 1.0 / m))
    weights = np.maximum(solve_box(problem, KernelRows.of(K / scale), tol=TOLERANCE).value, 0.0)
    return np.asarray(weights / weights.sum())


def _resolved(kernel: Any, rows: Rows) -> Kernel:
    return as_kernel(Gaussian("median") if kernel is None else kernel).resolve(rows)


def _read_places(places: Any, n: int) -> Indices:
    chosen = np.asarray(places)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n:
        raise InputError(f"thin_weights: places must be row numbers from 0 to {n - 1}; got {describe(places)}.")
    if len(np.unique(chosen)) < len(chosen):
        raise InputError("thin_weights: places name a row more than once; its weight says how much it counts.")
    return chosen.astype(np.intp)


def rows_held(n: int, m: int) -> int:
    """Return of how many rows `thin` holds the Gram matrix, to choose m of n."""
    parts = -(-m // MOST)
    rest = -(-n // parts)
    left = _left(rest, -(-m // parts))
    while rest >= 2 * left:
        rest = -(-rest // 2)
    return rest


def _left(n: int, m: int) -> int:
    """Return how many of n rows are left for the greedy choice of m, at least."""
    return max(SPARE * m, int(SPARE_ROOT * np.sqrt(n)))


def _thinned(kernel: Kernel, rows: Rows, places: Indices, m: int, rng: np.random.Generator) -> Indices:
    """Return m of the rows at some places, which are in random order."""
    left, size = _left(len(places), m), 2 * GROUP
    while len(places) >= 2 * left:
        places = _halved(kernel, rows, places, size, rng)
        size *= 2
    return places[_herded(np.asarray(gram(kernel, rows.take(places)), dtype=np.float64), m)]


def _halved(kernel: Kernel, rows: Rows, places: Indices, size: int, rng: np.random.Generator) -> Indices:
    """Return half of the places, group by group; an odd one at the end is left out."""
    paired = places[: len(places) // 2 * 2].reshape(-1, 2)
    groups = np.array_split(paired, max(1, len(places) // size))
    kept: list[Indices] = []
    step = max(1, VALUES // size**2)
    for start in range(0, len(groups), step):
        batch = groups[start : start + step]
        pairs = min(len(part) for part in batch)  # groups differ by at most one pair
        gaps = np.stack([_differences(kernel, rows, part[:pairs].ravel()) for part in batch])
        for part, sign in zip(batch, balanced_signs(gaps, rng), strict=True):
            kept.append(np.where(sign > 0, part[:pairs, 0], part[:pairs, 1]))
            kept.append(part[pairs:, 0])
    return np.asarray(rng.permutation(np.concatenate(kept)))


def _differences(kernel: Kernel, rows: Rows, places: Indices) -> Floats:  # (2s,) -> (s, s)
    """Return inner products of the differences phi(x) - phi(x') of neighboring pairs."""
    K = np.asarray(kernel(rows.take(places)), dtype=np.float64)
    even, odd = K[0::2], K[1::2]
    return even[:, 0::2] - even[:, 1::2] - odd[:, 0::2] + odd[:, 1::2]


def balanced_signs(gaps: Floats, rng: np.random.Generator) -> Floats:  # (B, s, s) -> (B, s)
    """Return signs that keep sum_i sign_i (phi(x_i) - phi(x'_i)) short, for B groups of pairs at a time.

    A sign is opposite to the inner product of its difference with the sum of the others; a few sweeps over the pairs turn
    signs while that shortens the sum. All signs of a group are turned or not by chance, so that no side is favored.
    """
    batch, pairs = gaps.shape[:2]
    signs = np.zeros((batch, pairs))
    for _ in range(SWEEPS):
        for i in range(pairs):
            lean = np.einsum("bj,bj->b", gaps[:, i], signs) - gaps[:, i, i] * signs[:, i]
            signs[:, i] = np.where(lean > 0.0, -1.0, 1.0)
    return np.asarray(signs * rng.choice([-1.0, 1.0], size=(batch, 1)))


def _herded(K: Floats, m: int) -> Indices:  # (c, c) -> (m,)
    """Return m rows, each at most once: the next one brings the mean nearest to that of all rows; then exchanges."""
    means, diagonal = K.mean(axis=1), np.diagonal(K).copy()
    total, free = np.zeros(len(K)), np.zeros(len(K))  # sums of kernel values over the rows chosen; inf where chosen
    chosen = np.empty(m, dtype=np.intp)
    for t in range(m):
        chosen[t] = int(np.argmin(diagonal + 2.0 * total - 2.0 * (t + 1) * means + free))
        total += K[chosen[t]]
        free[chosen[t]] = np.inf
    fixed = diagonal - 2.0 * m * means
    for _ in range(EXCHANGES):
        changed = False
        for t in range(m):
            old = chosen[t]
            total -= K[old]
            free[old] = 0.0
            new = int(np.argmin(fixed + 2.0 * total + free))
            changed |= new != old
            chosen[t] = new
            total += K[new]
            free[new] = np.inf
        if not changed:
            break
    return chosen
