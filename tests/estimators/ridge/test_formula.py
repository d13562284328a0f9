"""A ridge written out as a polynomial."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Linear, Polynomial
from mercer.errors import CapabilityError

X = np.random.default_rng(0).normal(size=(60, 2))


def test_features_of_polynomials_are_monomials():
    assert Polynomial(2).feature_names(X) == ["x0^2", "x0 x1", "x0", "x1^2", "x1", "1"]
    assert Polynomial(3, offset=0.0).feature_names(X) == ["x0^3", "x0^2 x1", "x0 x1^2", "x1^3"]
    assert (Linear() + 1.0).feature_names(X) == ["x0", "x1", "1"]
    assert len(Polynomial(4).feature_names(X)) == Polynomial(4).feature_map(X).shape[1]


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(2), Polynomial(3, offset=0.5), 2.0 * Polynomial(2) + Linear()], ids=str
)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_coefficients_are_those_of_the_function(kernel, intercept):
    y = 1.0 + X[:, 0] - 2.0 * X[:, 0] * X[:, 1]
    model = KernelRidge(kernel, alpha=0.1, fit_intercept=intercept).fit(X, y)
    new = np.random.default_rng(1).normal(size=(5, 2))
    values = sum(c * monomial(name, new) for name, c in model.polynomial_coefficients().items())
    np.testing.assert_allclose(values, model.predict(new), rtol=1e-9, atol=1e-9)


def monomial(name, new):
    value = np.ones(len(new))
    for factor in name.split() if name != "1" else []:
        column, _, power = factor[1:].partition("^")
        value = value * new[:, int(column)] ** int(power or 1)
    return value


def test_it_reads_as_a_polynomial():
    y = 1.0 + X[:, 0] - 2.0 * X[:, 0] * X[:, 1]
    model = KernelRidge(Polynomial(2), alpha=1e-9).fit(X, y)
    text = model.formula()
    assert text.startswith("1 + 1 x0 ") and "- 2 x0 x1" in text
    assert "- 2 x0 x1" in str(model)
    with pytest.raises(CapabilityError, match="is a polynomial"):
        KernelRidge(Gaussian(1.0)).fit(X, y).formula()


def test_rows_in_chunks_give_the_same_polynomial_or_the_same_refusal():
    y = 1.0 + X[:, 0] - 2.0 * X[:, 0] * X[:, 1]

    def chunks():
        for part in np.split(np.arange(60), 3):
            yield X[part], y[part]

    whole, streamed = (KernelRidge(Polynomial(2), alpha=0.1).fit(*data) for data in ((X, y), (chunks,)))
    expected = whole.polynomial_coefficients()
    assert streamed.polynomial_coefficients() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    with pytest.raises(CapabilityError, match="is a polynomial"):
        KernelRidge(Gaussian(1.0)).fit(chunks).formula()
