"""The search for quantiles on a table: kernels, length scales and C by the pinball loss of held-out rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.estimators.tables.candidates import Candidate, State
from mercer.estimators.tables.search import FINALISTS, Effort, Loss, Tables, Task, average
from mercer.grams.dual_function import DualFunction
from mercer.kernels.base import Kernel
from mercer.registry import find_estimator

#: Multiples of the learned length scales that are tried: the likelihood of a rough kernel explains noise by short ones, and
#: fewer rows speak of a tail than of the mean. C is in units of the target's standard deviation.
MULTIPLES, PENALTIES = (1.0, 2.0, 4.0), (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

#: Settings of a candidate that go on after the first fold, for each quantile.
STAYING = 6


@dataclass(frozen=True, order=True)
class Setting:
    """One model that is tried for a quantile: the number of its candidate, a multiple of its length scales, and C."""

    place: int
    multiple: float
    C: float

    def model(self, kernel: Kernel, tau: float, unit: float, memory: Any) -> Any:
        """Return the unfitted `KernelQuantileRegressor` with the candidate's kernel; C is in units of the target."""
        kernel = lengthened(kernel, self.multiple)
        make: Any = find_estimator("KernelQuantileRegressor")
        return make(kernel, quantile=tau, C=self.C * unit, memory=memory, verbose=False)


@dataclass
class Held:
    """What a setting predicted for the rows of the folds, NaN until known, and the seconds of its slowest fit."""

    predictions: Floats  # (m, 1)
    seconds: float = 0.0

    def known(self) -> NDArray[np.bool_]:
        """Which rows have a held-out prediction."""
        return ~np.isnan(self.predictions[:, 0])


@dataclass(frozen=True)
class Pick:
    """One model of the mean for a quantile: its candidate's state from all folds, and its weight."""

    tau: float
    setting: Setting
    weight: float
    candidate: Candidate
    state: State
    seconds: float  # of its slowest fit on the folds

    def fit(self, Z: Any, y: Floats, unit: float, memory: Any) -> DualFunction:
        """The model fitted to rows."""
        model = self.setting.model(self.state.kernel, self.tau, unit, memory).fit(Z, y)
        dual = np.zeros((len(Z), 1))
        dual[model.support_, 0] = model.dual_coef_[0]
        return DualFunction(model.kernel_, Z, dual, np.atleast_1d(np.asarray(model.intercept_)), 1.0 / (2.0 * model.C))


