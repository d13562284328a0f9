"""Level of block tests on independent AR(1) series with coefficient .9, over draws with fixed seeds.

    python -m benchmarks.block_level               # 2,000 draws of each setting
    python -m benchmarks.block_level --draws 200

The last column is the level without blocks, from 200 draws. Exit code 1 if a level lies above .065; values below .035
are conservative, and reported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from mercer import Gaussian, hsic_test, mmd_test

DRAWS, PLAIN_DRAWS, LEVEL = 2000, 200, 0.05
Test = Callable[..., Any]


def series(rng: np.random.Generator, n: int) -> NDArray[np.float64]:  # -> (n, 1)
    """Return a stationary AR(1) series with coefficient .9 and standard deviation 1."""
    found = lfilter([1.0], [1.0, -0.9], rng.normal(size=n + 300))[300:]
    return np.asarray(found * np.sqrt(1.0 - 0.81))[:, None]


#: name -> test, rows of each series, blocks
SETTINGS: dict[str, tuple[Test, int, Any]] = {
    "hsic_test, time shifts": (hsic_test, 400, "shifts"),
    "hsic_test, blocks of 50": (hsic_test, 400, 50),
    "mmd_test, blocks='auto'": (mmd_test, 1000, "auto"),
    "mmd_test, blocks of 150": (mmd_test, 1200, 150),
}


def share(test: Test, n: int, blocks: Any, draws: int, number: int) -> float:
    """Return the share of draws that are rejected."""
    rejected = 0
    for seed in range(draws):
        rng = np.random.default_rng([number, seed])
        options = {"kernel_y": Gaussian(1.0)} if test is hsic_test else {}
        found = test(
            series(rng, n), series(rng, n), Gaussian(1.0), n_permutations=199, random_state=seed, blocks=blocks, **options
        )
        rejected += found.pvalue <= LEVEL
    return rejected / draws


def main() -> int:
    """Print the table of levels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS)
    draws = parser.parse_args().draws
    print(f"{draws} draws; standard error {np.sqrt(0.05 * 0.95 / draws):.4f}\n")
    print(f"{'setting':<28}  rows   level  without blocks")
    held = True
    for number, (name, (test, n, blocks)) in enumerate(SETTINGS.items()):
        level = share(test, n, blocks, draws, number)
        plain = share(test, n, None, min(draws, PLAIN_DRAWS), number)
        held &= level <= 0.065
        print(f"{name:<28}  {n:4d}  {level:6.4f}  {plain:14.3f}", flush=True)
    print("\nholds" if held else "\ndoes not hold")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
