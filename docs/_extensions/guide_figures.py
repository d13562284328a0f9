"""Figures of the guide that no display of the package draws. Each function returns a matplotlib figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import (
    Gaussian,
    KernelRidge,
    KernelRidgeCV,
    Laplacian,
    Matern,
    Nystroem,
    Periodic,
    RandomFourierFeatures,
    RationalQuadratic,
)

WORDS = ["banana", "bandana", "cabana", "panama", "kernel", "kernels", "colonel", "colonial"]

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]


def panels(count: int, width: float = 9.5, height: float = 3.4, rows: int = 1) -> tuple[Any, Any]:
    """Return a new figure with panels beside each other."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, count, figsize=(width, height), layout="constrained")


def matrices(grams: dict[str, Any], ticks: Any = None) -> Any:
    """Draw Gram matrices as images beside each other, with one scale of color."""
    figure, axes = panels(len(grams), 3.3 * len(grams) + 0.8, 3.4)
    axes = np.atleast_1d(axes)
    low = min(0.0, *(np.min(K) for K in grams.values()))
    high = max(np.max(K) for K in grams.values())
    low = -high if low < 0 else low
    for axis, (name, K) in zip(axes, grams.items(), strict=True):
        shown = axis.imshow(K, vmin=low, vmax=high, cmap="Blues" if low == 0 else "RdBu")
        axis.set_title(name, fontsize=10)
        if ticks is None:
            axis.set(xticks=[], yticks=[])
        else:
            axis.set_xticks(range(len(ticks)), ticks, rotation=60, ha="right", fontsize=8)
            axis.set_yticks(range(len(ticks)), ticks, fontsize=8)
    figure.colorbar(shown, ax=axes, shrink=0.8)
    return figure


def string_grams() -> dict[str, Any]:
    """Return the Gram matrices of a few words under three string kernels."""
    from mercer import Spectrum, Subsequence, WeightedDegree

    kernels = {"Spectrum(2)": Spectrum(2), "Subsequence(3)": Subsequence(3), "WeightedDegree(3)": WeightedDegree(3)}
    # Aligned strings have one length.
    padded = [word.ljust(8, ".") for word in WORDS]
    return {name: k.normalized()(padded if "Degree" in name else WORDS) for name, k in kernels.items()}


def profiles() -> Any:
    """Draw k(x, 0) of six kernels, and a function of each: a draw from the process with this covariance."""
    kernels = {
        "Gaussian()": Gaussian(1.0), "Matern(1.5)": Matern(1.5), "Laplacian()": Laplacian(1.0),
        "RationalQuadratic()": RationalQuadratic(1.0), "Periodic(period=2)": Periodic(1.0, period=2.0),
    }  # fmt: skip
    figure, (left, right) = panels(2, 9.5, 3.8)
    x = np.linspace(-4.0, 4.0, 321)[:, None]
    normal = np.random.default_rng(3).normal(size=len(x))
    for i, (name, kernel) in enumerate(kernels.items()):
        left.plot(x[:, 0], kernel(x, np.zeros((1, 1)))[:, 0], color=COLORS[i], label=name)
        values, vectors = np.linalg.eigh(kernel(x))
        drawn = vectors @ (np.sqrt(np.maximum(values, 0.0)) * (vectors.T @ normal))
        right.plot(x[:, 0], drawn - 4.0 * i, color=COLORS[i], lw=1.2)
    left.set(xlabel="x", ylabel="k(x, 0)", title="the kernel")
    right.set(xlabel="x", yticks=[], title="a function drawn with this covariance")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def margins(X: Any, y: Any, Cs: tuple[float, ...]) -> Any:
    """Draw support vector machines that differ in C."""
    from mercer import SVC
    from mercer.report.svm import MarginDisplay

    figure, axes = panels(len(Cs), 3.3 * len(Cs), 3.6)
    for axis, C in zip(axes, Cs, strict=True):
        model = SVC(Gaussian(1.0), C=C).fit(X, y)
        MarginDisplay.from_estimator(model, X, y, ax=axis)
        axis.set_title(f"C = {C:g}: {len(model.support_)} support vectors", fontsize=10)
        if axis.get_legend() is not None:
            axis.get_legend().remove()
    return figure


