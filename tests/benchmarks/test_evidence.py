"""The evidence page: commands exist, changed sources make a claim stale, rows are short, numbers in the docs agree."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evidence import page, run, together
from benchmarks.evidence.registry import ROOT, Claim, Section, blobs, code_of, fingerprint, load
from benchmarks.rows import load_rows
from benchmarks.show import SHOWS

SECTIONS = load()
CLAIMS = [claim for section in SECTIONS for claim in section.claims]
RESULTS = {name: record for section in SECTIONS for name, record in run.stored(section.name).items()}
needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the evidence is measured in a git checkout")


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with one source file and one test."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("y = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def a_claim(**changes: Any) -> Claim:
    claim = Claim("one", "One is one.", "python -c pass", "numbers", "quick", "last", ("src/*",))
    return dataclasses.replace(claim, **changes)


def a_record(**changes: Any) -> dict[str, Any]:
    record = {
        "text": "1", "status": "passed", "sources": "0", "details": "", "date": "2026-01-02", "commit": "abc1234",
        "seconds": 1.0, "machine": {"cpu": "a processor", "cores": 2, "avx512": False},
    }  # fmt: skip
    return {**record, **changes}


def test_a_changed_file_makes_the_claim_stale(project: Path) -> None:
    claim = a_claim()
    record = a_record(sources=fingerprint(claim.depends, blobs(project)))
    assert run.state(record, fingerprint(claim.depends, blobs(project))) == "passed"
    (project / "other.py").write_text("y = 2\n")  # the claim does not depend on this file
    assert run.state(record, fingerprint(claim.depends, blobs(project))) == "passed"
    (project / "src" / "one.py").write_text("x = 2\n")
    assert run.state(record, fingerprint(claim.depends, blobs(project))) == "stale"
    (project / "src" / "one.py").write_text("x = 1\n")
    assert run.state(record, fingerprint(claim.depends, blobs(project))) == "passed"
    (project / "src" / "two.py").write_text("")  # a new file counts before it is committed
    assert run.state(record, fingerprint(claim.depends, blobs(project))) == "stale"


def test_comments_and_docstrings_make_no_claim_stale(project: Path) -> None:
    file = project / "src" / "one.py"
    file.write_text("def f(x):\n    return x\n")
    plain = blobs(project)
    file.write_text('"""A file."""\n\n# why\ndef f(x):  # what\n    """Return x.\n\n    1\n    """\n    return x\n')
    assert blobs(project) == plain
    file.write_text('def f(x):\n    """Return x."""\n    return "#" + x\n')
    assert blobs(project) != plain


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (b"def f(): 'x'\n", b"def f(): 'x'"),
        (b"x = (\n    1,  # one\n)\n", b"x = (\n    1,\n)"),
        ("y = 'Ü'  # ü\n".encode(), "y = 'Ü'".encode()),
        (b'x = """\n# text\n"""\n', b'x = """\n# text\n"""'),
        (b"def f(:\n", b"def f(:\n"),
    ],
)
def test_code_without_comments(source: bytes, kept: bytes) -> None:
    assert code_of(source) == kept


def test_a_revision_has_the_blobs_of_its_own_files(project: Path) -> None:
    before = blobs(project)
    assert blobs(project, "HEAD") == before
    (project / "src" / "one.py").write_text("x = 2\n")
    assert blobs(project, "HEAD") == before
    assert blobs(project) != before


def test_a_page_shows_stale_failed_and_missed_claims() -> None:
    names = ("good", "old", "bad", "low", "new")
    claims = tuple(a_claim(id=name, depends=()) for name in names)
    now = fingerprint((), {})
    results = {
        "good": a_record(sources=now),
        "old": a_record(sources="before"),
        "bad": a_record(sources=now, status="failed"),
        "low": a_record(sources=now, status="not reached"),
    }
    text = page.render([Section("numbers", "Numbers", claims)], results, {})
    rows = {
        line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ") and "One is" in line
    }
    assert rows["good"].endswith("2026-01-02 A ok |")
    assert rows["old"].endswith("2026-01-02 A stale |")
    assert rows["bad"].endswith("**FAILED** |")
    assert rows["low"].endswith("**NOT REACHED** |")
    assert rows["new"].endswith("| never run |")
    assert "5 claims: 1 passed, 1 stale, 1 not reached, 1 failed, 1 never run." in text
    assert "- A: commit abc1234, a processor, 2 cores, without AVX-512" in text


