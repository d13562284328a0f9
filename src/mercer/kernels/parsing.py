"""Kernels from text: one pass over the text, in linear time. Nothing is evaluated as Python.

    sum     = product { ("+" | "-") product }          postfix = atom { "." name "(" arguments ")" }
    product = power { ("*" | "/") power }              atom    = number | string | name | name "(" arguments ")"
    power   = { "-" | "+" } postfix [ "**" power ]               | "(" sum ")" | "(" items ")" | "[" items "]"

`Reader` reads the grammar. A `Language` gives the meaning of operators and names; `Kernels` is the language of kernels.
`parse(repr(k)) == k` for every kernel without unregistered functions. The same text is the command-line argument, the
heading of a report and the id of a test.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Protocol

from mercer.errors import InputError, ParseError, describe
from mercer.kernels.algebra import Product, Sum, constant
from mercer.kernels.base import Kernel
from mercer.kernels.functions import registered
from mercer.kernels.stationary import Gaussian
from mercer.registry import public_names

#: Deeper expressions raise an error, because functions on kernels are recursive.
MAX_DEPTH = 100

#: Whole numbers of more digits are read as floats, which no field for whole numbers takes.
WHOLE_DIGITS = 18

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?!\w)|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<sign>\*\*|[-+*/().,=\[\]]))""",
    re.DOTALL,
)

END = "end"


