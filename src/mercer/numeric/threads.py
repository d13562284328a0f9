"""A small pool of threads for tiles; BLAS uses one thread inside and its own setting afterwards."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Progress = Callable[[int, int], None]

#: Seconds after which short tasks are shared with other threads. Waking a thread takes a tenth of it, but the threads of
#: another library's BLAS stay busy for some milliseconds after each call and compete for the cores.
PATIENCE = 2e-3

_lock = threading.Lock()
_holders = 0
_limiter: list[tuple[Any, int]] = []  # libraries and the threads they had


class _OneThread(threading.local):
    """Nesting depth of `one_thread` in the calling thread."""

    depth = 0


_alone = _OneThread()


def _start_afresh() -> None:
    """Reset the count and the lock in a forked child, where the threads that hold them do not exist."""
    global _lock, _holders, _limiter
    _lock, _holders, _limiter = threading.Lock(), 0, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)


def cpu_count() -> int:
    """Return the number of processors this process may use; 1 inside `one_thread`."""
    if _alone.depth:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several concurrent holders restores the number.

    threadpoolctl's own limiter restores what it saw on entry, so two overlapping limiters of two threads could leave
    BLAS at one thread for ever; and version 3.8 obeys one thread only, the first that ever set a limit, so that
    the digits of a fit depended on the thread it ran in. A count of holders avoids both.
    """
    global _holders, _limiter
    with _lock:
        if _holders == 0:
            _limiter = [(library, library.num_threads) for library in _blas()]
            _set_threads([(library, 1) for library, _ in _limiter])
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _set_threads(_limiter)
                _limiter = []


def blas_threads() -> int:
    """Return the number of threads that a large matrix product uses."""
    with _lock:
        held = [number for _, number in _limiter] if _holders else [library.num_threads for library in _blas()]
    return max(1, min(cpu_count(), max(held, default=1)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on the calling thread alone, BLAS included.

    For many small jobs in a row: waking a second thread costs as much as it saves, and the threads of BLAS stay busy
    for some milliseconds after each call, which delays the next.
    """
    _alone.depth += 1
    try:
        with one_blas_thread():
            yield
    finally:
        _alone.depth -= 1


@cache
def _blas() -> tuple[Any, ...]:
    """Return the loaded BLAS libraries; the search takes as long as a small Gram matrix, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(wanted: list[tuple[Any, int]]) -> None:
    for library, number in wanted:
        # newer versions do nothing in `set_num_threads` unless the calling thread was the first one that ever called it
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def run(
    tasks: Iterable[Task],
    work: Callable[[Task, int], None],
    threads: int,
    total: int = 0,
    progress: Progress | None = None,
    static: bool = False,
    short: bool = False,
) -> None:
    """Call work(task, worker) for every task on `threads` threads, the calling one among them.

    Tasks go to the next free worker; with `static` the number of a task decides its worker, so that sums per worker come
    out the same every time. With `short` tasks the calling thread begins alone, and calls the others once the work has
    lasted longer than it takes to wake them.

    The first exception stops all workers and is raised here; so does Ctrl-C, which reaches the calling thread.
    `progress(done, total)` is called from the calling thread only.
    """
    if threads <= 1:  # no lock, no event: small tasks take less than these
        for done, task in enumerate(tasks, 1):
            work(task, 0)
            if progress is not None:
                progress(done, total)
        return
    shared = iter(tasks)
    queues = [shared] * threads
    if static:
        listed = list(shared)
        queues = [iter(listed[worker::threads]) for worker in range(threads)]
    crew = _Crew(queues, work, total, progress)
    crew.together(threads, PATIENCE if short else 0.0)
    if crew.failures:
        raise crew.failures[0]
    if progress is not None:
        progress(crew.done, total)


class _Crew(Generic[Task]):
    """Workers that take tasks from their queues until these are empty or one of them fails."""

    def __init__(
        self, queues: list[Iterator[Task]], work: Callable[[Task, int], None], total: int, progress: Progress | None
    ) -> None:
        self._queues, self._work, self._total, self._progress = queues, work, total, progress
        self._guard, self._stop = threading.Lock(), threading.Event()
        self.done = 0
        self.failures: list[BaseException] = []

    def loop(self, worker: int) -> None:
        """Run tasks until none is left; worker 0 is the calling thread and reports the progress."""
        try:
            while not self._stop.is_set():
                with self._guard:
                    try:
                        task = next(self._queues[worker])
                    except StopIteration:
                        return
                self._work(task, worker)
                with self._guard:
                    self.done += 1
                if self._progress is not None and worker == 0:
                    self._progress(self.done, self._total)
        except BaseException as error:
            self.failures.append(error)
            self._stop.set()

    def alone(self, seconds: float) -> bool:
        """Run tasks on the calling thread for some seconds; return True if none is left, or one has failed."""
        until, worker = time.perf_counter() + seconds, 0
        try:
            while time.perf_counter() < until:
                try:
                    task = next(self._queues[worker])
                except StopIteration:
                    return True  # tasks are dealt out in turns: where one queue ends, all have
                self._work(task, worker)
                self.done += 1
                worker = (worker + 1) % len(self._queues)
                if self._progress is not None:
                    self._progress(self.done, self._total)
        except BaseException as error:
            self.failures.append(error)
        return bool(self.failures)

    def together(self, threads: int, patience: float = 0.0) -> None:
        """Run all workers, each with one thread of BLAS; only the calling thread for the first `patience` seconds."""
        with one_blas_thread():
            if self.alone(patience):
                return
            others = [threading.Thread(target=self.loop, args=(i,), daemon=True) for i in range(1, threads)]
            try:
                for thread in others:
                    thread.start()
                self.loop(0)
                for thread in others:
                    thread.join()
            finally:  # after Ctrl-C while starting or waiting, no worker may write any more
                self._stop.set()
                for thread in others:
                    with suppress(RuntimeError):  # not started yet: it will see `stop` before its first task
                        thread.join()
