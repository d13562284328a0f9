"""Columns, counted features or examples that carry the difference of two samples, with corrected p-values.

Every candidate f has a statistic T_f, standardized over relabelings. Its corrected p-value is the share of relabelings
whose largest T over all candidates reaches T_f (the single step of Westfall and Young). The probability of one or more
false candidates is at most the level, for every dependence between candidates.

`column_shares` splits MMD^2 into exact Shapley values of columns, for kernels that are sums of products over columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices, Ints
from mercer.errors import CapabilityError, check_whole
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.column_terms import ColumnTerm, column_terms
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles
from mercer.numeric.shapley import product_shapley
from mercer.twosample.dependent_rows import contiguous
from mercer.twosample.feature_blocks import lay_out
from mercer.twosample.quadratic_forms import Permutations
from mercer.twosample.samples import Pooled

#: Frequencies: the middles of eight equally likely parts of |N(0, 1)|, for a length scale of one standard deviation.
FREQUENCIES = np.array([0.0784, 0.2372, 0.4023, 0.5791, 0.7764, 1.0100, 1.3180, 1.8627])

#: Length scales in standard deviations.
SCALES = (1.0, 2.5)

#: Values of a column of categories with an indicator each; rarer values share the last.
CATEGORIES = 32


@dataclass(frozen=True)
class ColumnFeatures:
    """Features of a column: one (N, r) array per length scale, and the standardized column."""

    views: tuple[Floats, ...]
    standard: Floats


def column_features(pooled: Pooled, j: int) -> ColumnFeatures:
    """Return the features of column j."""
    if pooled.kind == "numbers":
        return _numeric(np.asarray(pooled.rows.data[:, j], dtype=np.float64))
    column = pooled.rows.data[pooled.rows.data.columns[j]]
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "fiub":
        return _numeric(values.astype(np.float64))
    if values.dtype.kind == "M":  # NaT becomes NaN
        return _numeric((values - np.datetime64(0, "D").astype(values.dtype)) / np.timedelta64(1, "D"))
    return _text(values) if _is_text(values) else _categories(values)


def _numeric(values: Floats) -> ColumnFeatures:
    seen = np.isfinite(values)
    known = values[seen]
    varied = len(known) > 0 and float(np.ptp(known)) > 0  # the standard deviation of a constant may be a rounding error
    unit = float(np.abs(known).max(initial=0.0)) or 1.0  # squares of 1e-200 underflow to 0
    known = known / unit
    center, spread = (float(known.mean()), float(known.std())) if varied else (known[0] if len(known) else 0.0, 1.0)
    standard = np.where(seen, values / unit - center, 0.0) / (spread or 1.0)
    missing = [] if seen.all() else [~seen[:, None] * 1.0]
    views = []
    for scale in SCALES:
        angles = np.multiply.outer(standard, FREQUENCIES / scale)
        waves = [np.cos(angles) * seen[:, None], np.sin(angles) * seen[:, None], *missing]
        views.append(np.concatenate(waves, axis=1) / np.sqrt(len(FREQUENCIES)))
    return ColumnFeatures(tuple(views), standard)


def _is_text(values: Array) -> bool:
    """Return whether cells are strings that mostly differ, for which counts of whole cells are useless."""
    cells = values.tolist()
    return all(cell is None or isinstance(cell, str) for cell in cells) and len(set(cells)) > max(
        CATEGORIES, len(cells) // 2
    )


def _text(values: Array) -> ColumnFeatures:
    """Return the length of each cell, and indicators of the most frequent words."""
    cells = ["" if value is None else str(value) for value in values.tolist()]
    words = [frozenset(cell.lower().split()) for cell in cells]
    counts: dict[str, int] = {}
    for cell in words:
        for word in cell:
            counts[word] = counts.get(word, 0) + 1
    common = sorted((word for word in counts if counts[word] > 1), key=lambda word: (-counts[word], word))[:CATEGORIES]
    length = _numeric(np.array([float(len(cell)) for cell in cells]))
    held = np.array([[word in cell for word in common] for cell in words], dtype=np.float64).reshape(len(cells), len(common))
    return ColumnFeatures((*length.views, held) if common else length.views, length.standard)


def _categories(values: Array) -> ColumnFeatures:
    labels, codes, counts = np.unique(np.array([str(v) for v in values]), return_inverse=True, return_counts=True)
    rank = np.empty(len(labels), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(labels))
    place = np.minimum(rank[codes], CATEGORIES - 1)
    features = np.zeros((len(values), min(len(labels), CATEGORIES)))
    features[np.arange(len(values)), place] = 1.0
    return ColumnFeatures((features,), (place == 0).astype(np.float64))


#: Above this many rows, blocks of rows are relabeled instead of rows.
MANY_ROWS = 20_000

#: Largest numbers of counted features (the most variable ones) and of examples (drawn at random). Labels are not used.
MOST_FEATURES, MOST_EXAMPLES = 5000, 1000

#: Candidates whose scores vary less than this count as constant.
NOISE = 1e-10

#: Relabelings, and columns of a table, per matrix product.
PORTION, GROUP = 256, 16


@dataclass(frozen=True)
class CandidateScore:
    """One candidate: `score` in standard deviations over relabelings, `difference` positive where X has more."""

    name: Any
    score: float
    pvalue: float
    difference: float


@dataclass(frozen=True)
class Explanation:
    """Candidates in descending order of score; `kind` is "columns", "features" or "examples"."""

    kind: str
    reasons: tuple[CandidateScore, ...]
    n_permutations: int

    def significant(self, level: float = 0.05) -> tuple[CandidateScore, ...]:
        """Return the candidates with corrected p-values up to a level."""
        return tuple(reason for reason in self.reasons if reason.pvalue <= level)

    def __str__(self) -> str:
        return self.table(10)

    def table(self, rows: int) -> str:
        """Return the first candidates as text."""
        unit = {"columns": "mean difference / std", "features": "difference of mean features", "examples": "witness"}
        lines = [f"{self.kind[:-1]:>20}  {'score':>7}  {'corrected p':>11}  {unit[self.kind]}"]
        for reason in self.reasons[:rows]:
            lines.append(f"{reason.name!s:>20}  {reason.score:7.2f}  {reason.pvalue:11.4g}  {reason.difference:+.4g}")
        if len(self.reasons) > rows:
            lines.append(f"{'…':>20}  {len(self.reasons)} in all")
        return "\n".join(lines)


def explain(pooled: Pooled, kernel: Kernel, count: int, rng: np.random.Generator, block: int = 1) -> Explanation:
    """Rank the columns of a table, otherwise the counted features of the kernel, otherwise the examples.

    `block` neighboring rows are relabeled together.
    """
    check_whole("explain", "n_permutations", count, 1)
    names, units = pooled.column_names(), _units(pooled, rng, block)
    if names is not None and not kernel.given:
        return _columns(pooled, units, names, count, rng)
    if pooled.kind == "sparse":
        matrix = pooled.rows.vectors()
        return _counted(units, matrix, range(matrix.shape[1]), count, rng)
    if kernel.features is not None and pooled.kind == "objects":
        return _counted(units, kernel.feature_map(pooled.rows), kernel.feature_names(pooled.rows), count, rng)
    return _examples(pooled, units, kernel, count, rng)


def _columns(
    pooled: Pooled, units: RelabeledUnits, names: Sequence[Any], count: int, rng: np.random.Generator
) -> Explanation:
    signs = Permutations(units.m, units.n).draw(rng, count)
    scores = np.empty((len(names), count + 1))
    shifts = np.empty(len(names))
    for start in range(0, len(names), GROUP):  # several columns share one product
        group = range(start, min(start + GROUP, len(names)))
        columns = [column_features(pooled, j) for j in group]
        views = [units.average(view) for column in columns for view in column.views]
        differences = _differences(np.concatenate(views, axis=1), signs, units)
        parts = iter(np.split(differences, np.cumsum([view.shape[1] for view in views])[:-1]))
        for j, column in zip(group, columns, strict=True):
            shifts[j] = column.standard[: pooled.m].mean() - column.standard[pooled.m :].mean()
            # the square root removes most of the skewness, which makes scores of columns comparable
            each = [_standardized(np.sqrt((next(parts) ** 2).sum(axis=0, keepdims=True))) for _ in column.views]
            scores[j] = np.max(each, axis=0)
    return _ranked("columns", names, scores, shifts, count)


def _counted(
    units: RelabeledUnits, features: Any, names: Sequence[Any], count: int, rng: np.random.Generator
) -> Explanation:
    features = sp.csc_array(features)
    mean = np.asarray(features.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(features.power(2).mean(axis=0)).ravel() - mean**2, 0.0))
    kept = np.argsort(-spread, kind="stable")[:MOST_FEATURES]
    kept = kept[spread[kept] > 1e-9 * max(1.0, float(spread.max(initial=0.0)))]
    if len(kept) == 0:
        return Explanation("features", (), count)
    signs = Permutations(units.m, units.n).draw(rng, count)
    means = units.average(sp.csr_array(features[:, kept])) / spread[kept]
    differences = _differences(means, signs, units)
    return _ranked("features", [names[k] for k in kept], np.abs(differences), differences[:, 0] * spread[kept], count)


def _examples(pooled: Pooled, units: RelabeledUnits, kernel: Kernel, count: int, rng: np.random.Generator) -> Explanation:
    chosen = np.arange(len(pooled))
    if len(chosen) > MOST_EXAMPLES:
        chosen = np.sort(rng.choice(len(pooled), MOST_EXAMPLES, replace=False))
    signs = Permutations(units.m, units.n).draw(rng, count)
    values = Evaluation(kernel, pooled.rows.take(chosen), pooled.rows)
    K = np.empty((len(chosen), len(pooled)))
    tiles.fill(values.block, K, symmetric=False)
    K[np.arange(len(chosen)), chosen] = 0.0  # a row is not compared with itself
    peak = max(float(np.abs(K).max()), np.finfo(np.float64).tiny)
    differences = _differences(units.average(K.T) / peak, signs, units)
    names = [f"X[{i}]" if i < pooled.m else f"Y[{i - pooled.m}]" for i in chosen]
    return _ranked("examples", names, np.abs(differences), differences[:, 0] * peak, count)


def _ranked(kind: str, names: Sequence[Any], scores: Any, differences: Any, count: int) -> Explanation:  # (f, B+1)
    """Standardize scores over relabelings, correct by the largest, and sort; scores have order of magnitude 1."""
    standard = _standardized(scores)
    largest = np.sort(standard.max(axis=0))
    reached = len(largest) - np.searchsorted(largest, standard[:, 0] - 1e-9, side="left")
    order = np.argsort(-standard[:, 0], kind="stable")
    reasons = tuple(
        CandidateScore(names[i], float(standard[i, 0]), float(reached[i] / len(largest)), float(differences[i]))
        for i in order
    )
    return Explanation(kind, reasons, count)


def _standardized(scores: Floats) -> Floats:  # (f, B+1) -> (f, B+1)
    """Return rows scaled to mean 0 and standard deviation 1 over relabelings; constant rows become 0."""
    spread = scores.std(axis=1, keepdims=True)
    steady = spread > NOISE
    return np.where(steady, (scores - scores.mean(axis=1, keepdims=True)) / np.where(steady, spread, 1.0), 0.0)


@dataclass(frozen=True)
class RelabeledUnits:
    """Units of relabeling: rows, or blocks of rows of a large sample."""

    m: int
    n: int
    index: Ints | None  # (blocks, g)

    def average(self, features: Any) -> Any:  # (N, r) -> (units, r)
        """Return one row of features per unit."""
        if self.index is None:
            return features.toarray() if sp.issparse(features) else features
        if not sp.issparse(features):
            return np.stack([features[rows].mean(axis=0) for rows in self.index])
        blocks, size = self.index.shape
        where = np.repeat(np.arange(blocks), size), self.index.ravel()
        weights = sp.csr_array((np.full(self.index.size, 1.0 / size), where), shape=(blocks, features.shape[0]))
        return (weights @ features).toarray()


def _units(pooled: Pooled, rng: np.random.Generator, block: int) -> RelabeledUnits:
    if block > 1:
        layout = contiguous(pooled.m, pooled.n, block)
        return RelabeledUnits(layout.m, layout.n, layout.index)
    if len(pooled) <= MANY_ROWS:
        return RelabeledUnits(pooled.m, pooled.n, None)
    layout = lay_out(pooled.m, pooled.n, rng)
    return RelabeledUnits(layout.m, layout.n, layout.index)


def _differences(means: Any, signs: NDArray[np.int8], units: RelabeledUnits) -> Floats:  # (u, r), (B, u) -> (r, B+1)
    """Return the mean of the first sample minus that of the second, observed (column 0) and under relabelings."""
    means = means - means.mean(axis=0)  # both means then follow from one sum, and a difference of zero is exact
    factor = 1.0 / units.m + 1.0 / units.n
    out = np.empty((means.shape[1], len(signs) + 1))
    out[:, 0] = means[: units.m].sum(axis=0) * factor
    for start in range(0, len(signs), PORTION):
        part = signs[start : start + PORTION]
        out[:, 1 + start : 1 + start + len(part)] = (0.5 * factor) * (means.T @ part.T.astype(means.dtype))
    return out


@dataclass(frozen=True)
class Prototypes:
    """Rows with extreme witness values: `first` from X where X is denser, `second` from Y where Y is denser."""

    first: Any
    first_index: Ints
    first_witness: Floats
    second: Any
    second_index: Ints
    second_witness: Floats


def prototypes(pooled: Pooled, witness: Floats, chosen: Ints, count: int) -> Prototypes:
    """Return the rows with the most extreme witness values among some pooled rows."""
    check_whole("prototypes", "count", count, 1)
    in_first = chosen < pooled.m
    left = chosen[in_first][np.argsort(-witness[in_first], kind="stable")[:count]]
    right = chosen[~in_first][np.argsort(witness[~in_first], kind="stable")[:count]]
    value = dict(zip(chosen.tolist(), witness.tolist(), strict=True))

    def side(index: Ints) -> tuple[Any, Floats]:
        rows: Rows = pooled.rows.take(index)
        return rows.data, np.array([value[i] for i in index.tolist()])

    return Prototypes(side(left)[0], left, side(left)[1], side(right)[0], right - pooled.m, side(right)[1])


#: Largest number of rows of each sample; all their pairs are used.
MOST_ROWS = 1000

#: Rows whose factors with all others are held together.
ROWS_AT_A_TIME = 64


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """Shapley values of MMD^2 by column; shares.sum() == mmd2 on the rows used."""

    names: tuple[str, ...]
    shares: Floats  # (d,)
    mmd2: float
    rows: tuple[int, int]

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.shares), kind="stable")[:10]
        width = max(len(self.names[j]) for j in order)
        head = f"MMD^2 {self.mmd2:.3g} of {self.rows[0]} and {self.rows[1]} rows, by columns (Shapley values):"
        return "\n".join([head, *(f"  {self.names[j]:<{width}} {self.shares[j]:+.3g}" for j in order)])


def column_shares(pooled: Pooled, kernel: Kernel, rng: np.random.Generator) -> ColumnShares:
    """Return Shapley values of the unbiased MMD^2, with v(S) that of the product over the columns in S."""
    names = pooled.column_names()
    if names is None:
        raise CapabilityError("columns() needs tables. Use explain() for strings, graphs and sparse samples.")
    sides = [np.arange(pooled.m), pooled.m + np.arange(pooled.n)]
    X, Y = (pooled.rows.take(_some(side, rng)) for side in sides)
    shares = np.zeros(len(names))
    m, n = len(X), len(Y)
    for term in column_terms(kernel, names):
        if term.factors:
            total = _pairs(term, X, X, True) / (m * (m - 1)) + _pairs(term, Y, Y, True) / (n * (n - 1))
            total -= 2.0 * _pairs(term, X, Y, False) / (m * n)
            for column, share in zip(term.factors, total.tolist(), strict=True):
                shares[names.index(column)] += share
    return ColumnShares(tuple(str(name) for name in names), shares, float(shares.sum()), (m, n))


def _pairs(term: ColumnTerm, left: Rows, right: Rows, same: bool) -> Floats:  # -> (columns of the term,)
    """Return the sum of Shapley values over pairs of rows; `same` leaves out pairs of a row with itself."""
    kernels, found = list(term.factors.values()), np.zeros(len(term.factors))
    for low in range(0, len(left), ROWS_AT_A_TIME):
        part = left.take(np.arange(low, min(len(left), low + ROWS_AT_A_TIME)))
        factors = np.stack([np.asarray(k(part, right), dtype=np.float64) for k in kernels])  # (m, r, n)
        # Shapley values change sign if present and absent columns are exchanged
        found -= product_shapley(np.ones((len(part), len(kernels))), factors, np.full(len(part), term.weight))
    if same:
        diagonal = np.stack([np.asarray(k.diag(left), dtype=np.float64) for k in kernels])[:, :, None]  # (m, n, 1)
        found += product_shapley(np.ones((len(left), len(kernels))), diagonal, np.full(len(left), term.weight))
    return found


def _some(rows: Indices, rng: np.random.Generator) -> Indices:
    return rows if len(rows) <= MOST_ROWS else np.sort(rng.choice(rows, MOST_ROWS, replace=False))
