"""The kernel of a page: sliders from the rules of its fields, blocks, proof, counter-example."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.errors import InputError, ParseError
from mercer.lab.kernels import BLOCKS, as_points, break_it, combined, knobs, read, turned, verdict


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_is_read_and_every_knob_turns(block: str) -> None:
    kernel = read(BLOCKS[block])
    for knob in knobs(kernel):
        for value in (knob.least, knob.most):
            changed = turned(kernel, knob.path, value)
            assert {k.path: k.value for k in knobs(changed)}[knob.path] == value


def test_ranges_follow_the_rules() -> None:
    found = {
        k.label: (k.scale, k.least, k.most) for k in knobs(read("Polynomial(3, offset=0.5) + 2.0 * Tanh(1.0, offset=-1.0)"))
    }
    assert found["Polynomial degree"] == ("whole", 1, 10)
    assert found["Polynomial offset"] == ("linear", 0.0, 5.0)
    assert found["Tanh offset"] == ("linear", -5.0, 5.0)
    assert found["factor"] == ("linear", 0.0, 5.0)
    assert knobs(read("Gaussian(1.0)"))[0].scale == "log"
    assert knobs(read("Gaussian(100.0)"))[0].most == 100.0


def test_one_of_several_length_scales_turns() -> None:
    kernel = read("Gaussian([1.0, 2.0])")
    assert [k.path for k in knobs(kernel)] == ["length_scale[0]", "length_scale[1]"]
    assert turned(kernel, "length_scale[1]", 0.5) == mercer.Gaussian([1.0, 0.5])


def test_equal_names_are_numbered() -> None:
    labels = [k.label for k in knobs(read("Gaussian(1.0) + Gaussian(2.0)"))]
    assert labels == ["Gaussian length_scale (1)", "Gaussian length_scale (2)"]


def test_blocks_build() -> None:
    text = combined("Linear()", "exp", "Linear")
    text = combined(text, "normalized", "Linear")
    X = np.random.default_rng(0).normal(size=(5, 2))
    assert np.allclose(read(text)(X), mercer.Gaussian(1.0)(X))
    assert read(combined("Linear() + 1.0", "product", "Gaussian")) == (mercer.Linear() + 1.0) * mercer.Gaussian(1.0)
    assert read(combined("Linear()", "sum", "Constant")) == mercer.Linear() + 1.0
    assert combined("anything", "start", "Linear") == "Linear()"
    assert verdict(read(combined("Gaussian(1.0)", "difference", "Linear"))).status == "invalid"
    with pytest.raises(InputError, match="a block is one of"):
        combined("Linear()", "sum", "os.system")


def test_verdicts() -> None:
    assert verdict(read("Gaussian(1.0) * Linear()")).status == "valid"
    refuted = verdict(read("Tanh(scale=1.0, offset=-1.0)"))
    assert refuted.status == "invalid" and refuted.counterexample is not None and "is not a kernel" in refuted.text
    difference = verdict(read("Gaussian(1.0) - Linear()"))
    assert difference.formula.endswith(r" - \langle x, z \rangle") and r"\exp" in difference.formula
    assert verdict(read("-2.0 * Linear()")).formula == r"-2 \, \langle x, z \rangle"


def test_breaking() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    words, found = break_it(read("Gaussian(1.0)"), X)
    assert found is None and words.startswith("It cannot be broken")
    words, found = break_it(read("Tanh(scale=1.0, offset=-1.0)"), X)
    assert found is not None and words.startswith("Broken")
    points = as_points(found)
    assert points is not None
    P = np.array([(x, y) for x, y, _ in points.points])
    assert np.linalg.eigvalsh(read("Tanh(scale=1.0, offset=-1.0)")(P))[0] < 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Subsequence(p=900, decay=0.5).normalized()", "Subsequence: p is at most 16 on this page"),
        ("Subsequence(p=100000, decay=0.5).normalized()", "Subsequence: p must be a whole number >= 1 and <= 1000"),
        ("Precomputed() + 1.0", r"Precomputed\(\) takes its values from a matrix"),
        ("Mismatch(p=12, mismatches=6)", "Mismatch: mismatches is at most 2 on this page"),
        ("Linear() + Polynomial(degree=2147483647)", "Polynomial: degree is at most 1000 on this page"),
    ],
)
def test_what_would_take_for_ever_or_has_no_values_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "exec('1')", "().__class__", "lambda: 1", "Gaussian.__init__", "open('x')",
        "Gaussian(length_scale=__import__('os'))", "Linear().map(exec)", "$$\\href{javascript:1}{x}$$", "<script>1</script>",
    ],
)  # fmt: skip
def test_no_text_becomes_code(text: str) -> None:
    with pytest.raises((ParseError, InputError)):
        read(text)
