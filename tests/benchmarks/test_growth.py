"""The growth exponent, and tasks that are scheduled on threads that the machine does not have."""

import time

import numpy as np
import pytest

from benchmarks.growth import Scheduled, slope


def test_slope_of_a_power():
    sizes = [100, 200, 400, 800]
    assert slope(sizes, [9.0, *(3e-6 * n**1.7 for n in sizes[1:])]) == pytest.approx(1.7)


@pytest.mark.parametrize("fixed", [False, True])
def test_tasks_go_to_the_thread_that_is_free_first_or_to_their_own(fixed: bool):
    lengths = [0.04, 0.01, 0.01, 0.01, 0.01]
    Scheduled.simulated = Scheduled.real = 0.0
    seen: list[tuple[int, int]] = []

    def work(task: int, worker: int) -> None:
        seen.append((task, worker))
        time.sleep(lengths[task])

    one = iter(range(5))
    queues = [iter(range(5)[0::2]), iter(range(5)[1::2])] if fixed else [one, one]
    crew = Scheduled(queues, work, 5, None)
    crew.together(2)
    assert sorted(task for task, _ in seen) == list(range(5))
    first = [task for task, worker in seen if worker == 0]
    assert first == ([0, 2, 4] if fixed else [0])  # four short tasks fit beside the long one
    assert np.isclose(Scheduled.real, sum(lengths), atol=0.02) or Scheduled.real > sum(lengths)
    assert Scheduled.simulated < Scheduled.real
