"""Formulas for notebooks: every kernel has one, brackets balance, text is escaped."""

import numpy as np
import pytest

import mercer
from mercer import Bilinear, Constant, Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial, RationalQuadratic, Tanh
from mercer.testing import random_kernel

LEAVES = [
    Linear(), Bilinear(np.eye(2)), Bilinear(np.eye(6)), Polynomial(3), Polynomial(2, offset=0.0), Gaussian(0.5),
    Gaussian((1.0, 2.0)), Gaussian("median"), mercer.Exponential((1.0, 2.0)), Laplacian(1e-7), Matern(2.5),
    Matern(0.7, length_scale=(1.0, 3.0)), RationalQuadratic(), Periodic((1.0, 2.0)), Periodic("median"), Tanh(),
    Constant(2.0), mercer.Spectrum(3), mercer.Precomputed(),
    mercer.Function(np.dot), mercer.VertexHistogram(), Linear().on("a_b", "c%"), Linear().map(np.sin).weighted(np.cos),
]  # fmt: skip


@pytest.mark.parametrize("kernel", LEAVES, ids=str)
def test_every_kernel_has_a_formula(kernel):
    text = kernel._repr_latex_()
    assert text.startswith("$k(x, z) = ") and text.endswith("$")
    assert balanced(text)
    page = kernel._repr_html_()
    assert page.startswith("<div><code>") and page.endswith("</div>")


def test_random_trees_balance():
    rng = np.random.default_rng(0)
    for _ in range(60):
        kernel = random_kernel(rng, depth=3, width=3)[0]
        assert balanced(kernel._repr_latex_()), kernel


def test_the_formulas_of_the_lectures():
    assert Gaussian(2.0)._repr_latex_() == r"$k(x, z) = \exp\left(-\frac{\|x - z\|^2}{2 \cdot 2^2}\right)$"
    assert Polynomial(2, offset=1.0)._repr_latex_() == r"$k(x, z) = \left(\langle x, z \rangle + 1\right)^{2}$"
    assert (2.0 * Linear() + Constant(1.0))._repr_latex_() == r"$k(x, z) = 2 \, \langle x, z \rangle + 1$"
    assert "10^{-7}" in Laplacian(1e-7)._repr_latex_()


def test_text_in_html_is_escaped():
    page = Linear().on("<b>")._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "<td>0__length_scale</td><td>3</td>" in (Gaussian(3.0) + Linear())._repr_html_()


def balanced(text):
    pairs = [(r"\left", r"\right"), ("{", "}")]
    plain = text.replace(r"\{", "").replace(r"\}", "")
    return all(plain.count(a) == plain.count(b) for a, b in pairs)
