"""A similarity that is not a kernel, used with success

The hyperbolic tangent beside a Gaussian, and beside its repairs.

    python examples/non_kernels.py [--out FOLDER]

tanh(a <x, z> + b) is not positive semi-definite, and support vector machines have been trained with it for decades. On three
real sets its accuracy is near that of a Gaussian, and near that of the kernels made of it by clipping, flipping or shifting
the eigenvalues on the training rows. What is lost: the dual problem is no longer concave, so the answer depends on the
order of the rows, the gap that bounds the distance to the best answer does not exist, and neither do margin bounds.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from lecture import folder, save, show
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from mercer import SVC, Gaussian, Tanh, check_gram

REPAIRS = ("clip", "flip", "shift")


def sets(rows: int = 400) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Three real sets, with a limited number of rows of each."""
    found = {}
    for load in (load_breast_cancer, load_wine, load_digits):
        X, y = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))[:rows]
        found[load.__name__.removeprefix("load_")] = X[order], y[order]
    return found


def machine(kernel: Any, X: np.ndarray, y: np.ndarray) -> SVC:
    """A fitted machine; the warning that this is not a kernel is the subject of the example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SVC(kernel, C=1.0, tol=1e-6, random_state=0).fit(X, y)


def kernels(X: np.ndarray) -> dict[str, Any]:
    """The similarity, its three repairs on these rows, and a Gaussian."""
    d = X.shape[1]
    tanh = Tanh(1.0 / d, offset=-0.5)
    return {"tanh": tanh, **{name: tanh.repaired(X, method=name) for name in REPAIRS}, "Gaussian": Gaussian(np.sqrt(d))}


def experiment(X: np.ndarray, y: np.ndarray, folds: int = 5) -> dict[str, dict[str, float]]:
    """By kernel: accuracy over folds, the smallest eigenvalue as a share of the largest, and whether the Gram is psd."""
    scores: dict[str, list[float]] = {}
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for name, kernel in kernels(A).items():
            scores.setdefault(name, []).append(float((machine(kernel, A, y[train]).predict(B) == y[test]).mean()))
    A, found = StandardScaler().fit_transform(X), {}
    for name, kernel in kernels(A).items():
        K = kernel(A)
        values = np.linalg.eigvalsh(K)
        found[name] = {"accuracy": float(np.mean(scores[name])), "least": float(values[0] / values[-1])}
        found[name]["psd"] = float(check_gram(K).psd)
        found[name]["order"] = depends_on_order(kernel, A, y == y[0])
    return found


def depends_on_order(kernel: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The largest change of a decision value, relative to their size, when the rows come in another order."""
    one = machine(kernel, X, y)
    values = one.decision_function(X)
    turned = np.arange(len(X))[::-1]
    return float(np.abs(machine(kernel, X[turned], y[turned]).decision_function(X) - values).max() / np.abs(values).max())


def main() -> None:
    """Print the table and draw the eigenvalues."""
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GRAY, VERMILLION, pyplot

    found = {name: experiment(*data) for name, data in sets().items()}
    rows = [(s, k, f["accuracy"], f["least"], bool(f["psd"]), f["order"]) for s, of in found.items() for k, f in of.items()]
    show(("data         ", "kernel  ", "accuracy", "least eigenvalue", "psd", "order of rows"), rows)
    figure, axes = pyplot().subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, (name, (X, _)) in zip(axes, sets().items(), strict=True):
        A = StandardScaler().fit_transform(X)
        values = np.sort(np.linalg.eigvalsh(kernels(A)["tanh"](A)))[::-1]
        ax.bar(np.arange(1, 13), values[:12], color=BLUE, label="largest")
        ax.bar(np.arange(14, 26), values[-12:], color=VERMILLION, label="smallest")
        ax.axhline(0, color=GRAY, lw=0.8)
        ax.set(title=f"{name}, {np.sum(values < -1e-9)} of {len(values)} below 0", xticks=[], yscale="symlog")
    axes[0].set_ylabel("eigenvalues of the tanh matrix")
    axes[0].legend(frameon=False)
    save(figure, out / "non_kernels.png")


if __name__ == "__main__":
    main()
