"""The main picture of a state as plain arrays, one function per algorithm.

`drawing` shows these arrays in the browser.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mercer.arrays import Array
from mercer.errors import InputError, MercerError
from mercer.estimators.clusters.kernel_kmeans import KernelKMeans
from mercer.estimators.features.random_fourier import RandomFourierFeatures
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.means.nearest_mean import NearestMean
from mercer.estimators.means.novelty_ball import NoveltyBall
from mercer.estimators.neighbors.kernel_neighbors import KernelKNeighborsClassifier
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron
from mercer.estimators.projections.kernel_discriminant import KernelDiscriminant
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.svm.svc import SVC
from mercer.kernels.base import Kernel
from mercer.kernels.vectors import Linear
from mercer.lab.kernels import check_work, read
from mercer.lab.samples import arrays, kind_of, texts
from mercer.lab.state import ALGORITHMS, BOX, CURVE, MAX_WORDS, PLANE, WORDS, Data, LabState
from mercer.twosample import mmd_test
from mercer.twosample.result import MMDTestResult

#: Cells of the surface along each side, and points along a curve.
CELLS, ALONG = 101, 301


@dataclass(frozen=True)
class Line:
    """Pieces of a line with one meaning: "boundary", "margin", "fit", "exact", "bound", …"""

    role: str
    pieces: tuple[tuple[Array, Array], ...]
    words: str = ""


@dataclass(frozen=True)
class Scene:
    """The main picture: places of the data, and around them a surface, regions, a band or lines."""

    places: Array  # (n, 2)
    classes: Array  # (n,)
    surface: Array | None = None  # (CELLS, CELLS), rows by y; white at 0, colors beyond
    regions: Array | None = None  # (CELLS, CELLS) of classes, for more than two
    band: tuple[Array, Array, Array] | None = None  # x, low, high
    lines: tuple[Line, ...] = ()
    arrows: tuple[Array, Array] | None = None  # from (n, 2), to (n, 2)
    marked: Array = field(default_factory=lambda: np.empty(0, int))  # rows that stand out
    marks: str = ""  # what they are
    labels: tuple[str, ...] = ()  # words beside the places
    extra: Array | None = None  # (1, 2): where the query lies
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SideView:
    """A picture beside the main one: an image on axes, or lines and dots."""

    title: str
    x_label: str
    y_label: str
    image: Array | None = None
    extent: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)  # left, right, bottom, top
    lines: tuple[Line, ...] = ()
    dots: tuple[Array, Array] | None = None
    chosen: tuple[float, float] | None = None  # a point that can be dragged
    best: tuple[float, float] | None = None  # where it would be best
    words: str = ""


def grid() -> tuple[Array, Array]:
    """The coordinates of the cells along a side, and all of them, (CELLS^2, 2), row by row from below."""
    side = np.linspace(-BOX, BOX, CELLS)
    return side, np.column_stack([part.ravel() for part in np.meshgrid(side, side)])


def along() -> Array:
    """Points along the axis of a curve, (ALONG, 1)."""
    return np.linspace(-BOX, BOX, ALONG)[:, None]


def contours(values: Array, level: float, role: str, words: str = "") -> Line:
    """The line on which a surface has a value."""
    from contourpy import contour_generator

    side, _ = grid()
    low, high = float(values.min()), float(values.max())
    found = contour_generator(side, side, values).lines(level) if low < level < high else []
    return Line(role, tuple((piece[:, 0], piece[:, 1]) for piece in found), words)


def number(value: float) -> str:
    """A number for people."""
    return f"{value:.4g}"


#: Half the width of a band of a Gaussian process, in standard deviations.
WIDTH = 2.0


def read_curve(state: LabState) -> tuple[Array, Array]:
    """Rows, (n, 1), and targets, (n,)."""
    P, _ = arrays(state.data)
    if len(P) < 2:
        raise InputError("a curve needs two points; click into the picture to put some there.")
    return P[:, :1], P[:, 1]


def process(state: LabState, kernel: Kernel, optimizer: str | None = None) -> GaussianProcessRegressor:
    """The Gaussian process of a page, unfitted."""
    noise: Any = state.parameters["noise"] if optimizer is None else "fit"
    return GaussianProcessRegressor(kernel, noise=noise, mean="zero", normalize_y=False, optimizer=optimizer)


def ridge(state: LabState, kernel: Kernel) -> Scene:
    """The fit of ridge regression."""
    X, y = read_curve(state)
    model = KernelRidge(kernel, alpha=state.parameters["alpha"], solver="cholesky").fit(X, y)
    facts = (
        ("error on the points (RMSE)", number(_rmse(y - model.predict(X)))),
        ("leave-one-out error", number(_rmse(model.loo_residuals_))),
        ("norm of f", number(float(model.rkhs_norm_))),
    )
    return _curve(state, (Line("fit", ((along()[:, 0], model.predict(along())),), "f"),), facts)


def gp(state: LabState, kernel: Kernel) -> Scene:
    """Mean and error bars of a Gaussian process."""
    X, y = read_curve(state)
    model = process(state, kernel).fit(X, y)
    mean, std = model.predict(along(), return_std=True)
    new = np.sqrt(std**2 + state.parameters["noise"])
    inside = np.mean(np.abs(y - model.loo_mean_) <= WIDTH * model.loo_std_)
    facts = (
        ("log marginal likelihood", number(model.log_marginal_likelihood_value_)),
        ("leave-one-out error", number(_rmse(y - model.loo_mean_))),
        ("points within their leave-one-out band", f"{100 * inside:.0f} %"),
    )
    x = along()[:, 0]
    edges = Line("edge", ((x, mean - WIDTH * new), (x, mean + WIDTH * new)), "of a new observation")
    band = (x, mean - WIDTH * std, mean + WIDTH * std)
    return _curve(state, (Line("fit", ((x, mean),), "mean"), edges), facts, band)


def features(state: LabState, kernel: Kernel) -> Scene:
    """Ridge on D random features beside the exact fit."""
    X, y = read_curve(state)
    alpha, x = state.parameters["alpha"], along()
    exact = KernelRidge(kernel, alpha=alpha, solver="cholesky").fit(X, y).predict(x)
    drawn = RandomFourierFeatures(
        kernel, n_components=int(state.parameters["D"]), random_state=int(state.parameters["seed"])
    )
    Z = drawn.fit_transform(X)
    near = KernelRidge(Linear(), alpha=alpha).fit(Z, y).predict(drawn.transform(x))
    facts = (
        ("largest error of a kernel value", number(float(np.abs(Z @ Z.T - drawn.kernel_(X)).max()))),
        ("largest difference of the curves", number(float(np.abs(near - exact).max()))),
    )
    lines = (Line("exact", ((x[:, 0], exact),), "exact"), Line("fit", ((x[:, 0], near),), "random features"))
    return _curve(state, lines, facts)


def best_process(state: LabState, kernel: Kernel) -> tuple[Kernel, float]:
    """Kernel and noise of largest marginal likelihood."""
    X, y = read_curve(state)
    model = process(state, kernel, optimizer="bfgs").fit(X, y)
    return model.kernel_, float(model.noise_)


def _curve(state: LabState, lines: tuple[Line, ...], facts: tuple[tuple[str, str], ...], band: Any = None) -> Scene:
    P, c = arrays(state.data)
    return Scene(P, c, band=band, lines=lines, facts=facts)


def _rmse(residuals: Array) -> float:
    return float(np.sqrt(np.mean(np.square(residuals))))


#: Epochs of a perceptron at most: data that no function of the space separates would never end.
EPOCHS = 300

#: Relabelings of a two-sample test.
PERMUTATIONS = 499

ADD = "click into the picture to put points there"


def read_classes(state: LabState) -> tuple[Array, Array]:
    """Points, (n, 2), and classes, (n,), at least two."""
    P, c = arrays(state.data)
    return P, check_classes(c)


def check_classes(c: Array) -> Array:
    """Raise if there is a single class."""
    if len(np.unique(c)) < 2:
        raise InputError(f"two classes are needed, and there is {len(np.unique(c))}; choose a class, and {ADD}.")
    return c


def read_cloud(state: LabState) -> Array:
    """Points, (n, 2), at least two."""
    P, _ = arrays(state.data)
    if len(P) < 2:
        raise InputError(f"two points are needed; {ADD}.")
    return P


# -- models, which words share -------------------------------------------------------------------------------------------


def svc(state: LabState, kernel: Kernel, X: Any, c: Array) -> SVC:
    """A fitted machine."""
    return SVC(kernel, C=state.parameters["C"]).fit(X, c)


def nearest_mean(state: LabState, kernel: Kernel, X: Any, c: Array) -> NearestMean:
    """Fitted class means."""
    return NearestMean(kernel).fit(X, c)


def neighbors(state: LabState, kernel: Kernel, X: Any, c: Array) -> KernelKNeighborsClassifier:
    """Fitted neighbors; never more than there are rows."""
    return KernelKNeighborsClassifier(kernel, n_neighbors=min(int(state.parameters["k"]), len(c))).fit(X, c)


def discriminant_of(state: LabState, kernel: Kernel, X: Any, c: Array) -> KernelDiscriminant:
    """A fitted discriminant with the penalty of the page."""
    return KernelDiscriminant(kernel, alpha=state.parameters["penalty"]).fit(X, c)


def clusters_of(state: LabState, kernel: Kernel, X: Any) -> KernelKMeans:
    """Fitted clusters; never more than there are rows."""
    count, spectral = min(int(state.parameters["clusters"]), len(X)), bool(state.parameters["spectral"])
    return KernelKMeans(kernel, count, spectral=spectral).fit(X)


def perceptron_run(kernel: Kernel, X: Any, c: Array) -> KernelPerceptron:
    """Return a perceptron fitted to the rows in their order, with the largest margin."""
    if len(np.unique(c)) > 2:
        raise InputError("the perceptron of this page takes two classes; delete the points of the others.")
    model = KernelPerceptron(
        kernel, fit_intercept=True, shuffle=False, average=False, stopping="mistakes", margin="hard", max_iter=EPOCHS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page reports that it does not converge
        return model.fit(X, c)


def after(model: KernelPerceptron, c: Array, steps: int) -> tuple[Array, int]:
    """The coefficients (n,) after at most `steps` corrections, and the number of corrections made."""
    done = min(steps, len(model.mistakes_))
    signs = np.where(c == model.classes_[1], 1.0, -1.0)
    rows = model.mistakes_[:done]
    return np.bincount(rows, weights=signs[rows], minlength=len(c)), done


# -- pictures ----------------------------------------------------------------------------------------------------------


def svm(state: LabState, kernel: Kernel) -> Scene:
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
    return Scene(X, c, surface=np.clip(values, -2.0, 2.0), lines=lines, **shared)


def svm_facts(model: SVC) -> tuple[tuple[str, str], ...]:
    """Support vectors, margin, leave-one-out bound."""
    margin = np.atleast_1d(model.margin_)
    return (
        ("support vectors", f"{len(model.support_)}"),
        ("margin 1/‖w‖", ", ".join(map(number, margin))),
        ("leave-one-out error is at most", f"{100 * float(np.max(model.loo_bound_)):.0f} %"),
    )


def perceptron(state: LabState, kernel: Kernel) -> Scene:
    """The function after the chosen number of corrections, and the next row it gets wrong."""
    X, c = read_classes(state)
    model = perceptron_run(kernel, X, c)
    coef, done = after(model, c, int(state.parameters["steps"]))
    used = np.flatnonzero(coef)
    values = np.zeros((CELLS, CELLS))
    if len(used):
        values = _on_grid(lambda G: model.kernel_(G, X[used]) @ coef[used] + coef.sum())
    return Scene(
        X, c, surface=values, lines=(contours(values, 0.0, "boundary", "f = 0"),),
        marked=model.mistakes_[done : done + 1], marks="wrong next", facts=perceptron_facts(model, done),
    )  # fmt: skip


def perceptron_facts(model: KernelPerceptron, done: int) -> tuple[tuple[str, str], ...]:
    """Return the state of the run, and Novikoff's bound."""
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


