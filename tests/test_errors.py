"""Messages of errors, and the command that installs an extra."""

from __future__ import annotations

import importlib.metadata
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer import SVC, Gaussian, Linear, errors, mmd_test
from mercer.errors import InputError, install_command

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("X has 1 columns, Y has 11 columns", "X has 1 column, Y has 11 columns"),
        ("fold 1 names row 2; line 1: 1 names", "fold 1 names row 2; line 1: 1 name"),
        ("y holds 1 classes: np.str_('a')", "y holds 1 class: 'a'"),
        ("Matern(nu=1.5, length_scale=(8.105520553117337, 1e-05)) is", "Matern(nu=1.5, length_scale=(8.10552, 1e-05)) is"),
        (
            "got 0.30000000000000004, n_rows=12345678 and a=1.2.3456789",
            "got 0.30000000000000004, n_rows=12345678 and a=1.2.3456789",
        ),
        ("no column '1 rows' of 0.1 rows, np.float64(0.5) and np.True_", "no column '1 rows' of 0.1 rows, 0.5 and np.True_"),
    ],
)
def test_messages_count_one_in_the_singular_and_show_plain_values(given: str, wanted: str) -> None:
    for error in (InputError, errors.NumericalError, errors.MissingExtraError):
        found = error(given)
        assert str(found) == wanted == str(pickle.loads(pickle.dumps(found)))
    with pytest.warns(UserWarning, match=re.escape(wanted)):
        errors.warn(given)


def test_the_text_of_a_parse_error_is_not_changed() -> None:
    error = errors.ParseError("1 rows", "1 rows", 2)
    assert str(error) == "1 row\n  1 rows\n    ^"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_results_show_six_digits_and_keep_all() -> None:
    model = SVC().fit(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 2)
    exact = repr(model.kernel_)
    assert len(exact) > len("Gaussian(length_scale=1.23456)") + 5
    shown = f"Gaussian(length_scale={model.kernel_.length_scale:.6g})"
    assert shown in str(model) and shown in model._repr_html_() and exact not in str(model)
    result = mmd_test(np.eye(6), np.ones((6, 6)), Gaussian(1 / 3))
    assert "length_scale=0.333333)" in str(result)


def test_one_class_is_shown_as_it_was_given() -> None:
    with pytest.raises(InputError, match="one class only: 'a'"):
        SVC(Linear()).fit(np.eye(4), np.array(["a"] * 4))
    with pytest.raises(InputError, match="X has 1 column, Y has 2"):
        mmd_test(np.zeros((5, 1)), np.zeros((5, 2)))


def test_in_a_source_tree_the_command_names_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src" / "mercer").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(errors, "_PACKAGE", f"{tmp_path}/src/mercer/")
    assert install_command("cli") == f'pip install -e "{tmp_path}[cli]"'


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ({"url": "file://{folder}", "dir_info": {}}, '"{folder}[cli]"'),
        ({"url": "file://{folder}/moved%20away", "dir_info": {}}, '".[cli]"'),
        ({"url": "https://a.org/m.git", "vcs_info": {"vcs": "git"}}, '"mercer[cli] @ git+https://a.org/m.git"'),
        ({"url": "https://a.org/m.whl", "archive_info": {}}, '"mercer[cli] @ https://a.org/m.whl"'),
        (None, '"mercer[cli]"'),
    ],
)
def test_an_installed_package_is_named_by_its_origin(
    origin: Any, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin).replace("{folder}", str(tmp_path))

    monkeypatch.setattr(errors, "_PACKAGE", f"{tmp_path}/site-packages/mercer/")
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
    assert install_command("cli") == "pip install " + wanted.replace("{folder}", str(tmp_path))


def test_no_text_recommends_a_package_by_a_name_that_may_be_another() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
    for path in [*(ROOT / "src").rglob("*.py"), *pages]:
        if path.name != "errors.py":
            found = re.search(r"pip install [\"']?mercer\b.*", path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found}"
