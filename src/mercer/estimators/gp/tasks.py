"""Targets (n, t) whose columns are tasks of one process: one observation per known cell of the table.

A row and a task are a pair, and the pairs are rows of a table with one more column, which holds the number of the task. The
kernel reads them by `on_pairs`, so every engine and every posterior works on them. If all cells are known and the kernel is
a product B[task, task'] k(x, x'), the covariance is the Kronecker product K x B, and one eigendecomposition of each factor
takes the place of the factorization of all pairs.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.gp.exact import ALONE_ROWS, NEW_ROWS, REMEDY
from mercer.estimators.gp.problem import EngineSettings, GPProblem, MeanFunction, TargetUnits
from mercer.grams import GramOperator, gram
from mercer.inputs import count, take
from mercer.inputs.vectors import is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.tables.tasks import TaskFactor, Tasks, has_tasks, on_pairs, task_factor
from mercer.linalg.evidence import Evidence, log_evidence, profile
from mercer.numeric.memory import allocate
from mercer.numeric.threads import one_thread
from mercer.registry import record

#: Name of the column of tasks in a data frame.
TASK = "task of the target"


@record()
@dataclass(frozen=True)
class TaskTargets:
    """The columns of a target (n, t) as tasks: known cells, units, and the form of the table of pairs."""

    _stored: ClassVar[dict[str, str]] = {
        "center": "float (k,)",
        "scale": "float (k,) > 0",
        "rows": "int (n,) >= 0",
        "tasks": "int (n,) < k",
        "n_rows": "int > 0",
    }

    center: Floats  # (t,)
    scale: Floats  # (t,)
    rows: Indices  # (N,) row of every known cell
    tasks: Indices  # (N,) task of every known cell
    n_rows: int

    @classmethod
    def of(cls, Y: Floats, kind: str, normalize: bool) -> TaskTargets:  # (n, t), NaN for holes
        """Return the known cells of Y and their units."""
        known = np.isfinite(Y)
        empty = np.flatnonzero(~known.any(axis=0))
        if empty.size:
            raise InputError(f"column {int(empty[0])} of y has no known value; leave it out.")
        units = TargetUnits.of_moments(np.nanmean(Y, axis=0), np.nanstd(Y, axis=0), kind, normalize)
        rows, tasks = np.nonzero(known)
        return cls(units.center, units.scale, rows, tasks, len(Y))

    @property
    def n_tasks(self) -> int:
        """t, the number of columns of the target."""
        return len(self.center)

    @property
    def complete(self) -> bool:
        """Whether there are no holes."""
        return len(self.rows) == self.n_rows * self.n_tasks

    @property
    def unit_term(self) -> float:
        """The change of the log density from the units of y to working units."""
        return float(np.log(self.scale)[self.tasks].sum())

    def cells(self, Y: Floats) -> Floats:  # (n, t) -> (N, 1)
        """Return the known cells in working units."""
        return ((Y - self.center) / self.scale)[self.rows, self.tasks][:, None]

    def columns(self, mean: MeanFunction, X: Any, rows: Indices, tasks: Indices) -> Floats:  # -> (N, t q)
        """Return the columns of the mean function of pairs: every task has coefficients of its own."""
        H = mean.columns(X)[rows]
        out = np.zeros((len(rows), self.n_tasks, H.shape[1]))
        out[np.arange(len(rows)), tasks] = H
        return out.reshape(len(rows), -1)

    def every(self, m: int) -> tuple[Indices, Indices]:
        """Return the pairs of m rows with all tasks, row by row."""
        return np.repeat(np.arange(m), self.n_tasks), np.tile(np.arange(self.n_tasks), m)

    def table(self, values: Floats) -> Floats:  # (N,) -> (n, t)
        """Return values of the known cells in the shape of y, NaN in holes."""
        out = np.full((self.n_rows, self.n_tasks), np.nan)
        out[self.rows, self.tasks] = values
        return out

    def by_task(self, beta: Floats) -> Floats:  # (t q, 1) -> (q, t)
        """Return the coefficients of the mean function per task."""
        return beta.reshape(self.n_tasks, -1).T


def columns_of_pairs(X: Any) -> tuple[tuple[int | str, ...], int | str]:
    """Return the columns of X in a table of pairs, and the column of the task."""
    if is_frame(X):
        return tuple(str(name) for name in X.columns), TASK
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return tuple(range(X.shape[1])), X.shape[1]
    return (0,), 1


def pairs(X: Any, rows: Indices, tasks: Indices) -> Any:
    """Return a table of rows of X with the numbers of their tasks in one more column."""
    if sp.issparse(X):
        raise InputError("several tasks take dense rows; X is sparse. Use X.toarray().")
    chosen = take(X, rows)
    if is_frame(X):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(chosen)
        column = nw.new_series(TASK, tasks.tolist(), backend=frame.implementation)
        return nw.maybe_reset_index(frame).with_columns(column).to_native()
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return np.column_stack([chosen, tasks]) if X.dtype.kind == "f" else np.column_stack([chosen.astype(object), tasks])
    table = np.empty((len(rows), 2), dtype=object)
    for i, (item, task) in enumerate(zip(chosen, tasks.tolist(), strict=True)):
        table[i, 0], table[i, 1] = item, task
    return table


def named(kernel: Kernel, t: int) -> Kernel:
    """Return the kernel whose Tasks compare the numbers 0 … t - 1."""
    if isinstance(kernel, Tasks):
        if kernel.names is None:
            return Tasks(kernel.rank, names=tuple(range(t)))
        if len(kernel.names) != t:
            raise InputError(f"{kernel} has {len(kernel.names)} tasks, and y has {t} columns.")
        return Tasks(kernel.rank, names=tuple(range(t)), loadings=kernel.loadings, own=kernel.own)
    if not has_tasks(kernel):
        return kernel
    return kernel.with_children(tuple(named(child, t) for child in kernel.children))


def pair_kernel(kernel: Kernel, X: Any) -> Kernel:
    """Return a resolved kernel on the table of pairs of X."""
    return on_pairs(kernel, *columns_of_pairs(X))


def is_product(kernel: Kernel) -> bool:
    """Whether a kernel on pairs would be a product of one Tasks and a kernel on rows."""
    return has_tasks(kernel) and task_factor(on_pairs(kernel, (0,), 1), 1) is not None


@dataclass(frozen=True)
class KroneckerSpectrum:
    """K = U diag(l) U' on rows and B = V diag(m) V' on tasks; G = K x B + noise I has the eigenvalues l m' + noise."""

    values: Floats  # (n,) l
    vectors: Floats  # (n, n) U
    task_values: Floats  # (t,) m
    task_vectors: Floats  # (t, t) V
    noise: float

    @property
    def all(self) -> Floats:  # (n, t)
        """The eigenvalues of G."""
        return np.outer(self.values, self.task_values) + self.noise

    def solve(self, T: Floats) -> Floats:  # (N, c) -> (N, c), pairs row by row
        """Return G^-1 T."""
        n, t = len(self.values), len(self.task_values)
        inside = np.einsum("in,nkc,kj->ijc", self.vectors.T, T.reshape(n, t, -1), self.task_vectors, optimize=True)
        inside /= self.all[:, :, None]
        out = np.einsum("ni,ijc,kj->nkc", self.vectors, inside, self.task_vectors, optimize=True)
        return out.reshape(T.shape)


