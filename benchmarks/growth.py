"""How time grows with rows and shrinks with threads: `python -m benchmarks.growth rows | threads`.

rows: seconds of fits and tests on flights at doubling numbers of rows, beside scikit-learn and hyppo. The growth exponent is
the slope of log seconds over log rows on the three largest sizes; `docs/pictures/growth.svg` shows all curves.

threads: every call in fresh processes with one processor and with all of them. Then the same call is simulated with 2, 8
and 32 threads: tasks run one after another, their seconds are measured, and each goes to the thread that would be free first
(or to its own, where the order of sums is fixed). The sum of the longest threads is what the tasks would take. BLAS and
LAPACK calls outside tasks have threads of their own and count as not shared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows.svm import DATA
from benchmarks.untuned import seconds

Array = NDArray[Any]

SIZES = (500, 1000, 2000, 4000, 8000)
#: A curve ends when the next size is expected to take longer than LIMIT. The fastest turn counts; a call of LONG has one.
LIMIT, TURNS, LONG = 40.0, 3, 3.0
THREADS, ROWS = (2, 8, 32), 6000
PICTURE = "docs/pictures/growth.svg"


def flights(n: int) -> tuple[Array, Array]:
    """Standardized columns and delays of n flights."""
    with np.load(DATA / "reg_flights.npz") as file:
        X, y = file["X"], file["y"]
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[rows].astype(np.float64), y[rows].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def ours() -> dict[str, Callable[[Array, Array], Any]]:
    """Calls of mercer by name."""
    import mercer

    k = mercer.Gaussian(2.0)
    return {
        "Gram matrix": lambda X, y: k(X),
        "KernelRidge": lambda X, y: mercer.KernelRidge(k, alpha=0.1, verbose=False).fit(X, y),
        "SVC": lambda X, y: mercer.SVC(k, C=1.0, verbose=False).fit(X, y > 0),
        "KernelPCA": lambda X, y: mercer.KernelPCA(k, n_components=16, verbose=False).fit(X),
        "mmd_test": lambda X, y: mercer.mmd_test(X[::2], X[1::2], k, random_state=0),
        "hsic_test": lambda X, y: mercer.hsic_test(X, y[:, None], k, k, random_state=0),
        "Spectrum(4)": lambda X, y: mercer.Spectrum(4)(texts(len(X))),
    }


def peers() -> dict[str, tuple[str, Callable[[Array, Array], Any]]]:
    """Calls of other libraries by the names of ours."""
    from hyppo.independence import Hsic
    from hyppo.ksample import MMD
    from sklearn.decomposition import KernelPCA
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVC

    def counted(X: Array, y: Array) -> Any:
        F = CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False).fit_transform(texts(len(X)))
        return (F @ F.T).toarray()

    g = 1 / 8  # of a length scale of 2
    return {
        "Gram matrix": ("rbf_kernel", lambda X, y: rbf_kernel(X, gamma=g)),
        "KernelRidge": ("scikit-learn", lambda X, y: KernelRidge(alpha=0.1, kernel="rbf", gamma=g).fit(X, y)),
        "SVC": ("scikit-learn", lambda X, y: SVC(C=1.0, gamma=g).fit(X, y > 0)),
        "KernelPCA": ("scikit-learn", lambda X, y: KernelPCA(16, kernel="rbf", gamma=g, random_state=0).fit(X)),
        "mmd_test": ("hyppo", lambda X, y: MMD(gamma=g).test(X[::2], X[1::2], reps=200, auto=False, random_state=0)),
        "hsic_test": ("hyppo", lambda X, y: Hsic(gamma=g).test(X, y[:, None], reps=200, auto=False, random_state=0)),
        "Spectrum(4)": ("CountVectorizer", counted),
    }


def texts(n: int) -> list[str]:
    """Random DNA of 100 letters."""
    rng = np.random.default_rng(0)
    return ["".join(row) for row in rng.choice(list("ACGT"), size=(n, 100))]


def slope(sizes: Sequence[int], spent: Sequence[float]) -> float:
    """The growth exponent on the three largest sizes."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(spent[-3:]), 1)[0])


def curve(call: Callable[[Array, Array], Any], sizes: Sequence[int]) -> list[float]:
    """Seconds at each size, until the next one would take too long."""
    call(*flights(200))
    found: list[float] = []
    for n in sizes:
        if len(found) > 1 and found[-1] ** 2 / found[-2] > LIMIT:
            break
        X, y = flights(n)
        spent = [seconds(lambda X=X, y=y: call(X, y))[0]]
        while len(spent) < TURNS and spent[0] < LONG:
            spent.append(seconds(lambda X=X, y=y: call(X, y))[0])
        found.append(min(spent))
    return found


