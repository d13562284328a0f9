"""Kernel PCA at the edges: rank, constants, one row, non-kernels, memory, files, interrupts, scikit-learn's checks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer
from mercer import Gaussian, KernelPCA, Linear, Polynomial, Precomputed, Spectrum
from mercer.estimators.progress import watched


def points(n: int = 90, d: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.5


def test_more_components_than_rank() -> None:
    X = points(30, 2)
    model = KernelPCA(Linear(), n_components=5, eigen_solver="eigh").fit(X)
    assert (model.eigenvalues_[2:] == 0).all() and not model.transform(X)[:, 2:].any()
    assert KernelPCA(Linear(), n_components=5, remove_zero_eig=True).fit(X).transform(X).shape == (30, 2)
    assert KernelPCA(Linear()).fit(X).transform(X).shape == (30, 2)
    assert KernelPCA(Linear(), n_components=50).fit(X).transform(X).shape == (30, 30)
    long = KernelPCA(Linear(), n_components=6, eigen_solver="lanczos").fit(points(300, 2))
    assert (long.eigenvalues_[2:] == 0).all() and not long.transform(X)[:, 2:].any()


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Gaussian("median")])
@pytest.mark.parametrize("n", [1, 7])
def test_constant_data_and_one_row(kernel: Any, n: int) -> None:
    X = np.full((n, 3), 2.5)
    for q in (None, 1, 3):
        model = KernelPCA(kernel, n_components=q).fit(X)
        assert model.transform(X).shape == (n, 0 if q is None else min(q, n))
        np.testing.assert_allclose(model.transform(X), 0.0, atol=1e-6)
        np.testing.assert_allclose(model.eigenvalues_, 0.0, atol=1e-12)
        np.testing.assert_allclose(model.score_samples(X), 0.0, atol=1e-12)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)


def test_duplicate_rows() -> None:
    X = np.repeat(points(12), 5, axis=0)
    model = KernelPCA(Gaussian(1.0)).fit(X)
    assert len(model.eigenvalues_) == 11
    once = KernelPCA(Gaussian(1.0), n_components=11).fit(X[::5])
    np.testing.assert_allclose(model.eigenvalues_, 5 * once.eigenvalues_, rtol=1e-8)


def test_eigenvalues_that_all_coincide() -> None:
    X = 100.0 * np.arange(90.0)[:, None]  # no two rows are near: K is the identity, and K~ has 89 equal eigenvalues
    for solver in ("eigh", "lanczos"):
        model = KernelPCA(Gaussian(0.1), n_components=5, eigen_solver=solver).fit(X)
        np.testing.assert_allclose(model.eigenvalues_, 1.0, atol=1e-9)
        np.testing.assert_allclose(model.dual_coef_.T @ model.dual_coef_, np.eye(5), atol=1e-8)


def test_far_offsets_and_scales_change_nothing() -> None:
    X = points(60)
    near, far = KernelPCA(Gaussian(1.0), n_components=3), KernelPCA(Gaussian(1e-6), n_components=3)
    expected = near.fit(X).eigenvalues_
    np.testing.assert_allclose(near.fit(X + 1e6).eigenvalues_, expected, rtol=1e-6)
    np.testing.assert_allclose(far.fit(1e-6 * X).eigenvalues_, expected, rtol=1e-9)


def test_a_function_that_is_no_kernel_is_refused() -> None:
    for solver, n in (("eigh", 60), ("lanczos", 300)):
        with pytest.raises(ValueError, match=r"not a kernel.*repair"):
            KernelPCA(mercer.Tanh(1.0, offset=-1.0), n_components=2, eigen_solver=solver).fit(points(n, 2))
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(Precomputed(), n_components=2).fit(-np.eye(60))


def test_bad_input_is_refused() -> None:
    X = points(20)
    with pytest.raises(ValueError, match="NaN"):
        KernelPCA().fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="n_components must be a whole number"):
        KernelPCA(n_components=0).fit(X)
    with pytest.raises(ValueError, match="n_components must be a whole number"):
        KernelPCA(n_components=0.5).fit(X)
    with pytest.raises(ValueError, match="called 'lanczos' here"):
        KernelPCA(eigen_solver="arpack").fit(X)
    with pytest.raises(ValueError, match="one of auto, eigh"):
        KernelPCA(eigen_solver="magic").fit(X)
    with pytest.raises(ValueError, match="finitely many features"):
        KernelPCA(Gaussian(1.0), eigen_solver="primal").fit(X)
    with pytest.raises(ValueError, match="features"):
        KernelPCA(n_components=2).fit(X).transform(X[:, :2])
    with pytest.raises(ValueError, match="finite number >= 0"):
        KernelPCA(tol=-1.0).fit(X)
    with pytest.raises(ArithmeticError, match="raise max_iter"):
        KernelPCA(Gaussian(0.3), n_components=20, eigen_solver="lanczos", max_iter=20).fit(points(300))
    with pytest.raises(TypeError):
        KernelPCA(Gaussian(1.0), 2)
    with pytest.raises(ValueError, match="every sample weight must be > 0"):
        KernelPCA(Precomputed()).fit(np.eye(3), sample_weight=[1.0, 0.0, 1.0])


# -- plan, files, interrupts, scikit-learn's checks ---------------------------------------------------------------------


def test_the_plan_names_the_route() -> None:
    X = points(3000)
    assert mercer.plan(KernelPCA(Linear(), n_components=3), X).route.solver == "primal"
    assert mercer.plan(KernelPCA(Gaussian(1.0), n_components=3), X).route.solver == "lanczos"
    assert mercer.plan(KernelPCA(Gaussian(1.0), n_components=2000), X).route.solver == "eigh"
    assert mercer.plan(KernelPCA(Gaussian(1.0), n_components=3), X[:100]).route.solver == "eigh"
    small = mercer.plan(KernelPCA(Gaussian(1.0), n_components=3), X, memory="20 MB")
    assert small.route.solver == "landmarks" and "250 landmarks" in str(small)


def test_leaving_the_exact_route_is_announced() -> None:
    X = points(600)
    with pytest.warns(UserWarning, match="landmarks is taken, which is not exact"):
        model = KernelPCA(Gaussian(1.0), n_components=3, memory="2.8 MB").fit(X)
    assert model.route_.solver == "landmarks"
    with pytest.raises(MemoryError, match="no route fits"):
        KernelPCA(Gaussian(1.0), n_components=3, memory="10 KB").fit(X)


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (KernelPCA(Gaussian("median"), n_components=3), points(50)),
        (KernelPCA(Gaussian(1.0), n_components=3, fit_inverse_transform=True), points(50)),
        (KernelPCA(Polynomial(2), n_components=3, eigen_solver="primal"), points(50)),
        (KernelPCA(Gaussian(1.0), n_components=3, eigen_solver="landmarks", n_landmarks=20), points(50)),
        (KernelPCA(Spectrum(p=2), n_components=2), ["banana", "ananas", "kiwi", "kiwano"]),
    ],
)
def test_save_and_load(model: KernelPCA, X: Any, tmp_path: Any) -> None:
    model.fit(X)
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_allclose(loaded.transform(X), model.transform(X), atol=1e-14)  # memory order may differ
    np.testing.assert_allclose(loaded.score_samples(X), model.score_samples(X), atol=1e-14)
    back, same = loaded.denoise(X[:3]), model.denoise(X[:3])
    assert back == same if isinstance(back, list) else np.allclose(back, same, atol=1e-10)


def test_an_interrupted_fit_leaves_the_model_as_it_was() -> None:
    model = KernelPCA(Gaussian(1.0), n_components=3, eigen_solver="lanczos").fit(points(300))
    before = model.eigenvalues_.copy()

    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watched(stop):
        model.fit(points(300, seed=5))
    np.testing.assert_array_equal(model.eigenvalues_, before)


def test_the_summary_says_what_was_found() -> None:
    text = str(KernelPCA(Gaussian(1.0), n_components=3).fit(points(50)))
    assert "components" in text and "% of the variance" in text and "eigh" in text


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(KernelPCA(n_components=2))),
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", ""),
)
def test_check_estimator(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
