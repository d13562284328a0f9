"""Check the wheel and the sdist of a folder: the files inside, then each installed in a fresh environment and tried there.

    python scripts/check_dist.py dist

The environments are made in a temporary folder outside the tree, first with the core dependencies alone, then with the
extra `cli`; what is tried in them is in `try_installed.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIAL = Path(__file__).with_name("try_installed.py")
COLD = Path(__file__).with_name("cold_start.py")
#: Most bytes of site-packages, without pip, that loading a model and predicting may need. LLVM (numba) is the largest part.
LARGEST_CORE = 600e6


def main() -> None:
    """Check both archives of the folder, and stop at the first fault."""
    folder = Path(sys.argv[1])
    wheel, sdist = only(folder, "*.whl"), only(folder, "*.tar.gz")
    expected = tree_files()
    same(wheel.name, package_files(zipfile.ZipFile(wheel).namelist(), "mercer/"), expected)
    with tarfile.open(sdist) as archive:
        names = [member.name for member in archive if member.isfile()]
    same(sdist.name, package_files(names, sdist.name.removesuffix(".tar.gz") + "/src/mercer/"), expected)
    print(f"{wheel.name} and {sdist.name} hold the {len(expected)} files of src/mercer", flush=True)
    for archive_path in (wheel, sdist):
        with tempfile.TemporaryDirectory(prefix="mercer-dist-") as place:
            install_and_try(archive_path, Path(place), expected)


def only(folder: Path, pattern: str) -> Path:
    """The one file of a kind: two would leave open which of them was checked."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} should hold one {pattern}, and holds {[path.name for path in found]}")
    return found[0].resolve()


def tree_files() -> set[str]:
    """The files of the package as they lie in the tree, without what Python and numba keep beside them."""
    package = ROOT / "src" / "mercer"
    paths = (path.relative_to(package) for path in package.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


def package_files(names: list[str], prefix: str) -> set[str]:
    """The names below the prefix."""
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def same(what: str, found: set[str], expected: set[str]) -> None:
    """Stop where files are missing or too many."""
    if found != expected:
        sys.exit(f"{what}: missing {sorted(expected - found)}, not in the tree {sorted(found - expected)}")


def install_and_try(archive: Path, place: Path, expected: set[str]) -> None:
    """Install the archive in a fresh environment in this place, and try it without and with the extra `cli`."""
    home = place / "environment"
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    python = shutil.which("python", path=programs)
    assert python is not None
    work = place / "work"
    work.mkdir()
    for extra in ("", "cli"):
        wanted = f"{archive}[{extra}]" if extra else str(archive)
        print(f"{archive.name}, {f'extra {extra}' if extra else 'core dependencies'}", flush=True)
        # -I: neither this folder nor PYTHONPATH may stand in for what was installed
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
        for command in (install, [str(TRIAL), extra or "core"]):
            if code := subprocess.run([python, "-I", *command], cwd=work, check=False).returncode:
                sys.exit(f"{archive.name}: {' '.join(command)} ended with {code}")
        if not extra:
            check_footprint(home)
            print(f"a new process that loads a model and predicts one row: {cold_start(python, work)}", flush=True)
    (package,) = home.rglob("site-packages/mercer")
    paths = (path.relative_to(package) for path in package.rglob("*") if path.is_file())
    same(f"{archive.name}, installed", {path.as_posix() for path in paths if "__pycache__" not in path.parts}, expected)


def check_footprint(home: Path) -> None:
    """Print the size of the environment that loads a model and predicts, and stop if it exceeds `LARGEST_CORE`."""
    (packages,) = home.rglob("site-packages")
    sizes = {
        entry.name: folder_size(entry) for entry in packages.iterdir() if not entry.name.startswith(("pip", "setuptools"))
    }
    total = sum(sizes.values())
    largest = sorted(sizes, key=lambda name: -sizes[name])[:6]
    shares = ", ".join(f"{name} {sizes[name] / 1e6:.0f} MB" for name in largest)
    print(f"site-packages to load a model and predict: {total / 1e6:.0f} MB ({shares})", flush=True)
    if total > LARGEST_CORE:
        sys.exit(f"the core dependencies take {total / 1e6:.0f} MB; the stated limit is {LARGEST_CORE / 1e6:.0f} MB")


def cold_start(python: str, work: Path) -> str:
    """Return seconds and resident memory of a process that loads the model of the trial, the fastest of five."""
    found = []
    for _ in range(5):
        command = [python, "-I", str(COLD), "mercer", "model.mercer", "2"]
        words = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True).stdout.split()
        found.append((float(words[0]), float(words[1])))
    seconds, megabytes = min(found)
    return f"{seconds:.2f} s, {megabytes:.0f} MB resident"


def folder_size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder except Python's compiled copies."""
    if path.is_file():
        return path.stat().st_size
    return sum(item.stat().st_size for item in path.rglob("*") if item.is_file() and "__pycache__" not in item.parts)


if __name__ == "__main__":
    main()
