"""The laws of a kernel, each a number that must stay below a bound, and `check_kernel`, which runs them all."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import InputError, MercerError
from mercer.inputs import Rows, is_frame, take
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.kernels.functions import Function, Precomputed, name_of, registered
from mercer.kernels.parsing import parse
from mercer.kernels.series import SeriesKernel
from mercer.kernels.views import Mapped, View
from mercer.kernels.wrappers import Centered, Weighted
from mercer.numeric import tiles
from mercer.testing.naive import Twin


@dataclass(frozen=True)
class Check:
    """The law holds if error <= bound."""

    error: float
    bound: float
    note: str = ""


@dataclass(frozen=True)
class Skip:
    """The law does not apply."""

    reason: str


def distance(left: Array, right: Array) -> float:
    """The largest difference of two arrays; infinite if they differ in shape or in where they are not finite."""
    if left.shape != right.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.abs(left - right, dtype=np.float64)
    return float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))


class LawError(MercerError, AssertionError):
    """A kernel breaks a law; `report` holds every law with its numbers."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))

    def __reduce__(self) -> tuple[type[LawError], tuple[Report]]:
        return type(self), (self.report,)


@dataclass(frozen=True)
class Law:
    """One law: `error` must be at most `bound`. `note` is why it was skipped, or what went wrong."""

    name: str
    status: str  # "passed", "failed" or "skipped"
    error: float = 0.0
    bound: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        numbers = "" if self.status == "skipped" else f"  {self.error:.3g} (at most {self.bound:.3g})"
        return f"{self.status:8s}{self.name}{numbers}{'  ' + self.note if self.note else ''}"


