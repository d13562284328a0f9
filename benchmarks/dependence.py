"""Speed, power, levels and causal graphs of the tests of dependence, beside causal-learn.

    python -m benchmarks.dependence speed     # ci_test at 1,000 rows beside causal-learn, and both tests at 100,000 rows
    python -m benchmarks.dependence graphs    # skeletons of 20 random graphs with 10 nodes, PC with each test
    python -m benchmarks.dependence level     # 2,000 draws: mmd_test and hsic_test with scaled columns, four settings each
    python -m benchmarks.dependence stein     # 2,000 draws: stein_test for two densities, and power against a missing mode
    python -m benchmarks.dependence linear    # power of the linear-time form of mmd_test beside that over all pairs

Each part ends with one line and exit code 1 if a bound is missed. Seeds are fixed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS, GRAPHS, NODES, ROWS, LEVEL = 2000, 20, 10, 200, 0.05


def chain(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """X and Y are independent given Z."""
    z = rng.normal(size=n)
    return np.sin(2.0 * z) + 0.5 * rng.normal(size=n), z**2 + 0.5 * rng.normal(size=n), z[:, None]


def speed() -> int:
    """Time ci_test and mmd_test; large cases run in a new process, whose peak memory is printed."""
    from causallearn.utils.cit import CIT

    from mercer import ci_test

    X, Y, Z = chain(np.random.default_rng(0), 1000)
    ci_test(X, Y, Z, random_state=0)
    ours = min(_seconds(lambda: ci_test(X, Y, Z, random_state=0)) for _ in range(5))
    data = np.column_stack([X, Y, Z])
    # use_gp=True chooses the kernels of its regressions from the data, as ci_test does; the default has fixed ones
    theirs, fixed = (_seconds(lambda gp=gp: CIT(data, "kci", use_gp=gp)(0, 1, (2,))) for gp in (True, False))
    faster = f"{ours:.3f} s, {theirs / ours:.0f}x KCI with learned kernels, {fixed / ours:.0f}x with fixed ones"
    print(f"ci_test, 1,000 rows: {faster}", flush=True)
    good = ours <= 0.15 and theirs / ours >= 40
    for name, limit, memory in (("ci", 60.0, 2.0), ("mmd", 20.0, np.inf)):
        found = subprocess.run(
            [sys.executable, "-m", "benchmarks.dependence", f"large-{name}"], capture_output=True, text=True, check=True
        ).stdout.split()
        seconds, peak = float(found[0]), float(found[1])
        rows = "100,000 rows" if name == "ci" else "100,000 + 100,000 rows"
        print(f"{name}_test, {rows}: {seconds:.1f} s, {peak:.2f} GB", flush=True)
        good &= seconds < limit and peak < memory
        faster += f"; {name} of {rows} {seconds:.1f} s, {peak:.2f} GB"
    return _verdict(good, f"ci_test of 1,000 rows {faster}")


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def large(name: str) -> int:
    """Print seconds and peak memory in GB of one large test."""
    from mercer import ci_test, mmd_test

    rng = np.random.default_rng(1)
    if name == "ci":
        X, Y, Z = chain(rng, 100_000)
        seconds = _seconds(lambda: ci_test(X, Y, Z, random_state=0))
    else:
        A, B = rng.normal(size=(2, 100_000, 5))
        seconds = _seconds(lambda: mmd_test(A, B, random_state=0))
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    return 0


def random_graph(rng: np.random.Generator) -> tuple[Floats, set[tuple[int, int]]]:
    """Draw a nonlinear model on a random order of nodes, each with up to two parents; return rows and edges."""
    order, edges = rng.permutation(NODES), set()
    values = np.zeros((ROWS, NODES))
    for place, node in enumerate(order):
        parents = rng.choice(order[:place], min(place, int(rng.integers(1, 3))), replace=False) if place else []
        total = np.zeros(ROWS)
        for parent in parents:
            edges.add((min(node, parent), max(node, parent)))
            shape = (np.tanh, np.sin, lambda v: v**2 - 1.0, np.cos)[int(rng.integers(4))]
            total += rng.uniform(1.0, 2.0) * shape(values[:, parent])
        values[:, node] = total + 0.6 * rng.normal(size=ROWS)
        values[:, node] = (values[:, node] - values[:, node].mean()) / values[:, node].std()
    return values, edges


def graphs() -> int:
    """Compare skeletons found by PC with both tests: share of right edges (F1), exact skeletons, seconds."""
    from causallearn.search.ConstraintBased.PC import pc

    from mercer.causal import causal_learn

    scores: dict[str, list[tuple[float, bool, float]]] = {"mercer": [], "causal-learn": []}
    names = {"mercer": causal_learn(), "causal-learn": "kci"}
    for i in range(GRAPHS):
        data, edges = random_graph(np.random.default_rng([36, i]))
        for who, name in names.items():
            start = time.perf_counter()
            found = pc(data, LEVEL, name, show_progress=False).G.graph
            seconds = time.perf_counter() - start
            skeleton = {(a, b) for a in range(NODES) for b in range(a + 1, NODES) if found[a, b] or found[b, a]}
            both = len(skeleton & edges)
            scores[who].append((2.0 * both / (len(skeleton) + len(edges)), skeleton == edges, seconds))
        print(
            i, {who: (round(rows[-1][0], 3), rows[-1][1], round(rows[-1][2], 1)) for who, rows in scores.items()}, flush=True
        )
    means = {who: np.mean(np.array(rows, float), axis=0) for who, rows in scores.items()}
    exact = {who: int(sum(row[1] for row in rows)) for who, rows in scores.items()}
    ours, theirs = means["mercer"], means["causal-learn"]
    line = (
        f"PC on {GRAPHS} graphs: skeletons exact {exact['mercer']} and {exact['causal-learn']}, F1 {ours[0]:.3f} and "
        f"{theirs[0]:.3f}, seconds {ours[2]:.1f} and {theirs[2]:.1f} (mercer, causal-learn)"
    )
    return _verdict(exact["mercer"] >= exact["causal-learn"] and ours[0] >= theirs[0] - 0.01 and ours[2] < theirs[2], line)


def _grams_and_tons(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.normal(size=(30, 3)) * [1.0, 1e4, 1e-3], rng.normal(size=(30, 3)) * [1.0, 1e4, 1e-3]


MMD_SETTINGS: dict[str, Callable[[np.random.Generator], tuple[Floats, Floats]]] = {
    "units apart": _grams_and_tons,
    "heavy tails": lambda rng: (rng.standard_t(1.5, size=(30, 2)), rng.standard_t(1.5, size=(40, 2))),
    "skewed, unequal": lambda rng: (rng.gamma(0.5, size=(15, 2)), rng.gamma(0.5, size=(60, 2))),
    "a rare value": lambda rng: ((rng.random((40, 2)) < 0.1).astype(float), (rng.random((40, 2)) < 0.1).astype(float)),
}
HSIC_SETTINGS: dict[str, Callable[[np.random.Generator], tuple[Floats, Floats]]] = {
    "units apart": lambda rng: (_grams_and_tons(rng)[0], rng.normal(size=(30, 2)) * [1e5, 1.0]),
    "heavy tails": lambda rng: (rng.standard_t(1.5, size=(30, 2)), rng.standard_t(1.5, size=(30, 1))),
    "skewed": lambda rng: (rng.gamma(0.5, size=(40, 1)), rng.gamma(0.5, size=(40, 2))),
    "a rare value": lambda rng: ((rng.random((40, 2)) < 0.1).astype(float), rng.normal(size=(40, 1))),
}


def level(draws: int = DRAWS) -> int:
    """Print the share of rejections at .05 of both tests with their default kernels, in four settings each."""
    from mercer import hsic_test, mmd_test

    good, parts = True, []
    tests: tuple[tuple[str, Any, Any], ...] = (("mmd", mmd_test, MMD_SETTINGS), ("hsic", hsic_test, HSIC_SETTINGS))
    for name, test, settings in tests:
        for setting, draw in settings.items():
            hits = 0
            for i in range(draws):
                rng = np.random.default_rng([4, i])
                hits += test(*draw(rng), n_permutations=199, random_state=i).pvalue <= LEVEL
            share = hits / draws
            discrete = setting == "a rare value"  # ties make permutation tests conservative, never liberal
            good &= share <= 0.065 and (discrete or share >= 0.035)
            parts.append(f"{name} {setting} {share:.4f}")
            print(parts[-1], flush=True)
    return _verdict(good, "levels over 2,000 draws: " + ", ".join(parts))


def stein(draws: int = DRAWS) -> int:
    """Print the level of stein_test for a normal and a Student density, and its power against a missing mode of 150 rows."""
    from scipy import stats

    from mercer import stein_test

    def two_modes(x: Floats) -> Floats:
        near, far = np.exp(-0.5 * (x - 2.0) ** 2), np.exp(-0.5 * (x + 2.0) ** 2)
        return (near * (2.0 - x) + far * (-2.0 - x)) / (near + far)

    def rejected(draw: Callable[[np.random.Generator], Floats], score: Any, count: int) -> float:
        hits = 0
        for i in range(count):
            hits += stein_test(draw(np.random.default_rng([9, i])), score, n_draws=199, random_state=i).pvalue <= LEVEL
        return hits / count

    null = {
        "normal": rejected(lambda rng: rng.normal(size=(80, 2)), lambda x: -x, draws),
        "Student": rejected(lambda rng: rng.standard_t(5, size=(80, 1)), stats.t(5), draws),
    }
    power = rejected(lambda rng: rng.normal(2.0, 1.0, size=(150, 1)), two_modes, min(draws, 500))
    line = ", ".join(f"level {name} {share:.4f}" for name, share in null.items()) + f", power {power:.3f} (missing mode)"
    return _verdict(all(0.035 <= share <= 0.065 for share in null.values()), "stein_test: " + line)


def linear(draws: int = 100) -> int:
    """Power of mmd_test over all pairs and through features, for shifts that become smaller with the number of rows."""
    from mercer import mmd_test

    words, good = [], True
    for n, shift in ((200, 0.30), (500, 0.19)):
        rejected = {}
        for method in ("exact", "features"):
            found = 0
            for draw in range(draws):
                rng = np.random.default_rng([n, draw])
                X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
                Y[:, 0] += shift
                found += mmd_test(X, Y, method=method, n_permutations=199, random_state=draw).pvalue <= LEVEL
            rejected[method] = found / draws
        words.append(f"{n} rows {rejected['features']:.2f} for {rejected['exact']:.2f}")
        print(words[-1], flush=True)
        good &= rejected["features"] >= 0.6 * rejected["exact"]
    return _verdict(good, f"power of the linear-time form for that over all pairs, {draws} draws: {'; '.join(words)}")


def _verdict(good: bool, line: str) -> int:
    print(("PASS: " if good else "NOT REACHED: ") + line)
    return 0 if good else 1


def main(arguments: list[str]) -> int:
    """Run one part."""
    parts = {
        "speed": speed, "graphs": graphs, "level": level, "stein": stein, "linear": linear,
        "large-ci": lambda: large("ci"), "large-mmd": lambda: large("mmd"),
    }  # fmt: skip
    if len(arguments) != 1 or arguments[0] not in parts:
        print(__doc__)
        return 2
    return parts[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
