"""Pinball losses of `KernelQuantileRegressor` beside scikit-learn's quantile gradient boosting.

    python -m benchmarks.quantile_quality

800 training rows by seed, quantiles 0.1 and 0.9, tested on 2,000 others, five sets. Columns go to normal quantiles; the
kernel is a Laplacian with a length scale per column by marginal likelihood, C is chosen by three folds. The rival's learning
rate and number of trees are chosen on the same folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from benchmarks import table_sets as sets

ROWS, TESTED, QUANTILES = 800, 2000, (0.1, 0.9)
SETS = ("california_housing", "elevators", "kin8nm", "power_plant", "protein")


def pinball(y: Any, f: Any, tau: float) -> float:
    """The mean pinball loss."""
    return float(np.mean(np.maximum(tau * (y - f), (tau - 1.0) * (y - f))))


def best(settings: list[Any], make: Any, X: Any, y: Any, tau: float) -> Any:
    """The model of the setting with the smallest loss over three folds, on all rows."""
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    losses = [np.mean([pinball(y[b], make(s).fit(X[a], y[a]).predict(X[b]), tau) for a, b in folds]) for s in settings]
    return make(settings[int(np.argmin(losses))]).fit(X, y)


def main() -> None:
    """Print a line per set and quantile."""
    from mercer import KernelQuantileRegressor, Laplacian
    from mercer.estimators.metric.likelihood import learn
    from mercer.workflow.table_encoding import scale_of

    ratios = []
    for name in SETS:
        X, y = sets.load_regression(name)
        train, test = sets.split(len(y), 0)
        train, test = train[:ROWS], test[:TESTED]
        scales = [scale_of(column, "quantile") for column in X[train].T]
        Z, new = (np.column_stack([s(c) for s, c in zip(scales, X[rows].T, strict=True)]) for rows in (train, test))
        start = Laplacian((2.0 * Z.shape[1],) * Z.shape[1])
        kernel = learn(start, Z, y[train][:, None], max_iter=20)[0]
        for tau in QUANTILES:
            mine = best(
                [0.3, 1.0, 3.0, 10.0, 30.0],
                lambda C, t=tau, k=kernel: KernelQuantileRegressor(k, quantile=t, C=C),
                Z, y[train], tau,
            )  # fmt: skip
            rival = best(
                [(rate, trees) for rate in (0.03, 0.1) for trees in (50, 100, 200)],
                lambda s, t=tau: HistGradientBoostingRegressor(
                    loss="quantile", quantile=t, learning_rate=s[0], max_iter=s[1], random_state=0
                ),
                X[train], y[train], tau,
            )  # fmt: skip
            ours, theirs = pinball(y[test], mine.predict(new), tau), pinball(y[test], rival.predict(X[test]), tau)
            ratios.append(ours / theirs)
            print(f"{name}, quantile {tau}: {ours:.4f} against {theirs:.4f}, ratio {ratios[-1]:.3f}", flush=True)
    print(f"geometric mean of {len(ratios)} ratios: {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main()