def test_results_that_are_too_long_are_cut() -> None:
    row = page.row(a_claim(), a_record(text="7 " * 300), "stale", {page._run(a_record()): "A"})
    assert len(row) <= page.WIDTH
    assert "…" in row


@pytest.mark.parametrize(
    ("how", "output", "line"),
    [
        ("last", "a\nb\n\n", "b"),
        ("pytest", "...\n==== 3 passed, 2 deselected, 1 warning in 0.51s ====\nbye", "3 passed in 0.51s"),
        ("bench", "evidence: a: 2x\nnoise\nevidence: b: 3x\n", "a: 2x; b: 3x"),
        ("find: ^PASS", "PASS one\nother\n", "PASS one"),
        ("all: ^(PASS|FAIL)", "PASS one\nother\nFAIL two\n", "PASS one; FAIL two"),
        ("find: ^. b", "| b | 3 |\n", "b, 3"),
        ("find: nothing", "a\nb\n", "b"),
        ("last", "", "no output"),
    ],
)
def test_the_line_of_an_output(how: str, output: str, line: str) -> None:
    assert run.condense(how, output) == line


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("3 passed", 0, "passed"),
        ("1 failed", 1, "failed"),
        ("2.1x, NOT REACHED: ratio >= 3 (is 2.1)", 0, "not reached"),
        ("75 lines, 3 lost (ratio below 0.97)", 0, "not reached"),
        ("75 lines, 0 lost (ratio below 0.97)", 0, "passed"),
        ("FAIL: usps", 1, "not reached"),
        ("FAIL: usps", 124, "failed"),
    ],
)
def test_the_status_of_a_result(text: str, code: int, status: str) -> None:
    assert run.status(text, code) == status


def test_commands_that_take_too_long_are_stopped(tmp_path: Path) -> None:
    output, code = run.execute(["python", "-c", "print(1); import time; time.sleep(60)"], 1.0, tmp_path)
    assert code == 124
    assert "stopped after 1 s" in output


def test_results_are_stored_one_by_one(tmp_path: Path) -> None:
    run.store(a_claim(), a_record(), tmp_path)
    run.store(a_claim(id="two"), a_record(text="2"), tmp_path)
    assert {name: record["text"] for name, record in run.stored("numbers", tmp_path).items()} == {"one": "1", "two": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.json"]


def test_parts_measured_with_other_sources_are_not_reused(tmp_path: Path) -> None:
    claim = a_claim(keeps="parts.json")
    (tmp_path / "parts.json").write_text("{}")
    run.start_again(claim, {"src/one.py": "1"}, tmp_path, tmp_path)
    assert not (tmp_path / "parts.json").exists()
    (tmp_path / "parts.json").write_text("{}")
    run.start_again(claim, {"src/one.py": "1"}, tmp_path, tmp_path)  # an interrupted run goes on
    assert (tmp_path / "parts.json").exists()
    run.start_again(claim, {"src/one.py": "2"}, tmp_path, tmp_path)
    assert not (tmp_path / "parts.json").exists()
    assert len(list((tmp_path / "build" / "evidence").iterdir())) == 2


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_commands_name_things_that_exist(claim: Claim) -> None:
    for step in claim.steps:
        if step[0] == "make":
            assert re.search(rf"^{step[1]}:", MAKEFILE, re.MULTILINE) or step[1].removeprefix("show-") in SHOWS, step
        elif step[:2] == ["python", "-m"]:
            module = ROOT / step[2].replace(".", "/")
            assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), step
        else:
            assert step[0] in {"pytest", "python"}, step
        names = [name for word in step for name in word.removeprefix("ROW=").split() if word.startswith("ROW=")]
        for name in names:
            assert any(re.fullmatch(name.replace("*", ".*"), row.name) for row in load_rows()), f"no row {name}"
    for pattern in claim.depends:
        if not pattern.startswith("-"):
            parent = pattern.split("*")[0]
            assert (ROOT / parent).exists(), f"{claim.id} depends on {pattern}, which does not exist"


def test_ids_and_links() -> None:
    for section in SECTIONS:
        assert all((ROOT / link).exists() for link in section.links), section.name
        for claim in section.claims:
            assert re.fullmatch(r"[a-z0-9-]{2,24}", claim.id), claim.id
            assert len(claim.claim) <= 95 and claim.claim.endswith("."), claim.id
    assert set(RESULTS) - {claim.id for claim in CLAIMS} <= {"begun"}


PAGE = ROOT / "docs" / "evidence.md"


def test_rows_of_the_page_are_short() -> None:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        assert len(line) <= page.WIDTH, line


