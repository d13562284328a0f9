"""How one support vector machine is solved: settings, the route to kernel values, the clock, and the solver on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.errors import check_number
from mercer.estimators.progress import Meter
from mercer.estimators.svm.one_vs_one import WHOLE, class_pairs, solve_pairs
from mercer.grams.row_cache import FINE, WHOLE_MATRIX_ROWS, KernelRows, value_tolerance
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import BoxProblem, BoxSolution, SupportFunction, classification, support_function
from mercer.linalg.box_qp.solver import refinement, solve_box
from mercer.linalg.box_qp.steps import DIRECT
from mercer.numeric.memory import budget_bytes
from mercer.numeric.threads import cpu_count
from mercer.planning import Route, Shape, entry_rate, gemm_rate


@dataclass(frozen=True)
class SolverSettings:
    """Tolerance, limits and memory of a fit, and what is known of its problem before it is solved."""

    tol: float = 1e-3
    max_iter: int = -1  # -1: no limit
    time_limit: float | None = None  # seconds
    memory: int | float | str | None = None  # of kernel values
    support: str = "some"  # how many rows become support vectors, and so are asked for: "few", "some" or "most"
    unbounded: bool = False  # no upper bound on the multipliers, whose size then asks for float64 kernel values
    side_by_side: bool = False  # pairs of classes have one finite C and are solved on all cores

    def precision(self, n: int) -> float:
        """The tolerance that decides between float32 and float64 kernel values."""
        return value_tolerance(n, self.tol, exact=self.unbounded)

    def few(self, n: int) -> bool:
        """Whether so few rows of a Gram will be asked for that the whole is not worth making, however small."""
        return self.support == "few" and n > DIRECT

    def whole_up_to(self) -> int:
        """The number of rows up to which the whole Gram is made."""
        return 4 * WHOLE_MATRIX_ROWS if self.support == "most" else WHOLE_MATRIX_ROWS

    def kernel_rows(self, kernel: Kernel, X: Any, n: int, again: bool = False) -> KernelRows:
        """The kernel values of the n rows X; `again`: several problems will be solved on them."""
        fine = self.precision(n)
        if self.few(n) and not kernel.given:
            return KernelRows.cached(kernel, X, bytes=self.memory, dtype=np.float64 if fine < FINE else np.float32)
        return KernelRows.choose(kernel, X, tol=fine, memory=self.memory, again=again, most=self.support == "most")


@dataclass
class Solver:
    """Kernel values of a training set, and how long the solver may work on them; calling it solves one problem."""

    rows: KernelRows
    settings: SolverSettings
    meter: Meter | None = None  # None for the folds of a cross-validation, which have a meter of their own
    alone: bool = True  # one problem in all: the meter shows its progress

    def __post_init__(self) -> None:
        limit = self.settings.time_limit
        self.deadline = None if limit is None else time.monotonic() + limit

    def __call__(self, problem: BoxProblem, tol: float | None = None) -> BoxSolution:
        fine, tick = self.settings.tol if tol is None else tol, self.meter if self.alone else None
        return solve_box(problem, self.rows, tol=fine, tick=tick, further=self.further(fine), **self.limits())

    def pairs(self, codes: Array, upper: Array) -> list[SupportFunction | None]:  # (n,), (n,)
        """The functions of all pairs of classes at once; None where a class has no row with a positive bound."""
        memory, tol = budget_bytes(self.settings.memory, 4 * len(codes) ** 2), self.settings.tol
        found = solve_pairs(
            self.rows, codes, upper, tol=tol, tick=self.meter, memory=memory, further=self.further(tol), **self.limits()
        )
        return [
            support_function(classification(pair.signs, upper[pair.index]), solution, pair.index)
            if pair.has_both(upper[pair.index])
            else None
            for pair, solution in zip(class_pairs(codes), found, strict=True)
        ]

    def further(self, tol: float) -> tuple[float, int] | None:
        """The finer tolerance of few rows without limits, see `refinement`."""
        return refinement(self.rows.n, tol, limited=self.settings.max_iter >= 0 or self.deadline is not None)

    def limits(self) -> dict[str, Any]:
        """What is left of the limits, for `solve_box`."""
        left = None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-3)
        return {"max_iter": self.settings.max_iter, "time_limit": left}

    def begin(self, number: int, total: int) -> None:
        """Show that problem `number`, counted from 0, of several begins."""
        self.alone = total == 1
        if self.meter is not None and not self.alone:
            self.meter(number, total)


#: Where fewer kernel rows than one in this many can be kept, the exact solver makes most of them again and again.
KEPT = 20


def least_bytes(n: int) -> int:
    """The bytes below which rows on demand are made again and again."""
    return 4 * n**2 // KEPT + 128 * n


def svm_routes(shape: Shape, settings: SolverSettings) -> tuple[Route, ...]:
    """The Gram matrix where it is small, else rows on demand within the budget."""
    n, itemsize = shape.n, 8 if settings.precision(shape.n) < FINE else 4
    budget = budget_bytes(settings.memory, itemsize * n * n)
    whole, word = itemsize * n * n, f"float{8 * itemsize}"
    entry = 2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()
    kept = min(whole, budget - 128 * n)
    reason = (
        f"kernel rows in {word} are made when the solver asks for them; {max(0, kept // (itemsize * n))} of {n} can be kept"
    )
    rows = Route("rows", max(kept, 2 * itemsize * n) + 128 * n, entry * n * n / 3.0, reason)
    k = shape.n_targets
    if k > 2 and n > WHOLE_MATRIX_ROWS and settings.side_by_side and 2 * n <= WHOLE * k:
        together = itemsize * _beside(n, k) + 128 * n
        reason = f"the matrices of pairs of {k} classes in {word}, one per core at a time"
        return Route("pairs", together, entry * n * n / 2.0, reason), rows
    if settings.few(n) or n > settings.whole_up_to():
        return (rows,)
    reason = f"the Gram matrix of {n} rows, held once in {word}"
    beside = _beside(n, k) if k > 2 and settings.side_by_side else 0
    return Route("gram", whole + itemsize * beside + 128 * n, entry * n * n / 2.0, reason), rows


def _beside(n: int, k: int) -> int:
    """Numbers that pairs of k equal classes take: the matrix of a pair for every core, and each class with itself."""
    return min(cpu_count(), k * (k - 1) // 2) * (2 * n // k) ** 2 + n * n // k


def fit_status(what: str, found: Sequence[SupportFunction | None], stacklevel: int) -> int:
    """0 if every function reached the tolerance; else 1, with a warning that says which limit came first."""
    stopped = [function for function in found if function is not None and not function.converged]
    if not stopped:
        return 0
    warnings.warn(
        f"{what}: the solver stopped early: {stopped[0].message}. The model can be used; its dual objective is "
        f"within {sum(function.gap for function in stopped):.3g} of the best. Raise the limit, or scale the columns.",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
    return 1


def check_limits(what: str, tol: Any, max_iter: Any, time_limit: Any) -> None:
    """Refuse tolerances and limits that mean nothing, before anything is computed."""
    check_number(what, "tol", tol, "a number > 0, the largest violation of the optimality conditions", lambda v: v > 0)
    whole = "-1 (no limit) or a whole number >= 1"
    check_number(what, "max_iter", max_iter, whole, lambda v: v == -1 or (v >= 1 and v == int(v)))
    if time_limit is not None:
        check_number(what, "time_limit", time_limit, "None or seconds > 0", lambda v: v > 0)


def check_penalty(what: str, C: Any, infinite: str = "") -> None:
    """Refuse a C that is not positive; infinite where it means something."""
    rule = f"a number > 0{infinite}"
    check_number(what, "C", C, rule, lambda v: v > 0 and (bool(infinite) or v < float("inf")))
