"""Coverage of the 90 % intervals of `TableRegressor()` on small and odd simulated tables, pooled over draws.

python -m benchmarks.table_coverage [--draws 20] [--settings tiny small] [--out FILE]

Results are kept by setting and draw in `benchmarks/quality/table_coverage.json`; a run continues where the last one ended.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import write_whole

KEPT = Path(__file__).parent / "quality" / "table_coverage.json"
TESTED, COVERAGE = 400, 0.9
Drawn = tuple[Any, Any]


def draw(n: int, rng: np.random.Generator, noise: Callable[[int], Any]) -> Drawn:
    """Return n rows of four numbers, of which three matter, and a target with noise that grows with the first."""
    X = rng.standard_normal((n, 4))
    spread = 0.3 + 0.3 * (X[:, 0] > 0)
    return X, np.sin(1.5 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + spread * noise(n)


def normal(n: int, rng: np.random.Generator) -> Drawn:
    """Return rows with normal noise."""
    return draw(n, rng, rng.standard_normal)


def heavy(n: int, rng: np.random.Generator) -> Drawn:
    """Return rows with noise of Student's t with 1.5 degrees of freedom, whose variance is infinite."""
    return draw(n, rng, lambda m: rng.standard_t(1.5, m))


def copied(n: int, rng: np.random.Generator) -> Drawn:
    """Return n rows, of which a half are copies of others in every cell and in the target."""
    X, y = normal(n, rng)
    rows = np.r_[: n // 2, rng.integers(0, n // 2, n - n // 2)]
    return X[rows], y[rows]


def repeated(n: int, rng: np.random.Generator) -> Drawn:
    """Return n measurements at n / 3 points, whose noise differs."""
    points = rng.standard_normal((max(n // 3, 2), 4))
    X = points[rng.integers(0, len(points), n)]
    return X, np.sin(1.5 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.4 * rng.standard_normal(n)


def holed(n: int, rng: np.random.Generator) -> Drawn:
    """Return rows of which 30 % of the cells are missing."""
    X, y = normal(n, rng)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X), y


#: Rows and draws of training and test rows. Copies and repeated rows are tested on rows of their own.
SETTINGS: dict[str, tuple[int, Callable[..., Drawn], Callable[..., Drawn]]] = {
    "40 rows": (40, normal, normal),
    "60 rows": (60, normal, normal),
    "150 rows": (150, normal, normal),
    "heavy tails, 150 rows": (150, heavy, heavy),
    "copies, 150 rows": (150, copied, normal),
    "repeated points, 150 rows": (150, repeated, lambda m, rng: repeated(3 * m, rng)),
    "30 % missing, 150 rows": (150, holed, holed),
}


def one(setting: str, seed: int) -> list[float]:
    """Return the share of covered test rows, and the mean width of the intervals."""
    from mercer import TableRegressor

    n, train, test = SETTINGS[setting]
    rng = np.random.default_rng([seed, n])
    model = TableRegressor(random_state=seed).fit(*train(n, rng))
    X, y = test(TESTED, rng)
    low, high = model.predict_interval(X, COVERAGE).T
    return [float(np.mean((low <= y) & (y <= high))), float(np.mean(high - low))]


def main() -> None:
    """Run what is missing, then print coverages."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    options.add_argument("--again", action="store_true", help="run again what has results")
    options.add_argument("--out", type=Path, default=KEPT)
    asked = options.parse_args()
    known: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for seed in range(asked.draws):
        for setting in asked.settings:
            key = f"{setting} {seed}"
            if asked.again or key not in known:
                known[key] = one(setting, seed)
                write_whole(asked.out, json.dumps(known, indent=1, sort_keys=True) + "\n")
    pooled = []
    for setting in asked.settings:
        found = np.array([known[f"{setting} {seed}"] for seed in range(asked.draws)])
        covered = found[:, 0]
        pooled += covered.tolist()
        print(f"{setting}: coverage {100 * covered.mean():.1f} % +- {100 * covered.std() / len(covered) ** 0.5:.1f}")
    print(f"pooled over {len(pooled)} draws: coverage {100 * np.mean(pooled):.1f} %")


if __name__ == "__main__":
    main()
