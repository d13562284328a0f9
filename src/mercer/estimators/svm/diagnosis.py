"""A look at the data before a long fit: scales of columns, what the kernel sees of them, memory and time to expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.errors import warn
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, format_seconds

#: Rows drawn by a fixed seed: the first number is compared with the second. Enough to see a Gram near one of its two ends.
ASKED, COMPARED, SEED = 50, 500, 0

#: A column whose range is below this share of the widest one hardly moves a distance.
NARROW = 0.01

#: A row whose nearest similarity is below FAR has no neighbors; one with all similarities above NEAR has only neighbors.
FAR, NEAR = 0.05, 0.99

#: Fits of fewer rows are over before anybody has read a warning.
LONG = 1500


class DiagnosisWarning(UserWarning):
    """The data or the kernel make a long or a useless fit likely."""


@dataclass(frozen=True)
class DataDiagnosis:
    """What was seen (`lines`), and what of it should be changed first (`warnings`); `str` is both.

    `nearest` is the median similarity of a row to the most similar other one of a sample, `typical` the median over all
    pairs; a similarity is k(x, z) / sqrt(k(x, x) k(z, z)).
    """

    lines: tuple[str, ...]
    warnings: tuple[str, ...]
    nearest: float
    typical: float

    def __str__(self) -> str:
        return "\n".join(self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines that `mercer.plan` prints below the routes."""
        return (*self.lines, *(f"warning: {text}" for text in self.warnings))

    def announce(self, what: str, n: int) -> None:
        """One warning with everything to be changed, for fits of at least LONG rows."""
        if self.warnings and n >= LONG:
            text = f"{what}, before a fit of {n} rows: " + " ".join(self.warnings)
            warn(text, DiagnosisWarning)


def diagnose_data(kernel: Kernel, X: Any, route: Route | None = None) -> DataDiagnosis:
    """Look at a sample of X with a resolved kernel, in milliseconds; `route` adds the bytes and seconds to expect.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1.0, 1e4]
    >>> print(diagnose_data(Gaussian(1.0), X).warnings[0])
    2 of 3 columns have ranges below 1 % of column 2's: distances hardly see them. Scale the columns first, \
for instance with StandardScaler().
    """
    rows = Rows(X)
    lines, found = [], []
    if route is not None:
        lines.append(f"expected: {format_bytes(route.bytes)} beyond the data, about {format_seconds(route.seconds)}")
    columns = _columns(kernel, rows)
    if columns is not None:
        lines.append(f"column ranges: {columns.min():.3g} to {columns.max():.3g}")
        found += _narrow(columns)
    similar = None if kernel.given else _similarities(kernel, rows)
    nearest = typical = float("nan")
    if similar is not None:
        best = np.nanmax(similar, axis=1)
        nearest, typical = float(np.median(best)), float(np.nanmedian(similar))
        sample = f"{similar.shape[0]} x {similar.shape[1]} sampled pairs"
        lines.append(f"similarity to the nearest other row: {nearest:.3g}, to a typical one: {typical:.3g} ({sample})")
        found += _extremes(kernel, best, similar)
    return DataDiagnosis(tuple(lines), tuple(found), nearest, typical)


def _columns(kernel: Kernel, rows: Rows) -> Floats | None:  # -> (c,) the ranges above zero
    """Ranges of the columns that vary, for kernels that look at vectors with one measure for all columns."""
    if kernel.views != {"vectors"} or kernel.width() is not None:
        return None  # other objects have no columns, and a kernel with a parameter per column already fixes their scales
    chosen = _draw(len(rows), COMPARED)
    X = rows.take(chosen).vectors()
    if sp.issparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    spread = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
    return spread if (spread > 0).any() else None


def _narrow(spread: Floats) -> list[str]:
    varying = spread[spread > 0]
    narrow = int((varying < NARROW * varying.max()).sum())
    if 2 * narrow < len(varying):  # a rare pixel or word among many does not indicate different units
        return []
    return [
        f"{narrow} of {len(spread)} columns have ranges below {100 * NARROW:g} % of column {int(spread.argmax())}'s: "
        "distances hardly see them. Scale the columns first, for instance with StandardScaler()."
    ]


def _similarities(kernel: Kernel, rows: Rows) -> Floats | None:  # -> (a, b), nan for a row with itself
    chosen = _draw(len(rows), ASKED + COMPARED)
    if len(chosen) < 3:
        return None
    asked = np.random.default_rng(SEED).permutation(chosen)[:ASKED]
    others = np.sort(chosen)
    left, right = rows.take(np.sort(asked)).data, rows.take(others).data
    scale = np.outer(np.sqrt(np.abs(kernel.diag(left))), np.sqrt(np.abs(kernel.diag(right))))
    with np.errstate(invalid="ignore", divide="ignore"):
        similar = np.where(scale > 0, np.asarray(kernel(left, right), dtype=np.float64) / scale, 0.0)
    similar[np.sort(asked)[:, None] == others] = np.nan
    return similar


def _extremes(kernel: Kernel, best: Floats, similar: Floats) -> list[str]:
    remedy = "Scale the columns, or take a {} length scale (Gaussian('median') takes it from the data)."
    other = "Another parameter of the kernel, or a normalized one, may help."
    has_scale = any(name.rpartition("__")[2] == "length_scale" for name in kernel.get_params())
    if np.quantile(best, 0.9) < FAR:
        return [
            f"the Gram matrix is near the identity: nine of ten rows have no other row with similarity above {FAR:g}, so "
            "nearly every row becomes a support vector and new rows are unlike all of them. "
            + (remedy.format("larger") if has_scale else other)
        ]
    if np.nanquantile(similar, 0.01) > NEAR:
        return [
            f"the Gram matrix is near a constant: 99 of 100 pairs have similarity above {NEAR:g}, so rows can hardly be "
            "told apart and the fit needs a very large C. "
            + (remedy.format("smaller") if has_scale else "Subtract the mean of the columns first. " + other)
        ]
    return []


def _draw(n: int, most: int) -> Indices:
    """At most `most` row numbers, always the same."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(SEED).choice(n, most, replace=False))
