"""Digits without their noise

Handwritten digits without their noise: clean, noisy, linear PCA, kernel PCA, in one figure.

    python examples/kernel_pca_digits.py [--data usps.npz] [--out FOLDER]

The digits are those of USPS if the file is given, else the small ones of scikit-learn. Noise is Gaussian (sigma a quarter of
the range of a pixel) or speckle (a pixel turns black or white with probability 0.2 each). Every choice is made on a part
of the training images; printed are squared errors per image on test images.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA, Linear
from mercer.report.pca import ImagesDisplay, ScreeDisplay
from mercer.workflow.denoising import add_noise


def images(data: Path | None, per_digit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training, validation and test images, clean, with pixels in [-1, 1]."""
    rng = np.random.default_rng(0)
    if data is None:
        X, y = load_digits(return_X_y=True)
        X = (X / 8.0 - 1.0).astype(np.float32)
        rows = rng.permutation(len(X))
        X, y, T, t = X[rows[:1300]], y[rows[:1300]], X[rows[1300:]], y[rows[1300:]]
    else:
        found = np.load(data)
        X, y, T, t = (found[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    rank = np.zeros(len(y), dtype=int)  # a row's place among the rows of its digit
    for digit in range(10):
        rank[y == digit] = np.arange(np.count_nonzero(y == digit))
    chosen = np.concatenate([rng.permutation(np.flatnonzero(t == digit))[:20] for digit in range(10)])
    return X[rank < per_digit], X[(rank >= per_digit) & (rank < per_digit + 20)], T[chosen]


def squared(Y: np.ndarray, truth: np.ndarray) -> float:
    """The squared error per image."""
    return float(np.square(Y - truth).sum(axis=1).mean())


def best_linear(X: np.ndarray, clean: np.ndarray, noisy: np.ndarray) -> KernelPCA:
    """Linear PCA with the number of components that does best."""
    most = min(X.shape[1], 200)
    model = KernelPCA(Linear(), n_components=most, regularization=0.0).fit(X)
    errors = {q: squared(model.denoise(noisy, n_components=q), clean) for q in range(4, most, 4)}
    return KernelPCA(Linear(), n_components=min(errors, key=errors.get), regularization=0.0).fit(X)


def main() -> None:
    """Tune, denoise, print, draw."""
    parser = argparse.ArgumentParser(description="Denoise handwritten digits by kernel PCA.")
    parser.add_argument("--data", type=Path, help="usps.npz; without it, scikit-learn's digits")
    parser.add_argument("--per-digit", type=int, default=100, help="training images of every digit")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    options = parser.parse_args()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    X, V, T = images(options.data, options.per_digit)
    side = round(X.shape[1] ** 0.5)
    for kind, level in (("gaussian", 0.5), ("speckle", 0.4)):
        NV, NT = (add_noise(part, kind, level, np.random.default_rng(seed)) for part, seed in ((V, 1), (T, 2)))
        linear = best_linear(X, V, NV)
        model = KernelPCA().tune_denoising(X, V, NV)
        lines = {"clean": T, "noisy": NT, "linear PCA": linear.denoise(NT), "kernel PCA": model.denoise(NT)}
        errors = {name: squared(Y, T) for name, Y in lines.items()}
        print(f"{kind}: " + ", ".join(f"{name} {error:.2f}" for name, error in errors.items() if name != "clean"))
        print(
            f"  linear PCA: {linear.n_components} components; kernel PCA: {model.kernel_}, {model.n_components} components, "
            f"pre-images by {model.preimage}, gain {model.gain:g}; error {errors['linear PCA'] / errors['kernel PCA']:.2f} "
            "times lower"
        )
        shown = {name: np.asarray(Y)[::20].reshape(-1, side, side) for name, Y in lines.items()}
        ImagesDisplay(shown).plot().figure_.savefig(folder / f"kernel_pca_{kind}.png", dpi=130)
    ScreeDisplay.from_estimator(model).figure_.savefig(folder / "kernel_pca_scree.png", dpi=110)


if __name__ == "__main__":
    main()
