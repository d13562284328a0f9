"""From a question to a fitted model: hold some rows out, scale the columns, choose on the surface, look at the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError, MemoryBudgetError
from mercer.workflow.columns import Question

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.plan import Plan
    from mercer.workflow.held_out import Judgment

#: From this many training rows on, the cost of a fit is said before it starts.
LONG = 1000


@dataclass(frozen=True)
class Settings:
    """What a person may say about a fit."""

    kernel: str
    alphas: tuple[float, ...] | None
    test_size: float
    seed: int
    coverage: float
    memory: str | None
    max_rows: int


@dataclass(frozen=True)
class Parts:
    """The rows to fit on and the rows held out."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    n_unused: int  # rows of the training part that are too many


@dataclass(frozen=True)
class Trained:
    """A fitted pipeline (columns scaled, then a ridge) and what it did on the rows held out."""

    pipeline: Any
    held_out: Judgment
    X_test: NDArray[np.float64]  # scaled
    y_test: NDArray[Any]
    seconds: float

    @property
    def model(self) -> Any:
        """The ridge at the end of the pipeline."""
        return self.pipeline[-1]


def split(question: Question, settings: Settings) -> Parts:
    """Hold rows out, and take as many of the others as were asked for."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(question.y))
    n_test = int(np.ceil(settings.test_size * len(rows)))
    if len(rows) - n_test < 2:
        raise InputError(f"--test-size {settings.test_size:g} leaves too few rows to learn from; hold out less.")
    labels = _strata(question, min(n_test, len(rows) - n_test))
    train, test = train_test_split(rows, test_size=n_test, random_state=settings.seed, stratify=labels)
    if question.task == "classification" and len(np.unique(question.y[train])) < 2:
        raise InputError(f"{question.target!r}: only one class is left to learn from; hold out less with --test-size.")
    return cut(Parts(np.sort(train), np.sort(test), 0), settings.max_rows, settings.seed)


def cut(parts: Parts, n: int, seed: int) -> Parts:
    """At most n rows to fit on, drawn with the seed."""
    if n >= len(parts.train):
        return parts
    chosen = np.sort(np.random.default_rng(seed).choice(parts.train, n, replace=False))
    return Parts(chosen, parts.test, parts.n_unused + len(parts.train) - n)


def _strata(question: Question, smaller: int) -> NDArray[Any] | None:
    """Labels to keep in proportion, where every class has a row for either part; `smaller` is the size of the smaller."""
    if question.task == "regression":
        return None
    counts = np.unique(question.y, return_counts=True)[1]
    return question.y if counts.min() >= 2 and smaller >= len(counts) else None


def make_model(question: Question, settings: Settings) -> Any:
    """The ridge that the question asks for, not yet fitted."""
    from mercer.estimators.ridge.kernel_ridge_classifier import KernelRidgeClassifier
    from mercer.estimators.ridge.kernel_ridge_cv import KernelRidgeCV
    from mercer.kernels.text import parse

    kernel = by_number(parse(settings.kernel), question.names)
    if question.task == "classification":
        return KernelRidgeClassifier(kernel, alpha="loo", alphas=settings.alphas, memory=settings.memory)
    return KernelRidgeCV(kernel, alphas=settings.alphas, fit_intercept=True, memory=settings.memory)


def by_number(kernel: Kernel, names: tuple[str, ...]) -> Kernel:
    """The kernel with columns called by name, .on('age'), turned into numbers: the model sees an array."""
    changes = {}
    for path, columns in kernel.get_params().items():
        if path.rpartition("__")[2] != "columns":
            continue
        unknown = [column for column in columns if isinstance(column, str) and column not in names]
        if unknown:
            raise InputError(f"--kernel speaks of the column {unknown[0]!r}, which is none of {', '.join(names)}.")
        changes[path] = tuple(names.index(column) if isinstance(column, str) else column for column in columns)
    return kernel.set_params(**changes) if changes else kernel


def affordable(model: Any, question: Question, parts: Parts, seed: int) -> tuple[Parts, Plan]:
    """The plan of the fit, on fewer rows if all of them would not fit the memory."""
    from mercer.plan import plan

    while True:
        try:
            return parts, plan(model, question.X[parts.train], question.y[parts.train])
        except MemoryBudgetError:
            if len(parts.train) <= LONG:
                raise
            parts = cut(parts, max(LONG, len(parts.train) * 9 // 10), seed)


def expected_seconds(model: Any, question: Question, parts: Parts, plan: Plan) -> float:
    """Rough seconds of the fit; a plan counts ten kernels on all rows, which a large fit takes on a sample only."""
    from mercer.plan import plan as plan_of
    from mercer.selection.surface import SAMPLE

    if len(parts.train) <= SAMPLE:
        return plan.seconds
    return plan_of(model, question.X[:SAMPLE], question.y[:SAMPLE]).seconds + 0.3 * plan.seconds


def train(model: Any, question: Question, parts: Parts, settings: Settings) -> Trained:
    """Fit on standardized columns and judge on the rows held out."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from mercer.workflow.held_out import held_out_classification, held_out_regression

    start = time.perf_counter()
    X, y = question.X[parts.train], question.y[parts.train]
    pipeline = Pipeline([("scale", StandardScaler()), ("ridge", model)])
    with progress_bar():
        pipeline.fit(X, y)
    seconds = time.perf_counter() - start
    scaler = pipeline[0]
    X_test, y_test, X_train = scaler.transform(question.X[parts.test]), question.y[parts.test], scaler.transform(X)
    if question.task == "classification":
        held_out = held_out_classification(model, X_test, y_test, X_train, y)
    else:
        held_out = held_out_regression(model, X_test, y_test, X_train, y, settings.coverage)
    scaler.feature_names_in_ = np.array(question.names, dtype=object)  # so that Python, too, knows the columns by name
    return Trained(pipeline, held_out, X_test, y_test, seconds)


@contextmanager
def progress_bar() -> Iterator[None]:
    """A bar on the terminal while a fit counts its steps; nothing where the output is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from mercer.estimators.progress import watched

    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("choosing length scale and alpha", total=None)

        def watch(label: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        with watched(watch):
            yield
