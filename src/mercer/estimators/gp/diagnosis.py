"""One object that says how a Gaussian process was fitted and what is odd about it, instead of a stream of warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.gp.fit import Climb, ClimbAttempt
from mercer.estimators.gp.parameters import GPParameters
from mercer.estimators.gp.posterior import AnyProblem, GPProblem, Posterior
from mercer.numeric.memory import format_bytes
from mercer.planning import Route
from mercer.registry import record

#: A bound counts as reached within this distance, in logarithms.
TOUCH = 1e-3

#: Rows among which equal ones are looked for.
MAX_ROWS, MAX_CELLS = 20_000, 5_000_000


@record()
@dataclass(frozen=True)
class ParameterReport:
    """One hyper-parameter: its value, where it began, how far it might go."""

    name: str
    value: float
    start: float
    low: float
    high: float
    fixed: bool

    @property
    def at_bound(self) -> str:
        """ "low", "high", or nothing."""
        if self.fixed:
            return ""
        at = [("low", self.low), ("high", self.high)]
        return next((end for end, bound in at if abs(math.log(self.value / bound)) < TOUCH), "")

    def __str__(self) -> str:
        how = "fixed" if self.fixed else f"from {self.start:.4g}, in [{self.low:.3g}, {self.high:.3g}]"
        return f"{self.name} = {self.value:.6g} ({how}{', at its ' + self.at_bound + ' bound' if self.at_bound else ''})"


@record()
@dataclass(frozen=True)
class GPDiagnosis:
    """What was fitted, how it went, and in `notes` what a person should know; no notes means nothing odd was seen."""

    route: Route
    rows: int
    log_marginal_likelihood: float
    converged: bool
    message: str
    n_iter: int
    n_evaluations: int
    parameters: tuple[ParameterReport, ...]
    attempts: tuple[ClimbAttempt, ...]
    jitter: float
    bytes: int  # what the model keeps for its variances
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing odd was seen."""
        return not self.notes

    def __str__(self) -> str:
        lines = [
            f"route: {self.route.solver}, {self.rows} rows",
            f"log marginal likelihood: {self.log_marginal_likelihood:.6g}",
            f"fit: {self.message} ({self.n_iter} steps, {self.n_evaluations} evaluations on all rows)",
            *[f"  {report}" for report in self.parameters],
            *[f"start {a.label}: {a.first:.6g} -> {a.reached:.6g} on {a.rows} rows" for a in self.attempts],
            f"kept for variances: {format_bytes(self.bytes)}",
            *([f"jitter: {self.jitter:.3g}"] if self.jitter else []),
            *([f"note: {note}" for note in self.notes] or ["nothing odd"]),
        ]
        return "\n".join(lines)


def diagnose_fit(
    problem: AnyProblem, parameters: GPParameters, climb: Climb, posterior: Posterior, route: Route, value: float
) -> GPDiagnosis:
    """The diagnosis of a finished fit."""
    value_of, start, low, high = (
        np.exp(part).tolist() for part in (climb.vector, parameters.start, parameters.low, parameters.high)
    )
    reports = tuple(
        ParameterReport(name, value_of[i], start[i], low[i], high[i], bool(parameters.fixed[i]))
        for i, name in enumerate(parameters.names)
    )
    noise = parameters.setting(climb.vector)[1]
    notes = _data_notes(problem, noise, posterior) + _fit_notes(climb, reports, problem)
    kept = int(getattr(posterior, "bytes", 0))
    return GPDiagnosis(
        route, problem.n, value, climb.converged, climb.message, climb.n_iter, climb.n_evaluations, reports,
        climb.attempts, posterior.jitter, kept, tuple(notes),
    )  # fmt: skip


def _data_notes(problem: AnyProblem, noise: float, posterior: Posterior) -> list[str]:
    notes = []
    flat = problem.flat
    if problem.n == 1:
        notes.append("one row: it says nothing of length scales or noise, which stay where they started.")
    elif flat.any():
        which = "y" if problem.n_targets == 1 else f"target {int(np.argmax(flat))} of y"
        notes.append(f"{which} is constant: it says nothing of scale or noise; error bars are those of the starting values.")
    if posterior.jitter:
        pair = equal_rows(problem.X) if isinstance(problem, GPProblem) else None
        cause = "the rows are numerically dependent"
        if isinstance(problem, GPProblem) and pair is not None:
            (i, j), Y = pair, problem.columns[:, : problem.n_targets]
            differ = "different" if np.any(Y[i] != Y[j]) else "equal"
            cause = f"rows {i} and {j} are equal (their y are {differ})"
        cure = ' Equal rows with different y contradict noise = 0; use noise="fit".' if noise == 0 else ""
        notes.append(f"jitter {posterior.jitter:.2g} was added to the diagonal: {cause}.{cure}")
    return notes


def _fit_notes(climb: Climb, reports: tuple[ParameterReport, ...], problem: AnyProblem) -> list[str]:
    notes = []
    if not climb.converged:
        notes.append(f"not converged: {climb.message}. Raise max_iter.")
    for report in reports:
        end = report.at_bound
        if not end:
            continue
        if end == "high" and "length_scale" in report.name:
            meaning = ": the function hardly depends on that column" if "[" in report.name else ""
            notes.append(f"{report.name} ran to its high bound {report.high:.3g}{meaning}.")
        elif end == "low" and report.name == "noise":
            notes.append(f"noise ran to its low bound {report.low:.3g}: the data look free of noise, or are overfitted.")
        else:
            notes.append(f"{report.name} ran to its {end} bound {getattr(report, end):.3g}; bounds= moves it.")
    moved = sum(not report.fixed for report in reports)
    if moved and problem.n * problem.n_targets < 2 * moved and problem.n > 1:
        notes.append(f"{moved} parameters were fitted to {problem.n} rows: hold some by fixed=, or give a prior.")
    return notes


def equal_rows(X: Any) -> tuple[int, int] | None:
    """The first two equal rows of dense vectors or of strings, or None."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        if len(X) > MAX_ROWS or X.size > MAX_CELLS:
            return None
        keys = [row.tobytes() for row in np.ascontiguousarray(X)]
    elif isinstance(X, list) and all(isinstance(item, str) for item in X):
        keys = X
    else:
        return None
    seen: dict[Any, int] = {}
    for i, key in enumerate(keys):
        if key in seen:
            return seen[key], i
        seen[key] = i
    return None
