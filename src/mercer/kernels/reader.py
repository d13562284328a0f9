"""The reader of kernel expressions: one pass over the text, nothing evaluated as Python, time linear in its length.

    sum     = product { ("+" | "-") product }          postfix = atom { "." name "(" arguments ")" }
    product = power { ("*" | "/") power }              atom    = number | string | name | name "(" arguments ")"
    power   = { "-" | "+" } postfix [ "**" power ]               | "(" sum ")" | "(" items ")" | "[" items "]"

What the operators and names mean is said by a `Language`; long sums and products are handed over whole.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, Protocol

from mercer.errors import InputError, ParseError, describe
from mercer.kernels.base import Kernel

#: Deeper expressions are refused: kernels are walked by functions that call themselves.
MAX_DEPTH = 100

#: Whole numbers of more digits are read as floats, which no field for whole numbers takes.
WHOLE_DIGITS = 18

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?!\w)|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<sign>\*\*|[-+*/().,=\[\]]))""",
    re.DOTALL,
)

Token = tuple[str, str, int]  # kind, text, position
END = "end"


class Language(Protocol):
    """What an expression means; errors are InputErrors, and get their place in the text here."""

    def name(self, name: str) -> Any:
        """The value of a name that stands alone."""

    def call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """name(…)."""

    def method(self, owner: Any, verb: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """owner.verb(…); the owner is a kernel, or the name of a class."""

    def problem(self, owner: Any, verb: str) -> str:
        """What is wrong with a method, before its arguments are read; empty if nothing is."""

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
        """Signs, what they stand before, and a power, which binds more tightly than they do."""
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
            raise self.fail("a sign stands before a number only", start)
        if not minus:
            return value
        return self.guarded(lambda: self.language.negate(value), start) if isinstance(value, Kernel) else -value

    def check(self, value: Any, where: int) -> None:
        if not isinstance(value, (Kernel, int, float)) or isinstance(value, bool):
            raise self.fail(f"a kernel or a number was expected, not {describe(value)}", where)

    def joined(self, operation: Any, start: int, left: Any, right: Any) -> Any:
        return self.guarded(lambda: operation(left, right), start)

    def guarded(self, work: Any, where: int) -> Any:
        """Do something that may be refused, and say where it stands if it is."""
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
                raise self.fail("an argument without a name stands behind one with a name", where)
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
