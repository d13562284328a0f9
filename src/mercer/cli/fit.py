"""`mercer fit DATA --target COLUMN`: learn one column of a table from the others, and say how well it went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.exit_codes import BAD_INPUT
from mercer.cli.results import METRICS, MODEL, refuse_other, results_folder
from mercer.cli.terminal import note, print_json, print_text, strict_json
from mercer.errors import InputError
from mercer.workflow.columns import Question, ask, describe_columns, read_table, refuse_unknown

if TYPE_CHECKING:
    from mercer.inputs.tables import Table
    from mercer.plan import Plan
    from mercer.workflow.training import Parts, Settings, Trained

#: The names of the pictures in the folder.
SURFACE, PREDICTIONS = "surface.png", "predictions.png"

TASKS = ("auto", "regression", "classification")

DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A table: .csv or .tsv with a line of names, or .parquet.", show_default=False),
]
Target = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column to predict. Without it, the columns are listed.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for the results, made if needed (default: DATA-mercer).", show_default=False),
]
KernelText = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="TEXT",
        help="A kernel, such as \"Matern(nu=2.5, length_scale='median')\"; a single length scale is where the search "
        "starts (default: a Gaussian).",
        show_default=False,
    ),
]
Alphas = Annotated[
    list[float] | None,
    typer.Option(
        "--alpha", metavar="NUMBER", help="A penalty to try; may be repeated (default: 21 of them).", show_default=False
    ),
]
Task = Annotated[str, typer.Option(metavar="TASK", help="What to make of the target: auto, regression or classification.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between; may be repeated.", show_default=False),
]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]
TestSize = Annotated[float, typer.Option(metavar="FRACTION", help="The part of the rows held out to judge the model.")]
Rows = Annotated[int, typer.Option(metavar="N", help="Fit on at most this many rows, drawn with the seed.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Decides which rows are held out or drawn.")]
Coverage = Annotated[float, typer.Option(metavar="FRACTION", help="How many targets the intervals should hold.")]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Budget of the fit, such as '2 GB' (default: 8 GiB).", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Replace a model of another target.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON instead of text.")]


def fit(
    data: DataFile,
    target: Target = None,
    out: Out = None,
    kernel: KernelText = "Gaussian(length_scale='median')",
    alpha: Alphas = None,
    task: Task = "auto",
    drop: Drop = None,
    drop_missing: DropMissing = False,
    test_size: TestSize = 0.2,
    rows: Rows = 5000,
    seed: Seed = 0,
    coverage: Coverage = 0.9,
    memory: Memory = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> int:
    """Learn one column of a table from the others, and write a model for `mercer predict`.

    Start with: mercer fit DATA.csv (lists the columns), then add --target COLUMN.

    Kernel ridge regression, or classification for a target of text or few whole numbers.

    Length scale and penalty are chosen by leave-one-out; the error is that of rows held out.
    """
    from mercer.workflow.training import Settings, affordable, expected_seconds, make_model, split, train

    settings = Settings(kernel, tuple(alpha) if alpha else None, test_size, seed, coverage, memory, rows)
    _check(settings, task)
    table = read_table(data)
    if target is None:
        return _list_columns(data, table)
    question = ask(data, table, target, drop=_names(data, table, drop), task=task, drop_missing=drop_missing)
    folder = out if out is not None else Path(f"{data.stem}-mercer")
    replaced = refuse_other(folder, target, force)
    model = make_model(question, settings)
    parts, plan = affordable(model, question, split(question, settings), seed)
    with results_folder(folder) as made:
        if not quiet:
            _announce(question, parts, plan, settings, expected_seconds(model, question, parts, plan))
        trained = train(model, question, parts, settings)
        metrics = _write(made, data, question, parts, settings, trained)
    if replaced and not quiet:
        note(f"replaced {replaced}.")
    if as_json:
        print_json(metrics)
    elif not quiet:
        _print(data, question, trained, metrics, folder)
    return 0


def _check(settings: Settings, task: str) -> None:
    """Options are judged before anything is read: a long fit must not end in a misspelled one."""
    from mercer.kernels.text import parse
    from mercer.numeric.memory import parse_bytes

    if task not in TASKS:
        raise InputError(f"--task must be one of {', '.join(TASKS)}; got {task!r}.")
    for name, value in (("--test-size", settings.test_size), ("--coverage", settings.coverage)):
        if not 0 < value < 1:
            raise InputError(f"{name} must be a fraction between 0 and 1, such as 0.2; got {value:g}.")
    if settings.max_rows < 2:
        raise InputError(f"--rows must be at least 2; got {settings.max_rows}.")
    if not 0 <= settings.seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {settings.seed}.")
    parse(settings.kernel)
    parse_bytes(settings.memory)


def _names(path: Path, table: Table, drop: list[str] | None) -> list[str]:
    """Column names from --drop a,b --drop c; a name that holds a comma is taken whole."""
    names = []
    for text in drop or []:
        names += [text] if text in table.columns else [part.strip() for part in text.split(",") if part.strip()]
    refuse_unknown(path, table, names)
    return names


def _list_columns(path: Path, table: Table) -> int:
    print_text("\n".join(describe_columns(table)))
    example = table.columns[-1]
    note(f"Error: {path}: {len(table)} rows; say which column to predict, e.g. --target {example!r}", word="")
    return BAD_INPUT


def _announce(question: Question, parts: Parts, plan: Plan, settings: Settings, seconds: float) -> None:
    """What is about to happen, where it takes long or is not all that was given."""
    from mercer.numeric.memory import format_bytes
    from mercer.plan import format_seconds
    from mercer.workflow.training import LONG

    if question.n_dropped:
        note(f"{question.n_dropped} rows with missing values are left out.")
    n = len(parts.train)
    if parts.n_unused:
        less = "--rows" if n == settings.max_rows else "--memory"
        note(f"fitting on {n} rows drawn with seed {settings.seed}; {parts.n_unused} are not used ({less} changes this).")
    if n >= LONG:
        cost = f"{format_bytes(plan.bytes)} and roughly {format_seconds(seconds)}"
        once = "; the first such fit also compiles, for some seconds" if plan.route.solver == "tridiagonal" else ""
        note(f"this takes {cost} ({plan.route.solver}{once}). Ctrl-C leaves nothing behind.")


def _write(made: Path, data: Path, question: Question, parts: Parts, settings: Settings, trained: Trained) -> dict[str, Any]:
    """All results into a folder; returns the metrics."""
    from mercer.cli.pictures import draw
    from mercer.persist import save, write_whole

    metrics = _metrics(data, question, parts, settings, trained)
    notes = {
        "columns": list(question.names),
        "target": question.target,
        "task": question.task,
        "held_out": trained.held_out.to_dict(),
    }
    metrics["model_bytes"] = save(trained.pipeline, made / MODEL, notes=notes)
    draw(trained, question, settings.coverage, made / SURFACE, made / PREDICTIONS)
    write_whole(made / METRICS, strict_json(metrics).encode() + b"\n")
    return metrics


def _metrics(data: Path, question: Question, parts: Parts, settings: Settings, trained: Trained) -> dict[str, Any]:
    from importlib.metadata import version

    model = trained.model
    return {
        "mercer": version("mercer"),
        "data": data.name,
        "target": question.target,
        "task": question.task,
        "columns": list(question.names),
        "rows": {"fitted": len(parts.train), "held_out": len(parts.test), "not_used": parts.n_unused,
                 "missing_values": question.n_dropped},
        "kernel": repr(model.kernel_),
        "length_scale": model.best_length_scale_,
        "alpha": float(model.best_alpha_),
        "chosen": model.surface_.how,
        "leave_one_out": {"score": model.best_score_, "scoring": model.surface_.scoring},
        "held_out": trained.held_out.to_dict(),
        "seed": settings.seed,
        "seconds": round(trained.seconds, 3),
        "bytes": model.route_.bytes,
    }  # fmt: skip


def _print(data: Path, question: Question, trained: Trained, metrics: dict[str, Any], folder: Path) -> None:
    from mercer.estimators.summary import Summary
    from mercer.numeric.memory import format_bytes
    from mercer.plan import format_seconds

    title = f"{data.name}: {question.target} from {len(question.names)} columns, {question.task} ({question.reason})"
    lines = (
        *trained.held_out.lines(),
        ("kernel", f"{metrics['kernel']}, on standardized columns"),
        ("alpha", f"{metrics['alpha']:.4g}"),
        ("chosen", metrics["chosen"]),
        ("rows fitted", str(metrics["rows"]["fitted"])),
        ("time, memory", f"{format_seconds(trained.seconds)}, {format_bytes(metrics['bytes'])} beyond the data"),
        ("model", f"{folder / MODEL} ({format_bytes(metrics['model_bytes'])})"),
        ("also written", f"{METRICS}, {SURFACE}, {PREDICTIONS}"),
    )
    print_text(str(Summary(title, lines)))
    interval = " --interval 0.9" if question.task == "regression" else ""
    print_text(f"\nNext: mercer predict {folder / MODEL} NEW-DATA.csv{interval}")
