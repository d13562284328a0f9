"""How often a fit encodes vectors for distances, and looks whether they are finite."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mercer.inputs.rows
import mercer.numeric.points


@contextmanager
def counted_encodings(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Count `Points` made of all rows, and calls of `as_vectors`, inside the block."""
    made = {"encodings": 0, "scans": 0}
    encode, check = mercer.numeric.points.Points.__init__, mercer.inputs.rows.as_vectors  # type: ignore[attr-defined]

    def encoding(*arguments: Any, **keywords: Any) -> None:
        made["encodings"] += 1
        encode(*arguments, **keywords)

    def scan(*arguments: Any, **keywords: Any) -> Any:
        made["scans"] += 1
        return check(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(mercer.numeric.points.Points, "__init__", encoding)
        patch.setattr(mercer.inputs.rows, "as_vectors", scan)
        yield made
