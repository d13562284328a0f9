"""Checkpoints of a fit over chunks: the sums that are done, written completely or not at all, used only for the same fit.

A checkpoint is a folder with one file per finished pass and one for the pass that is under way. Each file is a NumPy archive
of plain arrays with a line of text: which fit on which data it belongs to, which pass, how many chunks are in it, and a
digest of its numbers. A fit that is started again goes through the same passes; those on file are read instead of made.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.inputs.chunks import Chunk
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

    def __init__(self, folder: Path, fit: str, lengths: Sequence[int], head: Chunk) -> None:
        self._folder = folder
        self._key = _fingerprint(fit, lengths, head)
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
        if header.get("fit") != self._key:
            raise InputError(
                f"{path}: this checkpoint is of another fit: the estimator, its parameters or the data differ. Give another "
                "folder, or delete this one to start again."
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


def _flat(levels: Levels) -> Arrays:
    assert levels[0] is not None
    return levels[0]


def _fingerprint(fit: str, lengths: Sequence[int], head: Chunk) -> str:
    """Return a digest of a fit and its data: the estimator as text, the lengths of the chunks, the first rows."""
    made = hashlib.sha256(fit.encode())
    made.update(repr(tuple(lengths)).encode())
    parts: tuple[Any, ...] = (head.X, head.y, head.weights)
    for values in parts:
        if isinstance(values, np.ndarray) and values.dtype != object:
            made.update(np.ascontiguousarray(values).tobytes())
        else:
            made.update(repr([list(values[c]) for c in values.columns] if is_frame(values) else values).encode())
    return made.hexdigest()


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
