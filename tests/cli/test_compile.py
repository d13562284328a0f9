"""`mercer compile`: every loop is reached, and who waits for the compiler is told so once."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from mercer.cli.loop_calls import EXERCISES, loops, reached
from mercer.numeric import compiling
from mercer.numeric.compiling import always, say_so, worth


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_is_said_once_and_to_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_said", False)
    watched, file = Terminal(), io.StringIO()
    say_so(watched)
    say_so(watched)
    assert watched.getvalue().count("mercer compile") == 1
    monkeypatch.setattr(compiling, "_said", False)
    say_so(file)
    assert file.getvalue() == ""


def test_always_is_for_a_while() -> None:
    assert not worth(1, 1.0)
    with always():
        assert worth(1, 1.0)
    assert not worth(1, 1.0)


COLD = """
import numpy as np
from mercer.numeric import compiling
said = []
compiling.say_so = lambda: said.append(1)
import mercer.numeric._compiled_notice as notice
notice.say_so = compiling.say_so
from mercer.numeric._compiled_rows import add_rows
add_rows(np.zeros(3), np.ones((2, 3)), np.arange(2), np.ones(2), 0, 3)
print(len(said) > 0)
"""


def test_the_compiler_is_heard_and_the_cache_is_not(tmp_path: os.PathLike[str]) -> None:
    heard = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COLD], capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        heard.append(done.stdout.strip())
    assert heard == ["True", "False"]


@pytest.mark.slow
def test_the_exercises_reach_the_loops() -> None:
    with always():
        for exercise in EXERCISES:
            exercise()
    left = set(loops()) - reached(loops())  # whether they were compiled now or came from a cache
    assert left == {"mercer.kernels.graphs._compiled_graphlets.masks_of"}  # for graphs that no exercise can hold


STORED = """
import sys
import numpy as np
from mercer.numeric._compiled_rows import add_rows
total = np.zeros(3)
add_rows(total, np.ones((2, 3)), np.arange(2), np.ones(2), 0, 3)
print(total.tolist(), "numba.np.linalg" in sys.modules, sum(add_rows.stats.cache_hits.values()))
"""


def test_code_on_disk_is_loaded_without_the_declarations_of_the_compiler(tmp_path: os.PathLike[str]) -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", STORED], capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert found == ["[2.0, 2.0, 2.0] True 0", "[2.0, 2.0, 2.0] False 1"]
