"""Code in chapters that begins with a public name links to the page of that name: `Gaussian(length_scale=1.0)`, `mercer.plan`.

A name is linked once per section, so that paragraphs do not turn into rows of links. In tables every cell is linked.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from mercer.registry import public_names

NAME = re.compile(r"(?:mercer\.)?([A-Za-z_]\w*)(?:\(.*\)(\..*)?)?$", re.DOTALL)
#: Names that are words of scikit-learn's or Python's in most texts.
AMBIGUOUS = {
    "Kernel",
    "explain",
    "load",
    "save",
    "plan",
    "chunks",
    "gram",
    "parse",
    "register",
    "repair",
    "errors",
    "testing",
    "suggest",
}


class LinkCode(SphinxPostTransform):
    """Wrap such code into references."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        """Change the document of one page."""
        page = self.env.docname
        if page.startswith(("api", "gallery", "repository")) or page in (
            "evidence",
            "from-scikit-learn",
            "lectures/coverage",
        ):
            return
        names, seen = public_names(), set()
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.match(literal.astext())
            if found is None or _within(literal, (nodes.reference, addnodes.pending_xref, nodes.title)):
                continue
            name = found.group(1)
            if name not in names or names[name] == "mercer":
                continue
            if name in AMBIGUOUS and not literal.astext().startswith("mercer."):
                continue
            place = (id(_ancestor(literal, nodes.section)), name)
            if place in seen and not _within(literal, (nodes.entry,)):
                continue
            seen.add(place)
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=f"mercer.{name}", refexplicit=True, refwarn=False, refdoc=page
            )
            literal.replace_self(link)
            link += literal
        for literal in list(self.document.findall(nodes.literal)):
            if _within(literal, (nodes.entry,)):
                _let_break(literal)


def _let_break(literal: nodes.literal) -> None:
    """Let code in a narrow column of a table break after an opening parenthesis or "=", before it breaks within a name."""
    first, *others = re.split(r"(?<=[(=])", literal.astext())
    literal.children = []
    literal += nodes.Text(first)
    for part in others:
        literal += nodes.raw("", "<wbr>", format="html")
        literal += nodes.Text(part)


def _ancestor(node: Any, kind: type) -> Any:
    while node is not None and not isinstance(node, kind):
        node = node.parent
    return node


def _within(node: Any, kinds: tuple[type, ...]) -> bool:
    return any(_ancestor(node.parent, kind) is not None for kind in kinds)


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(LinkCode)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
