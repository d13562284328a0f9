"""Time, memory, versions, and the command that does it again."""

from __future__ import annotations

from mercer.numeric.memory import format_bytes
from mercer.planning import format_seconds
from mercer.report.document.html import Section, code, facts, join, paragraph
from mercer.report.document.material import Material
from mercer.workflow.training import Elsewhere


def cost(material: Material) -> Section:
    """What the fit took, and how to repeat it."""
    training = material.training
    steps = {"read": "reading", "fit": "choosing and fitting", "judge": "judging, rivals included"}
    rows = [(steps.get(step, step), format_seconds(seconds)) for step, seconds in training.seconds.items() if seconds > 0]
    if training.peak_bytes:
        rows.append(("memory of the process, at most", format_bytes(training.peak_bytes)))
    if training.elsewhere is not None:
        rows += _workers(training.elsewhere)
    rows += [
        ("seed", str(training.settings.seed)),
        ("versions", ", ".join(f"{name} {version}" for name, version in training.versions.items())),
    ]
    parts = [facts(rows)]
    if training.command:
        parts += [paragraph("The same again, with the same file and versions:"), code(training.command)]
    return Section("cost", "Time, memory and how to repeat it", join(parts))


def _workers(away: Elsewhere) -> list[tuple[str, str]]:
    count = f"{away.workers:,} worker{'s' if away.workers != 1 else ''}, {away.threads:,} thread"
    return [
        ("cluster", count + ("s" if away.threads != 1 else "")),
        ("read there", f"{format_bytes(away.bytes)} in {away.chunks:,} chunks, {away.passes:,} passes over them"),
    ]
