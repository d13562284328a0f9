"""Small models beside scikit-learn's: `make bench-small`.

People fit small models by the thousand inside a grid search, so what counts is the fixed cost of a call. Fit, predict and
predict of one row of every pair of estimators, at five sizes, in one process: the two take turns, call by call, warm, and a
line gives the medians and the median of the ratios of neighboring turns (above 1: mercer is faster).
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Call = Callable[[], Any]

SIZES = (50, 200, 500, 1000, 2000)
COLUMNS = 10
LENGTH_SCALE = 3.0
GAMMA = 1.0 / (2.0 * LENGTH_SCALE**2)
#: Seconds that a line may take, and the number of turns that it takes at least and at most.
BUDGET, FEWEST, MOST = 1.0, 9, 301
#: Seconds of calls after which a process is warm: mercer loads its compiled loops when small fits have cost some time.
WARM = 0.5
#: Ratios above this are level with scikit-learn: what two runs of one estimator against itself differ by.
LEVEL = 0.97


@dataclass(frozen=True)
class Contest:
    """Two estimators that do the same thing, how their targets are made, and how far their predictions may differ."""

    name: str
    mercer: Callable[[], Any]
    sklearn: Callable[[], Any]
    target: Callable[[Array], Array | None]
    differ: float  # share of other labels, or root mean square in standard deviations of the target


def contests() -> list[Contest]:
    """All pairs, with the same kernel and the same parameters."""
    from sklearn import gaussian_process, kernel_ridge, neighbors, svm

    import mercer as m

    k = m.Gaussian(LENGTH_SCALE)
    fixed = gaussian_process.kernels.ConstantKernel(1.0) * gaussian_process.kernels.RBF(LENGTH_SCALE)
    gp = partial(gaussian_process.GaussianProcessRegressor, fixed, alpha=0.1, optimizer=None)
    return [
        Contest("SVC 2 classes", partial(m.SVC, k, C=1.0), partial(svm.SVC, C=1.0, gamma=GAMMA), two, 0.01),
        Contest("SVC 3 classes", partial(m.SVC, k, C=1.0), partial(svm.SVC, C=1.0, gamma=GAMMA), three, 0.01),
        Contest("NuSVC", partial(m.NuSVC, k, nu=0.3), partial(svm.NuSVC, nu=0.3, gamma=GAMMA), two, 0.01),
        Contest("SVR", partial(m.SVR, k, C=1.0), partial(svm.SVR, C=1.0, gamma=GAMMA), numbers, 0.01),
        Contest("OneClassSVM", partial(m.OneClassSVM, k, nu=0.1), partial(svm.OneClassSVM, nu=0.1, gamma=GAMMA), none, 0.02),
        Contest(
            "KernelRidge", partial(m.KernelRidge, k, alpha=0.1),
            partial(kernel_ridge.KernelRidge, alpha=0.1, kernel="rbf", gamma=GAMMA), numbers, 0.1,
        ),
        Contest("GP, parameters given", partial(m.GaussianProcessRegressor, k, noise=0.1, optimizer=None), gp, numbers, 0.1),
        Contest(
            "k-NN classes", partial(m.KernelKNeighborsClassifier, k, n_neighbors=5),
            partial(neighbors.KNeighborsClassifier, n_neighbors=5), two, 0.0,
        ),
        Contest(
            "k-NN numbers", partial(m.KernelKNeighborsRegressor, k, n_neighbors=5),
            partial(neighbors.KNeighborsRegressor, n_neighbors=5), numbers, 1e-9,
        ),
    ]  # fmt: skip


def score(X: Array) -> Array:
    """A smooth function of the first columns with noise that comes with the rows."""
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.5 * X[:, -1]


def two(X: Array) -> Array:
    """Two classes that overlap: the last column is noise to a model that sees the others."""
    return (score(X) > 0).astype(int)


def three(X: Array) -> Array:
    """Three classes of about the same size."""
    return np.digitize(score(X), [-0.45, 0.45])


def numbers(X: Array) -> Array:
    """A target to regress on."""
    return score(X)


def none(X: Array) -> None:
    """No target."""


def data(n: int) -> tuple[Array, Array]:
    """Rows to fit and rows to predict, of which the last column is the noise of the target."""
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, COLUMNS + 1)), rng.normal(size=(1000, COLUMNS + 1))


@dataclass(frozen=True)
class Line:
    """One measurement: milliseconds of both, and how much longer scikit-learn took."""

    name: str
    job: str
    n: int
    mercer: float
    sklearn: float
    ratio: float

    def __str__(self) -> str:
        lost = "" if self.ratio >= LEVEL else "  LOST"
        return f"{self.name:22} {self.job:12} {self.n:5} {self.mercer:9.3f} {self.sklearn:9.3f} {self.ratio:7.2f}{lost}"


def jobs(contest: Contest, n: int) -> Iterator[tuple[str, Call, Call]]:
    """Fit, predict 1000 rows and predict one, for mercer and for scikit-learn."""
    train, new = data(n)
    X, new, y = np.ascontiguousarray(train[:, :COLUMNS]), np.ascontiguousarray(new[:, :COLUMNS]), contest.target(train)
    ours, theirs = contest.mercer(), contest.sklearn()
    yield "fit", partial(ours.fit, X, y), partial(theirs.fit, X, y)
    check(contest, ours.fit(X, y).predict(new), theirs.fit(X, y).predict(new))
    yield "predict", partial(ours.predict, new), partial(theirs.predict, new)
    yield "predict one", partial(ours.predict, new[:1]), partial(theirs.predict, new[:1])


def check(contest: Contest, ours: Array, theirs: Array) -> None:
    """A race between two different answers means nothing."""
    if contest.target is numbers:
        differ = float(np.sqrt(np.mean((ours - theirs) ** 2)) / np.std(theirs))
    else:
        differ = float(np.mean(ours != theirs))
    if differ > contest.differ:
        raise SystemExit(f"{contest.name}: the predictions differ by {differ:.3g}, more than {contest.differ:g}")


def race(ours: Call, theirs: Call, budget: float) -> tuple[float, float, float]:
    """Median milliseconds of both, in turns, and the median ratio of turns."""
    for call in (ours, theirs):
        begin = time.perf_counter()
        while time.perf_counter() < begin + WARM and "numba" not in sys.modules:
            call()
        call()
    start = time.perf_counter()
    ours(), theirs()
    once = time.perf_counter() - start
    turns = max(FEWEST, min(MOST, math.ceil(budget / once)))
    spent = np.empty((turns, 2))
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            for which, call in ((0, ours), (1, theirs)) if turn % 2 else ((1, theirs), (0, ours)):
                begin = time.perf_counter()
                call()
                spent[turn, which] = time.perf_counter() - begin
    finally:
        gc.enable()
    mine, other = 1000.0 * np.median(spent, axis=0)
    return float(mine), float(other), float(np.median(spent[:, 1] / spent[:, 0]))


def main(arguments: list[str] | None = None) -> int:
    """Run the selected lines; return 1 if one is lost."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__)
    options.add_argument("--only", default="", help="estimators whose name holds this")
    options.add_argument("--job", default="", help="fit, predict or predict one")
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options.add_argument("--budget", type=float, default=BUDGET, help="seconds for each line")
    asked = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{'estimator':22} {'job':12} {'n':>5} {'mercer ms':>9} {'sklearn':>9} {'ratio':>7}", flush=True)
    lines = []
    for contest in contests():
        if asked.only.lower() not in contest.name.lower():
            continue
        for n in asked.sizes:
            for job, ours, theirs in jobs(contest, n):
                if asked.job in ("", job):
                    lines.append(Line(contest.name, job, n, *race(ours, theirs, asked.budget)))
                    print(lines[-1], flush=True)
    lost = [line for line in lines if line.ratio < LEVEL]
    print(f"{len(lines)} lines, {len(lost)} lost (ratio below {LEVEL:g})")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
