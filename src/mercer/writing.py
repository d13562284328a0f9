"""Files written whole or not at all, where their names lead, with the permissions they had.

A file is written beside its place under a name that says who writes it, brought to the disk, and then renamed. A writer that
was killed leaves that file behind; the next writer to the same folder takes it away. A folder of results is made beside its
place too, and exchanged with the old one in one step.
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

#: Names of files and folders that are being written: .mercer-PID-RANDOM. No other program's are touched.
PREFIX = ".mercer-"
_NAME = re.compile(r"\.mercer-(\d+)-[0-9a-f]{12}")

#: Model files hold training rows: a new file is for its owner alone.
PRIVATE = 0o600

#: Arguments of renameat2 of Linux: paths as they are, and both names kept.
_HERE, _EXCHANGE = -100, 2

#: A file untouched for this long was left behind, also by a writer on another machine that shares the folder.
STALE_SECONDS = 24 * 3600.0


def temporary(folder: Path) -> Path:
    """A new name in a folder, for something that will be renamed; what killed writers left there is removed."""
    remove_stale(folder)
    return folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"


def remove_stale(folder: Path) -> None:
    """Remove what writers left behind that are no longer there."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _NAME.fullmatch(entry.name)
            if found is not None and _is_stale(int(found[1]), Path(entry.path)):
                _remove(Path(entry.path))


def _is_stale(pid: int, path: Path) -> bool:
    """Whether a writer is gone: dead on this machine for a minute, or silent for a day (it may be on another machine)."""
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
    """Write a file whole or not at all: beside it first, onto the disk, and then under its name.

    A symbolic link is followed, a file that is there keeps its permissions, and a new one gets `mode`. What is no file (a
    device, a pipe) is refused.
    """
    named = Path(path)
    try:
        target = Path(os.path.realpath(named))  # the link stays, what it leads to is replaced
        with suppress(FileNotFoundError):
            mode = _mode_of(target, named)
        beside = temporary(target.parent)
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                with suppress(AttributeError):  # an existing file keeps its mode, whatever the umask; Windows has no fchmod
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
    """Let a folder that was made take the place of another in one step; files of other names in the old one stay.

    Whoever is killed in the middle leaves the old folder or the new one, never some files of each.
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
    """Let two folders change names: in one step on Linux, elsewhere in two with the old one kept until the end."""
    with suppress(OSError, AttributeError):
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(_HERE, os.fsencode(made), _HERE, os.fsencode(target), _EXCHANGE) == 0:
            return
    old = target.with_name(f"{target.name}.old-{secrets.token_hex(4)}")  # no name that a later writer would remove
    target.rename(old)
    try:
        made.rename(target)
    except BaseException:
        old.rename(target)
        raise
    old.rename(made)


def _carry(file: Path, to: Path) -> None:
    """Bring what else lies in the old folder: by a second name where that can be, else by a copy."""
    if file.is_dir() and not file.is_symlink():
        shutil.copytree(file, to, symlinks=True)
        return
    try:
        os.link(file, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(file, to, follow_symlinks=False)


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """The new name has to reach the disk too; where folders cannot be opened (Windows), the system does it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
