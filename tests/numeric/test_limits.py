"""What a container or a limit leaves: read from the files of the system, obeyed by plans and refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mercer.numeric import memory
from mercer.numeric.limits import limited_bytes


def system(tmp_path: Path, cgroup: str, files: dict[str, str]) -> tuple[Path, Path]:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cgroup").write_text(cgroup)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "proc", tmp_path / "groups"


@pytest.mark.parametrize(
    ("cgroup", "files", "left"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": "1000", "a/memory.current": "300"}, 700),
        ("0::/a\n", {"a/memory.max": "1000", "a/memory.current": "900", "a/memory.stat": "a 5\ninactive_file 250\n"}, 350),
        ("0::/outside\n", {"memory.max": "1000", "memory.current": "100"}, 900),  # in a container, its group is the root
        ("0::/a\n", {"a/memory.max": "1000", "a/memory.current": "2000"}, 0),
        (
            "4:cpu,memory:/a\n0::/\n",
            {
                "memory/a/memory.limit_in_bytes": "5000", "memory/a/memory.usage_in_bytes": "1000",
                "memory/memory.limit_in_bytes": str(2**63 - 4096), "memory/memory.usage_in_bytes": "9",
            },
            4000,
        ),
        ("0::/\n", {"memory.max": "max"}, None),
        ("", {}, None),
    ],
)  # fmt: skip
def test_control_groups(tmp_path: Path, cgroup: str, files: dict[str, str], left: int | None) -> None:
    assert limited_bytes(*system(tmp_path, cgroup, files)) == left


def test_the_budget_is_what_the_limit_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limited_bytes", lambda: 2**30)
    assert memory.budget_bytes(None) == 2**30 - memory.RESERVE
    assert memory.budget_bytes("1 MB") == 10**6
    monkeypatch.setattr(memory, "limited_bytes", lambda: None)
    assert memory.budget_bytes(None) == memory.DEFAULT_BUDGET


CODE = """
import resource, sys, warnings
import numpy as np, mercer
warnings.simplefilter("ignore")
X = np.zeros((30_000, 3)); X[:, 0] = np.arange(30_000)
model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="cholesky")
resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
try:
    model.fit(X, X[:, 0])
except mercer.errors.MemoryBudgetError as error:
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are obeyed by Linux")
def test_a_fit_under_a_limit_is_refused_by_name() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and done.stdout == "refused\n", done.stderr[-2000:]
