"""Perceptrons, neighbors and novelty: the simple kernel algorithms on real data."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Claim, Peer, Row

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
#: Length scales by a rough search; inputs as they come.
SCALES = {"a9a": 5.0, "ijcnn1": 0.5}
#: A score below this is 0, in both contestants: repeated rows with both labels give sums that cancel but for rounding.
ZERO = 1e-10

Split = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def two_classes(name: str, n: int | None) -> Split:
    """X, y, X_test, y_test in float64."""
    found = np.load(DATA / f"cls_{name}.npz")
    parts = found["X_train"][:n], found["y_train"][:n], found["X_test"], found["y_test"]
    return parts[0].astype(np.float64), parts[1].astype(np.float64), parts[2].astype(np.float64), parts[3]


def plain_perceptron(X: NDArray[Any], y: NDArray[Any], length_scale: float, orders: list[NDArray[Any]]) -> NDArray[Any]:
    """The lectures' algorithm as one writes it: the kernel of the incoming point with the rows that were wrong, counted."""
    counts, wrong, mistakes = np.zeros(len(X)), np.empty(0, dtype=int), []
    for order in orders:
        before = len(mistakes)
        for i in order:
            k = np.exp(-((X[wrong] - X[i]) ** 2).sum(axis=1) / (2.0 * length_scale**2))
            if y[i] * ((counts[wrong] * y[wrong]) @ k) <= ZERO:
                mistakes.append(i)
                if counts[i] == 0:
                    wrong = np.append(wrong, i)
                counts[i] += 1
        if len(mistakes) == before:
            break
    return np.array(mistakes)


def tuned_perceptron(X: NDArray[Any], y: NDArray[Any], length_scale: float, orders: list[NDArray[Any]]) -> NDArray[Any]:
    """The same loop by somebody who cares: support vectors side by side in memory, norms kept, one product per example."""
    squares, factor = (X * X).sum(axis=1), -0.5 / length_scale**2
    S, norms, alpha = np.empty_like(X), np.empty(len(X)), np.empty(len(X))
    slot, held, mistakes = np.full(len(X), -1), 0, []
    for order in orders:
        before = len(mistakes)
        for i in order:
            k = np.exp(factor * np.maximum(norms[:held] + squares[i] - 2.0 * (S[:held] @ X[i]), 0.0))
            if y[i] * (alpha[:held] @ k) <= ZERO:
                mistakes.append(i)
                if slot[i] < 0:
                    S[held], norms[held], alpha[held], slot[i] = X[i], squares[i], 0.0, held
                    held += 1
                alpha[slot[i]] += y[i]
        if len(mistakes) == before:
            break
    return np.array(mistakes)


def mistakes_that_differ(ours: NDArray[Any], theirs: NDArray[Any]) -> float:
    """0 for the same mistakes in the same order."""
    if len(ours) != len(theirs):
        return float(abs(len(ours) - len(theirs)))
    return float((ours != theirs).sum())


def perceptron(name: str, epochs: int, n: int | None = None, long: bool = True) -> Row:
    """The perceptron's mistakes in some epochs over shuffled rows."""
    scale = SCALES[name]

    def ours(data: Split) -> NDArray[Any]:
        import mercer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mercer.KernelPerceptron(mercer.Gaussian(scale), max_iter=epochs, random_state=0, solver="blocked")
            return model.fit(data[0], data[1]).mistakes_

    def orders(n: int) -> list[NDArray[Any]]:
        random = np.random.RandomState(0)
        return [random.permutation(n) for _ in range(epochs)]

    return Row(
        name=f"perceptron-{name}",
        title=f"kernel perceptron on {name}, {epochs} epochs, Gaussian({scale:g}): the mistakes, against a loop in NumPy",
        data=partial(two_classes, name, n),
        mercer=ours,
        peers=(
            Peer(
                name="plain NumPy loop",
                run=lambda data: plain_perceptron(data[0], data[1], scale, orders(len(data[0]))),
                modules=("numpy",),
                package="numpy",
                once=True,
            ),
            Peer(
                name="tuned NumPy loop",
                run=lambda data: tuned_perceptron(data[0], data[1], scale, orders(len(data[0]))),
                modules=("numpy",),
                package="numpy",
                once=True,
            ),
        ),
        claims=(Claim(measure="ratio", at_least=20.0, peer="plain NumPy loop"),),
        agreement=mistakes_that_differ,
        tolerance=0.0,
        quality=lambda data, mistakes: {"mistakes": float(len(mistakes))},
        repeats=3,
        long=long,
    )


