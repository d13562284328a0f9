"""Certificates: a proof that a function is a kernel, a counter-example, or a report that neither was found."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field
from typing import Any

from mercer.errors import InputError, describe
from mercer.kernels.base import Kernel
from mercer.validity.counterexamples import search
from mercer.validity.proofs import Step, gaps, in_order, label, name, outline
from mercer.validity.witness import CounterExample

VALID, INVALID, UNPROVEN = "valid", "invalid", "unproven"

#: What the facts mean, with the domain for which they are stated.
FACTS = {
    "stationary": "stationary: it depends on x - z only, on every R^d",
    "characteristic on R^d": "characteristic: on all of R^d the mean of phi tells all distributions apart",
    "characteristic": "characteristic: on every compact subset of R^d the mean of phi tells all distributions apart",
    "universal": "universal: on every compact subset of R^d its functions come close to every continuous function",
}


@dataclass(frozen=True, eq=False)
class Certificate:
    """The status of a kernel, with the proof or the counter-example.

    `proof` is a tree of steps (kernel, rule, because, premises) if the status is "valid". `str()` is the proof in words,
    premises before conclusions, or the counter-example written out; `tree()` draws the derivation.

    >>> from mercer import Gaussian, Linear
    >>> print((Linear() + 2.0 * Gaussian(length_scale=1.0)).certificate().tree())
    Linear() + 2.0 * Gaussian(length_scale=1.0)   sum
    ├── Linear()   inner product
    └── 2.0 * Gaussian(length_scale=1.0)   scaling
        └── Gaussian(length_scale=1.0)   normalized exponential of an inner product
            └── (1.0 * Linear()).exp().normalized()   normalization
                └── (1.0 * Linear()).exp()   exponential
                    └── 1.0 * Linear()   scaling
                        └── Linear()   see above
    """

    status: str
    kernel: Kernel
    proof: Step | None = None
    counterexample: CounterExample | None = None
    facts: frozenset[str] = frozenset()
    searched: str = ""
    steps: Step | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.proof is not None:
            return self._proof_text(self.proof)
        if self.counterexample is not None:
            return str(self.counterexample)
        return self._unproven_text()

    def _repr_html_(self) -> str:
        color = {VALID: "#0072b2", INVALID: "#d55e00"}.get(self.status, "#666666")
        text = html.escape(str(self))
        return (
            f"<div><b style='color:{color}'>{self.status}</b> <code>{html.escape(repr(self.kernel))}</code>"
            f"<details open><summary>{'Proof' if self.proof is not None else 'Details'}</summary>"
            f"<pre style='white-space:pre-wrap'>{text}</pre></details></div>"
        )

    def _proof_text(self, proof: Step) -> str:
        lines = [f"{name(self.kernel)} is a kernel. Proof:"]
        numbers: dict[int, int] = {}
        for number, step in enumerate(in_order(proof), 1):
            numbers[id(step)] = number
            used = ", ".join(f"[{numbers[id(premise)]}]" for premise in step.premises)
            rule = f"from {used} by the rule: {step.rule}" if used else f"rule: {step.rule}"
            lines += [f"  [{number}] {label(step, numbers)} is a kernel ({rule}):", _indented(f"{step.because}.")]
        implied = {"characteristic"} if "characteristic on R^d" in self.facts else set()
        known = [FACTS[fact] for fact in FACTS if fact in self.facts - implied]
        return "\n".join([*lines, *[f"  It is {fact}." for fact in known]])

    def _unproven_text(self) -> str:
        lines = [f"{name(self.kernel)} is unproven: there is neither a proof nor a counter-example."]
        lines += [f"  No rule implies that {name(term)} is a kernel.{term.why_unproven()}" for term in self.lacking]
        return "\n".join([*lines, "  The search:", _indented(f"{self.searched}.")])

    @property
    def lacking(self) -> tuple[Kernel, ...]:
        """The terms that no rule covers; empty for a valid kernel."""
        return tuple(step.kernel for step in gaps(self.steps)) if self.steps is not None else ()

    def tree(self) -> str:
        """Draw the derivation, conclusions above premises; a term that no rule covers is marked."""
        if self.steps is None:
            return name(self.kernel)
        numbers = {id(step): number for number, step in enumerate(in_order(self.steps), 1)}
        lines: list[str] = []
        drawn: set[int] = set()
        waiting = [(self.steps, "", "")]
        while waiting:
            step, lead, indent = waiting.pop()
            again = id(step) in drawn
            drawn.add(id(step))
            rule = "see above" if again else step.rule or "NO RULE"
            lines.append(f"{lead}{label(step, numbers)}   {rule}")
            below = () if again else step.premises
            for i, premise in reversed(list(enumerate(below))):
                last = i == len(below) - 1
                waiting.append((premise, indent + ("└── " if last else "├── "), indent + ("    " if last else "│   ")))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data for JSON; the premises of a step are the numbers of earlier steps."""
        numbers: dict[int, int] = {}
        proof: list[dict[str, Any]] = []
        for number, step in enumerate(in_order(self.proof) if self.proof is not None else (), 1):
            numbers[id(step)] = number
            premises = [numbers[id(premise)] for premise in step.premises]
            text = label(step, numbers)
            proof.append({"step": number, "kernel": text, "rule": step.rule, "because": step.because, "premises": premises})
        return {
            "kernel": name(self.kernel),
            "status": self.status,
            "proof": proof or None,
            "counterexample": None if self.counterexample is None else self.counterexample.to_dict(),
            "facts": sorted(self.facts),
            "lacking": [name(term) for term in self.lacking],
            "searched": self.searched or None,
        }


def _indented(text: str) -> str:
    """Return a sentence under its step, in lines that fit a terminal; formulas are not broken at hyphens."""
    return textwrap.fill(text, 112, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False)


def certify(kernel: Kernel, X: Any = None) -> Certificate:
    """Return the certificate of a kernel: a derivation by the closure rules, else a search for a counter-example.

    If a term has no rule, the whole is searched, at the points of X or at generated ones; what can neither be proved nor
    refuted is "unproven".

    >>> from mercer import Tanh
    >>> certify(Tanh(scale=0.0, offset=1.0)).status, certify(Tanh(scale=1.0, offset=-1.0)).status
    ('valid', 'invalid')
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"certify takes a kernel; got {describe(kernel)}.")
    steps = outline(kernel)
    if steps.proven:
        return Certificate(VALID, kernel, proof=steps, facts=frozenset(kernel.facts()), steps=steps)
    if kernel.unresolved and X is None:
        why = 'nothing was tried, since length_scale="median" is not a number yet: call k.resolve(X) first'
        return Certificate(UNPROVEN, kernel, searched=why, steps=steps)
    found, searched = search(kernel, X)
    status = UNPROVEN if found is None else INVALID
    return Certificate(status, kernel, counterexample=found, searched=searched, steps=steps)
