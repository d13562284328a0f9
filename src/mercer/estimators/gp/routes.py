"""The routes of a Gaussian process: their costs, their order for a shape of data, and their engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.errors import InputError, check_choice, warn
from mercer.estimators.gp import chunked as gp_chunked
from mercer.estimators.gp import fourier as gp_fourier
from mercer.estimators.gp import inducing as gp_inducing
from mercer.estimators.gp import inducing_classes as gp_classes
from mercer.estimators.gp import vecchia as gp_vecchia
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.inducing import BLOCK_ROWS
from mercer.estimators.gp.problem import Engine, EngineSettings
from mercer.estimators.gp.search import SUBSET, steps_up
from mercer.estimators.gp.tasks import KroneckerEngine
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.fourier_grid import DENSE, MOST_FREQUENCIES
from mercer.linalg.pivoted_cholesky import ROUND
from mercer.numeric.tiles import SIDE
from mercer.planning import Route, Shape, entry_rate, gemm_rate

#: Up to this many rows "auto" takes the exact route if it fits. It is fixed: a script takes the same route on every machine.
EXACT_ROWS = 10_000

#: With more columns than this even the nearest rows are far away, and inducing rows are used instead.
NEAR_COLUMNS = 10

#: Evaluations with gradient in a typical fit, for time estimates.
EVALUATIONS = 25

#: Evaluations of a climb that starts at the end of one on half of the rows.
NEAR_THE_END = 5

SOLVERS = ("auto", "exact", "inducing", "vecchia", "fourier")


def gp_routes(
    shape: Shape, solver: str, settings: EngineSettings, views: frozenset[str] = frozenset(), given: bool = False
) -> tuple[Route, ...]:
    """Return the routes for data of this shape, best first, for a kernel with these `views` or with `given` values."""
    check_choice("GaussianProcessRegressor", "solver", solver, SOLVERS)
    if solver == "exact" or given:
        return (_exact_route(shape),)
    if solver != "auto":
        ways = {"inducing": _inducing_route, "vecchia": _vecchia_route, "fourier": _fourier_route}
        return (ways[solver](shape, settings),)
    near = shape.width <= NEAR_COLUMNS and "vectors" in views and views <= {"vectors", "any"}
    others = [_vecchia_route(shape, settings)] if near else []
    others.append(_inducing_route(shape, settings))
    exact = _exact_route(shape)
    return (exact, *others) if shape.n <= EXACT_ROWS else (*others, exact)


def chunk_route(
    shape: Shape, rows: ChunkedRows, solver: str, settings: EngineSettings, passes: int, fit: bool, max_iter: int
) -> Route:
    """Return the route for rows in chunks, which uses inducing rows; `passes` is the number of earlier passes."""
    check_choice("GaussianProcessRegressor", "solver", solver, SOLVERS)
    if solver not in ("auto", "inducing"):
        raise InputError(f"GaussianProcessRegressor: solver={solver!r} needs all rows; use 'inducing' for chunks.")
    if rows.once:
        raise InputError("GaussianProcessRegressor reads the chunks several times; give a function, not an iterator.")
    n, m = shape.n, min(shape.n, gp_inducing.INDUCING if settings.n_inducing is None else settings.n_inducing)
    most, way = max(rows.lengths or (1,)), gp_chunked.ChunkedEngine
    passes += 3  # averages, candidates for the inducing rows, and the posterior
    reason = f"a lower bound through {m} inducing rows, {len(rows.lengths or ())} chunks"
    settings_tried = 1
    if fit:
        steps = min(max_iter, way.max_steps)
        parts = 1 + len(steps_up(min(way.part_rows, n), n)) if n >= SUBSET else 0
        settings_tried = way.rounds * (1 + steps)
        # rows for starting values, parts to climb on, two maxima compared; then a value and a gradient for every setting
        passes += 1 + parts + 2 * bool(parts) + 2 * settings_tried
        reason += f"; passes for {way.rounds} climbs of {steps} steps without step halving"
    chosen = 8 * (m + 3 * min(m, ROUND)) * min(n, gp_inducing.CANDIDATES) + 8 * n  # the last term is the draw of candidates
    block = 8 * 5 * min(most, BLOCK_ROWS) * m + 16 * min(most, SIDE) * min(m, SIDE)
    climbed = 8 * 3 * min(n, way.part_rows) ** 2 if fit else 0
    needed = 16 * most * shape.width + max(chosen, climbed, 8 * 10 * m * m + block)
    seconds = 2 * settings_tried * (4.0 * n * m * m / gemm_rate() + 3.0 * n * m / entry_rate())
    return Route("inducing", int(needed), seconds, reason, False, passes)


#: Newton steps in one evaluation of Laplace's approximation, for time estimates.
NEWTON_STEPS = 4


def laplace_route(n: int, n_classes: int = 2) -> Route:
    """Return the route of Laplace's approximation: all rows in one Gram matrix."""
    many = n_classes > 2
    arrays = 3 * n_classes + 1 if many else 3
    work = float(n) ** 3 * (2.0 * n_classes * (NEWTON_STEPS + 2.0) if many else NEWTON_STEPS + 1.0)
    reason = "Laplace's approximation on one Gram matrix; every Newton step factors a matrix of its size"
    return Route("laplace", 8 * arrays * n * n, EVALUATIONS * work / gemm_rate(), reason)


