"""What a container or a limit leaves: read from the files of the system, obeyed by plans and refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mercer.numeric import memory
from mercer.numeric.memory import limited_bytes


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
from mercer import Gaussian, KernelRidge, KernelRidgeCV, SVC
warnings.simplefilter("ignore")
name, rows, limit = sys.argv[1], int(sys.argv[2]), getattr(resource, sys.argv[3])
X = np.zeros((rows, 3)); X[:, 0] = np.arange(rows) / 100.0
y = np.sin(X[:, 0])
small = slice(0, None, rows // 200)
models = {
    "ridge": KernelRidge(Gaussian(1.0), solver="cholesky"),
    "any ridge": KernelRidge(Gaussian(1.0), tol=1e-1, max_iter=2),
    "GP": mercer.GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None, solver="exact"),
    "eigenvalues": mercer.KernelPCA(Gaussian(1.0), n_components=3, eigen_solver="eigh"),
    "ridge CV": KernelRidgeCV(Gaussian(1.0), alphas=[0.1, 1.0], length_scales=[1.0], n_components=100),
    "SVC": SVC(Gaussian(1.0), random_state=0, max_iter=2000),
}
model = models[name]
y = y > 0 if name == "SVC" else y
model.fit(X[small], y[small])  # what is loaded and compiled is there before the limit
resource.setrlimit(limit, (2 * 10**9, 2 * 10**9))
try:
    model.fit(X, y)
except mercer.errors.MemoryBudgetError as error:
    print("refused")
else:
    print(model.route_.solver)
"""


def under_two_gigabytes(name: str, rows: int, limit: str) -> str:
    command = [sys.executable, "-c", CODE, name, str(rows), limit]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are obeyed by Linux")


@linux
def test_a_fit_under_a_limit_is_refused_by_name() -> None:
    assert under_two_gigabytes("ridge", 30_000, "RLIMIT_AS") == "refused"


@linux
@pytest.mark.slow
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.parametrize(
    ("name", "rows", "answers"),
    [
        ("ridge", 30_000, {"refused"}),
        ("any ridge", 30_000, {"cg", "nystroem"}),
        ("ridge CV", 20_000, {"nystroem", "refused"}),
        ("SVC", 60_000, {"rows"}),
        ("GP", 20_000, {"refused"}),
        ("eigenvalues", 20_000, {"refused"}),
    ],
)
def test_large_fits_under_two_gigabytes_are_refused_or_go_another_way(
    name: str, rows: int, answers: set[str], limit: str
) -> None:
    assert under_two_gigabytes(name, rows, limit) in answers
