"""`write_report`: a fit as one HTML file."""

from __future__ import annotations

from pathlib import Path

from mercer.report.document.material import Material
from mercer.report.document.page import page
from mercer.report.document.sections.classes import classes
from mercer.report.document.sections.columns import columns
from mercer.report.document.sections.cost import cost
from mercer.report.document.sections.errors import errors
from mercer.report.document.sections.findings import findings
from mercer.report.document.sections.model import model
from mercer.report.document.sections.overview import overview
from mercer.report.document.sections.predictions import predictions
from mercer.report.document.sections.rows import rows
from mercer.workflow.training import Training
from mercer.writing import umask, write_whole


def training_report(training: Training) -> str:
    """The report of a fit as HTML."""
    material = Material(training)
    question = training.question
    sections = [
        overview(material),
        findings(material),
        errors(material),
        predictions(material) if material.classes is None else classes(material),
        columns(material),
        rows(material),
        model(material),
        cost(material),
    ]
    away = training.elsewhere
    count = material.n + material.m if away is None else away.rows
    version = training.versions.get("mercer", "")
    return page(
        f"{question.target}, predicted",
        f"{question.data}: {question.task} on {count:,} rows",
        sections,
        f"Written by mercer {version}. This file is complete: it loads nothing and sends nothing.",
    )


def write_report(training: Training, path: Path) -> int:
    """Write the report of a fit to a file, whole or not at all; returns its size in bytes."""
    content = training_report(training).encode()
    write_whole(path, content, 0o666 & ~umask())
    return len(content)
