"""Table models with a single column of text, graphs or molecules: predictions by letters, nodes or atoms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.errors import CapabilityError, InputError
from mercer.estimators.tables.fitting import Member
from mercer.explanations.graphs import Places
from mercer.explanations.model import KnownFeatures, ModelExplanation, sampled, summary
from mercer.explanations.objects import ObjectExplanation, ObjectParts, counts_features, object_parts
from mercer.explanations.strings import Weigh
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, take
from mercer.inputs.tables import missing_cells
from mercer.kernels.tables.cells import INDICATOR, Missing

if TYPE_CHECKING:
    from mercer.estimators.tables.base import TableEstimator


def by_objects(model: TableEstimator, inputs: dict[str, Rows], target: Any) -> list[ObjectExplanation] | None:
    """Return the explanation of every encoded row by the parts of its object; None if a member has no such parts."""
    if not _about_objects(model) or any(_empty(inputs[member.scaling].data).any() for member in model.members_):
        return None
    scores = model.scores(inputs)  # (n, t)
    found = []
    for i, row in enumerate(scores):
        output, label = model.output(row, target)
        one = {rule: table.take(slice(i, i + 1)) for rule, table in inputs.items()}
        try:
            parts, intercept = _mean(model, [_Part(member, output) for member in model.members_], one, None)
        except CapabilityError:
            return None
        total, size = parts.letters.total + intercept, parts.letters.size + abs(intercept)
        if not abs(total - row[output]) <= 1e-6 * max(size, abs(row[output])):
            return None
        found.append(parts.explanation(intercept, label))
    return found


def of_model(model: TableEstimator, target: Any) -> ModelExplanation:
    """Return the features that all members use together, over training rows."""
    if not _about_objects(model):
        raise CapabilityError(
            f"explain: the features of a {type(model).__name__} are listed if its table has a single column of text, graphs "
            "or molecules; give a row: explain(model, row)."
        )
    outputs = len(model.members_[0].transform.center)
    if outputs > 2 and target is None:
        raise InputError("explain: the model has several classes; choose one: target=….")
    output, label = model.output(np.eye(outputs)[-1], target)
    members = [_Part(member, output) for member in model.members_]
    rows = max(members, key=lambda one: one.member.weight).known
    weigh = KnownFeatures()

    def parts(row: int) -> tuple[ObjectParts, float]:
        here = rows.take(slice(row, row + 1))
        return _mean(model, members, {member.scaling: here for member in model.members_}, weigh)

    return summary(parts, sampled(len(rows)).tolist(), label)


def _about_objects(model: TableEstimator) -> bool:
    kernels = [member.model.kernel for member in model.members_]
    rules = {node.rule for kernel in kernels for node in kernel.walk() if isinstance(node, Missing)}
    known = rules <= {INDICATOR} and all(counts_features(kernel.without_holes()) for kernel in kernels)
    return known and len(model.used_columns) == 1


def _empty(X: Any) -> NDArray[np.bool_]:  # n rows -> (n,)
    """Return which rows of a table with one column of objects have a missing cell."""
    return missing_cells(Rows(X).items("cells"))


class _Part:
    """One output of a member, and its training rows with their encodings.

    Training rows with a missing cell are similar to missing cells only, and are left out.
    """

    def __init__(self, member: Member, output: int) -> None:
        dual, intercept = member.model.columns()
        self.member, self.output = member, output
        kernel, X = member.model.kernel.without_holes(), member.model.X
        if kernel != member.model.kernel:
            here = ~_empty(X)
            X, dual = take(X, np.flatnonzero(here)), dual[here]
        self.function = DualFunction(kernel, X, dual[:, output], float(intercept[output]))
        self.every = DualFunction(kernel, X, dual, np.asarray(intercept))
        self.known = Rows(X, "X_fit_")

    def parts(self, here: Rows, weigh: Weigh | None) -> tuple[ObjectParts, float]:
        """Return the parts and the intercept in units of the target.

        A transform of the target is not linear. Parts are then multiplied by (v - v0) / (f - f0), where f0 is the value
        without the object, and v and v0 are f and f0 in units of the target.
        """
        found, transform = object_parts(self.function, self.known, here, weigh), self.member.transform
        none = self.function.intercept + found.letters.base
        others = self.every.predict(here) if transform.link else np.zeros((1, len(transform.center)))
        start, end = (self._target(v, others) for v in (none, self.function.intercept + found.letters.total))
        if transform.is_linear:
            letters = replace(found.letters, base=0.0).times(float(transform.spread[self.output]))
            return ObjectParts(letters, found.places), start
        moved = found.letters.total - found.letters.base
        letters = replace(found.letters, base=0.0).times((end - start) / moved if moved else 0.0)
        return ObjectParts(letters, found.places), start

    def _target(self, value: float, others: Floats) -> float:  # number, (1, t)
        """Return one output in units of the target, given the other outputs; log-odds of two classes are opposite."""
        outputs = others.copy()
        outputs[0, self.output] = value
        if self.member.transform.link and outputs.shape[1] == 2:
            outputs[0, 1 - self.output] = -value
        return float(self.member.transform.backward(outputs)[0, self.output])


def _mean(
    model: TableEstimator, members: list[_Part], row: dict[str, Rows], weigh: Weigh | None
) -> tuple[ObjectParts, float]:
    """Return the weighted mean of the parts of all members, and of their intercepts."""
    letters, places, intercept = None, Places(), 0.0
    for part in members:
        found, start = part.parts(row[part.member.scaling], weigh)
        own = found.letters.times(part.member.weight)
        letters = own if letters is None else letters.plus(own, part.function.kernel)
        places.join(found.places)
        intercept += part.member.weight * start
    assert letters is not None  # a model has at least one member
    return ObjectParts(letters, places), intercept
