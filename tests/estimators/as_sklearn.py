"""scikit-learn's own test files, read with adapters in the place of its estimators and with single assertions excused.

An excuse is (what scikit-learn asserts, what holds here instead, the reason); "…" stands for the lines between. Everything
else of a file runs as it is. A text that is not in the file exactly once is an error: no excuse outlives what it excuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

Excuse = tuple[str, str, str]


def read_tests(path: Path, excuses: Iterable[Excuse], owner: Any, adapters: Mapping[str, Any], **more: Any) -> ModuleType:
    """The module of a test file that sees `adapters` in the place of what `owner` holds under these names."""
    # a mark of their own that says nothing here, and that our settings would refuse
    source = path.read_text(encoding="utf-8").replace("@pytest.mark.thread_unsafe\n", "")
    for theirs, ours, _ in excuses:
        pattern = ".*?".join(re.escape(part) for part in theirs.split("…"))
        source, times = re.subn(pattern, lambda _, ours=ours: ours, source, flags=re.DOTALL)
        assert times == 1, f"scikit-learn changed: this is there {times} times:\n{theirs}"
    module = ModuleType(f"scikit_learn_{path.stem}")
    with mock.patch.multiple(owner, **adapters):  # parametrized tests look the estimators up while the file is read
        exec(compile(source, str(path), "exec"), vars(module))
    for name, value in list(vars(module).items()):
        if value is owner:  # and by the name of their module while they run
            setattr(module, name, SimpleNamespace(**{**vars(owner), **adapters}))
    vars(module).update(more)
    return module
