"""Speed of this tree against an older revision: `make bench-old-new OLD=d71c9a1 ROW='gaussian-gram-*'`.

The older revision is checked out in build/old. Each tree runs the rows of its own benchmarks in its own process, with its
own modules, so modules may have moved between the two; rows are matched by name. Both processes are warm and wait, and the
parent starts them in turns, because a slow minute of the machine then affects both. A ratio old / new above 1 means that
this tree is faster.

The verdict of a row is "slower beyond noise" if the median ratio is below 0.97 and the upper quartile is below 1, otherwise
"0.97 or better" or, if only the median is below, "within noise".
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

from benchmarks.results import write_whole

ROOT = Path(__file__).resolve().parents[1]
OLD = "d71c9a1"
#: The least ratio old / new that counts as no loss.
LEVEL = 0.97

#: Rows that a change of structure must not slow down.
ROWS = (
    "gaussian-gram-d10-float64", "gaussian-gram-d100-float32", "kernel-ridge-n10000", "ridge-surface-n2000", "svc-fit-*",
    "svc-predict-*", "svm-grid-covtype", "gp-fit-*", "mmd-500-permutations-plain", "mmd-500-swaps-plain",
    "mmd-aggregated-*", "spectrum-*",
)  # fmt: skip

#: Rows that take minutes in both trees; they run only if named.
SLOW = ("svc-mnist60k", "svm-grid-covtype")

#: Lists the rows of a tree. A group whose module cannot be imported is reported and left out.
LISTING = """
import importlib, json, pkgutil, sys
import benchmarks.rows
found, broken = [], []
for module in pkgutil.iter_modules(benchmarks.rows.__path__):
    try:
        found += [row.name for row in importlib.import_module(f"benchmarks.rows.{module.name}").ROWS]
    except Exception as error:
        broken.append(f"{module.name}: {type(error).__name__}: {error}")
print(json.dumps([found, broken]))
"""

WORKER = """
import importlib, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import benchmarks.rows
from benchmarks.race import _call, warm
def find(name):
    for module in pkgutil.iter_modules(benchmarks.rows.__path__):
        try:
            rows = importlib.import_module(f"benchmarks.rows.{module.name}").ROWS
        except Exception:
            continue
        for row in rows:
            if row.name == name:
                return row
row = find(sys.argv[1])
data = row.data()
mercer = row.contestant("mercer")
loops = warm(mercer, data).loops
print("ready", flush=True)
for _ in sys.stdin:
    print(_call(mercer, data, loops)[0], flush=True)
"""


def names(root: Path) -> list[str]:
    """Return the names of the rows of a tree."""
    listed = subprocess.run(
        [sys.executable, "-c", LISTING], cwd=root, env=_environment(root), capture_output=True, text=True, check=True
    )
    found, broken = json.loads(listed.stdout.splitlines()[-1])
    for line in broken:
        print(f"{root.name}: rows left out: {line}", file=sys.stderr)
    return list(found)


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}


def start(root: Path, row: str) -> subprocess.Popen[str]:
    """Start a process of a tree that has run a row once and waits. Raise RuntimeError with its last line if it fails."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, row], cwd=root, env=_environment(root), text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert worker.stdout is not None
    if worker.stdout.readline().strip() != "ready":
        worker.kill()
        said = worker.communicate()[1].strip().splitlines() or ["no message"]
        raise RuntimeError(f"{root.name} could not run the row: {said[-1]}")
    return worker


def compare(old: Path, row: str, repeats: int) -> dict[str, float]:
    """Return median seconds of both trees, alternating, and the median and quartiles of the ratios of single runs."""
    workers = {"old": start(old, row)}
    try:
        workers["new"] = start(ROOT, row)
        times: dict[str, list[float]] = {"old": [], "new": []}
        for turn in range(repeats):
            for name in ("old", "new") if turn % 2 else ("new", "old"):
                worker = workers[name]
                assert worker.stdin is not None and worker.stdout is not None
                worker.stdin.write("go\n")
                worker.stdin.flush()
                times[name].append(float(worker.stdout.readline()))
    finally:
        for worker in workers.values():
            worker.kill()
            worker.communicate()
    ratios = np.array(times["old"]) / np.array(times["new"])
    low, ratio, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return {
        "old": float(np.median(times["old"])), "new": float(np.median(times["new"])), "ratio": float(ratio),
        "low": float(low), "high": float(high),
    }  # fmt: skip


def verdict(found: dict[str, float]) -> str:
    """Return what the ratios of a row say."""
    if found["ratio"] >= LEVEL:
        return "0.97 or better"
    return "slower beyond noise" if found["high"] < 1.0 else "within noise"


def checkout(revision: str) -> Path:
    """Return the folder build/old with the given revision checked out."""
    old = ROOT / "build" / "old"
    if not old.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", str(old), revision], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", revision], cwd=old, check=True)
    data = ROOT / "build" / "shared"  # the real data sets, where the older tree looks for them
    if not data.exists() and (ROOT.parent / "shared").exists():
        data.symlink_to(ROOT.parent / "shared")
    return old


def main() -> int:
    """Compare the chosen rows, print a line for each, and return 1 if one is slower beyond noise or could not run."""
    parser = argparse.ArgumentParser(description="Speed of this tree against an older revision.")
    parser.add_argument("old", nargs="?", default=OLD, help=f"a tag or a commit; {OLD} (version 0.2.0) if not given")
    parser.add_argument("--row", action="append", default=[], help="a name or pattern; the default list if not given")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--list", action="store_true", help="print the rows that both trees have and run nothing")
    given = parser.parse_args()
    old = checkout(given.old)
    older = set(names(old))
    both = [name for name in names(ROOT) if name in older]
    wanted = given.row or list(ROWS)
    rows = [name for name in both if any(fnmatch.fnmatch(name, pattern) for pattern in wanted)]
    rows = [name for name in rows if given.row or name not in SLOW]
    if given.list:
        print("\n".join(rows))
        return 0
    target = ROOT / "benchmarks" / "quality" / "old_new.json"
    kept = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    verdicts: dict[str, str] = {}
    print(f"{'row':<36} {'old s':>9} {'new s':>9} {'old/new':>8}  quartiles       verdict", flush=True)
    for row in rows:
        try:
            one = compare(old, row, given.repeats)
        except RuntimeError as error:
            verdicts[row] = "failed"
            print(f"{row:<36} {error}", flush=True)
            continue
        verdicts[row] = verdict(one)
        kept[row] = {**one, "revision": given.old}
        line = f"{row:<36} {one['old']:9.4f} {one['new']:9.4f} {one['ratio']:8.3f}  {one['low']:.3f} to {one['high']:.3f}"
        print(f"{line}  {verdicts[row]}", flush=True)
        write_whole(target, json.dumps(kept, indent=1) + "\n")
    bad = [row for row, word in verdicts.items() if word in ("slower beyond noise", "failed")]
    ratios = [kept[row]["ratio"] for row in verdicts if row not in bad or verdicts[row] != "failed"]
    span = f", old / new {min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
    print(f"evidence: {'NOT REACHED: ' + ', '.join(bad) if bad else 'PASS'}: {len(verdicts)} rows against {given.old}{span}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
