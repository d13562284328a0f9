"""A folder of results: made beside its place, and moved there when all of it is written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer.errors import InputError
from mercer.writing import publish_folder, temporary

#: The names of the results in the folder.
MODEL, METRICS, REPORT = "model.mercer", "metrics.json", "report.html"


def refuse_other(folder: Path, target: str, force: bool) -> str:
    """What the results will replace, in words, or an empty text; a model of another target needs --force."""
    if not (folder / MODEL).exists():
        return ""
    try:
        facts = json.loads((folder / METRICS).read_text(encoding="utf-8"))
        was, of = str(facts["target"]), str(facts["data"])
    except (OSError, ValueError, KeyError, TypeError):
        was, of = "something unknown", "a file unknown"
    if was != target and not force:
        raise InputError(
            f"{folder}: holds a model of {was!r} from {of}; replace it with --force, or name another folder with --out."
        )
    return f"the model of {was!r} from {of} in {folder}"


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
        made = temporary(_ancestor(Path(os.path.realpath(folder))))
        made.mkdir(mode=0o700)
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield made
        _publish(made, folder)
    except InputError as error:  # a person knows the place by its own name
        raise InputError(str(error).replace(str(made), str(folder))) if str(made) in str(error) else error from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _ancestor(folder: Path) -> Path:
    """The nearest folder above that is there: what is between is made at the end."""
    return next(parent for parent in folder.absolute().parents if parent.exists())


def _publish(made: Path, folder: Path) -> None:
    try:
        publish_folder(made, folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder with --out.")
