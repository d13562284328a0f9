"""ONNX: a fitted model as a graph of float64 operations that any ONNX runtime evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import MissingExtraError, check_choice, install_command
from mercer.estimators.svm.one_vs_one import sides
from mercer.export.formula import Symbol, in_order, with_itself, with_rows
from mercer.export.scorers import Scorer, scorer

OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "exp": "Exp", "sqrt": "Sqrt", "tanh": "Tanh", "sin": "Sin",
    "log": "Log", "abs": "Abs",
}  # fmt: skip

#: Operator set of the graph, and the version of the format: those of onnx 1.14, which current runtimes read.
OPSET, IR_VERSION = 17, 8


def to_onnx(model: Any, *, dtype: str = "float64") -> Any:
    """Return a fitted model as an ONNX model (`onnx.ModelProto`) with one input, `X` (rows, columns), computing in float64.

    Kernel ridges, support vector machines, Gaussian processes (mean and standard deviation), logistic regression,
    NearestMean, KernelPCA, and pipelines of a StandardScaler and one of them, on vectors. Outputs: `prediction` and `std`
    for numbers; `label`, `decision` and, where the model has them in closed form, `probabilities` for classes; `components`
    for KernelPCA. The operations are those of the kernel's formula; a term without one is named in the error. Needs the
    extra "export".

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
    found = scorer(model)
    return OnnxGraph(found, dtype).model()


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise MissingExtraError(
            f"ONNX needs the package onnx, which is not installed: {install_command('export')}"
        ) from None
    return onnx


