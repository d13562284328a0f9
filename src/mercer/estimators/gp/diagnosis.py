"""Reports of a fitted Gaussian process: leave-one-out, and a diagnosis of the search and of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.gp.exact import ExactPosterior
from mercer.estimators.gp.problem import AnyProblem, Evaluator, GPParameters, GPProblem
from mercer.estimators.gp.search import Climb, ClimbAttempt
from mercer.estimators.gp.tasks import TaskTargets
from mercer.numeric.memory import format_bytes
from mercer.planning import Route
from mercer.registry import record

#: Levels of the calibration curve.
LEVELS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())


@record()
@dataclass(frozen=True)
class GPLeaveOneOut:
    """Leave-one-out predictions at the fitted hyper-parameters; the mean function is fitted without the row."""

    mean: Array  # (n,) or (n, t)
    std: Array  # same; of y, the noise included
    residuals: Array  # y - mean
    log_density: Array  # log p(y_i | all others)

    @property
    def rmse(self) -> float:
        """The root of the mean squared residual."""
        return float(np.sqrt(np.nanmean(self.residuals**2)))

    @property
    def nlpd(self) -> float:
        """The negative log predictive density, averaged over rows and targets; lower is better."""
        return -float(np.nanmean(self.log_density))

    @property
    def pit(self) -> Array:
        """P(Y_i <= y_i | all others): uniform on [0, 1] if the model is correct."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.residuals / self.std))

    def coverage(self, level: float = 0.9) -> float:
        """Return the share of rows inside the central interval of probability `level`."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level must lie strictly between 0 and 1; got {level!r}.")
        pit = self.pit[np.isfinite(self.pit)]
        return float(np.mean(np.abs(pit - 0.5) <= level / 2.0)) if pit.size else float("nan")

    def calibration(self, levels: tuple[float, ...] = LEVELS) -> tuple[Array, Array]:  # -> (L,), (L,)
        """Return levels and the coverage at each; they are equal if the standard deviations are correct."""
        return np.array(levels), np.array([self.coverage(level) for level in levels])

    def __str__(self) -> str:
        return (
            f"leave-one-out: RMSE {self.rmse:.4g}, negative log density {self.nlpd:.4g}, "
            f"90 % intervals hold {100 * self.coverage(0.9):.1f} %"
        )


#: A parameter is at a bound if it is within this share of it.
TOUCH = 1e-3

#: A period that moves further than this, in logarithms, is reported.
PERIOD_MOVED = 0.3

#: Equal rows are searched for in data of at most this size.
MAX_ROWS, MAX_CELLS = 20_000, 5_000_000


@record()
@dataclass(frozen=True)
class ParameterReport:
    """One hyper-parameter: its value, its start and its bounds."""

    name: str
    value: float
    start: float
    low: float
    high: float
    fixed: bool

    @property
    def at_bound(self) -> str:
        """Return "low", "high" or an empty text."""
        if self.fixed:
            return ""
        at = [("low", self.low), ("high", self.high)]
        return next((end for end, bound in at if abs(self.value - bound) < TOUCH * abs(bound)), "")

    def __str__(self) -> str:
        how = "fixed" if self.fixed else f"from {self.start:.4g}, in [{self.low:.3g}, {self.high:.3g}]"
        return f"{self.name} = {self.value:.6g} ({how}{', at its ' + self.at_bound + ' bound' if self.at_bound else ''})"


@record()
@dataclass(frozen=True)
class GPDiagnosis:
    """Report of a fit; `notes` lists possible problems and is empty if there are none."""

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
    bytes: int  # memory that the model keeps for its variances
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no notes."""
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
            *([f"note: {note}" for note in self.notes] or ["no problems found"]),
        ]
        return "\n".join(lines)


def diagnose_fit(
    problem: AnyProblem, parameters: GPParameters, climb: Climb, posterior: Any, route: Route, value: float
) -> GPDiagnosis:
    """Return the diagnosis of a finished fit."""
    value_of, start, low, high = (
        parameters.values(part).tolist() for part in (climb.vector, parameters.start, parameters.low, parameters.high)
    )
    reports = tuple(
        ParameterReport(name, value_of[i], start[i], low[i], high[i], bool(parameters.fixed[i]))
        for i, name in enumerate(parameters.names)
    )
    noise = parameters.setting(climb.vector)[1]
    notes = _data_notes(problem, noise, posterior) + _fit_notes(climb, reports, problem)
    kept = posterior.bytes if isinstance(posterior, ExactPosterior) else 0
    return GPDiagnosis(
        route, problem.n, value, climb.converged, climb.message, climb.n_iter, climb.n_evaluations, reports,
        climb.attempts, posterior.jitter, kept, tuple(notes),
    )  # fmt: skip


def _data_notes(problem: AnyProblem, noise: Any, posterior: Any) -> list[str]:
    notes = []
    flat = problem.flat
    if problem.n == 1:
        notes.append("one row does not determine length scales or noise; they keep their starting values.")
    elif flat.any():
        which = "y" if problem.n_targets == 1 else f"target {int(np.argmax(flat))} of y"
        notes.append(f"{which} is constant and does not determine scale or noise, which keep their starting values.")
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
            meaning = ": the function hardly depends on this column" if "[" in report.name else ""
            notes.append(f"{report.name} is at its high bound {report.high:.3g}{meaning}.")
        elif end == "low" and report.name == "noise":
            notes.append(f"noise is at its low bound {report.low:.3g}: the data have no noise, or the model overfits.")
        else:
            bound = report.low if end == "low" else report.high
            notes.append(f"{report.name} is at its {end} bound {bound:.3g}; change it with bounds=.")
    for report in reports:
        if report.name.split("__")[-1].startswith("period") and abs(math.log(report.value / report.start)) > PERIOD_MOVED:
            notes.append(
                f"{report.name} moved from {report.start:.4g} to {report.value:.4g}: a search seldom finds another period "
                "than it starts from. Compare with fixed='period', or give another start."
            )
    moved = sum(not report.fixed for report in reports)
    if moved and problem.n * problem.n_targets < 2 * moved and problem.n > 1:
        notes.append(f"{moved} parameters were fitted to {problem.n} rows. Set some with fixed=, or give a prior.")
    return notes


def equal_rows(X: Any) -> tuple[int, int] | None:
    """Return the first two equal rows of dense vectors or of strings, or None."""
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


def task_leave_one_out(tasks: TaskTargets, y: Floats, found: Any) -> GPLeaveOneOut:
    """Return leave-one-out of the known cells, (n, t), NaN in holes."""
    center, scale = tasks.center[tasks.tasks], tasks.scale[tasks.tasks]
    residuals = found.residuals[:, 0]
    return GPLeaveOneOut(
        tasks.table((y - residuals) * scale + center),
        tasks.table(np.sqrt(found.variance) * scale),
        tasks.table(residuals * scale),
        tasks.table(found.log_density[:, 0] - np.log(scale)),
    )


def log_likelihood(
    problem: AnyProblem, parameters: GPParameters, engine: Evaluator, vector: Floats, gradient: bool
) -> tuple[float, Floats | None]:
    """Return the log marginal likelihood without priors at a vector, and its gradient in all entries."""
    kernel, noise = parameters.setting(vector)
    found: Any = engine.evidence(problem, kernel, noise, gradient)
    if not gradient:
        return found.value, None
    slope = found.kernel_gradient
    return found.value, np.append(slope, found.noise_gradient) if parameters.noise_is_parameter else slope