@dataclass(frozen=True)
class Report:
    """The laws of one kernel on one collection, in the order in which they were checked."""

    kernel: str
    laws: tuple[Law, ...]

    @property
    def passed(self) -> bool:
        """True if no law failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Law, ...]:
        """The laws that failed."""
        return tuple(law for law in self.laws if law.status == "failed")

    def __getitem__(self, name: str) -> Law:
        """The law of this name."""
        for law in self.laws:
            if law.name == name:
                return law
        raise KeyError(name)

    def __str__(self) -> str:
        count, broken = len(self.laws), len(self.failures)
        verdict = f"breaks {broken} of {count} laws" if broken else f"obeys all {count} laws"
        # failures first: a test runner may cut the text
        ordered = sorted(self.laws, key=lambda law: law.status != "failed")
        return "\n  ".join([f"{self.kernel} {verdict}", *map(str, ordered)])


def objects(data: Any) -> list[Any]:
    """Return the single objects of a collection, rows of numbers as lists, for a scalar twin."""
    if sp.issparse(data):
        return list(data.toarray().tolist())
    if is_frame(data):
        return list(data.to_numpy().tolist())
    return list(data.tolist()) if isinstance(data, np.ndarray) else list(data)


class Case:
    """A kernel, two collections X and Z of the same kind, and the size of its numbers."""

    def __init__(self, kernel: Kernel, X: Any, Z: Any, twin: Twin | None, tol: float | None) -> None:
        self.kernel, self.X, self.twin = kernel, X, twin
        self.n = len(Rows(X))
        # a Z that overlaps X and has another length, in another order
        self.Z = take(X, np.arange(self.n - 1, self.n // 3 - 1, -1)) if Z is None else Z
        self.m = len(Rows(self.Z))
        self._tol = tol

    @cached_property
    def gram(self) -> Array:
        """k(X)."""
        return self.kernel(self.X)

    @cached_property
    def cross(self) -> Array:
        """k(X, Z)."""
        return self.kernel(self.X, self.Z)

    @cached_property
    def diag(self) -> Array:
        """k.diag(X)."""
        return np.asarray(self.kernel.diag(self.X))

    @cached_property
    def eps(self) -> float:
        """The rounding of one operation in the dtype of the values."""
        return float(np.finfo(self.gram.dtype).eps)

    @cached_property
    def scale(self) -> float:
        """The largest intermediate number: rounding errors are relative to it, not to the result."""
        both = [magnitude(self.kernel, Rows(data)) for data in (self.X, self.Z)]
        return max(*both, float(np.abs(self.gram).max()))

    @cached_property
    def tolerance(self) -> float:
        """How far apart two ways to the same value may be: some 500 roundings, relative to `scale`.

        A leaf is good to a few eps; exponentials, powers and products of a deep tree each multiply the relative error
        by their order, so that three levels of them reach tens of eps (30 is the most seen). A bug is far above.
        """
        return (500.0 * self.eps if self._tol is None else self._tol) * max(self.scale, np.finfo(float).tiny)

    @cached_property
    def status(self) -> str:
        """Status of the certificate."""
        return str(self.kernel.certificate().status)


def magnitude(kernel: Kernel, rows: Rows) -> float:
    """Return the largest k(x, x) of the kernel or of a term inside it."""
    if isinstance(kernel, View):
        return magnitude(kernel.inner, kernel.view(rows))
    own = float(np.abs(kernel.diag(rows)).max())
    if isinstance(kernel, SeriesKernel):
        return own  # its base kernel compares steps
    if isinstance(kernel, Centered):
        own = max(own, magnitude(kernel.inner, Rows(kernel.sample.data)))
    return max([own, *(magnitude(child, rows) for child in kernel.children)])


def check_kernel(kernel: Kernel, X: Any, Z: Any = None, *, twin: Twin | None = None, tol: float | None = None) -> Report:
    """Check every law of kernels on X (and Z), and return the report; raise LawError with it if a law fails.

    X and Z are collections of any kind: arrays, CSR, strings, graphs, data frames. `twin` is an independent function
    (x, z) -> float to compare with; `tol` replaces the default tolerance, relative to the largest value on the way.

    >>> import mercer, numpy as np
    >>> report = check_kernel(mercer.Gaussian() + mercer.Linear(), np.random.default_rng(0).normal(size=(6, 2)))
    >>> report.passed
    True
    """
    if any(isinstance(node, Precomputed) for node in kernel.walk()):
        raise InputError(f"{kernel} has no objects to compare, only a given matrix; check that with mercer.check_gram(K).")
    case = Case(kernel, X, Z, twin, tol)
    case.gram.shape  # noqa: B018 - bad input is the caller's error, not a broken law: it raises here as it is
    report = Report(str(kernel), tuple(_outcome(name, law, case) for name, law in LAWS.items()))
    if not report.passed:
        raise LawError(report)
    return report


def _outcome(name: str, law: Callable[[Case], Check | Skip], case: Case) -> Law:
    try:
        result = law(case)
    except Exception as error:  # a law that cannot be checked has failed; the others are still checked
        return Law(name, "failed", np.inf, 0.0, f"{type(error).__name__}: {error}")
    if isinstance(result, Skip):
        return Law(name, "skipped", note=result.reason)
    status = "passed" if result.error <= result.bound else "failed"  # NaN fails
    return Law(name, status, float(result.error), float(result.bound), result.note)


# -- values --------------------------------------------------------------------------------------------------------------


def finite(case: Case) -> Check:
    """All values are finite."""
    bad = sum(int(np.count_nonzero(~np.isfinite(values))) for values in (case.gram, case.cross, case.diag))
    return Check(float(bad), 0.0, "values that are not finite" if bad else "")


def symmetric(case: Case) -> Check:
    """k(X, Z) = k(Z, X)'."""
    return Check(distance(case.cross, case.kernel(case.Z, case.X).T), case.tolerance)


def gram_symmetric(case: Case) -> Check:
    """k(X) is symmetric: exactly, where the formula promises it."""
    return Check(distance(case.gram, case.gram.T), 0.0 if case.kernel.symmetric else case.tolerance)


def gram_is_cross(case: Case) -> Check:
    """k(X) = k(X, X), and the same with a copy of X that the kernel cannot recognize."""
    same = distance(case.gram, case.kernel(case.X, case.X))
    copy = distance(case.gram, case.kernel(case.X, take(case.X, np.arange(case.n))))
    return Check(copy if same == 0 else np.inf, case.tolerance, "" if same == 0 else f"k(X, X) differs by {same:.3g}")


