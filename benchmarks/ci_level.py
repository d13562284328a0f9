"""Level and power of `ci_test` over draws with fixed seeds, beside causal-learn's KCI.

    python -m benchmarks.ci_level                 # 2,000 draws of each null setting, 500 of each alternative
    python -m benchmarks.ci_level --peer          # causal-learn as well: 200 draws of nulls, settings with n <= 200
    python -m benchmarks.ci_level --draws 200     # a shorter run; only full runs are stored

Rows are stored in benchmarks/quality/ci_level.json as soon as they are finished, and printed as a table. Stored rows are not
computed again; remove the file to start anew. The command ends with exit code 1 if a level lies outside .035 to .065, or a
power is below that of causal-learn by more than two standard errors.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

STORE = Path(__file__).parent / "quality" / "ci_level.json"
FULL, POWER_DRAWS, PEER_DRAWS, LEVEL = 2000, 500, 200, 0.05
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats, Floats]]


@dataclass(frozen=True)
class Setting:
    """A distribution of (X, Y, Z) with the number of rows; `null` if X and Y are independent given Z."""

    name: str
    n: int
    draw: Draw
    null: bool


def _index(rng: np.random.Generator, n: int, d: int) -> tuple[Floats, Floats]:
    Z = rng.normal(size=(n, d))
    return Z, Z.sum(axis=1) / np.sqrt(d)


def linear(d: int) -> Draw:
    """X and Y are sums of the columns of Z with noise."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
        Z, s = _index(rng, n, d)
        return s + rng.normal(size=n), s + rng.normal(size=n), Z

    return draw


def nonlinear(d: int) -> Draw:
    """X is a sine and Y a square of a sum of the columns of Z, with noise."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
        Z, s = _index(rng, n, d)
        return np.sin(2.0 * s) + 0.5 * rng.normal(size=n), s**2 + 0.5 * rng.normal(size=n), Z

    return draw


def heteroscedastic(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """The variances of X and Y depend on Z."""
    Z, s = _index(rng, n, 1)
    return s + np.abs(s) * rng.normal(size=n), np.cos(s) + 0.5 * np.exp(s / 2.0) * rng.normal(size=n), Z


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """Z has Student's distribution with 3 degrees of freedom, the noise with 2."""
    Z = rng.standard_t(3, size=(n, 1))
    return Z[:, 0] + rng.standard_t(2, size=n), np.tanh(Z[:, 0]) + rng.standard_t(2, size=n), Z


def discrete(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """Z has four values; the means of X and Y depend on it without order."""
    place = rng.integers(0, 4, size=n)
    X, Y = np.array([0.0, 2.0, -1.0, 1.0])[place], np.array([1.0, -1.0, 2.0, 0.0])[place]
    return X + rng.normal(size=n), Y + rng.normal(size=n), place[:, None].astype(np.float64)


def direct(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """Y depends on X linearly."""
    Z, s = _index(rng, n, 1)
    X = s + rng.normal(size=n)
    return X, 0.3 * X + s + rng.normal(size=n), Z


def cosine(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """Y depends on a cosine of the noise of X."""
    Z, s = _index(rng, n, 1)
    noise = rng.normal(size=n)
    return np.sin(2.0 * s) + noise, s**2 + 0.5 * np.cos(2.0 * noise) + 0.5 * rng.normal(size=n), Z


def interaction(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """The noise of X enters Y with the sign of Z; the mean dependence over Z is zero."""
    Z, s = _index(rng, n, 1)
    noise = rng.normal(size=n)
    return s + noise, s + 0.6 * np.sign(s) * noise + rng.normal(size=n), Z


def hidden(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """X and Y share a hidden variable beside five columns of Z."""
    Z, s = _index(rng, n, 5)
    h = rng.normal(size=n)
    return s + 0.6 * h + 0.8 * rng.normal(size=n), np.tanh(s) + 0.6 * h + 0.8 * rng.normal(size=n), Z


SETTINGS = (
    Setting("linear, Z of 1 column", 100, linear(1), True),
    Setting("nonlinear, Z of 1 column", 100, nonlinear(1), True),
    Setting("heteroscedastic", 100, heteroscedastic, True),
    Setting("heavy tails", 100, heavy_tails, True),
    Setting("discrete Z", 100, discrete, True),
    Setting("linear, Z of 5 columns", 100, linear(5), True),
    Setting("nonlinear, Z of 1 column, n = 500", 500, nonlinear(1), True),
    Setting("nonlinear, Z of 5 columns, n = 500", 500, nonlinear(5), True),
    Setting("alternative: direct effect", 100, direct, False),
    Setting("alternative: cosine of the noise", 100, cosine, False),
    Setting("alternative: sign depends on Z", 100, interaction, False),
    Setting("alternative: hidden variable", 100, hidden, False),
)


def rejections(setting: Setting, draws: int, peer: bool) -> tuple[int, float]:
    """Return rejections at .05 and seconds per test; draw i has the seed [2027, i]."""
    from mercer import ci_test

    count, seconds = 0, 0.0
    for i in range(draws):
        X, Y, Z = setting.draw(np.random.default_rng([2027, i]), setting.n)
        start = time.perf_counter()
        pvalue = _peer(X, Y, Z) if peer else ci_test(X, Y, Z, random_state=i).pvalue
        seconds += time.perf_counter() - start
        count += pvalue <= LEVEL
    return count, seconds / draws


def _peer(X: Floats, Y: Floats, Z: Floats) -> float:
    from causallearn.utils.cit import CIT

    data = np.column_stack([X, Y, Z])
    return float(CIT(data, "kci")(0, 1, tuple(range(2, data.shape[1]))))


def main() -> int:
    """Run all settings, store finished rows, print the table, and return 1 if a level or a power is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=FULL)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    bad = 0
    for setting in SETTINGS:
        if chosen.only not in setting.name or (chosen.peer and setting.n > 200):
            continue
        full = POWER_DRAWS if not setting.null else PEER_DRAWS if chosen.peer else FULL
        draws, who = min(chosen.draws, full), "causal-learn" if chosen.peer else "mercer"
        row = stored.setdefault(setting.name, {"n": setting.n, "null": setting.null})
        if row.get(who, {}).get("draws") != draws:
            count, seconds = rejections(setting, draws, chosen.peer)
            row[who] = {"draws": draws, "rejected": count, "seconds": round(seconds, 4)}
            if draws == full:
                STORE.write_text(json.dumps(stored, indent=1) + "\n")
        bad += _out_of_bounds(row)
        print(_line(setting.name, row), flush=True)
    return int(bad > 0)


def _share(row: dict[str, float]) -> tuple[float, float]:
    share = row["rejected"] / row["draws"]
    return share, float(np.sqrt(share * (1.0 - share) / row["draws"]))


def _out_of_bounds(row: dict[str, dict[str, float]]) -> bool:
    if "mercer" not in row:
        return False
    share, error = _share(row["mercer"])
    if row["null"]:
        return not 0.035 <= share <= 0.065
    if "causal-learn" not in row:
        return False
    other, noise = _share(row["causal-learn"])
    return share < other - 2.0 * float(np.hypot(error, noise))


def _line(name: str, row: dict[str, dict[str, float]]) -> str:
    parts = [f"{name:<36} n = {row['n']}"]
    for who in ("mercer", "causal-learn"):
        if who in row:
            share, error = _share(row[who])
            parts.append(
                f"{who}: {share:.4f} ± {error:.4f} ({row[who]['draws']} draws, {1000 * row[who]['seconds']:.0f} ms)"
            )
    return "  ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
