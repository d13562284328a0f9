"""The read-only array inside kernels."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from mercer.numeric.frozen import FrozenArray


def test_equal_by_content() -> None:
    a, b = FrozenArray([[1, 2], [3, 4]]), FrozenArray(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    assert a == b
    assert hash(a) == hash(b)
    assert a != FrozenArray([1, 2, 3, 4])
    assert a != FrozenArray([[1, 2], [3, 4.5]])
    assert a != [[1, 2], [3, 4]]
    assert FrozenArray([0.0]) == FrozenArray([-0.0])
    assert hash(FrozenArray([0.0])) == hash(FrozenArray([-0.0]))


def test_read_only_and_private() -> None:
    source = np.ones(3)
    frozen = FrozenArray(source)
    source[0] = 9.0
    assert frozen.array.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        frozen.array[0] = 2.0
    with pytest.raises(AttributeError, match="read-only"):
        frozen.array = source


def test_it_is_an_array_for_numpy() -> None:
    frozen = FrozenArray([[1, 2], [3, 4]])
    assert np.asarray(frozen).sum() == 10
    assert np.asarray(frozen, dtype=np.float32).dtype == np.float32
    np.array(frozen, copy=True)[0, 0] = 7.0
    assert frozen.array[0, 0] == 1.0
    assert repr(frozen) == "[[1.0, 2.0], [3.0, 4.0]]"


def test_copies() -> None:
    frozen = FrozenArray([1.5, 2.5])
    for again in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen)):
        assert again == frozen
        assert not again.array.flags.writeable


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="complex"):
        FrozenArray(np.array([1j]))
