"""`TableQuantileRegressor`: a data frame in, quantiles of the target out, chosen by held-out rows."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, check_number, describe
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.members import EXACT, FINAL, JUDGES, Fitting, Member
from mercer.estimators.tables.quantile_search import Pick, QuantileSearch, Setting, pinball
from mercer.estimators.tables.regressor import read_target
from mercer.estimators.tables.result import Attempt, TableResult
from mercer.estimators.tables.targets import CODES, transform_of
from mercer.kernels.base import Kernel
from mercer.registry import estimator


@estimator
class TableQuantileRegressor(RegressorMixin, TableEstimator):
    """Quantiles of a number given the row of a data frame: means of kernel quantile regressions, chosen by held-out rows.

    The candidates of `TableRegressor` learn their metric inside each fold; each is tried with longer length scales and
    several C of `KernelQuantileRegressor`. For every quantile those of the smallest pinball loss on held-out rows are
    averaged with weights, moved by the constant that is best there, so that the share of targets below is right on these
    rows, and fitted to all rows; beyond 12,000 each of them to as many rows of its own. Quantiles do not cross: they are
    sorted at every row.

    Parameters
    ----------
    quantile : float in (0, 1), or several in rising order, default 0.5
    kernel : kernel or its text, optional
        This kernel alone, as for TableRegressor; its numbers stay, and C is chosen.
    time, memory, random_state, verbose : as for TableRegressor

    Attributes
    ----------
    members_ (the models of the means; each adds to one quantile), result_ (what was tried, with pinball losses),
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
        time: float | None = None,
        memory: int | float | str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.quantile = quantile
        self.kernel = kernel
        self.time = time
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the checks have a bound for R^2, and shares of absolute errors are lower
        return tags

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self._levels()) != len(self.members_[0].transform.center):
            raise InputError("quantile does not fit the members of the means; the file is damaged or was changed.")

    @whole_or_nothing
    def fit(self, X: Any, y: Any) -> TableQuantileRegressor:
        """Learn from a table X (data frame or (n, d) array) and one number per row."""
        started = clock.perf_counter()
        levels = self._levels()
        columns = self._training_columns(X)
        target = read_target(type(self).__name__, y, len(columns[0].holes))
        self._n_rows = len(target)
        fitting = self._fitting(columns, target[:, None], pinball(0.5))  # each quantile is judged by its own loss
        rows = fitting.searched(len(target))
        search = QuantileSearch(
            fitting.tables(rows), levels, fitting.effort(), memory=self.memory, adapt=fitting.given is None
        )
        tried = fitting.listed()
        fitting.expect(len(tried), search.tables.n_folds)
        search.run(tried)
        picks, means = zip(*[search.picked(tau) for tau in levels], strict=True)
        members, held_out, judged = _final(fitting, search, picks, np.column_stack(means), rows)
        shifts = [float(np.quantile(target[judged] - f, tau)) for tau, f in zip(levels, held_out.T, strict=True)]
        members = _shifted(members, picks, shifts)
        fitting.meter.close()
        self._keep(fitting, members)
        self._importances = self._importance([column.name for column in columns], search.tables.inputs)
        moved = held_out + shifts
        error = np.mean([pinball(tau)(moved[:, [k]], target[judged, None]) for k, tau in enumerate(levels)])
        self.result_ = TableResult(
            "quantile regression", "pinball loss", self._n_rows, len(rows), search.tables.n_folds, self._noted(columns),
            _attempts(search, picks), float(error), float(np.mean([search.constant(tau) for tau in levels])),
            _route(self._n_rows, members), clock.perf_counter() - started, tuple(search.effort.notes()),
        )  # fmt: skip
        return self

    def predict(self, X: Any) -> Floats:  # -> (n,) or (n, q)
        """Return the quantile for every row, (n,); of several quantiles a column for each, in rising order."""
        values = np.sort(self._predictions(self._new_inputs(X)), axis=1)
        return values[:, 0] if np.ndim(self.quantile) == 0 else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - pinball loss / that of the best constant on these rows, the mean over the quantiles."""
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

    def _output(self, scores: Floats, target: Any) -> tuple[int, str]:
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
    """The members on all rows, and predictions (m, q) of the means for rows that they have not seen, with these rows.

    With more rows than were searched the members are better than those of the folds, and a part of the others judges them:
    left out of the fits, which are made once more with them where all rows are fitted and the time is not limited.
    """
    n = len(fitting.targets)
    everywhere = np.arange(n)
    if len(rows) == n:
        return _members(fitting, search, picks, everywhere), by_folds, rows
    others = fitting.rng.permutation(np.setdiff1d(everywhere, rows))
    judges = others[: min(JUDGES, len(others) // 2)]
    pool = np.setdiff1d(everywhere, judges)
    members = _members(fitting, search, picks, pool)
    inputs = {rule: table[judges] for rule, table in fitting.inputs.items()}
    held_out = np.asarray(sum(member.weight * member.predict(inputs) for member in members))
    if len(pool) < EXACT and fitting.seconds is None:
        members = _members(fitting, search, picks, everywhere)
    return members, held_out, judges


def _members(fitting: Fitting, search: QuantileSearch, picks: tuple[list[Pick], ...], pool: Indices) -> tuple[Member, ...]:
    """The picks of every quantile fitted to rows; a member has a column for each quantile and adds to its own."""
    count, width = sum(map(len, picks)), len(picks)
    as_they_are = transform_of(CODES, np.zeros((1, width)))
    members = []
    for at, own in zip(np.eye(width), picks, strict=True):
        for pick in own:
            fitting.tell(f"all rows, quantile {pick.tau:g}")
            rows = _drawn(fitting, search, pick, pool, count)
            scaling = pick.candidate.scaling
            model = pick.fit(fitting.inputs[scaling][rows], fitting.targets[rows, 0], search.unit, search.memory)
            model = replace(model, dual=model.dual * at, intercept=model.intercept * at, rows=rows)
            members.append(Member(_label(search, pick.tau, pick.setting), scaling, as_they_are, model, pick.weight))
    return tuple(members)


def _drawn(fitting: Fitting, search: QuantileSearch, pick: Pick, pool: Indices, count: int) -> Indices:
    """The rows of a fit: all, or as many as are fitted exactly or end in time, drawn for each member by itself."""
    most = min(len(pool), EXACT)
    if fitting.seconds is not None:  # a fit takes about the square of its rows
        m = int(np.sum(search.tables.folds != 0))
        share = FINAL * fitting.seconds / count / max(pick.seconds, 1e-9)
        most = min(most, max(len(search.tables.targets), int(m * share**0.5)))
    return pool if most >= len(pool) else np.sort(fitting.rng.permutation(pool)[:most])


def _shifted(members: tuple[Member, ...], picks: tuple[list[Pick], ...], shifts: list[float]) -> tuple[Member, ...]:
    """The members with the constant of their quantile added; the weights of a quantile sum to 1."""
    constants = np.diag(shifts)
    places = [place for place, own in enumerate(picks) for _ in own]
    return tuple(
        replace(member, model=replace(member.model, intercept=member.model.intercept + constants[place]))
        for member, place in zip(members, places, strict=True)
    )


def _route(n: int, members: tuple[Member, ...]) -> str:
    fewest = min(len(member.model.dual) for member in members)
    return f"exact on {n:,} rows" if fewest == n else f"each model on {fewest:,} rows or more of {n:,}"


def _label(search: QuantileSearch, tau: float, setting: Setting) -> str:
    return f"{tau:g}: {search.label(setting)}"


def _attempts(search: QuantileSearch, picks: tuple[list[Pick], ...]) -> tuple[Attempt, ...]:
    """The best setting of each candidate and those that were picked, by quantile."""
    found = []
    for tau, own in zip(search.quantiles, picks, strict=True):
        weights = {pick.setting: pick.weight for pick in own}
        done = search.complete(tau)
        best = {min(search.ranked(tau, place), key=lambda s: s not in done) for place, _ in search.states}
        for setting in sorted(best | weights.keys(), key=lambda s: search.error(tau, s)):
            candidate = search.tried[setting.place]
            found.append(
                Attempt(_label(search, tau, setting), candidate.scaling, candidate.transform, *search.error(tau, setting),
                        setting in done, weights.get(setting, 0.0))
            )  # fmt: skip
    return tuple(found)