def scales(t: Any, s: Any, lengths: tuple[float, ...]) -> Any:
    """Draw ridge fits that differ in the length scale."""
    figure, axes = panels(len(lengths), 3.3 * len(lengths), 3.2)
    fine = np.linspace(t.min(), t.max(), 400)[:, None]
    for axis, scale in zip(axes, lengths, strict=True):
        model = KernelRidge(Gaussian(scale), alpha=0.1).fit(t, s)
        axis.plot(t[:, 0], s, ".", color="0.5")
        axis.plot(fine[:, 0], model.predict(fine), color=COLORS[0])
        axis.set_title(f"length_scale = {scale:g}, {model.effective_dof_:.0f} degrees of freedom", fontsize=9)
        axis.set_ylim(s.min() - 0.3, s.max() + 0.3)
    return figure


def prices(plans: Any, rows: Any) -> Any:
    """Draw memory and estimated time of the planned routes against the number of rows; `plans[name]` has one plan per size."""
    figure, (left, right) = panels(2)
    for i, (name, planned) in enumerate(plans.items()):
        left.loglog(rows, [one.route.bytes / 2**30 for one in planned], "o-", color=COLORS[i], label=name)
        right.loglog(rows, [one.route.seconds for one in planned], "o-", color=COLORS[i])
    left.axhline(8.0, color="k", lw=1, ls="--")
    left.annotate("8 GiB", (rows[0], 8.0), xytext=(0, 3), textcoords="offset points")
    left.set(xlabel="rows", ylabel="memory, GiB")
    right.set(xlabel="rows", ylabel="estimated seconds")
    figure.legend(loc="outside lower center", ncols=len(plans), frameon=False)
    return figure


