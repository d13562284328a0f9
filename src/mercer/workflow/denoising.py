"""Denoising of images: the strength of the noise, the choice of a kernel PCA for it, and the denoised images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.pca.denoising import noise_level
from mercer.estimators.pca.kernel_pca import KernelPCA

#: Clean rows on which settings are compared: this share, and at most this many.
HELD, MOST = 0.2, 300
#: Largest number of rows of the fit, drawn at random, which limits the time.
FITTED = 3000


@dataclass(frozen=True)
class Denoised:
    """Denoised rows, the model, and the noise for which the model was chosen."""

    rows: Array
    model: KernelPCA
    noise: str


def add_noise(rows: Array, kind: str, level: float, rng: np.random.Generator) -> Array:
    """Add Gaussian noise of a standard deviation, or speckle: a share of the entries becomes the smallest or largest."""
    if kind == "gaussian":
        return np.asarray(rows + level * rng.normal(size=rows.shape), dtype=rows.dtype)
    low, high = rows.min(), rows.max()
    specks = np.where(rng.random(rows.shape) < 0.5, low, high)
    return np.where(rng.random(rows.shape) < level, specks, rows).astype(rows.dtype)


def parse_noise(text: str | None) -> tuple[str, float | None]:
    """Read "gaussian", "gaussian:0.5", "speckle:0.4" or a number, the standard deviation of Gaussian noise."""
    if text is None:
        return "gaussian", None
    kind, _, level = text.partition(":") if ":" in text else (text, "", "") if text.isalpha() else ("gaussian", "", text)
    try:
        value = float(level) if level else None
    except ValueError:
        value = -1.0
    if kind not in ("gaussian", "speckle") or (value is not None and value < 0) or (kind == "speckle" and value is None):
        raise InputError(f'noise must be "gaussian", "gaussian:0.5" (standard deviation) or "speckle:0.4"; got {text!r}.')
    return kind, value


def denoise_rows(noisy: Array, clean: Array, noise: str | None = None, seed: int = 0) -> Denoised:
    """Choose a kernel PCA on clean rows with noise of the same strength added, and apply it to the noisy ones.

    The strength is measured on the noisy rows if it is not given (`noise_level`).
    """
    kind, level = parse_noise(noise)
    if level is None:
        level = noise_level(clean, noisy)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(clean))
    held = min(MOST, max(1, int(HELD * len(clean))))
    if len(clean) < 5:
        raise InputError(f"denoising needs clean examples to learn from, at least 5; got {len(clean)}.")
    choose, fit = clean[order[:held]], clean[order[held:][:FITTED]]
    model = KernelPCA().tune_denoising(fit, choose, add_noise(choose, kind, level, rng))
    return Denoised(np.asarray(model.denoise(noisy.astype(fit.dtype))), model, f"{kind} {level:.3g}")
