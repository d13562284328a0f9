"""Checkpoints of a fit over chunks: the sums that are done, written completely or not at all, used only for the same fit.

A checkpoint is a folder with one file per finished pass and one for the pass that is under way. Each file is a NumPy archive
of plain arrays with a line of text: which fit it belongs to, the digest of every chunk, which pass, how many chunks are in
it, and a digest of its numbers. A fit that is started again reads every chunk and compares its digest, before any sum is
used, and goes through the same passes; those on file are read instead of made.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.inputs.chunks import Chunk
from mercer.inputs.graphs import Graph
from mercer.inputs.vectors import is_frame
from mercer.writing import write_whole

Arrays = tuple[Array, ...]
Levels = tuple[Arrays | None, ...]

#: Minimal time between two partial sums, in units of the time to write one: writing takes at most a twentieth of the time.
PATIENCE = 20.0

#: Names of the files of a checkpoint; other files in the folder are left alone.
PASS, UNDER_WAY = "pass-{:05d}.npz", "under-way.npz"


class Journal:
    """The checkpoint of one fit."""

    def __init__(self, folder: Path, fit: str, digests: Sequence[str]) -> None:
        self._folder = folder
        self._key = hashlib.sha256(fit.encode()).hexdigest()
        self._digests = list(digests)
        self._number = 0
        self._work = ""
        self._next = 0.0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: no folder for a checkpoint can be made: {error.strerror or error}.") from None

    def result(self, work: Callable[..., Any]) -> Arrays | None:
        """Begin the next pass and return its result if it is on file."""
        self._number += 1
        self._work = work.__name__ if isinstance(work, FunctionType) else str(work)
        path = self._folder / PASS.format(self._number)
        return None if not path.exists() else _flat(self._read(path)[1])

    def partial(self) -> tuple[int, Levels]:
        """Return how many chunks of this pass are on file, and their sums: of the open group, the open wave, and before."""
        path = self._folder / UNDER_WAY
        if not path.exists():
            return 0, (None, None, None)
        header, levels = self._read(path)
        if header["pass"] != self._number:  # of a pass that is already finished
            return 0, (None, None, None)
        return int(header["done"]), levels

    def note(self, done: int, levels: Levels) -> None:
        """Write the progress of this pass, unless it was written recently."""
        start = time.monotonic()
        if start >= self._next:
            self._write(self._folder / UNDER_WAY, done, levels)
            spent = time.monotonic() - start
            self._next = time.monotonic() + PATIENCE * spent

    def finish(self, total: Arrays) -> None:
        """Write the result of this pass."""
        self._write(self._folder / PASS.format(self._number), -1, (total,))

    def remove(self) -> None:
        """Remove the files of the checkpoint; the folder too, if nothing else is in it."""
        for path in [*self._folder.glob("pass-?????.npz"), self._folder / UNDER_WAY]:
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            self._folder.rmdir()

    # -- files -------------------------------------------------------------------------------------------------------

    def _write(self, path: Path, done: int, levels: Levels) -> None:
        arrays = {
            f"{level}-{place}": np.asarray(array)
            for level, values in enumerate(levels)
            if values is not None
            for place, array in enumerate(values)
        }
        header = {
            "fit": self._key,
            "chunks": self._digests,
            "pass": self._number,
            "work": self._work,
            "done": done,
            "digest": _digest(arrays),
            "levels": [-1 if values is None else len(values) for values in levels],
        }
        stream = io.BytesIO()
        np.savez(stream, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]
        write_whole(path, stream.getvalue())

    def _read(self, path: Path) -> tuple[dict[str, Any], Levels]:
        header, arrays = _opened(path)
        other = self._difference(header)
        if other is not None:
            raise InputError(
                f"{path}: this checkpoint is of another fit: {other}. Give another folder, or delete this one to start "
                "again."
            )
        if header.get("work") != self._work and header.get("pass") == self._number:
            raise InputError(f"{path}: this checkpoint is of another version; delete {path.parent} to start again.")
        if header.get("digest") != _digest(arrays):
            raise _damaged(path)
        levels = []
        try:
            for level, size in enumerate(header["levels"]):
                levels.append(None if size < 0 else tuple(arrays[f"{level}-{place}"] for place in range(size)))
        except (KeyError, TypeError):
            raise _damaged(path) from None
        return header, tuple(levels)

    def _difference(self, header: dict[str, Any]) -> str | None:
        """What differs between the fit of a file and this one; None if it is the same fit on the same rows."""
        if header.get("fit") != self._key:
            return "the estimator or its parameters differ"
        kept = header.get("chunks")
        if not isinstance(kept, list) or len(kept) != len(self._digests):
            return "the data have another number of chunks"
        changed = [number for number, pair in enumerate(zip(kept, self._digests, strict=True)) if pair[0] != pair[1]]
        if not changed:
            return None
        return f"the rows of chunk {changed[0]} differ ({len(changed)} of {len(kept)} chunks have changed)"


def _flat(levels: Levels) -> Arrays:
    assert levels[0] is not None
    return levels[0]


def digest_of(chunk: Chunk) -> tuple[int, str]:
    """Return the number of rows of a chunk, and a digest of its rows, targets and weights."""
    made = hashlib.blake2b(digest_size=16)
    for values in (chunk.X, chunk.y, chunk.weights):
        for part in _contents(values):
            made.update(len(part).to_bytes(8, "little"))
            made.update(part)
    return len(chunk), made.hexdigest()


def _contents(values: Any) -> Iterator[bytes]:
    """The content of a collection of any kind, in an order that depends on nothing else."""
    if sp.issparse(values):
        for array in (values.data, values.indices, values.indptr, np.array(values.shape)):
            yield from _contents(array)
    elif isinstance(values, np.ndarray) and values.dtype != object:
        yield f"{values.dtype.str} {values.shape}".encode()
        yield np.ascontiguousarray(values).tobytes()
    elif is_frame(values):
        for name in values.columns:
            yield str(name).encode()
            yield from _contents(np.asarray(values[name].to_numpy()))
    elif isinstance(values, Graph):
        yield repr((values.n_nodes, values.edges, values.node_labels, values.edge_labels, values.smiles)).encode()
    elif isinstance(values, (list, tuple, np.ndarray)):
        for item in values:
            yield from _contents(item)
    else:
        yield repr(values).encode()


def _digest(arrays: dict[str, Array]) -> str:
    made = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        made.update(f"{name} {array.dtype.str} {array.shape}".encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def _opened(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the line of text and the arrays of a file, without pickles and without compressed members."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise _damaged(path)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises many types of errors
        raise _damaged(path) from error
    if not isinstance(header, dict) or not isinstance(header.get("levels"), list) or "pass" not in header:
        raise _damaged(path)
    return header, arrays


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: the checkpoint is damaged or was changed; delete {path.parent} to start again.")
