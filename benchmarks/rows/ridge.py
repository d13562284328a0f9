"""Ridge against scikit-learn and himalaya, on real data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.agreement import relative
from benchmarks.row import Claim, Peer, Row, Timed, Work

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ALPHAS = np.logspace(-4, 1, 20)
#: Length scales in units of the median distance.
SCALES = 2.0 ** (np.arange(5, -5, -1) / 2)


def split(name: str, n: int, n_test: int = 2000, seed: int = 0) -> tuple[NDArray[Any], ...]:
    """n training and n_test test rows of a real set by seed, standardized on the training part."""
    z = np.load(DATA / f"{name}.npz")
    X, y = z["X"].astype(np.float64), z["y"].astype(np.float64)
    rows = np.random.default_rng(seed).permutation(len(y))[: n + n_test]
    X, y = X[rows], y[rows]
    spread = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    y = (y - y[:n].mean()) / y[:n].std()
    return X[:n], y[:n], X[n:], y[n:]


def error(data: Any, predicted: NDArray[Any]) -> dict[str, float]:
    """Root mean squared test error in units of the standard deviation of the training targets."""
    return {"test RMSE": float(np.sqrt(np.mean((data[3] - predicted) ** 2)))}


def kernel_ridge(n: int = 10_000) -> Row:
    """One fit and its predictions."""
    scale, alpha = 2.0, 0.1

    def ours(data: Any) -> Any:
        import mercer

        return mercer.KernelRidge(mercer.Gaussian(scale), alpha=alpha).fit(*data[:2]).predict(data[2])

    def theirs(data: Any) -> Any:
        from sklearn.kernel_ridge import KernelRidge

        return KernelRidge(kernel="rbf", gamma=0.5 / scale**2, alpha=alpha).fit(*data[:2]).predict(data[2])

    return Row(
        name="kernel-ridge-n10000" if n == 10_000 else f"kernel-ridge-n{n}",
        title=f"KernelRidge fit and predict, kin40k, n = {n}, d = 8, 2000 test rows, alpha = {alpha}",
        data=lambda: split("reg_kin40k", n),
        mercer=ours,
        peers=(Peer(name="scikit-learn", run=theirs, modules=("sklearn.kernel_ridge",), package="scikit-learn"),),
        claims=(
            Claim(measure="ratio", at_least=2.0),
            Claim(measure="peak_bytes", at_most=1.15 * n * n * 8),
        ),
        agreement=relative,
        tolerance=1e-8,
        work=Work(dtype="float64", flops=n**3 / 3 + n * n * 8, exps=n * n / 2),
        quality=error,
        repeats=3,
        long=n > 3000,
    )


def surface(n: int = 2000, n_alphas: int = 20, n_scales: int = 10) -> Row:
    """The whole surface of alphas and length scales."""
    alphas, scales = ALPHAS[:n_alphas], SCALES[:n_scales]

    def center(X: NDArray[Any]) -> float:
        import mercer

        return float(mercer.Gaussian("median").resolve(X).get_params()["length_scale"])

    def ours(data: Any) -> Any:
        import mercer

        X, y, new, _ = data
        model = mercer.KernelRidgeCV(alphas=alphas, length_scales=center(X) * scales).fit(X, y)
        return model.predict(new)

    def search(n_jobs: int | None) -> Any:
        def theirs(data: Any) -> Any:
            from sklearn.kernel_ridge import KernelRidge
            from sklearn.model_selection import GridSearchCV

            X, y, new, _ = data
            grid = {"alpha": alphas, "gamma": 0.5 / (center(X) * scales) ** 2}
            model = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5, scoring="neg_mean_squared_error", n_jobs=n_jobs)
            return model.fit(X, y).predict(new)

        return theirs

    return Row(
        name="ridge-surface-n2000" if n == 2000 else f"ridge-surface-n{n}",
        title=f"{n_alphas} alphas x {n_scales} length scales, kin8nm, n = {n}: leave-one-out against GridSearchCV(cv=5)",
        data=lambda: split("reg_kin8nm", n),
        mercer=ours,
        peers=(
            Peer(name="GridSearchCV", run=search(None), modules=("sklearn.model_selection",), package="scikit-learn"),
            Peer(name="GridSearchCV n_jobs=2", run=search(2), modules=("sklearn.model_selection",), package="scikit-learn"),
        ),
        claims=(
            Claim(measure="ratio", at_least=20.0, peer="GridSearchCV"),
            Claim(measure="ratio", at_least=8.0, peer="GridSearchCV n_jobs=2"),
        ),
        agreement=lambda mine, theirs: float(np.sqrt(np.mean((mine - theirs) ** 2))),
        work=Work(dtype="float64", flops=n_scales * (8 / 3) * n**3),
        quality=error,
        repeats=2,
        long=n > 500,
    )


def many_targets(n: int = 2000, n_targets: int = 500) -> Row:
    """Alphas alone, one per target, many targets that share one kernel."""

    def data() -> Any:
        X, y, new, _ = split("reg_kin8nm", n)
        rng = np.random.default_rng(1)
        mixing = rng.standard_normal((X.shape[1], n_targets))
        clean = np.sin(X @ mixing) + np.multiply.outer(y, rng.standard_normal(n_targets))
        noise = rng.standard_normal((n, n_targets)) * rng.uniform(0.1, 3.0, n_targets)
        truth = np.sin(new @ mixing)
        return X, clean + noise, new, truth

    def ours(data: Any) -> Any:
        import mercer

        model = mercer.KernelRidgeCV(mercer.Gaussian(3.0), alphas=ALPHAS, length_scales=[3.0], alpha_per_target=True)
        return model.fit(*data[:2]).predict(data[2])

    def theirs(data: Any) -> Any:
        from himalaya.kernel_ridge import KernelRidgeCV

        model = KernelRidgeCV(alphas=ALPHAS, kernel="rbf", kernel_params={"gamma": 0.5 / 9.0}, cv=5, warn=False)
        return model.fit(*data[:2]).predict(data[2])

    return Row(
        name="ridge-many-targets" if n_targets == 500 else f"ridge-many-targets-{n_targets}",
        title=f"20 alphas, one chosen per target, {n_targets} targets, n = {n}: leave-one-out against himalaya's 5 folds",
        data=data,
        mercer=ours,
        peers=(Peer(name="himalaya", run=theirs, modules=("himalaya.kernel_ridge",), package="himalaya"),),
        claims=(Claim(measure="ratio", at_least=2.0),),
        agreement=lambda mine, other: float(np.sqrt(np.mean((mine - other) ** 2))),
        work=Work(dtype="float64", flops=(8 / 3) * n**3 + 2.0 * n * n * len(ALPHAS) * n_targets),
        repeats=3,
    )


def leave_one_out_paths(n: int = 2000) -> Row:
    """The tridiagonal form against eigenvectors: both are mercer's own, and the surface takes the faster."""

    def data() -> Any:
        import mercer

        X, y, _, _ = split("reg_kin8nm", n)
        return mercer.Gaussian(2.0)(X), y

    def tridiagonal(data: Any) -> Any:
        from mercer.linalg.ridge.tridiagonal import TridiagonalPath

        return TridiagonalPath.from_gram(data[0].copy(), overwrite=True).leave_one_out(ALPHAS, data[1])

    def eigenvectors(data: Any) -> Any:
        from mercer.linalg.ridge.eigen import EigenFit, EigenPath

        return EigenFit(EigenPath.from_gram(data[0].copy(), overwrite=True), data[1]).leave_one_out(ALPHAS)

    return Row(
        name="loo-path-n2000" if n == 2000 else f"loo-path-n{n}",
        title=f"leave-one-out residuals at 20 alphas from a Gram matrix, n = {n}: tridiagonal form against eigenvectors",
        data=data,
        mercer=tridiagonal,
        peers=(Peer(name="eigenvectors", run=eigenvectors),),
        tolerance=1e-8,
        work=Work(dtype="float64", flops=(8 / 3) * n**3),
        repeats=3,
    )


def intervals(n: int = 8000) -> Row:
    """Time of intervals after a plain fit, against the fit itself."""

    def fitted(data: Any) -> Any:
        import mercer

        return mercer.KernelRidge(mercer.Gaussian(2.0), alpha=0.1).fit(*data[:2])

    def ours(data: Any) -> Any:
        model = fitted(data)
        start = time.perf_counter()
        interval = model.predict_interval(data[2])
        return Timed(time.perf_counter() - start, float(np.mean((interval[:, 0] <= data[3]) & (data[3] <= interval[:, 1]))))

    return Row(
        name="ridge-intervals" if n == 8000 else f"ridge-intervals-n{n}",
        title=f"predict_interval of 2000 rows after a plain KernelRidge, against that fit, kin40k, n = {n}",
        data=lambda: split("reg_kin40k", n),
        mercer=ours,
        peers=(Peer(name="the fit", run=fitted),),
        claims=(Claim(measure="share", at_most=2.5),),
        agreement=None,
        work=Work(dtype="float64", flops=2 * n**3 / 3),
        repeats=3,
        memory=False,
        long=n > 8000,
    )


ROWS = [intervals(), intervals(10_000), leave_one_out_paths(), kernel_ridge(), surface(), many_targets()]
