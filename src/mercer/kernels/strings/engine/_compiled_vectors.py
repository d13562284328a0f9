"""Vectors at an address, for loops that are written in the compiler's own instructions."""

from __future__ import annotations

from typing import Any


def at_addresses(builder: Any, kind: Any, align: int) -> tuple[Any, Any]:
    """load(address) and store(value, address) of vectors of a kind; addresses need no proof that they differ."""

    def load(address: Any) -> Any:
        found = builder.load(builder.inttoptr(address, kind.as_pointer()))
        found.align = align
        return found

    def store(value: Any, address: Any) -> None:
        builder.store(value, builder.inttoptr(address, kind.as_pointer())).align = align

    return load, store
