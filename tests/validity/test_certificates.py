"""Certificates: every rule prints its proof, statuses are right, and large trees cost no more than they must."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest

import mercer
from mercer import Bilinear, Constant, Function, Gaussian, Linear, Polynomial, Precomputed, Tanh
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.validity import certify
from mercer.validity.proofs import in_order


def _square(X):
    return np.asarray(X) ** 2


def _weight(X):
    return np.asarray(X)[:, 0]


def _inner(X, Z):
    return X @ Z.T


RULES = [
    (Linear(), "inner product", "c'XX'c = ||X'c||^2"),
    (Constant(2.0), "constant", "2.0 >= 0"),
    (Bilinear([[2.0, 1.0], [1.0, 2.0]]), "x'Bz with B psd", "Cholesky factorization"),
    (Polynomial(3, offset=0.5), "polynomial of the inner product", "offset c = 0.5 is >= 0"),
    (Polynomial(3, offset=0.0), "polynomial of the inner product", "offset c = 0.0 is >= 0"),
    (Gaussian(2.0), "normalized exponential of an inner product", "exp(<x, z>)"),
    (Gaussian((1.0, 2.0)), "normalized exponential of an inner product", "exp(<x, z>)"),
    (Gaussian("median"), "normalized exponential of an inner product", "exp(<x, z>)"),
    (mercer.Exponential(), "Bochner", "on every R^d"),
    (mercer.Laplacian(), "Bochner", "on every R^d"),
    (mercer.Matern(0.7), "Bochner", "on every R^d"),
    (mercer.RationalQuadratic(), "mixture of kernels", "Gaussian"),
    (mercer.Periodic(), "k(phi(x), phi(z))", "on every R^d"),
    (Tanh(0.0, offset=1.0), "constant", "tanh(1.0) >= 0"),
    (mercer.Spectrum(3), "explicit features", "substrings of length 3"),
    (mercer.VertexHistogram(), "explicit features", "node labels"),
    (Linear() + Gaussian(), "sum", "c'K1c + c'K2c"),
    (Linear() * Gaussian(), "product", "Schur"),
    (2.5 * Linear(), "scaling", "2.5 >= 0"),
    (0.0 * Tanh(), "constant", "the constant 0"),
    (Linear() ** 3, "power", "k times itself"),
    (Tanh() ** 0, "constant", "the constant 1"),
    (Linear().polynomial((1.0, 0.0, 2.0)), "polynomial with coefficients >= 0", "c0 >= 0"),
    (Linear().exp(), "exponential", "limit of"),
    (Linear().map(_square), "k(phi(x), phi(z))", "_square(x_i)"),
    (Linear().weighted(_weight), "f(x) k(x, z) f(z)", "diag(_weight(x_i))"),
    (Linear().normalized(), "normalization", "1 / sqrt(k(x, x))"),
    (Linear().centered(np.eye(3)), "centering", "mean of features"),
    (Linear().on(0, "age"), "k(phi(x), phi(z))", "keeps the columns 0, 'age'"),
]


@pytest.mark.parametrize(("kernel", "rule", "words"), RULES, ids=[f"{i}-{rule}" for i, (_, rule, _) in enumerate(RULES)])
def test_every_rule_prints_its_proof(kernel: Kernel, rule: str, words: str) -> None:
    certificate = kernel.certificate()
    assert certificate.status == "valid" and certificate.counterexample is None and certificate.proof is not None
    assert certificate.proof.rule == rule
    text = " ".join(str(certificate).split())
    assert rule in text and words in text and text.startswith(f"{kernel} is a kernel. Proof:")
    assert certificate.tree().splitlines()[0] == f"{kernel}   {rule}"
    assert json.loads(json.dumps(certificate.to_dict()))["proof"][-1]["rule"] == rule


@pytest.mark.parametrize("kernel", [kernel for kernel, _, _ in RULES], ids=range(len(RULES)))
def test_premises_come_before_conclusions_and_nothing_is_said_twice(kernel: Kernel) -> None:
    steps = list(in_order(kernel.certificate().proof))
    seen: set[int] = set()
    for step in steps:
        assert all(id(premise) in seen for premise in step.premises)
        seen.add(id(step))
    texts = [f"{step.kernel} {step.rule}" for step in steps]
    assert len(texts) == len(set(texts))
    assert steps[-1].kernel is kernel


def test_a_proof_in_words_is_numbered_and_refers_back() -> None:
    text = str((Linear() + 2.0 * Linear()).certificate())
    assert "[1] Linear() is a kernel (rule: inner product):" in text
    assert "[2] 2.0 * Linear() is a kernel (from [1] by the rule: scaling):" in text
    assert "[3] Linear() + 2.0 * Linear() is a kernel (from [1], [2] by the rule: sum):" in text


def test_maps_of_the_same_name_are_told_apart() -> None:
    first, second = (lambda X: X), (lambda X: -X)
    kernel = Linear().map(first) + Linear().map(second)
    rules = [step.rule for step in in_order(kernel.certificate().proof)]
    assert rules.count("k(phi(x), phi(z))") == 2


EVERYTHING = {"stationary", "characteristic", "characteristic on R^d", "universal"}


@pytest.mark.parametrize(
    ("kernel", "facts"),
    [
        (Gaussian(), EVERYTHING),
        (mercer.Matern(0.5) * mercer.Laplacian() + mercer.Periodic(), EVERYTHING),
        (Gaussian() + Linear(), {"characteristic", "universal"}),
        (mercer.Periodic(), {"stationary"}),
        (Linear(), set()),
        (Gaussian().on(0), {"stationary"}),
        (0.0 * Gaussian(), {"stationary"}),
        (Gaussian() * Tanh(), set()),
    ],
)
def test_facts_are_stated_for_valid_kernels_only(kernel: Kernel, facts: set[str]) -> None:
    certificate = kernel.certificate()
    assert certificate.facts == facts
    assert ("compact subset of R^d" in str(certificate)) == ("universal" in facts)


@pytest.mark.parametrize(
    ("kernel", "status"),
    [
        (Tanh(1.0, offset=-1.0), "invalid"),
        (Tanh(1.0, offset=1.0), "invalid"),
        (Tanh(1.0, offset=0.0), "invalid"),
        (Tanh(-1.0, offset=3.0), "invalid"),
        (Tanh(1e-6, offset=0.5), "invalid"),
        (Tanh(1.0, offset=20.0), "invalid"),
        (Tanh(0.0, offset=-1.0), "invalid"),
        (Tanh(0.0, offset=0.0), "valid"),
        (Gaussian() + Tanh(), "invalid"),
        (Linear() * Tanh() + Gaussian(), "invalid"),
        (Tanh().exp(), "invalid"),
        (Tanh().normalized(), "invalid"),
        (Function(_inner), "unproven"),
        (Function(_inner).exp(), "unproven"),
        (Gaussian() + Function(_inner), "unproven"),
        (Precomputed(), "unproven"),
        (2.0 * Precomputed(), "unproven"),
        (Gaussian("median") * Tanh(), "unproven"),
        (Tanh().on("age"), "unproven"),
    ],
    ids=str,
)
def test_status(kernel: Kernel, status: str) -> None:
    certificate = kernel.certificate()
    assert certificate.status == status
    assert (certificate.proof is not None) == (status == "valid")
    assert (certificate.counterexample is not None) == (status == "invalid")
    json.dumps(certificate.to_dict())


def test_unproven_says_which_term_lacks_a_rule_and_how_hard_was_searched() -> None:
    certificate = (Gaussian() + Function(_inner) * Linear()).certificate()
    text = " ".join(str(certificate).split())
    assert "is unproven: there is neither a proof nor a counter-example" in text
    assert "No rule implies that Function(_inner) is a kernel." in text
    assert "points were tried" in text and "downhill" in text
    assert [str(term) for term in certificate.lacking] == ["Function(_inner)"]
    assert "Function(_inner)   NO RULE" in certificate.tree()
    assert certificate.to_dict()["lacking"] == ["Function(_inner)"]
    assert "check_gram(K)" in str(Precomputed().certificate())
    assert "k.resolve(X)" in str((Gaussian("median") * Tanh()).certificate())


def test_given_points_are_used() -> None:
    X = np.array([[0.0], [1.0]])
    assert certify(Tanh(1.0, offset=-0.5), X).status == "invalid"
    assert certify(Tanh(1.0, offset=-0.5), X + 5.0).status == "unproven"
    assert certify(Gaussian("median") + Tanh(1.0, offset=-3.0), X).status == "invalid"


def _nested(depth: int, kernel: Kernel) -> Kernel:
    for i in range(depth):
        kernel = [kernel + 1.0, 2.0 * kernel, kernel * Constant(0.5), kernel.normalized(), kernel**2][i % 5]
    return kernel


def test_deep_trees_are_proved_and_refuted() -> None:
    started = time.perf_counter()
    certificate = _nested(100, Linear()).certificate()
    assert certificate.status == "valid"
    assert len(str(certificate)) < 40_000 and len(certificate.tree().splitlines()) > 100
    assert _nested(100, Tanh()).certificate().status in ("invalid", "unproven")
    assert time.perf_counter() - started < 20  # the search stops by itself after SECONDS


def test_shared_terms_are_looked_at_once() -> None:
    kernel: Kernel = Gaussian()
    for _ in range(10):
        kernel = (kernel * kernel).exp()  # a thousand leaves, but eleven different terms
    started = time.perf_counter()
    certificate = kernel.certificate()
    text, tree = str(certificate), certificate.tree()
    assert time.perf_counter() - started < 1.0
    assert len(list(in_order(certificate.proof))) < 30 and len(text) < 10_000 and len(tree) < 10_000
    assert re.search(r"\[(\d+)\] \* \[\1\] is a kernel \(from \[\1\], \[\1\] by the rule: product\)", text)


def test_equal_terms_are_proved_once() -> None:
    kernel = Linear() * Gaussian() + Linear() * Gaussian(1.0)
    rules = [step.rule for step in in_order(kernel.certificate().proof)]
    assert rules.count("product") == 1 and rules.count("inner product") == 1


def test_a_huge_degree_is_no_obstacle() -> None:
    assert Polynomial(5000, offset=1e3).certificate().status == "valid"


def test_certify_takes_kernels() -> None:
    with pytest.raises(InputError, match="takes a kernel; got str"):
        certify("Gaussian()")


def test_a_certificate_is_a_page_in_notebooks() -> None:
    page = Gaussian(length_scale=2.0).certificate()._repr_html_()
    assert "<b style='color:#0072b2'>valid</b>" in page and "normalized exponential of an inner product" in page
    page = Function(lambda X, Z: -(X @ Z.T)).certificate()._repr_html_()
    assert ">invalid</b>" in page and "k(x1, x1) = -1 &lt; 0" in page
