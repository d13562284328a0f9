"""Points of the plane: classifiers, the novelty ball, kernel PCA, two samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MercerError
from mercer.estimators.means.nearest_mean import NearestMean
from mercer.estimators.means.novelty_ball import NoveltyBall
from mercer.estimators.neighbors.kernel_neighbors import KernelKNeighborsClassifier
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron
from mercer.estimators.svm.svc import SVC
from mercer.kernels.base import Kernel
from mercer.lab.pictures import CELLS, Picture, contours, grid, number
from mercer.lab.samples import arrays
from mercer.lab.state import State
from mercer.twosample import mmd_test
from mercer.twosample.result import MMDTestResult

#: Epochs of a perceptron at most: data that no function of the space separates would keep it busy for ever.
EPOCHS = 300

#: Relabelings of a two-sample test.
PERMUTATIONS = 499

ADD = "click into the picture to put points there"


def read_classes(state: State) -> tuple[Array, Array]:
    """Points, (n, 2), and classes, (n,), at least two."""
    P, c = arrays(state.data)
    return P, check_classes(c)


def check_classes(c: Array) -> Array:
    """Refuse a single class."""
    if len(np.unique(c)) < 2:
        raise InputError(f"two classes are needed, and there is {len(np.unique(c))}; choose a class, and {ADD}.")
    return c


def read_cloud(state: State) -> Array:
    """Points, (n, 2), at least two."""
    P, _ = arrays(state.data)
    if len(P) < 2:
        raise InputError(f"two points are needed; {ADD}.")
    return P


# -- models, which words share -------------------------------------------------------------------------------------------


def svc(state: State, kernel: Kernel, X: Any, c: Array) -> SVC:
    """A fitted machine."""
    return SVC(kernel, C=state.parameters["C"]).fit(X, c)


def nearest_mean(state: State, kernel: Kernel, X: Any, c: Array) -> NearestMean:
    """Fitted class means."""
    return NearestMean(kernel).fit(X, c)


def neighbors(state: State, kernel: Kernel, X: Any, c: Array) -> KernelKNeighborsClassifier:
    """Fitted neighbors; never more than there are rows."""
    return KernelKNeighborsClassifier(kernel, n_neighbors=min(int(state.parameters["k"]), len(c))).fit(X, c)


def perceptron_run(kernel: Kernel, X: Any, c: Array) -> KernelPerceptron:
    """The whole run of a perceptron over the rows in their order, with the largest margin there is."""
    if len(np.unique(c)) > 2:
        raise InputError("the perceptron of this page takes two classes; delete the points of the others.")
    model = KernelPerceptron(
        kernel, fit_intercept=True, shuffle=False, average=False, stopping="mistakes", margin="hard", max_iter=EPOCHS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it does not converge is said on the page
        return model.fit(X, c)


def after(model: KernelPerceptron, c: Array, steps: int) -> tuple[Array, int]:
    """The coefficients (n,) after at most `steps` corrections, and the number of corrections made."""
    done = min(steps, len(model.mistakes_))
    signs = np.where(c == model.classes_[1], 1.0, -1.0)
    rows = model.mistakes_[:done]
    return np.bincount(rows, weights=signs[rows], minlength=len(c)), done


# -- pictures ----------------------------------------------------------------------------------------------------------


def svm(state: State, kernel: Kernel) -> Picture:
    """Decision surface, margins, support vectors."""
    X, c = read_classes(state)
    model = svc(state, kernel, X, c)
    facts = (*svm_facts(model), errors(model.predict(X), c))
    shared: dict[str, Any] = {"marked": model.support_, "marks": "support vectors", "facts": facts}
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, shared)
    values = _on_grid(model.decision_function)
    lines = (
        contours(values, 0.0, "boundary", "f = 0"),
        contours(values, -1.0, "margin", "f = −1"),
        contours(values, 1.0, "margin", "f = 1"),
    )
    return Picture(X, c, surface=np.clip(values, -2.0, 2.0), lines=lines, **shared)


def svm_facts(model: SVC) -> tuple[tuple[str, str], ...]:
    """Support vectors, margin, leave-one-out bound."""
    margin = np.atleast_1d(model.margin_)
    return (
        ("support vectors", f"{len(model.support_)}"),
        ("margin 1/||w||", ", ".join(map(number, margin))),
        ("leave-one-out error is at most", f"{100 * float(np.max(model.loo_bound_)):.0f} %"),
    )


def perceptron(state: State, kernel: Kernel) -> Picture:
    """The function after the chosen number of corrections, and the next row it gets wrong."""
    X, c = read_classes(state)
    model = perceptron_run(kernel, X, c)
    coef, done = after(model, c, int(state.parameters["steps"]))
    used = np.flatnonzero(coef)
    values = np.zeros((CELLS, CELLS))
    if len(used):
        values = _on_grid(lambda G: model.kernel_(G, X[used]) @ coef[used] + coef.sum())
    return Picture(
        X, c, surface=values, lines=(contours(values, 0.0, "boundary", "f = 0"),),
        marked=model.mistakes_[done : done + 1], marks="wrong next", facts=perceptron_facts(model, done),
    )  # fmt: skip


def perceptron_facts(model: KernelPerceptron, done: int) -> tuple[tuple[str, str], ...]:
    """Where the run stands, and what Novikoff says."""
    total, bound = len(model.mistakes_), novikoff(model)
    if done < total:
        where = f"{done} corrections so far"
    else:
        where = f"separated after {total} corrections" if model.converged_ else f"not separated after {total} corrections"
    known = f"{bound:.4g}" if np.isfinite(bound) else "no bound: nothing separates these classes"
    return (("state", where), ("Novikoff: at most (R/γ)²", known), ("R", number(float(model.radius_))))


def novikoff(model: KernelPerceptron) -> float:
    """(R / gamma)^2 with the largest margin that was found; inf where there is none."""
    return float(model.novikoff_bound_)


def mean(state: State, kernel: Kernel) -> Picture:
    """The nearer class mean."""
    X, c = read_classes(state)
    model = nearest_mean(state, kernel, X, c)
    facts = (errors(model.predict(X), c), ("norms of the means", ", ".join(map(number, model.mean_norms_))))
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, {"facts": facts})
    values = _on_grid(model.decision_function)
    return Picture(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "equally near"),), facts=facts)


def knn(state: State, kernel: Kernel) -> Picture:
    """The vote of the nearest rows."""
    X, c = read_classes(state)
    model = neighbors(state, kernel, X, c)
    facts = (errors(model.predict(X), c),)
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, {"facts": facts})
    values = _on_grid(lambda G: 2.0 * model.predict_proba(G)[:, 1] - 1.0)
    return Picture(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "even vote"),), facts=facts)


def ball(state: State, kernel: Kernel) -> Picture:
    """The ball around the mean, and what lies outside."""
    X = read_cloud(state)
    model = NoveltyBall(kernel, quantile=state.parameters["quantile"]).fit(X)
    values = _on_grid(model.decision_function)
    outside = np.flatnonzero(model.predict(X) == -1)
    facts = (
        ("radius", number(model.radius_)),
        ("points outside", f"{len(outside)} of {len(X)}"),
        ("outside when left out", f"{100 * model.false_alarm_rate_:.0f} %"),
    )
    lines = (contours(values, 0.0, "boundary", "the ball"),)
    return Picture(X, _colors(state), surface=values, lines=lines, marked=outside, marks="novel", facts=facts)


def pca(state: State, kernel: Kernel) -> Picture:
    """One component as a surface, and every point with the pre-image of its projection."""
    X = read_cloud(state)
    kept = min(int(state.parameters["components"]), len(X) - 1)
    which = min(int(state.parameters["shown"]), kept)
    model = KernelPCA(kernel, n_components=kept).fit(X)
    values = _on_grid(lambda G: model.transform(G)[:, which - 1])
    facts = [
        (f"variance of component {which}", f"{100 * model.explained_variance_ratio_[which - 1]:.1f} %"),
        (f"variance of {kept} together", f"{100 * model.explained_variance_ratio_.sum():.1f} %"),
    ]
    arrows = None
    try:
        arrows = (X, np.asarray(model.denoise(X)))
    except MercerError as error:
        facts.append(("no pre-images", str(error)))
    lines = tuple(contours(values, level, "level") for level in np.linspace(values.min(), values.max(), 9)[1:-1])
    return Picture(X, _colors(state), surface=values, lines=lines, arrows=arrows, facts=tuple(facts))


def two_samples(state: State, kernel: Kernel) -> tuple[MMDTestResult, Array, Array]:
    """The test of class 0 against class 1."""
    X, c = read_classes(state)
    parts = [X[c == label] for label in (0, 1)]
    if min(map(len, parts)) < 2 or c.max() > 1:
        raise InputError(f"two samples are the classes 0 and 1 with two points each; {ADD}.")
    return mmd_test(parts[0], parts[1], kernel, n_permutations=PERMUTATIONS, random_state=0), X, c


def mmd(state: State, kernel: Kernel) -> Picture:
    """The witness: where the one sample is denser than the other, in the eyes of the kernel."""
    result, X, c = two_samples(state, kernel)
    values = -_on_grid(result.witness)  # blue where the first sample is denser
    power = f"{result.power.achieved:.2f}"
    facts = (("MMD² (unbiased)", number(result.mmd2)), ("p-value", number(result.pvalue)), ("power at this size", power))
    return Picture(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "witness = 0"),), facts=facts)


def errors(predicted: Array, c: Array) -> tuple[str, str]:
    """How many rows are on the wrong side."""
    return ("errors on the points", f"{int(np.sum(predicted != c))} of {len(c)}")


def _on_grid(function: Any) -> Array:
    return np.asarray(function(grid()[1]), dtype=np.float64).reshape(CELLS, CELLS)


def _regions(X: Array, c: Array, predict: Any, shared: dict[str, Any]) -> Picture:
    classes = _on_grid(predict)
    lines = tuple(contours((classes == label).astype(float), 0.5, "boundary") for label in np.unique(c))
    return Picture(X, c, regions=classes.astype(int), lines=lines, **shared)


def _colors(state: State) -> Array:
    return arrays(state.data)[1]
