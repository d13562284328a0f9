"""Tests of conditional independence for causal discovery, which fit each regression once.

`TableCITest(data)` is called with columns: `test(x, y, given)` is a p-value. `causal_learn()` makes the same test available
to the searches of causal-learn by a name, `pgmpy_test(data)` to those of pgmpy as a function. Both packages are optional.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, MissingExtraError, check_choice, check_whole
from mercer.independence.conditional import CITestResult, Problem, check_variables
from mercer.independence.residuals import LANDMARKS, Conditioning, Regression, constant_fit
from mercer.independence.variables import Variable, read_variable
from mercer.inputs import is_frame
from mercer.numeric.threads import one_blas_thread

#: Landmarks with which kernel and metric of a regression are chosen; its residuals use all rows or all landmarks.
SEARCH_LANDMARKS = 64


class TableCITest:
    """A test of conditional independence of columns of a table, which keeps its regressions for further tests.

    Landmarks are drawn once, features of a column are computed once, and the regression of a column on a set of columns is
    fitted once, whichever pairs of columns are tested. A test is the same in any order of calls.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
        Rows are observations. Columns are named by their place in an array and by their names in a frame.
    kernels : mapping from a column to a Kernel, optional
        Kernels of single columns, for example of text. A column without one has a Gaussian kernel.
    null, n_draws, n_landmarks, random_state
        As in `mercer.ci_test`.
    memory : int
        Bytes of kept regressions; the ones used least recently are dropped first.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> data = np.column_stack([z + rng.normal(size=200), z + rng.normal(size=200), z])
    >>> test = TableCITest(data, random_state=0)
    >>> test(0, 1) < 0.01, test(0, 1, [2]) > 0.05
    (True, True)
    """

    def __init__(
        self,
        data: Any,
        *,
        kernels: Any = None,
        null: str = "wild",
        n_draws: int = 999,
        n_landmarks: int = LANDMARKS,
        random_state: int = 0,
        memory: int = 2**29,
    ) -> None:
        check_choice("TableCITest", "null", null, ("wild", "spectral", "gamma"))
        check_whole("TableCITest", "n_draws", n_draws, 1)
        check_whole("TableCITest", "random_state", random_state, 0)
        if not is_frame(data):
            data = np.asarray(data)
            if data.ndim != 2:
                raise InputError(f"TableCITest: data has {data.ndim} dimensions; give an (n, d) array or a data frame.")
        self.columns: list[Any] = list(data.columns) if is_frame(data) else list(range(data.shape[1]))
        self._data, self._kernels = data, dict(kernels or {})
        self._null, self._n_draws, self._seed, self._memory = null, n_draws, random_state, memory
        self._problem = Problem(len(data), "auto", n_landmarks, False, np.random.default_rng(random_state))
        self._problem.keep_multipliers(n_draws, null)
        self._features: dict[int, Floats] = {}
        self._columns: dict[int, Variable] = {}
        self._conditionings: OrderedDict[tuple[int, ...], _Conditioned] = OrderedDict()
        self._regressions: OrderedDict[tuple[int, tuple[int, ...]], Regression] = OrderedDict()
        self.n_regressions = 0  # fitted up to now

    def __call__(self, x: Any, y: Any, given: Sequence[Any] = ()) -> float:
        """Return the p-value of independence of columns x and y given other columns."""
        return self.test(x, y, given).pvalue

    def test(self, x: Any, y: Any, given: Sequence[Any] = ()) -> CITestResult:
        """Return the result of the test of columns x and y given other columns."""
        first, second = sorted((self._place(x), self._place(y)))
        others = tuple(sorted({self._place(one) for one in given}))
        if first == second or first in others or second in others:
            raise InputError(
                f"TableCITest: {x!r}, {y!r} and the columns given ({', '.join(map(repr, given))}) must be different columns."
            )
        with one_blas_thread():
            given_z = self._given(others) if others else None
            if given_z is not None:
                x, y = (replace(self._column(place), name=name) for place, name in ((first, "X"), (second, "Y")))
                check_variables(x, y, given_z.conditioning.variable)
            fitted = [self._regression(place, others) for place in (first, second)]
            # the draws depend on the question only, not on the questions before it
            self._problem.rng = np.random.default_rng([self._seed, first, second, *others])
            residuals = [one.residuals for one in fitted]
            weights = None if given_z is None else given_z.weights
            return self._problem.compare(residuals[0], residuals[1], weights, fitted, self._null, self._n_draws, [])

    def _place(self, column: Any) -> int:
        try:
            return self.columns.index(column)
        except ValueError:
            raise InputError(f"TableCITest: there is no column {column!r}; the columns are {self.columns}.") from None

    def _variable(self, places: tuple[int, ...], name: str) -> Variable:
        names = [self.columns[place] for place in places]
        kernel = self._kernels.get(names[0]) if len(names) == 1 else None
        held = [one for one in names if one in self._kernels]
        if held and len(names) > 1:
            raise InputError(
                f"TableCITest: column {held[0]!r} has a kernel of its own and is conditioned on with others, which need a "
                "common kernel. Encode it as numbers or categories."
            )
        part = self._data[names] if is_frame(self._data) else self._data[:, list(places)]
        if kernel is not None and is_frame(part):
            part = list(part[names[0]])
        return read_variable(part, name, kernel, "TableCITest")

    def _column(self, place: int) -> Variable:
        if place not in self._columns:
            self._columns[place] = self._variable((place,), f"column {self.columns[place]!r}")
        return self._columns[place]

    def _features_of(self, place: int) -> Floats:
        if place not in self._features:
            variable = self._column(place)
            if variable.vectors is not None and variable.vectors.shape[1] == 0:
                raise InputError(f"TableCITest: column {self.columns[place]!r} is constant. Remove it from the table.")
            self._features[place] = self._problem.features(variable)
        return self._features[place]

    def _regression(self, place: int, others: tuple[int, ...]) -> Regression:
        key = place, others
        if key not in self._regressions:
            features = self._features_of(place)
            self.n_regressions += bool(others)
            fitted = self._given(others).conditioning.regress(features) if others else constant_fit(features)
            self._regressions[key] = fitted
            while len(self._regressions) > 2 and sum(map(_bytes, self._regressions.values())) > self._memory:
                self._regressions.popitem(last=False)
        self._regressions.move_to_end(key)
        return self._regressions[key]

    def _given(self, others: tuple[int, ...]) -> _Conditioned:
        if others not in self._conditionings:
            self._problem.rng = np.random.default_rng([self._seed, *others])
            z = self._variable(others, "Z")
            self._conditionings[others] = _Conditioned(
                self._problem.conditioning(z, SEARCH_LANDMARKS), self._problem.weights(z)
            )
            while len(self._conditionings) > 16:
                self._conditionings.popitem(last=False)
        self._conditionings.move_to_end(others)
        return self._conditionings[others]


@dataclass(frozen=True, eq=False)
class _Conditioned:
    """A set of conditioning columns: the regressions on it, and its weights in the statistic."""

    conditioning: Conditioning
    weights: Floats | None


def _bytes(one: Regression) -> int:
    return one.residuals.nbytes + (0 if one.smoother is None else one.smoother[0].nbytes)


def causal_learn(name: str = "mercer", **options: Any) -> str:
    """Register `TableCITest` with causal-learn under a name, and return the name for `indep_test=`.

    >>> from causallearn.search.ConstraintBased.PC import pc  # doctest: +SKIP
    >>> graph = pc(data, 0.05, mercer.causal.causal_learn())  # doctest: +SKIP
    """
    try:
        from causallearn.utils.cit import CIT_Base, register_ci_test
    except ImportError as error:
        raise MissingExtraError("causal_learn needs causal-learn: pip install causal-learn.") from error

    class KernelCIT(CIT_Base):  # type: ignore[misc]
        """`TableCITest` with the interface of causal-learn."""

        def __init__(self, data: Any, **given: Any) -> None:
            super().__init__(data, cache_path=given.pop("cache_path", None))
            self.check_cache_method_consistent(name, repr(sorted({**options, **given}.items())))
            self.assert_input_data_is_valid()
            self.test = TableCITest(data, **{**options, **given})

        def __call__(self, X: Any, Y: Any, condition_set: Any = None) -> float:
            left, right, given, key = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
            if key not in self.pvalue_cache:
                if len(left) != 1 or len(right) != 1:
                    raise InputError("causal_learn: X and Y are single columns in this test.")
                self.pvalue_cache[key] = self.test(left[0], right[0], given)
            return float(self.pvalue_cache[key])

    register_ci_test(name, KernelCIT)
    return name


class PgmpyTest:
    """`TableCITest` with the interface of pgmpy: called with names, it returns whether the columns are independent."""

    def __init__(self, data: Any, **options: Any) -> None:
        self.table = TableCITest(data, **options)
        self.p_value_, self.statistic_, self.effect_size_ = float("nan"), float("nan"), float("nan")

    def __call__(self, X: Any, Y: Any, Z: Sequence[Any] = (), significance_level: float = 0.05, **_: Any) -> bool:
        """Return whether p >= significance_level; `p_value_` and `statistic_` hold the result."""
        found = self.table.test(X, Y, Z)
        self.p_value_, self.statistic_ = found.pvalue, found.statistic
        return found.pvalue >= significance_level


def pgmpy_test(data: Any, **options: Any) -> PgmpyTest:
    """Return a test for `ci_test=` of pgmpy's PC; use variant="stable" or n_jobs=1, which keep regressions in one process.

    >>> from pgmpy.causal_discovery import PC  # doctest: +SKIP
    >>> PC(ci_test=mercer.causal.pgmpy_test(frame), variant="stable").fit(frame)  # doctest: +SKIP
    """
    return PgmpyTest(data, **options)