#: Up to this many rows the classifier is exact under "auto": with two classes, and with more.
EXACT_CLASS_ROWS, EXACT_ROWS_OF_MANY = 4000, 1500


def class_routes(shape: Shape, solver: str, settings: EngineSettings, given: bool) -> tuple[Route, ...]:
    """Return the routes of a classifier, best first; n_targets is the number of classes."""
    exact = laplace_route(shape.n, shape.n_targets)
    if solver == "exact" or given:
        return (exact,)
    induced = class_route(shape.n, shape.n, shape.width, shape.n_targets, settings)
    if solver == "inducing":
        return (induced,)
    return (exact, induced) if shape.n <= exact_class_rows(shape.n_targets) else (induced, exact)


def exact_class_rows(n_classes: int) -> int:
    """Return up to how many rows "auto" is exact."""
    return EXACT_CLASS_ROWS if n_classes <= 2 else EXACT_ROWS_OF_MANY


def class_route(n: int, held: int, width: int, n_classes: int, settings: EngineSettings) -> Route:
    """Return the route of a classifier through inducing rows, with the features of `held` rows in memory at a time."""
    m, functions = gp_classes.inducing_number(settings.n_inducing, n_classes, n), 1 if n_classes <= 2 else n_classes
    unknowns, part = m * functions, gp_classes.part_rows(n_classes)
    chosen = 8 * (m + 3 * min(m, ROUND)) * min(n, gp_inducing.CANDIDATES)
    block = 8 * min(held, BLOCK_ROWS) * (3 * unknowns + 4 * m)
    climbed = 8 * (3 if functions == 1 else 3 * n_classes + 1) * min(n, part) ** 2  # exactly, on a part
    needed = max(chosen, climbed, 8 * (held * m + 7 * unknowns**2) + block) + 8 * held * 4 * width
    work = (NEWTON_STEPS + 4.0) * n * float(unknowns) ** 2 + 3.0 * NEWTON_STEPS * float(unknowns) ** 3 / 3.0
    seconds = EVALUATIONS * (work / gemm_rate() + float(n) * m / entry_rate())
    reason = f"{m} inducing rows, {unknowns} unknowns: n m^2 per Newton step"
    return Route("inducing", int(needed), seconds, reason, exact=False)


def class_chunk_route(
    rows: ChunkedRows, width: int, solver: str, settings: EngineSettings, passes: int, fit: bool, max_iter: int
) -> Route:
    """Return the route of a classifier for rows in chunks; `passes` is the number of earlier passes."""
    what = "GaussianProcessClassifier"
    if solver == "exact":
        raise InputError(f"{what}: solver='exact' needs all rows; use 'inducing' for chunks.")
    if rows.once:
        raise InputError(f"{what} reads the chunks several times; give a function, not an iterator.")
    classes = max(2, len(np.unique(rows.head.y)))
    found = class_route(rows.n, max(rows.lengths or (1,)), width, classes, settings)
    tried = 1
    if fit:
        tried = gp_classes.InducingClassEngine.rounds * (1 + min(max_iter, gp_classes.InducingClassEngine.max_steps))
    passes += 3 + (tried + 1) * (NEWTON_STEPS + 2)  # classes, rows for starts, candidates; steps and gradient per setting
    reason = f"{found.reason}; {len(rows.lengths or ())} chunks, a pass per Newton step and two per gradient"
    return replace(found, reason=reason, passes=passes)


def task_routes(shape: Shape, solver: str, settings: EngineSettings, product: bool) -> tuple[Route, ...]:
    """Return the routes for targets read by cells; a `product` of tasks and rows without holes is a Kronecker product."""
    n, t, cells = shape.n, shape.n_targets, shape.n_cells or 0
    stacked = replace(shape, n=cells, n_targets=1, n_cells=None, width=shape.width + 1)
    others = gp_routes(stacked, solver, settings, frozenset({"table"}))
    if solver != "auto" or not product or cells < n * t:
        return others
    needed = 8 * (4 * n * n + 4 * n * t * (t + 2))
    reason = f"{n} rows with all {t} tasks: one eigendecomposition of rows and one of tasks for every setting"
    return (Route("kronecker", needed, EVALUATIONS * 10.0 * float(n) ** 3 / gemm_rate(), reason), *others)


