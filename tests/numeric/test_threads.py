"""Threads: the same numbers from everywhere, BLAS threads given back, nothing left running after an error."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import Function, Gaussian, Laplacian, Linear, Matern
from mercer.numeric import threads, tiles
from mercer.numeric.threads import cpu_count, one_blas_thread, one_thread, run

X = np.random.default_rng(0).normal(size=(700, 8))
KERNELS = [Gaussian(2.0), Laplacian(2.0) * Linear() + 1.0, Matern(1.5).centered(X[:50]), Linear().normalized()]


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool is used whatever the machine has."""
    monkeypatch.setattr(tiles, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_threads")
def test_grams_from_several_threads_at_once() -> None:
    expected = [kernel(X) for kernel in KERNELS]
    before = blas_threads()
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: KERNELS[i % 4](X), range(16)))
    for i, K in enumerate(found):
        assert np.array_equal(K, expected[i % 4])
    assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
def test_one_rows_object_is_not_needed_for_one_kernel_to_be_shared() -> None:
    kernel = Gaussian((1.0,) * 8) + Linear()
    expected = kernel(X, X[:300])
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(K, expected) for K in pool.map(lambda _: kernel(X, X[:300]), range(8)))


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.usefixtures("two_threads")
def test_blas_threads_are_given_back(limit: int) -> None:
    with threadpool_limits(limit, user_api="blas"):
        before = blas_threads()
        Gaussian()(X)
        assert blas_threads() == before


def test_blas_is_held_to_one_thread_inside_and_by_the_last_holder() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            with one_blas_thread():
                assert set(blas_threads()) <= {1}
            assert set(blas_threads()) <= {1}  # the inner holder leaves, the outer one still holds
        assert blas_threads() == before


def test_alone_everything_runs_on_the_calling_thread() -> None:
    seen = set()

    def work(task: int, worker: int) -> None:
        seen.add(threading.get_ident())

    before = cpu_count()
    with threadpool_limits(2, user_api="blas"), one_thread():
        with one_thread():
            assert cpu_count() == 1
        assert cpu_count() == 1  # the inner one leaves, the outer one still holds
        assert set(blas_threads()) <= {1}
        run(range(20), work, cpu_count())
        other = []
        thread = threading.Thread(target=lambda: other.append(cpu_count()))
        thread.start()
        thread.join()
        assert other == [before]  # nobody else is held
    assert seen == {threading.get_ident()}
    assert cpu_count() == before


def test_overlapping_holders_of_two_threads_restore_what_was_there() -> None:
    """Enter A, enter B, leave A, leave B: a plain limiter of B would restore the 1 it saw on entry."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        a_in, b_in, a_out = threading.Event(), threading.Event(), threading.Event()

        def a() -> None:
            with one_blas_thread():
                a_in.set()
                b_in.wait(5)
            a_out.set()

        def b() -> None:
            a_in.wait(5)
            with one_blas_thread():
                b_in.set()
                a_out.wait(5)

        workers = [threading.Thread(target=f) for f in (a, b)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
def test_an_exception_in_one_tile_stops_all_and_comes_out() -> None:
    calls = []

    def f(A: Any, B: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise ZeroDivisionError("tile 3")
        return A @ B.T

    before, threads = blas_threads(), threading.active_count()
    with pytest.raises(ZeroDivisionError, match="tile 3"):
        Function(f)(np.random.default_rng(0).normal(size=(3000, 2)))
    # 144 tiles were planned; a tile that was under way when the error came may still have been finished
    assert len(calls) <= 5
    assert blas_threads() == before
    assert threading.active_count() == threads


def test_run_calls_every_task_once_and_reports_progress_from_the_caller() -> None:
    done, seen = [], []
    caller = threading.get_ident()

    def progress(count: int, total: int) -> None:
        assert threading.get_ident() == caller
        seen.append(count)

    run(range(100), lambda task, worker: done.append(task), 4, 100, progress)
    assert sorted(done) == list(range(100))
    assert seen[-1] == 100


def test_an_interrupt_in_the_caller_stops_the_workers() -> None:
    started, finished = [], []

    def work(task: int, worker: int) -> None:
        started.append(task)
        if worker == 0:
            raise KeyboardInterrupt
        time.sleep(0.02)
        finished.append(task)

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run(range(10_000), work, 3)
    assert len(started) < 100
    assert len(finished) <= len(started)
    assert threading.active_count() == threads  # nobody goes on writing after the caller has moved on


INTERRUPTED = """
import os, threading, time
import numpy as np
import mercer
from mercer.numeric import threads, tiles
tiles.cpu_count = lambda: 2
def slow(A, B):
    os.write(1, b"started\\n")  # in one piece: two threads call this
    time.sleep(0.05)
    return A @ B.T
try:
    mercer.Function(slow)(np.ones((8000, 1)))
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_gram_and_its_threads() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()  # nothing is left behind if an assertion fails
    assert output.splitlines()[-1] == "interrupted 1"
    assert process.returncode == 0


def _gram_sum(seed: int) -> float:
    data = np.random.default_rng(seed).normal(size=(600, 4))
    return float((Gaussian(2.0) + Laplacian(3.0))(data).sum())


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes(method: str) -> None:
    expected = [_gram_sum(seed) for seed in (0, 1)]
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(_gram_sum, [0, 1]) == expected


def test_a_fork_in_mid_flight_starts_with_a_clean_count() -> None:
    """The child inherits a count of holders that nobody will take down; it must not stay at one BLAS thread for ever."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork here")
    with threadpool_limits(2, user_api="blas"), one_blas_thread():
        pid = os.fork()
        if pid == 0:
            try:
                with one_blas_thread():
                    inside = blas_threads()
                from mercer.numeric import threads

                os._exit(0 if threads._holders == 0 and set(inside) <= {1} else 1)
            except BaseException:
                os._exit(2)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_cpu_count_is_what_this_process_may_use() -> None:
    assert 1 <= cpu_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("patience", [0.0, 10.0])
@pytest.mark.parametrize("static", [False, True])
def test_short_tasks_have_the_same_worker_whoever_does_them(
    monkeypatch: pytest.MonkeyPatch, patience: float, static: bool
) -> None:
    monkeypatch.setattr(threads, "PATIENCE", patience)
    seen: dict[int, int] = {}
    callers, told = set(), []

    def work(task: int, worker: int) -> None:
        seen[task] = worker
        callers.add(threading.get_ident())

    run(range(7), work, 3, 7, lambda done, total: told.append(done), static=static, short=True)
    assert sorted(seen) == list(range(7)) and told[-1] == 7
    if static:
        assert seen == {task: task % 3 for task in range(7)}
    if patience:
        assert callers == {threading.get_ident()}


@pytest.mark.parametrize("patience", [0.0, 10.0])
def test_short_tasks_that_fail_end_the_work(monkeypatch: pytest.MonkeyPatch, patience: float) -> None:
    monkeypatch.setattr(threads, "PATIENCE", patience)
    done: list[int] = []

    def work(task: int, worker: int) -> None:
        if task == 2:
            raise ValueError("no")
        done.append(task)

    with pytest.raises(ValueError, match="no"):
        run(range(1000), work, 2, short=True)
    assert len(done) < 1000
