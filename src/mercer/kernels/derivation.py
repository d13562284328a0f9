"""What a node says of its own validity, as plain data; `mercer.validity` turns it into a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class Derivation:
    """One step of a proof: by `rule`, the node is a kernel if its premises are; `because` is the argument in words."""

    rule: str
    because: str
    premises: tuple[Kernel, ...] = ()


class Arithmetic(Protocol):
    """The operations in which a scalar formula `_value` is written, so that it runs in floats or in intervals."""

    def number(self, value: float) -> Any:
        """Return a float as a number of this arithmetic."""

    def pi(self) -> Any:
        """The ratio of a circle's circumference to its diameter."""

    def exp(self, x: Any) -> Any:
        """e to the x."""

    def sqrt(self, x: Any) -> Any:
        """The square root of x >= 0."""

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent."""

    def sin(self, x: Any) -> Any:
        """The sine."""

    def log(self, x: Any) -> Any:
        """The natural logarithm of x > 0."""

    def absolute(self, x: Any) -> Any:
        """|x|."""
