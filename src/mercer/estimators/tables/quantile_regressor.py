"""`TableQuantileRegressor`: quantiles of a target on a data frame, chosen by the pinball loss of held-out rows."""

from __future__ import annotations

import time as clock
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, check_number, describe
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.fitting import EXACT, FINAL, JUDGES, Fitting, Member
from mercer.estimators.tables.regressor import read_target
from mercer.estimators.tables.row_weights import read_weights
from mercer.estimators.tables.search import (
    FINALISTS,
    Attempt,
    CandidateSearch,
    Effort,
    FoldResult,
    Loss,
    Objective,
    Tables,
    Trial,
    greedy,
    mean_loss,
    some,
)
from mercer.estimators.tables.targets import CODES, transform_of
from mercer.grams.dual_function import DualFunction
from mercer.grams.row_cache import KernelRows, value_tolerance
from mercer.inputs import Rows, take
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.solver import solve_quantile
from mercer.registry import estimator

#: Multiples of the learned length scales that are tried: the likelihood of a rough kernel explains noise by short ones, and
#: fewer rows determine a tail than the mean. C is in units of the standard deviation of the target.
MULTIPLES, PENALTIES = (1.0, 2.0, 4.0), (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

#: Settings of a candidate that continue after the first fold, for each quantile.
STAYING = 6

#: Tolerance of the solver.
TOL = 1e-3


def pinball(tau: float) -> Loss:
    """Return the pinball loss: tau r above the prediction, (tau - 1) r below, r = y - f."""

    def loss(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:
        return np.asarray(np.maximum(tau * (Y - F), (tau - 1.0) * (Y - F))[:, 0])

    return loss


QUANTILES = Objective("quantile regression", "pinball loss", pinball(0.5))  # each quantile has its own loss


def quantile_function(
    kernel: Kernel, Z: Rows, y: Floats, tau: float, C: float, memory: Any, weights: Floats | None = None
) -> DualFunction:  # (n,), ..., (n,)
    """Return the kernel quantile regression at tau with penalty C, as an expansion on all rows."""
    kernel = kernel.resolve(Z) if kernel.unresolved else kernel
    values = KernelRows.choose(kernel, Z, tol=value_tolerance(len(y), TOL), memory=memory, most=True)
    found = solve_quantile(values, y, np.full(len(y), C) if weights is None else C * weights, tau, tol=TOL)
    return DualFunction(kernel, Z.data, found.coef[:, None], np.atleast_1d(found.intercept), 1.0 / (2.0 * C))


def lengthened(kernel: Kernel, multiple: float) -> Kernel:
    """Return the kernel with its length scales multiplied; the same object if it has none."""
    scales = np.array([name.rpartition("__")[2].split("[")[0] == "length_scale" for name in kernel.theta_names], dtype=bool)
    return kernel if multiple == 1.0 or not scales.any() else kernel.with_theta(kernel.theta + np.log(multiple) * scales)


@dataclass(frozen=True, order=True)
class QuantileSetting:
    """One model of a candidate that is tried for a quantile: a multiple of its length scales, and C."""

    multiple: float
    C: float

    def fit(
        self, kernel: Kernel, Z: Rows, y: Floats, tau: float, unit: float, memory: Any, weights: Floats | None = None
    ) -> DualFunction:  # (n,), ..., (n,)
        """Return the fitted model; `unit` is the standard deviation of the target."""
        return quantile_function(lengthened(kernel, self.multiple), Z, y, tau, self.C * unit, memory, weights)


@dataclass
class QuantileTrial(Trial):
    """A setting of a candidate for a quantile."""

    tau: float = 0.5
    setting: QuantileSetting = QuantileSetting(1.0, 1.0)


@dataclass(frozen=True)
class Pick:
    """One model of the mean for a quantile: its trial, the kernel from all folds, and its weight."""

    trial: QuantileTrial
    state: LearnedKernel
    weight: float


class QuantileSearch(CandidateSearch):
    """Candidates over the folds for several quantiles: every setting on the first fold, the best ones on the others."""

    trials: dict[Hashable, QuantileTrial]  # type: ignore[assignment]  # by candidate, quantile and setting

    def __init__(self, tables: Tables, quantiles: tuple[float, ...], effort: Effort, memory: Any, adapt: bool) -> None:
        super().__init__(tables, QUANTILES, effort)
        self.quantiles, self.memory = quantiles, memory
        self.unit = float(tables.targets.std()) or 1.0
        grid = [QuantileSetting(multiple, C) for multiple in (MULTIPLES if adapt else (1.0,)) for C in PENALTIES]
        self._settings: dict[tuple[Candidate, float], list[QuantileSetting]] = {}  # those that stay after the first fold
        self._grid = sorted(grid)

    def one_fold(self, candidate: Candidate, fold: int) -> list[FoldResult]:
        """Return predictions for a fold by every setting, with the last kernel learned without the fold, and seconds."""
        Z, Y = self.tables.inputs[candidate.scaling], self.tables.targets
        train, test, _ = self.tables.parts(fold)
        known, new = Z.take(train), Z.take(test)
        w = some(self.tables.weights, train)
        state = candidate.learn(known, Y[train], w)[-1]
        found: list[FoldResult] = []
        for tau in self.quantiles:
            for setting in self._grid if fold == 0 else self._settings[candidate, tau]:
                if setting.multiple != 1.0 and lengthened(state.kernel, setting.multiple) is state.kernel:
                    continue  # there is no length scale to multiply
                start = clock.perf_counter()
                model = setting.fit(state.kernel, known, Y[train, 0], tau, self.unit, self.memory, w)
                predictions = _on_support(model).predict(new)
                found.append(((candidate, tau, setting), state, predictions, clock.perf_counter() - start))
        return found

    def new_trial(self, key: Any, state: LearnedKernel) -> QuantileTrial:
        """Return an empty trial of a key."""
        candidate, tau, setting = key
        longer = "" if setting.multiple == 1.0 else f" x {setting.multiple:g}"
        label = f"{tau:g}: {state.label}{longer}, C = {setting.C:g}"
        return QuantileTrial(candidate, label, np.full((len(self.tables.targets), 1), np.nan), tau=tau, setting=setting)

    def loss_of(self, trial: Trial) -> Loss:
        """Return the pinball loss of the quantile of a trial."""
        assert isinstance(trial, QuantileTrial)
        return pinball(trial.tau)

    def finalists(self) -> list[Candidate]:
        """Return the candidates of the smallest errors relative to the best constants, and keep their best settings."""
        tried = list(dict.fromkeys(trial.candidate for trial in self.trials.values()))
        best = sorted(tried, key=self._relative_error)[:FINALISTS]
        self._settings = {
            (candidate, tau): sorted(trial.setting for trial in self.of(tau, candidate)[:STAYING])
            for candidate in best
            for tau in self.quantiles
        }
        return best

    def of(self, tau: float, candidate: Candidate) -> list[QuantileTrial]:
        """Return the trials of a candidate for a quantile, best first."""
        own = [trial for trial in self.trials.values() if trial.tau == tau and trial.candidate == candidate]
        return sorted(own, key=lambda trial: self.error(trial)[0])

    def _relative_error(self, candidate: Candidate) -> float:
        best = {tau: self.error(self.of(tau, candidate)[0])[0] for tau in self.quantiles}
        return sum(best[tau] / (self.constant(tau) or 1.0) for tau in self.quantiles)

    def constant(self, tau: float) -> float:
        """Return the loss of the best constant."""
        Y, w = self.tables.targets, self.tables.weights
        return mean_loss(pinball(tau), np.full_like(Y, weighted_quantile(Y[:, 0], tau, w)), Y, w)

    def picked(self, tau: float) -> tuple[list[Pick], Floats]:
        """Return the models of the mean for a quantile, and its predictions (m,) for the rows of the folds."""
        done = [trial for trial in self.trials.values() if trial.tau == tau and self.is_complete(trial)]
        if not done:
            raise self.effort.nothing()
        tested = self.tables.tested
        counted = some(self.tables.weights, tested)
        predictions = [trial.predictions[tested] for trial in done]
        weights = greedy(predictions, self.tables.targets[tested], pinball(tau), counted)
        chosen = [Pick(t, t.settled(), float(w)) for t, w in zip(done, weights, strict=True) if w > 0]
        zero = np.zeros(int(tested.sum()))
        return chosen, sum((pick.weight * pick.trial.predictions[tested, 0] for pick in chosen), zero)


def weighted_quantile(values: Floats, tau: float, weights: Floats | None) -> float:  # (n,), number, (n,)
    """Return a quantile of values by their weights; with equal weights as numpy's.

    >>> weighted_quantile(np.array([1.0, 2.0, 3.0]), 0.5, np.array([1.0, 1.0, 8.0]))
    3.0
    """
    if weights is None:
        return float(np.quantile(values, tau))
    return float(np.quantile(values, tau, weights=weights, method="inverted_cdf"))


def _on_support(model: DualFunction) -> DualFunction:
    """Return the same function without rows of coefficient 0."""
    support = np.flatnonzero(model.dual[:, 0])
    return replace(model, X=take(model.X, support), dual=model.dual[support])


@estimator
class TableQuantileRegressor(RegressorMixin, TableEstimator):
    """Quantiles of a number given the row of a data frame: means of kernel quantile regressions, chosen by held-out rows.

    The candidates of `TableRegressor` learn their metric inside each fold; each is tried with longer length scales and
    several C of `KernelQuantileRegressor`. For every quantile, those of the smallest pinball loss on held-out rows are
    averaged with weights and fitted to all rows; beyond 12,000 rows, each to 12,000 rows of its own. A constant is added
    that makes the share of held-out targets below the quantile right. Quantiles do not cross: they are sorted at every row.

    Parameters
    ----------
    quantile : float in (0, 1), or several in rising order, default 0.5
    order : as for TableRegressor
    kernel : kernel or its text, optional
        This kernel alone, as for TableRegressor; its parameters stay, and C is chosen.
    time, memory, random_state, verbose : as for TableRegressor

    Attributes
    ----------
    members_ (the models of the means; each belongs to one quantile), result_ (candidates with pinball losses),
    feature_importances_, n_features_in_, feature_names_in_.

    >>> import numpy as np
    >>> from mercer import TableQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, (80, 1))
    >>> y = np.sin(X[:, 0]) + (0.1 + 0.2 * X[:, 0]) * rng.standard_normal(80)
    >>> model = TableQuantileRegressor((0.1, 0.9), time=0.1).fit(X, y)
    >>> low, high = model.predict([[0.5], [5.5]]).T
    >>> bool(high[1] - low[1] > high[0] - low[0])  # the spread grows
    True
    """

    def __init__(
        self,
        quantile: float | Sequence[float] = 0.5,
        *,
        kernel: Kernel | str | None = None,
        order: str | Sequence[str] | bool | None = None,
        time: float | None = None,
        memory: int | float | str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.quantile = quantile
        self.kernel = kernel
        self.order = order
        self.time = time
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scikit-learn's checks require an R^2 that scores of quantiles do not reach
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._levels()

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self._levels()) != len(self.members_[0].transform.center):
            raise InputError("quantile does not fit the members of the means; the file is damaged or was changed.")

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TableQuantileRegressor:
        """Learn from a table X (data frame or (n, d) array) and one number per row; weights and groups as TableRegressor."""
        started = clock.perf_counter()
        levels = self._levels()
        columns = self._training_columns(X)
        name, n = type(self).__name__, len(columns[0].holes)
        target = read_target(name, y, n)
        whole, columns, layout = self._weighted(columns, target, read_weights(name, sample_weight, n), groups)
        target = target[whole.kept]
        fitting = self._fitting(columns, target[:, None], QUANTILES, layout=layout, weights=whole.weights)
        rows = fitting.searched(len(target), fitting.judges)
        search = QuantileSearch(fitting.tables(rows), levels, fitting.effort(), self.memory, adapt=fitting.given is None)
        tried = fitting.listed()
        fitting.expect(len(tried), search.tables.n_folds)
        search.run(tried)
        picks, means = zip(*[search.picked(tau) for tau in levels], strict=True)
        members, held_out, judged = _final(fitting, search, picks, np.column_stack(means), rows)
        w = some(fitting.weights, judged)
        shifts = [weighted_quantile(target[judged] - f, tau, w) for tau, f in zip(levels, held_out.T, strict=True)]
        members, moved = _shifted(members, picks, shifts), held_out + shifts
        losses = [mean_loss(pinball(tau), moved[:, [k]], target[judged, None], w) for k, tau in enumerate(levels)]
        error = np.mean(losses)
        constant = float(np.mean([search.constant(tau) for tau in levels]))
        inputs = {rule: table.take(judged) for rule, table in fitting.inputs.items()}
        attempts, route = _attempts(search, picks), _route(len(target), members)
        truth = np.tile(target[judged, None], len(levels))
        outcome = fitting.outcome(search, members, inputs, truth, moved, attempts, float(error), constant, route)
        return self._store_rows(outcome, whole, started)._dated(columns, layout)

    def predict(self, X: Any) -> Floats:  # -> (n,) or (n, q)
        """Return the quantile for every row, (n,); of several quantiles a column for each, in rising order."""
        values = np.sort(self.scores(self.new_inputs(X)), axis=1)
        return values[:, 0] if np.ndim(self.quantile) == 0 else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return 1 - pinball loss / that of the best constant on these rows, averaged over the quantiles."""
        from sklearn.metrics import d2_pinball_score

        found = self.predict(X).reshape(-1, len(self._levels()))
        return float(
            np.mean([
                d2_pinball_score(y, values, alpha=tau, sample_weight=sample_weight)
                for tau, values in zip(self._levels(), found.T, strict=True)
            ])
        )  # fmt: skip

    def _levels(self) -> tuple[float, ...]:
        given: Any = [self.quantile] if np.ndim(self.quantile) == 0 else list(self.quantile)  # type: ignore[arg-type]
        name = type(self).__name__
        for tau in given:
            check_number(name, "quantile", tau, "a number between 0 and 1, or several in rising order", lambda v: 0 < v < 1)
        levels = tuple(float(tau) for tau in given)
        if not levels or list(levels) != sorted(set(levels)):
            raise InputError(f"{name}: quantile must be different numbers in rising order; got {levels}.")
        return levels

    def output(self, scores: Floats, target: Any) -> tuple[int, str]:
        levels = self._levels()
        if target is None and len(levels) == 1:
            return 0, f"quantile {levels[0]:g}"
        if target not in levels:
            known = ", ".join(f"{tau:g}" for tau in levels)
            raise InputError(f"explain: target must be one of the quantiles {known}; got {describe(target)}.")
        return levels.index(target), f"quantile {target:g}"


def _final(
    fitting: Fitting, search: QuantileSearch, picks: tuple[list[Pick], ...], by_folds: Floats, rows: Indices
) -> tuple[tuple[Member, ...], Floats, Indices]:
    """Return the members on all rows, predictions (m, q) of the means for rows that they have not seen, and these rows.

    With more rows than were searched the members are better than those of the folds, and a part of the other rows judges
    them: left out of the fits, which are repeated with them if all rows are fitted and the time is not limited.
    """
    n = len(fitting.targets)
    everywhere = np.arange(n)
    judges = fitting.judges
    if len(rows) == n or (fitting.layout is not None and not len(judges)):
        return _members(fitting, search, picks, everywhere), by_folds, rows[search.tables.tested]
    pool = everywhere
    if fitting.layout is not None:
        pool = np.setdiff1d(everywhere, fitting.layout.near(judges))
    else:
        others = fitting.rng.permutation(np.setdiff1d(everywhere, rows))
        judges = others[: min(JUDGES, len(others) // 2)]
    pool = np.setdiff1d(pool, judges)
    members = _members(fitting, search, picks, pool)
    inputs = {rule: table.take(judges) for rule, table in fitting.inputs.items()}
    held_out = np.asarray(sum(member.weight * member.predict(inputs) for member in members))
    if len(pool) < EXACT and fitting.seconds is None:
        members = _members(fitting, search, picks, everywhere)
    return members, held_out, judges


def _members(fitting: Fitting, search: QuantileSearch, picks: tuple[list[Pick], ...], pool: Indices) -> tuple[Member, ...]:
    """Return the picks fitted to rows; a member has a column for each quantile and is nonzero in its own."""
    count, width = sum(map(len, picks)), len(picks)
    unchanged = transform_of(CODES, np.zeros((1, width)))
    members = []
    for at, own in zip(np.eye(width), picks, strict=True):
        for pick in own:
            trial = pick.trial
            fitting.tell(f"all rows, quantile {trial.tau:g}")
            rows = _drawn(fitting, search, trial, pool, count)
            Z, y = fitting.inputs[trial.candidate.scaling].take(rows), fitting.targets[rows, 0]
            w = some(fitting.weights, rows)
            model = trial.setting.fit(pick.state.kernel, Z, y, trial.tau, search.unit, search.memory, w)
            model = replace(model, dual=model.dual * at, intercept=model.intercept * at, rows=rows)
            members.append(Member(trial.label, trial.candidate.scaling, unchanged, model, pick.weight))
    return tuple(members)


def _drawn(fitting: Fitting, search: QuantileSearch, trial: QuantileTrial, pool: Indices, count: int) -> Indices:
    """Return the rows of a fit: all, or as many as are fitted exactly or in time, drawn for each member separately."""
    most = min(len(pool), EXACT)
    if fitting.seconds is not None:  # the time grows with about the square of the rows
        m = int(np.sum(search.tables.folds != 0))
        share = FINAL * fitting.seconds / count / max(trial.seconds, 1e-9)
        most = min(most, max(len(search.tables.targets), int(m * share**0.5)))
    return pool if most >= len(pool) else np.sort(fitting.rng.permutation(pool)[:most])


def _shifted(members: tuple[Member, ...], picks: tuple[list[Pick], ...], shifts: list[float]) -> tuple[Member, ...]:
    """Return the members with the constant of their quantile added; the weights of a quantile sum to 1."""
    constants = np.diag(shifts)
    places = [place for place, own in enumerate(picks) for _ in own]
    return tuple(
        replace(member, model=replace(member.model, intercept=member.model.intercept + constants[place]))
        for member, place in zip(members, places, strict=True)
    )


def _route(n: int, members: tuple[Member, ...]) -> str:
    fewest = min(len(member.model.dual) for member in members)
    return f"exact on {n:,} rows" if fewest == n else f"each model on {fewest:,} rows or more of {n:,}"


def _attempts(search: QuantileSearch, picks: tuple[list[Pick], ...]) -> tuple[Attempt, ...]:
    """Return the best setting of each candidate and those that were picked, by quantile."""
    found = []
    for tau, own in zip(search.quantiles, picks, strict=True):
        weights = {pick.trial.label: pick.weight for pick in own}
        tried = dict.fromkeys(trial.candidate for trial in search.trials.values())
        best = [min(search.of(tau, candidate), key=lambda trial: not trial.known().all()) for candidate in tried]
        shown = {trial.label: trial for trial in [*best, *[pick.trial for pick in own]]}
        for trial in sorted(shown.values(), key=search.error):
            found.append(search.attempt(trial, weights.get(trial.label, 0.0)))
    return tuple(found)
