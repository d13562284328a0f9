"""Kernels on dates and times: days since 1970-01-01 as one column, for trends and periods."""

from __future__ import annotations

from dataclasses import dataclass, field

from mercer.inputs import Rows
from mercer.inputs.cells import as_days
from mercer.kernels.base import ATOM, Kernel
from mercer.kernels.derivation import Derivation
from mercer.kernels.operators import node
from mercer.kernels.views import View


@node
@dataclass(frozen=True, repr=False)
class Dated(View):
    """k(day(x), day(z)): a kernel on one number, the days since 1970-01-01 UTC of a date or a time.

    >>> from mercer import Periodic
    >>> week = Periodic(length_scale=1.0, period=7.0).dates()
    >>> bool(abs(week(["2026-11-16"], ["2026-11-23"])[0, 0] - 1.0) < 1e-9)
    True
    """

    inner: Kernel = field(metadata={"child": True})

    def _width(self) -> None:
        return None

    def _views(self) -> frozenset[str]:
        return frozenset({"any"})

    def _view(self, rows: Rows) -> Rows:
        return rows.remember("days", lambda: Rows(as_days(rows._items("dates"), rows.name), f"days of {rows.name}"))

    def _derivation(self) -> Derivation:
        return Derivation("k(phi(x), phi(z))", "phi(x) is the number of days since 1970-01-01", (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.dates()"
