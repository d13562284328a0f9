"""What to call a kernel in a proof: its text, or, for a large one, its text in terms of earlier steps."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.arrays import Array
from mercer.kernels.algebra import Wrapper
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.numeric.encodings import Encoding
from mercer.validity.derive import Step

#: A kernel of more nodes than this is named by its parts: a text that doubles at every level would fill the memory.
MAX_NODES = 30

#: Longer texts, such as those of large matrices, are cut.
MAX_LENGTH = 200


@dataclass(frozen=True, repr=False, eq=False)
class Named(Wrapper):
    """A kernel that is printed under a name and otherwise is what it was."""

    inner: Kernel
    name: str

    @property
    def children(self) -> tuple[Kernel, ...]:
        return ()

    def _block(self, pair: Pair) -> Array:
        return self.inner._block(pair)

    def _diag(self, encoding: Encoding) -> Array:
        return self.inner._diag(encoding)

    def _text(self) -> str:
        return self.name


def is_small(kernel: Kernel) -> bool:
    """True if the tree, written out, has at most MAX_NODES nodes; a larger one is not walked to its end."""
    count, waiting = 0, [kernel]
    while waiting:
        count += 1
        if count > MAX_NODES:
            return False
        waiting.extend(waiting.pop().children)
    return True


def label(step: Step, numbers: dict[int, int]) -> str:
    """The text of the kernel of a step; numbers[id(step)] is the number of an earlier step."""
    kernel = step.kernel
    if not is_small(kernel):
        if len(step.premises) == len(kernel.children):
            names = [f"[{numbers[id(premise)]}]" for premise in step.premises]
        else:
            names = ["…"] * len(kernel.children)
        pairs = zip(kernel.children, names, strict=True)
        kernel = kernel._with_children(tuple(Named(child, name) for child, name in pairs))
    return shortened(repr(kernel))


def shortened(text: str) -> str:
    """The text, cut if it is very long."""
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}… ({len(text)} characters)"


def name(kernel: Kernel) -> str:
    """The text of a kernel, or its outermost form if it is large."""
    if is_small(kernel):
        return shortened(repr(kernel))
    parts = tuple(Named(child, "…") for child in kernel.children)
    return shortened(repr(kernel._with_children(parts)))
