"""The nodes, constants, inputs and outputs of an ONNX graph in the making."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.errors import MissingExtraError, install_command
from mercer.export.formula import Symbol, in_order

OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "exp": "Exp", "sqrt": "Sqrt", "tanh": "Tanh", "sin": "Sin",
    "log": "Log", "abs": "Abs", "pow": "Pow",
}  # fmt: skip

#: Operator sets of the graph, and the version of the format: those of onnx 1.14, which current runtimes read.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8


def import_onnx() -> Any:
    """Return the package onnx; raise if it is not installed."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError(
            f"ONNX needs the package onnx, which is not installed: {install_command('export')}"
        ) from None
    return onnx


class Nodes:
    """A graph to which nodes are appended; `add` and `constant` return the names of values."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.types = self.onnx.TensorProto
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def finished(self, name: str) -> Any:
        """Return the graph as a checked model."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, list(self.constants.values()))
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(graph, opset_imports=sets, producer_name="mercer")
        made.ir_version = IR_VERSION
        self.onnx.checker.check_model(made)
        return made

    def input(self, name: str, kind: Any, width: int) -> str:
        """Declare an input of shape (rows, width)."""
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["rows", width]))
        return name

    def numbers(self, name: str, dtype: str, width: int) -> str:
        """Declare an input of float64 or float32 numbers and return its values in float64."""
        kind = self.types.DOUBLE if dtype == "float64" else self.types.FLOAT
        return self.add("Cast", self.input(name, kind, width), to=self.types.DOUBLE)

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
                made = self.onnx.helper.make_tensor(name, self.types.STRING, array.shape, texts)
            else:
                made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.constants[key] = made
        return str(self.constants[key].name)

    def number(self, value: float) -> str:
        """Return the name of a float64 constant."""
        return self.constant(np.float64(value))

    def formula(self, rows: str, last: Symbol, n: int) -> str:
        """Append the operations of a formula on coordinates of `rows`; the result has the shape (rows, n)."""
        names: dict[int, str] = {}
        for symbol in in_order(last):
            if symbol.op == "const":
                names[id(symbol)] = self.constant(np.asarray(symbol.value, dtype=np.float64))
            elif symbol.op == "x":
                names[id(symbol)] = self.part(rows, [symbol.index])
            else:
                names[id(symbol)] = self.add(OPERATORS[symbol.op], *[names[id(arg)] for arg in symbol.args])
                if symbol.op == "div" and symbol.args[1].op != "const":  # a norm, which may be 0: so is the value then
                    empty = self.add("Equal", names[id(symbol.args[1])], self.number(0.0))
                    names[id(symbol)] = self.add("Where", empty, self.number(0.0), names[id(symbol)])
        return self.add("Add", names[id(last)], self.zeros(rows, n))

    def zeros(self, rows: str, n: int) -> str:
        """Return zeros of the shape (rows, n), which give constants this shape."""
        return self.add("Mul", self.part(rows, [0]), self.constant(np.zeros((1, n))))

    def part(self, source: str, columns: Any) -> str:
        """Return some columns of a matrix."""
        return self.add("Gather", source, self.constant(np.asarray(columns, dtype=np.int64)), axis=1)

    def sum(self, source: str) -> str:
        """Return the sums of the rows of a matrix, (rows, 1)."""
        return self.add("ReduceSum", source, self.constant(np.array([1])), keepdims=1)

    def flat(self, source: str) -> str:
        """Return a matrix of one column as a vector."""
        return self.add("Reshape", source, self.constant(np.array([-1])))

    def output(self, name: str, source: str, kind: Any, width: int | None) -> None:
        """Declare an output of shape (rows,) or (rows, width)."""
        if width is None and kind == self.types.DOUBLE:
            source = self.flat(source)
        self.add("Identity", source, name=name)
        shape = ["rows"] if width is None else ["rows", width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def labels(self, places: str, classes: Any) -> None:
        """Declare the output `label`: the classes at these places (rows,)."""
        found = np.asarray(classes)
        if found.dtype.kind in "OU":
            stored, kind = found, self.types.STRING
        elif found.dtype.kind in "iub":
            stored, kind = found.astype(np.int64), self.types.INT64
        else:
            stored, kind = found.astype(np.float64), self.types.DOUBLE
        self.add("Gather", self.constant(stored), places, axis=0, name="label")
        self.outputs.append(self.onnx.helper.make_tensor_value_info("label", kind, ["rows"]))
