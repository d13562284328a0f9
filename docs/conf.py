"""How the site is made: Markdown chapters, the gallery of examples, the reference. Run by `make docs`; needs no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

import mercer  # noqa: E402
from example_pictures import copy_examples, helpers  # noqa: E402
from mercer.registry import public_names  # noqa: E402

project = "mercer"
author = "the mercer developers"
project_copyright = author
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "plain_docstrings",  # before napoleon: both listen to the same event, in this order
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
    "repository_pages",
    "chapter_figures",
    "code_links",
    "problem_sheets",
]
exclude_patterns = ["_extensions", "_templates", "lectures/sheets", "api/backreferences", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # X'y is a product, and "median" is code

# Markdown as GitHub shows it: the same anchors, formulas between dollars.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The reference shows what a class of ours adds; what it inherits from scikit-learn is documented there.
autosummary_generate = True
autosummary_context = {"kernels": [name for name, home in public_names().items() if home.startswith("mercer.kernels.")]}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = False

HELPERS = rf"(^|/)({'|'.join(helpers())})\.py$"

sphinx_gallery_conf = {
    "examples_dirs": [str(copy_examples())],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": HELPERS,
    "within_subsection_order": "example_pictures.by_order",
    "image_scrapers": ("example_pictures.written_pictures",),
    "reset_argv": "example_pictures.arguments",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("mercer",),
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "parallel": 2,
    "remove_config_comments": True,
    "thumbnail_size": (320, 224),
    "copyfile_regex": HELPERS,
    "only_warn_on_example_error": False,
    "abort_on_example_error": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_extra_path = ["../build/notebook-files"]  # written by problem_sheets before the build
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(HERE / "_static" / "scorer.js")  # Sphinx opens it relative to the working folder
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "article_footer_items": [],  # the layout of the theme has the links to the previous and the next page
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": ["sphinx-version"],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}

# Links into other libraries need their object lists, which only the network has.
if os.environ.get("DOCS_ONLINE") == "1":
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }
