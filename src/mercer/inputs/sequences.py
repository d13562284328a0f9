"""Readers of strings in files: FASTA, FASTQ, and plain text with one string per line, each plain or compressed by gzip."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs.delimited import typed

#: Characters that a sequence may contain besides letters: gaps, stops, unknown residues.
MARKS = frozenset("-.*?~+")
GZIP = b"\x1f\x8b"


class Sequences(Sequence[str]):
    """Named strings, usable wherever a list of strings is: `sequences[i]` is a str, a slice or array of numbers is a part.

    >>> found = Sequences(["GATTACA", "TACAT"], ["one", "two"])
    >>> found[0], found.names, len(found[1:])
    ('GATTACA', ('one', 'two'), 1)
    >>> from mercer import Spectrum
    >>> Spectrum(3)(found).tolist()
    [[5.0, 2.0], [2.0, 3.0]]
    """

    __slots__ = ("descriptions", "names", "strings")

    def __init__(self, strings: Sequence[str], names: Sequence[str], descriptions: Sequence[str] | None = None) -> None:
        self.strings = tuple(strings)
        self.names = tuple(names)
        self.descriptions = ("",) * len(self.names) if descriptions is None else tuple(descriptions)
        if not len(self.strings) == len(self.names) == len(self.descriptions):
            raise InputError(
                f"Sequences: {len(self.strings)} strings, {len(self.names)} names and {len(self.descriptions)} "
                "descriptions; give one of each per string."
            )

    def __len__(self) -> int:
        return len(self.strings)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequences: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Sequences(self.strings[index], self.names[index], self.descriptions[index])
        if isinstance(index, (list, np.ndarray)):
            chosen = np.arange(len(self))[np.asarray(index)].tolist()
            return Sequences(*([part[i] for i in chosen] for part in (self.strings, self.names, self.descriptions)))
        return self.strings[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequences):
            return NotImplemented
        return (self.strings, self.names, self.descriptions) == (other.strings, other.names, other.descriptions)

    def __hash__(self) -> int:
        return hash((self.strings, self.names))

    def __repr__(self) -> str:
        lengths = [len(string) for string in self.strings]
        of = f" of length {min(lengths)} to {max(lengths)}" if lengths else ""
        return f"<{len(self)} sequences{of}: {', '.join(self.names[:3])}{', …' if len(self) > 3 else ''}>"


def read_fasta(path: str | os.PathLike[str], *, upper: bool = True) -> Sequences:
    """Read a FASTA file, plain or compressed by gzip: strings with `names` and `descriptions`.

    A record is a line ">name description" and the lines below it, joined. Empty lines and lines that begin with ";" are
    left out, spaces inside a sequence and one "*" at its end too.

    Parameters
    ----------
    path : the file
    upper : bool, default True
        Make all letters capitals. In genome files small letters mark repeats: the same letters for most purposes.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.fasta")
    ...     _ = file.write_text(">one from a lab\\nGATT\\nACA\\n>two\\ntacat\\n")
    ...     found = read_fasta(file)
    >>> list(found), found.names, found.descriptions
    (['GATTACA', 'TACAT'], ('one', 'two'), ('from a lab', ''))
    """
    records: list[tuple[str, int, list[str]]] = []  # header, its line, the lines below
    for number, line in enumerate(_lines(path), 1):
        text = line.strip()
        if text.startswith(">"):
            records.append((text[1:].strip(), number, []))
        elif text and not text.startswith(";"):
            if not records:
                raise InputError(f"{path}, line {number}: {_before_the_first(text)}")
            records[-1][2].append(_checked("".join(text.split()), path, number))
    if not records:
        raise InputError(f"{path}: no records; a FASTA file holds lines that begin with '>', each with a sequence below.")
    strings = [_joined(parts, header, path, number) for header, number, parts in records]
    heads = [[*header.split(maxsplit=1), "", ""][:2] for header, _, _ in records]
    return Sequences(
        [string.upper() for string in strings] if upper else strings,
        [name for name, _ in heads],
        [description for _, description in heads],
    )


def read_fastq(path: str | os.PathLike[str]) -> tuple[Sequences, Floats]:
    """Read a FASTQ file, plain or compressed by gzip: the reads in capitals, and the mean quality of each.

    A record is four lines: "@name description", the letters, "+", and one sign per letter, its quality plus 33.
    """
    lines = _lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or len(lines) % 4:
        raise InputError(
            f"{path}: {len(lines)} lines; a FASTQ record has four: '@name', letters, '+', qualities. The file may be cut "
            "short."
        )
    records = [lines[start : start + 4] for start in range(0, len(lines), 4)]
    for number, (head, letters, plus, marks) in enumerate(records):
        _check_read(path, 4 * number + 1, head, letters.strip(), plus, marks.strip())
    heads = [[*head[1:].split(maxsplit=1), "", ""][:2] for head, *_ in records]
    quality = [float(np.mean(np.frombuffer(marks.strip().encode(), dtype=np.uint8)) - 33.0) for *_, marks in records]
    strings = [letters.strip().upper() for _, letters, _, _ in records]
    return Sequences(strings, [name for name, _ in heads], [words.strip() for _, words in heads]), np.array(quality)


def _check_read(path: Any, line: int, head: str, letters: str, plus: str, marks: str) -> None:
    if not head.startswith("@") or not plus.startswith("+"):
        wrong, at = (head, line) if not head.startswith("@") else (plus, line + 2)
        raise InputError(
            f"{path}, line {at}: a FASTQ record is '@name', letters, '+', qualities, each on one line; got {_short(wrong)}."
        )
    if not letters:
        raise InputError(f"{path}, line {line}: the record {head[1:]!r} has no letters; take the record out.")
    _checked(letters, path, line + 1)
    if len(letters) != len(marks) or not all("!" <= mark <= "~" for mark in marks):
        raise InputError(
            f"{path}, line {line + 3}: the record {head[1:]!r} has {len(letters)} letters and {len(marks)} qualities; "
            "there is one sign from '!' to '~' for each letter."
        )


def sequence_columns(path: str | os.PathLike[str], quality: bool) -> dict[str, Array]:
    """Return FASTA, or FASTQ with its mean `quality`, as columns: id, fields `key=value`, other words, sequence.

    A field is in the table if some description has it; where another has not, the cell is missing. Numbers are numbers if
    all of them are. Ids may repeat: rows stay in the order of the file.
    """
    found, marks = read_fastq(path) if quality else (read_fasta(path), None)
    fields = [dict(_FIELD.findall(words)) for words in found.descriptions]
    rest = [" ".join(_FIELD.sub(" ", words).split()) for words in found.descriptions]
    columns: dict[str, Array] = {"id": np.array(found.names, dtype=object)}
    for name in dict.fromkeys(key for one in fields for key in one):
        columns[name if name not in RESERVED else f"{name} field"] = typed([one.get(name, "") for one in fields])
    if any(rest):
        columns["description"] = np.array([words or None for words in rest], dtype=object)
    if marks is not None:
        columns["quality"] = marks
    return {**columns, "sequence": np.array(found.strings, dtype=object)}


#: Names of the columns that every table of sequences may have.
RESERVED = ("id", "description", "quality", "sequence")

_FIELD = re.compile(r"(?<!\S)([A-Za-z_][\w.-]*)=(\S+)")


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Read a text file, plain or compressed by gzip, with one string per line; an empty line is an empty string.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "words.txt")
    ...     _ = file.write_text("Grüße\\n\\nsalut\\n", encoding="utf-8")
    ...     read_lines(file)
    ['Grüße', '', 'salut']
    """
    return _lines(path)  # empty lines are kept: labels in another file refer to line numbers


