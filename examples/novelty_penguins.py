"""Novel rows of a mixed table

A detector that knows one species of penguins judges new birds: p-values, false discoveries, and why a bird is novel.

    python examples/novelty_penguins.py [--rate R] [--out FOLDER]

The detector is fitted to half of the Adelie penguins: measures of the body, two isotopes, the sex, with holes. It judges the
other half together with the two other species. Printed are the birds that control of false discoveries finds, the share of
false ones among them, and the columns that make each species novel. No kernel is chosen: mixed tables get one over their
columns.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mercer
from mercer import NoveltyDetector

COLUMNS = (
    "Culmen Length (mm)",
    "Culmen Depth (mm)",
    "Flipper Length (mm)",
    "Body Mass (g)",
    "Sex",
    "Delta 15 N (o/oo)",
    "Delta 13 C (o/oo)",
)


def birds() -> tuple[pd.DataFrame, np.ndarray]:
    """The birds that were measured, two were not, and their species by the first word."""
    table = mercer.datasets.load_penguins().table
    frame = pd.DataFrame({name: table[name].to_numpy() for name in COLUMNS})
    species = np.array([str(name).split()[0] for name in table["Species"].to_numpy()])
    measured = frame["Body Mass (g)"].notna().to_numpy()
    return frame[measured], species[measured]


def main() -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description="Which penguins are new to a detector that knows one species?")
    parser.add_argument("--rate", type=float, default=0.1, help="rate of false discoveries")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    frame, species = birds()
    adelie = np.random.default_rng(0).permutation(np.flatnonzero(species == "Adelie"))
    known = np.sort(adelie[: len(adelie) // 2])
    new = np.setdiff1d(np.arange(len(frame)), known)
    model = NoveltyDetector().fit(frame.iloc[known])
    print(model)
    found = model.predict(frame.iloc[new], chosen.rate, control="fdr") == -1
    false = found & (species[new] == "Adelie")
    print(f"\n{found.sum()} of {len(new)} birds are novel, {false.sum()} of them Adelie: {false.sum() / found.sum():.3f}")
    draw(model, frame.iloc[new], species[new], found, chosen.out / "novelty_penguins.png")


def draw(model: NoveltyDetector, frame: Any, species: np.ndarray, found: np.ndarray, path: Path) -> None:
    """Scores of the species, and the mean shares of columns."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    scores = -model.score_samples(frame)
    bins = np.linspace(scores.min(), scores.max(), 40)
    names = ["Adelie", "Chinstrap", "Gentoo"]
    for name in names:
        left.hist(scores[species == name], bins, alpha=0.6, label=name)
    left.axvline(scores[found].min(), color="k", lw=1, label="novel beyond")
    left.set(xlabel="novelty", ylabel="birds")
    left.legend(frameon=False)
    places = np.arange(len(COLUMNS))
    for shift, name in zip((-0.2, 0.2), names[1:], strict=True):
        shares = model.column_shares(frame[species == name]).mean(axis=0)
        print(f"{name}: " + ", ".join(f"{COLUMNS[j]} {shares[j]:.2f}" for j in np.argsort(-shares)[:3]))
        right.barh(places + shift, shares, 0.4, label=name)
    right.set_yticks(places, labels=COLUMNS)
    right.set(xlabel="mean share in the distance to known birds")
    right.legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
