"""Quantiles on a table: the mean of a few `KernelQuantileRegressor`s, chosen by the pinball loss of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError, check_number
from mercer.estimators.metric.folds import assign, row_groups
from mercer.estimators.svm.quantile import KernelQuantileRegressor
from mercer.inputs.frames import Column, like, noted, read_columns
from mercer.inputs.targets import read_targets
from mercer.kernels.base import Kernel
from mercer.numeric.threads import cpu_count, one_thread, run
from mercer.workflow.table_candidates import Candidate, State, candidates
from mercer.workflow.table_estimator import FEWEST
from mercer.workflow.table_kernels import product_kernel
from mercer.workflow.table_model import MARGIN, SEARCHED, encoders
from mercer.workflow.table_search import FINALISTS, Loss, average

Array = NDArray[np.float64]

#: Multiples of the learned length scales that are tried: the likelihood of a rough kernel explains noise by short ones, and
#: fewer rows speak of a tail than of the mean. C is in units of the target's standard deviation.
MULTIPLES, PENALTIES = (1.0, 2.0, 4.0), (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

#: Settings of a candidate that go on after the first fold, for each quantile.
STAYING = 6

Setting = tuple[int, float, float]  # number of the candidate, multiple of its length scales, C


@dataclass(frozen=True)
class QuantileMember:
    """One model of the mean for one quantile."""

    label: str
    scaling: str
    multiple: float
    weight: float
    model: KernelQuantileRegressor


@dataclass(frozen=True)
class TableQuantiles:
    """What `fit_quantiles` found: for each quantile some models with weights, and their pinball loss on held-out rows."""

    quantiles: tuple[float, ...]
    members: tuple[tuple[QuantileMember, ...], ...]
    losses: tuple[float, ...]
    columns: tuple[Column, ...]  # used ones of the training table
    encoders: dict[str, Any]  # scaling -> Encoding or Numbered

    def predict(self, X: Any) -> Array:  # -> (n, q)
        """A column per quantile, sorted at every row so that they do not cross."""
        table = {column.name: column for column in like(read_columns(X), list(self.columns))}
        needed = {member.scaling for members in self.members for member in members}
        inputs = {rule: encoder(table) for rule, encoder in self.encoders.items() if rule in needed}
        means = [sum(m.weight * m.model.predict(inputs[m.scaling]) for m in members) for members in self.members]
        return np.sort(np.column_stack(means), axis=1)


def fit_quantiles(X: Any, y: Any, quantiles: Sequence[float] = (0.1, 0.5, 0.9), *, random_state: int = 0) -> TableQuantiles:
    """Quantiles of y given the row of a table X (data frame or (n, d) array), in rising order.

    The candidates of `TableRegressor` learn their metric inside each fold; each is tried with longer length scales and
    several C. Those of the smallest pinball loss on the held-out rows are averaged with weights and fitted to all rows.
    Kernels are compared on at most 2,500 rows.

    >>> import numpy as np
    >>> from mercer.workflow.table_quantiles import fit_quantiles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, (80, 1))
    >>> model = fit_quantiles(X, np.sin(X[:, 0]) + rng.standard_normal(80), (0.1, 0.9))
    >>> low, high = model.predict(X).T
    >>> bool((low <= high).all())
    True
    """
    levels = _levels(quantiles)
    columns = noted(read_columns(X))
    n = len(columns[0].holes)
    used = [column for column in columns if not column.note]
    if n < FEWEST or not used:
        raise InputError(
            f"fit_quantiles needs at least {FEWEST} rows and a column that says something; X has {n} rows, and "
            + ("; ".join(f"{column.name!r} is {column.note}" for column in columns[:6] if column.note) or "enough columns")
            + "."
        )
    targets = read_targets("fit_quantiles", y, n).reshape(n, -1)
    if targets.shape[1] != 1:
        raise InputError(f"fit_quantiles takes one target per row; y has {targets.shape[1]} columns. Fit each by itself.")
    found, mixed = encoders(used)
    table = {column.name: column for column in used}
    inputs = {rule: encoder(table) for rule, encoder in found.items()}
    width = next(iter(inputs.values())).shape[1]
    tried = candidates(width, product_kernel(used, inputs["columns"]) if mixed else None)
    search = _Search(tried, inputs, targets, levels, np.random.default_rng(random_state))
    search.run()
    chosen = [search.chosen(tau) for tau in levels]
    bare = tuple(Column(c.name, c.kind, [], c.holes[:0], c.levels, c.note) for c in used)
    return TableQuantiles(levels, tuple(c[0] for c in chosen), tuple(c[1] for c in chosen), bare, found)


def lengthened(kernel: Kernel, multiple: float) -> Kernel:
    """The kernel with all its length scales times a number; a kernel without any comes back as it is."""
    scales = np.array([name.rpartition("__")[2].split("[")[0] == "length_scale" for name in kernel.theta_names], dtype=bool)
    return kernel if multiple == 1.0 or not scales.any() else kernel.with_theta(kernel.theta + np.log(multiple) * scales)


def pinball(tau: float) -> Loss:
    """The pinball loss at each row: tau r above the prediction, (tau - 1) r below, r = y - f."""
    return lambda F, Y: np.maximum(tau * (Y - F), (tau - 1.0) * (Y - F))[:, 0]


def _levels(quantiles: Sequence[float]) -> tuple[float, ...]:
    for tau in quantiles:
        check_number("fit_quantiles", "a quantile", tau, "a number between 0 and 1", lambda v: 0 < v < 1)
    levels = tuple(float(tau) for tau in quantiles)
    if not levels or list(levels) != sorted(set(levels)):
        raise InputError(f"fit_quantiles: quantiles must be different numbers in rising order; got {levels}.")
    return levels


@dataclass
class _Search:
    """Candidates over the folds: every setting on the first fold, those that stay on the others."""

    tried: list[Candidate]
    inputs: dict[str, Any]  # scaling -> (n, width)
    targets: Array  # (n, 1)
    quantiles: tuple[float, ...]
    rng: np.random.Generator
    states: dict[tuple[int, int], State] = field(default_factory=dict)  # by candidate and fold
    held_out: dict[float, dict[Setting, Array]] = field(default_factory=dict)  # (m, 1), NaN until known

    def __post_init__(self) -> None:
        n = len(self.targets)
        self.rows = self.rng.permutation(n)[: n if n <= MARGIN * SEARCHED else SEARCHED]
        m = len(self.rows)
        first = next(iter(self.inputs.values()))[self.rows]
        folds = assign(row_groups(first), min(5 if m < 700 else 3, m), self.rng)
        self.folds = np.unique(folds, return_inverse=True)[1].reshape(-1)  # one may have got nothing
        self.unit = float(self.targets.std()) or 1.0
        self.held_out = {tau: {} for tau in self.quantiles}

    def run(self) -> None:
        """The first fold for all settings, the other folds for the best of the best candidates."""
        grid = [(multiple, C) for multiple in MULTIPLES for C in PENALTIES]
        every = {tau: {(i, *pair) for i in range(len(self.tried)) for pair in grid} for tau in self.quantiles}
        self._folds([(i, 0) for i in range(len(self.tried))], every)
        if not self.states:
            raise InputError("fit_quantiles: no candidate could be fitted to these rows.")
        best = sorted({i for i, _ in self.states}, key=self._rank)[:FINALISTS]
        stay = {tau: {s for i in best for s in self._ranked(tau, i)[:STAYING]} for tau in self.quantiles}
        self._folds([(i, fold) for i in best for fold in range(1, int(self.folds.max()) + 1)], stay)

    def chosen(self, tau: float) -> tuple[tuple[QuantileMember, ...], float]:
        """The members of the mean, fitted to all rows, and the loss of the mean on held-out rows."""
        done = {s: p for s, p in self.held_out[tau].items() if not np.isnan(p).any()}
        Y = self.targets[self.rows]
        weights = average(list(done.values()), Y, pinball(tau))
        mean = sum((w * p for w, p in zip(weights, done.values(), strict=True)), np.zeros_like(Y))
        picked = [(s, float(w)) for s, w in zip(done, weights, strict=True) if w > 0]
        members = tuple(self._member(setting, weight, tau) for setting, weight in picked)
        return members, float(np.mean(pinball(tau)(mean, Y)))

    def _member(self, setting: Setting, weight: float, tau: float) -> QuantileMember:
        i, multiple, C = setting
        candidate = self.tried[i]
        state = candidate.settled([self.states[key] for key in sorted(self.states) if key[0] == i])
        model = self._model(state.kernel, setting, tau).fit(self.inputs[candidate.scaling], self.targets[:, 0])
        return QuantileMember(f"{state.label}, C = {C:g}", candidate.scaling, multiple, weight, model)

    def _model(self, kernel: Kernel, setting: Setting, tau: float) -> KernelQuantileRegressor:
        _, multiple, C = setting
        return KernelQuantileRegressor(lengthened(kernel, multiple), quantile=tau, C=C * self.unit, verbose=False)

    def _folds(self, tasks: list[tuple[int, int]], settings: dict[float, set[Setting]]) -> None:
        def work(place: int, _worker: int) -> None:
            try:
                with one_thread():  # so that the result does not depend on how many run side by side
                    results[place] = self._one_fold(*tasks[place], settings)
            except ArithmeticError:  # a matrix that is not positive definite: the others go on
                return

        results: dict[int, tuple[State, dict[tuple[float, Setting], Array]]] = {}
        run(range(len(tasks)), work, min(cpu_count(), max(1, len(tasks))))
        for place in sorted(results):
            i, fold = tasks[place]
            self.states[i, fold], found = results[place]
            for (tau, setting), values in found.items():
                empty = np.full((len(self.rows), 1), np.nan)
                self.held_out[tau].setdefault(setting, empty)[self.folds == fold, 0] = values

    def _one_fold(
        self, i: int, fold: int, settings: dict[float, set[Setting]]
    ) -> tuple[State, dict[tuple[float, Setting], Array]]:
        """The last state learned without the fold, and what its settings predict for the fold."""
        Z = self.inputs[self.tried[i].scaling][self.rows]
        Y = self.targets[self.rows]
        train, test = self.folds != fold, self.folds == fold
        state = self.tried[i].learn(Z[train], Y[train])[-1]
        found = {}
        for tau in self.quantiles:
            for setting in sorted(s for s in settings[tau] if s[0] == i):
                if setting[1] != 1.0 and lengthened(state.kernel, setting[1]) is state.kernel:
                    continue  # no length scale to multiply
                model = self._model(state.kernel, setting, tau).fit(Z[train], Y[train, 0])
                found[tau, setting] = model.predict(Z[test])
        return state, found

    def _error(self, tau: float, setting: Setting) -> float:
        P = self.held_out[tau][setting]
        known = ~np.isnan(P[:, 0])
        return float(np.mean(pinball(tau)(P[known], self.targets[self.rows][known])))

    def _ranked(self, tau: float, i: int) -> list[Setting]:
        """The settings of a candidate, best first."""
        return sorted((s for s in self.held_out[tau] if s[0] == i), key=lambda s: self._error(tau, s))

    def _rank(self, i: int) -> float:
        """The candidate's best errors, as multiples of the best constant's, over the quantiles."""
        Y = self.targets[self.rows]
        constant = {tau: float(np.mean(pinball(tau)(np.full_like(Y, np.quantile(Y, tau)), Y))) for tau in self.quantiles}
        return sum(self._error(tau, self._ranked(tau, i)[0]) / (constant[tau] or 1.0) for tau in self.quantiles)
