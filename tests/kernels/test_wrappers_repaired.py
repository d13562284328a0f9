"""Kernels made from similarities that are none."""

import numpy as np
import pytest

import mercer
from mercer import Function, Gaussian, KernelRidge, Precomputed, Tanh, check_gram, load, repair, save
from mercer.errors import InputError

X = np.random.default_rng(0).normal(size=(25, 2))
NEW = np.random.default_rng(1).normal(size=(6, 2))
K = Tanh(1.0, offset=-1.0)


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_it_is_what_repair_makes_of_the_matrix(method):
    kernel, mended = K.repaired(X, method=method), repair(K(X), method)
    np.testing.assert_allclose(kernel(X), mended.gram, atol=1e-8)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(mended.gram), atol=1e-8)
    np.testing.assert_allclose(kernel(NEW, X), mended.rows(K(NEW, X)), atol=1e-8)
    assert check_gram(kernel(X)).psd


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_it_is_a_kernel_everywhere(method):
    kernel = K.repaired(X, method=method)
    assert kernel.certificate().status == "valid"
    assert check_gram(kernel(np.vstack([X, NEW, 10 * NEW]))).psd
    phi = kernel.feature_map(NEW)
    np.testing.assert_allclose(phi @ phi.T, kernel(NEW), atol=1e-10)
    assert (kernel + Gaussian(1.0)).certificate().status == "valid"


def test_a_shift_is_a_kernel_on_the_sample_only():
    assert K.repaired(X, method="shift").certificate().status != "valid"


def test_strings_and_functions():
    words = ["abc", "abd", "xyz", "xbz", "aaa"]

    def common(A, B):
        return np.array([[len(set(a) & set(b)) - 1.5 for b in B] for a in A])

    for method in ("clip", "flip", "shift"):
        kernel = Function(common).repaired(words, method=method)
        assert check_gram(kernel(words)).psd
        assert kernel(["abz"], words).shape == (1, 5)
    assert KernelRidge(Function(common).repaired(words)).fit(words, range(5)).predict(["abz"]).shape == (1,)


def test_a_model_on_it_is_saved_whole(tmp_path):
    y = np.sin(X[:, 0])
    model = KernelRidge(K.repaired(X, "flip"), alpha=0.1).fit(X, y)
    save(model, tmp_path / "model.mercer")
    np.testing.assert_allclose(load(tmp_path / "model.mercer").predict(NEW), model.predict(NEW))


def test_a_psd_function_stays_as_it_is_and_medians_become_numbers():
    kernel = Gaussian("median").repaired(X)
    assert not kernel.unresolved
    np.testing.assert_allclose(kernel(X), Gaussian("median").resolve(X)(X), atol=1e-7)


def test_what_is_refused():
    with pytest.raises(InputError, match="method must be one of clip, flip, shift"):
        K.repaired(X, "mend")
    with pytest.raises(InputError, match=r"mercer\.repair\(K\)"):
        Precomputed().repaired(np.eye(3))
    with pytest.raises(InputError, match="holds data"):
        mercer.parse("Tanh().repaired([1])")


def test_zeros():
    kernel = Function(lambda A, B: np.zeros((len(A), len(B)))).repaired(X)
    assert not kernel(NEW, X).any()