def mean(state: LabState, kernel: Kernel) -> Scene:
    """The nearer class mean."""
    X, c = read_classes(state)
    model = nearest_mean(state, kernel, X, c)
    facts = (errors(model.predict(X), c), ("norms of the means", ", ".join(map(number, model.mean_norms_))))
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, {"facts": facts})
    values = _on_grid(model.decision_function)
    return Scene(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "equally near"),), facts=facts)


def knn(state: LabState, kernel: Kernel) -> Scene:
    """The vote of the nearest rows."""
    X, c = read_classes(state)
    model = neighbors(state, kernel, X, c)
    facts = (errors(model.predict(X), c),)
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, {"facts": facts})
    values = _on_grid(lambda G: 2.0 * model.predict_proba(G)[:, 1] - 1.0)
    return Scene(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "even vote"),), facts=facts)


def ball(state: LabState, kernel: Kernel) -> Scene:
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
    return Scene(X, _colors(state), surface=values, lines=lines, marked=outside, marks="novel", facts=facts)


def pca(state: LabState, kernel: Kernel) -> Scene:
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
    return Scene(X, _colors(state), surface=values, lines=lines, arrows=arrows, facts=tuple(facts))


def discriminant(state: LabState, kernel: Kernel) -> Scene:
    """The log odds of two classes, or the regions of several."""
    X, c = read_classes(state)
    model = discriminant_of(state, kernel, X, c)
    facts = (errors(model.predict(X), c), *discriminant_facts(kernel, X, c))
    if len(model.classes_) > 2:
        return _regions(X, c, model.predict, {"facts": facts})
    values = _on_grid(model.decision_function)
    return Scene(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "even odds"),), facts=facts)


