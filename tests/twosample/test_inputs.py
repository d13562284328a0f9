"""What comes in: right answers or clear errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Function, Gaussian, Graph, Linear, Spectrum, VertexHistogram
from mercer.errors import InputError, ParseError
from mercer.twosample import hsic_test, mmd_test


def _xy(m=20, n=30, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))


def test_an_empty_sample():
    with pytest.raises(InputError, match="Y is empty"):
        mmd_test(_xy()[0], np.empty((0, 2)))


def test_one_row():
    with pytest.raises(InputError, match=r"X has 1 row; .* at least 2"):
        mmd_test(_xy()[0][:1], _xy()[1])


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0), Linear()])
@pytest.mark.parametrize(("m", "n"), [(20, 20), (20, 30)])
def test_constant_data_have_nothing_to_tell_apart(kernel, m, n):
    result = mmd_test(np.full((m, 2), 3.0), np.full((n, 2), 3.0), kernel, n_permutations=99, random_state=0)
    assert result.pvalue == 1.0
    assert abs(result.mmd2) < 1e-12


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0)])
def test_identical_samples(kernel):
    X, _ = _xy()
    result = mmd_test(X, X, kernel, n_permutations=199, random_state=0)
    assert result.pvalue > 0.9
    assert abs(result.mmd2_biased) < (1e-6 if kernel is None else 1e-12)
    assert "not shown to differ" in str(result)


def test_two_different_constants_are_as_different_as_can_be():
    result = mmd_test(np.zeros((20, 1)), np.ones((20, 1)), n_permutations=199, random_state=0)
    assert result.pvalue == 1 / 200


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_names_the_sample_and_the_place(bad):
    X, Y = _xy()
    Y[3, 1] = bad
    with pytest.raises(InputError, match=r"Y has .* at row 3, column 1"):
        mmd_test(X, Y)


def test_different_widths():
    with pytest.raises(InputError, match="X has 2 columns, Y has 3"):
        mmd_test(np.zeros((5, 2)), np.zeros((5, 3)))
    with pytest.raises(InputError, match="X has 2 columns, Y has 3"):
        mmd_test(sp.csr_array(np.eye(5, 2)), sp.csr_array(np.eye(5, 3)))


def test_different_types():
    with pytest.raises(InputError, match="X is a table of numbers, Y is a collection of str"):
        mmd_test(_xy()[0], ["a", "b"])
    with pytest.raises(InputError, match="X holds str, Y holds Graph"):
        mmd_test(["a", "b"], [Graph(1), Graph(2)])


def test_vectors_of_one_dimension_are_told_how_to_stand():
    with pytest.raises(InputError, match="reshape"):
        mmd_test(np.arange(5.0), np.arange(5.0))


def test_graphs_have_no_default_kernel():
    with pytest.raises(InputError, match="no default kernel for a collection of Graph"):
        mmd_test([Graph(2), Graph(1)], [Graph(2), Graph(3)])
    assert mmd_test([Graph(2), Graph(1)], [Graph(2), Graph(3)], VertexHistogram(), n_permutations=9).pvalue <= 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_permutations": 0}, "n_permutations must be a whole number >= 1"),
        ({"n_permutations": 10.5}, "n_permutations must be a whole number"),
        ({"level": 0.0}, "level must lie strictly between 0 and 1"),
        ({"aggregation": "mean"}, "aggregation must be one of quantile, softmax"),
        ({"resampling": "bootstrap"}, "resampling must be one of"),
        ({"resampling": "swaps"}, "both samples need the same size; got 20 and 30"),
        ({"early_stopping": True, "aggregation": "softmax"}, "early_stopping needs"),
        ({"method": "fast"}, "method must be one of"),
        ({"kernel": []}, "empty list"),
        ({"kernel": [Linear(), Linear()]}, "given twice"),
        ({"kernel": "rbf"}, "write 'Gaussian"),
        ({"kernel": 3}, "kernel must be a kernel"),
        ({"kernel": Spectrum(2)}, "."),
        ({"kernel": Function(lambda A, B: A[:, :1] + 2.0 * B[:, :1].T)}, "not symmetric"),
    ],
)
def test_options_out_of_range(options, words):
    with pytest.raises((InputError, ParseError), match=words):
        mmd_test(*_xy(), **options)


def test_frames_need_the_same_columns():
    pandas = pytest.importorskip("pandas")
    X, Y = (pandas.DataFrame(part, columns=["a", "b"]) for part in _xy())
    with pytest.raises(InputError, match="only one of them has b, c"):
        mmd_test(X, Y.rename(columns={"b": "c"}))
    with pytest.raises(InputError, match="their order differs"):
        mmd_test(X, Y[["b", "a"]])
    plain = mmd_test(*_xy(), Gaussian(1.0), n_permutations=99, random_state=0)
    assert mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=0).pvalue == plain.pvalue
    assert mmd_test(X, Y, Gaussian(1.0).on("b"), n_permutations=99, random_state=0).kernel == Gaussian(1.0).on("b")


def test_polars_frames():
    polars = pytest.importorskip("polars")
    X, Y = (polars.DataFrame(part, schema=["a", "b"]) for part in _xy())
    plain = mmd_test(*_xy(), Gaussian(1.0), n_permutations=99, random_state=0)
    found = mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=0)
    assert found.pvalue == plain.pvalue
    assert {reason.name for reason in found.explain(99).reasons} == {"a", "b"}
    assert len(found.prototypes(2).first) == 2


def test_sequences_of_tokens_may_be_numbers():
    X, Y = [[1, 2, 3], [1, 2], [2, 2, 1, 3]], [[3, 3, 3], [3, 1], [3, 3, 2, 3]]
    words = [[[str(token) for token in row] for row in sample] for sample in (X, Y)]
    one = mmd_test(X, Y, Spectrum(1), n_permutations=99, random_state=0)
    assert one.statistic == mmd_test(*words, Spectrum(1), n_permutations=99, random_state=0).statistic
    assert one.explain(99).reasons[0].name == (3,)


def test_sparse_lists_and_float32():
    X, Y = _xy()
    plain = mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=0)
    assert mmd_test(X.tolist(), Y.tolist(), Gaussian(1.0), n_permutations=99, random_state=0).pvalue == plain.pvalue
    thin = mmd_test(sp.csr_array(X), sp.csr_array(Y), Gaussian(1.0), n_permutations=99, random_state=0)
    assert abs(thin.statistic - plain.statistic) < 1e-12
    light = mmd_test(X.astype(np.float32), Y.astype(np.float32), Gaussian(1.0), n_permutations=99, random_state=0)
    assert abs(light.statistic - plain.statistic) < 1e-6
    assert 0 < mmd_test(sp.csr_array(X), sp.csr_array(Y), n_permutations=99, random_state=0).pvalue <= 1


def test_a_large_offset_changes_nothing():
    X, Y = _xy()
    plain = mmd_test(X, Y, n_permutations=99, random_state=0)
    moved = mmd_test(X + 1e6, Y + 1e6, n_permutations=99, random_state=0)
    assert abs(moved.pvalue - plain.pvalue) < 0.02
    assert np.allclose([d.unbiased for d in moved.details], [d.unbiased for d in plain.details], atol=1e-5)


def test_the_caller_s_arrays_are_left_alone_and_the_seed_decides():
    X, Y = _xy()
    before = X.copy(), Y.copy()
    one, two = (mmd_test(X, Y, n_permutations=99, random_state=5) for _ in range(2))
    assert np.array_equal(X, before[0]) and np.array_equal(Y, before[1])
    assert one.pvalue == two.pvalue and (one.null_distribution == two.null_distribution).all()
    assert tuple(one) == (one.statistic, one.pvalue)


def test_the_smallest_samples():
    result = mmd_test(np.array([[0.0], [1.0]]), np.array([[5.0], [6.0]]), Gaussian(1.0), n_permutations=199, random_state=0)
    assert 0.2 < result.pvalue < 0.5  # two of the six splits are this extreme


def test_hsic_errors():
    X, _ = _xy()
    with pytest.raises(InputError, match="X has 20 rows, Y has 19"):
        hsic_test(X, X[:19])
    with pytest.raises(InputError, match="needs at least 4"):
        hsic_test(X[:3], X[:3])
    with pytest.raises(InputError, match="2 kernels on X and 3 on Y"):
        hsic_test(X, X, [Gaussian(1.0), Gaussian(2.0)])
    with pytest.raises(InputError, match="n_permutations"):
        hsic_test(X, X, n_permutations=0)
    with pytest.raises(InputError, match="method must be one of"):
        hsic_test(X, X, method="quick")
