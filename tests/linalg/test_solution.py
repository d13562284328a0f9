import dataclasses

import numpy as np
import pytest

from mercer.linalg.solution import RidgeSolution, Solution, relative_residual


def test_solutions_are_frozen():
    solution = Solution(np.zeros(2), True, 1, 0.0, "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.converged = False
    names = {f.name for f in dataclasses.fields(Solution)}
    assert names <= {f.name for f in dataclasses.fields(RidgeSolution)}


def test_relative_residual_is_the_worst_column():
    B = np.array([[3.0, 1.0], [4.0, 0.0]])
    R = np.array([[0.0, 0.5], [0.5, 0.0]])
    assert relative_residual(R, B) == 0.5
    assert relative_residual(np.zeros((2, 1)), np.zeros((2, 1))) == 0.0
    assert relative_residual(np.zeros((2, 0)), np.zeros((2, 0))) == 0.0
