"""Classes refitted by the logistic loss: the kernels that a search has chosen, each class against the rest.

The squared loss on class indicators chooses kernels quickly, because leave-one-out has a closed form. Probabilities near 0
and 1 are better from the logistic loss. A refit is a further candidate of the mean, judged on the same held-out rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.search import CandidateSearch, Trial, some
from mercer.estimators.tables.targets import LOGISTIC, transform_of
from mercer.grams.dual_function import DualFunction
from mercer.grams.low_rank import low_rank
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.logistic import HeldFeatures, fit_features, held_out_last

#: Values of C that are tried, divided by the mean of k(x, x).
PENALTIES = (0.25, 1.0, 4.0, 16.0, 64.0)

#: Landmarks of a refit: on rows of the search, and on all rows. Multiplications that it may cost there.
SEARCHED_LANDMARKS, LANDMARKS, SEARCH_WORK, WORK = 400, 1200, 4e10, 2e11

#: Newton's method: relative gain of the last step, and steps at most.
TOL, STEPS = 1e-6, 30

#: Candidates that are refitted, landmarks below which a refit is not tried, and rows on which k(x, x) is averaged.
REFITTED, FEWEST_LANDMARKS, UNIT_ROWS = 2, 50, 300


class LogisticFeatures:
    """Features of rows in the span of landmarks of a kernel, on which the classes are fitted one against the rest."""

    def __init__(self, kernel: Kernel, Z: Rows, count: int, seed: int) -> None:
        self.kernel = kernel
        found = low_rank(kernel, Z, min(count, len(Z)), rng=np.random.default_rng(seed))
        self.Phi, self.own = found.factor, found.features

    def fit(
        self, Y: Floats, C: float, groups: Indices, weights: Floats | None
    ) -> tuple[DualFunction, Floats]:  # (n, c), number, (m,), (n,) -> f, (m, c)
        """Return a function per class, and their values at the last m rows, each left out with the rows of its group."""
        w = np.ones(len(Y)) if weights is None else weights
        parts, constants, held_out = [], [], []
        for y in Y.T[1:] if Y.shape[1] == 2 else Y.T:
            rows = HeldFeatures(self.Phi, np.column_stack([1.0 - y, y]), w)
            fitted = fit_features(rows, rows, C, intercept=True, tol=TOL, max_iter=STEPS)
            parts.append(fitted.V[:, 0])
            constants.append(float(fitted.intercept[0]))
            held_out.append(held_out_last(rows, fitted, C, groups))
        V, b, F = np.column_stack(parts), np.array(constants), np.column_stack(held_out)
        if Y.shape[1] == 2:
            V, b, F = np.column_stack([-V, V]), np.append(-b, b), np.column_stack([-F, F])
        return DualFunction(self.kernel, self.own.landmarks, self.own.expansion(V), b, 1.0 / C, self.own.index), F


def landmarks_for(n: int, n_classes: int, most: int, work: float = WORK) -> int:
    """Return how many landmarks the work allows for n rows; each class beyond two is a fit of its own."""
    fits = 1 if n_classes == 2 else n_classes
    return int(min(most, n, (work / (20.0 * fits * n)) ** 0.5))


class LogisticRefit:
    """Refits of the kernels of some trials on the folds of their search, within its effort."""

    def __init__(self, search: CandidateSearch, trials: list[Trial], seed: int) -> None:
        self.search, self.seed = search, seed
        tables = search.tables
        self.count = landmarks_for(len(tables.targets), tables.targets.shape[1], SEARCHED_LANDMARKS, SEARCH_WORK)
        self.link = transform_of(LOGISTIC, tables.targets)
        names = [f"{trial.label}, logistic" for trial in trials]
        self.sources = {
            replace(trial.candidate, name=name, transform=LOGISTIC): trial for trial, name in zip(trials, names, strict=True)
        }
        self.penalties: dict[Candidate, float] = {}  # C, chosen on the first fold

    def run(self) -> list[Trial]:
        """Return the refitted trials that were finished on every fold."""
        if self.count < FEWEST_LANDMARKS:
            return []
        effort, tables = self.search.effort, self.search.tables
        found = effort.run([(candidate, 0) for candidate in self.sources], self.one, 0)
        own = tables.folds == 0
        for task, tried in found.items():
            means = [self.search.objective.mean(P, tables.targets[own], some(tables.weights, own)) for _, P in tried]
            found[task] = [tried[int(np.argmin(means))]]
            self.penalties[task[0]] = 1.0 / found[task][0][0].alpha
        rest = [(candidate, fold) for candidate in self.penalties for fold in range(1, tables.n_folds)]
        found.update(effort.run(rest, self.one, 0))
        made = {
            candidate: Trial(candidate, candidate.name, np.full(tables.targets.shape, np.nan))
            for candidate in self.penalties
        }
        for (candidate, fold), ((state, P),) in sorted(found.items(), key=lambda item: item[0][1]):
            made[candidate].states[fold] = state
            made[candidate].predictions[tables.folds == fold] = P
        return [trial for trial in made.values() if self.search.is_complete(trial)]

    def one(self, candidate: Candidate, fold: int) -> list[tuple[LearnedKernel, Floats]]:
        """Return kernel and penalty with the probabilities of the rows of a fold, for every C or the chosen one."""
        tables = self.search.tables
        train, test, together = tables.parts(fold)
        kernel, Z = self.sources[candidate].states[fold].kernel, tables.inputs[candidate.scaling]
        rows = np.concatenate([train, test]) if tables.places is None else train
        unit = float(np.mean(kernel.diag(Z.take(rows[:UNIT_ROWS])))) or 1.0
        known = self.penalties.get(candidate)
        features = LogisticFeatures(kernel, Z.take(rows), self.count, self.seed)
        found = []
        for C in [value / unit for value in PENALTIES] if known is None else [known]:
            groups = together if tables.places is None else together[:0]
            model, F = features.fit(tables.targets[rows], C, groups, some(tables.weights, rows))
            F = F if tables.places is None else model.predict(Z.take(test))
            found.append((LearnedKernel(candidate.name, kernel, 1.0 / C), self.link.backward(F)))
        return found
