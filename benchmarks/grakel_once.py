"""One Gram matrix by GraKeL in a process that is stopped when it takes too long.

    python -m benchmarks.grakel_once SET KERNEL OUT.npy

prints the seconds of `fit_transform` and writes the matrix. `limited` runs it and gives up after LIMIT seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graph_sets import grakel_graphs, load
from benchmarks.row import Timed

#: Seconds after which a peer is stopped; its ratio is then a lower bound.
LIMIT = 120.0


def grakel_kernel(text: str) -> Any:
    """GraKeL's kernel of a name: "WL 5", "SP", "GR 3" (all connected graphlets), "GR 5 500" (so many samples)."""
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


def limited(name: str, kernel: str) -> Timed:
    """GraKeL's seconds and matrix; LIMIT and no matrix where it had to be stopped."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "gram.npy")
        command = [sys.executable, "-m", "benchmarks.grakel_once", name, kernel, str(out)]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=Path(__file__).resolve().parents[1])
        try:
            told, _ = child.communicate(timeout=LIMIT + 20.0)  # reading the set and importing are not counted
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return Timed(min(LIMIT, time.perf_counter() - start), None)
        if child.returncode:
            raise RuntimeError(f"GraKeL failed on {name} with {kernel}")
        return Timed(float(told), np.load(out))


def agree_unless_stopped(ours: Any, theirs: Any) -> float:
    """max |ours - theirs| / max |theirs|; 0 where there is nothing to compare with."""
    from benchmarks.agreement import relative

    return 0.0 if theirs is None else relative(ours, theirs)


def main() -> None:
    name, kernel, out = sys.argv[1:]
    warnings.filterwarnings("ignore")
    graphs = grakel_graphs(load(name)[0])
    machine = grakel_kernel(kernel)
    start = time.perf_counter()
    K = machine.fit_transform(graphs)
    print(time.perf_counter() - start)
    np.save(out, K)


if __name__ == "__main__":
    main()
