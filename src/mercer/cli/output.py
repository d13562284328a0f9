"""Output of commands: text and JSON on stdout, notes and progress on stderr, and the folder of results."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from mercer.errors import InputError
from mercer.writing import publish_folder, temporary

#: Descriptions of the steps of a fit.
STEPS = {
    "fit": "fitting",
    "judge": "asking the held-out rows, a linear model and gradient boosting",
    "fit all": "fitting all rows",
    "report": "writing the report",
}


class Screen(Console):
    """Console of rich on stdout."""

    def on_broken_pipe(self) -> None:
        """Raise: rich would exit with 1, which means "invalid"."""
        raise BrokenPipeError


def heading(words: str, style: str) -> Text:
    """Return text that is bold on a terminal and plain elsewhere."""
    return Text(words, style=style)


def print_text(*parts: str | Text) -> None:
    """Print parts on stdout, without wrapping lines and without markup, because kernels contain brackets."""
    console = Screen(file=sys.stdout, highlight=False, markup=False, emoji=False)
    shown = [Text(visible(part.plain), style=part.style) if isinstance(part, Text) else visible(part) for part in parts]
    console.print(Text.assemble(*shown), soft_wrap=True)


def note(words: str, word: str = "Note: ") -> None:
    """Print a note on stderr that is not part of the result."""
    print(visible(f"{word}{words}"), file=sys.stderr)


@contextmanager
def progress(shown: bool) -> Iterator[Callable[[str], None]]:
    """Show a progress bar with the remaining time; yield the function to call when a step begins.

    It is drawn on stderr, and only on a terminal.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from mercer.estimators.progress import watched

    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task("reading", total=None)

        def tell(step: str) -> None:
            bar.update(task, description=visible(STEPS[step]), completed=0, total=None)

        def watch(label: str, done: int, total: int) -> None:
            bar.update(task, description=visible(label)[:60], completed=done, total=total)

        with watched(watch):
            yield tell


def visible(text: str) -> str:
    """Return text with escaped control characters, because names and labels from files could control the terminal.

    >>> visible("a\\x1b[2J\\tb")
    'a\\\\x1b[2J\\tb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(strict_json(value))


def strict_json(value: Any) -> str:
    """Return a value as strict JSON in ASCII, for any reader and any terminal."""
    return json.dumps(_strict(value), indent=2, allow_nan=False)


def _strict(value: Any) -> Any:
    """Return a value with lists for arrays and texts for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _strict(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_strict(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, float) and value - value != 0:
        return str(value)  # "nan", "inf" or "-inf", which tell more than null
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


#: Names of the files in the folder of results.
MODEL, METRICS, REPORT = "model.mercer", "metrics.json", "report.html"


def refuse_other(folder: Path, target: str, force: bool) -> str:
    """Return a description of the model that is replaced, or an empty text; a model of another target needs --force."""
    if not (folder / MODEL).exists():
        return ""
    try:
        facts = json.loads((folder / METRICS).read_text(encoding="utf-8"))
        was, of = str(facts["target"]), str(facts["data"])
    except (OSError, ValueError, KeyError, TypeError):
        was, of = "something unknown", "a file unknown"
    if was != target and not force:
        raise InputError(
            f"{folder}: holds a model of {was!r} from {of}, and the target is {target!r} now. If that is what you mean, "
            "replace the model with --force, or name another folder with --out."
        )
    return f"the model of {was!r} from {of} in {folder}"


@contextmanager
def results_folder(folder: Path, option: str = "--out") -> Iterator[Path]:
    """Yield a temporary folder whose files are moved to `folder` at the end, unless an error occurs.

    It is created at once, so a location without write permission raises before the work begins. Messages name the option.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: this is a file; name a folder for the results with {option}.")
        if folder.exists() and not os.access(folder, os.W_OK):
            raise PermissionError(None, "no permission")
        made = temporary(_place_beside(Path(os.path.realpath(folder))))
        made.mkdir(mode=0o700)
    except OSError as error:
        raise _unwritable(folder, error, option) from None
    try:
        yield made
        _publish(made, folder, option)
    except InputError as error:  # messages name the folder as the user gave it
        raise InputError(str(error).replace(str(made), str(folder))) if str(made) in str(error) else error from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _place_beside(folder: Path) -> Path:
    """Return where to prepare results on the same file system: the nearest existing parent folder, or the folder itself.

    The folder itself is used if it is a mount point or if nothing can be written above it.
    """
    if folder.is_dir() and (os.path.ismount(folder) or not os.access(folder.parent, os.W_OK)):
        return folder
    return next(parent for parent in folder.absolute().parents if parent.exists())


def _publish(made: Path, folder: Path, option: str) -> None:
    try:
        publish_folder(made, folder)
    except OSError as error:
        raise _unwritable(folder, error, option) from None


def _unwritable(folder: Path, error: OSError, option: str) -> InputError:
    return InputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder with {option}.")
