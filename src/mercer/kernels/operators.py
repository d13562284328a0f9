"""Operators and methods that combine kernels, each a closure rule; combinations without a rule raise ClosureError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np

from mercer.errors import ClosureError, InputError, shown

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


#: Classes that the operators construct, by name. They are defined in modules that import this one and register themselves
#: with `node`, which avoids a cycle of imports.
NODES: dict[str, Any] = {}

#: The largest float, as a divisor: whole numbers may be larger.
LARGEST_FLOAT = float(np.finfo(np.float64).max)

Node = TypeVar("Node", bound=Callable[..., Any])


def node(maker: Node) -> Node:
    """Register a class, or a function that returns a kernel, for the operators."""
    NODES[maker.__name__] = maker
    return maker


def _is_number(value: Any) -> bool:
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


class Operators:
    """Mixed into Kernel: every operator returns a new kernel."""

    __array_ufunc__ = None  # NumPy scalars leave `np.float64(2) * k` to us

    @property
    def _self(self) -> Kernel:
        return cast("Kernel", self)

    def _is_kernel(self, other: object) -> bool:
        return isinstance(other, Operators)

    def __add__(self, other: Any) -> Kernel:
        if self._is_kernel(other):
            return NODES["Sum"]((self._self, other))
        if _is_number(other):
            return NODES["Sum"]((self._self, NODES["constant"](other)))
        return NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        if _is_number(other):
            return NODES["Sum"]((NODES["constant"](other), self._self))
        return NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if self._is_kernel(other):
            return NODES["Product"]((self._self, other))
        if _is_number(other):
            return NODES["Scaled"](other, inner=self._self)
        return NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> Kernel:
        if _is_number(other) and 0 < other <= LARGEST_FLOAT:
            return self.__mul__(1.0 / float(other))
        raise ClosureError(
            f"{self} / {shown(other)}: dividing by a kernel or by a number <= 0 is not implied by the closure rules."
        )

    def __pow__(self, power: Any) -> Kernel:
        if _is_number(power) and 0 <= power < np.inf and power == int(power):
            return NODES["Power"](int(power), inner=self._self)
        raise ClosureError(
            f"({self}) ** {shown(power)}: only whole powers >= 0 of a kernel are kernels by the closure rules (products of "
            "k with itself). Other powers are not implied by them; some are kernels all the same, as Gaussian ** 0.5 is: "
            "write that one with another length scale."
        )

    def __neg__(self) -> NoReturn:
        raise ClosureError(
            f"-({self}): a negative multiple of a kernel is not implied by the closure rules (a * k needs a >= 0), "
            "since -k(x, x) <= 0."
        )

    def __sub__(self, other: Any) -> NoReturn:
        raise ClosureError(
            f"{self} - {shown(other)}: a difference of kernels is not implied by the closure rules (k1 + k2 and a * k with "
            "a >= 0 are). To test such a function, write Function(f) and ask for its certificate."
        )

    def __rsub__(self, other: Any) -> NoReturn:
        raise ClosureError(
            f"{shown(other)} - ({self}): a difference of kernels is not implied by the closure rules (k1 + k2 and a * k "
            "with a >= 0 are)."
        )

    def exp(self) -> Kernel:
        """exp(k): a power series with positive coefficients."""
        return NODES["Exp"](self._self)

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """c0 + c1 k + c2 k^2 + … with coefficients >= 0."""
        return NODES["PolynomialOf"](coefficients, inner=self._self)

    def normalized(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where k(x, x) = 0."""
        return NODES["Normalized"](self._self)

    def tanimoto(self) -> Kernel:
        """k(x, z) / (k(x, x) + k(z, z) - k(x, z)): the share of features in common; 0 where both self-values are 0."""
        return NODES["Tanimoto"](self._self)

    def centered(self, X: Any) -> Kernel:
        """<phi(x) - mean, phi(z) - mean> with the feature mean of the sample X."""
        return NODES["Centered"](NODES["as_sample"](X), inner=self._self)

    def repaired(self, X: Any, method: str = "clip") -> Kernel:
        """A kernel from a function that is not one: its matrix on the sample X with clipped, flipped or shifted eigenvalues.

        New objects are mapped consistently, as `mercer.repair(K, method).rows` maps their rows.
        """
        return cast("Kernel", NODES["Repaired"](NODES["as_sample"](X), method=method, inner=self._self.resolve(X)))

    def map(self, phi: Callable[[Any], Any]) -> Kernel:
        """k(phi(x), phi(z)) for a function phi from a collection to a collection of the same length."""
        return NODES["Mapped"](phi, inner=self._self)

    def weighted(self, f: Callable[[Any], Any]) -> Kernel:
        """f(x) k(x, z) f(z) for a function f from a collection of n to n numbers."""
        return NODES["Weighted"](f, inner=self._self)

    def linear(self, S: Any) -> Kernel:
        """k(Sx, Sz): rows become X @ S.T for S (r, d), and X * S for S (d,)."""
        return cast("Kernel", NODES["LinearMap"](S, inner=self._self))

    def time(self) -> Kernel:
        """k on series with time, from 0 to 1, as a further channel."""
        return cast("Kernel", NODES["SeriesMap"]("time", inner=self._self))

    def lead_lag(self) -> Kernel:
        """k on the lead-lag paths of series: each value beside the one before it."""
        return cast("Kernel", NODES["SeriesMap"]("lead_lag", inner=self._self))

    def base_point(self) -> Kernel:
        """k on series that begin with a step of zeros, so that a signature sees where a series starts."""
        return cast("Kernel", NODES["SeriesMap"]("base_point", inner=self._self))

    def dates(self) -> Kernel:
        """k on dates and times, as days since 1970-01-01 UTC with fractions."""
        return cast("Kernel", NODES["Dated"](self._self))

    def descriptors(self) -> Kernel:
        """k on descriptors of molecules, such as logP, mass, polar surface and rings, in typical spreads of drugs."""
        return cast("Kernel", NODES["Described"](self._self))

    def missing(self, sample: Any, rule: str = "mean") -> Kernel:
        """k on a column with holes: a hole has the mean features of a sample, or (rule="indicator") a value of its own."""
        return cast("Kernel", NODES["missing"](sample, rule, self._self))

    def on(self, *columns: int | str) -> Kernel:
        """k on some columns only: numbers for arrays, names for data frames."""
        if len(columns) == 1 and isinstance(columns[0], (list, tuple)):
            raise InputError(f"on: give the columns one by one, k.on(*{columns[0]!r}).")
        return NODES["On"](columns, inner=self._self)
