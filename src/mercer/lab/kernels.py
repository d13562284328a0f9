"""The kernel of a page: read from its text, with sliders for its numbers, blocks to build it, and its proof."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from time import process_time
from typing import Any

import numpy as np

from mercer.errors import InputError, MercerError, shown
from mercer.kernels.base import Kernel
from mercer.kernels.claims import read_claim
from mercer.kernels.fields import Rule, own_fields
from mercer.kernels.latex import latex
from mercer.lab.state import BOX, MAX_KERNEL, PLANE, DrawnPoints
from mercer.validity import find_counterexample
from mercer.validity.witness import CounterExample

#: Range of logarithmic sliders of positive numbers, extended if a value in the text lies outside.
LEAST, MOST = 0.05, 20.0

#: Whole numbers of kernels on words and graphs, where they are lengths that cost time, and of others.
LONGEST, HIGHEST = 16, 1000

#: Largest number of mismatches: each one multiplies the number of neighboring words by hundreds.
LETTERS = 2

#: Terms and operations of a kernel: the work for a picture grows with their number.
TERMS = 24

#: Seconds of processor time for the kernel values of one picture, and numbers of rows on which the time is measured.
SECONDS, SAMPLES = 5.0, (1, 8, 32, 128, 128)

#: Blocks that can be added to a kernel, by their name in the menu.
BLOCKS = {
    "Gaussian": "Gaussian(length_scale=1.0)", "Linear": "Linear()", "Polynomial": "Polynomial(degree=2, offset=1.0)",
    "Laplacian": "Laplacian(length_scale=1.0)", "Exponential": "Exponential(length_scale=1.0)",
    "Matern": "Matern(nu=1.5, length_scale=1.0)", "RationalQuadratic": "RationalQuadratic(shape=1.0, length_scale=1.0)",
    "Periodic": "Periodic(period=2.0, length_scale=1.0)", "Constant": "Constant(value=1.0)",
    "Tanh (no kernel)": "Tanh(scale=1.0, offset=-1.0)", "Spectrum (words)": "Spectrum(p=2)",
    "Subsequence (words)": "Subsequence(p=2, decay=0.5)",
}  # fmt: skip

VERBS = {"start": "replace by", "sum": "+", "difference": "−", "product": "×", "exp": "exp", "normalized": "normalized"}


@dataclass(frozen=True)
class Knob:
    """A number inside a kernel with the slider that turns it."""

    path: str  # of get_params, with an index for one of several length scales
    label: str
    value: float
    scale: str  # "log", "linear" or "whole"
    least: float
    most: float


@dataclass(frozen=True)
class KernelVerdict:
    """Whether a kernel is valid, its formula, and the proof or counter-example."""

    status: str  # "valid", "invalid" or "unproven"
    formula: str  # LaTeX
    text: str
    counterexample: CounterExample | None


def read(text: str) -> Kernel:
    """Return the kernel of a text, or a function that is not known to be one; the text is parsed, not run."""
    if len(text) > MAX_KERNEL:
        raise InputError(f"the kernel of a page is a text of at most {MAX_KERNEL} characters.")
    kernel = read_claim(text)
    if kernel.given:
        raise InputError("Precomputed() takes its values from a matrix, and this page has none; write a kernel of points.")
    nodes = list(islice(_nodes(kernel), TERMS + 1))
    if len(nodes) > TERMS:
        raise InputError(f"a kernel has at most {TERMS} terms and operations on this page, so that it stays quick.")
    for node in nodes:
        for name, value in own_fields(node).items():
            most = (
                LETTERS
                if name == "mismatches"
                else LONGEST
                if not node.children and node.domains & {"strings", "graphs"}
                else HIGHEST
            )
            if isinstance(value, int) and abs(value) > most:
                owner = type(node).__name__
                raise InputError(f"{owner}: {name} is at most {most} on this page, so that it stays quick; got {value}.")
    return kernel


def _nodes(kernel: Kernel) -> Iterator[Kernel]:
    yield kernel
    for child in kernel.children:
        yield from _nodes(child)


def check_work(kernel: Kernel, rows: Any, cells: int) -> None:
    """Raise if the values of a kernel on the rows of a page and the cells of its picture take longer than `SECONDS`."""
    n, seconds = len(rows), 0.0
    if n < 3:  # a picture of so few rows is quick, or says what is missing
        return
    for size in SAMPLES:  # small samples overestimate
        part = rows[: min(n, size)]
        spent = _measured(kernel, part)
        if spent > 0.1 * SECONDS:  # perhaps compiled loops were loaded
            spent = min(spent, _measured(kernel, part))
        seconds = spent * n * (n + cells) / len(part) ** 2
        if seconds <= SECONDS:
            return
        if spent > 0.1 * SECONDS:
            break
    raise InputError(
        f"the kernel values of this picture take about {seconds:.0f} s, and a page allows {SECONDS:.0f} s; choose fewer "
        "points, or a kernel of fewer terms."
    )


def _measured(kernel: Kernel, part: Any) -> float:
    begun = process_time()
    kernel(part, part[:])
    return process_time() - begun


@lru_cache(maxsize=64)
def verdict(kernel: Kernel) -> KernelVerdict:
    """Return the formula of a kernel, and its proof or a counter-example."""
    found = kernel.certificate()
    return KernelVerdict(found.status, latex(kernel), str(found), found.counterexample)


def break_it(kernel: Kernel, rows: Any) -> tuple[str, CounterExample | None]:
    """Try to refute a kernel, also at the rows of the page; return the result as text."""
    known = verdict(kernel)
    if known.status == "valid":
        return f"It cannot be broken: there is a proof.\n\n{known.text}", None
    found = known.counterexample
    if found is None:
        try:
            found = find_counterexample(kernel, rows)
        except MercerError as error:
            return f"The rows of the page could not be tried: {error}", None
    if found is None:
        return f"Not broken, neither at generated points nor at those of the page.\n\n{known.text}", None
    return f"Broken.\n\n{found}", found


def as_points(found: CounterExample) -> DrawnPoints | None:
    """The points of a counter-example on the page, if they are one or two columns and lie in its square."""
    points = np.asarray(found.points) if not isinstance(found.points, (list, tuple)) else None
    if points is None or points.dtype.kind != "f" or points.ndim != 2 or points.shape[1] > 2 or np.abs(points).max() > BOX:
        return None
    wide = np.column_stack([points, np.zeros((len(points), 2 - points.shape[1]))])
    return DrawnPoints(tuple((float(x), float(y), i % 2) for i, (x, y) in enumerate(wide)), PLANE)


def combined(text: str, verb: str, block: str) -> str:
    """Return the text of a kernel with a block added; if there is no kernel yet, the block."""
    if verb not in VERBS or block not in BLOCKS:
        raise InputError(f"a block is one of {', '.join(BLOCKS)}, put on by {', '.join(VERBS)}; got {shown((verb, block))}.")
    other = BLOCKS[block]
    if verb == "start":
        return other
    kernel = repr(read(text))
    if verb in ("exp", "normalized"):
        return repr(read(f"({kernel}).{verb}()"))
    sign = {"sum": "+", "difference": "-", "product": "*"}[verb]
    return repr(read(f"({kernel}) {sign} {other}"))


# -- sliders -----------------------------------------------------------------------------------------------------------


def knobs(kernel: Kernel) -> list[Knob]:
    """Return the numbers of a kernel that have a slider, with their allowed ranges."""
    found = list(_walk(kernel, "", ""))
    names = [knob.label for knob in found]
    for i, knob in enumerate(found):  # the same name twice gets a number
        if names.count(knob.label) > 1:
            which = names[: i + 1].count(knob.label)
            found[i] = dataclasses.replace(knob, label=f"{knob.label} ({which})")
    return found


def turned(kernel: Kernel, path: str, value: float) -> Kernel:
    """The kernel with one number replaced."""
    if path.endswith("]"):
        path, _, index = path[:-1].rpartition("[")
        several = list(kernel.get_params(deep=True)[path])
        several[int(index)] = value
        return kernel.set_params(**{path: tuple(several)})
    current = kernel.get_params(deep=True)[path]
    return kernel.set_params(**{path: int(value) if isinstance(current, int) else float(value)})


def _walk(kernel: Kernel, path: str, owner: str) -> Iterator[Knob]:
    name = type(kernel).__name__
    for item in dataclasses.fields(kernel):  # type: ignore[arg-type]
        rule, value = item.metadata.get("rule"), vars(kernel)[item.name]
        if not isinstance(rule, Rule) or isinstance(value, bool):
            continue
        label = f"{name} {item.name}" if name not in ("Scaled", "Negative") else "factor"
        if isinstance(value, (int, float)):
            yield from _knob(rule, f"{path}{item.name}", label, value)
        elif isinstance(value, tuple) and len(value) <= 3 and all(isinstance(v, float) for v in value):
            for i, v in enumerate(value):
                yield from _knob(_one_of_several(rule), f"{path}{item.name}[{i}]", f"{label}[{i}]", v)
    for number, child in enumerate(kernel.children):
        yield from _walk(child, f"{path}{number}__", name)


def _knob(rule: Rule, path: str, label: str, value: float) -> Iterator[Knob]:
    if _takes(rule, 2) and not _takes(rule, 1.5):
        least = next((n for n in range(6) if _takes(rule, n)), 6)
        yield Knob(path, label, value, "whole", least, max(10, value))
    elif _takes(rule, 1.5) and not _takes(rule, 0.0):
        yield Knob(path, label, value, "log", min(LEAST, value), max(MOST if _takes(rule, MOST) else 1.0, value))
    elif _takes(rule, 1.5):
        signed = _takes(rule, -1.5)
        yield Knob(path, label, value, "linear", min(-5.0, value) if signed else 0.0, max(5.0, value))
    elif _takes(rule, 0.5):  # a share, such as the decay of a string kernel
        yield Knob(path, label, value, "linear", 0.05, 1.0 if _takes(rule, 1.0) else 0.99)


def _takes(rule: Rule, value: float) -> bool:
    try:
        rule.coerce(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _one_of_several(rule: Rule) -> Rule:
    return dataclasses.replace(rule, coerce=lambda value: rule.coerce((value,)))
