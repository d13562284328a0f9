"""Tests of columns of a table, and the interfaces of causal-learn and pgmpy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import Spectrum, causal
from mercer.errors import InputError


def chain(n: int = 150, seed: int = 0):
    """a -> b -> c, and d apart."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2.0 * a) + 0.4 * rng.normal(size=n)
    c = b**2 + b + 0.4 * rng.normal(size=n)
    return np.column_stack([a, b, c, rng.normal(size=n)])


def test_pvalues_do_not_depend_on_the_order_of_questions():
    data = chain()
    first, second = causal.TableCITest(data, random_state=1), causal.TableCITest(data, random_state=1)
    questions = [(0, 1, ()), (0, 2, ()), (0, 2, (1,)), (0, 2, (1, 3)), (0, 3, ())]
    found = [first(*question) for question in questions]
    assert found == [second(*question) for question in reversed(questions)][::-1]
    assert found[0] < 0.01 and found[1] < 0.01 and found[2] > 0.01 and found[3] > 0.01 and found[4] > 0.01
    assert first(2, 0, (3, 1)) == found[3]


def test_a_regression_is_fitted_once():
    test = causal.TableCITest(chain())
    test(0, 1, [2])
    assert test.n_regressions == 2
    test(0, 3, [2])
    assert test.n_regressions == 3
    test(1, 3, [2])
    assert test.n_regressions == 3


def test_little_memory_changes_nothing():
    data = chain()
    small, large = causal.TableCITest(data, memory=1), causal.TableCITest(data)
    for question in ((0, 1, [2]), (0, 3, [2]), (1, 3, [2])):
        assert small(*question) == large(*question)
    assert small.n_regressions > 3


def test_frames_with_categories_and_text():
    rng = np.random.default_rng(2)
    color = rng.choice(["red", "blue"], 120)
    size = np.where(color == "red", 2.0, 0.0) + rng.normal(size=120)
    weight = size + rng.normal(size=120)
    word = ["ab" * 3 if one == "red" else "cd" * 4 for one in color]
    frame = pd.DataFrame({"color": color, "size": size, "weight": weight, "word": word})
    test = causal.TableCITest(frame, kernels={"word": Spectrum(1).normalized()})
    assert test("color", "size") < 0.01
    assert test("color", "weight", ["size"]) > 0.01
    assert test("word", "size") < 0.01
    with pytest.raises(InputError, match="'word' has a kernel of its own"):
        test("color", "size", ["word", "weight"])


@pytest.mark.parametrize(
    ("question", "message"),
    [((0, 0, ()), "must be different columns"), ((0, 1, (1,)), "must be different"), ((0, 9, ()), "no column 9")],
)
def test_bad_questions_are_refused(question, message):
    with pytest.raises(InputError, match=message):
        causal.TableCITest(chain())(*question)


def test_a_constant_column_is_named():
    with pytest.raises(InputError, match="column 1 is constant"):
        causal.TableCITest(np.column_stack([np.arange(20.0), np.ones(20)]))(0, 1)


def test_causal_learn_finds_the_chain():
    pytest.importorskip("causallearn")
    from causallearn.search.ConstraintBased.PC import pc

    found = pc(chain(), 0.01, causal.causal_learn(n_draws=299), show_progress=False)
    adjacent = found.G.graph != 0
    expected = np.zeros((4, 4), bool)
    expected[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    np.testing.assert_array_equal(adjacent, expected)


def test_pgmpy_finds_the_chain():
    pytest.importorskip("pgmpy")
    from pgmpy.causal_discovery import PC

    frame = pd.DataFrame(chain(), columns=list("abcd"))
    test = causal.pgmpy_test(frame, n_draws=299)
    found = PC(ci_test=test, variant="stable", return_type="pdag", significance_level=0.01, show_progress=False).fit(frame)
    graph = found.causal_graph_
    assert {frozenset(edge) for edge in graph.edges()} == {frozenset("ab"), frozenset("bc")}
    assert test("a", "c", ["b"], significance_level=0.01) is True and test.p_value_ > 0.01
