"""A Gaussian process on rows that come in chunks: the inducing-row bound from sums over the chunks.

The bound uses the rows only in the sums K_uf D^-1 K_fu, K_uf D^-1 T, T'D^-1 T and the trace, which take one pass. Its
gradient is a sum too and takes a second pass. Averages, rows for starting values, rows for climbs on a part and candidates
for inducing rows are the same as for rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Indices
from mercer.errors import InputError, NumericalError
from mercer.estimators.gp import inducing
from mercer.estimators.gp.inducing import Collapsed, InducingPosterior, SentBack
from mercer.estimators.gp.problem import (
    EngineSettings,
    GPProblem,
    MeanFunction,
    RowsSeen,
    SummedProblem,
    TargetUnits,
    spreads_of,
)
from mercer.grams import GramOperator
from mercer.grams.chunks.rows import ChunkedRows, rows_for_median
from mercer.inputs import Rows
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.linalg.evidence import Evidence, log_evidence, profile


@dataclass(frozen=True)
class ColumnAverages:
    """Number, means, standard deviations, smallest and largest values of columns."""

    n: int
    mean: Array  # (k,)
    sd: Array  # (k,), 0 for constant columns
    low: Array  # (k,)
    high: Array  # (k,)

    @classmethod
    def of(cls, parts: Sequence[tuple[Array, ...]], shift: Array) -> ColumnAverages:
        """Return the averages from sums of chunks, whose values were shifted by about the mean."""
        n = int(sum(int(part[0]) for part in parts))
        first, second = (np.sum([part[i] for part in parts], axis=0) / n for i in (1, 2))
        low, high = np.min([part[3] for part in parts], axis=0), np.max([part[4] for part in parts], axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            sd = np.where(high > low, np.sqrt(np.maximum(second - first**2, 0.0)), 0.0)
        return cls(n, shift + first, sd, low, high)

    @property
    def most(self) -> Array:  # -> (k,)
        """Return the largest absolute values."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def rows_seen(chunks: ChunkedRows, columns: ColumnAverages | None, fit: bool) -> RowsSeen:
    """Return the rows in chunks from which a search starts; nothing is read if nothing is fitted."""
    if not fit:
        return RowsSeen(Rows(chunks.head.X), Rows(chunks.head.X), None)
    drawn, sized = rows_for_median(chunks.n), RowsSeen.numbers(chunks.n)
    both = np.union1d(drawn, sized)
    rows = Rows(chunks.take(both).X)
    spreads = None if columns is None else spreads_of(columns.sd, columns.most)
    small, middle = (Rows(rows.take(np.searchsorted(both, index)).data) for index in (sized, drawn))
    return RowsSeen(small, middle, spreads)


