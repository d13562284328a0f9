"""A kernel on the names of tasks with a learned matrix, and kernels on pairs (row, task) for targets of several columns."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.inputs.tables import as_categories
from mercer.kernels.algebra import Product
from mercer.kernels.base import Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.fields import Rule, positive_numbers, signed_numbers, whole
from mercer.kernels.tables.cells import Categorical, Codes
from mercer.kernels.views import On
from mercer.numeric.encodings import Encoded, Encoding, Index

#: Before a fit a task shares this part of its variance with the others.
SHARED = 0.5

#: Size of the second and further loadings before a fit, relative to the first; zero would be a saddle point.
FURTHER = 0.3


def _names(value: Any) -> tuple[Hashable, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        raise ValueError
    found = tuple(item.item() if isinstance(item, np.generic) else item for item in value)
    if not found or len(set(found)) != len(found):
        raise ValueError
    return found


class TaskCodes(Encoded):
    """The number of the task of every row."""

    __slots__ = ("codes",)

    def __init__(self, codes: Ints) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Index) -> TaskCodes:
        return TaskCodes(self.codes[rows])

    def align(self, other: TaskCodes) -> tuple[TaskCodes, TaskCodes]:
        return self, other


@dataclass(frozen=True, repr=False)
class Tasks(Kernel):
    """B[task(x), task(z)] for names of tasks, with B = V V' + diag(d): `rank` loadings V per task and an own part d > 0.

    `names=None` takes the names from the data (`resolve`; estimators do it on the training rows). A Gaussian process learns
    V and d by marginal likelihood. `matrix` is B, `correlation` its correlation matrix.

    Parameters
    ----------
    rank : int, default 1
        Number of functions that all tasks share.
    names : sequence of different names, optional
    loadings : len(names) * rank numbers of either sign, task by task, optional
    own : len(names) numbers > 0, optional

    >>> k = Tasks(rank=1, names=("a", "b"), loadings=(1.0, -0.5), own=(0.5, 0.25))
    >>> k(["a", "b", "a"]).tolist()
    [[1.5, -0.5, 1.5], [-0.5, 0.5, -0.5], [1.5, -0.5, 1.5]]
    """

    rank: int = whole(1, at_least=1, keyword=False)
    names: tuple[Hashable, ...] | None = field(
        default=None, kw_only=True, metadata={"rule": Rule("a sequence of different names, or None", _names)}
    )
    loadings: tuple[float, ...] | None = signed_numbers()
    own: tuple[float, ...] | None = positive_numbers()
    domain = "categories"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names is None:
            if self.loadings is not None or self.own is not None:
                raise InputError("Tasks: loadings and own belong to names; give names=, one per task.")
            return
        t = len(self.names)
        if self.loadings is None:
            object.__setattr__(self, "loadings", _first_loadings(t, self.rank))
        if self.own is None:
            object.__setattr__(self, "own", (1.0 - SHARED,) * t)
        if len(self.loadings or ()) != t * self.rank or len(self.own or ()) != t:
            raise InputError(
                f"Tasks: {t} names with rank {self.rank} have {t * self.rank} loadings and {t} own variances; got "
                f"{len(self.loadings or ())} and {len(self.own or ())}."
            )

    @property
    def adapts(self) -> bool:
        return self.names is None

    def _resolve(self, rows: Rows) -> Kernel:
        return self if self.names is not None else Tasks(self.rank, names=_sorted(self._cells(rows)))

    @property
    def matrix(self) -> Floats:  # -> (t, t)
        """B, in the order of `names`."""
        if self.loadings is None or self.own is None:
            raise InputError("Tasks: the names are not known yet; give names=, or call resolve(rows).")
        V = np.array(self.loadings).reshape(-1, self.rank)
        return np.asarray(V @ V.T + np.diag(self.own))

    @property
    def correlation(self) -> Floats:  # -> (t, t)
        """The correlations between tasks that B states."""
        B = self.matrix
        sd = np.sqrt(B.diagonal())
        return B / np.outer(sd, sd)

    def _cells(self, rows: Rows) -> list[Hashable]:
        return as_categories(rows.items("names of tasks"), rows.name)

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("tasks", self.names), lambda: self._codes(rows))

    def _codes(self, rows: Rows) -> TaskCodes | Codes:
        cells = self._cells(rows)
        if self.names is None:
            return Codes.of(cells)
        number = {name: i for i, name in enumerate(self.names)}
        unknown = [cell for cell in cells if cell not in number]
        if unknown:
            known = ", ".join(map(repr, self.names[:8]))
            raise InputError(
                f"{rows.name} holds the task {unknown[0]!r}, which is not among the tasks of the kernel: {known}. Fit with "
                "rows of that task."
            )
        return TaskCodes(np.array([number[cell] for cell in cells], dtype=np.int64))

    def _block(self, pair: Pair) -> Array:
        left, right = pair.A.codes[pair.rows], pair.B.codes[pair.cols]
        if self.names is None:
            return SHARED + (1.0 - SHARED) * np.equal.outer(left, right)
        return self.matrix[np.ix_(left, right)]

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding)) if self.names is None else self.matrix.diagonal()[encoding.codes]

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        if self.names is None:
            return np.empty(0)
        t = len(self.names)
        left, right = (np.eye(t)[codes] for codes in (pair.A.codes[pair.rows], pair.B.codes[pair.cols]))
        return self.slopes(left.T @ W @ right)

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        if self.names is None:
            return np.empty(0)
        return self.slopes(np.diag(np.bincount(encoding.codes, weights=w, minlength=len(self.names))))

    def slopes(self, S: Floats) -> Floats:  # (t, t) -> (p,)
        """d <S, B> / d theta."""
        V = np.array(self.loadings).reshape(-1, self.rank)
        return np.concatenate([((S + S.T) @ V).ravel(), np.array(self.own) * S.diagonal()])

    def amplified(self, factor: float) -> Kernel | None:
        """The kernel `factor` times this one."""
        if self.loadings is None or self.own is None:
            return None
        loadings = tuple(math.sqrt(factor) * value for value in self.loadings)
        return Tasks(self.rank, names=self.names, loadings=loadings, own=tuple(factor * value for value in self.own))

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap | None:
        if self.names is None or self.own is None:
            return None
        R = np.hstack([np.array(self.loadings).reshape(-1, self.rank), np.diag(np.sqrt(self.own))])
        return FeatureMap(lambda encoding, combined: R[encoding.codes], lambda encoding: R.shape[1])

    def _derivation(self) -> Derivation:
        because = "B = V V' + diag(d) with d > 0: <phi(x), phi(z)> with phi(x) the row of x in [V, diag(sqrt d)]"
        return Derivation("explicit features", because)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        if self.names is None:
            return m.number(1.0 if x == z else SHARED)
        if x not in self.names or z not in self.names:
            return super()._value(x, z, m)
        return m.number(float(self.matrix[self.names.index(x), self.names.index(z)]))


def _first_loadings(t: int, rank: int) -> tuple[float, ...]:
    """Return equal first loadings; the further ones are cosines, which differ between tasks."""
    V = np.cos(np.pi * np.outer(np.arange(t) + 0.5, np.arange(rank)) / t) * math.sqrt(SHARED)
    V[:, 1:] *= FURTHER
    return tuple(V.ravel().tolist())


def _sorted(cells: list[Hashable]) -> tuple[Hashable, ...]:
    """Return the different names in an order that does not depend on that of the rows."""
    return tuple(sorted(set(cells), key=lambda name: (type(name).__name__, name)))


# -- kernels on pairs (row, task) ----------------------------------------------------------------------------------------


def has_tasks(kernel: Kernel) -> bool:
    """Whether a Tasks kernel reads whole rows: then it compares the columns of a target, not a column of X."""
    if isinstance(kernel, On):
        return False
    return isinstance(kernel, Tasks) or any(has_tasks(child) for child in kernel.children)


def on_pairs(kernel: Kernel, columns: tuple[int | str, ...], task: int | str) -> Kernel:
    """Return the kernel on a table whose column `task` names the task and whose other columns are those of X.

    A kernel without Tasks makes the tasks independent of each other.

    >>> from mercer import Gaussian
    >>> print(on_pairs(Gaussian(1.0), (0,), 1))
    Categorical(similarity=0.0).on(1) * Gaussian(length_scale=1.0).on(0)
    """
    if not has_tasks(kernel):
        return Product((On((task,), inner=Categorical()), On(columns, inner=kernel)))
    return _placed(kernel, columns, task)


def _placed(kernel: Kernel, columns: tuple[int | str, ...], task: int | str) -> Kernel:
    if isinstance(kernel, Tasks):
        return On((task,), inner=kernel)
    if not has_tasks(kernel):
        return On(columns, inner=kernel)
    return kernel.with_children(tuple(_placed(child, columns, task) for child in kernel.children))


@dataclass(frozen=True)
class TaskFactor:
    """A kernel on pairs as the product of B on tasks and a kernel on rows."""

    tasks: Tasks | None  # None: the tasks are independent, B = I
    place: int  # of the factor of the tasks among the terms of the product
    rest: tuple[Kernel, ...]  # the other terms, in order

    @property
    def rows(self) -> Kernel:
        """The kernel on rows."""
        return self.rest[0] if len(self.rest) == 1 else Product(self.rest)

    def joined(self, of_tasks: Floats, of_rows: Floats) -> Floats:  # (p,), (q,) -> (p + q,)
        """Return gradients in the order of theta of the product."""
        before = sum(len(term.theta) for term in self.rest[: self.place])
        return np.concatenate([of_rows[:before], of_tasks, of_rows[before:]])


def task_factor(kernel: Kernel, task: int | str) -> TaskFactor | None:
    """Return the factors of a kernel on pairs if it is a product with one factor of tasks, else None."""
    if not isinstance(kernel, Product):
        return None
    terms = kernel.terms
    places = [i for i, term in enumerate(terms) if isinstance(term, On) and term.columns == (task,)]
    inner = terms[places[0]].children[0] if len(places) == 1 else None
    rest = tuple(term for i, term in enumerate(terms) if i not in places)
    if not isinstance(inner, (Tasks, Categorical)) or not rest or any(not _off(term, task) for term in rest):
        return None
    if isinstance(inner, Categorical) and inner.similarity > 0:
        return None
    return TaskFactor(inner if isinstance(inner, Tasks) else None, places[0], rest)


def _off(kernel: Kernel, task: int | str) -> bool:
    """Whether the kernel reads other columns only."""
    return isinstance(kernel, On) and task not in kernel.columns
