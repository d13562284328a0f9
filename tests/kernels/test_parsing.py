"""Text to kernel: what is read, where an error is, and that nothing is ever evaluated."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import (
    AllSubstrings,
    Bilinear,
    Constant,
    Exponential,
    GappedSpectrum,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Mismatch,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    Subsequence,
    Tanh,
    VertexHistogram,
    WeightedDegree,
    parse,
)
from mercer.errors import InputError, ParseError
from mercer.kernels.algebra import Sum
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import KERNELS, as_kernel

g, h, k = Gaussian(1.5), Laplacian(2.0), Linear()
ROUND_TRIPS = [
    Bilinear([[2.0, 1.0], [1.0, 2.0]]), Constant(0.5), Exponential(1e-5), g, h, k, Matern(0.7, length_scale=(1.0, 2.0)),
    Periodic(1.0, period=3.0), Polynomial(3, offset=0.0), Precomputed(), RationalQuadratic(1 / 3),
    Spectrum(4, presence=True), Spectrum(3, shortest=2, weights=(0.5, 1.0), reverse_complement=True),
    GappedSpectrum(4, gaps=2), Mismatch(3), Mismatch(3, mismatches=2, alphabet="ab"), AllSubstrings(0.25, longest=4),
    Mismatch(2, alphabet=("to", "be", 1)), AllSubstrings(), Subsequence(2, decay=0.75), WeightedDegree(5),
    Tanh(-1.0, offset=-0.25), VertexHistogram(), Gaussian("median"),
    g + h * k, (g + h) * k, g * (2.0 * h), 2.0 * (g * h), (2.0 * g) * h, 2.0 * g + 3.0 * h, 2.0 * (3.0 * g), (g**2) ** 3,
    2.0 * g**3, (2.0 * g) ** 3, (g + h) ** 2, (g * h) ** 2, g.exp() ** 2, (g**2).exp(), (2.0 * g).exp(), (g + h).exp(),
    (g + 1.0).polynomial([0.0, 1.0, 2.5]), (g * h).normalized(), g.normalized() * h, k.on(0, -1), k.on("age", "the 'x'"),
    (k + g).on(1).exp() + 1.0, 1.0 + g, 1e300 * g, 5e-324 * g, 0.1 * g,
]  # fmt: skip


@pytest.mark.parametrize("kernel", ROUND_TRIPS, ids=str)
def test_the_text_of_a_kernel_is_the_kernel(kernel: Kernel) -> None:
    assert parse(repr(kernel)) == kernel
    assert repr(parse(repr(kernel))) == repr(kernel)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("Gaussian()", Gaussian()),
        ("Gaussian(2)", Gaussian(2.0)),
        ("Gaussian([1, 2])", Gaussian((1.0, 2.0))),
        ("Gaussian.from_gamma(0.5)", Gaussian(1.0)),
        ("2*Linear()+1", 2.0 * k + 1.0),
        ("  Linear()\n +\r\n Linear()\t", k + k),
        ("(((Linear())))", k),
        ("+2 * Linear()", 2.0 * k),
        ("Linear() / 4", 0.25 * k),
        ("1 / 2 * Linear()", 0.5 * k),
        ("Linear().on('größe')", k.on("größe")),
        ("Linear().polynomial([1, 2])", k.polynomial((1.0, 2.0))),
    ],
)
def test_other_ways_to_write_it(text: str, kernel: Kernel) -> None:
    assert parse(text) == kernel


@given(st.floats(min_value=1e-100, max_value=1e100), st.floats(min_value=0.0, max_value=1e300))
def test_numbers_survive_with_all_their_digits(scale: float, factor: float) -> None:
    kernel = factor * Gaussian(scale)
    assert parse(repr(kernel)) == kernel


def test_long_sums_and_products() -> None:
    """A chain a + b + c leans to the left in Python's tree, as deep as it has terms: no limit on terms may come of it."""
    terms = tuple(Gaussian(float(i + 1)) for i in range(500))
    kernel = Sum(terms)
    assert parse(repr(kernel)) == kernel
    assert len(parse(" * ".join(["Linear()"] * 500)).children) == 500