def averaged(n: int | None = None, epochs: int = 5, long: bool = True) -> Row:
    """Test accuracy of the averaged perceptron beside a support vector machine."""
    scale = SCALES["a9a"]

    def ours(data: Split) -> NDArray[Any]:
        import mercer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mercer.KernelPerceptron(mercer.Gaussian(scale), max_iter=epochs, random_state=0)
            return model.fit(data[0], data[1]).predict(data[2])

    def theirs(data: Split) -> NDArray[Any]:
        from sklearn.svm import SVC

        return SVC(C=1.0, gamma=0.5 / scale**2, cache_size=2000).fit(data[0], data[1]).predict(data[2])

    return Row(
        name="averaged-perceptron-a9a",
        title=f"a9a, fit and predict: averaged perceptron ({epochs} epochs) beside SVC(C=1), Gaussian({scale:g})",
        data=partial(two_classes, "a9a", n),
        mercer=ours,
        peers=(Peer(name="SVC", run=theirs, modules=("sklearn.svm",), package="scikit-learn", once=True),),
        # the SVM has about 85 %, and 1.5 points may be lost
        claims=(Claim(measure="test accuracy %", at_least=83.5),),
        agreement=None,
        quality=lambda data, found: {"test accuracy %": 100.0 * float((found == data[3]).mean())},
        repeats=1,
        long=long,
    )


def overlapping(n: int = 4000) -> Split:
    """Two classes that no function of the columns tells apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, 10))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=2 * n) > 0, 1.0, -1.0)
    return X[:n], y[:n], X[n:], y[n:]


def stopping(epochs: int = 50) -> Row:
    """A perceptron as it is by default, beside a part of the 1,000 epochs that the lectures' rule takes here."""

    def fitted(data: Split, **settings: Any) -> NDArray[Any]:
        import mercer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mercer.KernelPerceptron(random_state=0, **settings)
            return model.fit(data[0], data[1]).predict(data[2])

    return Row(
        name="perceptron-stopping",
        title=f"KernelPerceptron() on 4000 rows without a margin, beside stopping='mistakes' cut after {epochs} epochs",
        data=overlapping,
        mercer=fitted,
        peers=(
            Peer(
                name="mistakes",
                run=partial(fitted, stopping="mistakes", max_iter=epochs),
                modules=("mercer",),
                once=True,
            ),
        ),
        claims=(),
        agreement=None,
        quality=lambda data, found: {"test accuracy %": 100.0 * float((found == data[3]).mean())},
        repeats=1,
        memory=False,
        long=True,
    )


def digits(n: int | None) -> Split:
    """USPS in float64."""
    found = np.load(DATA / "usps.npz")
    X, T = found["X_train"][:n].astype(np.float64), found["X_test"][:n].astype(np.float64)
    return X, found["y_train"][:n], T, found["y_test"][:n]


