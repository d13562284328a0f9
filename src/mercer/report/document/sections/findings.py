"""What to look at: warnings and notes of the doctor."""

from __future__ import annotations

import numpy as np

from mercer.report.document.html import Html, Section, paragraph, text
from mercer.report.document.material import Material
from mercer.report.document.numbers import percent
from mercer.workflow.doctor import WARNING, Finding, examine


def findings(material: Material) -> Section:
    """A list, warnings first; or the word that nothing was found."""
    training = material.training
    found = [
        *_coverage(material),
        *examine(material.train, training.y_train, material.test, material.notes, material.spectrum, material.classes),
    ]
    found.sort(key=lambda finding: finding.level != WARNING)
    if not found:
        said = "Nothing suspicious was found: no leak, no identifiers, no repeated rows, length scales of a sensible size."
        return Section("findings", "What to look at", paragraph(said))
    items = "".join(
        f'<li class="{"warning" if one.level == WARNING else "note"}"><b>{text(one.title, 200)}</b>{text(one.detail)}</li>'
        for one in found
    )
    return Section("findings", "What to look at", Html(f'<ul class="warnings">{items}</ul>'))


def _coverage(material: Material) -> list[Finding]:
    """Intervals that hold fewer targets than chance allows."""
    covered, asked = material.training.covered, material.training.settings.coverage
    if covered is None:
        return []
    chance = 2.6 * np.sqrt(asked * (1 - asked) / material.m)
    if covered >= asked - chance - 0.02:
        return []
    return [Finding(
        WARNING, "The intervals are too narrow",
        f"They were asked to hold {percent(asked)} of the targets and hold {percent(covered)} of {material.m:,} "
        "held-out rows. The "
        "held-out rows may come from elsewhere: mercer compare says whether and in which columns.",
    )]  # fmt: skip
