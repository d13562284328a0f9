"""One fit of a support vector machine: the route to kernel values, the solver on them, the clock, pairs of classes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import InputError, describe
from mercer.estimators.progress import Meter
from mercer.estimators.svm.box_qp import BoxProblem, BoxSolution, solve_box
from mercer.estimators.svm.decision import pairs
from mercer.estimators.svm.one_vs_one import WHOLE, class_pairs, solve_pairs
from mercer.estimators.svm.problems import Machine, classification, machine
from mercer.estimators.svm.working_set import DIRECT
from mercer.gram.row_cache import FINE, SMALL, KernelRows
from mercer.inputs import count
from mercer.kernels.base import Kernel
from mercer.numeric.memory import parse_bytes
from mercer.numeric.speed import entry_rate, gemm_rate
from mercer.numeric.threads import cpu_count
from mercer.plan import Route, Shape

Array = NDArray[Any]

#: Up to this many rows kernel values are float64 whatever the tolerance: it costs nothing there, and small problems are the
#: ones whose digits people look at.
EXACT_UP_TO = 1024

#: Up to this many rows the solver goes on to the second tolerance, or for so many further steps, once it has reached the
#: tolerance asked for: milliseconds.
SHARP_UP_TO, SHARP, FURTHER = 512, 1e-10, 20_000


@dataclass
class Job:
    """Kernel values of a training set and how long the solver may work on them; calling it solves one problem."""

    rows: KernelRows
    tol: float
    max_iter: int
    deadline: float | None  # on time.monotonic
    memory: int  # bytes for kernel values
    meter: Meter | None = None  # None for the folds of a cross-validation
    alone: bool = True  # one problem in all: the meter shows how far the solver is

    def __call__(self, problem: BoxProblem, tol: float | None = None) -> BoxSolution:
        fine, tick = self.tol if tol is None else tol, self.meter if self.alone else None
        found = solve_box(problem, self.rows, tol=fine, tick=tick, **self.limits())
        if not self.small or fine <= SHARP or not found.converged:
            return found
        further = solve_box(replace(problem, start=found.value), self.rows, tol=SHARP, max_iter=FURTHER)
        return _sharper(found, further, fine)

    def pairs(self, codes: Array, upper: Array) -> list[Machine | None]:  # (n,), (n,)
        """The machines of all pairs of classes at once; None where a side has no row with a say."""
        labels = np.maximum(codes, 0)  # rows that are left out need some class, and have an empty box
        upper = np.where(codes < 0, 0.0, upper)
        found = solve_pairs(self.rows, labels, upper, tol=self.tol, tick=self.meter, memory=self.memory, **self.limits())
        if self.small and self.tol > SHARP and all(solution.converged for solution in found):
            starts = [solution.value for solution in found]
            again = solve_pairs(self.rows, labels, upper, tol=SHARP, max_iter=FURTHER, starts=starts, memory=self.memory)
            found = [_sharper(solution, more, self.tol) for solution, more in zip(found, again, strict=True)]
        machines: list[Machine | None] = []
        for pair, solution in zip(class_pairs(labels), found, strict=True):
            own, here = upper[pair.index], codes[pair.index] >= 0
            known = (own[pair.signs > 0] > 0).any() and (own[pair.signs < 0] > 0).any()
            fitted = machine(classification(pair.signs, own), solution, pair.index) if known else None
            machines.append(fitted if fitted is None or here.all() else fitted.on(here))
        return machines

    @property
    def small(self) -> bool:
        """Few rows and no limits: solved on until rounding ends it, so that weights count exactly as copies of rows do."""
        return self.rows.n <= SHARP_UP_TO and self.max_iter < 0 and self.deadline is None

    def limits(self) -> dict[str, Any]:
        """What is left of the limits, for the solver."""
        left = None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-3)
        return {"max_iter": self.max_iter, "time_limit": left}

    def tell(self, done: int, total: int) -> None:
        """Show that problem number `done` of several begins."""
        self.alone = total == 1
        if self.meter is not None and not self.alone:
            self.meter(done - 1, total)


def _sharper(found: BoxSolution, further: BoxSolution, tol: float) -> BoxSolution:
    """The solution after more steps, if they led anywhere."""
    if further.gap > tol:
        return found
    return replace(further, converged=True, n_iter=found.n_iter + further.n_iter, message=found.message)


def open_job(model: Any, kernel: Kernel, X: Any, meter: Meter | None = None, again: bool = False) -> Job:
    """The kernel values of X with the model's tolerance and limits; `again`: several problems will be solved on them."""
    deadline = None if model.time_limit is None else time.monotonic() + float(model.time_limit)
    fine, most = precision(model, count(X)), getattr(model, "_most_rows", False)
    if _few(model, count(X)) and not kernel.given:
        rows = KernelRows.cached(kernel, X, bytes=model.memory, dtype=np.float64 if fine < FINE else np.float32)
    else:
        rows = KernelRows.choose(kernel, X, tol=fine, memory=model.memory, again=again, most=most)
    return Job(rows, float(model.tol), int(model.max_iter), deadline, parse_bytes(model.memory), meter)