def landmark_errors(X: Any, y: Any, train: Any, test: Any, counts: tuple[int, ...]) -> Any:
    """Draw the test error of ridge on landmarks against their number, with the error of the exact fit."""
    exact = KernelRidgeCV().fit(X[train], y[train])
    settings = {"kernel": exact.kernel_, "alpha": exact.best_alpha_, "fit_intercept": True}

    def error(model: Any) -> float:
        return float(np.sqrt(np.mean((model.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2)))

    figure, axis = panels(1, 6.5, 3.4)
    found = [error(KernelRidge(**settings, solver="nystroem", n_components=m)) for m in counts]
    axis.semilogx(counts, found, "o-", color=COLORS[0], label="landmarks")
    axis.axhline(error(KernelRidge(**settings)), color="k", lw=1, ls="--", label=f"all {len(train)} rows")
    axis.set(xlabel="landmarks (n_components)", ylabel="RMSE on test rows")
    axis.set_xticks(counts, [str(m) for m in counts])
    axis.minorticks_off()
    axis.legend(frameon=False)
    return figure


def feature_errors(X: Any, counts: tuple[int, ...]) -> Any:
    """Draw the largest error of approximate kernel values against the number of features."""
    kernel = Gaussian("median").resolve(X)
    K = kernel(X)
    ways = {kind: lambda m, kind=kind: RandomFourierFeatures(kernel, n_components=m, draws=kind, random_state=0)
            for kind in ("plain", "orthogonal", "sobol")}  # fmt: skip
    ways["landmarks"] = lambda m: Nystroem(kernel, n_components=m, random_state=0)
    figure, axis = panels(1, 6.5, 3.6)
    for i, (name, make) in enumerate(ways.items()):
        errors = []
        for m in counts:
            Z = make(m).fit_transform(X)
            errors.append(np.abs(Z @ Z.T - K).max())
        axis.loglog(counts, errors, "o-", color=COLORS[i], label=name)
    axis.set(xlabel="features", ylabel="largest error of a kernel value")
    axis.set_xticks(counts, [str(m) for m in counts])
    axis.minorticks_off()
    axis.legend(frameon=False)
    return figure


def frequencies() -> Any:
    """Draw histograms of frequencies drawn from three kernels of one column."""
    figure, axes = panels(3, 9.5, 2.8)
    for axis, kernel in zip(axes, (Gaussian(1.0), Matern(1.5), Laplacian(1.0)), strict=True):
        measure = kernel.spectral(1)
        drawn = measure.sample(np.random.default_rng(0).uniform(size=(4000, measure.n_uniforms)))[:, 0]
        axis.hist(np.clip(drawn, -12.0, 12.0), bins=60, color=COLORS[0])
        axis.set(title=repr(kernel), xlabel="frequency, radians per unit", yticks=[])
    return figure


def bars(names: Any, values: Any, label: str) -> Any:
    """Draw horizontal bars, positive and negative in two colors, the first on top."""
    figure, axis = panels(1, 6.5, 0.28 * len(names) + 0.9)
    places = np.arange(len(names))[::-1]
    axis.barh(places, values, color=[COLORS[0] if v >= 0 else COLORS[1] for v in values])
    axis.set_yticks(places, [str(name).replace(" ", "␣") for name in names], family="DejaVu Sans Mono", fontsize=9)
    axis.axvline(0.0, color="k", lw=0.8)
    axis.set_xlabel(label)
    return figure


def letters(text: str, values: Any, label: str) -> Any:
    """Draw the contribution of each letter of a string as a bar over the letter."""
    figure, axis = panels(1, min(10.0, 0.32 * len(text) + 1.2), 2.4)
    axis.bar(np.arange(len(text)), values, color=[COLORS[0] if v >= 0 else COLORS[1] for v in values])
    axis.set_xticks(np.arange(len(text)), list(text), family="DejaVu Sans Mono")
    axis.axhline(0.0, color="k", lw=0.8)
    axis.set_ylabel(label)
    return figure


def spectra(parts: dict[str, Any]) -> Any:
    """Draw the eigenvalues of matrices; negative ones in another color."""
    figure, axes = panels(len(parts), 3.3 * len(parts), 3.0)
    for axis, (name, K) in zip(np.atleast_1d(axes), parts.items(), strict=True):
        values = np.linalg.eigvalsh(np.asarray(K))[::-1]
        axis.bar(np.arange(1, len(values) + 1), values, color=[COLORS[0] if v >= -1e-9 else COLORS[1] for v in values])
        axis.axhline(0.0, color="k", lw=0.8)
        axis.set(title=name, xlabel="number", ylabel="eigenvalue")
    return figure


def scatter(Z: Any, groups: Any, xlabel: str, ylabel: str, names: Any = None) -> Any:
    """Draw rows in the plane of two columns, one color per group; `names` are written beside some of them."""
    figure, axis = panels(1, 7.0, 4.6)
    for i, group in enumerate(dict.fromkeys(groups)):
        own = np.asarray(groups) == group
        axis.scatter(Z[own, 0], Z[own, 1], s=14, color=COLORS[i % len(COLORS)], label=str(group), alpha=0.75)
    for place, name in (names or {}).items():
        axis.annotate(name, Z[place, :2], xytext=(4, 3), textcoords="offset points", fontsize=8)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def values_on(t: Any, lines: dict[str, Any], points: Any = None, xlabel: str = "x", ylabel: str = "") -> Any:
    """Draw functions of one variable, and points."""
    figure, axis = panels(1, 7.0, 3.2)
    if points is not None:
        axis.plot(*points, ".", color="0.5")
    for i, (name, values) in enumerate(lines.items()):
        axis.plot(t, values, color=COLORS[i], label=name)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def agreement(a: Any, b: Any, xlabel: str, ylabel: str) -> Any:
    """Draw two predictions of the same rows against each other."""
    figure, axis = panels(1, 4.6, 4.2)
    axis.plot(a, b, ".", color=COLORS[0])
    axis.axline((0.0, 0.0), slope=1.0, color="k", lw=0.8)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    return figure


def band(t: Any, y: Any, mean: Any, low: Any, high: Any, label: str = "90 % interval") -> Any:
    """Draw a curve with its intervals, and the rows if there are any."""
    figure, axis = panels(1, 7.0, 3.2)
    axis.fill_between(t, low, high, color=COLORS[0], alpha=0.2, lw=0, label=label)
    axis.plot(t, mean, color=COLORS[0], label="prediction")
    if y is not None:
        axis.plot(t, y, ".", color="0.4", label="rows")
    axis.set(xlabel="x", ylabel="y")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def sets(model: Any, X: Any, y: Any) -> Any:
    """Draw the regions in which a set of classes holds one class or both."""
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-3, 3, 80)), axis=-1)
    held = model.predict_set(grid.reshape(-1, 2), 0.9, calibration=(X[150:], y[150:]))
    figure, axis = panels(1, 6.0, 3.8)
    first = held[:, 0].astype(float) - held[:, 1].astype(float)
    axis.contourf(grid[..., 0], grid[..., 1], first.reshape(80, 80), levels=[-1.5, -0.5, 0.5, 1.5], cmap="RdBu", alpha=0.4)
    for i, name in enumerate(model.classes_):
        axis.plot(*X[y == name].T, ".", color=COLORS[i], label=str(name))
    axis.set(xlabel="x1", ylabel="x2", xlim=(-3, 3), ylim=(-3, 3))
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def chunk_passes() -> Any:
    """Draw how a fit on chunks works: chunks give sums, sums are added in a fixed order, one small system is solved."""
    figure, axis = panels(1, 8.5, 3.0)
    axis.set(xlim=(0, 10), ylim=(0, 4))
    axis.axis("off")
    box = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": COLORS[0]}
    arrow = {"arrowstyle": "->", "color": "0.3"}
    places = [3.4, 2.4, 1.4, 0.4]
    for i, y in enumerate(places):
        axis.text(0.9, y, f"chunk {i + 1}" if i < 3 else "chunk …", bbox=box, ha="center", va="center")
        axis.text(3.4, y, "sums Z'Z, Z'y", bbox=box, ha="center", va="center")
        axis.annotate("", (2.4, y), (1.6, y), arrowprops=arrow)
        axis.annotate("", (5.25, 1.9 + 0.1 * (1.5 - i)), (4.4, y), arrowprops=arrow)
    axis.text(6.2, 1.9, "one m × m sum,\nin a fixed order", bbox=box, ha="center", va="center")
    axis.annotate("", (8.0, 1.9), (7.25, 1.9), arrowprops=arrow)
    axis.text(8.8, 1.9, "coefficients,\nleave-one-out", bbox=box, ha="center", va="center")
    return figure


