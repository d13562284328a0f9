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

#: What a person is told of a step of a fit.
STEPS = {
    "fit": "fitting",
    "judge": "asking the held-out rows, a linear model and gradient boosting",
    "fit all": "fitting all rows",
    "report": "writing the report",
}


class Screen(Console):
    """stdout as rich sees it."""

    def on_broken_pipe(self) -> None:
        """Leave the matter to us: rich would exit with 1, which says "invalid"."""
        raise BrokenPipeError


def heading(words: str, style: str) -> Text:
    """Words that stand out on a terminal; elsewhere they are plain."""
    return Text(words, style=style)


def print_text(*parts: str | Text) -> None:
    """Print parts on stdout. Lines are never broken, and nothing in them is read as markup: kernels have brackets."""
    console = Screen(file=sys.stdout, highlight=False, markup=False, emoji=False)
    shown = [Text(visible(part.plain), style=part.style) if isinstance(part, Text) else visible(part) for part in parts]
    console.print(Text.assemble(*shown), soft_wrap=True)


def note(words: str, word: str = "Note: ") -> None:
    """Say something on stderr that is no part of the answer."""
    print(visible(f"{word}{words}"), file=sys.stderr)


@contextmanager
def progress(shown: bool) -> Iterator[Callable[[str], None]]:
    """A bar with the time left while a fit counts its steps; yields what to call when a step begins.

    On stderr, and nothing where that is no terminal.
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
    """Text whose control characters are shown and not obeyed: names and labels come from files, and a terminal runs them.

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
    """A value as JSON: ASCII, so that any terminal takes it, and strict, so that any reader does."""
    return json.dumps(_strict(value), indent=2, allow_nan=False)


def _strict(value: Any) -> Any:
    """JSON has no NaN, no infinity and no arrays."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _strict(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_strict(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, float) and value - value != 0:
        return str(value)  # "nan", "inf" or "-inf": a reader of the text learns more than from null
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


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
