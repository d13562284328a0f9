"""Growth curves: quantiles of a table

Weights of children by age and sex, made up so that the true quantiles are known: `TableQuantileRegressor` draws the curves
that a doctor compares a child with, and they are compared with the true ones.

    python examples/table_quantiles.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

import mercer

LEVELS = (0.1, 0.5, 0.9)
Array = NDArray[np.float64]


def weight(age: Array, boy: NDArray[np.bool_], tau: Array | float) -> Array:
    """The quantile of the weight in kg: skewed, and wider with age."""
    median = 3.5 + 6.5 * (1.0 - np.exp(-1.5 * age)) + 2.4 * age + 0.5 * boy
    return np.asarray(median * np.exp((0.11 + 0.008 * age) * ndtri(tau)))


def children(n: int, seed: int) -> tuple[pl.DataFrame, Array]:
    """A table of ages and sexes, and the weights."""
    rng = np.random.default_rng(seed)
    age, boy = rng.uniform(0.0, 10.0, n), rng.random(n) < 0.5
    return pl.DataFrame({"age": age, "sex": np.where(boy, "boy", "girl")}), weight(age, boy, rng.random(n))


def main() -> None:
    """Fit 600 children, judge on 2,000 others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    out = parser.parse_args().out
    table, weights = children(600, seed=0)
    model = mercer.TableQuantileRegressor(LEVELS, random_state=0).fit(table, weights)
    print(model.result_)
    new, truth = children(2000, seed=1)
    found = model.predict(new)
    age, boy = new["age"].to_numpy(), (new["sex"] == "boy").to_numpy()
    print()
    for place, tau in enumerate(LEVELS):
        mine, true = found[:, place], weight(age, boy, tau)
        loss, best = (float(np.mean(np.maximum(tau * (truth - f), (tau - 1) * (truth - f)))) for f in (mine, true))
        print(
            f"quantile {tau}: {100 * np.mean(truth <= mine):.1f} % of new children below, pinball loss {loss:.3f} kg (true "
            f"quantiles {best:.3f}), {np.mean(np.abs(mine - true)):.2f} kg from the true curve on average"
        )
    if out is not None:
        _draw(model, table, weights, out / "table_quantiles.png")


def _draw(model: mercer.TableQuantileRegressor, table: pl.DataFrame, weights: Array, path: Path) -> None:
    from lecture import save
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    grid = np.linspace(0.0, 10.0, 200)
    for axes, sex in zip(figure.subplots(1, 2, sharey=True), ("girl", "boy"), strict=True):
        own = (table["sex"] == sex).to_numpy()
        axes.plot(table["age"].to_numpy()[own], weights[own], ".", color="0.75", markersize=4)
        curves = model.predict(pl.DataFrame({"age": grid, "sex": [sex] * len(grid)}))
        for place, tau in enumerate(LEVELS):
            true = weight(grid, np.full(len(grid), sex == "boy"), tau)
            axes.plot(grid, true, color="0.3", linewidth=1.0, linestyle="--", label="true" if place == 0 else None)
            axes.plot(grid, curves[:, place], color=f"C{place}", linewidth=1.8, label=f"{tau:g}")
        axes.set(title=f"{sex}s", xlabel="age in years")
        axes.set_ylabel("weight in kg" if sex == "girl" else "")
    axes.legend(title="quantile", frameon=False)
    save(figure, path)


if __name__ == "__main__":
    main()
