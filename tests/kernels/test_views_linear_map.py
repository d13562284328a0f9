"""k.linear(S): values, text, proofs, bad S."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, Linear, parse
from mercer.errors import InputError
from mercer.testing import check_kernel

X = np.random.default_rng(0).standard_normal((10, 3))


@pytest.mark.parametrize("S", [np.array([0.5, 0.0, 2.0]), np.random.default_rng(1).standard_normal((2, 3))])
def test_rows_are_mapped_first(S: np.ndarray) -> None:
    kernel = (Gaussian(1.3) + 0.5 * Linear()).linear(S)
    image = X * S if S.ndim == 1 else X @ S.T
    assert np.allclose(kernel(X), (Gaussian(1.3) + 0.5 * Linear())(image), atol=1e-14)
    assert parse(repr(kernel)) == kernel
    assert kernel.certificate().status == "valid"
    check_kernel(kernel, X)


def test_parameters_inside_are_reached_and_median_is_that_of_the_image() -> None:
    kernel = Gaussian("median").linear([1.0, 0.0, 0.0])
    assert kernel.resolve(X).get_params()["0__length_scale"] == Gaussian("median").resolve(X * [1.0, 0.0, 0.0]).length_scale  # type: ignore[attr-defined]
    assert kernel.set_params(**{"0__length_scale": 2.0}) == Gaussian(2.0).linear([1.0, 0.0, 0.0])


def test_a_map_that_forgets_columns_is_not_characteristic() -> None:
    assert "characteristic" in Gaussian(1.0).linear([1.0, 2.0, 3.0]).facts()
    assert Gaussian(1.0).linear([1.0, 0.0, 3.0]).facts() == {"stationary"}


@pytest.mark.parametrize("S", [[], "abc", [[1.0, np.nan]], np.zeros((2, 2, 2)), [1 + 2j]])
def test_bad_maps_are_refused(S: Any) -> None:
    with pytest.raises(InputError, match="linear takes"):
        Gaussian(1.0).linear(S)


def test_wrong_width_is_named() -> None:
    with pytest.raises(InputError, match="S has 2 columns, but X has 3"):
        Gaussian(1.0).linear([1.0, 2.0])(X)


def test_frequencies_are_those_of_the_image() -> None:
    S = np.random.default_rng(2).standard_normal((2, 3))
    measure = Gaussian(1.3).linear(S).spectral(3)
    assert np.allclose(measure.covariance(), S.T @ S / 1.3**2)
