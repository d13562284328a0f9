"""Errors as one message on stderr and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from mercer.cli.address_space import ran_out
from mercer.cli.exit_codes import BAD_INPUT, BROKEN_PIPE, FAILED, INTERRUPTED, TERMINATED, UNAVAILABLE
from mercer.cli.output import visible
from mercer.errors import InputError, MercerError, MissingExtraError, ParseError

#: Error codes of a full disk, a quota or a limit of file sizes.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

#: Removed options, and advice.
GONE = {
    (
        "mercer fit",
        "--alpha",
    ): "the penalty is now chosen for every kernel by its error on held-out rows: leave this option out; "
    "to set a penalty use Python: mercer.KernelRidge(kernel, alpha=…)."
}

#: Characters of an expression shown on either side of the place where reading stopped.
AROUND = 60


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


#: Signals that this command has received. Libraries may turn `Terminated` into an error of their own.
_received: list[int] = []


@contextmanager
def termination() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, with all cleanup; `guarded` returns its exit code whatever error the cleanup ends with."""
    _received.clear()

    def end(*_: Any) -> None:
        _received.append(signal.SIGTERM)
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread: the caller handles signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def guarded(call: Callable[[], Any]) -> int:
    """Return the exit code of a call; print its errors on stderr."""
    try:
        code = _attempt(call)
    except BaseException:
        if not _received:
            raise
        code = 0
    if _received and code != TERMINATED:
        return _say("Terminated.", TERMINATED)
    return code


def _attempt(call: Callable[[], Any]) -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            code = call()
            if sys.stdout is not None:  # None if the caller has closed it
                sys.stdout.flush()  # detects a closed reader here and not while Python shuts down
        return code if isinstance(code, int) else 0
    except Terminated:
        return _say("Terminated.", TERMINATED)
    except (KeyboardInterrupt, typer.Abort):
        return _say("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        return BROKEN_PIPE
    except SystemExit as leave:  # rich and typer exit with 1 if the reader is closed while they print their help
        if not isinstance(leave.__context__, BrokenPipeError):
            raise
        _forget_output()
        return BROKEN_PIPE
    except typer.Exit as leave:
        return int(leave.exit_code)
    except Exception as error:
        return _explain(error)


def _explain(error: Exception) -> int:
    if _received:
        return 0  # the cause is the signal, and `guarded` says so
    if isinstance(error, ParseError):
        return _say(point_at(error), BAD_INPUT)
    if isinstance(error, InputError):
        return _say(f"Error: {error}", BAD_INPUT)
    if isinstance(error, MissingExtraError):
        return _say(f"Error: {error}", UNAVAILABLE)
    if isinstance(error, MercerError):
        return _say(f"Error: {error}", FAILED)
    if hasattr(error, "format_message"):  # typer's usage errors; their class has moved from click into typer
        return _say(_usage(error), BAD_INPUT)
    if os.environ.get("MERCER_DEBUG"):
        raise error
    if isinstance(error, OSError) and error.errno in FULL:
        _forget_output()
        return _say(f"Error: cannot write: {error.strerror}; make room, or write elsewhere.", FAILED)
    reason = ran_out(error)
    if reason is not None:
        return _say(f"Error: {reason}", FAILED)
    return _say(
        f"Error: this is a bug in mercer, please report it: {type(error).__name__}: {error} "
        "(MERCER_DEBUG=1 shows where it happened)",
        FAILED,
    )


def _usage(error: Any) -> str:
    context = vars(error).get("ctx")
    path = context.command_path if context is not None else "mercer"
    hint = ""
    option = str(vars(error).get("option_name", "--"))
    if (path, option) in GONE:
        return f"Error: {option}: {GONE[path, option]} See {path} --help."
    if option[:2] != "--":  # -h is the only short option: this is probably an expression
        hint = " An expression that begins with - goes behind two dashes: mercer check -- EXPRESSION."
    return f"Error: {error.format_message().rstrip('.')}. See {path} --help.{hint}"


def point_at(error: ParseError) -> str:
    """Return the reason, and the expression with a caret below the error; a long expression is shortened."""
    from rich.cells import cell_len

    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in error.text)
    start, stop = max(0, error.position - AROUND), error.position + AROUND
    before = ("…" if start else "") + text[start : error.position]
    after = text[error.position : stop] + ("…" if stop < len(text) else "")
    # wide letters take two columns of a terminal, so the caret is placed by columns
    return f"Error: {error.reason}\n  {before}{after}\n  {' ' * cell_len(before)}^"


def _say(message: str, code: int) -> int:
    with suppress(OSError):  # stderr is closed: only the exit code can report the error
        print(visible(message), file=sys.stderr)
    return code


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"Note: {message}", 0)


def _forget_output() -> None:
    """Discard buffered output, which Python would fail to write at exit."""
    with suppress(OSError, ValueError):  # stdout may have no file descriptor, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
