"""FASTA and plain text: what is read, and what is said of files that are neither."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score, train_test_split

import mercer
from mercer.errors import InputError
from mercer.inputs.sequences import Sequences, read_fasta, read_lines

TEXT = """;a comment of the old kind
>one  first of  all
GATT
ACA

>two
  tac at
;another
nnn*
>three|with|bars x
M-K.V
"""


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "some.fasta"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_records_over_several_lines(fasta: Path) -> None:
    found = read_fasta(fasta)
    assert list(found) == ["GATTACA", "TACATNNN", "M-K.V"]
    assert found.names == ("one", "two", "three|with|bars")
    assert found.descriptions == ("first of  all", "", "x")
    assert list(read_fasta(str(fasta), upper=False))[1] == "tacatnnn"
    assert repr(found) == "<3 sequences of length 5 to 8: one, two, three|with|bars>"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_marks_and_compression_do_not_matter(fasta: Path, tmp_path: Path, end: str) -> None:
    content = ("\ufeff" + TEXT.replace("\n", end)).encode("utf-8")
    for name, written in (("a.fa", content), ("b.fa", gzip.compress(content)), ("c.fa", content.rstrip())):
        (tmp_path / name).write_bytes(written)
        assert read_fasta(tmp_path / name) == read_fasta(fasta)


letters = st.text("ACGTNacgtnMKV-", min_size=1, max_size=40)
words = st.text("abcXYZ|_.0123", min_size=1, max_size=8)


@given(st.lists(st.tuples(words, letters), min_size=1, max_size=8), st.integers(1, 10))
def test_what_is_written_comes_back(records: list[tuple[str, str]], width: int) -> None:
    import tempfile

    lines = []
    for name, string in records:
        lines += [f">{name}", *[string[i : i + width] for i in range(0, len(string), width)]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.fa"
        path.write_text("\n".join(lines), encoding="utf-8")
        found = read_fasta(path, upper=False)
    assert list(found.names) == [name for name, _ in records]
    assert list(found) == [string for _, string in records]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "no records"),
        (b";only a comment\n", "no records"),
        (b"ACGT\n>one\nACGT\n", "line 1: text before the first '>': 'ACGT'.*read_lines"),
        (b"@read1\nACGT\n+\nIIII\n", "looks like FASTQ"),
        (b"\x00\x01binary", "not a text file"),
        (b">one\nAC\xff\xfe\n", "not UTF-8 text \\(byte 7\\)"),
        (b"\x1f\x8bbroken", "damaged or cut short"),
        (gzip.compress(b">one\nACGTACGTAC\n", mtime=0)[:-9], "damaged or cut short"),
        (b">one\nAC1GT\n", "line 2: '1' in a sequence.*missing"),
        (b">one\nAC\n>two\n>three\nAC\n", "line 3: the record 'two' has no sequence"),
        (b">one\n*\n", "line 1: the record 'one' has no sequence"),
    ],
)
def test_what_is_no_fasta(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bad.fa"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_fasta(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_fasta(tmp_path / "none.fa")
    with pytest.raises(InputError, match="this is a folder"):
        read_fasta(tmp_path)
    with pytest.raises(InputError, match="named by its path; got int"):
        read_fasta(3)


def test_sequences_are_a_collection_of_strings(fasta: Path) -> None:
    found = read_fasta(fasta)
    assert isinstance(found[1:], Sequences) and found[1:].names == found.names[1:]
    assert found[np.array([2, 0])].names == ("three|with|bars", "one")
    assert found[np.array([True, False, False])].strings == ("GATTACA",)
    assert np.array_equal(mercer.Spectrum(2)(found), mercer.Spectrum(2)(list(found)))
    assert len({found, read_fasta(fasta)}) == 1 and found != list(found)
    with pytest.raises(InputError, match="2 strings, 1 name and 1 description"):
        Sequences(["A", "C"], ["one"])


def test_sequences_go_through_estimators_and_splits(rng: np.random.Generator) -> None:
    strings = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(40)]
    X, y = Sequences(strings, [f"s{i}" for i in range(40)]), np.arange(40) % 2
    model = mercer.KernelRidgeClassifier(mercer.Spectrum(2))
    assert np.array_equal(model.fit(X, y).predict(X), model.fit(strings, y).predict(strings))
    assert np.array_equal(cross_val_score(model, X, y), cross_val_score(model, strings, y))
    train, test, _, _ = train_test_split(X, y, random_state=0)
    assert set(train) | set(test) == set(strings)
    mercer.mmd_test(X[:20], X[20:], n_permutations=19, random_state=0)


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("Grüße\r\n \r\n  two  words\u2028one line\n".encode())
    assert read_lines(path) == ["Grüße", " ", "  two  words\u2028one line"]
    path.write_bytes(b"\n \n")
    assert read_lines(path) == ["", " "]
    path.write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        read_lines(path)
