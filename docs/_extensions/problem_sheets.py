"""The directives `exercises` and `notebook-list`, and the notebooks of the site.

    ```{exercises} 07-perceptron
    ```

shows the exercises of a problem sheet with folded solutions, and links to the notebooks of chapter and sheet.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import notebooks
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

BUILD = Path(__file__).resolve().parents[2] / "build" / "notebook-files"


class Exercises(SphinxDirective):
    """The exercises of one problem sheet."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return headings, statements and folded solutions."""
        path = notebooks.SHEETS / f"{self.arguments[0]}.py"
        if not path.exists():
            raise self.error(f"There is no problem sheet {path.name}.")
        self.env.note_dependency(str(path))
        found: list[nodes.Node] = [self._links(path.stem)]
        for cells in notebooks.exercises(notebooks.read_sheet(path)):
            title, _, statement = cells[0].text.partition("\n")
            found += [nodes.rubric("", title.removeprefix("## ")), *self._parsed(statement)]
            found.append(nodes.raw("", '<details class="solution"><summary>Solution</summary>', format="html"))
            for cell in cells:
                if cell.role == "solution":
                    found += self._parsed(cell.text if cell.kind == "text" else f"```python\n{cell.text}\n```")
            found.append(nodes.raw("", "</details>", format="html"))
        return found

    def _parsed(self, text: str) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(StringList(text.strip().splitlines(), self.arguments[0]), self.content_offset, holder)
        return holder.children

    def _links(self, name: str) -> nodes.paragraph:
        return _sentence(
            self.env.docname,
            ["As notebooks: ", (f"lectures/{name}", "this chapter"), ", ", (f"sheets/{name}", "the problem sheet"),
             " with checks for your answers, ", (f"solutions/{name}", "its solutions"), "."],
        )  # fmt: skip


class NotebookList(SphinxDirective):
    """Links to the notebooks of all chapters of the user guide."""

    def run(self) -> list[nodes.Node]:
        """Return a list."""
        found = nodes.bullet_list()
        for name in sorted(notebooks.all_notebooks()):
            if "/" not in name:
                title = (notebooks.DOCS / f"{Path(name).stem}.md").read_text(encoding="utf-8").partition("\n")[0].strip("# ")
                found += nodes.list_item("", _sentence(self.env.docname, [(Path(name).stem, title)]))
        return [found]


def _sentence(page: str, parts: list[Any]) -> nodes.paragraph:
    """Return a paragraph of texts and (notebook, text) links, relative to a page of the site."""
    paragraph = nodes.paragraph()
    for part in parts:
        if isinstance(part, str):
            paragraph += nodes.Text(part)
        else:
            uri = os.path.relpath(f"notebooks/{part[0]}.ipynb", os.path.dirname(page) or ".")
            paragraph += nodes.reference("", part[1], refuri=uri, internal=False)
    return paragraph


def setup(app: Any) -> dict[str, bool]:
    """Register the directives; notebooks are written before the build and copied with the site."""
    BUILD.mkdir(parents=True, exist_ok=True)  # Sphinx warns about a folder that is missing when it reads its configuration
    app.add_directive("exercises", Exercises)
    app.add_directive("notebook-list", NotebookList)
    app.connect("builder-inited", lambda app: notebooks.write(BUILD))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
