"""A state as a Python program that makes the picture of the page, with mercer and matplotlib.

Kernels and words come from a person, or from an address somebody sent: they stand in the program as quoted strings, and
`mercer.parse` reads them. A function that only claims to be a kernel is read by `read_claim`.
"""

from __future__ import annotations

from mercer.errors import MercerError
from mercer.kernels.parsing import parse
from mercer.lab.pictures import ALONG, CELLS, EPOCHS, PERMUTATIONS, WIDTH
from mercer.lab.samples import arrays, kind_of, texts
from mercer.lab.state import BOX, CURVE, WORDS, LabState

#: Numbers per line of an array.
PER_LINE = 10

_FITS = {
    "ridge": "model = mercer.KernelRidge(kernel, alpha={alpha:g}).fit(X, y)\nmean = model.predict(x)",
    "gp": "model = mercer.GaussianProcessRegressor(\n"
    '    kernel, noise={noise:g}, mean="zero", normalize_y=False, optimizer=None\n'
    ").fit(X, y)\nmean, std = model.predict(x, return_std=True)",
    "features": "exact = mercer.KernelRidge(kernel, alpha={alpha:g}).fit(X, y).predict(x)\n"
    "features = mercer.RandomFourierFeatures(kernel, n_components={D:.0f}, random_state={seed:.0f}).fit(X)\n"
    "model = mercer.KernelRidge(mercer.Linear(), alpha={alpha:g}).fit(features.transform(X), y)\n"
    "mean = model.predict(features.transform(x))",
    "svm": "model = mercer.SVC(kernel, C={C:g}).fit(X, y)",
    "mean": "model = mercer.NearestMean(kernel).fit(X, y)",
    "knn": "model = mercer.KernelKNeighborsClassifier(kernel, n_neighbors=min({k:.0f}, len(y))).fit(X, y)",
    "perceptron": "model = mercer.KernelPerceptron(\n    kernel, fit_intercept=True, shuffle=False, average=False, "
    f'stopping="mistakes", max_iter={EPOCHS}\n).fit(X, y)\n'
    "rows = model.mistakes_[:{steps:.0f}]  # the run of the first corrections\n"
    "coef = np.bincount(rows, weights=np.where(y[rows] == model.classes_[1], 1.0, -1.0), minlength=len(y))",
    "ball": "model = mercer.NoveltyBall(kernel, quantile={quantile:g}).fit(X)",
    "pca": "model = mercer.KernelPCA(kernel, n_components=min({components:.0f}, len(X) - 1)).fit(X)\n"
    "component = min({shown:.0f}, min({components:.0f}, len(X) - 1)) - 1",
    "discriminant": "model = mercer.KernelDiscriminant(kernel, alpha={penalty:g}).fit(X, y)",
    "kmeans": "k = min({clusters:.0f}, len(X))\n"
    "model = mercer.KernelKMeans(kernel, k, spectral=bool({spectral:.0f})).fit(X)",
    "mmd": "A, B = X[y == 0], X[y == 1]\n"
    f"result = mercer.mmd_test(A, B, kernel, n_permutations={PERMUTATIONS}, random_state=0)\nprint(result)",
}

#: The surface of two classes, or of one component.
_SURFACES = {
    "svm": "model.decision_function(G)",
    "mean": "model.decision_function(G)",
    "knn": "2 * model.predict_proba(G)[:, 1] - 1",
    "perceptron": "model.kernel_(G, X) @ coef + coef.sum()",
    "ball": "model.decision_function(G)",
    "pca": "model.transform(G)[:, component]",
    "discriminant": "model.decision_function(G)",
    "mmd": "-result.witness(G)",
}


def python_code(state: LabState) -> str:
    """The program of a state."""
    kind = kind_of(state.data)
    parts = ["import matplotlib.pyplot as plt\nimport numpy as np\n\nimport mercer", _kernel(state.kernel), _data(state)]
    fit = _FITS[state.algorithm].format(**state.parameters)
    if kind == WORDS:
        parts += [_words(state, fit)]
    elif kind == CURVE:
        parts += [f"x = np.linspace({-BOX}, {BOX}, {ALONG})[:, None]\n{fit}", _curve(state)]
    else:
        parts += [fit, _plane(state)]
    return "\n\n".join([*parts, "plt.show()"]) + "\n"


