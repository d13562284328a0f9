"""Text to kernel: a safe walk over Python's syntax tree. Nothing is ever evaluated as Python.

`parse(repr(k)) == k` for every kernel without unregistered functions. The same text is the command-line argument, the
heading of a report and the id of a test.
"""

from __future__ import annotations

import ast
from typing import Any

from mercer.errors import InputError, ParseError, describe
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Cosines, SpectralMixture
from mercer.kernels.functions import Function, Precomputed
from mercer.kernels.graphs import (
    EdgeHistogram,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.kernels.matern import Matern
from mercer.kernels.names import registered
from mercer.kernels.periodic import Periodic
from mercer.kernels.stationary import Exponential, Gaussian, Laplacian, RationalQuadratic
from mercer.kernels.strings.all_substrings import AllSubstrings
from mercer.kernels.strings.gapped import GappedSpectrum, Mismatch
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequence import Subsequence
from mercer.kernels.strings.weighted_degree import WeightedDegree
from mercer.kernels.vectors import Bilinear, Constant, Linear, Polynomial, Tanh

#: Every kernel that a text may name.
KERNELS: dict[str, type[Kernel]] = {
    kind.__name__: kind
    for kind in (
        AllSubstrings, Bilinear, Constant, Cosines, EdgeHistogram, Exponential, Function, GappedSpectrum, Gaussian,
        Graphlet, Laplacian, Linear, Matern, Mismatch, Periodic, Polynomial, Precomputed, RandomWalk,
        RationalQuadratic, ShortestPath, SpectralMixture, Spectrum, Subsequence, Tanh, VertexHistogram,
        WLOptimalAssignment, WeightedDegree, WeisfeilerLehman,
    )
}  # fmt: skip

_VERBS = ("exp", "polynomial", "normalized", "map", "weighted", "on")
_CONVERSIONS = ("from_gamma", "from_width", "from_variance", "from_denominator")

#: What users of other libraries write, and the text to write here.
_ELSEWHERE = {
    "rbf": "Gaussian.from_gamma(0.5)", "gaussian": "Gaussian(length_scale=1.0)", "linear": "Linear()",
    "poly": "Polynomial(degree=3, offset=1.0)", "polynomial": "Polynomial(degree=3, offset=1.0)",
    "sigmoid": "Tanh(scale=1.0, offset=0.0)", "laplacian": "Laplacian(length_scale=1.0)",
    "cosine": "Linear().normalized()", "precomputed": "Precomputed()", "matern": "Matern(nu=1.5, length_scale=1.0)",
}  # fmt: skip

#: Longer texts, and deeper ones, are refused: Python's own parser may fail on them in ways nobody can catch.
MAX_LENGTH, MAX_DEPTH = 5_000_000, 100


def parse(text: str) -> Kernel:
    """Return the kernel that a text describes.

    >>> parse("2.0 * Gaussian(length_scale=1.5) + Linear()")
    2.0 * Gaussian(length_scale=1.5) + Linear()
    """
    if not isinstance(text, str):
        raise InputError(f"parse takes the text of a kernel; got {describe(text)}.")
    if text.strip() in _ELSEWHERE:
        raise InputError(f"{text.strip()!r} is not a kernel here; write {_ELSEWHERE[text.strip()]!r}.")
    if len(text) > MAX_LENGTH:
        raise InputError(f"the text of a kernel has at most {MAX_LENGTH} characters; this one has {len(text)}.")
    value = _Reader(text).read()
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
    raise InputError(f"kernel must be a kernel such as Gaussian(length_scale=1.0), or its text; got {describe(value)}.")


class _Reader:
    """One text on its way to a kernel."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.splitlines()).strip()

    def read(self) -> Any:
        if not self.text:
            raise ParseError("the text is empty; a kernel was expected, such as Gaussian(length_scale=1.0)", self.text, 0)
        try:
            tree = ast.parse(self.text, mode="eval")
        except SyntaxError as error:
            # Python gives offset 0 when the text ends too early
            position = min(error.offset - 1, len(self.text)) if error.offset else len(self.text)
            expected = "a kernel, a number or an operator was expected here"
            raise ParseError(f"cannot read this: {error.msg}; {expected}", self.text, position) from None
        except (ValueError, RecursionError, MemoryError):
            raise ParseError("cannot read this: too deep, or it holds a null character", self.text[:80], 0) from None
        return self.visit(tree.body, 0)

    def fail(self, message: str, node: ast.AST) -> ParseError:
        # ast counts bytes of UTF-8, people count characters
        offset = getattr(node, "col_offset", 0)
        return ParseError(message, self.text, len(self.text.encode()[:offset].decode(errors="ignore")))

    def visit(self, node: ast.AST, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.fail(f"expressions are nested at most {MAX_DEPTH} deep", node)
        match node:
            case ast.BinOp():
                return self.operation(node, depth)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.sign(node, depth)
            case ast.Call(func=ast.Name()):
                return self.construct(node, depth)
            case ast.Call(func=ast.Attribute()):
                return self.verb(node, depth)
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.Tuple() | ast.List():
                return tuple(self.visit(item, depth + 1) for item in node.elts)
            case ast.Name():
                return self.name(node)
        raise self.fail("kernels, numbers, + * ** and methods such as .exp() were expected", node)

    def name(self, node: ast.Name) -> Any:
        function = registered(node.id)
        if function is not None:
            return function
        if node.id in KERNELS:
            raise self.fail(f"{node.id} needs brackets: {node.id}(…)", node)
        raise self.fail(f"{node.id!r} is not known; register functions first: mercer.register(name, function)", node)

    def operation(self, node: ast.BinOp, depth: int) -> Any:
        # a + b + c + … is a tower of nodes that leans to the left: climbed in a loop, since a sum may have many terms
        tower = [node]
        while isinstance(tower[-1].left, ast.BinOp):
            tower.append(tower[-1].left)
        value = self.visit(tower[-1].left, depth + 1)
        for step in reversed(tower):
            value = self.combine(value, self.visit(step.right, depth + 1), step)
        return value

    def combine(self, left: Any, right: Any, node: ast.BinOp) -> Any:
        for value, side in ((left, node.left), (right, node.right)):
            if not isinstance(value, (Kernel, int, float)) or isinstance(value, bool):
                raise self.fail(f"a kernel or a number was expected, not {describe(value)}", side)
        try:
            match node.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.Div():
                    return left / right
                case ast.Pow() if isinstance(left, Kernel) and not isinstance(right, Kernel):
                    return left**right
        except InputError as error:
            raise self.fail(str(error), node) from None
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise self.fail(f"these do not combine: {error}", node) from None
        raise self.fail("only + * and ** with a whole number combine kernels", node)

    def sign(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self.visit(node.operand, depth + 1)
        try:
            return -value if isinstance(node.op, ast.USub) else +value
        except InputError as error:
            raise self.fail(str(error), node) from None
        except TypeError:
            raise self.fail("a sign stands before a number only", node) from None

    def construct(self, node: ast.Call, depth: int) -> Any:
        assert isinstance(node.func, ast.Name)
        own = registered(node.func.id)
        if isinstance(own, type) and issubclass(own, Kernel):
            return self.call(own, node, depth)
        if node.func.id not in KERNELS:
            hint = f"; write {_ELSEWHERE[node.func.id]}" if node.func.id in _ELSEWHERE else ""
            raise self.fail(f"there is no kernel {node.func.id!r}{hint}; there are {', '.join(KERNELS)}", node)
        return self.call(KERNELS[node.func.id], node, depth)

    def verb(self, node: ast.Call, depth: int) -> Any:
        assert isinstance(node.func, ast.Attribute)
        verb, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id == "Gaussian" and verb in _CONVERSIONS:
            return self.call(getattr(Gaussian, verb), node, depth)
        if verb == "centered":
            raise self.fail("centered(sample) holds data, which a text cannot; center in Python", node)
        if verb not in _VERBS:
            dot = ast.Name(id=verb, col_offset=(node.func.end_col_offset or len(verb)) - len(verb))
            raise self.fail(f"there is no method .{verb}(); there are .{'(), .'.join(_VERBS)}()", dot)
        value = self.visit(owner, depth + 1)
        if not isinstance(value, Kernel):
            raise self.fail(f".{verb}() belongs to a kernel, not to {describe(value)}", owner)
        return self.call(getattr(value, verb), node, depth)

    def call(self, function: Any, node: ast.Call, depth: int) -> Any:
        arguments = [self.visit(argument, depth + 1) for argument in node.args]
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail("** arguments are not read", node)
            keywords[keyword.arg] = self.visit(keyword.value, depth + 1)
        try:
            return function(*arguments, **keywords)
        except InputError as error:
            raise self.fail(str(error), node) from None
        except TypeError as error:
            raise self.fail(str(error).replace(".__init__()", "()"), node) from None


__all__ = ["KERNELS", "as_kernel", "parse"]
