"""Proofs from the rules that kernels state: which steps make the whole a kernel, which are missing, and their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.claims import Named


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a proof: by `rule`, `kernel` is a kernel, since the premises are; `because` is the argument.

    rule is None if no rule applies; `proven` is True if there is a rule here and at every premise.
    """

    kernel: Kernel = field(repr=False)
    rule: str | None
    because: str
    premises: tuple[Step, ...] = field(default=(), repr=False)
    proven: bool = True


def outline(kernel: Kernel) -> Step:
    """Return the steps below a kernel, without recursion; shared and equal terms are visited once."""
    made: dict[int, Step] = {}
    rules: dict[int, Derivation | None] = {}
    known: dict[str, list[Step]] = {}
    waiting = [kernel]
    held = [kernel]  # premises may be made on the spot; their ids are good as long as they live
    while waiting:
        node = waiting[-1]
        if id(node) in made:
            waiting.pop()
            continue
        if id(node) not in rules:
            rules[id(node)] = node.derivation()
        rule = rules[id(node)]
        missing = [p for p in rule.premises if id(p) not in made] if rule else []
        if missing:
            held.extend(missing)
            waiting.extend(reversed(missing))
            continue
        made[id(node)] = _same_or_new(_step(node, rule, made), known)
        waiting.pop()
    return made[id(kernel)]


def _step(node: Kernel, rule: Derivation | None, made: dict[int, Step]) -> Step:
    if rule is None:
        return Step(node, None, "no rule implies that it is a kernel", proven=False)
    premises = tuple(made[id(premise)] for premise in rule.premises)
    return Step(node, rule.rule, rule.because, premises, all(premise.proven for premise in premises))


def _same_or_new(step: Step, known: dict[str, list[Step]]) -> Step:
    """An equal kernel that was derived before, so that a proof repeats no step.

    Premises have been merged by then, so steps are equal if their kernels look alike and their premises are the same;
    two functions may share a name, so the fields are compared as well.
    """
    key = f"{type(step.kernel).__name__} {step.rule} {step.because}"
    if step.kernel.children and not step.premises:  # k ** 0: what it is made of does not show in the premises
        return step
    for other in known.setdefault(key, []):
        same_premises = len(other.premises) == len(step.premises) and all(
            a is b for a, b in zip(other.premises, step.premises, strict=True)
        )
        if same_premises and _own(other.kernel) == _own(step.kernel):
            return other
    known[key].append(step)
    return step


def _own(kernel: Kernel) -> list[object]:
    """The fields of a node that are not kernels."""
    own: list[object] = []
    for name, value in vars(kernel).items():
        below = isinstance(value, Kernel) or (isinstance(value, tuple) and any(isinstance(v, Kernel) for v in value))
        own.append((name, None if below else value))
    return own


def in_order(root: Step) -> Iterator[Step]:
    """All steps, premises before conclusions, each once."""
    done: set[int] = set()
    waiting = [root]
    while waiting:
        step = waiting[-1]
        missing = [p for p in step.premises if id(p) not in done]
        if id(step) in done or not missing:
            waiting.pop()
            if id(step) not in done:
                done.add(id(step))
                yield step
        else:
            waiting.extend(reversed(missing))


def gaps(root: Step) -> list[Step]:
    """The steps without a rule."""
    return [step for step in in_order(root) if step.rule is None]


#: A kernel of more nodes than this is named by its parts: a text that doubles at every level would fill the memory.
MAX_NODES = 30

#: Longer texts, such as those of large matrices, are cut.
MAX_LENGTH = 200


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
        kernel = kernel.with_children(tuple(Named(child, name) for child, name in pairs))
    return shortened(repr(kernel))


def shortened(text: str) -> str:
    """The text, cut if it is very long."""
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}… ({len(text)} characters)"


def name(kernel: Kernel) -> str:
    """The text of a kernel, or its outermost form if it is large."""
    if is_small(kernel):
        return shortened(repr(kernel))
    parts = tuple(Named(child, "…") for child in kernel.children)
    return shortened(repr(kernel.with_children(parts)))
