"""Chunks on the workers of a Dask cluster: the same tasks in the same order as in one process.

The graph is built here and run by Dask, which decides where a task runs and repeats it if a worker is lost. Tasks therefore
have no side effects. Sums of eight chunks, and of eight such sums, are computed on the workers; the client adds the results.
Each task runs on one thread.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MissingExtraError, install_command
from mercer.grams.chunks.tasks import GROUP, Kernels, Task, Work, apply, product_of, rows_of, total_of
from mercer.inputs.chunks import Chunk, ChunkReader, DaskPart
from mercer.numeric.threads import one_thread


class Workers:
    """The workers of a client."""

    def __init__(self, client: Any) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError(f"work on a cluster needs dask.distributed: {install_command('dask')}") from None
        if not isinstance(client, distributed.Client):
            raise InputError(f"client must be a dask.distributed.Client; got {type(client).__name__}.")
        if client.status != "running":
            raise InputError(f"the Dask client is {client.status}; connect a new one: Client(address).")
        self._client = client

    def map(self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the results in the order of the parts."""
        return self._results([result for _, result in self._graph(tasks, work, reader, shared)])

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield sums of groups, or of waves of groups, computed on the workers."""
        import dask

        nodes = [(1, result) for _, result in self._graph(tasks, work, reader, shared)]
        for _ in range(2 if waves else 1):
            merge = dask.delayed(_summed, pure=False)
            groups = [nodes[i : i + GROUP] for i in range(0, len(nodes), GROUP)]
            nodes = [(sum(size for size, _ in group), merge([node for _, node in group])) for group in groups]
        found = self._results([node for _, node in nodes])
        for (size, _), value in zip(nodes, found, strict=True):
            yield 2 if waves else 1, size, value

    def hold(self, tasks: Iterable[Task], reader: ChunkReader) -> list[Any]:
        """Return the rows of every part that is not empty as futures, which stay on the workers."""
        held = self._client.compute([result for _, result in self._graph(tasks, rows_of, reader, ())])
        there = self._client.gather([self._client.submit(_is_there, rows, pure=False) for rows in held])
        return [rows for rows, some in zip(held, there, strict=True) if some]

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """Return sum_j k(X_i, X_j) V_j for every held i; workers exchange rows, and the client sends and gets vectors."""
        submit, nodes = self._client.submit, []
        V = [np.ascontiguousarray(v) for v in V]
        for i, left in enumerate(held):
            pairs = enumerate(zip(held, V, strict=True))
            terms = [submit(_multiplied, kernel, left, right, v, i == j, pure=False) for j, (right, v) in pairs]
            nodes.append(submit(_summed, terms, pure=False))
        for found in self._in_order(nodes):
            yield found[0]

    def _graph(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]
    ) -> Iterator[tuple[Task, Any]]:
        import dask

        # one node that all tasks depend on: it is sent once to each worker, also to one that replaces a lost worker
        common = dask.delayed(_Packed((work, reader, shared)), traverse=False, pure=False)
        run = dask.delayed(_applied, pure=False)
        for task in tasks:
            load = task.part.load
            loaded = load.delayed if isinstance(load, DaskPart) else dask.delayed(_loaded, pure=False)(load)
            yield task, run(common, task.number, task.part.where, loaded, task.own)

    def _results(self, nodes: list[Any]) -> Iterator[Any]:
        return self._in_order(self._client.compute(nodes, optimize_graph=True))

    def _in_order(self, futures: list[Any]) -> Iterator[Any]:
        try:
            for place, future in enumerate(futures):
                yield aligned(future.result())
                futures[place] = None  # frees its memory on the worker
        finally:  # an error, or Ctrl-C: cancel the tasks of a fit that has ended
            left = [future for future in futures if future is not None]
            if left:
                self._client.cancel(left, force=True)


class _Packed:
    """The shared arguments of all tasks of a pass as bytes: unpacked once per worker, into aligned arrays."""

    def __init__(self, common: tuple[Work, ChunkReader, tuple[Any, ...]]) -> None:
        import cloudpickle

        self.content = cloudpickle.dumps(common, protocol=4)
        self.name = uuid.uuid4().hex

    def opened(self) -> Any:
        """Return the function, the reader and the arguments."""
        # every message of Dask is a pickle, so this gives no new way to run code on a worker
        if _unpacked.get("name") != self.name:
            _unpacked.update(name=self.name, common=pickle.loads(self.content))
        return _unpacked["common"]


#: The shared arguments that this worker has unpacked last.
_unpacked: dict[str, Any] = {}


def aligned(value: Any) -> Any:
    """Return arrays aligned as NumPy allocates them. Arrays received from the network may start at odd addresses, for which
    NumPy does not use BLAS and rounds differently."""
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy()
    if isinstance(value, Chunk):
        return replace(value, X=aligned(value.X), y=aligned(value.y), weights=aligned(value.weights))
    return tuple(aligned(item) for item in value) if type(value) is tuple else value


def _loaded(load: Any) -> Any:
    return load()


def _applied(common: _Packed, number: int, where: str, loaded: Any, own: tuple[Any, ...]) -> Any:
    work, reader, shared = common.opened()
    with one_thread():
        return apply(work, reader, number, where, aligned(tuple(loaded)), aligned(tuple(own)) + shared)


def _summed(parts: list[Any]) -> Any:
    return total_of(parts)


def _is_there(rows: Any) -> bool:
    return rows is not None


def _multiplied(kernel: Kernels, left: Any, right: Any, V: Array, same: bool) -> Any:
    with one_thread():
        return product_of(kernel, aligned(left), aligned(right), aligned(V), same)
