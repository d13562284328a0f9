"""Noise level of rows, and the choice of components and kernel for denoising."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.linalg as la
from sklearn.base import clone

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.kernels.base import Kernel

#: Share of the variance of clean rows whose directions are left out of the estimate.
EXPLAINED = 0.99


def noise_level(clean: Array, noisy: Array) -> float:  # (n, d), (m, d)
    """Return the standard deviation of independent noise per column, from directions in which clean rows hardly vary.

    With P the projection on the principal axes that hold 99 % of the variance of the clean rows, it is the root of
    (E ||(I - P)(noisy - mean)||^2 - E ||(I - P)(clean - mean)||^2) / (d - rank P).

    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 30))
    >>> round(noise_level(clean, clean + 0.5 * rng.normal(size=clean.shape)), 1)
    0.5
    """
    clean, noisy = np.asarray(clean, dtype=np.float64), np.asarray(noisy, dtype=np.float64)
    if clean.ndim != 2 or noisy.ndim != 2 or clean.shape[1] != noisy.shape[1]:
        raise InputError(f"noise_level: clean rows {clean.shape} and noisy rows {noisy.shape} must have the same columns.")
    mean = clean.mean(axis=0)
    values, axes = la.eigh((clean - mean).T @ (clean - mean), check_finite=False)
    quiet = values.cumsum() <= (1.0 - EXPLAINED) * max(float(values.sum()), 1e-300)
    quiet[0] = True  # at least one direction
    inside, outside = (np.square((rows - mean) @ axes[:, quiet]).sum(axis=1).mean() for rows in (clean, noisy))
    return float(np.sqrt(max(outside - inside, 0.0) / int(quiet.sum())))


#: Length scales that are tried, as multiples of the median distance.
MULTIPLES = (0.35, 0.5, 0.7, 1.0, 1.4)
#: Numbers of components that are tried, as far as there are rows.
COMPONENTS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class _Grid:
    """What is tried with one fitted model, and on which rows it is judged."""

    clean: Array
    noisy: Any
    counts: tuple[int, ...]
    methods: tuple[str, ...]

    def judge(self, fitted: Any, gains: Sequence[float]) -> list[dict[str, Any]]:
        """The mean squared error of every setting."""
        offset = fitted._components.offset
        inner = np.asarray(fitted.transform(self.noisy), dtype=np.float64) + offset
        found = []
        for gain, method, q in product(gains, self.methods, self.counts):
            made = fitted.preimages(gain * inner - offset, method=method, start=self.noisy, n_components=min(q, len(offset)))
            error = float(((made.points - self.clean) ** 2).mean())
            found.append(
                {"kernel": str(fitted.kernel_), "n_components": q, "preimage": method, "gain": float(gain), "error": error}
            )
        return found


def tune_denoising(
    model: Any,
    kernel: Kernel,
    X: Any,
    clean: Any,
    noisy: Any,
    length_scales: Any,
    n_components: Any,
    methods: Any,
    gains: Any,
) -> Any:
    """Return a fitted copy of the model with the best setting.

    One fit per length scale serves all numbers of components and methods; the gains are tried at the best length scale and
    method, and at the next smaller length scale, since a gain allows a narrower kernel.
    """
    clean, n = np.asarray(clean, dtype=np.float64), np.shape(X)[0]
    if clean.ndim != 2 or np.shape(noisy) != clean.shape:
        raise InputError(f"tune_denoising: clean rows {clean.shape} and noisy rows {np.shape(noisy)} must go together.")
    kernels = _kernels(kernel, X, length_scales)
    counts = tuple(sorted({int(q) for q in (COMPONENTS if n_components is None else n_components) if 1 <= q <= n}))
    if not counts or not list(methods) or not list(gains):
        raise InputError(f"tune_denoising: there is nothing to choose from; n_components must lie in 1 … {n}.")
    grid, results = _Grid(clean, noisy, counts, tuple(methods)), []
    with Meter(f"{type(model).__name__} (tuning)", model.verbose) as meter:
        for number, one in enumerate(kernels):
            fitted = clone(model).set_params(kernel=one, n_components=counts[-1]).fit(X)
            results += [{**found, "number": number} for found in grid.judge(fitted, list(gains)[:1])]
            meter(number + 1, len(kernels) + 2)
        best = min(results, key=lambda found: found["error"])
        narrow = _Grid(clean, noisy, counts, (best["preimage"],))
        for number in {best["number"], max(best["number"] - 1, 0)} if len(list(gains)) > 1 else ():
            fitted = clone(model).set_params(kernel=kernels[number], n_components=counts[-1]).fit(X)
            results += [{**found, "number": number} for found in narrow.judge(fitted, list(gains)[1:])]
    best = min(results, key=lambda found: found["error"])
    chosen = clone(model).set_params(
        kernel=kernels[best["number"]], n_components=best["n_components"], preimage=best["preimage"], gain=best["gain"]
    )
    chosen.fit(X)
    chosen.denoising_results_ = [{name: found[name] for name in found if name != "number"} for found in results]
    return chosen


def _kernels(kernel: Kernel, X: Any, length_scales: Any) -> list[Kernel]:
    """The kernel at every length scale; just itself where it has none, or several."""
    names = [name for name in kernel.get_params() if name.endswith("length_scale")]
    if length_scales is None and len(names) != 1:
        return [kernel]
    if len(names) != 1:
        raise InputError(
            f"tune_denoising: length_scales replaces the one length scale of a kernel; {kernel} has {len(names)}. "
            "Call tune_denoising for each kernel instead."
        )
    if length_scales is not None:
        return [kernel.set_params(**{names[0]: float(scale)}) for scale in length_scales]
    median = kernel.set_params(**{names[0]: "median"}).resolve(X).get_params()[names[0]]
    return [kernel.set_params(**{names[0]: float(median * multiple)}) for multiple in MULTIPLES]