@dataclass(frozen=True)
class ChunkedProblem:
    """Rows in chunks, with the mean function and the units that make their columns [targets | H]."""

    X: ChunkedRows
    targets: ColumnAverages
    columns: ColumnAverages | None  # of dense rows
    mean: MeanFunction
    units: TargetUnits
    ratios: None = field(default=None, init=False)

    @classmethod
    def of(cls, rows: ChunkedRows, kind: str, normalize: bool) -> ChunkedProblem:
        """Read averages in one pass and return the problem."""
        y = rows.head.y.reshape(len(rows.head), -1)
        wide = isinstance(rows.head.X, np.ndarray) and rows.head.X.ndim == 2 and rows.head.X.dtype.kind == "f"
        if kind == "linear" and not wide:
            MeanFunction.of(kind, rows.head.X)  # raises an error that names the rows it takes
        shifts = [y.mean(axis=0)] + ([rows.head.X.mean(axis=0)] if wide else [])
        found = [part for part in rows.map(sums_of, *shifts) if part is not None]
        targets, *rest = (ColumnAverages.of([part[i] for part in found], shift) for i, shift in enumerate(shifts))
        columns = rest[0] if rest else None
        if kind == "linear" and columns is not None:
            mean = MeanFunction.linear(columns.n, columns.mean, columns.sd, columns.most)
        else:
            mean = MeanFunction.of(kind, rows.head.X)
        return cls(rows, targets, columns, mean, TargetUnits.of_moments(targets.mean, targets.sd, kind, normalize))

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.targets.n

    @property
    def at_hand(self) -> bool:
        """False: every pass reads the rows again."""
        return False

    @property
    def n_targets(self) -> int:
        """t."""
        return len(self.targets.mean)

    @property
    def flat(self) -> NDArray[np.bool_]:  # -> (t,)
        """Which targets are constant."""
        low, high = self._ends()
        return np.asarray(high - low <= 1e-12 * np.maximum(np.abs(low), np.abs(high)))

    def sizes(self) -> tuple[float, bool, float]:
        """Mean square of the targets in working units, whether they vary, and their largest absolute value."""
        low, high = self._ends()
        with np.errstate(over="ignore"):
            away = (self.targets.mean - self.units.center) ** 2 + self.targets.sd**2
            spread = float(np.mean(away / self.units.scale**2))
        most = float(np.maximum(np.abs(low), np.abs(high)).max())
        return spread, self.n > 1 and bool((high - low).max() > 1e-12 * most), most

    def _ends(self) -> tuple[Array, Array]:  # -> (t,), (t,)
        """Smallest and largest value of every target in working units."""
        low, high = self.units.inside(np.stack([self.targets.low, self.targets.high]))
        return low, high

    def starting_rows(self, fit: bool) -> RowsSeen:
        """Return the rows for starting values; nothing is read if nothing is fitted."""
        return rows_seen(self.X, self.columns, fit)

    def part(self, rows: Indices) -> GPProblem:
        """Return the problem of some rows, in memory."""
        chunk = self.X.take(rows)
        return GPProblem(chunk.X, columns_of(chunk, self.mean, self.units), self.n_targets)

    def kept(self) -> SummedProblem:
        """Return the part that a fitted model keeps."""
        return SummedProblem(self.n, self.n_targets)


def sums_of(chunk: Chunk, *shifts: Array) -> tuple[tuple[Array, ...], ...]:
    """Return the sums for `ColumnAverages` of the targets, and of the rows if a second shift is given."""
    tables = [chunk.y.reshape(len(chunk), -1), chunk.X][: len(shifts)]
    return tuple(table_sums(table, shift) for table, shift in zip(tables, shifts, strict=True))


def table_sums(table: Array, shift: Array) -> tuple[Array, ...]:  # (r, k), (k,)
    """Return number of rows, sums of shifted values and of their squares, smallest and largest values of columns."""
    away = table - shift
    with np.errstate(over="ignore"):
        squares = np.square(away).sum(axis=0)
    return np.array(len(table)), away.sum(axis=0), squares, table.min(axis=0), table.max(axis=0)


def columns_of(chunk: Chunk, mean: MeanFunction, units: TargetUnits) -> Array:  # -> (n, t + q)
    """Return the targets of a chunk in working units, followed by the columns of the mean function."""
    return np.hstack([units.inside(chunk.y.reshape(len(chunk), -1)), mean.columns(chunk.X)])