def diagonal(case: Case) -> Check:
    """k.diag(X) is the diagonal of k(X)."""
    return Check(distance(case.diag, np.diagonal(case.gram)), case.tolerance)


def splits(case: Case) -> Check:
    """The blocks of any split tile the whole, whether the collection is cut or the matrix."""
    worst = 0.0
    for cut in {1, case.n // 2, case.n - 1} - {0, case.n}:
        parts = (take(case.X, np.arange(cut)), take(case.X, np.arange(cut, case.n)))
        worst = max(worst, distance(np.vstack([case.kernel(part, case.Z) for part in parts]), case.cross))
    values = Evaluation(case.kernel, case.X, case.Z)
    for side in (2, 3):
        whole = np.full(values.shape, np.nan)
        for rows, cols in tiles.tiles(values.shape, False, side):
            whole[rows, cols] = values.block(rows, cols)
        worst = max(worst, distance(whole, case.cross))
    return Check(worst, case.tolerance)


def permutations(case: Case) -> Check:
    """Another order of the objects is the same order of rows and columns."""
    order = np.random.default_rng(0).permutation(case.n)
    moved = case.kernel(take(case.X, order.tolist()))
    return Check(distance(moved, case.gram[np.ix_(order, order)]), case.tolerance)


def one_object(case: Case) -> Check:
    """One object alone has the value that it has among others."""
    alone = [case.kernel(take(case.X, [i]))[0, 0] for i in (0, case.n - 1)]
    return Check(distance(np.array(alone), case.gram[[0, -1], [0, -1]]), case.tolerance)


def cauchy_schwarz(case: Case) -> Check | Skip:
    """|k(x, z)|^2 <= k(x, x) k(z, z)."""
    if case.status == "invalid":
        return Skip("by its certificate it is not a kernel")
    limit = np.sqrt(np.abs(np.multiply.outer(case.diag, np.asarray(case.kernel.diag(case.Z)))))
    return Check(float((np.abs(case.cross) - limit).max()), case.tolerance)


def positive(case: Case) -> Check | Skip:
    """The smallest eigenvalue of k(X) is not below the rounding of a psd matrix, -10 n eps max|K|."""
    if case.status == "invalid":
        return Skip("by its certificate it is not a kernel")
    K = case.gram.astype(np.float64)
    # a centered kernel is a difference of larger numbers, and has their rounding
    size = case.scale if "centered" in str(case.kernel) else float(np.abs(K).max())
    return Check(-float(np.linalg.eigvalsh((K + K.T) / 2)[0]), 10 * case.n * case.eps * size)


def naive_twin(case: Case) -> Check | Skip:
    """The values are those of the naive twin."""
    if case.twin is None:
        return Skip("no twin was given")
    left, right, twin = objects(case.X), objects(case.Z), case.twin
    cross = np.array([[twin(x, z) for z in right] for x in left])
    gram = np.array([[twin(x, z) for z in left] for x in left])
    return Check(max(distance(case.cross, cross), distance(case.gram, gram)), case.tolerance)


# -- feature maps, gradients, parameters, single precision ------------------------------------------------------------------

#: Feature maps with more columns than this are not made: ordered products of them would fill the memory.
MOST_FEATURES = 400

#: Five-point differences with this step are good to about 1e-9 for parameters of order one.
STEP = 1e-3


def _inner(features: Any) -> Array:
    product = features @ features.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def feature_maps(case: Case) -> Check | Skip:
    """<phi(x), phi(z)> = k(x, z), with equal monomials combined and kept apart."""
    width = case.kernel.n_features(case.X)
    if width is None:
        return Skip("no finite feature map")
    if width > MOST_FEATURES:
        return Skip(f"{width} features are too many to check here")
    errors = [distance(_inner(case.kernel.feature_map(case.X, combined=how)), case.gram) for how in (True, False)]
    return Check(max(errors), case.tolerance)


def feature_count(case: Case) -> Check | Skip:
    """n_features(X) is the number of columns of feature_map(X)."""
    width = case.kernel.n_features(case.X)
    if width is None or width > MOST_FEATURES:
        return Skip("no finite feature map of moderate size")
    columns = case.kernel.feature_map(case.X).shape[1]
    return Check(abs(columns - width), 0.0, f"{columns} columns, {width} announced")


def gradients(case: Case) -> Check | Skip:
    """The pullback of a weight matrix is d<W, K>/dtheta, by differences, for k(X, Z) and for k(X)."""
    names = case.kernel.theta_names
    if not names:
        return Skip("no free parameters")
    # one direction that mixes all parameters is enough to see an error; only then each is checked alone, to name it
    mixed = np.cos(np.arange(1.0, len(names) + 1.0))[None]
    worst = max(_gradient_errors(case, Z, m, mixed)[0] for Z, m in ((case.Z, case.m), (case.X, case.n)))
    # the rounding of a value is divided by the step
    bound = (1e-7 + case.eps / STEP) * case.scale * case.n * case.m
    if worst <= bound:
        return Check(worst, bound)
    error, name = max(zip(_gradient_errors(case, case.Z, case.m, np.eye(len(names))), names, strict=True))
    return Check(max(worst, error), bound, f"most of it in {name}")


def _gradient_errors(case: Case, others: Any, size: int, directions: Array) -> list[float]:
    kernel, theta = case.kernel, case.kernel.theta
    W = np.random.default_rng(0).standard_normal((case.n, size))
    found = directions @ kernel.pullback(case.X, others, weights=W)  # a gradient of another length fails here

    def value(vector: Array) -> float:
        return float(np.vdot(W, kernel.with_theta(vector)(case.X, others)))

    errors = []
    for direction, slope in zip(directions, found, strict=True):
        near, far = (value(theta + h * direction) - value(theta - h * direction) for h in (STEP, 2.0 * STEP))
        error = abs((8.0 * near - far) / (12.0 * STEP) - slope)
        errors.append(float(error) if np.isfinite(error) else np.inf)
    return errors


def theta(case: Case) -> Check:
    """with_theta is the inverse of theta, and theta_names has one name for each entry, which is a name of get_params."""
    kernel, vector = case.kernel, case.kernel.theta
    names = kernel.theta_names
    known = all(name.split("[")[0] in kernel.get_params() for name in names)
    if len(names) != len(vector) or len(set(names)) != len(names) or not known:
        return Check(np.inf, 0.0, f"names {names} for {len(vector)} entries")
    moved = vector + np.linspace(-0.3, 0.3, len(vector))
    error = max(distance(kernel.with_theta(v).theta, v) for v in (vector, moved))
    return Check(error, 1e-14 * (1.0 + float(np.abs(moved).max(initial=0.0))))


def single_precision(case: Case) -> Check | Skip:
    """On float32 data the values are float32 and those of float64 up to rounding."""
    X = case.X
    if not (isinstance(X, np.ndarray) or sp.issparse(X)) or X.dtype != np.float64:
        return Skip("for arrays of float64")
    single = X.astype(np.float32)
    values, exact = case.kernel(single), case.kernel(single.astype(np.float64))
    # kernels that do not read the numbers, or call a user-defined function, have no dtype to keep
    kept = values.dtype == np.float32 or not _reads_vectors(case)
    note = "" if kept else f"dtype {values.dtype}"
    return Check(distance(values, exact) if kept else np.inf, 200 * float(np.finfo(np.float32).eps) * case.scale, note)


def _reads_vectors(case: Case) -> bool:
    leaves = [node for node in case.kernel.walk() if not node.children]
    return any(leaf.domain == "vectors" for leaf in leaves) and not any(isinstance(leaf, Function) for leaf in leaves)


def untouched(case: Case) -> Check | Skip:
    """Calling the kernel leaves the caller's data as they were."""
    if not isinstance(case.X, np.ndarray):
        return Skip("for arrays")
    before = take(case.X, np.arange(case.n))
    case.kernel(case.X)
    case.kernel(case.X, case.X)
    case.kernel.diag(case.X)
    return Check(distance(before.astype(np.float64), case.X.astype(np.float64)), 0.0)


# -- the kernel as a value: text, equality, hash, pickle, the scikit-learn protocol ---------------------------------------


def _verdict(holds: bool, note: str) -> Check:
    return Check(0.0 if holds else 1.0, 0.0, "" if holds else note)


def _callables(kernel: Kernel) -> list[Callable[..., object]]:
    kinds = {Function: "f", Mapped: "phi", Weighted: "f"}
    return [getattr(node, kinds[type(node)]) for node in kernel.walk() if type(node) in kinds]


def text(case: Case) -> Check | Skip:
    """parse(repr(k)) == k."""
    if any(isinstance(node, Centered) for node in case.kernel.walk()):
        return Skip("a text cannot hold the sample of centered")
    unknown = [name_of(f) for f in _callables(case.kernel) if registered(name_of(f)) is not f]
    if unknown:
        return Skip(f"not registered: {', '.join(unknown)}")
    read = parse(repr(case.kernel))
    return _verdict(read == case.kernel and repr(read) == repr(case.kernel), f"read as {read}")


def equality(case: Case) -> Check:
    """A kernel equals its copy, has the same hash, and differs from the kernel around it."""
    kernel = case.kernel
    copy = dataclasses.replace(kernel)  # type: ignore[type-var]
    holds = copy == kernel and hash(copy) == hash(kernel) and not copy != kernel  # noqa: SIM202 - both operators are checked
    return _verdict(holds and 2.0 * kernel != kernel, "a copy and its hash must be equal")


def frozen(case: Case) -> Check:
    """No field can be assigned."""
    for item in dataclasses.fields(case.kernel):  # type: ignore[arg-type]
        try:
            setattr(case.kernel, item.name, getattr(case.kernel, item.name))
        except AttributeError:
            continue
        return _verdict(False, f"{item.name} can be assigned")
    return _verdict(True, "")


def pickled(case: Case) -> Check | Skip:
    """A kernel comes back from pickle equal, with the same values."""
    try:
        data = pickle.dumps(case.kernel)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if _callables(case.kernel):
            return Skip(f"its functions cannot be pickled ({error})")
        raise
    back = pickle.loads(data)
    same = back == case.kernel and hash(back) == hash(case.kernel)
    return Check(distance(back(case.X), case.gram) if same else np.inf, 0.0, "" if same else "not equal after pickle")


def cloned(case: Case) -> Check:
    """scikit-learn's clone returns the kernel itself: a value needs no copy."""
    from sklearn.base import clone

    return _verdict(clone(case.kernel) is case.kernel, "clone made another object")


def parameters(case: Case) -> Check:
    """set_params(**get_params()) is the kernel again, and a number that is set is the number that is got."""
    kernel = case.kernel
    deep = kernel.get_params(deep=True)
    holds = kernel.set_params(**deep) == kernel == kernel.set_params(**kernel.get_params(deep=False))
    wrong = [name for name, value in deep.items() if kernel.set_params(**{name: value}) != kernel]
    for name, value in deep.items():
        if isinstance(value, float) and not _moves(kernel, name, value):
            wrong.append(name)
    return _verdict(holds and not wrong, f"wrong with {', '.join(wrong) or 'all at once'}")


def _moves(kernel: Kernel, name: str, value: float) -> bool:
    """Whether a number can be set and read back; a number at a bound of its rule need not move."""
    for moved in (1.5 * value, 0.9 * value):
        try:
            return bool(kernel.set_params(**{name: moved}).get_params()[name] == moved)
        except InputError:
            continue
    return True


LAWS: dict[str, Callable[[Case], Check | Skip]] = {
    "finite": finite,
    "k(X, Z) = k(Z, X)'": symmetric,
    "k(X) is symmetric": gram_symmetric,
    "k(X) = k(X, X)": gram_is_cross,
    "diag is the diagonal": diagonal,
    "blocks tile the whole": splits,
    "permutation": permutations,
    "one object": one_object,
    "naive twin": naive_twin,
    "Cauchy-Schwarz": cauchy_schwarz,
    "positive semi-definite": positive,
    "feature map": feature_maps,
    "number of features": feature_count,
    "pullback is the gradient": gradients,
    "theta": theta,
    "float32": single_precision,
    "data untouched": untouched,
    "parse(repr(k)) == k": text,
    "equality and hash": equality,
    "frozen": frozen,
    "pickle": pickled,
    "clone": cloned,
    "get_params, set_params": parameters,
}