class OnnxGraph:
    """The nodes, constants and outputs of one graph."""

    def __init__(self, found: Scorer, dtype: str) -> None:
        self.onnx, self.found, self.dtype = _onnx(), found, dtype
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.outputs: list[Any] = []

    def model(self) -> Any:
        """Return the finished model."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        rows = self.add("Cast", "X", to=types.DOUBLE)
        if self.found.center is not None:
            rows = self.add("Div", self.add("Sub", rows, self.constant(self.found.center)), self.constant(self.found.spread))
        self.rows = rows
        K = self.formula(with_rows(self.found.kernel, self.found.rows), len(self.found.rows))
        values = self.add("Add", self.add("MatMul", K, self.constant(self.found.coef)), self.constant(self.found.intercept))
        {"numbers": self.numbers, "components": self.components, "process": self.process, "novelty": self.novelty}.get(
            self.found.kind, self.classes
        )(values, K)
        kind = types.DOUBLE if self.dtype == "float64" else types.FLOAT
        given = helper.make_tensor_value_info("X", kind, ["rows", self.found.width])
        graph = helper.make_graph(self.nodes, self.found.name, [given], self.outputs, list(self.constants.values()))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="mercer")
        made.ir_version = IR_VERSION
        self.onnx.checker.check_model(made)
        return made

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append a node and return the name of its output."""
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Return the name of a constant; equal constants are stored once."""
        array = np.asarray(value)
        key = (array.shape, array.dtype.str, array.tobytes() if array.dtype.kind != "O" else tuple(array.ravel()))
        if key not in self.constants:
            name = f"c{len(self.constants)}"
            if array.dtype.kind in "OU":
                texts = [str(item) for item in array.ravel()]
                made = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
            else:
                made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.constants[key] = made
        return str(self.constants[key].name)

    def formula(self, last: Symbol, n: int) -> str:
        """Append the operations of a formula; the result has the shape (rows, n)."""
        names: dict[int, str] = {}
        for symbol in in_order(last):
            if symbol.op == "const":
                names[id(symbol)] = self.constant(np.asarray(symbol.value, dtype=np.float64))
            elif symbol.op == "x":
                names[id(symbol)] = self.add("Gather", self.rows, self.constant(np.array([symbol.index])), axis=1)
            else:
                names[id(symbol)] = self.add(OPERATORS[symbol.op], *[names[id(arg)] for arg in symbol.args])
                if symbol.op == "div" and symbol.args[1].op != "const":  # a norm, which may be 0: so is the value then
                    zero = self.constant(np.float64(0.0))
                    empty = self.add("Equal", names[id(symbol.args[1])], zero)
                    names[id(symbol)] = self.add("Where", empty, zero, names[id(symbol)])
        first = self.add("Gather", self.rows, self.constant(np.array([0])), axis=1)  # a column of zeros, for constants
        zeros = self.add("Mul", first, self.constant(np.zeros((1, n))))
        return self.add("Add", names[id(last)], zeros)

    def output(self, name: str, source: str, kind: Any, width: int | None) -> None:
        """Declare an output of shape (rows,) or (rows, width)."""
        if width is None and kind == self.onnx.TensorProto.DOUBLE:
            source = self.add("Reshape", source, self.constant(np.array([-1])))
        self.add("Identity", source, name=name)
        shape = ["rows"] if width is None else ["rows", width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def numbers(self, values: str, K: str) -> None:
        """Predictions of numbers."""
        t = self.found.coef.shape[1]
        self.output("prediction", values, self.onnx.TensorProto.DOUBLE, None if t == 1 else t)

    def components(self, values: str, K: str) -> None:
        """Coordinates of KernelPCA."""
        self.output("components", values, self.onnx.TensorProto.DOUBLE, self.found.coef.shape[1])

    def novelty(self, values: str, K: str) -> None:
        """+1 for what is like the training rows, -1 for the rest."""
        types = self.onnx.TensorProto
        flat = self.add("Reshape", values, self.constant(np.array([-1])))
        novel = self.add("Less", flat, self.constant(np.float64(0.0)))
        self.output(
            "label", self.add("Where", novel, self.constant(np.int64(-1)), self.constant(np.int64(1))), types.INT64, None
        )
        self.output("decision", values, types.DOUBLE, None)

    def classes(self, values: str, K: str) -> None:
        """Labels, decision values and probabilities."""
        found, types = self.found, self.onnx.TensorProto
        two = found.coef.shape[1] == 1 and found.kind == "classes"
        if found.kind == "votes":
            best = self.add("ArgMax", self.votes(values), axis=1, keepdims=0)
        elif two:
            flat = self.add("Reshape", values, self.constant(np.array([-1])))
            best = self.add("Cast", self.add("Greater", flat, self.constant(np.float64(0.0))), to=types.INT64)
        else:
            best = self.add("ArgMax", values, axis=1, keepdims=0)
        labels = np.asarray(found.classes)
        text = labels.dtype.kind in "OU"
        stored = labels if text else labels.astype(np.int64 if labels.dtype.kind in "iub" else np.float64)
        kind = types.STRING if text else types.INT64 if labels.dtype.kind in "iub" else types.FLOAT
        self.label(self.add("Gather", self.constant(stored), best, axis=0), kind, labels.dtype.kind)
        self.output("decision", values, types.DOUBLE, None if two else found.coef.shape[1])
        if found.probability:
            self.output("probabilities", self.probabilities(values), types.DOUBLE, len(labels))

    def label(self, source: str, kind: Any, code: str) -> None:
        """Declare the output with the labels."""
        types = self.onnx.TensorProto
        self.add("Identity", source, name="label")
        kind = types.DOUBLE if code == "f" else kind
        self.outputs.append(self.onnx.helper.make_tensor_value_info("label", kind, ["rows"]))

    def votes(self, values: str) -> str:
        """Pairs won by each class, with ties broken by decision values if the model does so."""
        first, second = (part.astype(np.float64) for part in sides(len(np.asarray(self.found.classes))))
        won = self.add(
            "Cast", self.add("GreaterOrEqual", values, self.constant(np.float64(0.0))), to=self.onnx.TensorProto.DOUBLE
        )
        difference = self.constant(first - second)
        total = self.add("Add", self.add("MatMul", won, difference), self.constant(second.sum(axis=0)))
        if not self.found.break_ties:
            return total
        confidence = self.add("MatMul", values, difference)
        size = self.add("Add", self.add("Abs", confidence), self.constant(np.float64(1.0)))
        return self.add("Add", total, self.add("Div", confidence, self.add("Mul", size, self.constant(np.float64(3.0)))))

    def probabilities(self, values: str) -> str:
        """Probabilities of all classes, (rows, C)."""
        found = self.found
        if found.slopes is not None:
            below = self.add("Less", values, self.constant(np.float64(0.0)))
            low, high = (self.constant(np.float64(slope)) for slope in found.slopes)
            values = self.add("Mul", values, self.add("Where", below, low, high))
        else:
            values = self.add("Mul", values, self.constant(np.float64(found.temperature)))
        if found.probability == "softmax":
            shifted = self.add("Sub", values, self.add("ReduceMax", values, axes=[1], keepdims=1))
            powers = self.add("Exp", shifted)
            return self.add("Div", powers, self.add("ReduceSum", powers, self.constant(np.array([1])), keepdims=1))
        one = self.constant(np.float64(1.0))
        rising, falling = (
            self.add("Div", one, self.add("Add", one, self.add("Exp", part))) for part in (self.add("Neg", values), values)
        )
        return self.add("Concat", falling, rising, axis=1)

    def process(self, values: str, K: str) -> None:
        """Mean and standard deviation of a Gaussian process."""
        forms, types = self.found.forms, self.onnx.TensorProto
        assert forms is not None
        t, q = forms.n_targets, len(forms.beta)
        mean, rest = self.part(values, 0, t), None
        if q:
            H = self.mean_columns(forms.location, forms.spread, q)
            rest = self.add("Sub", H, self.part(values, t, t + q))
            mean = self.add("Add", mean, self.add("MatMul", rest, self.constant(forms.beta)))
        mean = self.add("Add", self.add("Mul", mean, self.constant(forms.scale)), self.constant(forms.center))
        self.output("prediction", mean, types.DOUBLE, None if forms.single else t)
        whitened = self.add("MatMul", K, self.constant(np.ascontiguousarray(forms.inverse_factor.T)))
        prior = self.formula(with_itself(self.found.kernel, self.found.width), 1)
        explained = self.add("ReduceSumSquare", whitened, axes=[1], keepdims=1)
        variance = self.add("Max", self.add("Sub", prior, explained), self.constant(np.float64(0.0)))
        if rest is not None:
            spread = self.add("Mul", self.add("MatMul", rest, self.constant(forms.covariance)), rest)
            variance = self.add("Add", variance, self.add("ReduceSum", spread, self.constant(np.array([1])), keepdims=1))
        std = self.add("Mul", self.add("Sqrt", variance), self.constant(forms.scale[None, :]))
        self.output("std", std, types.DOUBLE, None if forms.single else t)

    def part(self, source: str, start: int, stop: int) -> str:
        """Some columns of a matrix."""
        return self.add("Gather", source, self.constant(np.arange(start, stop)), axis=1)

    def mean_columns(self, location: Floats, spread: Floats, q: int) -> str:
        """1, or 1 and the scaled columns, for the mean function."""
        first = self.add("Gather", self.rows, self.constant(np.array([0])), axis=1)
        ones = self.add("Add", self.add("Mul", first, self.constant(np.float64(0.0))), self.constant(np.float64(1.0)))
        if q == 1:
            return ones
        scaled = self.add("Div", self.add("Sub", self.rows, self.constant(location)), self.constant(spread))
        return self.add("Concat", ones, scaled, axis=1)
