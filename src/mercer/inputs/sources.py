"""Where a table comes from: a file, a folder or glob of files, standard input; what kind each is, by its first bytes."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mercer.errors import InputError

CSV, PARQUET, ARROW, SQLITE = "csv", "parquet", "arrow", "sqlite"

#: Standard input.
STDIN = "-"

#: What files of other kinds begin with; everything else is text.
_MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"SQLite format 3\0": SQLITE}

#: Kinds that are known and not read, with what to do.
_OTHERS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first: zstd -d",
    b"BZh": "compressed with bzip2; unpack it first: bunzip2",
    b"\xfd7zXZ": "compressed with xz; unpack it first: unxz",
    b"\x93NUMPY": "a NumPy array without names of columns; write it as CSV or Parquet",
    b"\x89HDF": "an HDF5 file; write the table as CSV or Parquet",
}

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

#: Files of a folder that are taken.
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt", ".txt.gz", ".parquet", ".arrow", ".feather", ".ipc")


@dataclass(frozen=True)
class Source:
    """Files of one kind that make one table."""

    name: str  # for messages
    kind: str
    files: tuple[Path, ...]


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[Source]:
    """The files behind what a person wrote; standard input is kept in a temporary file as long as it is needed."""
    given = os.fspath(source)
    if given == STDIN:
        with _standard_input() as path:
            yield Source("standard input", kind_of(path, "standard input"), (path,))
        return
    files = _files(given)
    kinds = {path: kind_of(path, str(path)) for path in files}
    if len(set(kinds.values())) > 1:
        one, other = next((files[0], path) for path in files if kinds[path] != kinds[files[0]])
        raise InputError(f"{given}: {one.name} is {kinds[one]} and {other.name} is {kinds[other]}; give files of one kind.")
    kind = kinds[files[0]]
    if kind == SQLITE and len(files) > 1:
        raise InputError(f"{given}: holds {len(files)} SQLite databases; give one of them.")
    yield Source(given, kind, files)


@contextmanager
def _standard_input() -> Iterator[Path]:
    stream = sys.stdin.buffer if hasattr(sys.stdin, "buffer") else sys.stdin
    if stream is None or stream.isatty():
        raise InputError("- is standard input, and nothing is sent to it: cat data.csv | mercer fit - --target COLUMN")
    handle, name = tempfile.mkstemp(prefix="mercer-stdin-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file)
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)


def _files(given: str) -> tuple[Path, ...]:
    if _ADDRESS.match(given):
        raise InputError(f"{given}: this is a network address; mercer opens none. Download the file first (curl -O).")
    path = Path(given)
    with _readable(path):
        if path.is_dir():
            found = sorted(p for p in path.iterdir() if p.name.lower().endswith(SUFFIXES) and p.is_file())
            if not found:
                raise InputError(f"{given}: this folder holds no table ({', '.join(SUFFIXES)}); give a file.")
            return tuple(found)
        if path.exists():
            if not path.is_file():
                raise InputError(f"{given}: this is a device or a pipe, not a file; send it: cat … | mercer … -")
            return (path,)
    if glob.has_magic(given):
        found = [Path(name) for name in sorted(glob.glob(given, recursive=True)) if Path(name).is_file()]
        if found:
            return tuple(found)
        raise InputError(f"{given}: no file has such a name; check the pattern and the folder.")
    raise InputError(f"{given}: there is no such file; check the name and the folder.")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise InputError(f"{path}: no permission to read this; ask its owner, or copy it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; check the name and the disk.") from None


def kind_of(path: Path, name: str) -> str:
    """The kind of a file by its first bytes."""
    with _readable(path), path.open("rb") as file:
        start = file.read(16)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    for magic, words in _OTHERS.items():
        if start.startswith(magic):
            raise InputError(f"{name}: this is {words}.")
    return CSV
