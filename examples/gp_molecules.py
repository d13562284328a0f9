"""Solubility of molecules, with error bars

A Gaussian process on molecules: solubility from the letters of a SMILES string.

The kernel counts common substrings of one to four letters, each length normalized and with a weight of its own; the weights
and the noise are fitted by marginal likelihood. The data are 1128 molecules with measured log solubility (ESOL).

    python examples/gp_molecules.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import GaussianProcessRegressor, Spectrum
from mercer.datasets import load_solubility


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    options = parser.parse_args()
    table, targets = load_solubility().split()
    strings = table["smiles"].to_numpy()
    rows = np.random.default_rng(0).permutation(len(targets))
    words, y = [str(strings[i]) for i in rows], np.asarray(targets, dtype=float)[rows]
    kernel = sum((1.0 * Spectrum(p=p).normalized() for p in (2, 3, 4)), start=1.0 * Spectrum(p=1).normalized())
    model = GaussianProcessRegressor(kernel, n_restarts=0).fit(words[:600], y[:600])
    mean, std = model.predict(words[600:], return_std=True, include_noise=True)
    error = y[600:] - mean
    for name, value in zip(model.theta_names_, np.exp(model.theta_), strict=True):
        print(f"  {name:12} {value:.3g}")
    print(f"RMSE on 528 new molecules: {np.sqrt(np.mean(error**2)):.3f} (the mean alone: {y[600:].std():.3f})")
    print(f"95 % intervals hold {np.mean(np.abs(error) < 1.96 * std):.1%}")
    worst = int(np.argmax(std))
    print(f"least certain: {words[600 + worst]} ({mean[worst]:.2f} ± {std[worst]:.2f}, measured {y[600 + worst]:.2f})")

    from mercer.report.gaussian_process import CalibrationDisplay

    options.out.mkdir(parents=True, exist_ok=True)
    CalibrationDisplay.from_estimator(model).figure_.savefig(options.out / "gp_molecules.png", dpi=120)


if __name__ == "__main__":
    main()
