"""Format the examples of Markdown chapters so that no line is wider than 79 characters.

    python scripts/format_chapters.py docs/ridge.md docs/lectures/*.md
    python scripts/format_chapters.py --check docs/*.md     # list files that would change, and lines that stay too long

Code behind >>> and ... is formatted by ruff; output is left as it is. A string that is too long has to be split by hand.
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

#: Characters of a line of code in its box, with the prompt.
WIDTH = 79


def formatted(source: str) -> list[str]:
    """Return the lines of an example, with prompts."""
    command = [sys.executable, "-m", "ruff", "format", "--line-length", str(WIDTH - 4), "--stdin-filename", "x.py", "-"]
    code = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    lines = code.rstrip("\n").split("\n")
    if len(lines) > 1 and lines[-1].startswith((" ", "\t")) and not lines[0].endswith(("(", "[", "{")):
        lines = [line for line in lines if line]  # a blank line would end a block
    return [f"{'...' if i else '>>>'} {line}".rstrip() for i, line in enumerate(lines)]


def format_chapter(text: str) -> str:
    """Return a chapter with formatted examples."""
    lines, out, done = text.split("\n"), [], 0
    for example in doctest.DocTestParser().get_examples(text):
        length = len(example.source.rstrip("\n").split("\n"))
        out += lines[done : example.lineno]
        given = lines[example.lineno : example.lineno + length]
        if any(len(line) > WIDTH for line in given):
            given = [" " * example.indent + line for line in formatted(example.source)]
        out += given
        done = example.lineno + length
    return "\n".join(out + lines[done:])


def main(arguments: list[str]) -> int:
    """Format the files, or check them; return 1 if a file would change or a line stays too long."""
    check = "--check" in arguments
    bad = 0
    for name in arguments:
        if name == "--check":
            continue
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        new = format_chapter(text)
        if new != text and not check:
            path.write_text(new, encoding="utf-8")
        bad += new != text and check
        for number, line in enumerate(new.split("\n"), 1):
            if line.lstrip().startswith((">>> ", "... ")) and len(line) > WIDTH:
                bad += 1
                print(f"{path}:{number}: {len(line)} characters")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
