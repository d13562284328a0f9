"""A fitted Gaussian process: predictions, samples, intervals, leave-one-out and diagnosis, for every posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError, describe
from mercer.estimators.base import DualModel, check_is_fitted
from mercer.estimators.components import Conditioned, TermComponents
from mercer.estimators.gp.chunked import ChunkedProblem
from mercer.estimators.gp.diagnosis import GPDiagnosis, GPLeaveOneOut, task_leave_one_out
from mercer.estimators.gp.exact import ExactPosterior
from mercer.estimators.gp.laplace import read_exposure
from mercer.estimators.gp.latent_regression import LatentTargets
from mercer.estimators.gp.nested import NESTED_ROWS, widening
from mercer.estimators.gp.problem import GPParameters, GPProblem, MeanFunction, Posterior, SummedProblem, TargetUnits
from mercer.estimators.gp.tasks import TaskTargets, pairs
from mercer.estimators.local_intervals import local_intervals
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.inputs import count, widened
from mercer.linalg.evidence import MeanProfile, leave_one_out
from mercer.numeric.memory import format_bytes
from mercer.planning import Route


@dataclass(frozen=True)
class ProcessFit:
    """Result of a fit: mean function, units of y, problem, hyper-parameters, search and posterior."""

    mean: MeanFunction
    units: TargetUnits
    problem: GPProblem | ChunkedProblem
    parameters: GPParameters
    climb: Any
    posterior: Posterior


@dataclass(frozen=True)
class ReadProcess:
    """The coefficients of a fitted Gaussian process of scikit-learn, in its working units."""

    X: Any
    Y: Floats  # (n, t) targets in working units
    solved: Floats  # (n, t) (K + noise)^-1 Y
    noise: Any  # one number or (n,)
    center: Floats  # (t,) y = center + scale * working value
    scale: Floats  # (t,)
    single: bool  # whether y had one axis
    columns: int
    names: Any = None


def _root(C: Floats) -> Floats:  # (m, m) -> (m, m)
    """Return R with C = R R'. Covariances are often singular, for which a Cholesky factor does not exist."""
    values, vectors = np.linalg.eigh(C)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True)
class ProcessForms:
    """Arrays from which mean and variance at new rows follow: M = k_x' solved, and |inverse_factor k_x|^2."""

    n_targets: int  # t
    single: bool  # whether y had one axis
    solved: Floats  # (n, t + q) G^-1 of the targets and of the columns of the mean function
    inverse_factor: Floats  # (n, n) L^-1 with G = L L'
    beta: Floats  # (q, t) coefficients of the mean function
    covariance: Floats  # (q, q) of these coefficients
    location: Floats  # (d,) or (0,): columns of a linear mean function are (x - location) / spread
    spread: Floats
    center: Floats  # (t,) y = center + scale * working value
    scale: Floats  # (t,)


