"""`--scheduler ADDRESS`: a connection to a Dask cluster, or a temporary cluster on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from mercer.errors import InputError, MercerError, MissingExtraError, install_command

#: Value instead of an address for a cluster of processes on this machine.
LOCAL = "local"

#: Seconds to wait for an answer of the scheduler, and for a worker.
ANSWER, WORKERS = 10, 30


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler; at the end running tasks are canceled and the client is closed."""
    try:
        import distributed
        from distributed.comm import CommClosedError
    except ImportError:
        raise MissingExtraError(f"--scheduler needs dask.distributed: {install_command('dask')}") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # the error message reports the failure
    with _cluster(address) as place:
        client = _client(distributed, place, address)
        try:
            _check_workers(client, address)
            yield client
        except (distributed.KilledWorker, CancelledError, CommClosedError) as error:
            raise MercerError(
                f"the workers of {address} were lost ({type(error).__name__}): they ended, ran out of memory, or the "
                "scheduler has gone. Start them again, with more memory for each or smaller files."
            ) from None
        finally:
            client.close(timeout=ANSWER)


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    if address != LOCAL:
        yield address
        return
    from distributed import LocalCluster

    with LocalCluster(threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50) as made:
        yield made


def _client(distributed: Any, place: Any, address: str) -> Any:
    try:
        return distributed.Client(place, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:  # refused, timed out, unknown host; unknown protocol
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"--scheduler {address}: cannot connect ({said}). Give the address that dask scheduler prints, such as "
            f"tcp://host:8786, or {LOCAL} for worker processes on this machine."
        ) from None


def _check_workers(client: Any, address: str) -> None:
    """Raise if there are no workers, or if a worker has another version of mercer."""
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError:
        raise InputError(
            f"--scheduler {address}: it has no workers after {WORKERS} s; start some: dask worker {address}"
        ) from None
    mine = version("mercer")
    # a function of the standard library, which a worker without mercer can run too
    for worker, theirs in client.run(version, "mercer", on_error="return").items():
        if theirs != mine:
            has = f"mercer {theirs}" if isinstance(theirs, str) else "no mercer"
            raise InputError(
                f"--scheduler {address}: worker {worker} has {has}, and this is mercer {mine}; install the same version on "
                "every worker."
            )