class ChunkedEngine:
    """Titsias' collapsed bound for rows in chunks: one pass for its value, a second for its gradient."""

    rounds, part_rows = inducing.InducingEngine.rounds, inducing.InducingEngine.part_rows
    tol_per_row, max_steps = inducing.InducingEngine.tol_per_row, inducing.InducingEngine.max_steps

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._candidates: Any = None  # rows; drawn once, in one pass
        self._chosen: Any = None

    def prepare(self, problem: ChunkedProblem, kernel: Kernel, noise: float) -> None:
        """Choose the inducing rows for this kernel from the same candidates as for rows in memory."""
        m = inducing.INDUCING if self._settings.n_inducing is None else self._settings.n_inducing
        index, rng = inducing.candidates_of(problem.n, m, self._settings.seed)
        if self._candidates is None:
            self._candidates = problem.X.take(index).X
        self._chosen = inducing.chosen_of(kernel, self._candidates, m, rng)

    def evidence(self, problem: ChunkedProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """The bound of the log marginal likelihood, and its gradient in a second pass."""
        if self._chosen is None:
            self.prepare(problem, kernel, noise)
        Z, t = self._chosen, problem.n_targets
        state = _collapse(problem, kernel, Z, noise)
        fitted = profile(state.quadratic, t)
        value = log_evidence(fitted.energy, state.logdet + state.trace, problem.n, t)
        if not gradient:
            return Evidence(value, jitter=state.jitter)
        combine = np.vstack([np.eye(t), -fitted.beta])
        back, W = inducing.send_back(state, combine)
        pull = AtSetting(gradient_of, kernel, noise)
        theta, away = problem.X.sum(pull, kernel, Z, back, problem.mean, problem.units, combine, noise)
        slope = inducing.noise_slope(back, float(away[0]), problem.n, t, state.trace)
        return Evidence(value, kernel.pullback(Z, weights=W) + theta, slope, state.jitter)

    def posterior(self, problem: ChunkedProblem, kernel: Kernel, noise: float) -> InducingPosterior:
        """The process conditioned on the columns, through inducing rows chosen for this kernel."""
        self.prepare(problem, kernel, noise)
        state = _collapse(problem, kernel, self._chosen, noise)
        return InducingPosterior(
            kernel, self._chosen, state.L, state.LB, state.weights, state.quadratic, state.logdet + state.trace, state.jitter
        )


class AtSetting:
    """Work on chunks with the setting in its name: checkpointed sums are valid only for the same parameters."""

    def __init__(self, work: Callable[..., Any], kernel: Kernel, noise: float) -> None:
        self.work = work
        numbers = [f"{value:.6g}" for value in (*kernel.theta, np.log(noise))]  # the last digits depend on threads
        self.__name__ = f"{work.__name__} at {' '.join(numbers)}"

    def __str__(self) -> str:
        return self.__name__  # the name under which a checkpoint keeps its sums

    def __call__(self, *given: Any) -> Any:
        with as_numbers():
            return self.work(*given)


@contextmanager
def as_numbers() -> Iterator[None]:
    """Turn an InputError of the kernel into a NumericalError: values that overflow make the setting undefined.

    Errors in a chunk itself are raised earlier, when it is read.
    """
    try:
        yield
    except InputError as error:
        raise NumericalError(str(error)) from error


def _collapse(problem: ChunkedProblem, kernel: Kernel, Z: Any, noise: float) -> Collapsed:
    inducing.check_noise(noise)
    with as_numbers():
        L, jitter = inducing.whitener(np.asarray(kernel(Z), dtype=np.float64))
    sums = problem.X.sum(AtSetting(bound_of, kernel, noise), kernel, Z, L, problem.mean, problem.units, noise)
    if not all(np.isfinite(part).all() for part in sums):
        raise NumericalError(f"{kernel}: the sums of the bound overflow on these rows; scale the columns.")
    return inducing.closed(sums, L, jitter, np.array([noise]), problem.n * float(np.log(noise)))


def bound_of(
    chunk: Chunk, kernel: Kernel, Z: Any, L: Array, mean: MeanFunction, units: TargetUnits, noise: float
) -> tuple[Array, ...]:
    """Return the contribution of a chunk to the sums of the bound."""
    K = GramOperator(kernel, chunk.X, Z)
    columns = columns_of(chunk, mean, units)
    return inducing.bound_sums(lambda rows: K.block(rows, slice(None)), L, K.row_diag(), columns, np.array([noise]))


def gradient_of(
    chunk: Chunk,
    kernel: Kernel,
    Z: Any,
    back: SentBack,
    mean: MeanFunction,
    units: TargetUnits,
    combine: Array,
    noise: float,
) -> tuple[Array, Array]:
    """Return the contribution of a chunk to the gradient in theta, (p,), and its sum of noise alpha_i^2."""
    K, d = GramOperator(kernel, chunk.X, Z), np.array([noise])
    theta = K.diag_pullback(np.full(len(chunk), -0.5 * combine.shape[1] / noise))
    targets = columns_of(chunk, mean, units) @ combine
    theta, fitted = inducing.cross_gradient(
        back, lambda rows: K.block(rows, slice(None)), targets, d, lambda rows, W: K.pullback(rows.start, W), theta
    )
    return np.array(theta, dtype=np.float64), np.array([fitted])
