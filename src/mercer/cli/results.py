"""A folder of results: made beside its place, and moved there when all of it is written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer.errors import InputError


@contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, whose files appear in `folder` at the end, or not at all if anything fails.

    It is made at once, so that a place where nothing can be written is found before the work and not after it.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: this is a file; name a folder for the results with --out.")
        if folder.exists() and not os.access(folder, os.W_OK):
            raise PermissionError(None, "no permission")
        made = Path(tempfile.mkdtemp(prefix=".mercer-", dir=_ancestor(folder)))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield made
        _publish(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _ancestor(folder: Path) -> Path:
    """The nearest folder above that is there: what is between is made at the end."""
    return next(parent for parent in folder.absolute().parents if parent.exists())


def _publish(made: Path, folder: Path) -> None:
    try:
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            made.chmod(0o777 & ~_umask())  # temporary folders are private
            made.rename(folder)
            return
        for file in sorted(made.iterdir()):
            os.replace(file, folder / file.name)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder with --out.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