def rows(sizes: Sequence[int]) -> None:
    """Measure and draw all curves."""
    others, curves = peers(), {}
    for name, call in ours().items():
        own, (library, peer) = curve(call, sizes), others[name]
        theirs = curve(peer, sizes)
        both = min(len(own), len(theirs))
        curves[name] = (own, library, theirs)
        print(
            f"growth {name:11} n^{slope(sizes[: len(own)], own):.2f} ({own[-1]:.3f} s at {sizes[len(own) - 1]}), {library} "
            f"n^{slope(sizes[: len(theirs)], theirs):.2f} ({theirs[-1]:.3f} s at {sizes[len(theirs) - 1]}); "
            f"{theirs[both - 1] / own[both - 1]:.1f}x at {sizes[both - 1]} rows",
            flush=True,
        )
    draw(sizes, curves)


def draw(sizes: Sequence[int], curves: dict[str, tuple[list[float], str, list[float]]]) -> None:
    """One panel per call, ours and the peer's."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, -(-len(curves) // 2), figsize=(12, 6), layout="constrained", squeeze=False)
    for ax in axes.flat[len(curves) :]:
        ax.remove()
    for ax, (name, (own, library, theirs)) in zip(axes.flat, curves.items(), strict=False):
        for label, spent, color in ((library, theirs, "#E69F00"), ("mercer", own, "#0072B2")):
            text = f"{label}: $n^{{{slope(sizes[: len(spent)], spent):.1f}}}$"
            ax.loglog(sizes[: len(spent)], spent, "o-", color=color, label=text, markersize=4)
        ax.set(title=name, xlabel="rows", ylabel="seconds")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=9)
    os.makedirs(os.path.dirname(PICTURE), exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})


class Scheduled:
    """Stands in for the crew of threads: does every task here, and keeps the seconds that `threads` threads would take."""

    simulated = real = 0.0

    def __init__(self, queues: list[Any], work: Callable[[Any, int], None], total: int, progress: Any) -> None:
        self.queues, self.work, self.done, self.failures = queues, work, 0, []

    def together(self, threads: int, patience: float = 0.0) -> None:
        """Do all tasks; the next one goes to the thread that is free first, or, with queues of their own, to its owner."""
        busy, fixed = np.zeros(threads), self.queues[0] is not self.queues[-1]
        open_queues = dict(enumerate(self.queues))
        while open_queues:
            worker = min(open_queues, key=busy.__getitem__)
            try:
                task = next(open_queues[worker])
            except StopIteration:
                if not fixed:
                    break
                del open_queues[worker]
                continue
            start = time.perf_counter()
            self.work(task, worker)
            busy[worker] += time.perf_counter() - start
        Scheduled.simulated += float(busy.max())
        Scheduled.real += float(busy.sum())


def alone(name: str) -> float:
    """Seconds of a call in this process."""
    X, y = flights(ROWS)
    call = ours()[name]
    call(X[:300], y[:300])
    return min(seconds(lambda: call(X, y))[0] for _ in range(TURNS))


def shared(name: str, threads: int) -> tuple[float, float]:
    """Share of the seconds on one thread that lies in tasks, and how many times faster these are with so many threads."""
    from mercer.numeric import threads as pool
    from mercer.numeric.threads import one_blas_thread

    X, y = flights(ROWS)
    call = ours()[name]
    call(X, y)
    pool._Crew = Scheduled  # type: ignore[misc,assignment]
    os.sched_getaffinity = lambda process: set(range(threads))  # type: ignore[assignment,misc]
    Scheduled.simulated = Scheduled.real = 0.0
    with one_blas_thread():
        whole, _ = seconds(lambda: call(X, y))
    return Scheduled.real / whole, Scheduled.real / Scheduled.simulated if Scheduled.simulated else 1.0


def threads(names: Sequence[str]) -> None:
    """Print the speed with all processors over that with one, and the simulated ones."""
    everything = sorted(os.sched_getaffinity(0))
    for name in names:
        one, many = (_fresh(name, everything[:p]) for p in (1, len(everything)))
        parts = [_fresh(name, everything, "--simulate", str(k)) for k in THREADS]
        told = ", ".join(f"{part[1]:.1f} on {k}" for k, part in zip(THREADS, parts, strict=True))
        print(
            f"threads {name:11} {one[0]:.3f} s on 1 processor, {many[0]:.3f} s on {len(everything)} "
            f"({one[0] / many[0]:.2f}x); {100 * parts[0][0]:.0f} % in shared tasks, which gain {told}",
            flush=True,
        )


def _fresh(name: str, processors: Sequence[int], *options: str) -> list[float]:
    """What `one` prints in a new process that may use these processors, from before its libraries are loaded."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.growth", "one", "--name", name, *options]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, processors)
    )
    return list(json.loads(done.stdout.splitlines()[-1]))


def main(arguments: list[str] | None = None) -> int:
    """Run one measurement."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    options.add_argument("what", choices=("rows", "threads", "one"))
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--name", nargs="+", default=list(ours()))
    options.add_argument("--simulate", type=int)
    asked = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.what == "rows":
        rows(asked.sizes)
    elif asked.what == "threads":
        threads(asked.name)
    elif asked.simulate:
        print(json.dumps(shared(asked.name[0], asked.simulate)))
    else:
        print(json.dumps([alone(asked.name[0])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