class Language(Protocol):
    """What an expression means; errors are InputErrors, and get their place in the text here."""

    def name(self, name: str) -> Any:
        """The value of a name without brackets."""

    def call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """name(…)."""

    def method(self, owner: Any, verb: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """owner.verb(…); the owner is a kernel, or the name of a class."""

    def problem(self, owner: Any, verb: str) -> str:
        """The problem with a method, before its arguments are read; empty if there is none."""

    def add(self, terms: list[Any]) -> Any:
        """The sum of two or more kernels and numbers, at least one of them a kernel."""

    def multiply(self, factors: list[Any]) -> Any:
        """The product of two or more kernels and numbers, at least one of them a kernel."""

    def subtract(self, left: Any, right: Any) -> Any:
        """left - right, of kernels and numbers."""

    def divide(self, left: Any, right: Any) -> Any:
        """left / right, of kernels and numbers."""

    def negate(self, kernel: Kernel) -> Any:
        """- kernel."""


class Reader:
    """One text on its way to a kernel."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = " ".join(text.splitlines()).strip()
        self.language = language
        self.place = 0
        self.kind, self.token, self.position = END, "", 0

    def read(self) -> Any:
        """The value of the whole text."""
        if not self.text:
            raise ParseError("the text is empty; a kernel was expected, such as Gaussian(length_scale=1.0)", self.text, 0)
        self.step()
        value = self.sum(0)
        if self.kind != END:
            raise self.unexpected()
        return value

    # -- tokens ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go on to the next token."""
        found = _TOKEN.match(self.text, self.place)
        if found is not None:
            self.kind = str(found.lastgroup)
            self.token, self.position, self.place = found.group(self.kind), found.start(self.kind), found.end()
            return
        rest = len(self.text) - len(self.text[self.place :].lstrip())
        self.kind, self.token, self.position = ("odd", self.text[rest], rest) if rest < len(self.text) else (END, "", rest)

    def at(self, *signs: str) -> bool:
        """Whether the token is one of these signs."""
        return self.kind == "sign" and self.token in signs

    def fail(self, message: str, position: int) -> ParseError:
        return ParseError(message, self.text, position)

    def unexpected(self, opened: int | None = None) -> ParseError:
        what = "the text ends here" if self.kind == END else f"{self.token!r} is out of place"
        if opened is not None and self.kind == END:
            return self.fail("cannot read this: the bracket is never closed", opened)
        return self.fail(
            f"cannot read this: {what}; kernels, numbers, + * ** and methods such as .exp() were expected", self.position
        )

    def close(self, bracket: str, opened: int) -> None:
        """Step over a closing bracket."""
        if not self.at(bracket):
            raise self.unexpected(opened)
        self.step()

    # -- operators ---------------------------------------------------------------------------------------------------

    def sum(self, depth: int) -> Any:
        """A chain of + and -, from left to right."""
        if depth > MAX_DEPTH:
            raise self.fail(f"expressions are nested at most {MAX_DEPTH} deep", self.position)
        start = self.position
        chain = [self.product(depth)]
        while self.at("+", "-"):
            sign = self.token
            self.step()
            where = self.position
            right = self.product(depth)
            self.check(chain[0], start)
            self.check(right, where)
            if sign == "+":
                chain.append(right)
            else:
                chain = [self.joined(self.language.subtract, start, self.added(chain, start), right)]
        return self.added(chain, start)

    def added(self, chain: list[Any], start: int) -> Any:
        if len(chain) == 1:
            return chain[0]
        if not any(isinstance(value, Kernel) for value in chain):
            return sum(chain)
        return self.guarded(lambda: self.language.add(chain), start)

    def product(self, depth: int) -> Any:
        """A chain of * and /, from left to right."""
        start = self.position
        chain = [self.power(depth)]
        while self.at("*", "/"):
            sign = self.token
            self.step()
            where = self.position
            right = self.power(depth)
            self.check(chain[0], start)
            self.check(right, where)
            if sign == "*":
                chain.append(right)
            else:
                left = self.multiplied(chain, start)
                chain = [self.joined(self.language.divide, start, left, right)]
        return self.multiplied(chain, start)

    def multiplied(self, chain: list[Any], start: int) -> Any:
        if len(chain) == 1:
            return chain[0]
        if not any(isinstance(value, Kernel) for value in chain):
            total = chain[0]
            for factor in chain[1:]:
                total = total * factor
            return total
        return self.guarded(lambda: self.language.multiply(chain), start)

    def power(self, depth: int) -> Any:
        """Signs, their operand, and a power, which binds more tightly than signs."""
        start, minus = self.position, False
        while self.at("+", "-"):
            minus ^= self.token == "-"
            self.step()
        signed = self.position != start
        inner = self.position
        value = self.postfix(depth)
        if self.at("**"):
            self.step()
            where = self.position
            exponent = self.power(depth + 1) if depth < MAX_DEPTH else self.sum(depth + 1)
            self.check(value, inner)
            self.check(exponent, where)
            if not isinstance(value, Kernel) or isinstance(exponent, Kernel):
                raise self.fail("only + * and ** with a whole number combine kernels", inner)
            value = self.guarded(lambda: value**exponent, inner)
        if not signed:
            return value
        if isinstance(value, bool) or not isinstance(value, (Kernel, int, float)):
            raise self.fail("a sign is allowed before a number only", start)
        if not minus:
            return value
        return self.guarded(lambda: self.language.negate(value), start) if isinstance(value, Kernel) else -value

    def check(self, value: Any, where: int) -> None:
        if not isinstance(value, (Kernel, int, float)) or isinstance(value, bool):
            raise self.fail(f"a kernel or a number was expected, not {describe(value)}", where)

    def joined(self, operation: Any, start: int, left: Any, right: Any) -> Any:
        return self.guarded(lambda: operation(left, right), start)

    def guarded(self, work: Any, where: int) -> Any:
        """Run `work` and add the position in the text to an error that it raises."""
        try:
            return work()
        except InputError as error:
            raise self.fail(str(error), where) from None
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, RecursionError) as error:
            text = str(error).replace(".__init__()", "()")
            raise self.fail(text if isinstance(error, TypeError) else f"these do not combine: {text}", where) from None

    # -- names, numbers, brackets -------------------------------------------------------------------------------------

    def postfix(self, depth: int) -> Any:
        """An atom and the methods called on it."""
        start, levels = self.position, depth
        value = self.atom(depth)
        while self.at("."):
            self.step()
            verb, where = self.token, self.position
            if self.kind != "name":
                raise self.unexpected()
            self.step()
            levels += 1
            if levels > MAX_DEPTH:
                raise self.fail(f"expressions are nested at most {MAX_DEPTH} deep", where)
            if not self.at("("):
                raise self.unexpected()
            problem = self.language.problem(value, verb)
            if problem:
                raise self.fail(problem, where if problem.startswith("there is no method") else start)
            value = self.called(lambda a, k, owner=value, verb=verb: self.language.method(owner, verb, a, k), start, depth)
        if isinstance(value, ClassName):
            raise self.fail(f"{value.name} needs brackets: {value.name}(…)", start)
        return value

    def atom(self, depth: int) -> Any:
        kind, token, start = self.kind, self.token, self.position
        if kind == "number":
            self.step()
            return _number(token)
        if kind == "string":
            self.step()
            return self.guarded(lambda: _string(token), start)
        if kind == "name":
            self.step()
            if token in ("True", "False"):
                return token == "True"
            if self.at("("):
                return self.called(lambda a, k: self.language.call(token, a, k), start, depth)
            return self.guarded(lambda: self.language.name(token), start)
        if self.at("(", "["):
            return self.bracket(depth)
        raise self.unexpected()

    def bracket(self, depth: int) -> Any:
        """A bracket around an expression, or a list or tuple of some."""
        opened, closing = self.position, ")" if self.token == "(" else "]"
        square = self.token == "["
        self.step()
        items, comma = [], False
        while not self.at(closing):
            items.append(self.sum(depth + 1))
            comma = self.at(",") or comma
            if not self.at(","):
                break
            self.step()
        self.close(closing, opened)
        return tuple(items) if square or comma or not items else items[0]

    def called(self, function: Any, start: int, depth: int) -> Any:
        """A call, with the value of its arguments."""
        opened = self.position
        self.step()
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        while not self.at(")"):
            where, name = self.position, self.keyword()
            if name is None and keywords:
                raise self.fail("an argument without a name follows one with a name", where)
            value = self.sum(depth + 1)
            if name is None:
                arguments.append(value)
            elif name in keywords:
                raise self.fail(f"{name} is given twice", where)
            else:
                keywords[name] = value
            if not self.at(","):
                break
            self.step()
        self.close(")", opened)
        return self.guarded(lambda: function(arguments, keywords), start)

    def keyword(self) -> str | None:
        """The name before an =, if there is one."""
        if self.kind != "name" or not re.compile(r"\s*=").match(self.text, self.place):
            return None
        name = self.token
        self.step()
        self.step()
        return name


