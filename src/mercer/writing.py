"""Files and folders that are written completely or not at all.

A file is written in the same folder under a temporary name with the process id, synchronized to disk, and then renamed. A
process that was killed leaves that file behind; the next writer to the folder removes it. A folder of results is also made
under a temporary name, and exchanged with the old one in one step.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

from mercer.errors import InputError

#: Prefix of temporary files and folders, .mercer-PID-RANDOM. Files of other programs are left alone.
PREFIX = ".mercer-"
_NAME = re.compile(r"\.mercer-(\d+)-[0-9a-f]{12}")

#: Model files hold training rows, so only the owner can read a new file.
PRIVATE = 0o600

#: Arguments of renameat2 of Linux: paths relative to the current folder, and an exchange of the two names.
_HERE, _EXCHANGE = -100, 2

#: A temporary file that was not changed for this long is stale, also if its writer ran on another machine.
STALE_SECONDS = 24 * 3600.0


def temporary(folder: Path) -> Path:
    """Return a new temporary name in a folder, and remove what killed writers left there."""
    remove_stale(folder)
    return folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"


def remove_stale(folder: Path) -> None:
    """Remove temporary files of writers that no longer run."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _NAME.fullmatch(entry.name)
            if found is not None and _is_stale(int(found[1]), Path(entry.path)):
                _remove(Path(entry.path))


def _is_stale(pid: int, path: Path) -> bool:
    """Whether a writer has ended: no such process for a minute, or no change for a day (it may run on another machine)."""
    try:
        age = time.time() - path.lstat().st_mtime
    except OSError:
        return False
    if age > STALE_SECONDS:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return age > 60.0
    except OSError:
        return False
    return False


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def write_whole(path: str | os.PathLike[str], content: bytes, mode: int = PRIVATE) -> None:
    """Write a file completely or not at all: under a temporary name first, which is then renamed.

    A symbolic link is followed, an existing file keeps its permissions, and a new one gets `mode`. Devices and pipes raise
    an error.
    """
    named = Path(path)
    try:
        target = Path(os.path.realpath(named))  # the link stays, its target is replaced
        with suppress(FileNotFoundError):
            mode = _mode_of(target, named)
        beside = temporary(target.parent)
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                with suppress(AttributeError):  # an existing file keeps its mode for any umask; Windows has no fchmod
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            with suppress(OSError):
                beside.unlink()
        _sync_folder(target.parent)
    except FileNotFoundError:
        raise InputError(f"{named}: there is no folder {named.parent}; create it, or choose another.") from None
    except IsADirectoryError:
        raise InputError(f"{named}: this is a folder; name a file in it.") from None
    except OSError as error:
        raise InputError(f"{named}: cannot be written: {error.strerror or error}; choose another place.") from None


def _mode_of(target: Path, named: Path) -> int:
    found = target.lstat().st_mode
    if stat.S_ISDIR(found):
        raise InputError(f"{named}: this is a folder; name a file in it.")
    if not stat.S_ISREG(found):
        raise InputError(f"{named}: this is a device or a pipe and not a file; it was left alone. Name a file.")
    return stat.S_IMODE(found)


def publish_folder(made: Path, folder: Path) -> None:
    """Replace a folder by a new one in one step; files of other names in the old folder are kept.

    If the process is killed, either the old folder or the new one is in place, never a mixture.
    """
    target = Path(os.path.realpath(folder))
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        made.chmod(0o777 & ~umask())  # temporary folders are private
        made.rename(target)
        return _sync_folder(target.parent)
    made.chmod(stat.S_IMODE(target.stat().st_mode))
    for file in target.iterdir():
        if not (made / file.name).exists():
            _carry(file, made / file.name)
        elif file.is_file():
            (made / file.name).chmod(stat.S_IMODE(file.stat().st_mode))
    _exchange(made, target)
    shutil.rmtree(made, ignore_errors=True)  # the old one, after the exchange
    _sync_folder(target.parent)


def _exchange(made: Path, target: Path) -> None:
    """Exchange the names of two folders: in one step on Linux, elsewhere in two, with the old one kept until the end."""
    with suppress(OSError, AttributeError):
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(_HERE, os.fsencode(made), _HERE, os.fsencode(target), _EXCHANGE) == 0:
            return
    old = target.with_name(f"{target.name}.old-{secrets.token_hex(4)}")  # a later writer does not remove it
    target.rename(old)
    try:
        made.rename(target)
    except BaseException:
        old.rename(target)
        raise
    old.rename(made)


def _carry(file: Path, to: Path) -> None:
    """Carry the other files of the old folder over, by hard links if possible, otherwise by copies."""
    if file.is_dir() and not file.is_symlink():
        shutil.copytree(file, to, symlinks=True)
        return
    try:
        os.link(file, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(file, to, follow_symlinks=False)


def umask() -> int:
    """Return the umask of this process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Synchronize a folder to disk, because the new name must be stored too; Windows cannot open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
