"""Support vector classification that chooses C and kernel parameters on a cross-validated surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.estimators.svm.model import SolverSettings, fit_status
from mercer.estimators.svm.one_vs_one import Margin, SoftMargin
from mercer.estimators.svm.surface import Labeled, held_together, matrix_bytes, surface
from mercer.estimators.svm.svc import FittedPairs, Labels, SupportClassifier
from mercer.inputs.labels import class_weights
from mercer.numeric.memory import budget_bytes
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator
from mercer.selection.scoring import as_label_scoring
from mercer.selection.surface import Surface, choose_point, cost_axis, length_scale_paths, read_grid, read_splits, tabulate

#: Settings and values of C in a grid that was not given, for estimates before there is one.
USUAL = (10, 11)


@dataclass(frozen=True)
class TunedPairs:
    """A surface, the point chosen on it, and the fit there on all rows."""

    surface: Surface
    index: tuple[int, int]  # (kernel setting, C)
    pairs: FittedPairs


@estimator
class SVCCV(SupportClassifier):
    """Support vector classification with C and kernel parameters chosen by cross-validation on shared Gram matrices.

    The same scores as GridSearchCV(SVC(…), …) in a fraction of the time: one Gram matrix per kernel setting serves all
    folds, all pairs of classes and all C; along C each fit starts from the one before; folds run side by side.
    `SVCCV().fit(X, y)` needs no argument: ten length scales in steps of sqrt(2) around the median distance (more where the
    best lies on the edge; for more than 2000 rows narrowed on a sample first), C from 0.1 to 10^4, five stratified folds.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    Cs : sequence of floats, optional
    length_scales : sequence of floats, optional
        Replace the single length scale of the kernel; for several, use param_grid={"0__length_scale": […], …}.
    param_grid : dict of parameter name to values, optional
        Any kernel parameters, by the names of kernel.get_params(), all combinations.
    cv : int, splitter or splits, default 5
        As in scikit-learn; a number means stratified folds, of whole groups with `fit(..., groups=)`.
    scoring : None, name or function, optional
        None is accuracy; names of scikit-learn, or score(labels, predicted).
    rule : "best" or "one_standard_error"
        The second takes the smallest C whose score is within one standard error of the best. Equal scores: the smallest C.
    class_weight, tol, max_iter, time_limit, decision_function_shape, break_ties, random_state, memory, verbose : as in SVC;
        max_iter holds for each fit, time_limit for the last one on all rows.

    Attributes
    ----------
    best_C_, best_length_scale_, best_params_, best_score_, best_index_ (kernel setting, C), cv_results_, surface_, and all
    of SVC, fitted on all rows with the chosen values.

    >>> import numpy as np
    >>> from mercer import SVCCV
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> model = SVCCV(Cs=[1.0, 10.0], length_scales=[2.0, 1.0, 0.5]).fit(X, (X**2).sum(axis=1) > 1.4)
    >>> len(model.cv_results_["mean_test_score"]), bool(model.best_score_ > 0.9)
    (6, True)
    """

    _stored: ClassVar[dict[str, str]] = {
        "surface_": "absent | a Surface",
        "best_index_": "absent | each _: int | array",
        "best_params_": "absent | a dict",
        "best_length_scale_": "absent | None | real | array | each _: real",
        "best_score_": "absent | real | array",
        "cv_results_": "absent | a dict",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        Cs: Sequence[float] | None = None,
        length_scales: Sequence[float] | None = None,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.length_scales = length_scales
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> SVCCV:
        """Compute the surface, choose a point on it, and fit on all rows; weights count in the fits, not in the scores."""
        fitted: SVCCV = self._fit(X, y, sample_weight, groups=groups)
        return fitted

    def _check_parameters(self) -> None:
        if self.rule not in ("best", "one_standard_error"):
            raise InputError(f'{type(self).__name__}: rule must be "best" or "one_standard_error"; got {self.rule!r}.')
        super()._check_parameters()

    def _settings(self, **more: Any) -> SolverSettings:
        return super()._settings(side_by_side=True, **more)

    def _margin(self) -> Margin:
        return SoftMargin(self.best_C_)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> TunedPairs:
        labels = Labels.of(type(self).__name__, data, self.class_weight)
        found = self._explore(data, labels, meter)
        row, column = choose_point(found, self.rule)
        margin = SoftMargin(float(found.Cs[column]))
        return TunedPairs(found, (row, column), self._pairs(data, labels, found.kernels[row], margin, meter))

    def _explore(self, data: TrainingSet, labels: Labels, meter: Meter) -> Surface:
        splits = read_splits(self.cv, data.X, data.y, data.more["groups"], classifier=True)
        if splits is None:
            raise InputError(
                f"{type(self).__name__}: cv must be a number of folds, a splitter or a list of splits; got {self.cv!r}."
            )
        splits = tuple((train, test[labels.codes[test] >= 0]) for train, test in splits)

        def box(train: Array) -> Array:  # weights of a training part; balanced weights of classes are those of the part
            own, codes = labels.weights[train], labels.codes[train]
            return own * class_weights(type(self).__name__, self.class_weight, labels.classes, codes, own)[codes]

        part = Labeled(data.rows, labels.codes, labels.classes, box, splits)
        kernel, settings = data.kernel, self._settings()
        axis, scoring = cost_axis(self.Cs, kernel, data.rows), as_label_scoring(self.scoring, len(labels.classes))

        def evaluate(points: list[dict[str, Any]], part: Labeled) -> Surface:
            kernels = [kernel.set_params(**params) for params in points]
            return surface(points, kernels, part, axis, scoring, settings, meter)

        return read_grid(kernel, self.length_scales, self.param_grid).explore(evaluate, part, self.rule)

    def _store(self, data: TrainingSet, solution: TunedPairs) -> None:
        found, (row, column) = solution.surface, solution.index
        self._store_pairs(data, solution.pairs)
        self.fit_status_ = fit_status(type(self).__name__, solution.pairs.found)
        self.surface_, self.best_index_, self.best_C_ = found, (row, column), float(found.Cs[column])
        self.best_params_ = {**found.params[row], "C": self.best_C_}
        scales = [self.kernel_.get_params()[path] for path in length_scale_paths(self.kernel_)]
        self.best_length_scale_ = scales[0] if len(scales) == 1 else None
        self.best_score_ = float(found.scores[row, column])
        self.cv_results_ = tabulate(found)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        """Gram matrices shared by all fits, several at once if they fit; otherwise rows on demand for every fold."""
        n, folds = shape.n, self.cv if isinstance(self.cv, int) else 5
        settings = USUAL[0] if self.length_scales is None else len(list(self.length_scales))
        if self.param_grid is not None:
            settings = int(np.prod([len(list(values)) for values in self.param_grid.values()]))
        penalties = USUAL[1] if self.Cs is None else np.size(self.Cs)
        largest = max(1, n - n // max(2, folds))
        matrix = matrix_bytes(n, float(self.tol))
        budget = budget_bytes(self.memory, settings * matrix)
        entry = 2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()
        fits = settings * penalties * folds
        passes = fits * 8.0 * float(largest) ** 2 / gemm_rate()  # rows of support vectors, read once or twice
        together = max(1, held_together(n, settings, float(self.tol), budget))
        grid = f"{settings} x {penalties} points, {folds} splits"
        shared = f"{settings} Gram matrices, {together} at a time, for {fits} fits ({grid})"
        fallback = f"kernel rows on demand, anew for each of {settings * folds} splits"
        kept = min(matrix, int(0.9 * budget))
        return (
            Route("gram", (together + 1) * matrix, settings * entry * n * n / 2.0 + passes, shared),
            Route("rows", kept, settings * folds * entry * n * n / 2.0 + passes, fallback),
        )

    def _summary(self) -> Summary:
        facts = super()._summary()
        chosen = f"C = {self.best_C_:.4g}, {self.surface_.scoring} {self.best_score_:.4g}: {self.surface_.how}"
        return Summary(facts.title, (("chosen", chosen), *facts.lines), {**facts.numbers, "best_score": self.best_score_})
