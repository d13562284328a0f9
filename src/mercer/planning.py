"""Routes: the solvers that a fit could use, their costs, and the choice within a memory budget.

An estimator lists its routes for a shape, best first; `choose_route` returns the first that fits the budget. `plan` returns
the choice without fitting or allocating anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from mercer.errors import InputError, MemoryBudgetError, warn
from mercer.numeric.memory import budget_bytes, format_bytes, within
from mercer.numeric.threads import blas_threads, one_blas_thread
from mercer.registry import record

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Shape:
    """The size of the data for routes: rows, targets, bytes per number, explicit features (None if infinite)."""

    n: int
    n_targets: int = 1
    itemsize: int = 8
    n_features: int | None = None
    width: int = 1
    n_frequencies: int | None = None  # of the grid of a Fourier route
    n_counted: int | None = None  # explicit features that depend on the data, such as substrings
    n_cells: int | None = None  # known cells of a target whose columns are tasks


@record()
@dataclass(frozen=True)
class Route:
    """One way to fit: the solver, peak bytes in addition to the data, estimated seconds, and the reason for the choice."""

    _stored: ClassVar[dict[str, str]] = {
        "solver": "text",
        "bytes": "real",
        "seconds": "real",
        "reason": "text",
    }

    solver: str
    bytes: int
    seconds: float
    reason: str
    exact: bool = True
    passes: int = 0  # over rows in chunks; 0 if they are in memory

    def __str__(self) -> str:
        kind = "exact" if self.exact else "iterative or approximate"
        often = "" if self.passes == 0 else f", {self.passes} {'pass' if self.passes == 1 else 'passes'} over the chunks"
        size = f"{format_bytes(self.bytes)}, about {format_seconds(self.seconds)}"
        return f"{self.solver} ({kind}): {size}{often}; {self.reason}"


@dataclass(frozen=True)
class Plan:
    """The route that a fit would take, and the routes that it would not take."""

    route: Route
    offered: tuple[Route, ...]
    budget: int
    notes: tuple[str, ...] = ()  # remarks of the estimator on the data: things to change before a long fit

    @property
    def bytes(self) -> int:
        """Peak memory of the fit in addition to the data."""
        return self.route.bytes

    @property
    def seconds(self) -> float:
        """Estimated time of the fit on this machine, if nothing else runs on it."""
        return self.route.seconds

    def __str__(self) -> str:
        lines = [f"route: {self.route}", f"memory budget: {format_bytes(self.budget)}"]
        for route in self.offered:
            if route is not self.route:
                fits = "fits too" if route.bytes <= self.budget else "does not fit"
                lines.append(f"not taken ({fits}): {route}")
        lines += self.notes
        return "\n".join(lines)


def choose_route(offered: Iterable[Route], memory: int | float | str | None, what: str, *, announce: bool = True) -> Route:
    """Return the first route within the budget; raise if there is none, and warn if it is not exact while the first is.

    Routes after the first are made only if the first does not fit.
    """
    rest = iter(offered)
    first = next(rest)
    if within(first.bytes, memory):
        return first
    budget, routes = budget_bytes(memory), (first, *rest)
    for route in routes:
        if route.bytes <= budget:
            if announce and first.exact and not route.exact:
                warn(
                    f"{what}: {first.solver} needs {format_bytes(first.bytes)}, over the memory budget of "
                    f"{format_bytes(budget)}, so {route.solver} is taken, which is not exact. memory= raises the budget.",
                )
            return route
    least = min(routes, key=lambda route: route.bytes)
    raise MemoryBudgetError(
        f"{what}: no route fits the memory budget of {format_bytes(budget)}; the smallest, {least.solver}, needs "
        f"{format_bytes(least.bytes)}. Raise memory=, fit on fewer rows, or use float32 data."
    )


@runtime_checkable
class Planned(Protocol):
    """Estimator with routes: `plan` uses its routes for a shape, best first, and its remarks on the data."""

    memory: Any

    def _shape(self, X: Any, y: Any = None) -> Shape: ...

    def _routes(self, shape: Shape) -> Iterable[Route]: ...

    def _offers(self, X: Any, y: Any = None) -> tuple[Route, ...]: ...

    def _notes(self, X: Any, route: Route) -> Iterable[str]: ...


_routes_of_tests: dict[str, Callable[[Any, Any], tuple[Route, ...]]] = {}


def with_routes(routes: Callable[[Any, Any], tuple[Route, ...]]) -> Callable[[Test], Test]:
    """Decorate a statistical test with its routes for (X, Y), the one that it takes first; `plan` returns them."""

    def decorate(test: Test) -> Test:
        _routes_of_tests[f"{test.__module__}.{test.__qualname__}"] = routes
        return test

    return decorate


def plan(estimator: Any, X: Any, y: Any = None, memory: int | float | str | None = None) -> Plan:
    """Return the route that `estimator.fit(X, y)` would take, with its bytes and seconds; nothing is fitted.

    For a statistical test, such as `mmd_test`, it is the route of the test of X and y with default options. Tests choose
    by the number of operations and have no memory budget.

    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> mercer.plan(mercer.KernelRidge(mercer.Linear()), X).route.solver
    'primal'
    >>> mercer.plan(mercer.mmd_test, X, X[:500]).route.solver
    'exact'
    """
    if isinstance(estimator, FunctionType):
        return _plan_of_test(estimator, X, y, memory)
    if not isinstance(estimator, Planned):
        raise InputError(f"plan takes a mercer estimator or test; got {type(estimator).__name__}.")
    budget = budget_bytes(estimator.memory if memory is None else memory)
    routes = estimator._offers(X, y)
    route = choose_route(routes, budget, type(estimator).__name__, announce=False)
    return Plan(route, routes, budget, tuple(estimator._notes(X, route)))


def _plan_of_test(test: FunctionType, X: Any, Y: Any, memory: int | float | str | None) -> Plan:
    routes = _routes_of_tests.get(f"{test.__module__}.{test.__qualname__}")
    if routes is None:
        known = ", ".join(sorted(name.rsplit(".", 1)[1] for name in _routes_of_tests)) or "mmd_test"
        raise InputError(f"plan: {test.__name__} has no routes. Give a mercer estimator or one of the tests {known}.")
    offered = routes(X, Y)
    return Plan(offered[0], offered, budget_bytes(memory))


def format_seconds(seconds: float) -> str:
    """Return a duration as text.

    >>> format_seconds(0.02), format_seconds(90.0), format_seconds(7200.0)
    ('0.02 s', '1.5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


#: Bytes per second of a product of a matrix with a vector on the cores of a laptop.
READ_RATE = 2e10

#: Seconds of the first large fit of a process for loading compiled loops and starting threads.
LOADING = 0.2


#: Runs of a measurement, each of less than a millisecond: shorter than the time slice of a busy machine.
RUNS = 9

#: Part of the speed of all cores together that a large matrix product reaches.
TOGETHER = 0.9


def _quickest(work: Callable[[], Any]) -> float:
    """Return the processor time of the fastest of several runs on one thread.

    Other processes delay a run, which processor time does not count, and disturb its cache, which the fastest run shows
    least. Where the clock of processor time is coarse, the fastest run by the wall clock is returned.
    """
    fine = time.get_clock_info("thread_time").resolution < 1e-6
    clock, seconds = time.thread_time if fine else time.perf_counter, []
    for _ in range(RUNS):
        start = clock()
        work()
        seconds.append(clock() - start)
    return max(min(seconds), 1e-6)


@cache
def gemm_rate() -> float:
    """Return the floating-point operations per second of a float64 matrix product on all cores.

    It is measured on one thread: threads that wait for each other on a busy machine would be measured in its place.
    """
    A = np.ones((256, 256))
    threads = blas_threads()
    with one_blas_thread():
        one = 2.0 * 256**3 / _quickest(lambda: A @ A)
    return one * (1 if threads == 1 else TOGETHER * threads)


@cache
def entry_rate() -> float:
    """Return the kernel values per second of a Gram matrix on one core; the exponential dominates the cost."""
    values = np.full(2**15, -1.0)
    return values.size / _quickest(lambda: np.exp(values)) / 3.0