def neighbors(n: int | None = None, scale: float = 8.0) -> Row:
    """5-NN by the kernel distance, end to end from X."""

    def ours(data: Split) -> NDArray[Any]:
        import mercer

        return mercer.KernelKNeighborsClassifier(mercer.Gaussian(scale)).fit(data[0], data[1]).predict(data[2])

    def distances(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
        from sklearn.metrics.pairwise import rbf_kernel

        K = rbf_kernel(A, B, gamma=0.5 / scale**2)
        return np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0))

    def theirs(data: Split) -> NDArray[Any]:
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(metric="precomputed").fit(distances(data[0], data[0]), data[1])
        return model.predict(distances(data[2], data[0]))

    def hurried(data: Split) -> NDArray[Any]:
        from sklearn.neighbors import KNeighborsClassifier

        # the values between training rows are never looked at, and who knows that may leave them out
        model = KNeighborsClassifier(metric="precomputed").fit(np.zeros((len(data[0]), len(data[0]))), data[1])
        return model.predict(distances(data[2], data[0]))

    return Row(
        name="kernel-neighbors-usps",
        title="kernel 5-NN on USPS, fit and predict from X, against KNeighborsClassifier(metric='precomputed')",
        data=partial(digits, n),
        mercer=ours,
        peers=(
            Peer(name="precomputed", run=theirs, modules=("sklearn.neighbors",), package="scikit-learn"),
            Peer(name="precomputed, in a hurry", run=hurried, modules=("sklearn.neighbors",), package="scikit-learn"),
        ),
        # peak memory is printed beside; that it stays flat is shown where it can be seen, in benchmarks/memory.py
        claims=(Claim(measure="ratio", at_least=3.0, peer="precomputed"),),
        agreement=lambda a, b: float((np.asarray(a) != np.asarray(b)).mean()),
        tolerance=0.002,  # ties are broken by different rules
        quality=lambda data, found: {"test errors": float((found != data[3]).sum())},
    )


NOVELTY = ("thyroid", "cardio", "cover", "donors")
Sets = list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]


def novelty_sets(most: int = 10_000) -> Sets:
    """(train, test, is novel) of the four sets: half of the normal rows, at most 10,000, to train; scaled by them."""
    sets = []
    for name in NOVELTY:
        found, rng = np.load(DATA / f"novelty_{name}.npz"), np.random.default_rng(0)
        X, y = found["X"].astype(np.float64), found["y"]
        normal = rng.permutation(np.flatnonzero(y == 0))
        train, others = normal[: min(len(normal) // 2, most)], normal[len(normal) // 2 :][:most]
        test = np.concatenate([others, rng.permutation(np.flatnonzero(y == 1))[:most]])
        mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
        spread[spread == 0.0] = 1.0
        sets.append(((X[train] - mean) / spread, (X[test] - mean) / spread, y[test] == 1))
    return sets


def areas(data: Sets, scores: list[NDArray[Any]]) -> dict[str, float]:
    """ROC-AUC of every set and their mean; a low score is novel."""
    from sklearn.metrics import roc_auc_score

    found = [float(roc_auc_score(odd, -score)) for (_, _, odd), score in zip(data, scores, strict=True)]
    return {"mean ROC-AUC": float(np.mean(found))} | dict(zip(NOVELTY, found, strict=True))


def novelty(most: int = 10_000, long: bool = True) -> Row:
    """The ball round the mean beside the one-class SVM and the local outlier factor."""

    def ours(data: Sets) -> list[NDArray[Any]]:
        import mercer

        return [mercer.NoveltyBall().fit(A).score_samples(B) for A, B, _ in data]

    def svm(data: Sets) -> list[NDArray[Any]]:
        from sklearn.svm import OneClassSVM

        return [OneClassSVM(gamma="scale").fit(A).score_samples(B) for A, B, _ in data]

    def factor(data: Sets) -> list[NDArray[Any]]:
        from sklearn.neighbors import LocalOutlierFactor

        return [LocalOutlierFactor(novelty=True).fit(A).score_samples(B) for A, B, _ in data]

    return Row(
        name="novelty",
        title="four novelty sets, fit and score, defaults: the ball around the mean, OneClassSVM, LocalOutlierFactor",
        data=partial(novelty_sets, most),
        mercer=ours,
        peers=(
            Peer(name="OneClassSVM", run=svm, modules=("sklearn.svm",), package="scikit-learn", once=True),
            Peer(name="LocalOutlierFactor", run=factor, modules=("sklearn.neighbors",), package="scikit-learn", once=True),
        ),
        # OneClassSVM has 0.957 to 0.958, and 0.02 may be lost
        claims=(Claim(measure="mean ROC-AUC", at_least=0.938),),
        agreement=None,
        quality=areas,
        repeats=1,
        long=long,
    )


ROWS = [perceptron("a9a", epochs=2), perceptron("ijcnn1", epochs=5), averaged(), stopping(), neighbors(), novelty()]