@needs_git
def test_the_page_is_made_from_the_stored_results() -> None:
    """The page is not edited by hand. Whether a claim is stale depends on the moment, so the state is not compared."""

    def rows(text: str) -> list[str]:
        return [line.rpartition(" | ")[0] for line in text.splitlines() if line.startswith("| ")]

    made = page.render(SECTIONS, {claim.id: RESULTS[claim.id] for claim in CLAIMS if claim.id in RESULTS}, {})
    assert rows(PAGE.read_text(encoding="utf-8")) == rows(made)


# Numbers in the pages: `<!-- evidence: id 2.55 644 -->` follows a sentence, a list item or a table row and names numbers of
# the same block that the stored result of the claim must hold.
MARK = re.compile(r"<!-- evidence: ([a-z0-9-]+)((?: [\d.,]+)+) -->")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKS = [
    (file.name, match.group(1), match.group(2).split(), block)
    for file in PAGES
    for block in re.split(r"\n\n|\n(?=- )|(?<=\|)\n", file.read_text(encoding="utf-8"))
    for match in MARK.finditer(block)
]


def holds(text: str, number: str) -> bool:
    """Whether a text holds a number, not as a part of a longer one; 1,000 and 1000 are the same."""
    return re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", text.replace(",", "").replace("−", "-")) is not None


@pytest.mark.parametrize(("file", "name", "numbers", "block"), MARKS, ids=[f"{file}: {name}" for file, name, _, _ in MARKS])
def test_numbers_in_the_pages_are_those_of_the_evidence(file: str, name: str, numbers: list[str], block: str) -> None:
    record = RESULTS[name]
    told = MARK.sub("", block)
    for number in (number.replace(",", "") for number in numbers):
        assert holds(told, number), f"{file} names {number} of {name}, but its text does not hold it"
        assert holds(f"{record['text']}\n{record['details']}", number), f"{file}: {number} is not in the result of {name}"


#: A measured number: a factor, or a share or a size beside a claim of the README's section on measurements.
FACTOR = re.compile(r"\b(\d[\d.,]*) times as fast|\b(\d[\d.,]*) MB|(\d+\.\d+) %")


def test_every_measured_number_of_the_readme_is_marked() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    marked = {number for file, _, numbers, _ in MARKS if file == "README.md" for number in numbers}
    found = {next(filter(None, match.groups())) for match in FACTOR.finditer(text)}
    assert found <= marked, f"numbers without evidence: {sorted(found - marked)}"


def test_stored_results_can_be_read() -> None:
    for path in run.RESULTS.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pytest tests/a.py tests/b/", {"paths": ["tests/a.py", "tests/b"], "keyword": ""}),
        ("pytest tests/a.py -k 'one or two'", {"paths": ["tests/a.py"], "keyword": "one or two"}),
        ("pytest -m slow tests/a.py", None),
        ("python -m benchmarks.house", None),
        ("pytest tests/a.py && pytest tests/b.py", None),
    ],
)
def test_which_claims_share_one_run_of_pytest(command: str, found: dict[str, Any] | None) -> None:
    assert together.selection(a_claim(command=command)) == found


@pytest.mark.slow
def test_one_run_of_pytest_checks_several_claims(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\ndef test_good(): pass\ndef test_bad(): assert False\ndef test_other():\n    pytest.skip('no data')\n"
    )
    paths = {"good": "-k good", "bad": "-k 'good or bad'", "skipped": "-k other", "none": "-k nothing", "all": ""}
    claims = [a_claim(id=name, command=f"pytest test_some.py {words}") for name, words in paths.items()]

    def execute(step: list[str], timeout: float) -> tuple[str, int]:
        words = ["python", "-m", *step, "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
        return run.execute(words, timeout, tmp_path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        found, _ = together.check(claims, execute, 120.0)
    assert {name: (text, good) for name, (text, good, _) in found.items()} == {
        "good": ("1 passed", True),
        "bad": ("1 failed, 1 passed", False),
        "skipped": ("1 skipped", False),
        "none": ("no test was selected", False),
        "all": ("1 failed, 1 passed, 1 skipped", False),
    }


def test_stored_results_name_no_folder_of_a_machine() -> None:
    assert run.without_paths(f"{ROOT}/src/a.py: 1") == "src/a.py: 1"
    texts = [record["details"] + record["text"] for record in RESULTS.values() if "details" in record]
    assert [text for text in texts if re.search(r"/(work|home|root|Users)/", text)] == []