def test_deep_nesting_is_read_up_to_a_limit_and_then_refused() -> None:
    deep = k
    for _ in range(60):
        deep = 2.0 * deep  # type: ignore[assignment]
    assert parse(repr(deep)) == deep
    verbs = ["Linear()" + ".exp()" * count for count in (150, 5000)]
    for text in (*verbs, "(" * 3000 + "Linear()" + ")" * 3000, "-" * 50_000 + "1"):
        with pytest.raises(ParseError):
            parse(text)


def test_very_long_texts_are_refused_without_being_read() -> None:
    with pytest.raises(InputError, match="at most"):
        parse("Linear() + " * 2_000_000 + "Linear()")


# -- nothing is evaluated --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "__import__('pathlib').Path('MERCER_WAS_HERE').touch()",
        "open('MERCER_WAS_HERE', 'w')",
        'exec(\'open("MERCER_WAS_HERE", "w")\')',
        "Linear().map(__import__('os').remove)",
        "Linear().map(lambda x: open('MERCER_WAS_HERE', 'w'))",
        "Linear().map(open)",
        "(lambda: Linear())()",
        'f\'{open("MERCER_WAS_HERE", "w")}\'',
        "[open('MERCER_WAS_HERE', 'w') for _ in (1,)]",
        "{open('MERCER_WAS_HERE', 'w')}",
        "Linear().__class__",
        "Linear().__class__.__base__.__subclasses__()",
        "Linear().__init__()",
        "Linear()._text()",
        "Linear().set_params()",
        "Gaussian.__init__()",
        "Linear()[0]",
        "Linear() if open('MERCER_WAS_HERE', 'w') else Linear()",
        "Linear() and Linear()",
        "Linear() < Linear()",
        "(x := Linear())",
        "Linear(*[1])",
        "Linear(**{})",
        "await Linear()",
        "yield",
        "import os",
        "Linear(); Linear()",
        "x = Linear()",
        "Linear() @ Linear()",
        "Linear() // 2",
        "~Linear()",
        "not Linear()",
        "...",
        "b'Linear()'",
        "1j * Linear()",
        "None",
        "print",
    ],
)
def test_only_expressions_of_kernels_are_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParseError):
        parse(text)
    assert list(tmp_path.iterdir()) == []


def test_huge_arithmetic_is_not_carried_out() -> None:
    for text in ("9 ** 9 ** 9 ** 9 * Linear()", "10 ** 1000000 * Linear()", "'a' * 999999999 * Linear()"):
        with pytest.raises(ParseError):
            parse(text)


@given(st.text(max_size=40))
def test_any_text_is_a_kernel_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(parse(text), Kernel)


FRAGMENTS = [
    "Linear()", "Gaussian(", "length_scale=", "2", "-1", "1e400", "+", "*", "**", "/", "-", "(", ")", ".exp()", ".on(0)",
    "'a'", ",", "[", "]", ".polynomial((1,))", "True", "from_gamma", "Gaussian.", "Matern(1.5, 2)", "\n", "é", ".map(abs)",
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))
def test_any_heap_of_fragments_is_a_kernel_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(parse(text), Kernel)


