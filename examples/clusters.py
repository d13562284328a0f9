"""Clusters in feature space

Digits by kernel k-means, surnames by shared substrings with names for the clusters, and rings by spectral clustering.

    python examples/clusters.py [--out FOLDER]

Distances to centers need kernel values only, so images, words and points are clustered by the same code. Pictures: the
images nearest to the centers, silhouettes in feature space, and rings that no center separates.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer import Gaussian, KernelKMeans, Spectrum


def digits(folder: Path) -> None:
    """Cluster images and draw those nearest to the centers."""
    from mercer.report.clusters import ExamplesDisplay, SilhouetteDisplay

    X, y = load_digits(return_X_y=True)
    model = KernelKMeans(Gaussian("median"), 10, random_state=0).fit(X)
    print(model)
    print(f"agreement with the digits (adjusted Rand index): {adjusted_rand_score(y, model.labels_):.3f}")
    ExamplesDisplay.from_estimator(model, X, n=8, shape=(8, 8)).figure_.savefig(folder / "clusters_digits.png", dpi=110)
    SilhouetteDisplay.from_estimator(model, X).figure_.savefig(folder / "clusters_silhouettes.png", dpi=110)


def surnames() -> None:
    """Cluster words and name the clusters by their substrings."""
    table = mercer.datasets.load_names().table
    words, languages = (table[name].to_numpy() for name in ("name", "language"))
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(languages == name))[:150] for name in ("Japanese", "Russian", "Greek")]
    )
    X = [f"^{word.lower()}$" for word in words[chosen]]  # marks of beginning and end
    model = KernelKMeans(Spectrum(2).normalized(), 3, spectral=True, random_state=0).fit(X)
    print(f"\nsurnames: adjusted Rand index {adjusted_rand_score(languages[chosen], model.labels_):.3f}")
    for name, places in zip(model.cluster_names(X, 4), model.nearest_rows(X, 4), strict=True):
        print(f"{name}: {', '.join(X[i].strip('^$') for i in places)}")


def rings(folder: Path) -> None:
    """Draw rings as centers and as spectral clustering see them, with the regions of new points."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 300), np.repeat([1.0, 3.0], 150)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.12 * rng.normal(size=(300, 2))
    side = np.linspace(-4.0, 4.0, 150)
    G = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    for panel, spectral in zip(panels, (False, True), strict=True):
        model = KernelKMeans(Gaussian(0.4), 2, spectral=spectral, random_state=0).fit(X)
        panel.contourf(side, side, model.predict(G).reshape(150, 150), [-0.5, 0.5, 1.5], cmap="coolwarm", alpha=0.3)
        panel.scatter(*X.T, c=model.labels_, cmap="coolwarm", s=10)
        score = adjusted_rand_score(radius, model.labels_)
        panel.set(title=f"spectral={spectral}: agreement {score:.2f}", aspect="equal")
    figure.savefig(folder / "clusters_rings.png", dpi=110)


def main() -> None:
    """Cluster, print, draw."""
    parser = argparse.ArgumentParser(description="Clusters of images, words and rings.")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    digits(chosen.out)
    surnames()
    rings(chosen.out)


if __name__ == "__main__":
    main()
