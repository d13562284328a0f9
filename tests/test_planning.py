"""Plans: routes, budgets and the words they are told in."""

import time

import numpy as np
import pytest

from mercer import Gaussian, Graph, KernelRidge, KernelRidgeCV, Polynomial, Spectrum, VertexHistogram, plan
from mercer.errors import InputError, MemoryBudgetError
from mercer.numeric.threads import blas_threads, one_blas_thread
from mercer.planning import Route, _quickest, choose_route, format_seconds, gemm_rate


def test_the_first_route_that_fits_is_taken() -> None:
    exact, rough = Route("exact", 1000, 1.0, "because"), Route("rough", 10, 9.0, "otherwise", exact=False)
    assert choose_route((exact, rough), 2000, "It") is exact
    with pytest.warns(UserWarning, match="It: exact needs 1000 B, over the memory budget of 500 B, so rough is taken"):
        assert choose_route((exact, rough), 500, "It") is rough
    with pytest.raises(MemoryBudgetError, match=r"no route fits the memory budget of 5 B; the smallest, rough, needs 10 B"):
        choose_route((exact, rough), 5, "It")


def test_a_plan_fits_nothing_and_explains(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    model = KernelRidge(Gaussian("median"))
    told = plan(model, X)
    assert not hasattr(model, "kernel_")
    assert told.route.solver == "cholesky"
    assert told.bytes >= 3000**2 * 4
    assert plan(model, X.astype(np.float64)).bytes > told.bytes
    tight = plan(model, X, memory="20 MB")
    assert tight.route.solver == "cg"
    assert "does not fit" in str(tight)
    assert "cholesky" in str(tight)
    assert plan(KernelRidge(Polynomial(2)), X).route.solver == "primal"


def test_strings_and_graphs_have_plans() -> None:
    assert plan(KernelRidge(Spectrum(2)), ["abc", "bcd"]).route.solver == "cholesky"
    assert plan(KernelRidgeCV(VertexHistogram()), [Graph(2), Graph(3)]).bytes > 0


def test_only_estimators_of_ours_have_routes() -> None:
    with pytest.raises(InputError, match="mercer estimator"):
        plan(object(), [[1.0]])


def test_durations() -> None:
    assert [format_seconds(s) for s in (0.5, 59.0, 120.0, 9000.0)] == ["0.5 s", "59 s", "2.0 min", "2.5 h"]


@pytest.mark.skipif(time.get_clock_info("thread_time").resolution > 1e-6, reason="the clock of processor time is coarse")
def test_the_speed_of_the_machine_does_not_count_time_spent_waiting() -> None:
    """Other processes interrupt every run here for 3 ms; the processor time of the run is what it would take alone."""

    def interrupted() -> None:
        time.sleep(3e-3)

    assert _quickest(interrupted) < 1.5e-3


def test_the_rate_counts_the_threads_of_blas() -> None:
    with one_blas_thread():
        held = blas_threads()  # those that are given back afterwards
    assert held == blas_threads()
    gemm_rate.cache_clear()
    assert gemm_rate() > 0
    assert blas_threads() == held
