"""This tree against an older one, in one run: `make bench-old-new OLD=v0.1.0 ROW='gaussian-gram-*'`.

The older revision is checked out beside the results. Each tree runs a row of its own table in a process of its own, warm and
waiting; the parent lets them go in turns, so that a slow minute of the machine hits both. A ratio above 1 says that this
tree is faster.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

#: The rows that a change of structure must not slow down.
ROWS = (
    "gaussian-gram-d10-float64", "gaussian-gram-d100-float32", "kernel-ridge-n10000", "ridge-surface-n2000", "svc-fit-*",
    "svc-predict-*", "svm-grid-covtype", "gp-fit-*", "mmd-500-permutations-plain", "mmd-500-swaps-plain",
    "mmd-aggregated-*", "spectrum-*",
)  # fmt: skip

#: Rows that take minutes in both trees and are left out unless named.
SLOW = ("svc-mnist60k", "svm-grid-covtype")

WORKER = """
import sys, warnings
warnings.simplefilter("ignore")
from benchmarks.rows import load_rows
from benchmarks.race import _call, warm
row = next(row for row in load_rows() if row.name == sys.argv[1])
data = row.data()
mercer = row.contestant("mercer")
loops = warm(mercer, data).loops
print("ready", flush=True)
for _ in sys.stdin:
    print(_call(mercer, data, loops)[0], flush=True)
"""


def names(root: Path) -> list[str]:
    """The rows of a tree."""
    code = "from benchmarks.rows import load_rows; print('\\n'.join(row.name for row in load_rows()))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=_environment(root), capture_output=True, text=True, check=True
    ).stdout.split()


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}


def start(root: Path, row: str) -> subprocess.Popen[str]:
    """A process of a tree that has run a row and waits."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, row], cwd=root, env=_environment(root), text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert worker.stdout is not None
    if worker.stdout.readline().strip() != "ready":
        raise RuntimeError(f"{row}: {root} did not get ready")
    return worker


def compare(old: Path, row: str, repeats: int) -> dict[str, float]:
    """Median seconds of both trees, alternating, and their ratio with the interquartile range of single ratios."""
    workers = {"old": start(old, row), "new": start(ROOT, row)}
    times: dict[str, list[float]] = {"old": [], "new": []}
    for turn in range(repeats):
        for name in ("old", "new") if turn % 2 else ("new", "old"):
            worker = workers[name]
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
            times[name].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.kill()
    ratios = np.array(times["old"]) / np.array(times["new"])
    low, high = np.quantile(ratios, [0.25, 0.75])
    return {
        "old": float(np.median(times["old"])), "new": float(np.median(times["new"])), "ratio": float(np.median(ratios)),
        "low": float(low), "high": float(high),
    }  # fmt: skip


def main() -> None:
    """Race the chosen rows and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="a revision, such as a tag or a commit")
    parser.add_argument("--row", action="append", default=[], help="names or patterns; all rows of the list if not given")
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    old = ROOT / "build" / "old"
    if not old.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(old), given.old], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", given.old], cwd=old, check=True)
    data = ROOT / "build" / "shared"  # real data lie beside the project, for the older tree too
    if not data.exists() and (ROOT.parent / "shared").exists():
        data.symlink_to(ROOT.parent / "shared")
    older = set(names(old))
    both = [name for name in names(ROOT) if name in older]
    wanted = given.row or list(ROWS)
    rows = [name for name in both if any(fnmatch.fnmatch(name, pattern) for pattern in wanted)]
    rows = [name for name in rows if given.row or name not in SLOW]
    target = ROOT / "benchmarks" / "quality" / "old_new.json"
    found = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    print(f"{'row':<36} {'old s':>9} {'new s':>9} {'old/new':>8}  quartiles", flush=True)
    for row in rows:
        found[row] = one = compare(old, row, given.repeats)
        line = f"{row:<36} {one['old']:9.4f} {one['new']:9.4f} {one['ratio']:8.3f}  {one['low']:.3f} … {one['high']:.3f}"
        print(line, flush=True)
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
