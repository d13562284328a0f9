"""Which molecule to measure next?

Campaigns of suggested experiments: from five measured molecules to the most soluble 1 % of 1128.

    python examples/next_experiment.py [--campaigns N] [--out FOLDER]

A Gaussian process with a Tanimoto kernel is fitted to the molecules that are measured so far, and `suggest` names the one to
measure next: by expected improvement, or by the mean alone (greedy). Random order is the third way. The target of each
molecule is known here, so a campaign can be played many times; a picture shows the best target found so far.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import CircularSubstructures, GaussianProcessRegressor, suggest
from mercer.datasets import load_solubility

KERNEL = CircularSubstructures(2).tanimoto()
STEPS = 30


def campaign(smiles: np.ndarray, y: np.ndarray, seed: int, method: str) -> np.ndarray:
    """The targets in the order in which they are measured."""
    known = np.random.default_rng(seed).permutation(len(y))[:STEPS].tolist()
    if method == "random":
        return y[known]
    del known[5:]
    while len(known) < STEPS:
        model = GaussianProcessRegressor(KERNEL, noise=0.03, optimizer=None, normalize_y=True)
        model.fit(smiles[known].tolist(), y[known])
        known += suggest(model, smiles.tolist(), method=method).tolist()
    return y[known]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--campaigns", type=int, default=2, help="campaigns with other first molecules")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the picture")
    options = parser.parse_args()
    table, targets = load_solubility().split()
    y = np.asarray(targets, dtype=float)
    smiles = np.array([str(text) for text in table["smiles"].to_numpy()], dtype=object)
    goal = np.sort(y)[-len(y) // 100]
    curves = {}
    for method, name in (("random", "random order"), ("mean", "greedy mean"), ("improvement", "expected improvement")):
        found = np.array([campaign(smiles, y, seed, method) for seed in range(options.campaigns)])
        curves[name] = np.maximum.accumulate(found, axis=1)
        reached = (curves[name] >= goal).any(axis=1)
        print(f"{name}: {reached.sum()} of {len(found)} campaigns reach the top 1 % within {STEPS} experiments; "
              f"best target {curves[name][:, -1].mean():.2f} on average")  # fmt: skip

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    for name, values in curves.items():
        axes.plot(np.arange(1, STEPS + 1), values.mean(axis=0), label=name)
    axes.axhline(goal, color="gray", linestyle=":", label="top 1 %")
    axes.set(xlabel="experiments", ylabel="best log solubility so far")
    axes.legend()
    options.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out / "next_experiment.png", dpi=120)


if __name__ == "__main__":
    main()