# -- errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("2", 0, "a kernel was expected"),
        ("'Linear()'", 0, "a kernel was expected"),
        ("Linear() + Lineal()", 11, r"no kernel 'Lineal'; did you mean Linear\(…\)\?; there are AllSubstrings, Bilinear"),
        ("Linear() + rbf()", 11, r"write Gaussian.from_gamma\(0.5\)"),
        ("Linear() + Gaussian", 11, r"Gaussian needs brackets"),
        ("Linear() + f", 11, "mercer.register"),
        ("Linear().map(f)", 13, "'f' is not known"),
        ("Linear().sqrt()", 9, r"no method .sqrt\(\); there are .exp\(\)"),
        ("Gaussian(length_scale=)", 22, "cannot read"),
        ("Linear() +", 10, "cannot read"),
        ("Linear() + (Gaussian()", 11, "cannot read"),
        ("Linear() + Gaussian(gamma=1)", 11, r"Gaussian has no parameter 'gamma': Gaussian.from_gamma\(1\)"),
        ("Linear() + Matern(1.5, 2.0)", 11, "Matern takes 1 positional argument, got 2"),
        ("Linear() + Gaussian(-1)", 11, "length_scale must be a finite number > 0"),
        ("Linear() + Gaussian(1" + "0" * 400 + ")", 11, "length_scale must be"),
        ("Linear() + Gaussian.from_gamma('a')", 11, "from_gamma takes"),
        ("Linear() - Linear()", 0, "closure rules"),
        ("Linear() + (-2) * Linear()", 11, "closure rules"),
        ("-Linear()", 0, "closure rules"),
        ("Linear() ** 0.5", 0, "closure rules"),
        ("Linear() ** True", 12, "a kernel or a number"),
        ("Linear() + 'ü'", 11, "a kernel or a number was expected"),
        ("'ü' + Linear() + x", 0, "a kernel or a number was expected"),
        ("Linear().on('ü') + x", 19, "'x' is not known"),
        ("Linear().centered([1])", 0, "holds data"),
        ("2.0.exp()", 0, "belongs to a kernel"),
        ("Linear().polynomial(5)", 0, "polynomial"),
        ("Linear() / 0", 0, "closure rules"),
        ("1 / 0 * Linear()", 0, "do not combine"),
        ("1e400 * Linear()", 0, "finite"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, position: int, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        parse(text)
    assert caught.value.position == position
    first, source, arrow = str(caught.value).rsplit("\n", 2)
    assert first
    assert source.strip() == text.strip()
    assert arrow.index("^") == position + 2


@pytest.mark.parametrize("text", ["rbf", "poly", "linear", "sigmoid", "laplacian", "cosine", "precomputed", "matern"])
def test_names_of_scikit_learn_print_what_to_write(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is not a kernel here; write '(.*)'") as caught:
        parse(text)
    written = str(caught.value).split("write '")[1].split("'")[0]
    assert isinstance(parse(written), Kernel)


def test_the_advice_for_scikit_learn_names_is_right() -> None:
    from sklearn.metrics.pairwise import pairwise_kernels

    X = np.random.default_rng(0).normal(size=(5, 3))
    assert np.allclose(parse("Gaussian.from_gamma(0.5)")(X), pairwise_kernels(X, metric="rbf", gamma=0.5))
    assert np.allclose(parse("Polynomial(degree=3, offset=1.0)")(X), pairwise_kernels(X, metric="poly", degree=3, gamma=1))
    assert np.allclose(parse("Linear().normalized()")(X), pairwise_kernels(X, metric="cosine"))


@pytest.mark.parametrize("value", [None, 3, b"Linear()", ["Linear()"], Linear])
def test_parse_takes_texts(value: Any) -> None:
    with pytest.raises(InputError, match="parse takes the text"):
        parse(value)


def test_as_kernel_takes_kernels_and_texts() -> None:
    assert as_kernel(k) is k
    assert as_kernel("Linear()") == k
    with pytest.raises(InputError, match=r"Linear is a class; write Linear\(…\)"):
        as_kernel(Linear)
    with pytest.raises(InputError, match="kernel must be"):
        as_kernel(3)


def test_every_public_kernel_has_a_name() -> None:
    public = {name: getattr(mercer, name) for name in dir(mercer)}
    kernels = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, Kernel)}
    assert kernels - {"Kernel"} == set(KERNELS)


def test_the_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(ParseError):
        parse("(" * 3000)
    assert sys.getrecursionlimit() == before


# -- numbers, sizes, time --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", ["1" * 5000, "0x" + "f" * 5000, "1" * 5000 + ".0", "1e" + "9" * 5000, "0" * 6000 + "1"])
@pytest.mark.parametrize("around", ["Gaussian({})", "{} * Linear()", "Linear() ** {}", "Linear().on({})", "Polynomial({})",
                                    "Linear() + {}", "Linear().polynomial((1, {}))", "Bilinear([[{}]])", "-{}"])  # fmt: skip
def test_numbers_of_any_length_are_read_or_refused(digits: str, around: str) -> None:
    with contextlib.suppress(InputError):
        parse(repr(parse(around.format(digits))))


