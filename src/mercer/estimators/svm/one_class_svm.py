"""One-class support vector machine: novelty detection by a hyperplane that keeps the data from the origin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.base import DEFAULT_KERNEL, whole_or_nothing
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.estimators.svm.fit import check_number, check_solver_parameters, open_job, warn_if_open
from mercer.estimators.svm.model import SupportModel
from mercer.estimators.svm.problems import Machine, machine, one_class
from mercer.inputs import count
from mercer.registry import estimator

Array = NDArray[Any]

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

    _few_rows = True  # beside the share nu hardly a row becomes a support vector

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

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to rows X; y is ignored. A weight counts as that many copies of its row."""
        name = type(self).__name__
        check_number(name, "nu", self.nu, "a number in (0, 1]", lambda v: 0 < v <= 1)
        check_solver_parameters(self)
        X = self._read(X, reset=True)
        weights = self._read_weights(sample_weight, count(X))
        kernel = self._resolved(X, weights)
        self.route_ = self._route_for(kernel, X)
        kept = np.arange(count(X)) if weights is None else np.flatnonzero(weights > 0)
        with Meter(f"{name} ({self.route_.solver})", self.verbose) as meter:
            problem = one_class(np.ones(len(kept)) if weights is None else weights[kept], float(self.nu), kept)
            found = machine(problem, open_job(self, kernel, X, meter)(problem), kept)
        self._keep(kernel, X, found)
        self.fit_status_ = warn_if_open(name, [found], self)
        return self

    def _keep(self, kernel: Any, X: Any, found: Machine) -> None:
        table = np.zeros((1, count(X)))
        table[0, found.rows] = found.coef
        support = np.flatnonzero(table[0])
        self._expand(kernel, X, table, np.array([found.intercept]), support, np.array([len(support)]))
        self.offset_ = np.array([-found.intercept])
        self.n_iter_ = int(found.n_iter)
        self.dual_objective_, self.duality_gap_ = found.dual, found.gap
        self.primal_objective_ = found.dual + found.gap
        self.margin_ = -found.intercept / found.norm if found.norm > 0 else 0.0
        self._novel = float((found.outputs < 0).mean())

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return <w, phi(x)>, (n,): the larger, the more like the training set."""
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return <w, phi(x)> - offset_, (n,), negative for what is novel; what is on the boundary within rounding has 0."""
        check_is_fitted(self)
        values = np.ascontiguousarray(self._columns(X)[:, 0])
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
            ("dual objective", f"{self.dual_objective_:.8g}, duality gap {self.duality_gap_:.3g}"),
            ("iterations", f"{self.n_iter_}" + ("" if self.fit_status_ == 0 else ", stopped early")),
            *self._route_lines(),
        )
        return Summary(repr(self), lines, {"novel": self._novel, "dual_objective": self.dual_objective_})
