"""Kernel PCA in the plane

Components in the plane: contours of kernel PCA, projections of new points, and the way back.

    python examples/kernel_pca_plane.py [--out FOLDER]

Three clusters and two rings. The first components of a Gaussian kernel tell the clusters apart and then bend within them;
rings that no line separates are separated by the first two components.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_circles

from mercer import Gaussian, KernelPCA
from mercer.report.drawing import BLUE, GRAY, VERMILLION, one_axes
from mercer.report.pca import ComponentsDisplay, ProjectionDisplay, ScreeDisplay


def clusters(seed: int = 0) -> np.ndarray:
    """Three clusters of thirty points."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(center, 0.12, (30, 2)) for center in ((-0.5, -0.2), (0.0, 0.6), (0.5, 0.0))])


def main() -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description="Kernel PCA in the plane.")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = Path(parser.parse_args().out)
    folder.mkdir(parents=True, exist_ok=True)

    X = clusters()
    model = KernelPCA(Gaussian(0.25), n_components=6).fit(X)
    print(model)
    ComponentsDisplay.from_estimator(model, X).figure_.savefig(folder / "kernel_pca_components.png", dpi=110)
    scree = ScreeDisplay.from_estimator(KernelPCA(Gaussian(0.25)).fit(X))
    scree.figure_.savefig(folder / "kernel_pca_scree_plane.png", dpi=110)

    rings, label = make_circles(400, factor=0.35, noise=0.05, random_state=0)
    new, new_label = make_circles(100, factor=0.35, noise=0.05, random_state=1)
    model = KernelPCA(Gaussian(0.5), n_components=2).fit(rings)
    groups = {
        "outer ring": rings[label == 0],
        "inner ring": rings[label == 1],
        "new points, outer": new[new_label == 0],
        "new points, inner": new[new_label == 1],
    }
    ProjectionDisplay.from_estimator(model, groups).figure_.savefig(folder / "kernel_pca_projections.png", dpi=110)

    model = KernelPCA(Gaussian(0.4), n_components=10).fit(rings[label == 0])
    noisy = rings[label == 0][:60] + np.random.default_rng(2).normal(0.0, 0.2, (60, 2))
    found = model.preimages(model.transform(noisy), start=noisy)
    print(f"distance to the ring: noisy {off(noisy):.3f}, denoised {off(found.points):.3f}; feature-space error "
          f"{found.errors.mean():.3f}; {found.n_fallbacks} fallbacks")  # fmt: skip
    figure, ax = one_axes(None, (5.0, 5.0))
    ax.scatter(*rings[label == 0].T, s=5, color=GRAY, lw=0, label="training points")
    for start, end in zip(noisy, found.points, strict=True):
        ax.plot(*np.stack([start, end]).T, color=BLUE, lw=0.7)
    ax.scatter(*noisy.T, s=14, color=BLUE, lw=0, label="noisy")
    ax.scatter(*found.points.T, s=14, color=VERMILLION, lw=0, label="denoised")
    ax.set_aspect("equal")
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "kernel_pca_preimages.png", dpi=110)


def off(points: np.ndarray) -> float:
    """The mean distance to the circle of radius 1."""
    return float(np.abs(np.linalg.norm(points, axis=1) - 1.0).mean())


if __name__ == "__main__":
    main()
