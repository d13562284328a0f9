"""Are support vectors worth a place among the candidates? `python -m benchmarks.table_svm`

The kernel of the heaviest member that `TableClassifier` or `TableRegressor` has found, learned by ridge on indicators or
numbers, against SVC and SVR with the same kernel, C chosen by three folds. 2,000 training rows, first split.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import table_sets as sets

CLASSES, NUMBERS, LIMIT = ("spambase", "ijcnn1", "a9a", "satellite"), ("california_housing", "protein", "bike"), 12.0


def best(make: Any, values: tuple[float, ...], Z: Any, y: Any, loss: Any) -> Any:
    """The model of the C with the smallest loss over three folds, fitted on all rows."""
    folds = np.arange(len(y)) % 3
    losses = [
        sum(float(loss(make(C).fit(Z[folds != k], y[folds != k]).predict(Z[folds == k]), y[folds == k])) for k in range(3))
        for C in values
    ]
    return make(values[int(np.argmin(losses))]).fit(Z, y)


def main() -> None:
    """One line per set."""
    from mercer import SVC, SVR, TableClassifier, TableRegressor

    for name in (*CLASSES, *NUMBERS):
        classes = name in CLASSES
        X, y = (sets.load_classification if classes else sets.load_regression)(name)
        train, test = sets.split(len(y), 0)
        model: Any = (TableClassifier if classes else TableRegressor)(time=LIMIT).fit(X[train], y[train])
        member = max(model.members_, key=lambda m: m.weight)
        Z, new = (model.new_inputs(X[rows])[member.scaling] for rows in (train, test))
        kernel = member.model.kernel
        own = member.predict({member.scaling: new})
        if classes:
            machine = best(lambda C, k=kernel: SVC(k, C=C), (0.3, 1.0, 3.0, 10.0, 30.0), Z, y[train], _wrong)
            mine, other = (
                int(_wrong(model.classes_[own.argmax(axis=1)], y[test])),
                int(_wrong(machine.predict(new), y[test])),
            )
            print(f"{name}: errors {mine} by ridge, {other} by SVC, mean of the table model "
                  f"{int(_wrong(model.predict(X[test]), y[test]))} ({member.label})", flush=True)  # fmt: skip
            continue
        machine = best(lambda C, k=kernel: SVR(k, C=C, epsilon=0.05), (0.3, 1.0, 3.0, 10.0), Z, y[train], _squares)
        errors = [float(np.sqrt(_squares(f, y[test]) / len(test))) for f in (own[:, 0], machine.predict(new))]
        print(f"{name}: RMSE {errors[0]:.4f} by ridge, {errors[1]:.4f} by SVR ({member.label})", flush=True)


def _wrong(f: Any, y: Any) -> Any:
    return np.sum(f != y)


def _squares(f: Any, y: Any) -> Any:
    return np.sum((f - y) ** 2)


if __name__ == "__main__":
    main()