def discriminant_facts(kernel: Kernel, X: Any, c: Array) -> tuple[tuple[str, str], ...]:
    """The penalty that leave-one-out would choose."""
    return (("penalty by leave-one-out", number(KernelDiscriminant(kernel).fit(X, c).alpha_)),)


def kmeans(state: LabState, kernel: Kernel) -> Scene:
    """The regions of the clusters, and the point nearest to each center."""
    X = read_cloud(state)
    model = clusters_of(state, kernel, X)
    classes = _on_grid(model.predict).astype(int)
    lines = tuple(contours((classes == label).astype(float), 0.5, "boundary") for label in range(model.n_clusters_))
    marked, facts = cluster_facts(model, X, _colors(state))
    return Scene(X, _colors(state), regions=classes, lines=lines, marked=marked, marks="nearest to centers", facts=facts)


def cluster_facts(model: KernelKMeans, X: Any, c: Array) -> tuple[Array, tuple[tuple[str, str], ...]]:
    """The rows nearest to the centers, and how far apart the clusters are."""
    facts = [("inertia", number(model.inertia_)), ("rows of each cluster", ", ".join(f"{s:.0f}" for s in model.sizes_))]
    if len(np.unique(model.labels_)) > 1:
        facts.append(("mean silhouette", number(float(model.silhouette_samples(X).mean()))))
    if len(np.unique(c)) > 1:
        facts.append(("agreement with the classes (adjusted Rand index)", number(adjusted_rand_score(c, model.labels_))))
    return np.concatenate([places.astype(int) for places in model.nearest_rows(X, 1)]), tuple(facts)


