"""The base of all estimators: reading of input, the steps of a fit, the choice of a route, the summary.

A family writes its problem and its solver. What every fit has in common happens in `KernelEstimator._fit`, in this order:
check the parameters, read the rows, the targets and the weights, put numbers into the kernel, choose the route, solve under
a progress meter, store. Nothing is stored before the solver has returned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted as refuse_unfitted
from sklearn.utils.validation import validate_data

from mercer.arrays import Floats
from mercer.errors import (
    ArgumentError,
    CapabilityError,
    InputError,
    MemoryBudgetError,
    MercerError,
    MissingPartError,
    describe,
    plural,
)
from mercer.estimators.lazy import answer_lazily
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams.chunks.rows import ChunkedRows, resolved
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, columns_of, count, is_float32, looks_like_vectors, take
from mercer.inputs.chunks import Chunks, ReadTargets, as_chunks
from mercer.inputs.targets import read_targets
from mercer.inputs.vectors import is_plain, refuse_cells, refuse_rounding, refuse_text
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.numeric.memory import available_bytes, format_bytes, parse_bytes
from mercer.numeric.threads import one_blas_thread
from mercer.planning import Route, Shape, choose_route

#: Up to this many rows a fit keeps BLAS to one thread.
FEW_ROWS = 512

#: The route of models whose coefficients scikit-learn computed.
READ_IN = Route("read-in", 0, 0.0, "coefficients of a fitted scikit-learn model")

#: The default kernel: a Gaussian whose width is the median distance of the training rows.
DEFAULT_KERNEL = Gaussian("median")

Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole_or_nothing(fit: Fit) -> Fit:
    """Make a `fit` that fails or is interrupted leave the estimator as it was."""

    @functools.wraps(fit)
    def guarded(self: Any, *arguments: Any, **keywords: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return fit(self, *arguments, **keywords)
        except BaseException as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            if isinstance(error, MemoryError) and not isinstance(error, MercerError):
                raise _out_of_memory(self, error) from error
            raise

    return guarded  # type: ignore[return-value]


def _out_of_memory(model: Any, error: MemoryError) -> MemoryBudgetError:
    free = available_bytes()
    left = "" if free is None else f" with {format_bytes(free)} left"
    return MemoryBudgetError(
        f"{type(model).__name__}: the memory of this process ended during the fit{left} ({error}). Give it a smaller "
        "memory=, fit on fewer rows, or use float32 data."
    )


def _blas_for(n: int) -> AbstractContextManager[None]:
    """BLAS with one thread for few rows: waking the others takes longer than their part of the work."""
    return one_blas_thread() if n <= FEW_ROWS else nullcontext()


def check_is_fitted(model: KernelEstimator) -> None:
    """Refuse a model without a fit as scikit-learn does; a fitted one passes without its tags being made."""
    if not model.__sklearn_is_fitted__():
        refuse_unfitted(model)


@dataclass(frozen=True)
class TrainingSet:
    """The input of a fit: rows in the form the kernel takes, targets, weights, and the kernel with its numbers.

    X is a collection in memory or `ChunkedRows`. Chunks bring their targets and weights with them; y then has the shape of
    the targets without rows.
    """

    X: Any
    y: Any  # what the family's _read_y returned
    weights: Floats | None  # (n,)
    kernel: Kernel
    rows: Any  # Rows of X with what kernels have computed of it, shared by all that evaluate kernels during the fit
    more: Mapping[str, Any] = field(default_factory=dict)  # further arguments of fit, such as groups
    source: ChunkedRows | None = None  # the chunks, if the rows are in memory too because the model keeps them

    @property
    def n(self) -> int:
        """Number of rows."""
        return count(self.X)

    @property
    def chunked(self) -> bool:
        """Whether the rows come in chunks."""
        return isinstance(self.X, ChunkedRows)

    @property
    def factors(self) -> Any:
        """The rows for products with the kernel matrix, in chunks if they were given in chunks."""
        return self.X if self.source is None else self.source

    @property
    def counted(self) -> Floats:  # (n,)
        """The weights; ones if none were given."""
        return np.ones(self.n) if self.weights is None else self.weights

    def gathered(self) -> TrainingSet:
        """Return the same data with the rows of all chunks in memory; products still go by chunks."""
        chunks: ChunkedRows = self.X
        if chunks.once:
            raise InputError("this fit goes through the rows several times, and an iterator is read once; give a function.")
        whole = chunks.gathered()
        return replace(self, X=whole.X, y=whole.y, weights=whole.weights, rows=Rows(whole.X), source=chunks)


#: Parameters of scikit-learn's estimators that have another name or form here.
ELSEWHERE = {
    "gamma": "the width is the kernel's own, kernel=Gaussian.from_gamma({value!r})",
    "degree": "it is the kernel's own, kernel=Polynomial(degree={value!r})",
    "coef0": "it is the kernel's own, kernel=Polynomial(degree=3, offset={value!r}) or Tanh(1.0, offset={value!r})",
    "kernel_params": "they are the kernel's own fields",
    "probability": "predict_proba is always there, and agrees with predict",
    "shrinking": "the solver decides by itself",
    "cache_size": "the budget of a fit is memory=, such as memory='4 GB'",
    "n_restarts_optimizer": "it is n_restarts here",
    "n_jobs": "all cores are used",
}


def _advice(owner: str, name: str, value: Any) -> str:
    hint = ELSEWHERE.get(name)
    what = f": {hint.format(value=value)}" if hint else ""
    return (
        f"{owner} has no parameter {name!r}{what}. mercer.from_sklearn(estimator) translates a whole estimator of "
        "scikit-learn's."
    )


@cache
def _parameters(cls: Hashable) -> frozenset[str]:
    return frozenset(signature(cls.__init__).parameters)  # type: ignore[misc]


def refuse_positions(cls: Any, given: int) -> None:
    """Raise if a class gets more arguments by position than it takes."""
    known = list(signature(cls.__init__).parameters.values())[1:]
    positional = [one.name for one in known if one.kind is one.POSITIONAL_OR_KEYWORD]
    if given > len(positional):
        others = [one.name for one in known if one.kind is one.KEYWORD_ONLY]
        raise ArgumentError(
            f"{cls.__name__} takes {plural(len(positional), 'positional argument')}, got {given}; give the others by name, "
            f"as in {cls.__name__}({', '.join([*positional, f'{others[0]}=…'])})."
        )


def check_shared_parameters(estimator: Any) -> None:
    """Raise if a shared parameter of an estimator has a type that its fit cannot use."""
    given = vars(estimator)
    for name, (holds, rule) in _RULES.items():
        if name in given and not (holds(given[name]) or given[name] is _default(type(estimator), name)):
            raise InputError(f"{type(estimator).__name__}: {name} must be {rule}; got {describe(given[name])}.")
    if "memory" in given:
        parse_bytes(given["memory"])


def _default(kind: Any, name: str) -> Any:
    """The default of a parameter, which its class knows how to read."""
    return signature(kind).parameters[name].default


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))


def _is_verbosity(value: Any) -> bool:
    return value is None or isinstance(value, bool | np.bool_ | int | np.integer)


def _is_seed(value: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return all(map(_is_seed, value))
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and int(value) >= 0
    return value is None or isinstance(value, np.random.RandomState | np.random.Generator | np.random.SeedSequence)


def _is_listed(values: Any) -> bool:
    """Whether values are a list, a tuple, an array or another sized collection; a text is not."""
    several = isinstance(values, Collection) and not isinstance(values, str | bytes | Mapping)
    return several and np.ndim(values) > 0


def _is_grid(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(map(_is_listed, value.values())))


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fit_intercept": (_is_flag, "True or False"),
    "verbose": (_is_verbosity, "None, True or False"),
    "length_scales": (lambda value: value is None or _is_listed(value), "None or a list of finite numbers > 0"),
    "param_grid": (_is_grid, "None or a dict of names of kernel.get_params() with a list of values each"),
    "random_state": (_is_seed, "None, a whole number >= 0, or a generator of NumPy"),
}


class KernelEstimator(BaseEstimator):
    """Abstract: an estimator with a `kernel` parameter, on vectors, strings, graphs or tables.

    A family implements the reading of its targets (`_read_y`), its routes (`_routes`), its solver (`_solve`), its fitted
    attributes (`_store`) and its summary (`_summary`).
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "route_": "a Route",
        "n_features_in_": "absent | size d",
        "feature_names_in_": "absent | labels (d,)",
    }

    kernel: Any
    memory: Any = None
    verbose: bool | None = None

    kernel_: Kernel
    X_fit_: Any
    route_: Route
    _takes_chunks = False  # whether rows may come in chunks
    _gathers_chunks = False  # whether the model is an expansion on all rows, so that those of chunks are kept
    _keeps_rows = True  # prediction needs the training rows; False where a family keeps some of them in its own way

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        """Raise for parameters that do not exist, with advice what to write, before __init__ raises a TypeError."""
        if len(arguments) > 1:
            refuse_positions(cls, len(arguments))
        unknown = keywords.keys() - _parameters(cls)  # type: ignore[arg-type]
        if unknown:
            name = next(name for name in keywords if name in unknown)
            raise ArgumentError(_advice(cls.__name__, name, keywords[name]))
        return super().__new__(cls)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        answer_lazily(cls)

    def __getattr__(self, name: str) -> Any:
        """Raise for what a fit stores and this fitted model lacks; other attributes are as usual."""
        stored = any(name in vars(kind).get("_stored", ()) for kind in type(self).__mro__)
        if stored and "kernel_" in self.__dict__ and not hasattr(type(self), name):
            raise MissingPartError(
                f"{type(self).__name__}: this model does not hold {name}, because it was fitted in another way, or read "
                "from scikit-learn or a file that lacks it."
            )
        return object.__getattribute__(self, name)  # raises again, also for properties

    # -- the fit -----------------------------------------------------------------------------------------------------

    @whole_or_nothing
    def _fit(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Any:
        """Fit to rows X: the skeleton that every estimator shares."""
        check_shared_parameters(self)
        self._check_parameters()
        arrays = type(X) is np.ndarray and (y is None or type(y) is np.ndarray)
        chunks = None if arrays else as_chunks(X, y, sample_weight)
        data = self._read_training(X, y, sample_weight, more) if chunks is None else self._read_chunks(chunks, more)
        source = data.X if data.chunked else None
        if source is not None and self._gathers_chunks:
            data = data.gathered()
        route = self._choose_route(data)
        with Meter(f"{type(self).__name__} ({route.solver})", self.verbose) as meter, _blas_for(data.n):
            solution = self._solve(data, route, meter)
        self.kernel_, self.route_ = data.kernel, route
        self.__dict__.pop("X_fit_", None)  # of a fit before
        if self._keeps_rows and not data.chunked:
            self.X_fit_ = data.X
        self._store(data, solution)
        if source is not None:
            source.close()
        return self

    def _read_training(self, X: Any, y: Any, sample_weight: Any, more: Mapping[str, Any]) -> TrainingSet:
        """Return rows, targets and weights that are in memory."""
        X = self._read(X, reset=True)
        target = self._read_y(y, count(X))
        weights = self._read_weights(sample_weight, count(X))
        rows = Rows(X, weights=weights)
        return TrainingSet(X, target, weights, self._resolved(rows, weights), rows, more)

    def _read_chunks(self, chunks: Chunks, more: Mapping[str, Any]) -> TrainingSet:
        """Return rows, targets and weights in chunks; only the first chunk is read here."""
        rows = self._opened(chunks)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if len(rows.shape) == 2:
            self.n_features_in_ = rows.shape[1]
            if rows.names is not None:
                self.feature_names_in_ = np.array(rows.names, dtype=object)
        y = None if rows.head.y is None else rows.head.y[:0]
        return TrainingSet(rows, y, None, resolved(self._given_kernel(), rows), rows, more)

    def _opened(self, chunks: Chunks) -> ChunkedRows:
        """Return the chunks as this estimator reads them, after reading the first one and counting the rows."""
        if not self._takes_chunks:
            raise self._refuse_chunks()
        name = f"{type(self).__name__} {self.get_params()!r}"
        return ChunkedRows.opened(chunks, self.kind_of_rows(), self._chunk_targets(), name)

    def kind_of_rows(self) -> str:
        """Return what the rows of chunks are for the kernel of this estimator: table, strings, graphs or vectors."""
        kernel = self._given_kernel()
        if kernel.given:
            raise CapabilityError(f"{type(self).__name__}: Precomputed kernel values do not come in chunks; give the rows.")
        views = kernel.views
        return next((kind for kind in ("table", "strings", "graphs") if kind in views), "vectors")

    def _refuse_chunks(self) -> CapabilityError:
        """Return the error that this estimator needs its rows in memory; it names estimators that take chunks."""
        if is_classifier(self):
            instead = "KernelRidgeClassifier or NearestMean"
        elif is_outlier_detector(self):
            instead = "NoveltyBall"
        elif is_regressor(self):
            instead = "KernelRidge, KernelRidgeCV or GaussianProcessRegressor"
        else:
            instead = "Nystroem or RandomFourierFeatures"
        return CapabilityError(
            f"{type(self).__name__} cannot be fitted by chunks: its solver needs all rows in memory. Use {instead}, fit on "
            "some of the rows, or compute() the collection if it fits into memory."
        )

    def _check_parameters(self) -> None:
        """Raise if a parameter is out of range, before anything is read."""

    def _read_y(self, y: Any, n: int) -> Any:
        """Return the checked targets; None for estimators without targets."""
        return None

    def _choose_route(self, data: TrainingSet) -> Route:
        """Return the first route of `_routes` within the budget."""
        if data.chunked or data.source is not None:
            offered = self._chunk_routes(data.factors.shape_for(data.kernel), data.factors)
            return choose_route(offered, self.memory, type(self).__name__, announce=False)
        return choose_route(self._routes(self._shape(data.X, data.y)), self.memory, type(self).__name__)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Any:
        """Return the solution of the family's problem on these data; store nothing."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _store(self, data: TrainingSet, solution: Any) -> None:
        """Set the fitted attributes beyond kernel_, X_fit_ and route_."""
        raise NotImplementedError  # pragma: no cover - abstract

    # -- coefficients from elsewhere ---------------------------------------------------------------------------------

    def _begin_read_in(self, kernel: Kernel, columns: int, names: Any) -> None:
        """Set what every fitted model has, for coefficients that scikit-learn computed."""
        self.kernel_, self.route_, self.n_features_in_ = kernel, READ_IN, columns
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    @property
    def _read_in(self) -> bool:
        """Whether the coefficients were computed by scikit-learn."""
        return self.route_ == READ_IN

    def _refuse_read_in(self, what: str) -> None:
        """Raise if the model was read from scikit-learn, which does not keep the training set."""
        if self._read_in:
            raise InputError(
                f"{type(self).__name__}: {what} need the training rows and targets, which a fitted scikit-learn model does "
                "not hold. Fit this estimator again, or calibrate on other rows: ConformalRegressor(model).fit(X, y) for "
                "intervals, predict_set(X, calibration=(X, y)) for classes."
            )

    # -- parameters --------------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name; kernel__length_scale or kernel__0__length_scale replaces the kernel by a changed one."""
        inside = {name[len("kernel__") :]: value for name, value in params.items() if name.startswith("kernel__")}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith("kernel__")})
        if inside:
            self.kernel = self._given_kernel().set_params(**inside)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self._given_kernel()
        views, tags.input_tags.pairwise = kernel.views, kernel.given
        objects = bool(views & {"strings", "graphs", "molecules", "series"})
        tags.input_tags.sparse = not (kernel.given or objects) and kernel.takes_sparse
        tags.input_tags.string = "strings" in views
        tags.input_tags.two_d_array = not objects
        return tags

    # -- reading input -----------------------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> Any:
        """Check a collection and return it in the form the kernel takes; scikit-learn's own checks for vectors."""
        kernel = self._given_kernel()
        views = kernel.views
        if kernel.given or "vectors" in views or (views <= {"any"} and looks_like_vectors(X)):
            if is_plain(X) and self._has_width(X.shape[1], reset):
                return X  # nothing to convert: the checks of any input take longer than a small prediction
            refuse_text(X, "X")
            if sp.issparse(X) and not kernel.takes_sparse:
                raise InputError(f"{kernel} takes dense arrays; X is sparse. Use X.toarray().")
            refuse_rounding(X, "X")
            try:
                return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32))
            except MercerError:
                raise
            except ValueError as error:
                if "could not convert" in str(error) or "contains NaN" in str(error) or "infinity" in str(error):
                    refuse_cells(X, "X")
                raise InputError(str(error)) from error  # the message is scikit-learn's, the type InputError
        if "table" in views:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        rows = Rows(X)  # refuses what is no collection, and what is empty
        if "strings" in views:
            rows.strings()  # an estimator that only stores its rows at fit would find other objects than strings much later
        if "series" in views:
            rows.series()
        return X if hasattr(X, "shape") else list(X)

    def _has_width(self, columns: int, reset: bool) -> bool:
        """Whether rows without names of columns are those of the fit; with `reset` they become so."""
        if reset:
            self.n_features_in_ = columns
            self.__dict__.pop("feature_names_in_", None)
        return self.n_features_in_ == columns and "feature_names_in_" not in self.__dict__

    def _read_targets(self, y: Any, n: int) -> Floats:
        """Check numeric targets, (n,) or (n, t)."""
        return read_targets(type(self).__name__, y, n)

    def _read_weights(self, sample_weight: Any, n: int) -> Floats | None:
        """Check sample weights: n finite numbers >= 0, not all zero; one number stands for all."""
        if sample_weight is None:
            return None
        values = np.asarray(sample_weight, dtype=np.float64)
        if values.ndim == 0:
            values = np.full(n, float(values))
        if values.shape != (n,):
            raise InputError(f"sample_weight.shape == {values.shape}, expected ({n},)!")
        if not np.isfinite(values).all() or values.min() < 0 or not values.any():
            raise InputError("sample_weight must hold finite numbers >= 0, and not every weight may be zero.")
        return values

    def _given_kernel(self) -> Kernel:
        """Return the kernel as it was given; text is parsed."""
        return self.kernel if isinstance(self.kernel, Kernel) else as_kernel(self.kernel)

    def _resolved(self, X: Any, weights: Floats | None = None) -> Kernel:
        """Return the kernel, with numbers from the training data for parameters such as "median"."""
        return self._given_kernel().resolve(X, weights)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        """Return what the routes need to know of (X, y), without a fit."""
        data = X if hasattr(X, "shape") else (np.asarray(X) if looks_like_vectors(X) else list(X))
        kernel = self._given_kernel()
        targets = np.asarray(y).shape[1] if y is not None and np.ndim(y) == 2 else 1
        finite = None if kernel.unresolved else kernel.features
        features = kernel.n_features(take(data, slice(0, 1))) if finite is not None and finite.shared else None
        return Shape(count(data), targets, 4 if is_float32(data) else 8, features, columns_of(data) or 1)

    def _routes(self, shape: Shape) -> Iterable[Route]:
        """Return the routes for data of this shape, best first."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _chunk_targets(self) -> ReadTargets | None:
        """Return the function that reads the targets of a chunk; None for estimators without targets."""
        return None

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        """Return the routes for rows in chunks; most estimators have none and raise with an alternative."""
        raise self._refuse_chunks()

    def _offers(self, X: Any, y: Any = None) -> tuple[Route, ...]:
        """Return the routes for data in memory or in chunks, without a fit."""
        chunks = as_chunks(X, y)
        if chunks is None:
            return tuple(self._routes(self._shape(X, y)))
        if chunks.once:
            raise InputError("plan looks at the first chunk, which uses an iterator up; give a function that returns it.")
        rows = self._opened(chunks)
        return self._chunk_routes(rows.shape_for(self._given_kernel()), rows)

    def _notes(self, X: Any, route: Route) -> Iterable[str]:
        """Return what `mercer.plan` should report about the data before a long fit."""
        return ()

    # -- summary -----------------------------------------------------------------------------------------------------

    def _summary(self) -> Summary:
        """Return facts about the fitted model."""
        raise NotImplementedError  # pragma: no cover - abstract

    def __str__(self) -> str:
        return str(self._facts()) if self.__sklearn_is_fitted__() else repr(self)

    def _facts(self) -> Summary:
        """Return the summary; of a model that was read in only what its coefficients tell."""
        if not self._read_in:
            return self._summary()
        return Summary(repr(self), (("kernel", str(self.kernel_)), ("origin", READ_IN.reason)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")

    def _repr_html_inner(self) -> str:
        page: str = super()._repr_html_inner()
        return page + self._facts()._repr_html_() if self.__sklearn_is_fitted__() else page


class DualModel(KernelEstimator):
    """Abstract: a fitted model f(x) = sum_i dual_coef_i k(x_i, x) + intercept, with `kernel_`, `X_fit_`, `dual_coef_`."""

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows n d",
        "dual_coef_": "float (n, *t)",
    }

    dual_coef_: Floats
    intercept_: Any

    def dual_function(self) -> DualFunction:
        """Return the fitted function f(x) = sum_i dual_coef_i k(x_i, x) + intercept."""
        check_is_fitted(self)
        dual = self.dual_coef_  # first: its error explains that a fit by chunks has none
        return DualFunction(self.kernel_, self.X_fit_, dual, self.__dict__.get("intercept_", 0.0))

    def _decision(self, X: Any) -> Floats:
        """f at new points, evaluated in tiles."""
        function = self.dual_function()
        return function.predict(self._read(X, reset=False))
