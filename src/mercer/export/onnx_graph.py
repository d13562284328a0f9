"""ONNX: a fitted model as a graph of float64 operations that any ONNX runtime evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import check_choice
from mercer.estimators.svm.one_vs_one import sides
from mercer.estimators.tables.base import TableEstimator
from mercer.export.formula import with_itself, with_rows
from mercer.export.nodes import Nodes
from mercer.export.scorers import Scorer, scorer
from mercer.export.table_graph import TableGraph


def to_onnx(model: Any, *, dtype: str = "float64") -> Any:
    """Return a fitted model as an ONNX model (`onnx.ModelProto`) with the input `X` (rows, columns), computing in float64.

    Kernel ridges, support vector machines, Gaussian processes (mean and standard deviation), logistic regression,
    NearestMean, KernelPCA, and pipelines of a StandardScaler and one of them, on vectors; table models on numbers and
    categories, with one input per column (rows, 1): numbers, NaN if missing, or the text of a category, empty if missing.
    Outputs: `prediction` and `std` for numbers; `label`, `decision` and, where the model has them in closed form,
    `probabilities` for classes; `components` for KernelPCA. The operations are those of the kernel's formula; a term without
    one is named in the error. Needs the extra "export".

    Parameters
    ----------
    dtype : "float64" or "float32"
        The type of the input, which is converted to float64 first.

    >>> import numpy as np, mercer
    >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
    >>> graph = mercer.to_onnx(mercer.KernelRidge(mercer.Matern(2.5), alpha=0.1).fit(X, np.sin(X[:, 0])))
    >>> [output.name for output in graph.graph.output]
    ['prediction']
    """
    check_choice("to_onnx", "dtype", dtype, ("float64", "float32"))
    if isinstance(model, TableEstimator):
        return TableGraph(model, dtype).model()
    return VectorGraph(scorer(model), dtype).model()


class VectorGraph:
    """The graph of a model on vectors."""

    def __init__(self, found: Scorer, dtype: str) -> None:
        self.found, self.to = found, Nodes()
        self.rows = self.to.numbers("X", dtype, found.width)
        if found.center is not None:
            centered = self.to.add("Sub", self.rows, self.to.constant(found.center))
            self.rows = self.to.add("Div", centered, self.to.constant(found.spread))

    def model(self) -> Any:
        """Return the finished model."""
        K = self.to.formula(self.rows, with_rows(self.found.kernel, self.found.rows), len(self.found.rows))
        product = self.to.add("MatMul", K, self.to.constant(self.found.coef))
        values = self.to.add("Add", product, self.to.constant(self.found.intercept))
        {"numbers": self.numbers, "components": self.components, "process": self.process, "novelty": self.novelty}.get(
            self.found.kind, self.classes
        )(values, K)
        return self.to.finished(self.found.name)

    def numbers(self, values: str, K: str) -> None:
        """Predictions of numbers."""
        t = self.found.coef.shape[1]
        self.to.output("prediction", values, self.to.types.DOUBLE, None if t == 1 else t)

    def components(self, values: str, K: str) -> None:
        """Coordinates of KernelPCA."""
        self.to.output("components", values, self.to.types.DOUBLE, self.found.coef.shape[1])

    def novelty(self, values: str, K: str) -> None:
        """+1 for what is like the training rows, -1 for the rest."""
        types = self.to.types
        flat = self.to.flat(values)
        novel = self.to.add("Less", flat, self.to.number(0.0))
        self.to.output(
            "label",
            self.to.add("Where", novel, self.to.constant(np.int64(-1)), self.to.constant(np.int64(1))),
            types.INT64,
            None,
        )
        self.to.output("decision", values, types.DOUBLE, None)

    def classes(self, values: str, K: str) -> None:
        """Labels, decision values and probabilities."""
        found, types = self.found, self.to.types
        two = found.coef.shape[1] == 1 and found.kind == "classes"
        if found.kind == "votes":
            best = self.to.add("ArgMax", self.votes(values), axis=1, keepdims=0)
        elif two:
            flat = self.to.flat(values)
            best = self.to.add("Cast", self.to.add("Greater", flat, self.to.number(0.0)), to=types.INT64)
        else:
            best = self.to.add("ArgMax", values, axis=1, keepdims=0)
        self.to.labels(best, found.classes)
        self.to.output("decision", values, types.DOUBLE, None if two else found.coef.shape[1])
        if found.probability:
            self.to.output("probabilities", self.probabilities(values), types.DOUBLE, len(np.asarray(found.classes)))

    def votes(self, values: str) -> str:
        """Pairs won by each class, with ties broken by decision values if the model does so."""
        first, second = (part.astype(np.float64) for part in sides(len(np.asarray(self.found.classes))))
        won = self.to.add("Cast", self.to.add("GreaterOrEqual", values, self.to.number(0.0)), to=self.to.types.DOUBLE)
        difference = self.to.constant(first - second)
        total = self.to.add("Add", self.to.add("MatMul", won, difference), self.to.constant(second.sum(axis=0)))
        if not self.found.break_ties:
            return total
        confidence = self.to.add("MatMul", values, difference)
        size = self.to.add("Add", self.to.add("Abs", confidence), self.to.number(1.0))
        return self.to.add("Add", total, self.to.add("Div", confidence, self.to.add("Mul", size, self.to.number(3.0))))

    def probabilities(self, values: str) -> str:
        """Probabilities of all classes, (rows, C)."""
        found = self.found
        if found.slopes is not None:
            below = self.to.add("Less", values, self.to.number(0.0))
            low, high = (self.to.number(slope) for slope in found.slopes)
            values = self.to.add("Mul", values, self.to.add("Where", below, low, high))
        else:
            values = self.to.add("Mul", values, self.to.number(found.temperature))
        if found.probability == "softmax":
            shifted = self.to.add("Sub", values, self.to.add("ReduceMax", values, axes=[1], keepdims=1))
            powers = self.to.add("Exp", shifted)
            return self.to.add("Div", powers, self.to.sum(powers))
        one = self.to.number(1.0)
        rising, falling = (
            self.to.add("Div", one, self.to.add("Add", one, self.to.add("Exp", part)))
            for part in (self.to.add("Neg", values), values)
        )
        return self.to.add("Concat", falling, rising, axis=1)

    def process(self, values: str, K: str) -> None:
        """Mean and standard deviation of a Gaussian process."""
        forms, types = self.found.forms, self.to.types
        assert forms is not None
        t, q = forms.n_targets, len(forms.beta)
        mean, rest = self.to.part(values, range(t)), None
        if q:
            H = self.mean_columns(forms.location, forms.spread, q)
            rest = self.to.add("Sub", H, self.to.part(values, range(t, t + q)))
            mean = self.to.add("Add", mean, self.to.add("MatMul", rest, self.to.constant(forms.beta)))
        mean = self.to.add("Add", self.to.add("Mul", mean, self.to.constant(forms.scale)), self.to.constant(forms.center))
        self.to.output("prediction", mean, types.DOUBLE, None if forms.single else t)
        whitened = self.to.add("MatMul", K, self.to.constant(np.ascontiguousarray(forms.inverse_factor.T)))
        prior = self.to.formula(self.rows, with_itself(self.found.kernel, self.found.width), 1)
        explained = self.to.add("ReduceSumSquare", whitened, axes=[1], keepdims=1)
        variance = self.to.add("Max", self.to.add("Sub", prior, explained), self.to.number(0.0))
        if rest is not None:
            spread = self.to.add("Mul", self.to.add("MatMul", rest, self.to.constant(forms.covariance)), rest)
            variance = self.to.add("Add", variance, self.to.sum(spread))
        std = self.to.add("Mul", self.to.add("Sqrt", variance), self.to.constant(forms.scale[None, :]))
        self.to.output("std", std, types.DOUBLE, None if forms.single else t)

    def mean_columns(self, location: Floats, spread: Floats, q: int) -> str:
        """1, or 1 and the scaled columns, for the mean function."""
        ones = self.to.add("Add", self.to.zeros(self.rows, 1), self.to.number(1.0))
        if q == 1:
            return ones
        scaled = self.to.add("Div", self.to.add("Sub", self.rows, self.to.constant(location)), self.to.constant(spread))
        return self.to.add("Concat", ones, scaled, axis=1)
