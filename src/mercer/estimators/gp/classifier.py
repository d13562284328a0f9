"""Gaussian process classification by Laplace's approximation: probabilities with the uncertainty of the latent function."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice, check_number, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, DualModel, TrainingSet, check_is_fitted
from mercer.estimators.gp.diagnosis import GPDiagnosis, diagnose_fit, log_likelihood
from mercer.estimators.gp.inducing_classes import ChunkedClasses, InducedClassPosterior, InducingClassEngine
from mercer.estimators.gp.laplace import LaplaceEngine, LatentProblem, check_mode, expected_sigmoid, expected_softmax
from mercer.estimators.gp.problem import EngineSettings, GPParameters, read_parameters
from mercer.estimators.gp.routes import announce, class_chunk_route, class_routes, exact_class_rows
from mercer.estimators.gp.search import Climb, climb
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin, by_refits
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import widened
from mercer.inputs.chunks import ReadTargets
from mercer.inputs.labels import classes_of, encode, read_chunk_labels, read_labels
from mercer.linalg.newton import Mode
from mercer.numeric.memory import parse_bytes
from mercer.planning import Route, Shape
from mercer.registry import estimator

#: A typical variance of the latent function: probabilities then range from about .02 to .98.
UNIT = 4.0


SOLVERS = ("auto", "exact", "inducing")

#: Log-loss is compared on at most this many training rows.
COMPARED_ROWS = 500

#: A log-loss of training rows above this multiple of the likelihood's, and by more than BLURRED_BY, is reported.
BLURRED, BLURRED_BY = 1.25, 0.02


@dataclass(frozen=True)
class ClassifierFit:
    """Result of a fit."""

    classes: Array
    problem: LatentProblem | ChunkedClasses
    parameters: GPParameters
    climb: Climb
    posterior: Any
    value: float
    notes: tuple[str, ...]


@estimator
class GaussianProcessClassifier(ClassifierMixin, SetMixin, DualModel):
    """Classes from latent functions f ~ GP(0, k): P(y = 1 | f) = 1 / (1 + exp(-f)), softmax for more than two classes.

    The posterior of f is approximated by a normal distribution around its mode (Laplace). Hyper-parameters maximize the
    approximate log marginal likelihood with its exact gradient. Probabilities integrate over the posterior of f, so they
    approach the prior far from the data. Through inducing rows the latent functions are those of their values there, and the
    likelihood counts the variance that these leave out.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
        The search starts at its positive parameters. A kernel without an overall scale gets one, unless nothing is fitted
        or `fixed` names "scale". All classes share the kernel.
    n_restarts : int, default 1
        Further starts: one from the data, the others random. From 400 rows on they are compared on half, at most 400.
    bounds, fixed, priors : as in GaussianProcessRegressor
    optimizer : "bfgs" or None
        None fits no hyper-parameters.
    solver : "auto", "exact" or "inducing"
        "auto" is exact up to 4,000 rows (1,500 for more than two classes) and uses inducing rows beyond, and for chunks.
    n_inducing : int, optional
        By default 512, and fewer for more than four classes.
    tol, max_iter : float, int
        Of the search.
    memory : bytes or text such as "4 GB", optional
    random_state : int, default 0
    verbose : bool or None

    Attributes
    ----------
    classes_, kernel_, theta_ (logarithms, in the order of theta_names_), log_marginal_likelihood_value_ (without priors),
    dual_coef_, X_fit_, route_, n_iter_; diagnosis_ reports how the fit went.

    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessClassifier
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> gp = GaussianProcessClassifier(4.0 * Gaussian(1.5), optimizer=None).fit(X, X[:, 0] > 3)
    >>> gp.predict([[0.5], [6.5]]).tolist(), round(float(gp.predict_proba([[100.0]])[0, 1]), 6)
    ([False, True], 0.5)
    """

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows n d",
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, *functions(C))",
        "intercept_": "absent | real",
        "theta_": "float (p,)",
        "theta_names_": "absent | each p: text",
        "_parameters": "a GPParameters",
        "_parameters.start": "real (p,)",
        "_posterior": "a LaplacePosterior, SoftmaxPosterior, InducedClassPosterior",
        "_posterior.X": "absent | rows n d",
        "_posterior.dual": "absent | float (n, *functions(C))",
        "_posterior.function.X": "absent | rows n d",
        "_codes": "absent | int (n,) codes C",
        "diagnosis_": "absent | a GPDiagnosis",
        "log_marginal_likelihood_value_": "absent | real",
        "n_iter_": "absent | int",
    }

    _takes_chunks = True

    diagnosis_: GPDiagnosis
    classes_: Array
    _posterior: Any
    _parameters: GPParameters

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        n_restarts: int = 1,
        bounds: Any = None,
        fixed: Any = (),
        priors: Any = "weak",
        optimizer: str | None = "bfgs",
        solver: str = "auto",
        n_inducing: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_restarts = n_restarts
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.optimizer = optimizer
        self.solver = solver
        self.n_inducing = n_inducing
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> GaussianProcessClassifier:
        """Fit to rows X with class labels y.

        Rows in chunks (mercer.chunks, Dask collections) have their labels with them and are fitted through inducing rows.
        """
        fitted: GaussianProcessClassifier = self._fit(X, y)
        return fitted

    # -- predictions -------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, (m, C), integrated over the posterior of the latent functions."""
        check_is_fitted(self)
        return _integrated(*self._posterior.latent(self._read(X, reset=False)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class; ties go to the first class."""
        check_is_fitted(self)
        if len(self.classes_) == 2:  # the probability is above 1/2 where the latent mean is positive
            return self.classes_[(self._posterior.mean(self._read(X, reset=False)) > 0).astype(np.intp)]
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _held_out_classes(self) -> HeldOutClasses:
        if isinstance(self._posterior, InducedClassPosterior):
            return super()._held_out_classes()
        fixed = clone(self).set_params(kernel=self.kernel_, optimizer=None)
        return by_refits(fixed, self.X_fit_, self._codes, self.classes_)

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the latent functions, (m,) for two classes and (m, C) for more."""
        check_is_fitted(self)
        mean, spread = self._posterior.latent(self._read(X, reset=False))
        return mean, spread if mean.ndim == 1 else np.einsum("icc->ic", spread).copy()

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Return Laplace's log marginal likelihood at theta (default: `theta_`), without priors, and its gradient.

        theta holds logarithms in the order of `theta_names_`.
        """
        check_is_fitted(self)
        vector = self.theta_ if theta is None else np.asarray(theta, dtype=np.float64)
        if vector.shape != self.theta_.shape:
            raise InputError(f"theta has shape {vector.shape}; it must have the {len(self.theta_)} entries of theta_names_.")
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if isinstance(self._posterior, InducedClassPosterior):
            raise InputError(
                "log_marginal_likelihood at another theta, or its gradient, needs the rows, which a fit through inducing "
                'rows does not keep. Fit with solver="exact", or with optimizer=None and the kernel in question.'
            )
        problem = LatentProblem(self.X_fit_, self._codes, "classes", len(self.classes_), unit=UNIT, intercept=False)
        value, gradient = log_likelihood(problem, self._parameters, LaplaceEngine(), vector, eval_gradient)
        return (value, gradient) if eval_gradient else value

    # -- the fit -----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        what = type(self).__name__
        if self.optimizer is not None:
            check_choice(what, "optimizer", self.optimizer, ("bfgs",))
        check_choice(what, "solver", self.solver, SOLVERS)
        if self.n_inducing is not None:
            check_whole(what, "n_inducing", self.n_inducing, 1)
        check_whole(what, "n_restarts", self.n_restarts, 0)
        check_whole(what, "max_iter", self.max_iter, 0)
        check_number(what, "tol", self.tol, "a number > 0", lambda v: v > 0)

    def _read(self, X: Any, reset: bool) -> Any:
        return widened(super()._read(X, reset))

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> ClassifierFit:
        what = type(self).__name__
        problem: LatentProblem | ChunkedClasses
        if data.chunked:
            problem = ChunkedClasses.of(what, data.X, UNIT)
            classes = problem.classes
        else:
            classes = classes_of(what, data.y)
            codes = encode(what, data.y, classes)
            problem = LatentProblem(data.X, codes, "classes", len(classes), unit=UNIT, intercept=False)
        fit = self.optimizer is not None
        parameters = read_parameters(
            data.kernel, problem.starting_rows(fit), UNIT, noise=None, fit=fit, bounds=self.bounds, fixed=self.fixed,
            priors=self.priors, extras={},
        )  # fmt: skip
        induced = route.solver == "inducing"
        engine: Any = InducingClassEngine(self._settings(), len(classes)) if induced else LaplaceEngine()
        found = climb(
            problem, parameters, engine, n_restarts=self.n_restarts, seed=self.random_state or 0, tol=self.tol,
            max_iter=self.max_iter, meter=meter, parts=lambda: LaplaceEngine(of=problem.n),
        )  # fmt: skip
        posterior, mode = engine.posterior(problem, *parameters.setting(found.vector))
        notes = (*check_mode(what, mode), *_blurred(problem, posterior, mode, engine.spread))
        return ClassifierFit(classes, problem, parameters, found, posterior, mode.evidence, notes)

    def _store(self, data: TrainingSet, solution: ClassifierFit) -> None:
        self.classes_, self._posterior, self._parameters = solution.classes, solution.posterior, solution.parameters
        self.__dict__.pop("_codes", None)  # of a fit before
        if isinstance(solution.problem, LatentProblem) and not isinstance(self._posterior, InducedClassPosterior):
            self._codes = solution.problem.y
        if data.chunked:
            self.route_ = replace(self.route_, passes=data.X.passes)  # the number of passes that the search made
        self.kernel_, self.X_fit_ = solution.posterior.kernel, solution.posterior.X
        self.dual_coef_, self.intercept_ = solution.posterior.dual, 0.0
        self.theta_, self.theta_names_ = solution.climb.vector, list(solution.parameters.names)
        self.n_iter_ = max(1, solution.climb.n_iter)  # fixed parameters are evaluated once
        self.log_marginal_likelihood_value_ = solution.value
        found = diagnose_fit(
            solution.problem, solution.parameters, solution.climb, solution.posterior, self.route_, solution.value
        )
        self.diagnosis_ = dataclasses.replace(found, notes=found.notes + solution.notes)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        return shape if y is None else replace(shape, n_targets=max(2, len(np.unique(np.asarray(y)))))

    def _settings(self) -> EngineSettings:
        return EngineSettings(self.n_inducing, None, self.random_state or 0, parse_bytes(self.memory))

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return class_routes(shape, self.solver, self._settings(), self._given_kernel().given)

    def _choose_route(self, data: TrainingSet) -> Route:
        route, what = super()._choose_route(data), type(self).__name__
        n_classes = 2 if data.chunked else max(2, len(np.unique(data.y)))
        announce(route, self.solver, data.n, data.chunked, what=what, most=exact_class_rows(n_classes))
        return route

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_chunk_labels, type(self).__name__)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        what = type(self).__name__
        if rows.weighted:
            raise InputError(f"{what} does not use weights of chunks; use KernelLogisticRegression.")
        before, fit = rows.passes_before(self._given_kernel()), self.optimizer is not None
        return (class_chunk_route(rows, shape.width, self.solver, self._settings(), before, fit, self.max_iter),)

    def _summary(self) -> Summary:
        d = self.diagnosis_
        lines = [
            ("kernel", str(self.kernel_)),
            ("classes", ", ".join(str(name) for name in self.classes_)),
            ("log marginal likelihood", f"{self.log_marginal_likelihood_value_:.6g} (Laplace)"),
            ("rows", str(d.rows)),
            ("fit", f"{d.message}; {d.n_evaluations} evaluations on all rows"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            *[("note", note) for note in d.notes],
        ]
        numbers = {"log_marginal_likelihood": self.log_marginal_likelihood_value_, "n": d.rows, "notes": len(d.notes)}
        return Summary(repr(self), tuple(lines), numbers)


def _integrated(mean: Floats, spread: Floats) -> Floats:  # (m,), (m,) or (m, C), (m, C, C) -> (m, C)
    if mean.ndim == 2:
        return expected_softmax(mean, spread)
    p = expected_sigmoid(mean, spread)
    return np.column_stack([1.0 - p, p])


def _blurred(problem: LatentProblem | ChunkedClasses, posterior: Any, mode: Any, spread: Floats | None) -> list[str]:
    """Return a note if integrated probabilities of training rows are much worse than the likelihood says.

    The likelihood is the probability of all labels, each predicted from those before it; a training row cannot be predicted
    worse than that. Laplace's normal posterior is too wide where classes are separated and the amplitude is large.
    `spread` are the variances of the latent values of all rows, if they are known.
    """
    rows = np.linspace(0, problem.n - 1, min(COMPARED_ROWS, problem.n)).astype(np.intp)
    part = problem.part(rows)
    if spread is None:
        P = _integrated(*posterior.latent(part.X))
    else:
        latent = mode.f if isinstance(mode, Mode) else mode.F
        P = _integrated(latent[rows], np.maximum(spread[rows], 0.0) if spread.ndim == 1 else spread[rows])
    loss, stated = -float(np.mean(np.log(P[np.arange(len(rows)), part.y]))), -mode.evidence / problem.n
    if loss <= BLURRED * stated + BLURRED_BY:
        return []
    return [
        f"the probabilities are too near to equal: their log-loss on training rows is {loss:.3g}, and {stated:.3g} by the "
        "likelihood. Laplace's approximation is too wide for classes this well separated; KernelLogisticRegressionCV is not."
    ]
