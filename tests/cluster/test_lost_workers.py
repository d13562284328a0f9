"""A worker killed in the middle of every kind of fit: the same result. The client interrupted: no task left running."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.grams.chunks import distributed as ours
from mercer.numeric.threads import one_thread
from tests.cluster.cases import CASES, STEP, Case, X, Y

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.slow  # make test-cluster


@pytest.fixture(scope="module")
def fragile() -> Iterator[Any]:
    """A cluster whose workers are killed, and started again by their nannies."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


def slow(block: Any, seconds: float = 0.2) -> Any:
    time.sleep(seconds)
    return block


def lazy(values: Any) -> Any:
    """A Dask array whose partitions take a while, so that there is a middle to kill in."""
    if values is None:
        return None
    found = da.from_array(values, chunks=STEP if values.ndim == 1 else (STEP, -1))
    return found.map_blocks(slow, dtype=found.dtype) if values.ndim == 2 else found


class _Killer:
    """Kills one worker with SIGKILL while the first pass over all chunks is under way."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.graphs = pid, 0
        self.timer = threading.Timer(seconds, lambda: os.kill(pid, signal.SIGKILL))

    def seen(self) -> None:
        """A graph is about to be sent: the first one looks at one chunk only."""
        self.graphs += 1
        if self.graphs == 2:
            self.timer.start()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_worker_killed_in_the_middle_changes_nothing(fragile: Any, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    fragile.wait_for_workers(2, timeout=60)
    with one_thread():
        here = case.says(case.fit(mercer.chunks(X, case.target, rows=STEP)))
        pids = list(fragile.run(os.getpid).values())
        killer, inner = _Killer(pids[0], 0.4), ours.Workers._graph

        def watched(self: Any, *given: Any) -> Any:
            killer.seen()
            return inner(self, *given)

        monkeypatch.setattr(ours.Workers, "_graph", watched)
        # eleven chunks of 0.2 seconds on two workers: more than a second, and the worker dies after 0.4
        there = case.says(case.fit(mercer.chunks(lazy(X), lazy(case.target), client=fragile)))
    assert killer.timer.finished.is_set() and killer.graphs >= 2, "no worker was killed"
    fragile.wait_for_workers(2, timeout=60)
    assert pids[0] not in fragile.run(os.getpid).values()
    np.testing.assert_array_equal(there, here)


def test_an_interrupted_client_leaves_no_task(fragile: Any) -> None:
    fragile.wait_for_workers(2, timeout=60)
    rows = da.from_array(X, chunks=(10, -1)).map_blocks(slow, seconds=0.2, dtype=float)
    chunks = mercer.chunks(rows, da.from_array(Y, chunks=10), client=fragile)
    model = mercer.KernelRidge(mercer.Polynomial(2))
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(2.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(chunks)
    timer.join()
    assert not hasattr(model, "kernel_")
    deadline = time.monotonic() + 30.0
    while any(fragile.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(fragile.processing().values())
    del chunks, rows
    assert fragile.submit(sum, [1, 2]).result(timeout=30) == 3  # the cluster goes on
