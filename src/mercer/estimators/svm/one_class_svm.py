"""One-class support vector machine: novelty detection by a hyperplane that keeps the data from the origin."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from mercer.arrays import Array, Floats
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted
from mercer.estimators.definiteness import known_psd
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary, known
from mercer.estimators.svm.model import ReadMachine, SolverSettings, SupportModel, fit_status, require_share
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import SupportFunction, one_class, support_function
from mercer.planning import Route
from mercer.registry import estimator

#: Decision values below this share of the offset are 0: half of the support vectors lie on the boundary, and the last digit
#: of a sum should not decide on which side.
ROUNDING = 1e-9


@estimator
class OneClassSVM(OutlierMixin, SupportModel):
    """Call x novel if <w, phi(x)> < offset: min 1/2 ||w||^2 - nu n r + sum_i max(0, r - <w, phi(x_i)>), offset_ = r.

    At most the share nu of the training rows is called novel, at least the share nu are support vectors (Schölkopf et al.,
    2001). Scale and attributes are scikit-learn's: the coefficients add up to nu n.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    nu : float in (0, 1], default 0.5
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_ (-offset_), offset_, shape_fit_, fit_status_ (0:
    converged), n_iter_, coef_ (finite feature maps), dual_objective_, primal_objective_, duality_gap_, margin_ (the
    distance of the hyperplane from the origin), kernel_, route_.

    >>> import numpy as np
    >>> from mercer import Gaussian, OneClassSVM
    >>> X = np.linspace(-1.0, 1.0, 40).reshape(-1, 1)
    >>> model = OneClassSVM(Gaussian(length_scale=1.0), nu=0.2).fit(X)
    >>> model.predict([[0.0], [3.0]]).tolist(), bool((model.decision_function(X) < -1e-3).mean() <= 0.2)
    ([1, -1], True)
    """

    _stored: ClassVar[dict[str, str]] = {"offset_": "float (1,)", "margin_": "absent | real", "_novel": "absent | real"}

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        nu: float = 0.5,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to rows X; y is ignored. A weight counts as that many copies of its row."""
        fitted: OneClassSVM = self._fit(X, None, sample_weight)
        return fitted

    def _check_parameters(self) -> None:
        require_share(type(self).__name__, "nu", self.nu)
        super()._check_parameters()

    def _settings(self, **more: Any) -> SolverSettings:
        return super()._settings(support="few", **more)  # hardly more than the share nu of the rows

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> SupportFunction:
        kept = np.flatnonzero(data.counted)
        problem = one_class(data.counted[kept], float(self.nu), kept)
        return support_function(problem, self._solver(data.kernel, data.rows, data.n, meter)(problem), kept)

    def _store(self, data: TrainingSet, solution: SupportFunction) -> None:
        table = np.zeros((1, data.n))
        table[0, solution.rows] = solution.coef
        support = np.flatnonzero(table[0])
        self._expand(data.kernel, data.X, table, np.array([solution.intercept]), support, np.array([len(support)]))
        self.offset_ = np.array([-solution.intercept])
        self.n_iter_ = int(solution.n_iter)
        gap = solution.gap if known_psd(data.kernel, data.X, type(self).__name__) else math.nan
        self.dual_objective_, self.duality_gap_ = solution.dual, gap
        self.primal_objective_ = solution.dual + gap
        self.margin_ = -solution.intercept / solution.norm if solution.norm > 0 else 0.0
        self._novel = float((solution.outputs < 0).mean())
        self.fit_status_ = fit_status(type(self).__name__, [solution])

    def with_coefficients(self, kernel: Kernel, found: ReadMachine) -> Any:
        """Set the fitted attributes from the coefficients of a scikit-learn model, and return self."""
        self.offset_ = -found.intercept
        return super().with_coefficients(kernel, found)

    def score_samples(self, X: Any) -> Floats:
        """Return <w, phi(x)>, (n,): the larger, the more like the training set."""
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> Floats:
        """Return <w, phi(x)> - offset_, (n,), negative for what is novel; what is on the boundary within rounding has 0."""
        check_is_fitted(self)
        values = np.ascontiguousarray(self._columns(X)[:, 0])
        if not self._read_in:  # scikit-learn keeps the rounding
            values[np.abs(values) <= ROUNDING * np.abs(self.offset_)] = 0.0
        return values

    def predict(self, X: Any) -> Array:
        """Return +1 for what is like the training set and -1 for what is novel."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", str(self.kernel_)),
            ("support vectors", f"{len(self.support_)} of {self.shape_fit_[0]} rows"),
            ("called novel", f"{100 * self._novel:.1f} % of the training rows, nu {float(self.nu):g}"),
            ("distance from origin", f"{self.margin_:.6g}"),
            ("dual objective", f"{self.dual_objective_:.8g}, duality gap {known(self.duality_gap_)}"),
            ("iterations", f"{self.n_iter_}" + ("" if self.fit_status_ == 0 else ", stopped early")),
            *self._route_lines(),
        )
        return Summary(repr(self), lines, {"novel": self._novel, "dual_objective": self.dual_objective_})
