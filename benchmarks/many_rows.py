"""Calls on many rows: `python -m benchmarks.many_rows mmd | hsic | svc | spin [--rows N]`.

mmd: `mmd_test` of 50,000 and 50,000 rows with default options. hsic: `hsic_test` of 50,000 rows. svc: a support vector
machine on covtype beside sklearnex and beside LinearSVC on 2,000 Nystroem components, times and errors; each in a process
of its own with a limit of seconds. spin: how long a call of mercer takes right after sklearnex and PyTorch used their own
threads, beside the same call before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SECONDS = 10.0
#: Penalty of the machines, components of the approximate one, and seconds that a contestant gets.
C, COMPONENTS, LIMIT = 10.0, 2000, 1500.0
CONTESTANTS = ("mercer", "sklearnex", "LinearSVC on Nystroem")
#: Readings before and after another library, and the seconds by which the medians may differ.
TURNS, SLOWER = 7, 1.2


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def samples(n: int) -> tuple[Array, Array]:
    """Two normal samples in ten columns, the first column of the second one wider by two per cent."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, n, 10))
    Y[:, 0] *= 1.02
    return X, Y


def mmd(n: int) -> bool:
    """Time a two-sample test and the same under the null hypothesis."""
    import mercer

    X, Y = samples(n)
    mercer.mmd_test(X[:200], Y[:200], random_state=0)
    planned = mercer.plan(mercer.mmd_test, X, Y).seconds
    seconds, found = timed(lambda: mercer.mmd_test(X, Y, random_state=0))
    same = mercer.mmd_test(X, samples(n)[1] / np.r_[1.02, np.ones(9)], random_state=0)
    good = seconds <= SECONDS
    print(
        f"{'PASS' if good else 'FAIL'} mmd_test, {n} + {n} rows: {seconds:.1f} s (wanted {SECONDS:g} s, planned "
        f"{planned:.1f} s), p = {found.pvalue:.4f} for a column wider by 2 %, {same.pvalue:.3f} for equal distributions",
        flush=True,
    )
    return good


def hsic(n: int) -> bool:
    """Time a test of independence."""
    import mercer

    X, Y = samples(n)
    Y[:, 0] += 0.05 * X[:, 0] ** 2
    mercer.hsic_test(X[:200], Y[:200], random_state=0)
    seconds, found = timed(lambda: mercer.hsic_test(X, Y, random_state=0))
    good = seconds <= SECONDS
    print(f"{'PASS' if good else 'FAIL'} hsic_test, {n} rows: {seconds:.1f} s, p = {found.pvalue:.4f}", flush=True)
    return good


def machine(name: str, gamma: float) -> Any:
    """One contestant."""
    if name == "mercer":
        import mercer

        return mercer.SVC(mercer.Gaussian.from_gamma(gamma), C=C, verbose=False)
    if name == "sklearnex":
        from sklearnex.svm import SVC

        return SVC(C=C, gamma=gamma, cache_size=4000)
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(Nystroem(gamma=gamma, n_components=COMPONENTS, random_state=0), LinearSVC(C=C, dual=False))


def contestant(name: str, n: int) -> None:
    """Fit and predict, and print what it took."""
    from benchmarks.untuned import split

    X, y, T, t = split("covtype", n)
    model = machine(name, 1.0 / X.shape[1])
    seconds, _ = timed(lambda: model.fit(X, y))
    later, found = timed(lambda: model.predict(T))
    print(f"{name}: fit {seconds:.1f} s, {len(t)} predictions {later:.1f} s, test error {100 * np.mean(found != t):.2f} %")


def svc(n: int) -> bool:
    """Every contestant in a process of its own, with a limit of seconds."""
    for name in CONTESTANTS:
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "benchmarks.many_rows",
            "contestant",
            "--rows",
            str(n),
            "--name",
            name,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
            print(f"covtype, {n} rows, {done.stdout.strip()}", flush=True)
        except subprocess.TimeoutExpired:
            print(f"covtype, {n} rows, {name}: stopped after {LIMIT:g} s", flush=True)
    return True


def spin(n: int) -> bool:
    """Seconds of a ridge before and right after calls of libraries with threads of their own."""
    import mercer

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    model = mercer.KernelRidge(mercer.Gaussian(3.0), alpha=0.1)
    model.fit(X, y)

    def readings(before: Callable[[], Any] | None) -> float:
        found = []
        for _ in range(TURNS):
            if before is not None:
                before()
            found.append(timed(lambda: model.fit(X, y))[0])
        return float(np.median(found))

    good, alone = True, readings(None)
    for name, call in others(X, y).items():
        call()
        after, again = readings(call), readings(None)
        good &= after <= SLOWER * min(alone, again)
        verdict = "PASS" if after <= SLOWER * min(alone, again) else "FAIL"
        print(
            f"{verdict} KernelRidge, {n} rows: {alone:.3f} s alone, {after:.3f} s right after {name}, {again:.3f} s with it "
            "loaded",
            flush=True,
        )
    return good


def others(X: Array, y: Array) -> dict[str, Callable[[], Any]]:
    """Calls of other libraries that use all cores; those that are not installed are left out."""
    found: dict[str, Callable[[], Any]] = {}
    try:
        from sklearnex.svm import SVC

        found["sklearnex"] = lambda: SVC().fit(X, y > 0)
    except ImportError:
        print("sklearnex is not installed")
    try:
        import torch

        A = torch.as_tensor(X.T @ X + np.eye(X.shape[1]))
        found["PyTorch"] = lambda: [A @ torch.rand(A.shape[0], 4000, dtype=A.dtype) for _ in range(50)]
    except ImportError:
        print("PyTorch is not installed")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run one measurement; return 1 if it misses what is wanted."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.many_rows", description=__doc__)
    options.add_argument("what", choices=("mmd", "hsic", "svc", "spin", "contestant"))
    options.add_argument("--rows", type=int)
    options.add_argument("--name", choices=CONTESTANTS)
    asked = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.what == "contestant":
        contestant(asked.name, asked.rows)
        return 0
    usual = {"mmd": 50_000, "hsic": 50_000, "svc": 200_000, "spin": 2000}
    run = {"mmd": mmd, "hsic": hsic, "svc": svc, "spin": spin}[asked.what]
    return 0 if run(asked.rows or usual[asked.what]) else 1


if __name__ == "__main__":
    sys.exit(main())
