"""The map x -> z(x) of random Fourier features, some rows at a time, with phases that keep their digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.numeric import threads
from mercer.numeric.compiling import worth
from mercer.numeric.memory import allocate

#: A float32 phase above this has lost more digits than the features may: it is made in float64 and reduced to one turn.
#: Above the float64 limit the compiled loops would lose digits of their own.
LARGEST_PHASE = {"float32": 64.0, "float64": 1e6}

#: Nanoseconds that compiled cosines and sines save per number: from 2^20 on they are worth loading. Row: flights-fourier.
PER_VALUE = 8

#: Numbers of one block of features: it stays in the cache of a core on its way from phase to cosine.
#: Row: flights-fourier.
CACHED_NUMBERS = 1 << 18


@dataclass(frozen=True)
class Projection:
    """Frequencies and factors in the form that a block of features takes them."""

    exact: Floats  # (d, m)
    own: Array  # (d, m) in the dtype of the features
    factors: Array  # (m,): what the columns of a frequency are multiplied by
    longest: float  # the length of the longest frequency
    compiled: bool


@dataclass(frozen=True)
class FourierMap:
    """z(x) = sqrt(weights) [cos(w'x), sin(w'x)], or sqrt(2 weights) cos(w'x + b) where there are phases b.

    With `phases` for the last frequency only, pairs are followed by one single column: an odd number of columns.
    """

    _stored: ClassVar[dict[str, str]] = {
        "frequencies": "float (m, d)",
        "weights": "float (m,)",
        "center": "float (d,)",
        "phases": "float (m,) | float (1,) | float (0,)",
    }

    frequencies: Floats  # (m, d)
    weights: Floats  # (m,)
    center: Floats  # (d,): subtracted first; z(x)'z(z) depends on x - z only, and small phases keep their digits
    phases: Floats  # (m,) for single columns throughout, (1,) for a last single column, (0,) for pairs

    @property
    def n_pairs(self) -> int:
        """Frequencies that have a cosine and a sine."""
        return len(self.weights) - len(self.phases)

    @property
    def n_columns(self) -> int:
        """Columns of z(x)."""
        return 2 * self.n_pairs + len(self.phases)

    def __call__(self, X: Any) -> Array:  # (n, d) -> (n, n_columns)
        """Return z(x) for every row, in the dtype of X."""
        out = allocate((X.shape[0], self.n_columns), X.dtype, "the features", "Transform fewer rows at a time.")
        self.write(X, out)
        return out

    def write(self, X: Any, out: Array) -> None:  # (n, d), (n, n_columns)
        """Write z(x) for every row; blocks of rows on all cores."""
        step = max(16, CACHED_NUMBERS // max(self.n_columns, 1))
        projection = self.projection(out.dtype, X.shape[0])
        starts = range(0, X.shape[0], step)
        crew = min(threads.cpu_count(), len(starts))
        # one per thread for all its blocks: Dask's workers give freed memory back at once, and new pages cost time
        spare = [np.empty((min(step, X.shape[0]), len(self.weights)), out.dtype) for _ in range(crew)]

        def work(start: int, worker: int) -> None:
            self.fill(X[start : start + step], out[start : start + step], projection, spare[worker])

        threads.run(starts, work, crew)

    def fill(self, X: Any, out: Array, projection: Projection, spare: Array) -> None:  # (n, d) -> (n, D)
        """Write z(x) for some rows into an array of the caller's; `spare` has as many rows, one column per frequency."""
        phase = self._phase(X, projection, spare[: X.shape[0]])
        p = self.n_pairs
        if len(self.phases):
            phase[:, p:] += self.phases.astype(out.dtype)
            np.cos(phase[:, p:], out=out[:, 2 * p :])
            out[:, 2 * p :] *= projection.factors[p:]
        if projection.compiled:
            from mercer.kernels.spectral._compiled_waves import waves_float32, waves_float64

            waves = waves_float64 if out.dtype == np.float64 else waves_float32
            waves(phase[:, :p], projection.factors[:p], out[:, : 2 * p])
            return
        np.cos(phase[:, :p], out=out[:, :p])
        np.sin(phase[:, :p], out=out[:, p : 2 * p])
        out[:, :p] *= projection.factors[:p]
        out[:, p : 2 * p] *= projection.factors[:p]

    def projection(self, dtype: Any, n_rows: int) -> Projection:
        """What `fill` needs, made once for many blocks; the number of rows decides whether loops are compiled."""
        factors = np.sqrt(self.weights)
        factors[self.n_pairs :] *= np.sqrt(2.0)
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.frequencies, self.frequencies).max(initial=0.0)))
        exact = np.ascontiguousarray(self.frequencies.T)
        compiled = worth(n_rows * self.n_columns, PER_VALUE)
        return Projection(exact, exact.astype(dtype, copy=False), factors.astype(dtype), longest, compiled)

    def _phase(self, X: Any, projection: Projection, spare: Array) -> Array:  # (n, d), (n, m) -> (n, m)
        dtype = spare.dtype
        if sp.issparse(X):  # no center, so that zeros stay zeros
            return _one_turn(np.asarray(X.astype(np.float64) @ projection.exact)).astype(dtype, copy=False)
        moved = X - self.center  # float64: a float32 row far from zero has its digits in the difference
        reach = float(np.sqrt(np.einsum("ij,ij->i", moved, moved).max(initial=0.0))) * projection.longest
        if reach <= LARGEST_PHASE[dtype.name]:
            return np.matmul(moved.astype(dtype, copy=False), projection.own, out=spare)
        return _one_turn(moved @ projection.exact).astype(dtype, copy=False)


def _one_turn(phase: Floats) -> Floats:
    """Phases reduced to one turn, in place."""
    phase -= 2.0 * np.pi * np.round(phase * (0.5 / np.pi))
    return phase
