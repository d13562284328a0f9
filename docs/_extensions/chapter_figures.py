"""The directive `chapter-figure`: a picture from the examples of a chapter, made when the site is built.

    ```{chapter-figure} SurfaceDisplay.from_estimator(model)
    :alt: what the picture shows, for readers who cannot see it

    The caption.
    ```

The expression is evaluated after all examples (lines that begin with >>>) above the directive were run, in one namespace per
chapter. Its value is a matplotlib figure or a display with `figure_`. An example or expression that fails is an error of the build.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

BUILD = Path(__file__).resolve().parents[2] / "build" / "chapter-figures"


class Chapter:
    """The namespace of a chapter, and how far its examples were run."""

    def __init__(self, path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        self.name, self.lines = path.stem, path.read_text(encoding="utf-8").splitlines()
        self.done, self.figures = 0, 0
        self.namespace: dict[str, Any] = {"__name__": "__main__"}

    def picture(self, expression: str) -> Path:
        """Run the examples above the next figure, evaluate its expression, and return the file of the picture.

        Figures are found in the file itself, because the build reads a text with fewer lines.
        """
        import matplotlib.pyplot as plt

        line = next(i for i in range(self.done, len(self.lines)) if self.lines[i].startswith("```{chapter-figure}"))
        above = "\n".join(self.lines[self.done : line]) + "\n"
        with contextlib.redirect_stdout(io.StringIO()):
            for example in doctest.DocTestParser().get_examples(above):
                with contextlib.suppress(Exception) if example.exc_msg else contextlib.nullcontext():
                    exec(compile(example.source, f"{self.name}.md", "single"), self.namespace)
            value = eval(compile(expression, f"{self.name}.md", "eval"), self.namespace)
        figure = value if isinstance(value, plt.Figure) else value.figure_
        self.drawn(figure)
        self.done, self.figures = line + 1, self.figures + 1
        BUILD.mkdir(parents=True, exist_ok=True)
        path = BUILD / f"{self.name}-{self.figures}.png"
        figure.savefig(path, dpi=120, bbox_inches="tight")
        plt.close("all")
        return path

    def drawn(self, figure: Any) -> None:
        """Look at a figure before it is saved; checks override this."""


class ChapterFigure(SphinxDirective):
    """A figure whose picture is made by an expression."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012 - docutils asks for a mapping of the class

    def run(self) -> list[nodes.Node]:
        """Return the figure with its caption."""
        if "alt" not in self.options:
            raise self.error("A picture needs :alt:, one sentence that says what it shows.")
        source = Path(self.env.doc2path(self.env.docname))
        chapter = self.env.temp_data.setdefault("chapter-figures", Chapter(source))
        path = chapter.picture(" ".join(self.arguments[0].split()))
        uri = os.path.relpath(path, source.parent)
        figure = nodes.figure("", nodes.image(uri=uri, alt=self.options["alt"]))
        caption = nodes.caption()
        inline, messages = self.parse_inline(" ".join(self.content), lineno=self.lineno)
        caption += inline
        figure += caption
        return [figure, *messages]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("chapter-figure", ChapterFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
