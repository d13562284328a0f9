"""What a person may say about a fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The options of `mercer fit` that reach the model; apart from it, so that they are judged before a model is loaded."""

    kernel: str | None = None  # its text; None leaves the choice to the table model
    time: float | None = None  # seconds
    memory: str | None = None
    seed: int = 0
    holdout: float = 0.2  # part of the rows
    coverage: float = 0.9