class GaussianProcessModel(RegressorMixin, DualModel):
    """Abstract: y = m(x) + f(x) + e, conditioned on the training rows."""

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "absent | rows n d | rows n d+1",
        "dual_coef_": "absent | None | float (_, *v)",
        "theta_": "float (p,)",
        "_parameters.start": "real (p,)",
        "_single": "flag",
        "_mean": "a MeanFunction",
        "_mean.location": "float (d,) | float (0,)",
        "_units": "a TargetUnits",
        "_units.center": "float (t,)",
        "_problem": "a GPProblem, SummedProblem",
        "_problem.n_targets": "size t",
        "_profile": "a MeanProfile",
        "_profile.beta": "float (q, t)",
        "_problem.columns": "absent | float (n, t+q)",
        "_posterior": "a ExactPosterior, InducingPosterior, VecchiaPosterior, FourierPosterior, LaplacePosterior, "
        "KroneckerPosterior",
        "_posterior.dual": "absent | float (n,)",
        "_targets": "absent | a LatentTargets",
        "_targets.y": "absent | real (n,) | real (n, 2)",
        "_posterior.solved": "absent | float (n, t+q)",
        "_posterior.columns": "absent | float (n, t+q)",
        "_posterior.weights": "absent | float (_, t+q)",
        "_posterior.coefficients": "absent | complex (_, t+q)",
        "_posterior.X": "absent | rows n d | rows n d+1",
        "_posterior.function.X": "absent | rows n d",
        "_posterior.Z": "absent | rows _ d | rows _ d+1",
        "_tasks": "absent | a TaskTargets",
        "_tasks.rows": "absent | int (n,) >= 0",
        "_parameters": "a GPParameters",
        "_loo": "absent | None | a GPLeaveOneOut",
        "_widening": "absent | None | float (t,)",
        "diagnosis_": "absent | a GPDiagnosis",
        "theta_names_": "absent | each p: text",
        "noise_": "absent | real | real (n,)",
        "coef_": "absent | None | float (d, *_)",
        "intercept_": "absent | float (*_)",
        "rkhs_norm_": "absent | real (*_)",
        "jitter_": "absent | real",
        "log_marginal_likelihood_value_": "absent | real",
        "n_iter_": "absent | int",
    }

    route_: Route
    noise_: Any
    diagnosis_: GPDiagnosis
    log_marginal_likelihood_value_: float
    _problem: GPProblem | SummedProblem
    _posterior: Any  # a Posterior, or the LaplacePosterior of another likelihood
    _profile: MeanProfile
    _mean: MeanFunction
    _units: TargetUnits
    _parameters: GPParameters
    _single: bool
    _loo: GPLeaveOneOut | None
    _tasks: TaskTargets  # of a target that was read by cells; absent for others
    _widening: Floats | None  # (t,) of intervals, once they were asked for
    _targets: LatentTargets  # of another likelihood than Gaussian noise; absent for Gaussian noise

    # -- predictions -------------------------------------------------------------------------------------------------

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, include_noise: Any = False, exposure: Any = None
    ) -> Any:
        """Return the posterior mean, and with return_std or return_cov the standard deviation or covariance of f.

        For another likelihood than "gaussian" they are mean and standard deviation of y.

        Parameters
        ----------
        include_noise : bool or (m,) array
            True adds the noise: the result is then the spread of new observations y, not of the function f. An array gives
            the noise variance of each new row. If the noise was given per training row, True adds its average.
        exposure : (m,) array, optional
            Exposures of new rows, for counts; 1 if not given.

        With several targets the arrays get a last axis for them.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise InputError("predict returns the standard deviation or the covariance, not both at once.")
        new = self._read(X, reset=False)
        if self._latent is not None:
            return self._predict_y(new, return_std, return_cov, exposure)
        self._refuse_exposure(exposure)
        if self._by_task is not None:
            return self._predict_tasks(self._by_task, new, return_std, return_cov, include_noise)
        H = self._mean.columns(new)
        if not (return_std or return_cov):
            return self._mean_and_rest(self._posterior.mean(new), H)[0]
        noise = self._noise_of_new(include_noise, count(new))
        if return_cov:
            f, R = self._mean_and_rest(self._posterior.mean(new), H)
            C = self._posterior.covariance(new) + R @ self._profile.covariance @ R.T
            C[np.diag_indices_from(C)] += noise
            return f, self._spread_out(C, 2.0)
        M, variance = self._posterior.moments(new)
        f, R = self._mean_and_rest(M, H)
        variance = variance + np.einsum("ij,jk,ik->i", R, self._profile.covariance, R) + noise
        return f, self._spread_out(np.sqrt(variance), 1.0)

    @property
    def _latent(self) -> LatentTargets | None:
        """The targets of another likelihood than Gaussian noise, or None."""
        found: LatentTargets | None = self.__dict__.get("_targets")
        return found

    @property
    def _by_task(self) -> TaskTargets | None:
        """The tasks of a target that was read by cells, or None."""
        found: TaskTargets | None = self.__dict__.get("_tasks")
        return found

    def _predict_tasks(self, tasks: TaskTargets, new: Any, return_std: bool, return_cov: bool, include_noise: Any) -> Any:
        """Return means (m, t), and standard deviations (m, t) or covariances (m, m, t) within each task."""
        m, t = count(new), tasks.n_tasks
        where = tasks.every(m)
        cells, H = pairs(new, *where), tasks.columns(self._mean, new, *where)
        M = self._posterior.mean(cells)
        rest = H - M[:, 1:]
        f = (M[:, :1] + rest @ self._profile.beta).reshape(m, t) * tasks.scale + tasks.center
        noise = self._noise_of_new(include_noise, m) if return_std or return_cov else 0.0
        if return_cov:
            C = self._task_covariance(cells, rest).reshape(m, t, m, t)
            own = np.einsum("itjt->ijt", C).copy()
            own[np.arange(m), np.arange(m)] += np.reshape(noise, (-1, 1))
            return f, own * tasks.scale**2
        if not return_std:
            return f
        variance = self._posterior.variance(cells) + np.einsum("ij,jk,ik->i", rest, self._profile.covariance, rest)
        return f, np.sqrt(variance.reshape(m, t) + np.reshape(noise, (-1, 1))) * tasks.scale

    def _task_covariance(self, cells: Any, rest: Floats) -> Floats:  # -> (m t, m t)
        return np.asarray(self._posterior.covariance(cells) + rest @ self._profile.covariance @ rest.T)

    def _draw_tasks(self, tasks: TaskTargets, new: Any, n_samples: int, random_state: Any, include_noise: Any) -> Floats:
        """Return joint draws of all tasks, (m, t, n_samples)."""
        m = count(new)
        where = tasks.every(m)
        cells = pairs(new, *where)
        M = self._posterior.mean(cells)
        rest = tasks.columns(self._mean, new, *where) - M[:, 1:]
        C = self._task_covariance(cells, rest)
        C[np.diag_indices_from(C)] += np.repeat(np.broadcast_to(self._noise_of_new(include_noise, m), (m,)), tasks.n_tasks)
        draws = (
            M[:, :1]
            + rest @ self._profile.beta
            + _root(C) @ check_random_state(random_state).standard_normal((len(C), n_samples))
        )
        return draws.reshape(m, tasks.n_tasks, n_samples) * tasks.scale[:, None] + tasks.center[:, None]

    def _predict_y(self, new: Any, return_std: bool, return_cov: bool, exposure: Any) -> Any:
        assert self._latent is not None
        if return_cov:
            raise InputError(
                f"return_cov is not available for likelihood={self._latent.kind!r}: y is not normal. Use return_std, "
                "predict_interval or latent_mean_and_variance."
            )
        center, std = self._latent.moments(self._posterior, new, self._log_exposure(exposure, count(new)))
        return (center, std) if return_std else center

    def _log_exposure(self, exposure: Any, n: int) -> Floats | None:
        if self._latent is None or self._latent.kind not in ("poisson", "negative-binomial"):
            self._refuse_exposure(exposure)
        return read_exposure(type(self).__name__, exposure, n)

    def _refuse_exposure(self, exposure: Any) -> None:
        if exposure is not None:
            raise InputError(f'{type(self).__name__}: exposure is for likelihood="poisson" and "negative-binomial" only.')

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the latent function at new rows, without noise."""
        check_is_fitted(self)
        if self._latent is None:
            center, std = self.predict(X, return_std=True)
            return center, std**2
        return self._posterior.latent(self._read(X, reset=False))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "normal", shift: Any = None, exposure: Any = None
    ) -> Floats:
        """Return central intervals for new observations, noise included: (m, 2), or (m, 2, t) for several targets.

        "normal" takes the predictive distribution. If p hyper-parameters were fitted to n rows, quantiles are
        those of Student's t with n - p degrees of freedom. Up to 100 rows, standard deviations are multiplied
        by the root mean square of (y_i - m_i) / s_i, with m_i and s_i predicted without row i, by hyper-
        parameters that were fitted without it and a few more; the first call computes them.
        "local" corrects it by leave-one-out residuals, so that intervals cover
        near every point even where the noise varies; `shift` is the kernel of the shifts that are guarded against, by
        default the kernel of the model. It needs Gaussian noise and the exact route.
        """
        if method not in ("normal", "local"):
            raise InputError(f'{type(self).__name__}: method must be "normal" or "local"; got {method!r}.')
        if shift is not None and method != "local":
            raise InputError(f'{type(self).__name__}: shift= is for method="local"; got method={method!r}.')
        if not (isinstance(coverage, (int, float)) and 0.0 < coverage < 1.0):
            raise InputError(f"coverage must be a number strictly between 0 and 1; got {describe(coverage)}.")
        check_is_fitted(self)
        if self._latent is not None:
            if method == "local":
                raise InputError(f'{type(self).__name__}: method="local" needs Gaussian noise; got {self._latent.kind!r}.')
            new = self._read(X, reset=False)
            offset = self._log_exposure(exposure, count(new))
            return self._latent.interval(self._posterior, new, float(coverage), offset)
        self._refuse_exposure(exposure)
        if method == "local":
            return self._local_intervals(X, coverage, shift)
        center, std = self.predict(X, return_std=True, include_noise=True)
        reach = self._reach(0.5 + coverage / 2.0) * std
        return np.stack([center - reach, center + reach], axis=1)

    def _reach(self, level: float) -> Any:  # -> number, or (t,)
        """The quantile of a level in standard deviations, wider if hyper-parameters were fitted to few rows."""
        free = int(np.count_nonzero(~self._parameters.fixed))
        if not free:
            return float(ndtri(level))
        quantile = float(stdtrit(max(self._problem.n - free, 1), level))
        problem = self._problem
        if not isinstance(problem, GPProblem) or problem.n > NESTED_ROWS or problem.n < 3:
            return quantile
        if self.__dict__.get("_widening") is None:  # files of older versions do not hold it
            with Meter("leave-one-out with hyper-parameters", self.verbose) as meter:
                self._widening = widening(problem, self._parameters, self.theta_, meter)
        wider = self._widening
        assert wider is not None
        return quantile * (wider[0] if len(wider) == 1 else wider)

    def components(self, X: Any) -> TermComponents:
        """Return posterior mean and standard deviation of every term of a sum of kernels, and of the mean function.

        The means add up to `predict(X)`, for another likelihood than "gaussian" to the latent mean. Needs the exact route.
        """
        check_is_fitted(self)
        new = self._read(X, reset=False)
        if self._by_task is not None:
            raise InputError("components is not available for a target that is read by cells; fit one column at a time.")
        if self._latent is not None:
            return self._posterior.components(new)
        posterior, problem = self._exact("components")
        t, beta = problem.n_targets, self._profile.beta
        H, scale = self._mean.columns(new), self._units.scale
        dual = posterior.solved[:, :t] - posterior.solved[:, t:] @ beta
        known = Conditioned(
            posterior.kernel, posterior.X, posterior.factor.solve, dual, posterior.solved[:, t:], self._profile.covariance,
            scale,
        )  # fmt: skip
        return known.parts(new, H, H @ beta * scale + self._units.center, self._single)

    def _local_intervals(self, X: Any, coverage: float, shift: Any) -> Floats:
        residuals, center = self.loo_residuals_, self.predict(X)
        found = local_intervals(
            self, self.X_fit_, residuals.reshape(len(residuals), -1), self._read(X, reset=False),
            center.reshape(len(center), -1), coverage, shift,
        )  # fmt: skip
        return found[:, :, 0] if self._single else found

    def forms(self) -> ProcessForms:
        """Return the arrays from which mean and standard deviation follow. Needs Gaussian noise and the exact route."""
        check_is_fitted(self)
        if self._latent is not None:
            raise InputError(
                f"{type(self).__name__}: likelihood={self._latent.kind!r} has no such form; use Gaussian noise."
            )
        if self._by_task is not None:
            raise InputError(f"{type(self).__name__}: a model of several tasks has no such form; fit a task at a time.")
        posterior, problem = self._exact("the closed form of mean and standard deviation")
        inverse = posterior.factor.whiten(np.asfortranarray(np.eye(problem.n)))
        return ProcessForms(
            problem.n_targets, self._single, posterior.solved, inverse, self._profile.beta, self._profile.covariance,
            self._mean.location, self._mean.spread, self._units.center, self._units.scale,
        )  # fmt: skip

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, include_noise: Any = False) -> Floats:
        """Return functions drawn from the posterior at the rows of X, (m, n_samples), or (m, t, n_samples)."""
        check_is_fitted(self)
        if self._by_task is not None:
            return self._draw_tasks(self._by_task, self._read(X, reset=False), n_samples, random_state, include_noise)
        center, C = self.predict(X, return_cov=True, include_noise=include_noise)
        m, t = len(center), 1 if self._single else center.shape[1]
        rng = check_random_state(random_state)
        if not np.isfinite(C).all():
            raise NumericalError(
                f"{type(self).__name__}: the covariance of these rows is not finite and no samples can be drawn. Scale "
                "the columns of X, and y."
            )
        root = _root(C if self._single else C[..., 0] / self._units.scale[0] ** 2)
        draws = np.stack([root @ rng.standard_normal((m, n_samples)) for _ in range(t)], axis=1)  # (m, t, s)
        if self._single:
            return np.asarray(center[:, None] + draws[:, 0])
        return np.asarray(center[:, :, None] + draws * self._units.scale[:, None])

    def _mean_and_rest(self, M: Floats, H: Floats) -> tuple[Floats, Floats]:  # (m, t + q), (m, q)
        """Return the mean in the units of y, (m,) or (m, t), and h(x) minus its prediction by the process, (m, q)."""
        t = self._problem.n_targets
        rest = H - M[:, t:]
        F = self._units.outside(M[:, :t] + rest @ self._profile.beta)
        return (F[:, 0] if self._single else F), rest

    def _noise_of_new(self, include_noise: Any, m: int) -> Any:
        """Return noise variances of m new rows in working units: a number or (m,)."""
        if isinstance(include_noise, (bool, np.bool_)):
            noise = np.mean(self._problem.variances(self._parameters.setting(self.theta_)[1]))
            return float(noise) if include_noise else 0.0
        given = np.asarray(include_noise, dtype=np.float64)
        if given.shape != (m,) or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(f"include_noise must be True, False, or ({m},) variances >= 0; got {describe(include_noise)}.")
        return given

    def _spread_out(self, values: Floats, power: float) -> Floats:
        """Return standard deviations (power 1) or covariances (power 2) in the units of y; several targets add an axis."""
        if self._single:
            return values * self._units.scale[0] ** power
        return np.multiply.outer(values, self._units.scale**power)

    # -- leave-one-out and names of scikit-learn ----------------------------------------------------------------------

    @property
    def loo_(self) -> GPLeaveOneOut:
        """Each training row predicted from the others, in closed form; computed at first use in n^3/3 flops."""
        check_is_fitted(self)
        if self._loo is None:
            posterior, problem = self._exact("leave-one-out in closed form")
            found = leave_one_out(posterior.factor, problem.columns, problem.n_targets)
            Y = problem.columns[:, : problem.n_targets]
            scale = self._units.scale
            shape = (problem.n,) if self._single else Y.shape
            if self._by_task is not None:
                self._loo = task_leave_one_out(self._by_task, Y[:, 0], found)
                return self._loo
            self._loo = GPLeaveOneOut(
                self._units.outside(Y - found.residuals).reshape(shape),
                np.multiply.outer(np.sqrt(found.variance), scale).reshape(shape),
                (found.residuals * scale).reshape(shape),
                (found.log_density - np.log(scale)).reshape(shape),
            )
        return self._loo

    @property
    def loo_mean_(self) -> Floats:
        """Leave-one-out means."""
        return self.loo_.mean

    @property
    def loo_std_(self) -> Floats:
        """Leave-one-out standard deviations, noise included."""
        return self.loo_.std

    @property
    def loo_residuals_(self) -> Floats:
        """y minus the leave-one-out means."""
        return self.loo_.residuals

    @property
    def alpha_(self) -> Floats:
        """scikit-learn's name for `dual_coef_`."""
        check_is_fitted(self)
        return self.dual_coef_

    @property
    def X_train_(self) -> Any:  # noqa: N802 - scikit-learn's name
        """scikit-learn's name for `X_fit_`."""
        check_is_fitted(self)
        return self.X_fit_

    def _exact(self, what: str) -> tuple[ExactPosterior, GPProblem]:
        if not (isinstance(self._posterior, ExactPosterior) and isinstance(self._problem, GPProblem)):
            route = self.route_.solver
            remedy = 'It is available for likelihood="gaussian" only.' if route == "laplace" else "Fit with solver='exact'."
            raise InputError(f"{what} needs the exact route; this fit took {route!r}. {remedy}")
        return self._posterior, self._problem

    def _read(self, X: Any, reset: bool) -> Any:
        return widened(super()._read(X, reset))

    # -- fitted attributes --------------------------------------------------------------------------------------------

    def _keep(self, problem: GPProblem | SummedProblem, posterior: Posterior, profile: MeanProfile) -> None:
        """Set the attributes that follow from a posterior; hyper-parameters and units are not changed."""
        t = problem.n_targets
        self._problem, self._posterior, self._profile = problem, posterior, profile
        self._loo = self._widening = None
        self.kernel_ = posterior.kernel
        if isinstance(problem, GPProblem):
            self.X_fit_ = problem.X
        noise = self._parameters.setting(self.theta_)[1]
        self.noise_ = noise if problem.ratios is None else problem.variances(noise)
        tasks = self._by_task
        scale, center = (self._units.scale, self._units.center) if tasks is None else (tasks.scale, tasks.center)
        intercept, slopes = self._mean.coefficients(profile.beta if tasks is None else tasks.by_task(profile.beta))
        intercept = intercept * scale + center
        self.intercept_ = intercept[0] if self._single else intercept
        self.coef_ = None if slopes is None else (slopes * scale)[:, 0] if self._single else slopes * scale
        self.jitter_ = posterior.jitter
        if isinstance(posterior, ExactPosterior) and isinstance(problem, GPProblem):
            V = posterior.solved[:, :t] - posterior.solved[:, t:] @ profile.beta
            E = problem.columns[:, :t] - problem.columns[:, t:] @ profile.beta
            shift = problem.variances(noise)[:, None] + posterior.jitter
            norms = np.sqrt(np.maximum(np.sum(V * (E - shift * V), axis=0), 0.0))  # V'KV, as K V = E - shift V
            self.dual_coef_ = V[:, 0] if self._single else V if tasks is not None else V * scale
            self.rkhs_norm_ = norms[0] if self._single else norms

    def _summary(self) -> Summary:
        d = self.diagnosis_
        if self._latent is not None:
            return self._latent_summary(self._latent)
        noise = f"{self.noise_:.6g}" if np.ndim(self.noise_) == 0 else f"one per row, {np.mean(self.noise_):.4g} on average"
        lines = [
            ("kernel", str(self.kernel_)),
            ("noise (variance)", noise),
            ("mean function", self._mean.kind),
            ("log marginal likelihood", f"{self.log_marginal_likelihood_value_:.6g}"),
            ("rows, targets", self._sizes()),
            ("fit", f"{d.message}; {d.n_evaluations} evaluations on all rows"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
            ("kept for variances", format_bytes(d.bytes)),
        ]
        if self._loo is not None:
            lines.append(("leave-one-out", f"RMSE {self._loo.rmse:.4g}, negative log density {self._loo.nlpd:.4g}"))
        lines += [("note", note) for note in d.notes]
        numbers = {"log_marginal_likelihood": self.log_marginal_likelihood_value_, "n": d.rows, "notes": len(d.notes)}
        return Summary(repr(self), tuple(lines), numbers)

    def _sizes(self) -> str:
        tasks = self._by_task
        if tasks is None:
            return f"{self.diagnosis_.rows}, {self._problem.n_targets}"
        return f"{tasks.n_rows}, {tasks.n_tasks} ({len(tasks.rows)} known cells)"

    def _latent_summary(self, targets: LatentTargets) -> Summary:
        d = self.diagnosis_
        names = self.theta_names_[len(self.theta_names_) - len(targets.values) :]
        values = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, targets.values, strict=True))
        lines = [
            ("kernel", str(self.kernel_)),
            ("likelihood", targets.kind + (f" ({values})" if values else "")),
            ("log marginal likelihood", f"{self.log_marginal_likelihood_value_:.6g} (Laplace)"),
            ("rows", str(d.rows)),
            ("fit", f"{d.message}; {d.n_evaluations} evaluations on all rows"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            *[("note", note) for note in d.notes],
        ]
        numbers = {"log_marginal_likelihood": self.log_marginal_likelihood_value_, "n": d.rows, "notes": len(d.notes)}
        return Summary(repr(self), tuple(lines), numbers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
