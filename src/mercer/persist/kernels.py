"""Kernels as text and arrays: the text is what `parse` reads, and what no text can hold is kept beside it, by path."""

from __future__ import annotations

from typing import Any

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Cosines
from mercer.kernels.parsing import parse
from mercer.kernels.tables.cells import Missing
from mercer.kernels.vectors import Bilinear, Constant
from mercer.kernels.views import LinearMap
from mercer.kernels.wrappers import Centered, Repaired

#: What stands in the text where a part is kept beside it.
PLACE = Constant(1.0)

Part = tuple[str, list[Any]]  # path in the tree, and the name and arguments of what stands there


def split(kernel: Kernel) -> tuple[str, list[Part]]:
    """The text of a kernel, and the parts that hold data: samples and matrices."""
    parts = list(_parts(kernel, ""))
    bare = kernel
    for path, _ in parts:
        bare = _with(bare, path, PLACE)
    text = repr(bare)
    try:
        same = join(text, parts) == kernel
    except InputError as error:
        raise InputError(f"{kernel} cannot be saved, since its text cannot be read back: {error}") from None
    if not same:  # two functions of one name, or a class that prints like another
        raise InputError(
            f"{kernel} cannot be saved: reading its text gives another kernel. Give every function inside its own name: "
            "mercer.register(name, function)."
        )
    return text, parts


def join(text: str, parts: list[Part]) -> Kernel:
    """The inverse of split."""
    kernel = parse(text)
    for path, part in parts:
        kernel = _with(kernel, path, _made(part))
    return kernel


def _parts(kernel: Kernel, path: str) -> Any:
    if isinstance(kernel, Centered):
        data = kernel.sample.data
        yield path, ["centered", kernel.inner, list(data) if isinstance(data, tuple) else data]
    elif isinstance(kernel, Repaired):
        data = kernel.sample.data
        yield path, ["repaired", kernel.inner, list(data) if isinstance(data, tuple) else data, kernel.method]
    elif isinstance(kernel, Missing):
        data = kernel.sample.data
        yield path, ["missing", kernel.inner, list(data) if isinstance(data, tuple) else data, kernel.rule]
    elif isinstance(kernel, LinearMap):
        yield path, ["linear", kernel.inner, kernel.S.array]
    elif isinstance(kernel, Bilinear):
        yield path, ["bilinear", kernel.B.array]
    elif isinstance(kernel, Cosines):
        yield path, ["cosines", kernel.frequencies.array, kernel.weights.array]
    else:
        for number, child in enumerate(kernel.children):
            yield from _parts(child, f"{path}__{number}" if path else str(number))


def _made(part: list[Any]) -> Kernel:
    match part:
        case ["centered", Kernel() as inner, sample]:
            return inner.centered(sample)
        case ["repaired", Kernel() as inner, sample, str() as method]:
            return inner.repaired(sample, method)
        case ["missing", Kernel() as inner, sample, str() as rule]:
            return inner.missing(sample, rule)
        case ["linear", Kernel() as inner, S]:
            return inner.linear(S)
        case ["bilinear", B]:
            return Bilinear(B)
        case ["cosines", frequencies, weights]:
            return Cosines(frequencies, weights=weights)
    raise InputError("holds a part of a kernel that this version of mercer does not read.")


def _with(kernel: Kernel, path: str, part: Kernel) -> Kernel:
    return kernel.set_params(**{path: part}) if path else part
