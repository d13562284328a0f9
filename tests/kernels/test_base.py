"""The public face: diag, feature_map, resolve and the median rule, and what is shared by all kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mercer import Exponential, Gaussian, Laplacian, Linear, Matern, Spectrum
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import KERNELS

X = np.random.default_rng(0).normal(size=(50, 3))


def test_the_median_is_that_of_the_distances() -> None:
    assert Gaussian("median").resolve(X) == Gaussian(float(np.median(pdist(X))))
    assert Matern(0.5, length_scale="median").resolve(X).length_scale == pytest.approx(np.median(pdist(X)))  # type: ignore[attr-defined]
    assert Laplacian("median").resolve(X).length_scale == pytest.approx(np.median(pdist(X, "cityblock")))  # type: ignore[attr-defined]


def test_equal_rows_are_left_out() -> None:
    twice = np.vstack([X, X, X])
    distances = pdist(twice)
    assert Gaussian("median").resolve(twice).length_scale == pytest.approx(np.median(distances[distances > 0]))  # type: ignore[attr-defined]


def test_if_nothing_is_left_it_is_one_with_a_note() -> None:
    with pytest.warns(UserWarning, match="all rows are equal"):
        assert Gaussian("median").resolve(np.ones((5, 2))) == Gaussian(1.0)
    with pytest.warns(UserWarning, match="median"):
        assert Gaussian("median").resolve(np.ones((1, 2))) == Gaussian(1.0)


def test_at_most_a_thousand_rows_with_a_fixed_seed() -> None:
    large = np.random.default_rng(0).normal(size=(3000, 2))
    first, second = (Gaussian("median").resolve(large) for _ in range(2))
    assert first == second
    # 1000 of 3000 rows: half a million pairs know the median of all to a percent
    assert first.length_scale == pytest.approx(np.median(pdist(large)), rel=0.02)  # type: ignore[attr-defined]


def test_the_median_does_not_feel_an_offset() -> None:
    plain, shifted = Gaussian("median").resolve(X), Gaussian("median").resolve(X + 1e6)
    assert shifted.length_scale == pytest.approx(plain.length_scale, rel=1e-9)  # type: ignore[attr-defined]


def test_resolving_goes_through_the_tree_with_the_data_each_term_sees() -> None:
    kernel = Gaussian("median").on(0) + 2.0 * Exponential("median").map(np.tanh).normalized() * Gaussian(3.0)
    assert kernel.unresolved
    found = kernel.resolve(X)
    assert not found.unresolved
    params = found.get_params()
    assert params["0__0__length_scale"] == pytest.approx(np.median(pdist(X[:, :1])))
    assert params["1__0__0__0__0__length_scale"] == pytest.approx(np.median(pdist(np.tanh(X))))
    assert params["1__1__length_scale"] == 3.0
    assert found.resolve(X) is found


UNRESOLVED = [Gaussian("median"), Linear() + Laplacian("median"), Gaussian("median").centered(X)]


@pytest.mark.parametrize("kernel", UNRESOLVED, ids=str)
def test_an_unresolved_kernel_has_no_values(kernel: Kernel) -> None:
    for ask in (kernel, kernel.diag):
        with pytest.raises(InputError, match=r'still has length_scale="median"; call k.resolve\(X\)'):
            ask(X)
    with pytest.raises(InputError, match="resolve"):
        kernel.pullback(X, weights=np.ones((50, 50)))


def test_resolving_what_needs_no_number_does_not_look_at_the_data() -> None:
    assert Spectrum(2).resolve(["ab"]) == Spectrum(2)


def test_k_of_x_is_k_of_x_and_x() -> None:
    kernel = Gaussian(1.5) * Matern(0.7) + Linear()
    assert np.array_equal(kernel(X), kernel(X, X))
    K = kernel(X)
    assert np.array_equal(K, K.T)


def test_read_only_data_stay_as_they_are() -> None:
    data = X.copy()
    data.flags.writeable = False
    for kernel in (Gaussian(), Laplacian(), Linear().normalized(), Gaussian((1.0, 2.0, 3.0)).centered(data)):
        kernel(data)
        kernel(data, data[:3])
        kernel.diag(data)
    assert np.array_equal(data, X)


@pytest.mark.parametrize("kind", KERNELS.values(), ids=str)
def test_every_kernel_has_a_docstring_that_starts_with_its_formula(kind: type[Kernel]) -> None:
    assert kind.__doc__
    assert "\n" not in kind.__doc__.splitlines()[0]


def test_calling_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (Gaussian(), Exponential(), Matern(0.7), Matern(4.2), Laplacian(), Linear().normalized()):
            kernel(np.vstack([X, X[:2], np.zeros((1, 3))]))
            kernel.pullback(np.vstack([X, X[:2]]), weights=np.ones((52, 52)))
