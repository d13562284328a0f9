"""What a person may say about a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The options of `mercer fit` that reach the model; apart from it, so that they are judged before a model is loaded."""

    kernel: str | None = None  # its text; None leaves the choice to the table model
    time: float | None = None  # seconds
    memory: str | None = None
    seed: int = 0
    holdout: float = 0.2  # part of the rows
    coverage: float = 0.9


@dataclass(frozen=True)
class Wish:
    """What a person asks of a table in files."""

    data: str  # a file, a folder or a glob that workers can read too
    target: str
    drop: Sequence[str] = ()
    id: str | None = None
    task: str = "auto"
    drop_missing: bool = False

    @property
    def name(self) -> str:
        """What the table is called."""
        return Path(self.data).name