def two_novelties() -> Any:
    """Draw class probabilities of a Gaussian process, and the changes of a series."""
    from mercer import GaussianProcessClassifier, change_points

    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) * 0.7 + np.where(y == 1, 1.2, -1.2)[:, None]
    model = GaussianProcessClassifier(4.0 * Gaussian(1.0), optimizer=None).fit(X, y)
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 60), np.linspace(-4, 4, 60)), axis=-1)
    figure, (left, right) = panels(2, 9.5, 3.6)
    levels = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(60, 60)
    shown = left.contourf(grid[..., 0], grid[..., 1], levels, levels=np.linspace(0, 1, 11), cmap="RdBu")
    figure.colorbar(shown, ax=left, label="probability")
    left.plot(*X[y == 1].T, "o", color=COLORS[0], ms=4, mec="white")
    left.plot(*X[y == 0].T, "s", color=COLORS[1], ms=4, mec="white")
    left.set(xlabel="x1", ylabel="x2")
    series = np.concatenate([rng.normal(0.0, 1.0, 80), rng.normal(2.5, 1.0, 60), rng.normal(2.5, 2.5, 60)])
    right.plot(series, color="0.4", lw=0.9)
    for place in change_points(series).places:
        right.axvline(place, color=COLORS[1])
    right.set(xlabel="row", ylabel="value")
    return figure
