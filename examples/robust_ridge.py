"""Ridge with outliers

Plain ridge works well only without outliers; Huber's loss counts a far point less, in a picture.

    python examples/robust_ridge.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from mercer import Gaussian
from mercer.report.ridge import RobustDisplay

KERNEL, ALPHA = Gaussian(length_scale=1.0), 0.3


def sample(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """A noisy sine, a share of whose values is off by 3 to 6."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    y = np.sin(x) + 0.15 * rng.normal(size=n)
    far = rng.choice(n, round(share * n), replace=False)
    y[far] += rng.choice([-1.0, 1.0], len(far)) * rng.uniform(3, 6, len(far))
    return x, y


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")  # files, not windows
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--n", type=int, default=100, help="rows")
    parser.add_argument("--seeds", type=int, default=10, help="samples per line of the table")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"root mean squared distance from the truth, mean over {options.seeds} samples of {options.n} rows")
    print(f"{'outliers':>10}{'plain ridge':>14}{'Huber':>10}")
    for share in (0.0, 0.05, 0.1, 0.2):
        errors = []
        for seed in range(options.seeds):
            display = RobustDisplay.from_data(*sample(options.n, share, seed), kernel=KERNEL, alpha=ALPHA, truth=np.sin)
            errors.append((display.plain_error, display.huber_error))
            plt.close(display.figure_)
        plain, huber = np.mean(errors, axis=0)
        print(f"{share:>10.0%}{plain:>14.3f}{huber:>10.3f}")
    display = RobustDisplay.from_data(*sample(options.n, 0.1, 0), kernel=KERNEL, alpha=ALPHA, truth=np.sin)
    path = options.out / "ridge_robust.png"
    display.figure_.savefig(path, dpi=130)
    print(f"\n{path}")


if __name__ == "__main__":
    main()