def two_samples(state: LabState, kernel: Kernel) -> tuple[MMDTestResult, Array, Array]:
    """The test of class 0 against class 1."""
    X, c = read_classes(state)
    parts = [X[c == label] for label in (0, 1)]
    if min(map(len, parts)) < 2 or c.max() > 1:
        raise InputError(f"two samples are the classes 0 and 1 with two points each; {ADD}.")
    return mmd_test(parts[0], parts[1], kernel, n_permutations=PERMUTATIONS, random_state=0), X, c


def mmd(state: LabState, kernel: Kernel) -> Scene:
    """Return the witness function: where one sample is denser than the other, as the kernel measures it."""
    result, X, c = two_samples(state, kernel)
    values = -_on_grid(result.witness)  # blue where the first sample is denser
    power = f"{result.power.achieved:.2f}"
    facts = (("MMD² (unbiased)", number(result.mmd2)), ("p-value", number(result.pvalue)), ("power at this size", power))
    return Scene(X, c, surface=values, lines=(contours(values, 0.0, "boundary", "witness = 0"),), facts=facts)


def errors(predicted: Array, c: Array) -> tuple[str, str]:
    """Return the number of rows on the wrong side."""
    return ("errors on the points", f"{int(np.sum(predicted != c))} of {len(c)}")


def _on_grid(function: Any) -> Array:
    return np.asarray(function(grid()[1]), dtype=np.float64).reshape(CELLS, CELLS)


def _regions(X: Array, c: Array, predict: Any, shared: dict[str, Any]) -> Scene:
    classes = _on_grid(predict)
    lines = tuple(contours((classes == label).astype(float), 0.5, "boundary") for label in np.unique(c))
    return Scene(X, c, regions=classes.astype(int), lines=lines, **shared)


def _colors(state: LabState) -> Array:
    return arrays(state.data)[1]


#: The words fill this share of the square, which leaves space for the text beside them.
SHARE = 0.8


