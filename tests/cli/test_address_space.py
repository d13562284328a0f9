"""Commands under a limit of address space (ulimit -v): they work with little, and say it where it does not suffice."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tables import QUICK, table

from mercer.cli import address_space

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are those of Linux")

MIB = 2**20

#: One thread each: what a thread reserves would be another number on another machine.
FEW_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def limited(size: int, *arguments: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that may take so many bytes of addresses."""
    import resource

    command = [sys.executable, "-m", "mercer.cli", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | FEW_THREADS, capture_output=True, encoding="utf-8", check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip


def test_a_fit_in_one_gibibyte(tmp_path: Path) -> None:
    """DuckDB alone reserved 0.9 GiB before it had read anything."""
    table(tmp_path / "d.csv", 300)
    result = limited(1024 * MIB, "fit", "d.csv", "--target", "y", "--rows", 100, *QUICK, "--quiet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "d-mercer")) == ["metrics.json", "model.mercer", "report.html"]


def test_what_does_not_suffice_is_said_in_one_line(tmp_path: Path) -> None:
    table(tmp_path / "d.csv", 300)
    result = limited(900 * MIB, "fit", "d.csv", "--target", "y", cwd=tmp_path)
    assert result.returncode == 70 and result.stderr.count("\n") == 1
    assert "900 MiB (ulimit -v), too little for its libraries; allow at least 1024" in result.stderr
    assert os.listdir(tmp_path) == ["d.csv"]


def test_which_errors_are_laid_at_the_door_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "limit", lambda: None)
    assert address_space.ran_out(SystemError("error return without exception set")) is None
    for error in (MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")):
        assert "not enough memory" in str(address_space.ran_out(error))
    monkeypatch.setattr(address_space, "limit", lambda: 2**30)
    monkeypatch.setattr(address_space, "_peak", lambda: 2**28)
    assert address_space.ran_out(SystemError("a bug")) is None
    monkeypatch.setattr(address_space, "_peak", lambda: 2**30 - 2**20)
    said = str(address_space.ran_out(RuntimeError("can't start new thread")))
    assert "1 GiB of address space" in said and said.endswith("(RuntimeError: can't start new thread)")