def engine(solver: str, settings: EngineSettings, chunked: bool = False, n_tasks: int = 0) -> Engine:
    """Return the engine of a route."""
    if solver == "kronecker":
        return KroneckerEngine(n_tasks, settings)
    if chunked:
        return gp_chunked.ChunkedEngine(settings)
    if solver == "inducing":
        return gp_inducing.InducingEngine(settings)
    if solver == "fourier":
        return gp_fourier.FourierEngine(settings)
    return gp_vecchia.VecchiaEngine(settings) if solver == "vecchia" else ExactEngine(settings)


def announce(
    route: Route,
    solver: str,
    n: int,
    chunked: bool = False,
    *,
    what: str = "GaussianProcessRegressor",
    most: int | None = None,
) -> None:
    """Warn if "auto" left the exact route because of chunks or of the number of rows; `choose_route` warns about memory."""
    most = EXACT_ROWS if most is None else most
    if solver == "auto" and chunked:
        warn(
            f"{what}: the rows come in chunks, therefore solver='inducing' is used, which is not exact. "
            "Set solver='inducing' to silence this warning.",
        )
        return
    if solver == "auto" and n > most and not route.exact:
        warn(
            f"{what}: {n:,} rows are more than {most:,}, therefore solver={route.solver!r} is used, "
            'which is not exact. Set solver="exact" for the exact route, or name the solver to silence this warning.',
        )


def _exact_route(shape: Shape) -> Route:
    n = float(shape.n)
    needed = int(8 * n * n + 8 * n * (4 * shape.width + 4 * shape.n_targets + 1024))
    seconds = EVALUATIONS * (2.0 * n**3 / gemm_rate() + 4e-8 * n * n)
    return Route("exact", needed, seconds, "one Gram matrix, factored in place for every setting; the factor is kept")


def _inducing_route(shape: Shape, settings: EngineSettings) -> Route:
    n = shape.n
    m = min(n, gp_inducing.INDUCING if settings.n_inducing is None else settings.n_inducing)
    kept = 8 * n * m if 8 * n * m <= gp_inducing.KEEP * settings.memory else 0
    chosen = 8 * (m + 3 * min(m, ROUND)) * min(n, gp_inducing.CANDIDATES)  # the factor and the candidates
    tiles = 16 * min(n, SIDE) * min(m, SIDE)
    climbed = kept + 8 * (4 * m * m + 3 * min(n, BLOCK_ROWS) * m)  # after the rows were chosen
    needed = max(chosen, climbed) + 8 * n * (6 * shape.width + 4 * shape.n_targets) + tiles
    seconds = 2 * EVALUATIONS * (4.0 * n * m * m / gemm_rate() + 3.0 * n * m / entry_rate())
    return Route("inducing", needed, seconds, f"a lower bound through {m} inducing rows, n m^2 per setting", exact=False)


def _vecchia_route(shape: Shape, settings: EngineSettings) -> Route:
    n = shape.n
    k = min(n, gp_vecchia.NEIGHBORS if settings.n_neighbors is None else settings.n_neighbors)
    parts, side = -(-n // max(1, k // 3)), k + max(1, k // 3)
    factors = 8 * parts * side * side
    kept = factors if factors <= gp_vecchia.KEEP * settings.memory else 0
    first = 8 * min(n, gp_vecchia.VecchiaEngine.part_rows) ** 2  # the exact climb on some rows
    needed = first + kept + 8 * (2 * parts * side + 16 * side * side + n * (8 * shape.width + 4 * shape.n_targets))
    seconds = 2 * EVALUATIONS * parts * (3.0 * side**3 / gemm_rate() + 3.0 * side * side / entry_rate())
    return Route("vecchia", needed, seconds, f"blocks given their {k} nearest earlier rows, n k^2 per setting", exact=False)


def _fourier_route(shape: Shape, settings: EngineSettings) -> Route:
    n, M, columns = shape.n, shape.n_frequencies or MOST_FREQUENCIES, shape.n_targets + 2
    padded = 16 * M * 2**shape.width
    needed = 6 * padded + 16 * M * (12 + 5 * columns) + 8 * n * (4 * columns + 3 * shape.width)
    if M <= DENSE:
        needed += 16 * 4 * M * M
    steps = EVALUATIONS * (40.0 * (gp_fourier.PROBES + columns))
    work = float(M) ** 3 * EVALUATIONS if M <= DENSE else steps * padded / 16 * 5.0 * float(np.log2(padded))
    reason = f"{M} frequencies on a grid: two transforms of the rows, and a search whose cost does not depend on them"
    # the exact climb on the largest part starts near its end, because it continues one on smaller parts
    part = NEAR_THE_END * 2.0 * float(min(n, gp_fourier.FourierEngine.part_rows)) ** 3
    seconds = (8.0 * work + part) / gemm_rate() + 4e-7 * n * columns
    return Route("fourier", int(needed), seconds, reason, exact=False)
