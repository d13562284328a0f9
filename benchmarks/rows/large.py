"""Large fits on landmarks and Fourier features, against scikit-learn's Nystroem and RBFSampler with ridge, on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Claim, Peer, Row

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def rows_of(name: str, most: int | None, share: float = 0.9, seed: int = 0) -> tuple[NDArray[Any], ...]:
    """Training and test rows of a real set by seed, columns standardized on the training part."""
    z = np.load(DATA / f"{name}.npz")
    if "X_train" in z:
        X, y, new, truth = (z[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        X, new = X.astype(np.float64), new.astype(np.float64)
        order = np.random.default_rng(seed).permutation(len(y))[:most]
        return X[order] / 255.0, y[order], new / 255.0, truth
    X, y = z["X"].astype(np.float64), z["y"]
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    n = int(share * len(order))
    X, y = X[order], y[order]
    spread = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X[:n], y[:n], X[n:], y[n:]


def regression_rows(name: str, most: int | None) -> tuple[NDArray[Any], ...]:
    """The same with targets in units of the training standard deviation."""
    X, y, new, truth = rows_of(name, most)
    middle, spread = y.mean(), y.std()
    return X, (y - middle) / spread, new, (truth - middle) / spread


def rmse(data: Any, predicted: NDArray[Any]) -> dict[str, float]:
    """Root mean squared test error in units of the standard deviation of the training targets."""
    return {"test RMSE": float(np.sqrt(np.mean((data[3] - predicted) ** 2)))}


def errors(data: Any, predicted: NDArray[Any]) -> dict[str, float]:
    """The share of test rows in the wrong class."""
    return {"test error": float(np.mean(data[3] != predicted))}


def regression(
    title: str, name: str, m: int, scale: float, alpha: float, most: int | None = None, *, fourier: bool = False
) -> Row:
    """KernelRidge on features against a pipeline of the same features and Ridge."""
    solver = "fourier" if fourier else "nystroem"

    def ours(data: Any) -> Any:
        import mercer

        kernel = mercer.Gaussian(scale)
        model = mercer.KernelRidge(kernel, alpha=alpha, fit_intercept=True, solver=solver, n_components=m)
        return model.fit(*data[:2]).predict(data[2])

    def theirs(data: Any) -> Any:
        from sklearn.kernel_approximation import Nystroem, RBFSampler
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        kind = RBFSampler if fourier else Nystroem
        model = make_pipeline(kind(gamma=0.5 / scale**2, n_components=m, random_state=0), Ridge(alpha))
        return model.fit(*data[:2]).predict(data[2])

    def boosted(data: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(random_state=0).fit(*data[:2]).predict(data[2])

    peer = "RBFSampler + Ridge" if fourier else "Nystroem + Ridge"
    text = f"{title}: ridge on {m} features, Gaussian({scale:g}), alpha = {alpha:g}"
    return _row(f"{title}-{solver}", text, lambda: regression_rows(name, most), (ours, theirs, boosted), rmse, peer)


def classification(title: str, name: str, m: int, scale: float, alpha: float, most: int | None = None) -> Row:
    """KernelRidgeClassifier on landmarks against Nystroem and RidgeClassifier."""

    def ours(data: Any) -> Any:
        import mercer

        model = mercer.KernelRidgeClassifier(mercer.Gaussian(scale), alpha=alpha, solver="nystroem", n_components=m)
        return model.fit(*data[:2]).predict(data[2])

    def theirs(data: Any) -> Any:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import RidgeClassifier
        from sklearn.pipeline import make_pipeline

        features = Nystroem(gamma=0.5 / scale**2, n_components=m, random_state=0)
        return make_pipeline(features, RidgeClassifier(alpha)).fit(*data[:2]).predict(data[2])

    def boosted(data: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0).fit(*data[:2]).predict(data[2])

    peer, text = "Nystroem + RidgeClassifier", f"{title}: ridge on {m} landmarks, Gaussian({scale:g}), alpha = {alpha:g}"
    return _row(f"{title}-nystroem", text, lambda: rows_of(name, most), (ours, theirs, boosted), errors, peer)


def _row(name: str, title: str, data: Any, runs: tuple[Any, Any, Any], quality: Any, peer: str) -> Row:
    """A race of mercer, a pipeline of scikit-learn, and boosting beside them."""
    sklearn = {"modules": ("sklearn.kernel_approximation",), "package": "scikit-learn"}
    return Row(
        name=name,
        title=title,
        data=data,
        mercer=runs[0],
        peers=(
            Peer(name=peer, run=runs[1], once=True, **sklearn),  # type: ignore[arg-type]
            Peer(name="HistGradientBoosting", run=runs[2], once=True, rival=False, **sklearn),  # type: ignore[arg-type]
        ),
        claims=(Claim(measure="ratio", at_least=3.0, peer=peer),),
        agreement=None,  # other landmarks, other features: the test error is what can be compared
        quality=quality,
        repeats=1,
        long=True,
    )


def many_landmarks() -> Row:
    """The digits of MNIST on as many landmarks as the published numbers have."""

    def ours(data: Any) -> Any:
        import mercer

        kernel = mercer.Gaussian(5.0)
        model = mercer.KernelRidgeClassifier(
            kernel, alpha=0.01, solver="nystroem-cg", n_components=min(15_000, len(data[0])), memory="14 GB"
        )
        return model.fit(*data[:2]).predict(data[2])

    return Row(
        name="mnist-many-landmarks",
        title="MNIST: ridge on 15,000 landmarks of 60,000 rows by conjugate gradients",
        data=lambda: rows_of("mnist", None),
        mercer=ours,
        peers=(),
        claims=(Claim(measure="test error", at_most=0.016),),
        agreement=None,
        quality=errors,
        repeats=1,
        long=True,
    )


def terrain(most: int | None = None) -> Row:
    """The heights of a tile of terrain: 1.3 million rows in two columns, length scale and penalty chosen on the way."""

    def data() -> Any:
        z = np.load(DATA / "reg_srtm_n43e006.npz")
        lat, lon = np.meshgrid(z["lat"], z["lon"], indexing="ij")
        X, y = np.column_stack([lat.ravel(), lon.ravel()]).astype(np.float64), z["Z"].ravel().astype(np.float64)
        X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
        order = np.random.default_rng(0).permutation(len(y))[:most]
        n = int(len(order) / 1.11)
        return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]

    def ours(data: Any) -> Any:
        import mercer

        kernel = mercer.Matern(1.5, length_scale=0.02)
        search = mercer.KernelRidgeCV(
            kernel, alphas=[1e-4, 1e-3, 1e-2], length_scales=[0.01, 0.02], solver="fourier", fit_intercept=True
        )
        model = search.fit(*data[:2])
        print(f"chosen {model.best_params_}; error at lag zero {model._fitted.features.missed:.1e}")
        return model.predict(data[2])

    def boosted(data: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(max_iter=1000, max_leaf_nodes=255, early_stopping=False, random_state=0)
        return model.fit(*data[:2]).predict(data[2])

    def near(data: Any) -> Any:  # the kernel that the search above chose, and the heights' own variance
        import mercer

        kernel = float(np.var(data[1])) * mercer.Matern(1.5, length_scale=0.02)
        model = mercer.GaussianProcessRegressor(kernel, noise=1.0, optimizer=None, normalize_y=False, solver="vecchia")
        return model.fit(*data[:2]).predict(data[2])

    def meters(data: Any, predicted: NDArray[Any]) -> dict[str, float]:
        return {"test RMSE (m)": float(np.sqrt(np.mean((data[3] - predicted) ** 2)))}

    return Row(
        name="terrain-fourier",
        title="heights, 1.3 million rows in two columns: Matern 3/2 on a grid of frequencies, tuned, against boosting",
        data=data,
        mercer=ours,
        peers=(
            Peer(name="mercer, near rows", run=near, modules=("mercer",), package="mercer", once=True, rival=False),
            Peer(
                name="HistGradientBoosting",
                run=boosted,
                modules=("sklearn.ensemble",),
                package="scikit-learn",
                once=True,
                rival=False,
            ),
        ),
        claims=(Claim(measure="seconds", at_most=60.0), Claim(measure="test RMSE (m)", at_most=6.0)),
        agreement=None,
        quality=meters,
        repeats=1,
        long=True,
    )


ROWS = [
    regression("flights", "reg_flights", 500, 1.5, 1.0),
    regression("flights", "reg_flights", 500, 1.5, 1.0, fourier=True),
    classification("covtype", "cls_covtype", 500, 3.0, 1.0),
    classification("donors", "novelty_donors", 500, 2.0, 1.0),
    classification("mnist", "mnist", 2000, 5.0, 0.1),
    classification("mnist-1000", "mnist", 1000, 5.0, 0.1),
    many_landmarks(),
    terrain(),
]
