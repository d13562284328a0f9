"""ONNX graphs of table models: one input per column, the encodings of the columns, and the mean of the members."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.estimators.base import check_is_fitted
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.classifier import TableClassifier
from mercer.estimators.tables.encoding import ColumnBlock, Encoding, Numbered, Scale, TextBlock
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.targets import NODES, SHARES, Transform
from mercer.export.column_factors import ColumnFactors
from mercer.export.formula import as_rows, with_rows
from mercer.export.nodes import Nodes
from mercer.inputs.frames import CATEGORY, NUMBER, ORDERED, Column

#: Kinds of columns that a graph can read.
READ = (NUMBER, CATEGORY, ORDERED)

#: Knots of a quantile scale in a block: a value is compared with the first knots of all blocks, then with one block.
BLOCK = 64


class TableGraph:
    """The graph of a table model, whose inputs have the names of its columns."""

    def __init__(self, model: TableEstimator, dtype: str) -> None:
        check_is_fitted(model)
        self.estimator, self.to, self.dtype = model, Nodes(), dtype
        self.name = type(model).__name__
        self.columns = {column.name: column for column in model.used_columns}
        self.encoded: dict[str, str] = {}
        self.levels: dict[str, str] = {}

    def model(self) -> Any:
        """Return the finished model."""
        for column in self.columns.values():
            self._declare(column)
        total = ""
        for member in self.estimator.members_:
            values = self.to.add("Mul", self._member(member), self.to.number(member.weight))
            total = self.to.add("Add", total, values) if total else values
        if isinstance(self.estimator, TableClassifier):
            self._classes(total, self.estimator)
        else:
            self.to.output("prediction", total, self.to.types.DOUBLE, None)
        return self.to.finished(self.name)

    def _declare(self, column: Column) -> None:
        """Declare the input of a column: numbers (NaN is missing), or the text of a level (empty is missing)."""
        if column.kind not in READ:
            raise CapabilityError(
                f"{self.name}: column {column.name!r} holds {column.kind}s; table models on numbers and categories can be "
                "exported. Fit without it."
            )
        if column.kind == NUMBER:
            self.levels[column.name] = self.to.numbers(column.name, self.dtype, 1)
        else:
            self.levels[column.name] = self.to.input(column.name, self.to.types.STRING, 1)

    def _member(self, member: Member) -> str:
        """Return the predictions of a member in the units of the targets, (rows, t)."""
        encoder, function = self.estimator.encoders[member.scaling], member.model
        if member.local is not None:
            raise CapabilityError(
                f"{self.name}: the model has local models in cells of similar rows, which cannot be exported. Fit to fewer "
                "rows, for instance 12,000."
            )
        if isinstance(encoder, Encoding):
            if member.scaling not in self.encoded:
                parts = [self._block(block) for block in encoder.blocks]
                self.encoded[member.scaling] = self.to.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
            known = as_rows(function.X, self.name)
            K = self.to.formula(self.encoded[member.scaling], with_rows(function.kernel, known), len(known))
        else:
            factors = ColumnFactors(self.to, encoder, self.columns, function)
            K = factors.values(self._numbered, self.codes)
        values = self.to.add("MatMul", K, self.to.constant(np.asarray(function.dual, dtype=np.float64)))
        values = self.to.add("Add", values, self.to.constant(np.asarray(function.intercept, dtype=np.float64)))
        return self._backward(values, member.transform)

    # -- columns -----------------------------------------------------------------------------------------------------

    def _block(self, block: ColumnBlock | TextBlock) -> str:
        """Return the matrix columns of one column."""
        if isinstance(block, TextBlock):
            raise CapabilityError(f"{self.name}: the text column {block.name!r} cannot be exported. Fit without it.")
        if block.kind == CATEGORY:
            cells = [level for level in block.levels if level is not None]
            codes = self.codes(block.name, tuple(cells), None in block.levels)
            places = [len(cells) + 1 if level is None else cells.index(level) for level in block.levels]
            # the last column is that of all other cells
            known = self.to.add("Equal", codes, self.to.constant(np.array([places], dtype=np.int64)))
            known = self.to.add("Cast", known, to=self.to.types.DOUBLE)
            other = self.to.add("Sub", self.to.number(1.0), self.to.sum(known))
            return self.to.add("Concat", known, other, axis=1)
        assert block.scale is not None
        values = self._numbers(self.columns[block.name])
        holes = self.to.add("IsNaN", values)
        fill = block.scale.center if block.fill is None else block.fill
        scaled = self.scaled(self.to.add("Where", holes, self.to.number(fill), values), block.scale)
        if not block.marked:
            return scaled
        return self.to.add("Concat", scaled, self.to.add("Cast", holes, to=self.to.types.DOUBLE), axis=1)

    def _numbers(self, column: Column) -> str:
        """Return numbers, or ranks of ordered levels; NaN for missing cells and levels that are not in the order."""
        source = self.levels[column.name]
        if column.kind == NUMBER:
            return source
        codes = self.codes(column.name, tuple(column.levels), False)
        known = self.to.add("Less", codes, self.to.constant(np.int64(len(column.levels))))
        ranks = self.to.add("Cast", codes, to=self.to.types.DOUBLE)
        return self.to.add("Where", known, ranks, self.to.number(np.nan))

    def _numbered(self, column: Column, encoder: Numbered) -> str:
        """Return the scaled numbers of a column; cells that the kernel has no rule for are filled."""
        values = self._numbers(column)
        if column.name in encoder.fills:
            fill = self.to.number(encoder.fills[column.name])
            values = self.to.add("Where", self.to.add("IsNaN", values), fill, values)
        return self.scaled(values, encoder.scales[column.name])

    def codes(self, name: str, cells: tuple[Any, ...], missing: bool) -> str:
        """Return the places of cells in a list, (rows, 1): its length for others, one more for missing cells if asked."""
        texts = [str(cell) for cell in cells]
        if len(set(texts)) < len(texts):
            double = next(text for text in texts if texts.count(text) > 1)
            raise CapabilityError(f"{self.name}: column {name!r} has two levels with the text {double!r}; rename one.")
        places = list(range(len(texts)))
        if missing and "" not in texts:
            texts, places = [*texts, ""], [*places, len(cells) + 1]
        return self.to.add(
            "LabelEncoder", self.levels[name], domain="ai.onnx.ml", keys_strings=texts or ["\0"],
            values_int64s=places or [0], default_int64=len(cells),
        )  # fmt: skip

    def scaled(self, values: str, scale: Scale) -> str:
        """Return scaled values, (rows, 1)."""
        if scale.rule == "standard":
            return self.to.add("Div", self.to.add("Sub", values, self.to.number(scale.center)), self.to.number(scale.spread))
        if len(scale.knots) == 1:
            return self.to.add("Add", self.to.add("Mul", values, self.to.number(0.0)), self.to.number(scale.ranks[0]))
        return self._interpolated(values, scale.knots, scale.ranks)

    def _interpolated(self, values: str, knots: Floats, ranks: Floats) -> str:
        """Return linear interpolation, constant outside: the interval is found by two comparisons with blocks of knots."""
        k = len(knots)
        low, high = self.to.number(knots[0]), self.to.number(knots[-1])
        inside = self.to.add("Min", self.to.add("Max", values, low), high)
        blocks = np.full((-(-k // BLOCK), BLOCK), np.inf)
        blocks.ravel()[:k] = knots
        minus = self.to.constant(np.int64(-1))
        block = self.to.add("Add", self._count(inside, self.to.constant(blocks[:, 0][None, :])), minus)  # (rows, 1)
        chosen = self.to.add("Gather", self.to.constant(blocks), self.to.flat(block), axis=0)  # (rows, BLOCK)
        place = self.to.add("Add", self.to.add("Mul", block, self.to.constant(np.int64(BLOCK))), self._count(inside, chosen))
        place = self.to.add("Min", self.to.add("Add", place, minus), self.to.constant(np.int64(k - 2)))
        start, height, slope = (
            self.to.add("Gather", self.to.constant(array), place, axis=0)
            for array in (knots[:-1], ranks[:-1], np.diff(ranks) / np.diff(knots))
        )
        return self.to.add("Add", self.to.add("Mul", slope, self.to.add("Sub", inside, start)), height)

    def _count(self, values: str, knots: str) -> str:
        """Return how many knots of each row are at most the value, (rows, 1)."""
        reached = self.to.add("GreaterOrEqual", values, knots)
        return self.to.sum(self.to.add("Cast", reached, to=self.to.types.INT64))

    # -- targets -----------------------------------------------------------------------------------------------------

    def _backward(self, values: str, transform: Transform) -> str:
        if transform.link:  # log-odds of each class against the rest
            P = self.to.add("Sigmoid", values)
            return self.to.add("Div", P, self.to.add("Max", self.to.sum(P), self.to.number(1e-300)))
        if len(transform.noise) and len(transform.power):  # the mean over normal residuals
            parts = []
            for node, share in zip(NODES, SHARES, strict=True):
                moved = self.to.add("Add", values, self.to.constant(node * transform.noise))
                inverse = self._backward(moved, transform.within())
                parts.append(self.to.add("Mul", inverse, self.to.number(float(share))))
            return reduce(lambda a, b: self.to.add("Add", a, b), parts)
        scaled = self.to.add("Mul", values, self.to.constant(transform.spread))
        values = self.to.add("Add", scaled, self.to.constant(transform.center))
        if not len(transform.power):
            return values
        low, high = self.to.constant(transform.low), self.to.constant(transform.high)
        values = self.to.add("Min", self.to.add("Max", values, low), high)
        [power] = transform.power  # of one target
        up = self.to.add("GreaterOrEqual", values, self.to.number(0.0))
        negative = self.to.add("Neg", self._grown(self.to.add("Neg", values), 2.0 - float(power)))
        return self.to.add("Where", up, self._grown(values, float(power)), negative)

    def _grown(self, values: str, power: float) -> str:
        """Return (power v + 1)^(1 / power) - 1, or exp(v) - 1 for the power 0: the inverse of Yeo-Johnson for v >= 0."""
        if abs(power) < 1e-8:
            return self.to.add("Sub", self.to.add("Exp", values), self.to.number(1.0))
        line = self.to.add("Add", self.to.add("Mul", values, self.to.number(power)), self.to.number(1.0))
        base = self.to.add("Max", line, self.to.number(1e-12))
        return self.to.add("Sub", self.to.add("Pow", base, self.to.number(1.0 / power)), self.to.number(1.0))

    def _classes(self, scores: str, model: TableClassifier) -> None:
        raised = self.to.add("Max", scores, self.to.number(model.floor_))
        raised = self.to.add("Pow", raised, self.to.number(model.power_))
        P = self.to.add("Div", raised, self.to.sum(raised))
        values = P if model.costs_ is None else self.to.add("Neg", self.to.add("MatMul", P, self.to.constant(model.costs_)))
        self.to.labels(self.to.add("ArgMax", values, axis=1, keepdims=0), model.classes_)
        self.to.output("probabilities", P, self.to.types.DOUBLE, len(model.classes_))
