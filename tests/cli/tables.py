"""What the tests of `mercer fit` share: a table on disk, and the command called in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from mercer.cli.app import app

#: One kernel without a search.
QUICK = ("--kernel", "Gaussian(1.0)")


def invoke(*arguments: Any, **settings: Any) -> Any:
    """Run a command."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)


def table(path: Path, n: int = 60, delimiter: str = ",", **columns: Any) -> Path:
    """Write a table: two numbers of very different size, a constant, and the target `y`, or what is given."""
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=n), 1e4 * rng.normal(size=n)
    data = {"small": small, "large": large, "constant": np.ones(n), "y": np.sin(small) + large / 2e4, **columns}
    lines = [delimiter.join(data), *(delimiter.join(map(str, row)) for row in zip(*data.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
