"""Gram matrices that take GraKeL minutes: computed once, in a process of their own, and kept.

    python -m benchmarks.grakel_once "GR 3 NCI1" "SP DD" …

measures what is not yet in `quality/grakel_once.json`, each in a process of its own that is stopped after --limit seconds.
GraKeL runs on one core and nothing here waits for a disk, so the reading is the CPU time of `fit_transform`, or its
wall-clock time where that is less; it holds on a machine with other work, too. Reading the set is not counted.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.graph_sets import grakel_graphs, load
from benchmarks.results import write_whole
from benchmarks.row import Timed

#: Seconds after which a peer is stopped; its ratio is then a lower bound.
LIMIT = 1800.0
KEPT = Path(__file__).resolve().parent / "quality" / "grakel_once.json"


def grakel_kernel(text: str) -> Any:
    """GraKeL's kernel of a name: "WL 5", "SP", "GR 3" (all connected graphlets), "GR 5 500" (500 samples)."""
    from grakel import kernels

    kind, *numbers = text.split()
    if kind == "WL":
        return kernels.WeisfeilerLehman(n_iter=int(numbers[0]), base_graph_kernel=kernels.VertexHistogram)
    if kind == "SP":
        return kernels.ShortestPath(with_labels=True)
    if kind == "WLOA":
        return kernels.WeisfeilerLehmanOptimalAssignment(n_iter=int(numbers[0]))
    samples = {"n_samples": int(numbers[1])} if len(numbers) > 1 else None
    return kernels.GraphletSampling(k=int(numbers[0]), sampling=samples, random_state=0)


def kept() -> dict[str, Any]:
    """The readings on disk: "KERNEL SET" -> seconds, whether it was stopped, the difference to mercer's matrix."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def limited(name: str, kernel: str, limit: float = LIMIT) -> Timed:
    """GraKeL's seconds, from disk if it was measured before, else measured now and kept."""
    key = f"{kernel} {name}"
    if key not in kept():
        command = [sys.executable, "-m", "benchmarks.grakel_once", "--child", "--limit", str(limit), key]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=Path(__file__).resolve().parents[1])
        if done.returncode == -signal.SIGXCPU:
            reading: dict[str, Any] = {"seconds": limit, "stopped": True}
        elif done.returncode:
            raise RuntimeError(f"GraKeL failed on {name} with {kernel}")
        else:
            reading = {**json.loads(done.stdout.splitlines()[-1]), "stopped": False}
        write_whole(KEPT, json.dumps({**kept(), key: reading}, indent=1) + "\n")
    return Timed(float(kept()[key]["seconds"]))


def note(name: str, kernel: str) -> str:
    """What a title says of a kept reading."""
    reading = kept().get(f"{kernel} {name}")
    if reading is None:
        return ""
    stopped = f"stopped after {reading['seconds']:g} s"
    return f" (GraKeL: {stopped if reading['stopped'] else 'CPU time of a run of its own'})"


def compute(name: str, kernel: str, limit: float) -> dict[str, Any]:
    """One matrix by GraKeL, under a limit of CPU seconds; where definitions agree, the difference to mercer's."""
    from benchmarks.agreement import relative

    warnings.filterwarnings("ignore")
    graphs = load(name)[0]
    theirs, machine = grakel_graphs(graphs), grakel_kernel(kernel)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + limit) + 1, resource.RLIM_INFINITY))
    wall, cpu = time.perf_counter(), time.process_time()
    K = machine.fit_transform(theirs)
    reading = {"seconds": min(time.perf_counter() - wall, time.process_time() - cpu)}
    if kernel == "SP":
        import mercer

        reading["difference"] = relative(mercer.ShortestPath()(graphs), K)
    return reading


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grakel_once", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tasks", nargs="+", help='a kernel and a set each, as in "GR 3 NCI1"')
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds after which GraKeL is stopped")
    parser.add_argument("--child", action="store_true", help="compute here and print the reading")
    options = parser.parse_args(arguments)
    for task in options.tasks:
        kernel, name = task.rsplit(" ", 1)
        if options.child:
            print(json.dumps(compute(name, kernel, options.limit)))
        else:
            print(f"{task}: {limited(name, kernel, options.limit).seconds:.1f} s{note(name, kernel)}", flush=True)


if __name__ == "__main__":
    main()
