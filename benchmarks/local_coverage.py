"""Coverage of local intervals under shifts of the rows, simulated, and a race against `conditionalconformal`.

    python -m benchmarks.local_coverage [simulate] [--draws 100] [--rows 1000]
    python -m benchmarks.local_coverage race

Three laws of the rows, after Gibbs, Cherian and Candès (2023). *heteroscedastic*: the noise grows with one column; the
shifts are the bumps k(c, .) of a Gaussian kernel at five centers. *groups*: 20 % of the rows are in a group with three
times the noise; the shifts are to one group. *tilt*: the noise depends on a direction of five columns; the shifts are the
linear tilts 1 + <b, x> of the kernel `Linear()` in four directions. Every draw has calibration rows, from which
`penalty="auto"` is chosen too, and 1,000 new rows. The coverage under a shift is the mean over draws of the
weighted share of covered new rows. The exit code is 1 if it differs from 0.9 by more than 0.02 under a shift for the local
intervals, or by less than 0.05 under every shift of a law for the marginal ones.

The race computes the thresholds at new rows of the same problem: the same kernel, penalty and 1,000 calibration rows.
conditionalconformal finds each by bisection over quadratic programs with OSQP, to 0.001. The witness does the same with an
interior-point solver (CLARABEL), because the default accuracy of OSQP does not suffice. The differences of both from the
witness are printed; the exit code is 1 if mercer's exceeds 0.01.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer
from mercer.estimators.local_intervals import LocalCalibration
from mercer.numeric.threads import one_blas_thread

COVERAGE, NEW = 0.9, 1000
NEAR, FAR = 0.02, 0.05


class Zero:
    """The regressor of the simulations: the true mean, 0."""

    def predict(self, X: Any) -> Any:
        """Return zeros."""
        return np.zeros(len(X))


@dataclass(frozen=True)
class Law:
    """Rows with targets, the kernel of the guarded shifts, and weights of new rows for each shift."""

    draw: Callable[[np.random.Generator, int], tuple[Any, Any]]
    kernel: mercer.Kernel
    shifts: dict[str, Callable[[Any], Any]]


def _heteroscedastic(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X = rng.uniform(0.0, 5.0, (n, 1))
    return X, (0.2 + 0.4 * X[:, 0]) * rng.normal(size=n)


def _groups(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X = (rng.random((n, 1)) < 0.2).astype(float)
    return X, (1.0 + 2.0 * X[:, 0]) * rng.normal(size=n)


def _tilt(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X = rng.uniform(-1.0, 1.0, (n, 5))
    return X, np.exp(0.9 * (X[:, 0] + X[:, 1])) * rng.normal(size=n)


def _bump(kernel: mercer.Kernel, center: Any) -> Callable[[Any], Any]:
    return lambda X: np.asarray(kernel(X, np.atleast_2d(center)))[:, 0]


def _tilted(*direction: float) -> Callable[[Any], Any]:
    return lambda X: 1.0 + X @ np.array(direction)


GAUSSIAN = mercer.Gaussian(0.5)
LAWS = {
    "heteroscedastic": Law(
        _heteroscedastic, GAUSSIAN, {f"near {c:g}": _bump(GAUSSIAN, [c]) for c in (0.5, 1.5, 2.5, 3.5, 4.5)}
    ),
    "groups": Law(
        _groups, mercer.Categorical().on(0), {"large group": lambda X: X[:, 0] == 0, "small group": lambda X: X[:, 0] == 1}
    ),
    "tilt": Law(
        _tilt,
        mercer.Linear(),
        {
            "up": _tilted(0.5, 0.5, 0, 0, 0),
            "down": _tilted(-0.5, -0.5, 0, 0, 0),
            "first": _tilted(1, 0, 0, 0, 0),
            "other": _tilted(0, 0, 1, 0, 0),
        },
    ),
}


def coverages(law: Law, rows: int, seed: int) -> Any:  # -> (2, shifts + 1)
    """Return the coverage of marginal and local intervals in one draw, under each shift and without one."""
    rng = np.random.default_rng(seed)
    X, y = law.draw(rng, rows)
    new, targets = law.draw(rng, NEW)
    found = []
    for shift in (None, law.kernel):
        low, high = mercer.ConformalRegressor(Zero(), shift).fit(X, y).predict_interval(new, COVERAGE).T
        inside = (low <= targets) & (targets <= high)
        weights = [np.asarray(w(new), dtype=float) for w in law.shifts.values()]
        found.append([float(w @ inside / w.sum()) for w in weights] + [float(inside.mean())])
    return np.array(found)


def simulate(draws: int, rows: int) -> bool:
    """Print a line for each shift; return whether all coverages are as claimed."""
    good = True
    print(f"coverage of 90 % intervals, {draws} draws, {rows:,} calibration rows: marginal, local (standard error)")
    for name, law in LAWS.items():
        with one_blas_thread():
            found = np.array([coverages(law, rows, seed) for seed in range(draws)])  # (draws, 2, shifts + 1)
        mean, error = found.mean(axis=0), found.std(axis=0) / draws**0.5
        for j, shift in enumerate([*law.shifts, "all rows"]):
            print(f"{name:16} {shift:12} {mean[0, j]:.3f}  {mean[1, j]:.3f} ({error[1, j]:.3f})", flush=True)
        shifted = np.abs(mean[:, :-1] - COVERAGE)
        good &= bool(shifted[1].max() <= NEAR and shifted[0].max() >= FAR)
        print(f"{name:16} largest miss: marginal {shifted[0].max():.3f}, local {shifted[1].max():.3f}", flush=True)
    return good


def witness(X: Any, scores: Any, z: Any, factor: float) -> float:
    """Return the threshold at z by bisection over dual problems, which an interior-point solver solves."""
    import cvxpy as cp

    K = factor * np.asarray(GAUSSIAN(np.vstack([X, z]))) + 1e-9 * np.eye(len(X) + 1)
    half, low, high = np.linalg.cholesky(K).T, 0.0, 4.0 * float(scores.max())
    while high - low > 1e-3:
        score, eta = 0.5 * (low + high), cp.Variable(len(K))
        objective = cp.Minimize(0.5 * cp.sum_squares(half @ eta) - eta @ np.append(scores, score))
        cp.Problem(objective, [eta >= COVERAGE - 1.0, eta <= COVERAGE, cp.sum(eta) == 0.0]).solve(solver=cp.CLARABEL)
        low, high = (score, high) if eta.value[-1] < COVERAGE - 1e-5 else (low, score)
    return low


def race(rows: int = 1000, new: int = 100, theirs: int = 2) -> bool:
    """Print seconds per threshold of both implementations; return whether mercer's thresholds are the witness's."""
    from conditionalconformal.condconf import CondConf

    rng = np.random.default_rng(0)
    X, y = _heteroscedastic(rng, rows)
    Z = rng.uniform(0.0, 5.0, (new, 1))
    scores, penalty = np.abs(y), 0.1
    started = time.perf_counter()
    found = LocalCalibration(GAUSSIAN, X, scores, penalty)
    values = found.thresholds(Z, COVERAGE)
    ours = time.perf_counter() - started
    # kernel values are multiplied by scale / (penalty (n + 1)) here and by 1 / (lambda (n + 1)) there
    settings = {"kernel": "rbf", "gamma": 0.5 / 0.5**2, "lambda": penalty / float(np.median(scores))}
    started = time.perf_counter()
    rival = CondConf(lambda x, y: np.abs(y), lambda x: np.ones((len(x), 1)), infinite_params=settings)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        rival.setup_problem(X, y)
        prepared = time.perf_counter() - started
        started = time.perf_counter()
        other = [float(np.ravel(rival.predict(COVERAGE, z[None], lambda s, x: s, exact=False))[0]) for z in Z[:theirs]]
    each = (time.perf_counter() - started) / theirs
    print(f"mercer: {ours:.3f} s for {new} thresholds with {rows:,} rows, the fit included ({1e3 * ours / new:.2f} ms each)")
    print(f"conditionalconformal: {prepared:.2f} s to prepare, {each:.2f} s for each of {theirs} thresholds")
    true = np.array([witness(X, scores, z, float(np.median(scores)) / (penalty * (rows + 1))) for z in Z[:theirs]])
    off, rival_off = (float(np.abs(np.array(part) - true).max()) for part in (values[:theirs], other))
    print(f"largest difference from the witness: mercer {off:.1e}, conditionalconformal {rival_off:.1e}")
    print(f"{new} thresholds: {(prepared + new * each) / ours:,.0f}x")
    started = time.perf_counter()
    LocalCalibration(GAUSSIAN, X, scores, penalty).thresholds(Z[:1], COVERAGE)
    alone = time.perf_counter() - started
    single = prepared + each
    print(f"a single threshold with its fit: {alone:.3f} s against {single:.2f} s, {single / alone:,.0f}x")
    return off < 1e-2


def main(words: list[str] | None = None) -> int:
    """Run the simulations or the race."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("simulate", "race"), default="simulate")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000, help="calibration rows")
    asked = parser.parse_args(words)
    if asked.what == "race":
        return 0 if race() else 1
    return 0 if simulate(asked.draws, asked.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
