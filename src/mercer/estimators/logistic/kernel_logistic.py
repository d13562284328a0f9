"""Kernel logistic regression: class probabilities from a likelihood, for vectors, strings, graphs and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice, check_number, check_whole, warn
from mercer.estimators.base import DEFAULT_KERNEL, DualModel, TrainingSet
from mercer.estimators.logistic.fitting import (
    ClassRows,
    LogisticData,
    LogisticFit,
    accuracy_rows,
    fit_exact,
    log_loss_rows,
    logistic_surface,
    probabilities,
)
from mercer.estimators.logistic.landmarks import BLOCK_ROWS, ChunkClasses, fit_chunks, fit_landmarks, sample_size
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin, by_refits
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.dual_function import DualFunction
from mercer.grams.low_rank import draw_rows, rows_drawn
from mercer.inputs import Rows
from mercer.inputs.chunks import ReadTargets
from mercer.inputs.labels import read_chunk_labels, read_labels
from mercer.linalg.logistic import BLOCK_NUMBERS
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator
from mercer.selection.surface import Surface, choose_point, cost_axis, length_scale_paths, read_grid, read_splits, tabulate

#: Up to this many rows "auto" is exact: with two classes, and with more, whose Newton step needs a factor per class.
EXACT_ROWS, EXACT_ROWS_OF_MANY = 4000, 1500

#: Landmarks, if their number is not given.
LANDMARKS = 1000

#: Newton steps of a typical fit, for time estimates.
STEPS = 8

#: A surface is computed on at most this many rows, with two classes and with more; larger data are sampled by seed.
SURFACE_ROWS, SURFACE_ROWS_OF_MANY = 2000, 500

#: Evaluations of the slopes over all rows in a typical fit on landmarks, each one pass over chunks.
SLOPES = 12

SOLVERS = ("auto", "exact", "nystroem")

PLAIN = "KernelLogisticRegression"

SCORES = {"neg_log_loss": log_loss_rows, "accuracy": accuracy_rows}


def _sample_numbers(n: int, m: int, k: int) -> int:
    """Return how many numbers the sample's features and second derivatives hold."""
    return 2 * sample_size(n, m) * m + 3 * m * m * (k if k * m * m <= BLOCK_NUMBERS else 1)


def _sample_seconds(n: int, m: int, k: int) -> float:
    return STEPS * 2.0 * sample_size(n, m) * m * m * (1 if k == 1 else 0.2 * k) / gemm_rate()