class QuantileSearch:
    """Candidates over the folds: every setting on the first fold, those that stay on the others."""

    def __init__(self, tables: Tables, quantiles: tuple[float, ...], effort: Effort, *, memory: Any, adapt: bool) -> None:
        self.tables, self.quantiles, self.effort, self.memory = tables, quantiles, effort, memory
        self.multiples = MULTIPLES if adapt else (1.0,)
        self.unit = float(tables.targets.std()) or 1.0
        self.tried: list[Candidate] = []
        self.states: dict[tuple[int, int], State] = {}  # by candidate and fold
        self.held: dict[float, dict[Setting, Held]] = {tau: {} for tau in quantiles}

    def run(self, tried: list[Candidate]) -> None:
        """The first fold for all settings, the other folds for the best of the best candidates."""
        self.tried = tried
        places = range(len(tried))
        grid = {Setting(i, multiple, C) for i in places for multiple in self.multiples for C in PENALTIES}
        self._folds([(i, 0) for i in places], dict.fromkeys(self.quantiles, grid), 1)
        best = sorted({i for i, _ in self.states}, key=self._rank)[:FINALISTS]
        stay = {tau: {s for i in best for s in self.ranked(tau, i)[:STAYING]} for tau in self.quantiles}
        self._folds([(i, f) for i in best for f in range(1, self.tables.n_folds)], stay, self.tables.n_folds - 1)

    def complete(self, tau: float) -> dict[Setting, Held]:
        """Settings that have seen every fold."""
        return {setting: held for setting, held in self.held[tau].items() if held.known().all()}

    def picked(self, tau: float) -> tuple[list[Pick], Floats]:
        """The models of the mean for a quantile, and what the mean predicts for held-out rows (m,)."""
        done = self.complete(tau)
        if not done:
            raise self.effort.nothing()
        weights = average([held.predictions for held in done.values()], self.tables.targets, pinball(tau))
        chosen = [(s, held, float(w)) for (s, held), w in zip(done.items(), weights, strict=True) if w > 0]
        mean = sum((w * held.predictions[:, 0] for _, held, w in chosen), np.zeros(len(self.tables.targets)))
        return [self._pick(tau, setting, held, weight) for setting, held, weight in chosen], mean

    def error(self, tau: float, setting: Setting) -> tuple[float, float]:
        """The mean pinball loss over the rows that were held out, with its standard error."""
        held = self.held[tau][setting]
        known = held.known()
        losses = pinball(tau)(held.predictions[known], self.tables.targets[known])
        return float(losses.mean()), float(losses.std() / len(losses) ** 0.5)

    def constant(self, tau: float) -> float:
        """The loss of the best constant."""
        Y = self.tables.targets
        return float(np.mean(pinball(tau)(np.full_like(Y, np.quantile(Y, tau)), Y)))

    def label(self, setting: Setting) -> str:
        """What a setting is called in a result."""
        states = [state for (place, _), state in sorted(self.states.items()) if place == setting.place]
        longer = "" if setting.multiple == 1.0 else f" x {setting.multiple:g}"
        return f"{states[0].label}{longer}, C = {setting.C:g}"

    def _pick(self, tau: float, setting: Setting, held: Held, weight: float) -> Pick:
        candidate = self.tried[setting.place]
        state = candidate.settled([self.states[key] for key in sorted(self.states) if key[0] == setting.place])
        return Pick(tau, setting, weight, candidate, state, held.seconds)

    def _folds(self, places: list[tuple[int, int]], settings: dict[float, set[Setting]], must: int) -> None:
        """Run candidates on folds; the first `must` of them whatever the time, the others until the deadline."""
        tasks: dict[Task, int] = {(self.tried[i], fold): i for i, fold in places}
        found = self.effort.run(list(tasks), lambda c, fold: self._one_fold(c, tasks[c, fold], fold, settings), must)
        for (candidate, fold), place in tasks.items():
            if (candidate, fold) in found:
                self.states[place, fold], predicted = found[candidate, fold]
                for (tau, setting), (values, seconds) in predicted.items():
                    empty = np.full((len(self.tables.targets), 1), np.nan)
                    held = self.held[tau].setdefault(setting, Held(empty))
                    held.predictions[self.tables.folds == fold, 0] = values
                    held.seconds = max(held.seconds, seconds)

    def _one_fold(
        self, candidate: Candidate, place: int, fold: int, settings: dict[float, set[Setting]]
    ) -> tuple[State, dict[tuple[float, Setting], tuple[Floats, float]]]:
        """The last state learned without the fold, and what its settings predict for the fold, with seconds."""
        Z, Y = self.tables.inputs[candidate.scaling], self.tables.targets
        train, test = self.tables.folds != fold, self.tables.folds == fold
        state = candidate.learn(Z[train], Y[train])[-1]
        found = {}
        for tau in self.quantiles:
            for setting in sorted(s for s in settings[tau] if s.place == place):
                if setting.multiple != 1.0 and lengthened(state.kernel, setting.multiple) is state.kernel:
                    continue  # no length scale to multiply
                start = time.perf_counter()
                model = setting.model(state.kernel, tau, self.unit, self.memory).fit(Z[train], Y[train, 0])
                found[tau, setting] = model.predict(Z[test]), time.perf_counter() - start
        return state, found

    def ranked(self, tau: float, place: int) -> list[Setting]:
        """The settings of a candidate, best first."""
        return sorted((s for s in self.held[tau] if s.place == place), key=lambda s: self.error(tau, s)[0])

    def _rank(self, place: int) -> float:
        """The candidate's best errors, as multiples of the best constant's, over the quantiles."""
        best = {tau: self.error(tau, self.ranked(tau, place)[0])[0] for tau in self.quantiles}
        return sum(best[tau] / (self.constant(tau) or 1.0) for tau in self.quantiles)


def lengthened(kernel: Kernel, multiple: float) -> Kernel:
    """The kernel with all its length scales times a number; a kernel without any comes back as it is."""
    scales = np.array([name.rpartition("__")[2].split("[")[0] == "length_scale" for name in kernel.theta_names], dtype=bool)
    return kernel if multiple == 1.0 or not scales.any() else kernel.with_theta(kernel.theta + np.log(multiple) * scales)


def pinball(tau: float) -> Loss:
    """The pinball loss at each row: tau r above the prediction, (tau - 1) r below, r = y - f."""
    return lambda F, Y: np.maximum(tau * (Y - F), (tau - 1.0) * (Y - F))[:, 0]
