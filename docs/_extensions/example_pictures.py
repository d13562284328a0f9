"""The gallery: the order of the examples, what each is started with, and the pictures that it writes.

An example is a script that writes its pictures into a folder. It is started here as a reader would start it, with a folder of
its own, and every picture found there afterwards belongs to its page. What runs is a copy, beside no folder of shared data, so
that every machine shows the same; the copy's docstring is the same text as reStructuredText, and those of its functions stand above
them as text.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

from plain_docstrings import prose_line

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "gallery"
COPIES = BUILD / "examples"
HEADER = """Gallery
=======

Every picture is made by the script behind it when this site is built. A script also runs by itself: clone the project and
start it with Python. Where it would take real data that cannot be shipped, it says what stands in.
"""

#: From the plane to structured objects, as the lectures go; an example that is not named here stands at the end.
ORDER = [
    "one_kernel",
    "is_it_a_kernel",
    "non_kernels",
    "feature_maps",
    "kernel_price",
    "taylor_features",
    "degree_and_alpha",
    "under_and_over_fitting",
    "robust_ridge",
    "ridge_million_features",
    "cluster_ridge",
    "random_labels",
    "universality",
    "plane_geometry",
    "novelty_digits",
    "novelty_penguins",
    "clusters",
    "two_views",
    "thinning",
    "perceptron_mistakes",
    "health_warning",
    "svm_margins",
    "margin_theorem",
    "two_samples",
    "causal_graph",
    "machine_over_time",
    "kernel_pca_plane",
    "kernel_pca_digits",
    "eigenfunctions",
    "spectral_measures",
    "gp_is_ridge",
    "gp_composition",
    "co2",
    "probabilities",
    "table_mixed",
    "table_quantiles",
    "demo_table",
    "names_by_language",
    "sms_spam",
    "promoters",
    "splice_junctions",
    "protein_family",
    "gp_molecules",
    "common_subgraphs",
    "molecules",
    "next_experiment",
    "serve_model",
]

#: Arguments that make a long one short, as in tests/lectures/test_every_example.py.
SMALL = {"random_labels": ["--train", "400", "--test", "500"], "ridge_million_features": ["--train", "300", "--test", "200"]}


def by_order(filename: str) -> tuple[int, str]:
    """The place of an example in the gallery."""
    name = Path(filename).stem
    return ORDER.index(name) if name in ORDER else len(ORDER), name


def folder(name: str) -> Path:
    """Where an example writes its pictures."""
    return BUILD / "pictures" / name


def titled(text: str) -> str:
    """A script whose docstring is reStructuredText: a title, prose, and how to run it at the end."""
    first = ast.parse(text).body[0]
    title, *paragraphs = ast.literal_eval(ast.get_source_segment(text, first) or "").strip().split("\n\n")
    called = [part for part in paragraphs if re.match(r"\s*python examples/", part)]
    prose = ["\n".join(map(prose_line, part.split("\n"))) for part in paragraphs if part not in called]
    run = [f"Run it::\n\n    {part.strip()}" for part in called]
    shown = "\n\n".join([f"{prose_line(title)}\n{'=' * (len(title) + 8)}", *prose, *run])
    rest = "\n".join(in_cells(text)[first.end_lineno :])
    return f'r"""\n{shown}\n"""\n{rest}'


def in_cells(text: str) -> list[str]:
    """The lines of a script with a cell of text before each of its functions and classes: the first paragraph of its docstring."""
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):  # from the end, so that line numbers stay right
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            told = (ast.get_docstring(node) or "The whole run, with its numbers and its pictures.").split("\n\n")[0]
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            while start and lines[start - 1].startswith("#"):
                start -= 1  # a comment above it belongs to it
            lines[start:start] = ["# %%", *(f"# {prose_line(words)}" for words in told.split("\n")), ""]
    return lines


def copy_examples() -> Path:
    """Make the copies that run; one that is as before keeps its time."""
    COPIES.mkdir(parents=True, exist_ok=True)
    wanted = {"GALLERY_HEADER.rst": HEADER}
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        wanted[path.name] = titled(text) if is_example(text) else text
    for path in COPIES.iterdir():
        if path.is_file() and path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = COPIES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return COPIES


def is_example(text: str) -> bool:
    """Whether a script is an example, and not what examples share."""
    return "__main__" in text


def helpers() -> list[str]:
    """The names of the modules that examples share."""
    scripts = sorted((ROOT / "examples").glob("*.py"))
    return [path.stem for path in scripts if not is_example(path.read_text(encoding="utf-8"))]


def arguments(gallery: Any, script: dict[str, Any]) -> list[str]:
    """What an example is started with: an empty folder for its pictures."""
    out = folder(Path(script["src_file"]).stem)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    return [*SMALL.get(out.name, []), "--out", str(out)]


def written_pictures(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """The PNG files that an example wrote, in the order of their writing: a scraper of Sphinx-Gallery."""
    from sphinx_gallery.scrapers import figure_rst

    out = folder(Path(variables["src_file"]).stem)
    shown = []
    for path in sorted(out.glob("*.png"), key=lambda path: (path.stat().st_mtime_ns, path.name)):
        shown.append(next(variables["image_path_iterator"]))
        shutil.move(path, shown[-1])
    return figure_rst(shown, gallery["src_dir"])
