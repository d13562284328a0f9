"""What the examples of the lectures share: the folder for pictures, and a table on the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def folder(text: str | None) -> Path:
    """The folder given by --out, made if need be."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    return out


def save(figure: Any, path: Path) -> None:
    """Write a figure, and forget it."""
    from mercer.report.drawing import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot().close(figure)
    print(f"picture: {path}")


def show(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows of numbers under their names, four digits each."""
    widths = [max(len(name), 8) + 2 for name in names]
    print("".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True)))
    for row in rows:
        cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        print("".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
