"""The kernel: an immutable value that turns two collections into a matrix.

The public methods are final and defined here. A new kernel implements a few private methods:

    _encode(rows)              what is computed once per collection
    _block(pair)               values of one tile, in an array of its own
    _diag(encoding)            k(x, x)
    _pullback(pair, W)         d <W, K> / d theta of the whole subtree, in the order of `theta`
    _feature_map(*terms)       the finite feature map, if there is one, from those of the children
    _derivation()              why it is a kernel
    _value(x, z, m)            the formula on two points, in the arithmetic m
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError
from mercer.inputs import Rows, as_rows
from mercer.kernels import evaluation
from mercer.kernels import fields as parameters
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, Occurrence, Summand
from mercer.kernels.operators import NODES, Operators
from mercer.numeric import tiles
from mercer.numeric.encodings import Encoding, narrow_indices, projected
from mercer.numeric.memory import allocate

if TYPE_CHECKING:
    from mercer.kernels.spectral.measures import Measure
    from mercer.validity.certificates import Certificate


@dataclass(frozen=True)
class Derivation:
    """One step of a proof: by `rule`, the node is a kernel if its premises are; `because` is the argument in words."""

    rule: str
    because: str
    premises: tuple[Kernel, ...] = ()


class Arithmetic(Protocol):
    """The operations in which a scalar formula `_value` is written, so that it runs in floats or in intervals."""

    def number(self, value: float) -> Any:
        """Return a float as a number of this arithmetic."""

    def pi(self) -> Any:
        """The ratio of a circle's circumference to its diameter."""

    def exp(self, x: Any) -> Any:
        """e to the x."""

    def sqrt(self, x: Any) -> Any:
        """The square root of x >= 0."""

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent."""

    def sin(self, x: Any) -> Any:
        """The sine."""

    def log(self, x: Any) -> Any:
        """The natural logarithm of x > 0."""

    def absolute(self, x: Any) -> Any:
        """|x|."""

    def power(self, x: Any, exponent: float) -> Any:
        """x^exponent for x >= 0 and an exponent > 0."""


#: How tightly a node binds in a printed expression; an operand before a dot or a ** needs brackets unless it is an atom.
SUM, PRODUCT, POWER, ATOM = range(4)


class Kernel(Operators, abc.ABC):
    """A symmetric positive semi-definite function of two objects, k(x, z) = <phi(x), phi(z)>.

    >>> import mercer, numpy as np
    >>> k = 2.0 * mercer.Gaussian(length_scale=1.5) + mercer.Linear()
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> bool(np.all(k(X) == k(X, X)) and np.allclose(k.diag(X), np.diagonal(k(X))))
    True
    """

    _precedence: ClassVar[int] = ATOM
    domain: ClassVar[str] = "vectors"  # what it compares; "any" for functions of the user's own
    _quiet: ClassVar[tuple[str, ...]] = ()  # options that are not printed at their default value; None is never printed
    _dense: bool = False  # True if sparse arrays raise an error
    _unit: ClassVar[bool] = False  # True if k(x, x) = 1 for every x: such a diagonal need not be checked
    symmetric: bool = True  # False if k(x, z) = k(z, x) is not known

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Raise an error with advice if an argument does not exist."""
        parameters.refuse_arguments(cls, args, given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            rule = item.metadata.get("rule")
            if rule is not None:
                value = rule.check(type(self).__name__, item.name, getattr(self, item.name))
                object.__setattr__(self, item.name, value)

    # -- values ------------------------------------------------------------------------------------------------------

    @final
    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Return the matrix of k(x_i, z_j); k(X) is k(X, X)."""
        values = evaluation.Evaluation(self, X, Z)
        out = allocate(values.shape, values.dtype, "the Gram matrix", evaluation.REMEDY)
        return tiles.fill(values.block, out, values.symmetric, strip=values.strip)

    @final
    def diag(self, X: Any) -> Array:
        """Return k(x_i, x_i) without the matrix."""
        evaluation.refuse_unresolved(self)
        rows = as_rows(X)
        return evaluation.checked_diag(self, self._encode(rows), rows.name)

    @final
    def feature_map(self, X: Any, *, combined: bool = True, like: Any = None) -> Any:
        """Return phi(X), one row per object, with <phi(x), phi(z)> = k(x, z).

        combined=True merges equal monomials, x1 x2 and x2 x1 into sqrt(2) x1 x2; combined=False keeps them apart.
        Kernels that count have a column for what occurs in X; `like` is another collection, whose columns are taken.
        Kernels with infinitely many features have no such map: the error names the term.
        """
        features, encoding = self._finite(), self._encode(as_rows(X))
        if like is not None:
            encoding = projected(encoding, self._encode(as_rows(like, "like")))
        return narrow_indices(features.matrix(encoding, combined))

    @final
    def feature_names(self, X: Any) -> list[Any]:
        """Return what the columns of feature_map(X) count: substrings, labels, …; numbers if they have no names."""
        return self._finite().names(self._encode(as_rows(X)))

    @final
    def n_features(self, X: Any) -> int | None:
        """Return how many columns feature_map(X) has, without making them; None if there is no finite map."""
        features = self.features
        return None if features is None else features.count(self._encode(as_rows(X)))

    @final
    @property
    def features(self) -> FeatureMap | None:
        """The finite feature map as a value, or None: used by feature_map, n_features and feature_names."""
        found = self._map_or_lack()
        return found if isinstance(found, FeatureMap) else None

    @final
    def _finite(self) -> FeatureMap:
        found = self._map_or_lack()
        if isinstance(found, FeatureMap):
            return found
        where = "" if found is self else f" (a term of {self})"
        raise CapabilityError(f"{found} has no finite feature map{where}{found._why_no_features()}.")

    def _map_or_lack(self) -> FeatureMap | Kernel:
        """The feature map, or the first term that has none."""
        terms: list[FeatureMap] = []
        for child in self.children:
            found = child._map_or_lack()
            if not isinstance(found, FeatureMap):
                return found
            terms.append(found)
        own = self._feature_map(*terms)
        if own is None:
            return self
        all_maps = (own, *terms)
        return dataclasses.replace(own, shared=all(m.shared for m in all_maps), stay=all(m.stay for m in all_maps))

    @final
    def spectral(self, width: int) -> Measure:
        """Return the spectral measure for rows of `width` columns: k(x, z) = integral of cos(w'(x - z)) (Bochner).

        It has a mass k(x, x), a sampler and, for some kernels, a density. Kernels that are not functions of x - z have no
        such measure: the error names the term.
        """
        evaluation.refuse_unresolved(self)
        if self.width() not in (None, width) and not self._views() & {"table"}:
            raise InputError(f"{self} is for {self.width()} columns; got width={width}.")
        try:
            return self._spectral(width)
        except CapabilityError as error:
            raise CapabilityError(f"{error} Nystroem takes any kernel.") from None

    @final
    def pullback(
        self, X: Any, Z: Any = None, *, weights: ArrayLike | evaluation.Tile, values: evaluation.Tile | None = None
    ) -> Floats:
        """Return d <W, k(X, Z)> / d theta for one weight matrix W (n, m): all gradients in n m memory.

        A symmetric W of k(X) may be given as a function of two slices that returns its tiles on and above the diagonal:
        then half the tiles are evaluated, and W need not exist. `values` gives the tiles of k(X) in the same way, to a
        caller who has them.
        """
        found = evaluation.Evaluation(self, X, Z)
        if callable(weights):
            return evaluation.symmetric_pullback(found, weights, values, len(self.theta))
        W = np.asarray(weights)
        if W.shape != found.shape:
            raise InputError(f"weights has shape {W.shape}; it must be that of k(X, Z), {found.shape}.")
        pair = found.pair
        return tiles.total(
            lambda rows, cols: self._pullback(pair.tile(rows, cols), W[rows, cols]), found.shape, len(self.theta)
        )

    @final
    def input_slopes(self, X: Any, Z: Any, coef: Array) -> Floats:  # (m,) -> (n, d)
        """Return the gradients in x of f(x) = sum_j coef_j k(x, z_j) at every row of X; pairs at distance 0 are left out."""
        rows = as_rows(X)
        found = evaluation.Evaluation(self, rows, rows if Z is X else Z)
        pair, width = found.pair, int(rows.vectors().shape[1])
        return tiles.stacked(lambda r, c: self._input_slopes(pair.tile(r, c), coef[c]), found.shape, width)

    @final
    def resolve(self, X: Any, weights: Array | None = None) -> Kernel:
        """Return the kernel with every "median" replaced by a number taken from X, whose rows may count by weights."""
        rows = as_rows(X)
        if weights is not None and rows.weights is not weights:
            rows = Rows(rows.data, rows.name, weights)
        return self._resolve(rows) if self.unresolved or self.adapts else self

    @final
    def encode(self, X: Any) -> Encoding:
        """Return the rows in the form that this kernel computes with; it can be reused for any number of products."""
        return self._encode(as_rows(X))

    @final
    @property
    def views(self) -> frozenset[str]:
        """Forms of the data that it reads: "vectors", "strings", "graphs", "table", "precomputed" or "any"."""
        return self._views()

    @final
    @property
    def domains(self) -> frozenset[str]:
        """Kinds of objects that its leaves compare; unlike `views`, columns of a table count by what they contain."""
        return frozenset(node.domain for node in self.walk() if not node.children)

    @final
    def summands(self, X: Any) -> list[Summand]:
        """Return the terms of k(x, z) = sum_t g_t(x) k_t(x, z) g_t(z), each with its g_t on the rows."""
        return self._summands(as_rows(X))

    @final
    def quotient(self, X: Any, x: Any) -> tuple[Kernel, Floats] | None:
        """Return k' and q with k(x_i, x) = q_i k'(x_i, x) for one object x; None for kernels that divide no other kernel."""
        return self._quotient(as_rows(X), as_rows(x, "x"))

    @final
    def occurrences(self, item: Any) -> Iterator[Occurrence] | None:
        """Return the features of one object with their positions in it; None if features have no names and positions."""
        return self._occurrences(item)

    @final
    def derivation(self) -> Derivation | None:
        """Return the step of a proof that this node states, or None if it states none; `certificate` joins the steps."""
        return self._derivation()

    @final
    def formula(self, x: Any, z: Any, m: Arithmetic) -> Any:
        """Return k(x, z) for two points, sequences of numbers of the arithmetic m; CapabilityError without a formula."""
        return self._value(x, z, m)

    def without_holes(self) -> Kernel:
        """Return the kernel on rows without missing cells: nodes with a rule for them are left out."""
        return self.with_children(tuple(child.without_holes() for child in self.children)) if self.children else self

    @final
    @property
    def given(self) -> bool:
        """True if the data are precomputed kernel values: rows are identified by their positions."""
        return "precomputed" in self._views()

    @final
    def keep(self, X: Any, index: Array) -> Any:
        """Return what k(new, …) needs of some training rows: the rows, or their positions if the values are given."""
        rows = as_rows(X).take(index)
        return rows.places if self.given else rows.data

    @final
    def refuse_stream(self, what: str) -> None:
        """Raise if rows arrive in batches of kernel values: each row needs values against rows that come later."""
        if self.given:
            raise InputError(
                f"{what}.partial_fit cannot take Precomputed kernel values: new rows have none against rows yet to come. "
                "Give the data and a kernel, or call fit with the whole matrix."
            )

    @property
    def unresolved(self) -> bool:
        """True while a length scale is still "median"."""
        return any(child.unresolved for child in self.children)

    @property
    def adapts(self) -> bool:
        """True for kernels that take a parameter from the data they are called with, until `resolve` fixes it."""
        return any(child.adapts for child in self.children)

    @final
    def certificate(self) -> Certificate:
        """Return a proof that this is a kernel, a counter-example, or a report that neither was found."""
        from mercer.validity.certificates import certify  # the only import of a higher layer: validity imports kernels

        return certify(self)

    # -- parameters --------------------------------------------------------------------------------------------------

    @final
    @property
    def takes_sparse(self) -> bool:
        """Whether sparse arrays of vectors are read; a kernel on columns of a table selects the columns first."""
        return not any(node._dense for node in self.walk())

    @property
    def children(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return ()

    @final
    @property
    def theta(self) -> Floats:
        """The free parameters of the tree as one vector: logarithms of positive numbers, signed numbers as they are."""
        return parameters.theta(self)

    @final
    @property
    def theta_values(self) -> Floats:
        """The free parameters themselves, in the order of theta."""
        return parameters.plain_values(self, self.theta)

    @final
    @property
    def theta_names(self) -> list[str]:
        """The parameter path of every entry of theta, such as "0__length_scale"."""
        return parameters.theta_names(self)

    @final
    def with_theta(self, theta: ArrayLike) -> Kernel:
        """Return the kernel whose free parameters are exp(theta), or theta itself for numbers of either sign."""
        return parameters.with_theta(self, np.asarray(theta, dtype=np.float64))

    @final
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with deep, children as "0", "1", … and their parameters as "0__length_scale"."""
        return parameters.get_params(self, deep)

    @final
    def set_params(self, **params: Any) -> Kernel:
        """Return a kernel with some parameters replaced, by name; this one does not change."""
        return parameters.set_params(self, params)

    @final
    def __sklearn_clone__(self) -> Self:
        return self  # a value needs no copy

    @final
    def __repr__(self) -> str:
        return self._text()

    @final
    def _repr_latex_(self) -> str:
        return str(NODES["repr_latex"](self))

    @final
    def _repr_html_(self) -> str:
        return str(NODES["repr_html"](self))

    # -- what a node implements --------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _encode(self, rows: Rows) -> Encoding: ...

    @abc.abstractmethod
    def _block(self, pair: Pair) -> Array: ...

    @abc.abstractmethod
    def _diag(self, encoding: Encoding) -> Array: ...

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        if len(self.theta) == 0:
            return np.empty(0)
        raise CapabilityError(f"{self} has no gradient in its parameters.")

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        """d <w, diag> / d theta; zero for every kernel whose diagonal does not move."""
        return np.zeros(len(self.theta))

    def _input_slopes(self, pair: Pair, coef: Array) -> Floats:  # (m,) -> (n, d)
        raise CapabilityError(f"{self} has no gradient in x here; PowerExponential has one, also behind .linear(S).")

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap | None:
        """The finite feature map, made of those of the children; None if there is none."""
        return None

    def _why_no_features(self) -> str:
        """The end of the sentence that it has no finite feature map: the reason, or what to do instead."""
        return ": approximate it, with RandomFourierFeatures for stationary kernels or Nystroem for any"

    def _spectral(self, width: int) -> Measure:
        """The measure of `spectral`; nodes that are functions of x - z have one if all their parts have."""
        raise CapabilityError(f"{self} has no spectral measure: it is not known to be a function of x - z.")

    def _summands(self, rows: Rows) -> list[Summand]:
        """The terms that this kernel adds up, k(x, z) = sum_t g_t(x) k_t(x, z) g_t(z), each with its g_t on the rows."""
        return [Summand(self, rows, np.ones(len(rows)))]

    def _quotient(self, rows: Rows, one: Rows) -> tuple[Kernel, Floats] | None:
        """The kernel that this one divides, and the factors (n,) at one object."""
        return None

    def _occurrences(self, item: Any) -> Iterator[Occurrence] | None:
        """Where the features of an object sit in it; None if features have no names and places."""
        return None

    def _views(self) -> frozenset[str]:
        """Forms of the data that it reads: "vectors", "strings", "graphs", "table", "precomputed", or "any"."""
        if not self.children:
            return frozenset({self.domain})
        return frozenset.union(*[child._views() for child in self.children])

    def amplified(self, factor: float) -> Kernel | None:
        """The kernel `factor` times this one by moving its own numbers, or None if it has no overall scale."""
        return None

    def is_square_of(self, other: Kernel) -> bool:
        """Whether this kernel is the square of the other, so that its Gram matrix is the other's, multiplied elementwise."""
        return False

    def _derivation(self) -> Derivation | None:
        return None

    def why_unproven(self) -> str:
        """A sentence about a node without a derivation, to follow the one that no rule covers it; may be empty."""
        return ""

    def facts(self) -> frozenset[str]:
        """Those of "stationary", "characteristic", "characteristic on R^d", "universal" that are known to hold."""
        return frozenset()

    def _beyond_unit(self) -> Kernel | None:
        """The first term that is not known to have values in [0, 1]; None if the kernel itself is known to have them."""
        return self

    def by_differences(self) -> bool:
        """Whether ||phi(x) - phi(z)|| depends on x - z only: then data may be shifted before distances are taken."""
        return False

    def moment_order(self) -> int | None:
        """The highest order of moments that means of its features hold; None if they hold more, or if it is not known."""
        return None

    def weak_points(self) -> Floats | None:  # (r, d)
        """Points whose feature vectors add up to one of negative squared length, if such points are known."""
        return None

    def calling(self, wrap: Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]) -> Kernel:
        """The kernel with its Python function f(X, Z) replaced by wrap(f); kernels without one return themselves."""
        return self

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        raise CapabilityError(f"{self} has no scalar formula.")

    def width(self) -> int | None:
        """The number of columns that its parameters require, or None."""
        widths = [child.width() for child in self.children]
        return max((w for w in widths if w is not None), default=None)

    def _resolve(self, rows: Rows) -> Kernel:
        return self.with_children(tuple(child._resolve(rows) for child in self.children))

    def with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        """Return this node with other children, in the order of `children`."""
        return self

    def _text(self) -> str:
        shown = []
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if value is not item.default or (value is not None and item.name not in self._quiet):
                shown.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @final
    def _bracketed(self, at_least: int) -> str:
        """The text, in brackets if it binds less tightly than its place requires."""
        return self._text() if self._precedence >= at_least else f"({self._text()})"

    @final
    def walk(self) -> Iterator[Kernel]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
