"""Words, sequences, molecules: shown in the plane of their two first kernel components, classified in feature space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.kernels.base import Kernel
from mercer.lab.pictures import Picture
from mercer.lab.planes import (
    after,
    check_classes,
    errors,
    nearest_mean,
    neighbors,
    perceptron_facts,
    perceptron_run,
    svc,
    svm_facts,
)
from mercer.lab.samples import texts
from mercer.lab.state import BOX, State

#: The cloud of words fills this share of the square, so that what is written beside them fits.
SHARE = 0.8


def words(state: State, kernel: Kernel) -> Picture:
    """Places, marks and facts for any algorithm that takes words."""
    X, c = texts(state.data)
    if len(X) < 3:
        raise InputError("three words are needed; write them into the box, one per line, the class in front.")
    plane = KernelPCA(kernel, n_components=2).fit(X)
    places = plane.transform(X)
    unit = SHARE * BOX / max(float(np.abs(places).max()), 1e-12)
    extra = unit * plane.transform([state.query]) if state.query else None
    marked: Array = np.empty(0, int)
    marks, facts = "", ()  # type: str, Any
    if state.algorithm != "pca":
        marked, marks, facts = _classified(state, kernel, X, check_classes(c))
    share = f"{100 * float(plane.explained_variance_ratio_.sum()):.0f} %"
    facts = (*facts, ("variance in this plane", share))
    return Picture(unit * places, c, marked=marked, marks=marks, labels=tuple(X), extra=extra, facts=facts)


def _classified(state: State, kernel: Kernel, X: list[str], c: Array) -> tuple[Array, str, Any]:
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
    fit = {"svm": svc, "mean": nearest_mean, "knn": neighbors}[state.algorithm]
    fitted: Any = fit(state, kernel, X, c)
    facts = (errors(fitted.predict(X), c),)
    if new:
        facts = (_answer(state, fitted.predict(new)[0]), *facts)
    if state.algorithm == "svm":
        return fitted.support_, "support vectors", (*facts, *svm_facts(fitted))
    return np.empty(0, int), "", facts


def _answer(state: State, label: Any) -> tuple[str, str]:
    return (f"the class of {state.query!r}", str(int(label)))
