"""Read the claims, and compute which source files each of them depends on.

A file of `claims/` is one section of the page:

    title = "Ridge regression"
    depends = ["src/mercer/estimators/ridge/*", "src/mercer/linalg/*"]   # a * also matches /
    links = ["benchmarks/quality/ridge_quality.md"]                      # longer results, linked below the table

    [[claim]]
    id = "ridge-10000"
    claim = "KernelRidge on 10,000 rows is at least twice as fast as scikit-learn's."
    command = "make bench-long ROW=kernel-ridge-n10000"                  # steps are joined by &&
    cost = "minutes"                # quick (under a minute), minutes or long
    condense = "find: ^PASS"        # pytest, bench, last, find: REGEX or all: REGEX; chosen by the command if not given
    keeps = "benchmarks/quality/x.json"   # file from which the command resumes; moved away if the sources changed

The files that a command names (test files, benchmark modules, scripts) are dependencies too.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import shlex
import subprocess
import tokenize
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.results import write_whole
from benchmarks.show import SHOWS

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = Path(__file__).resolve().parent / "claims"
COSTS = ("quick", "minutes", "long")

#: Hashes of the code of Python files by the hash of their content, which take half a minute to compute; how many are kept.
CODE, MOST_KEPT = ROOT / "build" / "code-hashes.json", 20_000


@dataclass(frozen=True)
class Claim:
    """One statement, the command that checks it, and the files on which its result depends."""

    id: str
    claim: str
    command: str
    section: str
    cost: str
    condense: str
    depends: tuple[str, ...]
    keeps: str | None = None

    @property
    def steps(self) -> list[list[str]]:
        """The words of each step of the command."""
        return [shlex.split(step) for step in self.command.split(" && ")]


@dataclass(frozen=True)
class Section:
    """One subject of the page."""

    name: str
    title: str
    claims: tuple[Claim, ...]
    links: tuple[str, ...] = ()
    note: str = ""


def load(folder: Path = CLAIMS) -> list[Section]:
    """Return the sections in the order of their file names. Raise ValueError if two claims have the same id."""
    sections = [_section(path) for path in sorted(folder.glob("*.toml"))]
    ids = [claim.id for section in sections for claim in section.claims]
    doubled = sorted({name for name in ids if ids.count(name) > 1})
    if doubled:
        raise ValueError(f"These ids belong to more than one claim: {', '.join(doubled)}.")
    return sections


def _section(path: Path) -> Section:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    name = path.stem.partition("-")[2]
    claims = []
    for entry in table["claim"]:
        cost = entry.get("cost", "quick")
        if cost not in COSTS:
            raise ValueError(f"{path.name}: the cost of {entry['id']} is {cost!r}; it must be one of {', '.join(COSTS)}.")
        steps = [shlex.split(step) for step in entry["command"].split(" && ")]
        named = [file for step in steps for file in named_files(step)]
        depends = (*entry.get("depends", table["depends"]), *named)
        condense = entry.get("condense") or _default_condense(steps)
        claims.append(
            Claim(entry["id"], entry["claim"], entry["command"], name, cost, condense, depends, entry.get("keeps"))
        )
    return Section(name, table["title"], tuple(claims), tuple(table.get("links", ())), table.get("note", ""))


def _default_condense(steps: list[list[str]]) -> str:
    last = steps[-1]
    if last[0] == "pytest":
        return "pytest"
    if (last[0] == "make" and last[1].startswith("bench")) or last[:3] == ["python", "-m", "benchmarks"]:
        return "bench"
    return "last"


def named_files(step: list[str]) -> list[str]:
    """Patterns of the files that a step of a command names, such as a test file or the module of `python -m`."""
    if step[0] == "make":
        if step[1].startswith("bench"):
            return ["benchmarks/rows/*"]
        show = SHOWS.get(step[1].removeprefix("show-"))
        return [file for command in show.commands for file in named_files(command)] if show else []
    if step[:2] == ["python", "-m"]:
        module = step[2].replace(".", "/")
        return named_files(step[2:]) if step[2] == "pytest" else [f"{module}.py" if "/" in module else f"{module}/rows/*"]
    if step[0] == "python":
        return step[1:2]
    if step[0] != "pytest":
        return []
    values = _option_values(step)
    paths = [word.split("::")[0] for i, word in enumerate(step[1:], 1) if not word.startswith("-") and i not in values]
    return [path if Path(path).suffix else f"{path}/*" for path in paths]


def _option_values(step: list[str]) -> set[int]:
    """Positions of the words that belong to an option such as -k or -m."""
    return {i + 1 for i, word in enumerate(step) if word in {"-k", "-m", "-n", "--dist", "-p"}}


def blobs(root: Path = ROOT, revision: str | None = None) -> dict[str, str]:
    """Map every file of the working tree, or of a revision, to a hash: of its code for Python, of its content otherwise.

    A result does not become stale by an edit of a comment or a docstring.
    """
    if revision is not None:
        lines = _git(root, "ls-tree", "-r", revision).splitlines()
        hashes = {line.partition("\t")[2]: line.split()[2] for line in lines}

        def source(name: str) -> bytes:
            return _git(root, "cat-file", "blob", hashes[name]).encode()
    else:
        listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        files = sorted({name for name in listed if (root / name).is_file()})
        text = _git(root, "hash-object", "--no-filters", "--stdin-paths", stdin="".join(f"{name}\n" for name in files))
        hashes = dict(zip(files, text.split(), strict=True))

        def source(name: str) -> bytes:
            return (root / name).read_bytes()

    known: dict[str, str] = json.loads(CODE.read_text()) if CODE.exists() else {}
    python = [name for name in hashes if _is_python(name)]
    found = {hashes[name]: known.get(hashes[name]) or hashlib.sha1(code_of(source(name))).hexdigest() for name in python}
    if not found.keys() <= known.keys():
        CODE.parent.mkdir(exist_ok=True)
        write_whole(CODE, json.dumps({**known, **found} if len(known) < MOST_KEPT else found))
    return hashes | {name: found[hashes[name]] for name in python}


def _is_python(name: str) -> bool:
    return name.endswith(".py")


def code_of(source: bytes) -> bytes:
    """Return a Python file without comments, docstrings and blank lines, or unchanged if it cannot be parsed."""
    try:
        tree = ast.parse(source)
        tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    except (SyntaxError, ValueError):
        return source
    lines = source.decode(tokens[0].string).splitlines()
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno or 0
            begin, end = lines[first].lstrip()[:1], lines[last - 1].rstrip()[-1:]
            if begin in {'"', "'", "r"} and end in {'"', "'"}:  # otherwise there is code on the same line
                lines[first:last] = [""] * (last - first)
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def _git(root: Path, *words: str, stdin: str | None = None) -> str:
    command = ["git", "-c", "core.quotePath=off", *words]
    return subprocess.run(command, cwd=root, input=stdin, capture_output=True, encoding="utf-8", check=True).stdout


def fingerprint(depends: tuple[str, ...], files: Mapping[str, str]) -> str:
    """Hash of the names and hashes of all files that match the patterns."""
    digest = hashlib.sha256()
    for name in sorted(files):
        if any(fnmatchcase(name, pattern) for pattern in depends):
            digest.update(f"{name} {files[name]}\n".encode())
    return digest.hexdigest()[:16]


def commit(root: Path = ROOT) -> str:
    """Short hash of the current commit, with a + if the working tree differs from it."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src", "tests", "benchmarks/*.py").strip()
    return _git(root, "rev-parse", "--short=7", "HEAD").strip() + ("+" if changed else "")
