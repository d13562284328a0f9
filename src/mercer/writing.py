"""Files and folders that are written completely or not at all.

A file is written in the same folder under a temporary name with the process id, synchronized to disk, and then renamed. A
process that was killed leaves that file behind; the next writer to the folder removes it. A folder of results is also made
under a temporary name, and exchanged with an older one of the same files in one step; a folder that holds other files stays.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from mercer.errors import InputError

#: Prefix of temporary files and folders, .mercer-PID-SYSTEM-RANDOM. Files of other programs are left alone.
PREFIX = ".mercer-"
_NAME = re.compile(r"\.mercer-(\d+)-(?:([0-9a-f]{8})-)?[0-9a-f]{12}")  # 0.2.0 did not name the system

#: Model files hold training rows, so only the owner can read a new file.
PRIVATE = 0o600

#: Arguments of renameat2 of Linux: paths relative to the current folder, and an exchange of the two names.
_HERE, _EXCHANGE = -100, 2

#: A file of a writer on another machine or in another container is removed if it is untouched for this long.
STALE_SECONDS = 7 * 24 * 3600.0


def temporary(folder: Path) -> Path:
    """Return a new temporary name in a folder, and remove what killed writers left there."""
    remove_stale(folder)
    return folder / f"{PREFIX}{os.getpid()}-{system()}-{secrets.token_hex(6)}"


@cache
def system() -> str:
    """Return eight hexadecimal digits that identify the host, boot and container, within which process ids are unique."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def remove_stale(folder: Path) -> None:
    """Remove temporary files of writers that no longer run."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _NAME.fullmatch(entry.name)
            if found is not None and _is_stale(int(found[1]), found[2], Path(entry.path)):
                _remove(Path(entry.path))


def _is_stale(pid: int, where: str | None, path: Path) -> bool:
    """Whether a writer has ended: no such process for a minute, or no change for a week if it ran on another system.

    A process id means nothing on another host, after another boot or in another container.
    """
    try:
        age = time.time() - path.lstat().st_mtime
    except OSError:
        return False
    if where != system():
        return age > STALE_SECONDS
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
    """Replace the files of a folder by those of a new one.

    A folder that does not exist, or that holds files of these names and nothing else, is replaced in one step: a process
    that is killed in the middle leaves the old folder or the new one. A folder that is empty, holds other things or is in
    use as working directory stays where it is, and its files are replaced one by one.
    """
    target = Path(os.path.realpath(folder))
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        made.chmod(0o777 & ~umask())  # temporary folders are private
        made.rename(target)
        return _sync_folder(target.parent)
    for file in target.iterdir():
        if file.is_file() and (made / file.name).exists():
            (made / file.name).chmod(stat.S_IMODE(file.stat().st_mode))
    if _is_replaceable(target, {file.name for file in made.iterdir()}):
        made.chmod(stat.S_IMODE(target.stat().st_mode))
        _exchange(made, target)
    else:
        for file in sorted(made.iterdir()):
            os.replace(file, target / file.name)
        _sync_folder(target)
    shutil.rmtree(made, ignore_errors=True)  # the old one after an exchange, otherwise an empty one
    _sync_folder(target.parent)


def _is_replaceable(target: Path, names: set[str]) -> bool:
    """Whether a folder holds results of an earlier run and nothing else, belongs to this user, and is not in use here."""
    held = list(target.iterdir())
    own = bool(held) and all(file.name in names and file.is_file() and not file.is_symlink() for file in held)
    here = Path(os.path.realpath(os.getcwd()))
    mine = os.name == "nt" or target.stat().st_uid == os.geteuid()
    return own and mine and not os.path.ismount(target) and target not in (here, *here.parents)


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
