"""`mercer check EXPRESSION`: prove that an expression is a kernel, or find a counter-example."""

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

#: Exit codes.
CODES = {"valid": 0, "invalid": 1, "unproven": 2}

#: Largest number of rows that are compared, which keeps the time to seconds for any file.
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
        help="Also check data: .csv or .tsv (with a header line), .npy, .npz, .parquet, .fasta, or .txt (a "
        'string per line). Takes length_scale="median" from them.',
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def check(expression: Expression, data: DataFile = None, as_json: AsJson = False) -> int:
    """Prove that an expression is a kernel, or show points where it fails.

    Differences, negative multiples and negative coefficients are allowed in the expression; they are refuted or left open.
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
    """Results of a check on the rows of a file."""

    file: str
    n_rows: int
    chosen: Any  # the numbers of the rows that were used, or None for all
    gram: Any  # the report of check_gram
    counterexample: Any  # or None


def _rows(path: Path) -> Rows:
    from mercer.inputs import as_rows
    from mercer.inputs.tables import read

    return as_rows(read(path), path.name)


def _look_at_data(kernel: Kernel, rows: Rows) -> OnData:
    """Check the Gram matrix of a sample of the rows, and search for a counter-example among them."""
    from mercer.grams import gram
    from mercer.validity import check_gram, find_counterexample

    chosen = _chosen(kernel, rows)
    sample = rows if chosen is None else rows.take(chosen)
    report = check_gram(gram(kernel, sample))
    return OnData(rows.name, len(rows), chosen, report, find_counterexample(kernel, sample.data))


def _chosen(kernel: Kernel, rows: Rows) -> Any:
    """Return the numbers of the rows to use, or None for all of them."""
    import numpy as np

    if len(rows) <= MAX_ROWS:
        return None
    if kernel.given:  # a sample of a matrix needs its rows and its columns
        raise InputError(f"{rows.name}: a matrix of kernel values has at most {MAX_ROWS} rows; this one has {len(rows)}.")
    return np.sort(np.random.default_rng(SEED).choice(len(rows), MAX_ROWS, replace=False))


def _as_dict(kernel: Kernel, status: str, certificate: Any, found: OnData | None) -> dict[str, Any]:
    on_data = None
    if found is not None:
        on_data = {
            "file": found.file,
            "n_rows": found.n_rows,
            "rows": found.chosen,  # row numbers of the report's 0, 1, … if not all rows were used
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
