"""Mean, standard deviation, likelihood and gradient against scikit-learn's and GPyTorch's, at fixed hyper-parameters."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, ExpSineSquared, RationalQuadratic, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as PeerMatern

import mercer
from mercer import Constant, Gaussian, GaussianProcessRegressor, Linear, Matern, Periodic

NOISE = 0.07
FIXED = {"mean": "zero", "normalize_y": False, "optimizer": None, "noise": NOISE}
SCALES = [0.8, 1.7, 3.0]
ALL = slice(None)
PAIRS = {
    "gaussian ard": (1.3 * Gaussian(SCALES), ConstantKernel(1.3) * RBF(SCALES), ALL),
    "matern 3/2": (0.6 * Matern(1.5, length_scale=1.2), ConstantKernel(0.6) * PeerMatern(1.2, nu=1.5), ALL),
    "matern 5/2 ard": (0.6 * Matern(2.5, length_scale=SCALES), ConstantKernel(0.6) * PeerMatern(SCALES, nu=2.5), ALL),
    "rational quadratic": (
        2.0 * mercer.RationalQuadratic(1.5, shape=0.7), ConstantKernel(2.0) * RationalQuadratic(1.5, 0.7), ALL,
    ),
    "sum": (
        1.3 * Gaussian(0.9) + 0.5 * Linear() + Constant(0.2),
        ConstantKernel(1.3) * RBF(0.9) + ConstantKernel(0.5) * DotProduct(0.0, sigma_0_bounds="fixed") + ConstantKernel(0.2),
        ALL,
    ),
    "periodic": (1.1 * Periodic(1.3, period=2.0), ConstantKernel(1.1) * ExpSineSquared(1.3, 2.0), slice(0, 1)),
}  # fmt: skip


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(120, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=120), rng.normal(size=(40, 3))


@pytest.mark.parametrize("name", PAIRS)
def test_everything_equals_scikit_learn(data: tuple, name: str) -> None:
    X, y, Z = data
    kernel, other, columns = PAIRS[name]
    X, Z = np.ascontiguousarray(X[:, columns]), np.ascontiguousarray(Z[:, columns])
    gp = GaussianProcessRegressor(kernel, **FIXED).fit(X, y)
    latent = Peer(other, alpha=NOISE, optimizer=None).fit(X, y)
    noisy = Peer(other + WhiteKernel(NOISE), alpha=0.0, optimizer=None).fit(X, y)
    mean, std = gp.predict(Z, return_std=True)
    np.testing.assert_allclose(mean, latent.predict(Z), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std, latent.predict(Z, return_std=True)[1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        gp.predict(Z, return_std=True, include_noise=True)[1], noisy.predict(Z, return_std=True)[1], rtol=1e-6
    )
    np.testing.assert_allclose(gp.predict(Z, return_cov=True)[1], latent.predict(Z, return_cov=True)[1], atol=1e-8)
    value, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    peer_value, peer_gradient = noisy.log_marginal_likelihood(noisy.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(peer_value, abs=1e-6)
    # scikit-learn orders its parameters by kernel, ours by tree: the same numbers
    np.testing.assert_allclose(np.sort(gradient), np.sort(peer_gradient), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gp.alpha_, latent.alpha_, rtol=1e-6, atol=1e-8)


def test_normalized_targets_and_their_likelihood(data: tuple) -> None:
    X, y, Z = data
    y = 50.0 * y + 7.0
    sd = y.std()
    gp = GaussianProcessRegressor(sd**2 * 1.3 * Gaussian(1.0), noise=sd**2 * NOISE, mean="zero", optimizer=None).fit(X, y)
    peer = Peer(ConstantKernel(1.3) * RBF(1.0), alpha=NOISE, optimizer=None, normalize_y=True).fit(X, y)
    for mine, theirs in zip(gp.predict(Z, return_std=True), peer.predict(Z, return_std=True), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    # theirs is the density of the normalized targets, ours that of y
    assert gp.log_marginal_likelihood_value_ == pytest.approx(
        peer.log_marginal_likelihood_value_ - len(y) * np.log(sd), abs=1e-6
    )


def test_the_same_on_real_data_and_the_fit_is_no_worse(shared_data: Path) -> None:
    with np.load(shared_data / "reg_energy.npz") as file:
        X, y = file["X"][::4].astype(float), file["y"][::4].astype(float).ravel()
    X = (X - X.mean(0)) / X.std(0)
    y = (y - y.mean()) / y.std()
    d = X.shape[1]
    kernel = 1.0 * Gaussian([1.0] * d)
    peer = Peer(ConstantKernel(1.0) * RBF([1.0] * d) + WhiteKernel(0.1), alpha=0.0, optimizer=None).fit(X, y)
    gp = GaussianProcessRegressor(kernel, noise=0.1, mean="zero", normalize_y=False, optimizer=None).fit(X, y)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    gradients = [
        m.log_marginal_likelihood(m.theta_ if m is gp else m.kernel_.theta, eval_gradient=True)[1] for m in (gp, peer)
    ]
    np.testing.assert_allclose(*gradients, rtol=1e-6, atol=1e-6)
    best = Peer(
        ConstantKernel(1.0, (1e-6, 1e6)) * RBF([1.0] * d, (1e-3, 1e5)) + WhiteKernel(0.1, (1e-8, 1e2)), alpha=0.0
    ).fit(X, y)
    fitted = GaussianProcessRegressor(kernel, mean="zero", normalize_y=False, priors=None).fit(X, y)
    assert fitted.log_marginal_likelihood_value_ >= best.log_marginal_likelihood_value_ - 1e-2


def test_everything_equals_gpytorch(data: tuple) -> None:
    torch = pytest.importorskip("torch", reason="GPyTorch is in the extra bench-gp")
    gpytorch = pytest.importorskip("gpytorch", reason="GPyTorch is in the extra bench-gp")
    X, y, Z = data
    x, t = torch.tensor(X, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)

    class Model(gpytorch.models.ExactGP):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__(x, t, gpytorch.likelihoods.GaussianLikelihood().double())
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=3)).double()

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))

    model = Model().double()
    model.likelihood.noise = NOISE
    model.covar_module.outputscale = 1.3
    model.covar_module.base_kernel.lengthscale = torch.tensor([SCALES], dtype=torch.float64)
    gp = GaussianProcessRegressor(1.3 * Gaussian(SCALES), **FIXED).fit(X, y)
    with gpytorch.settings.fast_computations(False, False, False):
        model.train()
        value = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)(model(x), t) * len(y)
        value.backward()
        mine, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
        assert mine == pytest.approx(value.item(), rel=1e-6)

        def in_logs(name: str, numbers) -> np.ndarray:
            # raw = inverse softplus: d/dlog v = d/draw * v / sigmoid(raw); noise is softplus(raw) + 1e-4
            raw = dict(model.named_parameters())[name]
            return (raw.grad / torch.sigmoid(raw.detach())).numpy().ravel() * np.ravel(numbers)

        theirs = np.concatenate([
            in_logs("covar_module.raw_outputscale", 1.3),
            in_logs("covar_module.base_kernel.raw_lengthscale", SCALES),
            in_logs("likelihood.noise_covar.raw_noise", NOISE),
        ])  # fmt: skip
        np.testing.assert_allclose(gradient, theirs, rtol=1e-6, atol=1e-6)
        model.eval()
        with torch.no_grad():
            latent = model(torch.tensor(Z, dtype=torch.float64))
            noisy = model.likelihood(latent)
        mean, std = gp.predict(Z, return_std=True)
        np.testing.assert_allclose(mean, latent.mean.numpy(), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(std, latent.stddev.numpy(), rtol=1e-6)
        np.testing.assert_allclose(gp.predict(Z, return_std=True, include_noise=True)[1], noisy.stddev.numpy(), rtol=1e-6)
