"""Files and folders on their way to the disk: what is there is respected, what is left behind is cleaned up."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mercer
from mercer.cli.output import results_folder
from mercer.errors import InputError
from mercer.writing import publish_folder, system, temporary, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions, links and pipes of POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_are_private_and_old_modes_are_kept(tmp_path: Path) -> None:
    mercer.save(mercer.KernelRidge(), tmp_path / "m")
    assert mode(tmp_path / "m") == 0o600
    for kept in (0o600, 0o644, 0o660):
        (tmp_path / "m").chmod(kept)
        mercer.save(mercer.KernelRidge(), tmp_path / "m")
        assert mode(tmp_path / "m") == kept


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "model")
    for content in (b"one", b"two"):
        write_whole(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "there" / "model").read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["link", "there"] and os.listdir(tmp_path / "there") == ["model"]


def test_a_pipe_or_a_device_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(InputError, match="a device or a pipe and not a file"):
            write_whole(tmp_path / name, b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    gone = subprocess.run(command, capture_output=True, text=True, check=True)
    left = tmp_path / f".mercer-{int(gone.stdout)}-{system()}-0123456789ab"
    folder = tmp_path / f".mercer-{int(gone.stdout)}-{system()}-0123456789ac"
    living = tmp_path / f".mercer-{os.getppid()}-{system()}-0123456789ab"
    elsewhere = tmp_path / f".mercer-{int(gone.stdout)}-00000000-0123456789ab"  # a number of another container
    unknown = tmp_path / f".mercer-{int(gone.stdout)}-0123456789ab"  # as 0.2.0 named them
    forgotten = tmp_path / f".mercer-{os.getpid()}-00000000-0123456789ac"
    other = tmp_path / ".mercer-notes"
    for path in (left, living, elsewhere, unknown, forgotten, other):
        path.write_text("half")
    folder.mkdir()
    old = time.time() - 3600
    for path in (left, folder, living, elsewhere, unknown, other):
        os.utime(path, (old, old))
    os.utime(forgotten, (old - 8 * 86400, old - 8 * 86400))
    write_whole(tmp_path / "m", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([living.name, elsewhere.name, unknown.name, other.name, "m"])


def test_a_folder_is_published_whole(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for text in ("one", "two"):
        made = temporary(tmp_path)
        made.mkdir()
        (made / "a").write_text(text)
        publish_folder(made, folder)
        assert (folder / "a").read_text() == text
        (folder / "mine").write_text("mine")
        (folder / "mine").chmod(0o640)
    assert sorted(os.listdir(folder)) == ["a", "mine"] and mode(folder / "mine") == 0o640
    assert os.listdir(tmp_path) == ["out"]


def test_results_go_into_the_working_directory_without_replacing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a\n1\n")
    before = os.stat(".").st_ino
    for name in (".", ""):
        with results_folder(Path(name)) as made:
            (made / "report.html").write_text("new")
        assert (os.stat(".").st_ino, os.stat(tmp_path).st_ino) == (before, before)
        assert sorted(os.listdir()) == ["report.html", "table.csv"]


@pytest.mark.parametrize("case", ["other things", "empty", "working directory"])
def test_a_folder_that_others_use_is_never_exchanged(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    if case != "empty":
        (folder / "a").write_text("old")
    if case == "other things":
        (folder / "mine").write_text("mine")
    if case == "working directory":
        monkeypatch.chdir(folder)
    before = folder.stat().st_ino
    log = os.open(folder, os.O_RDONLY)  # another process that keeps the folder open
    made = temporary(tmp_path)
    made.mkdir()
    (made / "a").write_text("new")
    publish_folder(made, folder)
    assert folder.stat().st_ino == before and "a" in os.listdir(log)
    assert (folder / "a").read_text() == "new" and os.listdir(tmp_path) == ["out"]
    os.close(log)


@pytest.mark.parametrize("one_step", [True, False])
def test_a_publisher_killed_at_any_moment_mixes_nothing(tmp_path: Path, one_step: bool) -> None:
    """The process is killed before its k-th rename, for every k: the folder holds one version, or is kept beside."""
    code = f"""
import os, signal, sys
from pathlib import Path
import mercer.writing as writing
kill_at, calls = int(sys.argv[1]), 0
def counted(rename):
    def call(*a):
        global calls
        calls += 1
        if calls > kill_at: os.kill(os.getpid(), signal.SIGKILL)
        return rename(*a)
    return call
Path.rename, os.replace = counted(Path.rename), counted(os.replace)
if not {one_step}: writing.ctypes = None
made = writing.temporary(Path(sys.argv[2])); made.mkdir()
for name in "abc": (made / name).write_text("new")
writing.publish_folder(made, Path(sys.argv[2], "out"))
"""
    for kill_at in range(4):
        place = tmp_path / str(kill_at)
        (place / "out").mkdir(parents=True)
        for name in "abc":
            (place / "out" / name).write_text("old")
        subprocess.run([sys.executable, "-c", code, str(kill_at), str(place)], check=False)
        for folder in place.iterdir():
            assert len({file.read_text() for file in folder.iterdir()}) == 1
        kept = [folder for folder in place.iterdir() if folder.name.startswith("out")]
        assert kept, "the results are gone"


def test_nobody_else_opens_files_for_writing() -> None:
    """Everything goes through write_whole, or into a folder that is published whole."""
    calls = (r"\.savefig\((?!stream)", r"write_text\(", r"write_bytes\(", r"open\([^)]*[\"'][wax]", r"to_csv\(")
    writers = re.compile("|".join((*calls, r"np\.savez?\((?!stream)")))
    source = Path(mercer.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if writers.search(line) and not line.lstrip().startswith((">>>", "...", "#"))
    }
    # sources.py keeps standard input in a temporary file
    assert found <= {"inputs/reading.py", "writing.py"}
