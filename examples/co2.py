"""Carbon dioxide at Mauna Loa, split into its terms

Monthly means before 1995, explained by a sum of two kernels, the noise and a constant. The search tries several starts and
says which one won: the long term with a yearly shape carries trend and season, the other one irregularities of months.

    python examples/co2.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import Gaussian, GaussianProcessRegressor, Periodic
from mercer.datasets import load_co2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = parser.parse_args().out
    table = load_co2().table
    year, month, y = (np.asarray(table[name].to_numpy(), dtype=float) for name in ("year", "month", "co2"))
    t = (year + (month - 1.0) / 12.0)[:, None]
    known = year < 1995
    kernel = 2500.0 * Gaussian(50.0) + 4.0 * Gaussian(100.0) * Periodic(1.0, period=1.0)
    model = GaussianProcessRegressor(kernel).fit(t[known], y[known])
    print(model.diagnosis_)
    parts = model.components(t)
    print(parts)
    print(f"the terms add up to the prediction within {np.abs(parts.total - model.predict(t)).max():.1e} ppm")
    error = y[~known] - model.predict(t[~known])
    print(f"1995 to 2001: RMSE {np.sqrt(np.mean(error**2)):.2f} ppm")

    from mercer.report.gaussian_process import TermsDisplay

    folder.mkdir(parents=True, exist_ok=True)
    names = ["irregularities", "trend and season", "constant mean"]
    drawn = TermsDisplay.from_estimator(model, t, names=names)
    drawn.axes_[1].scatter(t[:, 0], y - parts.mean[:, 2], s=2, color="black")
    drawn.axes_[-1].set_xlabel("year")
    drawn.figure_.savefig(folder / "co2.png", dpi=110)


if __name__ == "__main__":
    main()