class KroneckerEngine:
    """Evaluations for pairs of all rows with all tasks, by one eigendecomposition on rows and one on tasks."""

    rounds, part_rows, tol_per_row, max_steps = 1, 0, 0.0, 0

    def __init__(self, n_tasks: int, settings: EngineSettings | None = None) -> None:
        self._t = n_tasks
        self._rows: Any = None

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Do nothing: this engine makes no choices."""

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """Return the log marginal likelihood in about 10 n^3 flops, with its gradient."""
        with one_thread() if len(problem.columns) <= ALONE_ROWS else nullcontext():
            factor, B, K, spectrum = self._decompose(problem, kernel, noise)
            T = problem.columns
            S = spectrum.solve(T)
            fitted = profile(T.T @ S, 1)
            value = log_evidence(fitted.energy, float(np.log(spectrum.all).sum()), problem.n, 1)
            if not gradient:
                return Evidence(value)
            A = (S[:, :1] - S[:, 1:] @ fitted.beta).reshape(-1, self._t)  # (n, t)
            inverse = 1.0 / spectrum.all
            U, V = spectrum.vectors, spectrum.task_vectors
            by_row, by_task = inverse @ spectrum.task_values, spectrum.values @ inverse
            W = 0.5 * (A @ B @ A.T - (U * by_row) @ U.T)
            of_tasks = 0.5 * (A.T @ K @ A - (V * by_task) @ V.T)
            slopes = factor.tasks.slopes(of_tasks) if factor.tasks is not None else np.empty(0)
            theta = factor.joined(slopes, factor.rows.pullback(self._unique(problem), weights=W))
            return Evidence(value, theta, 0.5 * noise * float(np.sum(A * A) - inverse.sum()))

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> KroneckerPosterior:
        """Return the process conditioned on the columns."""
        spectrum = self._decompose(problem, kernel, noise)[3]
        T = problem.columns
        solved = spectrum.solve(T)
        logdet = float(np.log(spectrum.all).sum())
        posterior = KroneckerPosterior(kernel, self._unique(problem), self._t, noise, solved, T.T @ solved, logdet)
        posterior.__dict__["_spectrum"] = spectrum
        return posterior

    def _unique(self, problem: GPProblem) -> Any:
        if self._rows is None:
            self._rows = take(problem.X, np.arange(0, problem.n, self._t))
        return self._rows

    def _decompose(
        self, problem: GPProblem, kernel: Kernel, noise: float
    ) -> tuple[TaskFactor, Floats, Floats, KroneckerSpectrum]:
        rows = self._unique(problem)
        factor = _factor(kernel, rows)
        B = np.eye(self._t) if factor.tasks is None else factor.tasks.matrix
        K = gram(factor.rows, rows, out=allocate((count(rows),) * 2, np.float64, "the Gram matrix", REMEDY))
        return factor, B, K, _spectrum(K, B, noise)


def _factor(kernel: Kernel, rows: Any) -> TaskFactor:
    place: int | str = TASK if is_frame(rows) else int(rows.shape[1]) - 1
    found = task_factor(kernel, place)
    assert found is not None, "the route was chosen for a product"
    return found


def _spectrum(K: Floats, B: Floats, noise: float) -> KroneckerSpectrum:
    values, vectors = np.linalg.eigh(K)
    task_values, task_vectors = np.linalg.eigh(B)
    return KroneckerSpectrum(np.maximum(values, 0.0), vectors, np.maximum(task_values, 0.0), task_vectors, noise)


@record()
@dataclass(frozen=True)
class KroneckerPosterior:
    """A zero-mean process on pairs, conditioned on all pairs of some rows with all tasks."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "Z": "rows m",
        "n_tasks": "int > 0",
        "noise": "float > 0",
        "solved": "float (p, c)",
        "quadratic": "float (c, c)",
    }

    kernel: Kernel
    Z: Any  # (n pairs) one per row; the task is not used
    n_tasks: int
    noise: float
    solved: Floats  # (n t, 1 + q) G^-1 T
    quadratic: Floats  # (1 + q, 1 + q)
    logdet: float

    @property
    def jitter(self) -> float:
        """0: the noise makes G positive definite."""
        return 0.0

    def _factors(self) -> tuple[Kernel, Floats]:
        factor = _factor(self.kernel, self.Z)
        return factor.rows, np.eye(self.n_tasks) if factor.tasks is None else factor.tasks.matrix

    def _decomposed(self) -> KroneckerSpectrum:
        if "_spectrum" not in self.__dict__:  # a model file does not hold it
            rows, B = self._factors()
            self.__dict__["_spectrum"] = _spectrum(np.asarray(rows(self.Z), dtype=np.float64), B, self.noise)
        found: KroneckerSpectrum = self.__dict__["_spectrum"]
        return found

    def _tasks(self, X: Any) -> Indices:
        cells = X[TASK] if is_frame(X) else X[:, -1]
        return np.asarray(cells, dtype=np.float64).astype(np.intp)

    def mean(self, X: Any) -> Floats:  # -> (m, 1 + q)
        """Return E f of pairs for every column."""
        rows, B = self._factors()
        S = self.solved.reshape(count(self.Z), self.n_tasks, -1)
        mixed = np.einsum("nkc,kj->njc", S, B)
        k = GramOperator(rows, X, self.Z).times(mixed.reshape(len(S), -1)).reshape(count(X), self.n_tasks, -1)
        return np.asarray(k[np.arange(count(X)), self._tasks(X)])

    def variance(self, X: Any) -> Floats:  # -> (m,)
        """Return var f of pairs."""
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        rows, B = self._factors()
        s, K, tasks = self._decomposed(), GramOperator(rows, X, self.Z), self._tasks(X)
        loads = (B @ s.task_vectors) ** 2  # (t, t)
        by_row = (1.0 / s.all) @ loads.T  # (n, t)
        for start in range(0, len(prior), NEW_ROWS):
            part = slice(start, min(start + NEW_ROWS, len(prior)))
            v = np.asarray(K.block(part, slice(0, K.shape[1])), dtype=np.float64) @ s.vectors
            prior[part] -= np.einsum("ij,ji->i", v * v, by_row[:, tasks[part]])
        return np.maximum(prior, 0.0)

    def moments(self, X: Any) -> tuple[Floats, Floats]:  # -> (m, 1 + q), (m,)
        """Mean and variance together."""
        return self.mean(X), self.variance(X)

    def covariance(self, X: Any) -> Floats:  # -> (m, m)
        """Return cov(f, f') of pairs."""
        rows, B = self._factors()
        s = self._decomposed()
        v = np.asarray(rows(X, self.Z), dtype=np.float64) @ s.vectors  # (m, n)
        loads = (B @ s.task_vectors)[self._tasks(X)]  # (m, t)
        cross = (v[:, :, None] * loads[:, None, :]).reshape(len(v), -1)
        return np.asarray(self.kernel(X), dtype=np.float64) - (cross / s.all.ravel()) @ cross.T