def _lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the lines of a text file without line ends of any operating system."""
    content = _content(path)
    if not content:
        raise InputError(f"{path}: the file is empty.")
    if b"\0" in content:
        raise InputError(f"{path}: this is not a text file (byte {content.index(0)} is zero); give text, or text in gzip.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8.") from None
    # not splitlines(), which also splits at characters that may be part of a string
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _content(path: str | os.PathLike[str]) -> bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a file is named by its path; got {type(path).__name__}.")
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content.startswith(GZIP) else content
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; give a file in it.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is damaged or cut short; copy it again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _before_the_first(text: str) -> str:
    if text.startswith("@"):
        return (
            "a record begins with '>', and this one with '@': it looks like FASTQ, which commands read from files "
            "named .fastq."
        )
    return (
        f"text before the first '>': {_short(text)}. A FASTA record begins with a line '>name'; "
        "for one string per line use mercer.read_lines."
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "…")


def _checked(text: str, path: Any, number: int) -> str:
    odd = next((letter for letter in text if not letter.isalpha() and letter not in MARKS), None)
    if odd is not None:
        raise InputError(
            f"{path}, line {number}: {odd!r} in a sequence; letters and {' '.join(sorted(MARKS))} are allowed there. "
            "Is a '>' missing before a name?"
        )
    return text


def _joined(parts: list[str], header: str, path: Any, number: int) -> str:
    string = "".join(parts).removesuffix("*")
    if not string:
        raise InputError(
            f"{path}, line {number}: the record {header!r} has no sequence; the file may be cut short. Take the record out."
        )
    return string
