"""What `explain` returns: numbers for programs, marked text for a terminal, colored letters for a notebook."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from mercer.arrays import Floats
from mercer.explanations.highlight import LEGEND, colored, marked, table

#: How many substrings are printed unless asked otherwise.
SHOWN = 10


@dataclass(frozen=True)
class Substring:
    """A feature of the explained string: its part of the decision, its weight in the model, how often it occurs."""

    name: str
    contribution: float
    weight: float
    count: int


@dataclass(frozen=True, eq=False)
class StringExplanation:
    """One decision as a sum: intercept + contributions.sum() == value.

    Attributes
    ----------
    text : the string, or the tuple of tokens
    contributions : (length,) array, what each letter adds
    value : the decision value; positive speaks for `label`
    intercept : what no letter adds: the intercept of the model and constant terms of its kernel
    substrings : tuple of Substring, by the size of what they add
    label : what was explained, such as "class 'spam'"
    """

    text: str | tuple[Hashable, ...] | None
    contributions: Floats
    value: float
    intercept: float
    substrings: tuple[Substring, ...]
    label: str

    def top(self, n: int = SHOWN) -> tuple[Substring, ...]:
        """The n substrings that add most, for or against."""
        return self.substrings[:n]

    def __str__(self) -> str:
        return "\n".join([self._head(), *self._marked(), *self._rows(), f"  {LEGEND}"])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """The same as HTML: letters on a color as strong as what they add, and a table of substrings."""
        return colored(self._head(), self.text or "", self.contributions, self.top())

    def _head(self) -> str:
        letters = float(self.contributions.sum())
        unit = "letters" if isinstance(self.text, str) else "tokens"
        return (
            f"{self.label}: decision {self.value:.3g} = {self.intercept:.3g} (intercept) {'-' if letters < 0 else '+'} "
            f"{abs(letters):.3g} ({len(self.contributions)} {unit})"
        )

    def _marked(self) -> list[str]:
        return [f"  {line}" for line in marked(self.text or "", self.contributions)]

    def _rows(self) -> list[str]:
        return [f"  {line}" for line in table(self.top())]
