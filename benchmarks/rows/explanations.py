"""Explanations of single predictions: exact Shapley values against sampled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Claim, Peer, Row

Data = dict[str, Any]


def fitted(n: int = 2000, d: int = 15) -> Data:
    """The same support vector machine of both libraries, rows to explain, and a background."""
    from sklearn import svm

    import mercer

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.5 * rng.normal(size=n) > 0).astype(int)
    return {
        "ours": mercer.SVC(mercer.Gaussian(4.0), C=1.0, tol=1e-6).fit(X, y),
        "theirs": svm.SVC(gamma=1.0 / 32.0, C=1.0, tol=1e-6).fit(X, y),
        "rows": rng.normal(size=(3, d)),
        "background": X[:20],
    }


def exact(data: Data) -> NDArray[Any]:
    """Closed form."""
    import mercer

    found = mercer.explain(data["ours"], data["rows"], background=data["background"])
    return np.array([one.contributions for one in found])


def sampled(data: Data, whose: str) -> NDArray[Any]:
    """shap's KernelExplainer with its defaults."""
    import shap

    explainer = shap.KernelExplainer(data[whose].decision_function, data["background"])
    return np.asarray(explainer.shap_values(data["rows"], silent=True))


ROWS = [
    Row(
        name="shapley-columns",
        title="Shapley values of 15 columns for 3 rows, SVC of 2,000 rows, background of 20: closed form against sampling",
        data=fitted,
        mercer=exact,
        peers=(
            Peer(
                name="KernelExplainer on scikit-learn's SVC", run=lambda d: sampled(d, "theirs"), modules=("shap",),
                package="shap", once=True,
            ),
            Peer(
                name="KernelExplainer on mercer's SVC", run=lambda d: sampled(d, "ours"), modules=("shap",),
                package="shap", once=True,
            ),
        ),
        claims=(Claim(measure="ratio", at_least=100.0, peer="KernelExplainer on scikit-learn's SVC"),),
        agreement=lambda a, b: float(np.abs(np.asarray(a) - np.asarray(b)).max()),
        tolerance=0.1,  # the peer samples coalitions; in the tests the closed form equals all subsets to 1e-10
    )
]  # fmt: skip