class ClassName:
    """The name of a kernel without brackets: Gaussian in Gaussian.from_gamma(0.5)."""

    def __init__(self, name: str) -> None:
        self.name = name


def _string(token: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an unknown escape is only warned of
        try:
            return ast.literal_eval(token)
        except (SyntaxError, ValueError, Warning) as error:
            raise InputError(f"cannot read this string: {error}") from None


def _number(token: str) -> int | float:
    if token.isdigit() and len(token) <= WHOLE_DIGITS:
        return int(token)
    return float(token)


def _public_kernels() -> Iterator[type[Kernel]]:
    """The kernels among the public names, which are listed once, in __init__.pyi."""
    for name, module in public_names().items():
        if module.startswith("mercer.kernels.") and module != __name__:
            found = getattr(import_module(module), name)
            if isinstance(found, type) and issubclass(found, Kernel) and found is not Kernel:
                yield found


#: Every kernel that a text may name.
KERNELS: dict[str, type[Kernel]] = {kind.__name__: kind for kind in _public_kernels()}

_VERBS = (
    "exp", "polynomial", "normalized", "tanimoto", "map", "weighted", "on", "linear", "dates", "time", "lead_lag",
    "base_point", "descriptors",
)  # fmt: skip
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

#: Longer texts raise an error.
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
    if callable(value):
        raise InputError(
            f"kernel: a function is not a kernel by itself; mercer.Function(f) makes one of k(x, z) = f(x, z), got "
            f"{describe(value)}. For a matrix of your own use mercer.Precomputed()."
        )
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
        """The problem with a method, before its arguments are read; empty if there is none."""
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
        # from left to right, as Python does; kernels in a row at once, because each product checks all its factors
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
