"""Gaussian processes against scikit-learn and GPyTorch: whole fits, and single evaluations with gradient."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Claim, Peer, Row, Work

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

Array = NDArray[Any]


def synthetic(n: int = 1500, d: int = 10) -> tuple[Array, Array]:
    """A smooth function of a few of d columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + np.cos(X[:, 3]) + 0.2 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def real(name: str, n: int | None) -> tuple[Array, Array]:
    """At most n rows of a real set by seed, standardized."""
    with np.load(DATA / f"reg_{name}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[rows], y[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def rehearsal(d: int) -> tuple[Array, Array]:
    """A small set, after the compiled loops are loaded that so few rows would not ask for."""
    import mercer
    from mercer.kernels.evaluation import Evaluation

    X, y = synthetic(300, d)
    Evaluation(mercer.Gaussian((1.0,) * d), X, compiled=True).block(slice(0, 8), slice(0, 8))
    return X, y


# -- whole fits --------------------------------------------------------------------------------------------------------


def fit_mercer(data: Any) -> float:
    """The log marginal likelihood of a fit from unit length scales, without priors or a mean; restarts as by default."""
    import mercer

    X, y = data
    kernel = 1.0 * mercer.Gaussian((1.0,) * X.shape[1])
    model = mercer.GaussianProcessRegressor(
        kernel, mean="zero", normalize_y=False, priors=None, solver="exact", verbose=False
    )
    return float(model.fit(X, y).log_marginal_likelihood_value_)


def fit_sklearn(data: Any) -> float:
    """The same model and start by scikit-learn, with its default optimizer."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y = data
    wide = (1e-3, 1e4)
    kernel = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(np.ones(X.shape[1]), wide) + WhiteKernel(0.1, (1e-8, 1e3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y).log_marginal_likelihood_value_)


def shortfall(mine: float, theirs: float) -> float:
    """How far mercer stays below the peer's final log marginal likelihood; 0 where it is higher."""
    return max(0.0, theirs - mine)


def whole_fit(name: str, title: str, data: Any, n: int, d: int) -> Row:
    """Time to the peer's final log marginal likelihood, within 1e-2."""
    return Row(
        name=name,
        title=f"Gaussian process, {title}, ARD Gaussian + noise: a whole fit that ends at least as high, within 1e-2",
        data=data,
        mercer=fit_mercer,
        peers=(Peer(name="scikit-learn", run=fit_sklearn, modules=("sklearn.gaussian_process",), package="scikit-learn"),),
        claims=(Claim(measure="ratio", at_least=6.0), Claim(measure="peak_bytes", at_most=4.0 * 8 * n * n)),
        agreement=shortfall,
        tolerance=1e-2,
        work=Work(dtype="float64", flops=20 * (n**3 + 2.0 * n * n * d), exps=20 * n * n / 2),
        quality=lambda _, value: {"log marginal likelihood": value},
        rehearsal=lambda: rehearsal(d),
        repeats=2,
    )


# -- one value and gradient --------------------------------------------------------------------------------------------

SCALE, NOISE = 1.3, 0.05


def lengths(d: int) -> Array:
    """Length scales at which evaluations are compared."""
    return np.linspace(1.5, 4.0, d)


def evaluate_mercer(data: Any) -> Array:
    """Log marginal likelihood and gradient in the logarithms of scale, length scales and noise."""
    import mercer
    from mercer.estimators.gp.exact import ExactEngine
    from mercer.estimators.gp.problem import GPProblem

    X, y = data
    kernel = SCALE * mercer.Gaussian(tuple(lengths(X.shape[1]).tolist()))
    found = ExactEngine().evidence(GPProblem(X, y[:, None], 1), kernel, NOISE, True)
    return np.concatenate([[found.value], found.kernel_gradient, [found.noise_gradient]])


def evaluate_gpytorch(data: Any) -> Array:
    """The same by GPyTorch in double precision and Cholesky mode."""
    import gpytorch
    import torch

    X, y = (torch.from_numpy(part) for part in data)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = _exact_gp(gpytorch, X, y, likelihood).double()
    model.covar_module.outputscale = SCALE
    model.covar_module.base_kernel.lengthscale = torch.from_numpy(lengths(X.shape[1]))
    likelihood.noise = NOISE
    model.train()
    likelihood.train()
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    with gpytorch.settings.fast_computations(False, False, False):
        value = loss(model(X), y) * len(y)
        value.backward()

    def in_logarithms(raw: Any, number: Array, floor: float = 0.0) -> Array:
        # number = floor + softplus(raw), so d number / d raw = 1 - exp(floor - number)
        return raw.grad.numpy().ravel() * number / (1.0 - np.exp(floor - number))

    least = float(likelihood.noise_covar.raw_noise_constraint.lower_bound)
    return np.concatenate(
        [
            [float(value.detach())],
            in_logarithms(model.covar_module.raw_outputscale, np.array([SCALE])),
            in_logarithms(model.covar_module.base_kernel.raw_lengthscale, lengths(X.shape[1])),
            in_logarithms(likelihood.noise_covar.raw_noise, np.array([NOISE]), least),
        ]
    )


def _exact_gp(gpytorch: Any, X: Any, y: Any, likelihood: Any) -> Any:
    class Model(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            kernel = gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    return Model()


def evaluate_sklearn(data: Any) -> Array:
    """The same by scikit-learn, for scale."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y = data
    kernel = ConstantKernel(SCALE) * RBF(lengths(X.shape[1])) + WhiteKernel(NOISE)
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    return np.concatenate([[value], gradient])


def worst(mine: Array, theirs: Array) -> float:
    """The largest difference of value and gradient, relative to the size of each."""
    return float(np.max(np.abs(mine - theirs) / (1.0 + np.abs(theirs))))


def one_evaluation(name: str, title: str, data: Any, n: int, d: int) -> Row:
    """Value and gradient at one setting."""
    return Row(
        name=name,
        title=f"log marginal likelihood and gradient, {title}, ARD Gaussian + noise, one evaluation",
        data=data,
        mercer=evaluate_mercer,
        peers=(
            Peer(name="GPyTorch", run=evaluate_gpytorch, modules=("torch", "gpytorch"), package="gpytorch"),
            Peer(name="scikit-learn", run=evaluate_sklearn, modules=("sklearn.gaussian_process",), package="scikit-learn"),
        ),
        claims=(Claim(measure="ratio", at_least=3.0, peer="GPyTorch"), Claim(measure="peak_bytes", at_most=4.0 * 8 * n * n)),
        agreement=worst,
        tolerance=1e-6,
        work=Work(dtype="float64", flops=n**3 + 4.0 * n * n * d, exps=n * n / 2),
        rehearsal=lambda: rehearsal(d),
        repeats=5,
    )


ROWS = [
    one_evaluation("gp-evaluation-n1500", "n = 1500, d = 10", synthetic, 1500, 10),
    one_evaluation("gp-evaluation-kin8nm", "kin8nm, n = 1500, d = 8", lambda: real("kin8nm", 1500), 1500, 8),
    one_evaluation("gp-evaluation-energy", "energy, n = 768, d = 8", lambda: real("energy", None), 768, 8),
    whole_fit("gp-fit-n1500", "n = 1500, d = 10", synthetic, 1500, 10),
    whole_fit("gp-fit-kin8nm", "kin8nm, n = 1500, d = 8", lambda: real("kin8nm", 1500), 1500, 8),
    whole_fit("gp-fit-energy", "energy, n = 768, d = 8", lambda: real("energy", None), 768, 8),
]
