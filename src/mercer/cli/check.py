"""`mercer check EXPRESSION`: is it a kernel? The proof, or the counter-example, or the word that neither was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.output import heading, print_json, print_text
from mercer.errors import InputError

if TYPE_CHECKING:
    from mercer.inputs import Rows
    from mercer.kernels.base import Kernel

#: What the exit code says.
CODES = {"valid": 0, "invalid": 1, "unproven": 2}

#: At most this many rows of the data are compared, so that an answer takes seconds whatever the file.
MAX_ROWS, SEED = 1000, 0

STYLES = {"valid": "bold green", "invalid": "bold red", "unproven": "bold yellow"}


Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPRESSION",
        help='A kernel as mercer prints it, in quotes: "2.0 * Gaussian(length_scale=1.5) + Linear()".',
        show_default=False,
    ),
]
DataFile = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Also look at data: .csv or .tsv (with a line of names), .npy, .npz, .parquet, .fasta, or .txt (a "
        'string per line). Takes length_scale="median" from them.',
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def check(expression: Expression, data: DataFile = None, as_json: AsJson = False) -> int:
    """Prove that an expression is a kernel, or show points where it fails.

    Differences, negative multiples and negative coefficients are read too, to be refuted or left open.
    The expression is read, never run. Exit code: 0 valid, 1 invalid, 2 unproven, 64 bad input.
    """
    from mercer.kernels.claims import read_claim

    kernel = read_claim(expression)
    found = None
    if data is not None:
        rows = _rows(data)
        kernel = kernel.resolve(rows.data)
        found = _look_at_data(kernel, rows)
    certificate = kernel.certificate()
    status = "invalid" if found is not None and found.counterexample is not None else certificate.status
    if as_json:
        print_json(_as_dict(kernel, status, certificate, found))
    else:
        _print(status, certificate, found)
        if kernel.unresolved and status == "unproven":
            print_text('\n  --data FILE gives "median" its number.')
    return CODES[status]


@dataclass(frozen=True)
class OnData:
    """What the rows of a file say about a kernel."""

    file: str
    n_rows: int
    chosen: Any  # the numbers of the rows that were looked at, or None for all
    gram: Any  # the report of check_gram
    counterexample: Any  # or None


def _rows(path: Path) -> Rows:
    from mercer.inputs import as_rows
    from mercer.inputs.tables import read

    return as_rows(read(path), path.name)


def _look_at_data(kernel: Kernel, rows: Rows) -> OnData:
    """The Gram matrix of a sample of the rows, and a counter-example among them."""
    from mercer.grams import gram
    from mercer.validity import check_gram, find_counterexample

    chosen = _chosen(kernel, rows)
    sample = rows if chosen is None else rows.take(chosen)
    report = check_gram(gram(kernel, sample))
    return OnData(rows.name, len(rows), chosen, report, find_counterexample(kernel, sample.data))


def _chosen(kernel: Kernel, rows: Rows) -> Any:
    """The numbers of the rows to look at, or None for all of them."""
    import numpy as np

    if len(rows) <= MAX_ROWS:
        return None
    if kernel.given:  # a matrix is cut both ways or not at all
        raise InputError(f"{rows.name}: a matrix of kernel values may have {MAX_ROWS} rows here; this one has {len(rows)}.")
    return np.sort(np.random.default_rng(SEED).choice(len(rows), MAX_ROWS, replace=False))


def _as_dict(kernel: Kernel, status: str, certificate: Any, found: OnData | None) -> dict[str, Any]:
    on_data = None
    if found is not None:
        on_data = {
            "file": found.file,
            "n_rows": found.n_rows,
            "rows": found.chosen,  # what the report numbers 0, 1, … if not all were looked at
            "gram": found.gram.to_dict(),
            "counterexample": None if found.counterexample is None else found.counterexample.to_dict(),
        }
    return {"kernel": repr(kernel), "status": status, "certificate": certificate.to_dict(), "data": on_data}


def _print(status: str, certificate: Any, found: OnData | None) -> None:
    print_text(heading(status, STYLES[status]), f"\n\n{certificate}")
    if found is None:
        return
    size = f"all {found.n_rows} rows"
    if found.chosen is not None:
        size = f"{len(found.chosen)} of {found.n_rows} rows, drawn with a fixed seed"
    print_text(heading(f"\nOn {found.file}", "bold"), f" ({size})\n{found.gram}")
    if found.counterexample is not None:
        print_text(f"\nAmong these rows: {found.counterexample}")