HUGE = 10**5000


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(HUGE), lambda: HUGE * k, lambda: -HUGE * k, lambda: k + HUGE, lambda: k**HUGE, lambda: k ** -HUGE,
        lambda: k / HUGE, lambda: k - HUGE, lambda: HUGE - k, lambda: k.on(HUGE), lambda: k.polynomial((HUGE, 1)),
        lambda: k.polynomial(HUGE), lambda: mercer.Polynomial(HUGE), lambda: mercer.Polynomial(2, offset=-HUGE),
        lambda: Bilinear([[HUGE]]), lambda: mercer.Spectrum(HUGE), lambda: Constant(HUGE), lambda: Gaussian.from_gamma(HUGE),
        lambda: Gaussian((HUGE, 1)), lambda: mercer.Tanh(HUGE), lambda: mercer.Matern(HUGE), lambda: parse(HUGE),
        lambda: mercer.Subsequence(2, decay=HUGE), lambda: mercer.register("x", HUGE), lambda: mercer.Function(HUGE),
    ],
)  # fmt: skip
def test_huge_whole_numbers_are_refused_with_our_errors(make: Any) -> None:
    with pytest.raises(InputError):
        repr(make())


def test_a_keyword_is_given_once() -> None:
    with pytest.raises(ParseError, match="length_scale is given twice") as caught:
        parse("Gaussian(length_scale=1.0, length_scale=2.0)")
    assert caught.value.position == 27
    with pytest.raises(ParseError, match="follows one with a name"):
        parse("Polynomial(degree=2, 3)")


@pytest.mark.parametrize("count", [3000, 30_000])
def test_sums_and_products_of_thousands_of_terms(count: int) -> None:
    kernel = Sum(tuple(Gaussian(float(i + 1)) for i in range(count)))
    assert parse(repr(kernel)) == kernel
    assert len(parse("(" + " * ".join(["Linear()"] * count) + ").exp()").children[0].children) == count


def test_a_kernel_inside_a_function() -> None:
    kernel = mercer.Function(Gaussian(2.0))
    assert repr(kernel) == "Function(Gaussian(length_scale=2.0))"
    assert parse(repr(kernel)) == kernel


def test_a_long_text_shows_the_place_that_is_wrong() -> None:
    with pytest.raises(ParseError) as caught:
        parse("Linear() + " * 20_000 + "Lineal()")
    shown = str(caught.value).splitlines()
    assert max(map(len, shown)) < 1200
    assert shown[1][shown[2].index("^") :].startswith("Lineal()")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RBF(1)", r"write Gaussian\(length_scale=1.0\)"),
        ("Gausian()", r"did you mean Gaussian\(…\)\?"),
        ("gaussian(2)", r"write Gaussian"),
        ("WhiteKernel()", "noise"),
        ("Linear().normalised()", r"did you mean normalized\(…\)\?"),
        ("Matérn()", r"did you mean Matern"),
    ],
)
def test_wrong_names_get_the_right_one(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        parse(text)


ALPHABET = st.sampled_from(
    [*FRAGMENTS, "Function(", "Bilinear([[", "]]", "1" * 4400, "0x1f", "1_0", "1j", "RBF(1)", "Spectrum('a')", ")" * 5,
     "(" * 120, "-" * 50, "\x00", "\ud800", "lambda", "b'x'", "'\\", '"', "True", "None", ".centered(", "x=1", "x=1, x=1"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(ALPHABET, max_size=14).map("".join))
def test_fuzz_only_our_errors_also_as_text(text: str) -> None:
    try:
        kernel = parse(text)
    except InputError as error:
        assert str(error) and repr(error)
        return
    assert parse(repr(kernel)) == kernel


@pytest.mark.slow
def test_fuzz_two_hundred_thousand_texts() -> None:
    """Random fragments, and kernels with random letters changed: only mercer's errors, on repr too."""
    rng = np.random.default_rng(0)
    known = [repr(kernel) for kernel in ROUND_TRIPS]
    kinds = {"kernel": 0, "error": 0}
    for _ in range(200_000):
        if rng.random() < 0.5:
            text = "".join(rng.choice(FRAGMENTS, int(rng.integers(1, 12))))
        else:
            letters = list(known[int(rng.integers(len(known)))])
            for _ in range(int(rng.integers(1, 4))):
                letters[int(rng.integers(len(letters)))] = str(rng.choice(list("()[],.*+-/=1e'\"é \x00aL")))
            text = "".join(letters)
        try:
            kernel = parse(text)
        except InputError as error:
            assert str(error)
            kinds["error"] += 1
            continue
        assert parse(repr(kernel)) == kernel
        kinds["kernel"] += 1
    print(kinds)
