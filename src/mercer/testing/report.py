"""What the law suite found: one line per law, with the number and what it was held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.errors import MercerError


@dataclass(frozen=True)
class Check:
    """The law holds if error <= bound."""

    error: float
    bound: float
    note: str = ""


@dataclass(frozen=True)
class Skip:
    """The law does not apply."""

    reason: str


def distance(left: Array, right: Array) -> float:
    """The largest difference of two arrays; infinite if they differ in shape or in where they are not finite."""
    if left.shape != right.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.abs(left - right, dtype=np.float64)
    return float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))


class LawError(MercerError, AssertionError):
    """A kernel breaks a law; `report` holds every law with its numbers."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))

    def __reduce__(self) -> tuple[type[LawError], tuple[Report]]:
        return type(self), (self.report,)


@dataclass(frozen=True)
class Law:
    """One law: `error` must be at most `bound`. `note` says why it was skipped, or what went wrong."""

    name: str
    status: str  # "passed", "failed" or "skipped"
    error: float = 0.0
    bound: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        numbers = "" if self.status == "skipped" else f"  {self.error:.3g} (at most {self.bound:.3g})"
        return f"{self.status:8s}{self.name}{numbers}{'  ' + self.note if self.note else ''}"


@dataclass(frozen=True)
class Report:
    """The laws of one kernel on one collection, in the order in which they were checked."""

    kernel: str
    laws: tuple[Law, ...]

    @property
    def passed(self) -> bool:
        """True if no law failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Law, ...]:
        """The laws that failed."""
        return tuple(law for law in self.laws if law.status == "failed")

    def __getitem__(self, name: str) -> Law:
        """The law of this name."""
        for law in self.laws:
            if law.name == name:
                return law
        raise KeyError(name)

    def __str__(self) -> str:
        count, broken = len(self.laws), len(self.failures)
        verdict = f"breaks {broken} of {count} laws" if broken else f"obeys all {count} laws"
        # failures first: a test runner may cut the text
        ordered = sorted(self.laws, key=lambda law: law.status != "failed")
        return "\n  ".join([f"{self.kernel} {verdict}", *map(str, ordered)])