def _kernel(text: str) -> str:
    try:
        parse(text)
    except MercerError:  # not known to be a kernel, or not readable; the program reports the same
        door = "from mercer.kernels.claims import read_claim  # no closure rule makes this a kernel"
        return f"{door}\n\nkernel = read_claim({text!r})"
    return f"kernel = mercer.parse({text!r})"


def _data(state: LabState) -> str:
    if kind_of(state.data) == WORDS:
        words, labels = texts(state.data)
        return f"X = {words!r}\ny = np.array({labels.tolist()!r})"
    P, c = arrays(state.data)
    if kind_of(state.data) == CURVE:
        return f"X = np.array({_numbers(P[:, 0].tolist())})[:, None]\ny = np.array({_numbers(P[:, 1].tolist())})"
    columns = f"[\n{_numbers(P[:, 0].tolist())},\n{_numbers(P[:, 1].tolist())},\n]"
    return f"X = np.array({columns}).T\ny = np.array({_numbers(c.tolist())})"


def _numbers(values: list[float]) -> str:
    shown = [repr(value) for value in values]
    lines = [", ".join(shown[i : i + PER_LINE]) for i in range(0, len(shown), PER_LINE)]
    return "[" + ",\n ".join(lines) + "]"


def _curve(state: LabState) -> str:
    lines = ["plt.plot(x, mean)", 'plt.plot(X, y, "k.")', f"plt.ylim({-BOX}, {BOX})"]
    if state.algorithm == "gp":
        band = f"mean - {WIDTH:g} * std, mean + {WIDTH:g} * std"
        lines.insert(0, f"plt.fill_between(x[:, 0], {band}, alpha=0.3)")
    if state.algorithm == "features":
        lines.insert(0, 'plt.plot(x, exact, "k--", linewidth=1)')
    return "\n".join(lines)


def _plane(state: LabState) -> str:
    lines = [
        f"side = np.linspace({-BOX}, {BOX}, {CELLS})",
        "G = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])",
    ]
    many = len(set(arrays(state.data)[1].tolist())) > 2
    several = state.algorithm == "kmeans" or (state.algorithm in ("svm", "mean", "knn", "discriminant") and many)
    values = "model.predict(G)" if several else _SURFACES[state.algorithm]
    lines += [
        f"surface = ({values}).reshape({CELLS}, {CELLS})",
        'plt.contourf(side, side, surface, 20, cmap="RdBu_r", alpha=0.5)',
    ]
    if state.algorithm == "svm" and not several:
        lines.append('plt.contour(side, side, surface, [-1, 0, 1], colors="k", linestyles=["--", "-", "--"])')
    elif not several and state.algorithm != "pca":
        lines.append('plt.contour(side, side, surface, [0], colors="k")')
    lines.append('plt.scatter(*X.T, c=y, cmap="coolwarm", edgecolor="k")')
    if state.algorithm == "svm":
        lines.append('plt.scatter(*X[model.support_].T, s=120, facecolor="none", edgecolor="k")')
    if state.algorithm == "pca":
        lines.append('D = model.denoise(X)  # the pre-images\nplt.plot(*np.stack([X, D]).transpose(2, 0, 1), color="gray")')
    return "\n".join([*lines, 'plt.gca().set_aspect("equal")'])


def _words(state: LabState, fit: str) -> str:
    lines = [] if state.algorithm == "pca" else [fit]
    if state.query and state.algorithm == "perceptron":
        lines.append(
            f"new = model.kernel_([{state.query!r}], X) @ coef + coef.sum()\nprint(model.classes_[int(new[0] > 0)])"
        )
    elif state.query and state.algorithm != "pca":
        lines.append(f"print(model.predict([{state.query!r}]))")
    lines += [
        "places = mercer.KernelPCA(kernel, n_components=2).fit_transform(X)",
        'plt.scatter(*places.T, c=y, cmap="coolwarm")',
        "for place, word in zip(places, X, strict=True):\n    plt.annotate(word, place)",
    ]
    return "\n".join(lines)