def precision(model: Any, n: int) -> float:
    """The tolerance that decides between float32 and float64 kernel values."""
    hard = getattr(model, "C", 1.0) == np.inf  # the multipliers of a hard margin are as large as it takes
    return min(float(model.tol), 0.5 * FINE) if n <= EXACT_UP_TO or hard else float(model.tol)


def _few(model: Any, n: int) -> bool:
    """Whether so few rows of a Gram will be asked for that the whole is not worth making, however small."""
    return getattr(model, "_few_rows", False) and n > DIRECT


def routes(shape: Shape, model: Any) -> tuple[Route, ...]:
    """The Gram matrix where it is small, else rows on demand within the budget."""
    n, budget = shape.n, parse_bytes(model.memory)
    itemsize = 8 if precision(model, n) < FINE else 4
    whole, word = itemsize * n * n, f"float{8 * itemsize}"
    entry = 2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()
    kept = min(whole, budget - 128 * n)
    reason = (
        f"kernel rows in {word} are made when the solver asks for them; {max(0, kept // (itemsize * n))} of {n} can be kept"
    )
    rows = Route("rows", max(kept, 2 * itemsize * n) + 128 * n, entry * n * n / 3.0, reason)
    k = shape.n_targets
    if k > 2 and n > SMALL and hasattr(model, "_penalty") and model._penalty() is not None and 2 * n <= WHOLE * k:
        together = itemsize * (cpu_count() * (2 * n // k) ** 2 + n * n // k) + 128 * n
        reason = f"the matrices of pairs of {k} classes in {word}, one per core at a time"
        return Route("pairs", together, entry * n * n / 2.0, reason), rows
    if _few(model, n) or n > (4 * SMALL if getattr(model, "_most_rows", False) else SMALL):
        return (rows,)
    reason = f"the Gram matrix of {n} rows, held once in {word}"
    return Route("gram", whole + 128 * n, entry * n * n / 2.0, reason), rows


def fit_pairs(
    codes: Array,  # (n,) of 0 … k - 1, and -1 for rows that are left out
    classes: int,
    solve: Callable[[Array, Array], Machine | None],
) -> list[Machine | None]:
    """One machine per pair (i, j), positive for i; for two classes one machine, positive for the second."""
    members = [np.flatnonzero(codes == c) for c in range(classes)]
    machines: list[Machine | None] = []
    for i, j in pairs(classes):
        rows = np.concatenate([members[i], members[j]])
        signs = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        machines.append(solve(-signs if classes == 2 else signs, rows))
    return machines


def coefficients(machines: list[Machine | None], codes: Array, classes: int) -> tuple[Array, Array]:  # -> (k - 1, n), (P,)
    """All coefficients by training row, in LIBSVM's order, and the intercepts.

    A row of class c has k - 1 of them: entry j - 1 for the pair with a later class j, entry i for one with an earlier i.
    """
    table, intercepts = np.zeros((classes - 1, len(codes))), np.zeros(len(machines))
    for p, ((i, j), found) in enumerate(zip(pairs(classes), machines, strict=True)):
        if found is None:
            continue
        own = codes[found.rows] == i
        table[j - 1, found.rows[own]] = found.coef[own]
        table[i, found.rows[~own]] = found.coef[~own]
        intercepts[p] = found.intercept
    return table, intercepts


def fold_numbers(codes: Array, folds: int, seed: Any, X: Any = None) -> Array:  # (n,) -> (n,)
    """A fold for every row, each class spread evenly over the folds in random order; -1 stays -1.

    Equal rows of X go to the same fold: a copy of a row that is held out must not be there to be learned from. The order
    comes from what the rows hold, so that neither their order nor the number of copies matters.
    """
    random = np.random.RandomState(seed) if isinstance(seed, (int, np.integer)) else seed
    names = None if X is None else _contents(X)
    members = [np.flatnonzero(codes == c) for c in np.unique(codes[codes >= 0])]
    if names is not None and all(len(np.unique(names[own])) == 1 for own in members):
        names = None  # nothing but copies of one row in every class: then they have to do
    out, shift = np.full(len(codes), -1), 0
    for own in members:
        place = np.arange(len(own)) if names is None else np.unique(names[own], return_inverse=True)[1]
        distinct = int(place.max()) + 1
        out[own] = ((random.permutation(distinct) + shift) % folds)[place]
        shift += distinct
    return out


def _contents(X: Any) -> Array | None:  # (n rows) -> (n,) bytes
    """A digest of what each row holds; None for rows without numbers or text."""
    if sp.issparse(X):
        parts = [(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr)]
        return np.array([blake2b(b"".join(part), digest_size=16).digest() for part in parts])
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
        return np.array([blake2b(row.tobytes(), digest_size=16).digest() for row in X + 0.0])
    if isinstance(X, list) and all(isinstance(item, str) for item in X):
        return np.array([blake2b(item.encode(), digest_size=16).digest() for item in X])
    return None


def warn_if_open(what: str, machines: list[Machine | None], model: Any) -> int:
    """0 if every machine reached the tolerance; else 1, with a warning that says which limit came first."""
    open_ones = [found for found in machines if found is not None and not found.converged]
    if not open_ones:
        return 0
    warnings.warn(
        f"{what}: the solver stopped early: {open_ones[0].message}. The model can be used; its dual objective is "
        f"within {sum(found.gap for found in open_ones):.3g} of the best. Raise the limit, or scale the columns.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return 1


def check_number(what: str, name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> None:
    """Refuse a parameter that is no number, or breaks its rule."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
    if not number or not holds(float(value)):
        raise InputError(f"{what}: {name} must be {rule}; got {describe(value)}.")


def check_solver_parameters(model: Any) -> None:
    """Refuse tolerances and limits that mean nothing, before anything is computed."""
    what = type(model).__name__
    check_number(what, "tol", model.tol, "a number > 0, the largest violation of the optimality conditions", lambda v: v > 0)
    whole = "-1 (no limit) or a whole number >= 1"
    check_number(what, "max_iter", model.max_iter, whole, lambda v: v == -1 or (v >= 1 and v == int(v)))
    if model.time_limit is not None:
        check_number(what, "time_limit", model.time_limit, "None or seconds > 0", lambda v: v > 0)
    for name, allowed in (("decision_function_shape", ("ovr", "ovo")), ("break_ties", (True, False))):
        if hasattr(model, name) and getattr(model, name) not in allowed:
            raise InputError(f"{what}: {name} must be {allowed[0]!r} or {allowed[1]!r}; got {getattr(model, name)!r}.")


def check_penalty(what: str, C: Any, infinite: str = "") -> None:
    """Refuse a C that is not positive; infinite where it means something."""
    rule = f"a number > 0{infinite}"
    check_number(what, "C", C, rule, lambda v: v > 0 and (bool(infinite) or v < float("inf")))
