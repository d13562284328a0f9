"""Text to kernel: the names and operators that `reader` meets in a text. Nothing is ever evaluated as Python.

`parse(repr(k)) == k` for every kernel without unregistered functions. The same text is the command-line argument, the
heading of a report and the id of a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from mercer.errors import InputError, ParseError, describe
from mercer.kernels.algebra import Product, Sum, constant
from mercer.kernels.base import Kernel
from mercer.kernels.names import registered
from mercer.kernels.reader import ClassName, Language, Reader
from mercer.kernels.stationary import Gaussian
from mercer.registry import public_names


def _public_kernels() -> Iterator[type[Kernel]]:
    """The kernels among the public names, which are listed once, in __init__.pyi."""
    for name, module in public_names().items():
        if module.startswith("mercer.kernels.") and module != __name__:
            found = getattr(import_module(module), name)
            if isinstance(found, type) and issubclass(found, Kernel) and found is not Kernel:
                yield found


#: Every kernel that a text may name.
KERNELS: dict[str, type[Kernel]] = {kind.__name__: kind for kind in _public_kernels()}

_VERBS = ("exp", "polynomial", "normalized", "tanimoto", "map", "weighted", "on", "linear", "dates")
_CONVERSIONS = ("from_gamma", "from_width", "from_variance", "from_denominator")

#: What users of other libraries write, and the text to write here.
_ELSEWHERE = {
    "rbf": "Gaussian.from_gamma(0.5)", "gaussian": "Gaussian(length_scale=1.0)", "linear": "Linear()",
    "poly": "Polynomial(degree=3, offset=1.0)", "polynomial": "Polynomial(degree=3, offset=1.0)",
    "sigmoid": "Tanh(scale=1.0, offset=0.0)", "laplacian": "Laplacian(length_scale=1.0)",
    "cosine": "Linear().normalized()", "precomputed": "Precomputed()", "matern": "Matern(nu=1.5, length_scale=1.0)",
    "RBF": "Gaussian(length_scale=1.0)", "squaredexponential": "Gaussian(length_scale=1.0)",
    "constantkernel": "Constant(value=1.0)", "dotproduct": "Linear() + 1.0", "expsinesquared": "Periodic(length_scale=1.0)",
    "whitekernel": "the noise of the model (GaussianProcessRegressor(noise=…), alpha of KernelRidge)",
}  # fmt: skip

#: Longer texts are refused.
MAX_LENGTH = 5_000_000


def parse(text: str) -> Kernel:
    """Return the kernel that a text describes.

    >>> parse("2.0 * Gaussian(length_scale=1.5) + Linear()")
    2.0 * Gaussian(length_scale=1.5) + Linear()
    """
    if not isinstance(text, str):
        raise InputError(f"parse takes the text of a kernel; got {describe(text)}.")
    if len(text) > MAX_LENGTH:
        raise InputError(f"the text of a kernel has at most {MAX_LENGTH} characters; this one has {len(text)}.")
    return read(text, Kernels())


def read(text: str, language: Language) -> Kernel:
    """Return the kernel that a text describes in a language."""
    if text.strip() in _ELSEWHERE:
        raise InputError(f"{text.strip()!r} is not a kernel here; write {_ELSEWHERE[text.strip()]!r}.")
    value = Reader(text, language).read()
    if not isinstance(value, Kernel):
        raise ParseError(f"a kernel was expected, such as Gaussian(length_scale=1.0); this is {describe(value)}", text, 0)
    return value


def as_kernel(value: Any) -> Kernel:
    """Return a kernel from a kernel or its text."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, type) and issubclass(value, Kernel):
        raise InputError(f"kernel: {value.__name__} is a class; write {value.__name__}(…).")
    if type(value).__module__.startswith("sklearn."):
        raise InputError(f"kernel: {describe(value)} is scikit-learn's; mercer.from_sklearn(kernel) translates it.")
    raise InputError(f"kernel must be a kernel such as Gaussian(length_scale=1.0), or its text; got {describe(value)}.")


class Kernels:
    """What an expression means: kernels by name, operators by the closure rules."""

    def name(self, name: str) -> Any:
        function = registered(name)
        if function is not None:
            return function
        if name in KERNELS:
            return ClassName(name)
        raise InputError(f"{name!r} is not known; register functions first: mercer.register(name, function)")

    def call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        own = registered(name)
        if isinstance(own, type) and issubclass(own, Kernel):
            return own(*arguments, **keywords)
        if name not in KERNELS:
            raise InputError(f"there is no kernel {name!r}{_advice(name)}; there are {', '.join(KERNELS)}")
        return self.construct(KERNELS[name], arguments, keywords)

    def construct(self, kind: type[Kernel], arguments: list[Any], keywords: dict[str, Any]) -> Kernel:
        """A kernel of a known class."""
        return kind(*arguments, **keywords)

    def problem(self, owner: Any, verb: str) -> str:
        """What is wrong with a method, before its arguments are read; empty if nothing is."""
        if isinstance(owner, ClassName):
            known = owner.name == "Gaussian" and verb in _CONVERSIONS
            return "" if known else f"{owner.name} needs brackets: {owner.name}(…)"
        if verb in ("centered", "missing", "repaired"):
            return f"{verb}(sample) holds data, which a text cannot; write it in Python"
        if verb not in _VERBS:
            return f"there is no method .{verb}(){_similar(verb, _VERBS)}; there are .{'(), .'.join(_VERBS)}()"
        return "" if isinstance(owner, Kernel) else f".{verb}() belongs to a kernel, not to {describe(owner)}"

    def method(self, owner: Any, verb: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return getattr(Gaussian if isinstance(owner, ClassName) else owner, verb)(*arguments, **keywords)

    def add(self, terms: list[Any]) -> Any:
        return Sum(tuple(term if isinstance(term, Kernel) else constant(term) for term in _summed(terms)))

    def multiply(self, factors: list[Any]) -> Any:
        # from left to right, as Python does; kernels in a row at once, since each product looks at all its factors
        value, row = factors[0], []
        for factor in factors[1:]:
            if isinstance(value, Kernel) and isinstance(factor, Kernel):
                row.append(factor)
                continue
            value = (Product((value, *row)) if row else value) * factor
            row = []
        return Product((value, *row)) if row else value

    def subtract(self, left: Any, right: Any) -> Any:
        return left - right

    def divide(self, left: Any, right: Any) -> Any:
        return left / right

    def negate(self, kernel: Kernel) -> Any:
        return -kernel


def _summed(terms: list[Any]) -> list[Any]:
    """The numbers before the first kernel as one number, as 1 + 2 + k is 3 + k."""
    first = next(i for i, term in enumerate(terms) if isinstance(term, Kernel))
    return [sum(terms[:first]), *terms[first:]] if first else terms


def _advice(name: str) -> str:
    """What to write instead of a name that no kernel has."""
    known = _ELSEWHERE.get(name) or _ELSEWHERE.get(name.lower())
    return f"; write {known}" if known else _similar(name, KERNELS)


def _similar(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    lower = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.7)
    return f"; did you mean {lower[near[0]]}(…)?" if near else ""


__all__ = ["KERNELS", "Kernels", "as_kernel", "parse"]
