"""Chunks on the workers of a Dask cluster: the same tasks in the same order as in one process.

The graph is built here and run by Dask: where a task runs, what is moved, and what is computed again when a worker is lost
is Dask's business, which is why tasks change nothing but their own result. Sums of eight chunks, and of eight such sums, are
made on the workers; the client adds up what comes back. Each task runs on one thread.
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
        """The results, one by one, in the order of the parts."""
        return self._results([result for _, result in self._graph(tasks, work, reader, shared)])

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Sums of groups, or of waves of groups, made on the workers."""
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
        """The rows of every part that has some, as futures: they stay on the workers."""
        held = self._client.compute([result for _, result in self._graph(tasks, rows_of, reader, ())])
        there = self._client.gather([self._client.submit(_is_there, rows, pure=False) for rows in held])
        return [rows for rows, some in zip(held, there, strict=True) if some]

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """sum_j k(X_i, X_j) V_j for every held i; rows travel between workers, vectors from and to the client."""
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

        # one node that all tasks depend on: sent once to a worker, and again to one that takes the place of a lost one
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
                futures[place] = None  # its memory on the worker is free
        finally:  # an error, or Ctrl-C: nothing goes on for a fit that has ended
            left = [future for future in futures if future is not None]
            if left:
                self._client.cancel(left, force=True)


class _Packed:
    """What all tasks of a pass have in common, as bytes: unpacked once per worker, into memory of NumPy's own."""

    def __init__(self, common: tuple[Work, ChunkReader, tuple[Any, ...]]) -> None:
        import cloudpickle

        self.content = cloudpickle.dumps(common, protocol=4)
        self.name = uuid.uuid4().hex

    def opened(self) -> Any:
        """The function, the reader and the arguments."""
        # every message of Dask's is a pickle already: who can send one to a worker can run code there without this
        if _unpacked.get("name") != self.name:
            _unpacked.update(name=self.name, common=pickle.loads(self.content))
        return _unpacked["common"]


#: The last thing that this worker has unpacked.
_unpacked: dict[str, Any] = {}


def aligned(value: Any) -> Any:
    """Arrays as NumPy allocates them. Those that came over a wire may begin at odd addresses, where products of matrices do
    not go through BLAS, and end in other digits."""
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