def words(state: LabState, kernel: Kernel) -> Scene:
    """Return positions, marks and facts for any algorithm that takes words."""
    X, c = texts(state.data)
    if len(X) < 3:
        raise InputError("three words are needed; write them into the box, one per line, the class in front.")
    plane = KernelPCA(kernel, n_components=2).fit(X)
    places = plane.transform(X)
    unit = SHARE * BOX / max(float(np.abs(places).max()), 1e-12)
    extra = unit * plane.transform([state.query]) if state.query else None
    marked: Array = np.empty(0, int)
    marks, facts = "", ()  # type: str, Any
    if state.algorithm == "kmeans":
        marked, marks, facts = _clustered(state, kernel, X, c)
    elif state.algorithm != "pca":
        marked, marks, facts = _classified(state, kernel, X, check_classes(c))
    share = f"{100 * float(plane.explained_variance_ratio_.sum()):.0f} %"
    facts = (*facts, ("variance in this plane", share))
    return Scene(unit * places, c, marked=marked, marks=marks, labels=tuple(X), extra=extra, facts=facts)


def _clustered(state: LabState, kernel: Kernel, X: list[str], c: Array) -> tuple[Array, str, Any]:
    model = clusters_of(state, kernel, X)
    marked, facts = cluster_facts(model, X, c)
    if state.query:
        facts = ((f"the cluster of {state.query!r}", str(int(model.predict([state.query])[0]))), *facts)
    return marked, "nearest to centers", facts


def _classified(state: LabState, kernel: Kernel, X: list[str], c: Array) -> tuple[Array, str, Any]:
    new = [state.query] if state.query else []
    if state.algorithm == "perceptron":
        model = perceptron_run(kernel, X, c)
        coef, done = after(model, c, int(state.parameters["steps"]))
        values = model.kernel_(X, X) @ coef + coef.sum()
        facts = (*perceptron_facts(model, done), errors(model.classes_[(values > 0).astype(int)], c))
        if new:
            score = float((model.kernel_(new, X) @ coef + coef.sum())[0])
            facts = (_answer(state, model.classes_[int(score > 0)]), *facts)
        return model.mistakes_[done : done + 1], "wrong next", facts
    fit = {"svm": svc, "mean": nearest_mean, "knn": neighbors, "discriminant": discriminant_of}[state.algorithm]
    fitted: Any = fit(state, kernel, X, c)
    facts = (errors(fitted.predict(X), c),)
    if state.algorithm == "discriminant":
        facts = (*facts, *discriminant_facts(kernel, X, c))
    if new:
        facts = (_answer(state, fitted.predict(new)[0]), *facts)
    if state.algorithm == "svm":
        return fitted.support_, "support vectors", (*facts, *svm_facts(fitted))
    return np.empty(0, int), "", facts


def _answer(state: LabState, label: Any) -> tuple[str, str]:
    return (f"the class of {state.query!r}", str(int(label)))


_PICTURES: dict[str, Callable[[LabState, Kernel], Scene]] = {
    "ridge": ridge, "gp": gp, "features": features, "svm": svm, "perceptron": perceptron,
    "mean": mean, "knn": knn, "ball": ball, "pca": pca, "mmd": mmd, "discriminant": discriminant,
    "kmeans": kmeans,
}  # fmt: skip


def rows_of(state: LabState) -> Any:
    """Return the inputs of the kernel: one column for a curve, two for the plane, or words."""
    return _rows(state.data)


def _rows(data: Data) -> Any:
    kind = kind_of(data)
    if kind == WORDS:
        return texts(data)[0]
    P, _ = arrays(data)
    return P[:, :1] if kind == CURVE else P


def kernel_of(state: LabState) -> Kernel:
    """Return the kernel of a state, with "median" replaced by a number."""
    kernel = read(state.kernel)
    return kernel.resolve(rows_of(state)) if kernel.unresolved else kernel


def quick_kernel_of(state: LabState) -> Kernel:
    """The kernel of a state; raise if its values take longer than a page allows."""
    kernel = kernel_of(state)
    _check_work(kernel, state.data)
    return kernel


@lru_cache(maxsize=8)
def _check_work(kernel: Kernel, data: Data) -> None:
    cells = {PLANE: CELLS**2, CURVE: ALONG, WORDS: 4 * MAX_WORDS}[kind_of(data)]
    check_work(kernel, _rows(data), cells)


def picture(state: LabState) -> Scene:
    """Return the main picture of a state; raise an error of mercer with the reason if it cannot be computed."""
    kind = kind_of(state.data)
    if kind not in state.asks.takes:
        takes = " or ".join(
            {"curve": "a curve", "plane": "points of the plane", "words": "words"}[k] for k in state.asks.takes
        )
        raise InputError(f"{state.asks.title} takes {takes}; choose other data, or another algorithm.")
    kernel = quick_kernel_of(state)
    return words(state, kernel) if kind == WORDS else _PICTURES[state.algorithm](state, kernel)


assert set(_PICTURES) == set(ALGORITHMS)