class LogisticModel(ClassifierMixin, SetMixin, DualModel):
    """Abstract: a fitted kernel logistic regression."""

    _takes_chunks = True

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, *functions(C))",
        "intercept_": "float (*functions(C))",
        "n_iter_": "absent | int",
        "duality_gap_": "absent | real",
        "dual_objective_": "absent | real",
        "primal_objective_": "absent | real",
    }

    C: Any = 1.0
    class_weight: Any
    fit_intercept: bool
    solver: str
    n_components: int | None
    tol: float
    max_iter: int
    random_state: Any

    classes_: Array

    def decision_function(self, X: Any) -> Floats:
        """Return f(x), (n,), positive for the second class; for more than two classes (n, C)."""
        return self._decision(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, (n, C): 1 / (1 + exp(-f)) for two classes, softmax for more."""
        return probabilities(self._decision(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _held_out_classes(self) -> HeldOutClasses:
        """Refits on folds; a coefficient is the class minus its probability, so its sign tells the class of a row."""
        self._refuse_read_in("held-out probabilities")
        if self.route_.solver != "exact":
            return super()._held_out_classes()
        dual = self.dual_coef_
        codes = (dual > 0).astype(np.intp) if dual.ndim == 1 else dual.argmax(axis=1)
        codes = np.where(dual.reshape(len(dual), -1).any(axis=1), codes, -1)  # rows of weight 0
        C = self.__dict__.get("best_C_", self.C)
        again = KernelLogisticRegression(self.kernel_, C=float(C), fit_intercept=self.fit_intercept, solver="exact")
        return by_refits(again, self.X_fit_, codes, self.classes_)

    def predict(self, X: Any) -> Array:
        """Return the most probable class; ties go to the first class."""
        values = self._decision(X)
        return self.classes_[(values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)]

    def _check_parameters(self) -> None:
        what = type(self).__name__
        check_choice(what, "solver", self.solver, SOLVERS)
        check_number(what, "tol", self.tol, "a number > 0", lambda v: v > 0)
        check_whole(what, "max_iter", self.max_iter, 1)
        if self.n_components is not None:
            check_whole(what, "n_components", self.n_components, 1)

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        return shape if y is None else replace(shape, n_targets=max(2, len(np.unique(np.asarray(y)))))

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        n, k = shape.n, 1 if shape.n_targets <= 2 else shape.n_targets
        m = min(n, LANDMARKS if self.n_components is None else int(self.n_components))
        work = float(n) ** 3 * (0.7 if k == 1 else 1.5 * k + 0.7)
        arrays = 4 if k == 1 else k + 6
        exact = Route(
            "exact", 8 * arrays * n * n, STEPS * 2.0 * work / gemm_rate() + float(n) ** 2 / entry_rate(),
            "one Gram matrix; Newton's method factors a matrix of its size per class in every step",
        )  # fmt: skip
        landmarks = Route(
            "nystroem", 8 * (2 * n * m + 8 * n * k + _sample_numbers(n, m, k)), _sample_seconds(n, m, k)
            + SLOPES * 4.0 * n * m * k / gemm_rate() + float(n) * m / entry_rate(),
            f"{m} landmarks: kernel values with all rows, second derivatives of a sample", exact=False,
        )  # fmt: skip
        if self._given_kernel().given or self.solver == "exact":
            return (exact,)
        if self.solver == "nystroem":
            return (landmarks,)
        few = n <= (EXACT_ROWS if k == 1 else EXACT_ROWS_OF_MANY)
        return (exact, landmarks) if few else (landmarks, exact)

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_chunk_labels, type(self).__name__)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        what = type(self).__name__
        if self.solver == "exact":
            raise InputError(f"{what}: solver='exact' needs all rows in memory; chunks are fitted by 'nystroem'.")
        if rows.once:
            raise InputError(f"{what} reads the chunks several times, and an iterator is read once; give a function.")
        n, k, width = shape.n, max(1, shape.n_targets), shape.width
        m = min(n, LANDMARKS if self.n_components is None else int(self.n_components))
        most = max(rows.lengths or (1,))
        drawn = max(rows_drawn(n, m), sample_size(n, m))
        needed = 16 * most * width + 8 * (drawn * (m + width) + _sample_numbers(n, m, k) + 2 * min(most, BLOCK_ROWS) * m)
        seconds = SLOPES * n * (float(m) / entry_rate() + 2.0 * m * (width + 2 * k) / gemm_rate()) + _sample_seconds(n, m, k)
        passes = rows.passes_before(self._given_kernel()) + 3 + SLOPES + 2
        reason = f"{m} landmarks, {len(rows.lengths or ())} chunks; more than two classes take some 30 passes more"
        return (Route("nystroem", needed, seconds, reason, False, passes),)

    def _fitted(self, data: TrainingSet, labels: Any, kernel: Any, C: float, route: Route) -> LogisticFit:
        settings: dict[str, Any] = {"intercept": self.fit_intercept, "tol": self.tol, "max_iter": self.max_iter}
        if route.solver == "exact":
            return fit_exact(kernel, data.X, labels, C, **settings)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        most = LANDMARKS if self.n_components is None else int(self.n_components)
        if data.chunked:
            return fit_chunks(kernel, data.X, labels, C, min(data.n, most), rng, **settings)
        return fit_landmarks(kernel, data.X, labels, C, min(len(labels.used), most), rng, **settings)

    def _labels(self, data: TrainingSet) -> ClassRows | ChunkClasses:
        """Return the classes and weights of the rows; a pass finds those of chunks."""
        what = type(self).__name__
        if data.chunked:
            return ChunkClasses.of(what, data.X, self.class_weight)
        return ClassRows.of(what, data, self.class_weight)

    def _keep(self, found: LogisticFit) -> None:
        function = found.function
        self.classes_, self.X_fit_ = found.classes, function.X
        single = function.dual.shape[1] == 1
        self.dual_coef_ = np.ascontiguousarray(function.dual[:, 0]) if single else function.dual
        self.intercept_ = float(function.intercept[0]) if single else function.intercept
        self.n_iter_ = found.n_iter
        self.primal_objective_, self.dual_objective_ = found.primal, found.dual_objective
        self.duality_gap_ = found.primal - found.dual_objective
        if not found.converged:
            warn(
                f"{type(self).__name__}: the solver ended early: {found.message}. The objective is within "
                f"{self.duality_gap_:.3g} of its minimum. Raise max_iter, or scale the columns.",
                ConvergenceWarning,
            )

    def with_coefficients(self, function: DualFunction, columns: int, names: Any, classes: Array) -> Any:
        """Set the fitted attributes from an expansion that scikit-learn computed, and return self."""
        self._begin_read_in(function.kernel, columns, names)
        self.classes_, self.X_fit_ = classes, function.X
        self.dual_coef_, self.intercept_ = np.asarray(function.dual, dtype=np.float64), function.intercept
        return self

    def _summary(self) -> Summary:
        gap = f"{self.primal_objective_:.8g}, duality gap {self.duality_gap_:.3g}"
        lines = (
            ("kernel", str(self.kernel_)),
            ("classes", ", ".join(str(name) for name in self.classes_)),
            ("objective", gap),
            ("Newton steps", str(self.n_iter_)),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
        )
        numbers = {"objective": self.primal_objective_, "gap": self.duality_gap_, "n": len(self.dual_coef_)}
        return Summary(repr(self), lines, numbers)


@estimator
class KernelLogisticRegression(LogisticModel):
    """Minimize sum_i w_i log(1 + exp(-y_i f(x_i))) + ||f||^2 / (2 C), f = sum_i a_i k(x_i, .) + b, b free.

    More than two classes have one function each and softmax probabilities. The probabilities come from the likelihood and
    need no calibration on held-out rows. Newton's method solves the problem; the duality gap is reported.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    C : float, default 1.0
        The inverse of the penalty, as in SVC: larger values fit the training rows more closely.
    fit_intercept : bool, default True
    class_weight : None, "balanced" or dict
        Weights of the classes. "balanced" divides by the weighted number of rows of the class.
    solver : "auto", "exact" or "nystroem"
        "auto" is exact up to 4,000 rows (1,500 for more than two classes), and uses landmarks beyond.
    n_components : int, optional
        Number of landmarks, 1,000 if not given.
    tol, max_iter : float, int
        The fit ends when a Newton step gains less than `tol` times the objective, or after `max_iter` steps.
    random_state : seeds the choice of landmarks.
    memory : bytes or text such as "4 GB", optional
    verbose : bool or None

    Attributes
    ----------
    classes_, dual_coef_ ((m,) or (m, C)), intercept_, X_fit_ (the rows of the expansion), primal_objective_,
    dual_objective_, duality_gap_, n_iter_, kernel_, route_.

    >>> import numpy as np
    >>> from mercer import Gaussian, KernelLogisticRegression
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelLogisticRegression(Gaussian(1.0), C=10.0).fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [4.6]]).tolist(), bool(model.duality_gap_ < 1e-6)
    (['a', 'b'], True)
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        n_components: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = 0,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit to rows X with class labels y; a weight of 2 counts as two copies of the row, 0 leaves it out.

        Rows in chunks (mercer.chunks, Dask collections) have their labels with them, and are fitted on landmarks.
        """
        fitted: KernelLogisticRegression = self._fit(X, y, sample_weight)
        return fitted

    def _check_parameters(self) -> None:
        check_number(type(self).__name__, "C", self.C, "a finite number > 0", lambda v: 0 < v < float("inf"))
        super()._check_parameters()

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> LogisticFit:
        return self._fitted(data, self._labels(data), data.kernel, float(self.C), route)

    def _store(self, data: TrainingSet, solution: LogisticFit) -> None:
        self._keep(solution)


@dataclass(frozen=True)
class ChosenLogistic:
    """A surface, the point chosen on it, and the fit there on all rows."""

    surface: Surface
    index: tuple[int, int]  # (kernel setting, C)
    fit: LogisticFit


@estimator
class KernelLogisticRegressionCV(LogisticModel):
    """Kernel logistic regression with C and kernel parameters chosen by approximate leave-one-out log-loss.

    At the optimum the quadratic approximation of the objective gives every row's prediction without that row in closed
    form, so a point of the surface costs one fit. With cv= the points are scored by refits on splits.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    Cs : sequence of floats, optional
    length_scales : sequence of floats, optional
        Replace the single length scale of the kernel; for several, use param_grid={"0__length_scale": […], …}.
    param_grid : dict of parameter name to values, optional
        Any kernel parameters, by the names of kernel.get_params(), all combinations.
    cv : None (approximate leave-one-out), int, splitter or splits
    scoring : "neg_log_loss" (also None) or "accuracy"
    rule : "best" or "one_standard_error"
        The second takes the smallest C whose score is within one standard error of the best.
    fit_intercept, class_weight, solver, n_components, tol, max_iter, random_state, memory, verbose : as in
        KernelLogisticRegression. The surface is computed on at most 2,000 rows (500 for more than two classes).

    Attributes
    ----------
    best_C_, best_length_scale_, best_params_, best_score_, best_index_ (kernel setting, C), cv_results_, surface_, and all
    of KernelLogisticRegression, fitted on all rows with the chosen values.

    >>> import numpy as np
    >>> from mercer import KernelLogisticRegressionCV
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> model = KernelLogisticRegressionCV(Cs=[1.0, 10.0], length_scales=[2.0, 1.0]).fit(X, (X**2).sum(axis=1) > 1.4)
    >>> len(model.cv_results_["mean_test_score"]), bool(model.best_score_ > -0.4)
    (4, True)
    """

    _stored: ClassVar[dict[str, str]] = {
        "surface_": "absent | a Surface",
        "best_C_": "absent | float > 0",
        "best_index_": "absent | each _: int | array",
        "best_params_": "absent | a dict",
        "best_length_scale_": "absent | None | real | array | each _: real",
        "best_score_": "absent | real | array",
        "cv_results_": "absent | a dict",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        Cs: Sequence[float] | None = None,
        length_scales: Sequence[float] | None = None,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        cv: Any = None,
        scoring: str | None = None,
        rule: str = "best",
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        n_components: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = 0,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.length_scales = length_scales
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> KernelLogisticRegressionCV:
        """Compute the surface, choose its best point, and fit on all rows; scores are weighted by sample_weight."""
        fitted: KernelLogisticRegressionCV = self._fit(X, y, sample_weight, groups=groups)
        return fitted

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(type(self).__name__, "rule", self.rule, ("best", "one_standard_error"))
        if self.scoring is not None:
            check_choice(type(self).__name__, "scoring", self.scoring, SCORES)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> ChosenLogistic:
        labels = self._labels(data)
        if isinstance(labels, ClassRows):
            found = self._explore(data, labels, meter)
        else:
            sample = self._sampled(data, len(labels.classes))
            found = self._explore(sample, ClassRows.of(type(self).__name__, sample, self.class_weight), meter)
            found = replace(found, how=f"{found.how}, on {sample.n} of {data.n} rows")
        row, column = choose_point(found, self.rule)
        fit = self._fitted(data, labels, found.kernels[row], float(found.Cs[column]), route)
        return ChosenLogistic(found, (row, column), fit)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return tuple(self._with_surface(route, shape) for route in super()._routes(shape))

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        return tuple(self._with_surface(route, shape) for route in super()._chunk_routes(shape, rows))

    def _with_surface(self, route: Route, shape: Shape) -> Route:
        """Return the route with the bytes of approximate leave-one-out, if these are more than those of the fit."""
        if self.cv is not None:
            return route
        k = shape.n_targets
        most, arrays = (SURFACE_ROWS, 10) if k <= 2 else (SURFACE_ROWS_OF_MANY, 3 * k + 10)
        n = shape.n if self._given_kernel().given else min(shape.n, most)
        return replace(route, bytes=max(route.bytes, 8 * arrays * n * n))

    def _sampled(self, data: TrainingSet, n_classes: int) -> TrainingSet:
        """Return the rows of chunks on which the surface is computed."""
        what, most = type(self).__name__, SURFACE_ROWS if n_classes == 2 else SURFACE_ROWS_OF_MANY
        if self.cv is not None:
            raise InputError(f"{what} on chunks chooses by approximate leave-one-out on a sample; leave cv=None.")
        drawn = data.X.take(draw_rows(data.X, most, np.random.default_rng(0)))
        sample = TrainingSet(
            drawn.X, drawn.y, drawn.weights, data.kernel, Rows(drawn.X, weights=drawn.weights), {"groups": None}
        )
        if len(np.unique(drawn.y if drawn.weights is None else drawn.y[drawn.weights > 0])) < n_classes:
            raise InputError(f"{what}: a sample of {most} rows lacks one of the {n_classes} classes; give C to {PLAIN}.")
        return sample

    def _explore(self, data: TrainingSet, labels: ClassRows, meter: Meter) -> Surface:
        k = len(labels.classes)
        if self._given_kernel().given and len(labels.used) < data.n:
            raise InputError(f"{type(self).__name__}: leave out rows of weight 0 from precomputed kernel values.")
        splits = read_splits(self.cv, data.X, data.y, data.more["groups"], classifier=True)
        part = LogisticData(data.rows, labels.codes, labels.weights, k, splits)
        most, known = SURFACE_ROWS if k == 2 else SURFACE_ROWS_OF_MANY, labels.used
        sampled = len(known) > most and not self._given_kernel().given
        if sampled:
            part = part.take(np.sort(np.random.default_rng(0).choice(known, most, replace=False)))
            if len(np.unique(part.codes)) < k:
                raise InputError(
                    f"{type(self).__name__}: a sample of {most} rows lacks one of the {k} classes; give more rows of it, or "
                    "choose C with GridSearchCV."
                )
        kernel, name = data.kernel, "neg_log_loss" if self.scoring is None else self.scoring
        axis = cost_axis(self.Cs, kernel, part.rows)

        def evaluate(points: list[dict[str, Any]], part: LogisticData) -> Surface:
            kernels = [kernel.set_params(**params) for params in points]
            return logistic_surface(
                points, kernels, part, axis, name, SCORES[name], intercept=self.fit_intercept, max_iter=self.max_iter,
                step=meter,
            )  # fmt: skip

        found = read_grid(kernel, self.length_scales, self.param_grid).explore(evaluate, part, self.rule)
        return replace(found, how=f"{found.how}, on {most} of {data.n} rows") if sampled else found

    def _store(self, data: TrainingSet, solution: ChosenLogistic) -> None:
        found, (row, column) = solution.surface, solution.index
        self.kernel_ = found.kernels[row]
        self._keep(solution.fit)
        self.surface_, self.best_index_, self.best_C_ = found, (row, column), float(found.Cs[column])
        self.best_params_ = {**found.params[row], "C": self.best_C_}
        scales = [self.kernel_.get_params()[path] for path in length_scale_paths(self.kernel_)]
        self.best_length_scale_ = scales[0] if len(scales) == 1 else None
        self.best_score_ = float(found.scores[row, column])
        self.cv_results_ = tabulate(found)

    def _summary(self) -> Summary:
        facts = super()._summary()
        chosen = f"C = {self.best_C_:.4g}, {self.surface_.scoring} {self.best_score_:.4g}: {self.surface_.how}"
        return Summary(facts.title, (("chosen", chosen), *facts.lines), {**facts.numbers, "best_score": self.best_score_})
