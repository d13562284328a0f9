"""`mercer fit DATA --target COLUMN`: learn one column of a table from the others, and report the held-out error."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.output import (
    METRICS,
    MODEL,
    REPORT,
    note,
    print_json,
    print_text,
    progress,
    refuse_other,
    results_folder,
    strict_json,
)
from mercer.errors import InputError, plural

if TYPE_CHECKING:
    from mercer.workflow.question import FileQuestion, FitSettings, Question
    from mercer.workflow.training import Training

TASKS = ("auto", "regression", "classification")

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table: CSV, TSV, FASTA, FASTQ, each also compressed (.gz), Parquet, Arrow or SQLite; a folder or 'glob*' of "
        "such files; or - for standard input.",
        show_default=False,
    ),
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
    str | None,
    typer.Option(
        "--kernel",
        metavar="TEXT",
        help="This kernel alone, on standardized columns, such as \"Matern(nu=2.5, length_scale='median')\", or on columns "
        "by name: \"Gaussian('median').on('age') * (1.0 + Spectrum(3).on('title'))\" (default: several are tried).",
        show_default=False,
    ),
]
Task = Annotated[str, typer.Option(metavar="TASK", help="What to make of the target: auto, regression or classification.")]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="A column that names the rows: not learned from, kept by predict.",
                 show_default=False),
]  # fmt: skip
Order = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns that order the rows in time, such as date or year,month; rows for the order of the file, none for no "
        "order. The last rows are then held out (default: a date column that increases, or similar neighbors, say so).",
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Rows of one group, such as a patient, are never split; not learned from.",
                 show_default=False),
]  # fmt: skip
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between; may be repeated.", show_default=False),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing cells (otherwise they are learned from).")
]
Molecule = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns of molecules written as SMILES (default: found out).", show_default=False),
]
Text = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to read as text, also if they look like molecules.", show_default=False),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out rows with molecules that cannot be read.")]
Sql = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY", help='A SELECT over the table, called data: "SELECT * FROM data WHERE year > 2020".',
        show_default=False,
    ),
]  # fmt: skip
Holdout = Annotated[
    float, typer.Option("--holdout", "--test-size", metavar="FRACTION", help="The part of the rows that judges the model.")
]
Rows = Annotated[
    int | None, typer.Option(metavar="N", help="Take N of the rows, drawn with the seed (default: all).", show_default=False)
]
Seconds = Annotated[
    float | None, typer.Option("--time", metavar="SECONDS", help="A limit for the fit (default: none).", show_default=False)
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Budget of the fit, such as '2 GB' (default: 8 GiB).", show_default=False)
]
Seed = Annotated[int, typer.Option(metavar="N", help="Decides which rows are held out or drawn.")]
Coverage = Annotated[float, typer.Option(metavar="FRACTION", help="How many targets the intervals should hold.")]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Of text, if it is none of , ; tab |", show_default=False)
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster read the files by chunks: tcp://host:8786, or local for worker processes on "
        "this machine. For tables larger than memory; fewer kernels are tried.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a model of another target.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON instead of text.")]


def fit(
    data: DataFile,
    target: Target = None,
    out: Out = None,
    kernel: KernelText = None,
    task: Task = "auto",
    id: Id = None,
    order: Order = None,
    group: Group = None,
    drop: Drop = None,
    drop_missing: DropMissing = False,
    molecule: Molecule = None,
    text: Text = None,
    skip_bad: SkipBad = False,
    sql: Sql = None,
    holdout: Holdout = 0.2,
    rows: Rows = None,
    time: Seconds = None,
    memory: Memory = None,
    seed: Seed = 0,
    coverage: Coverage = 0.9,
    delimiter: Delimiter = None,
    scheduler: Scheduler = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> int:
    """Learn one column of a table from the others; write a model for `mercer predict` and a report.

    Start with: mercer fit DATA.csv (lists the columns), then add --target COLUMN.

    Numbers, categories, dates, text, molecules (SMILES) and missing cells are taken as they are. Several kernels are tried
    on held-out rows, and the best few are averaged; the error in the report is that of other rows, which were never looked
    at before.
    """
    from mercer.workflow.question import FileQuestion, FitSettings

    settings = FitSettings(kernel, time, memory, seed, holdout, coverage)
    _check(settings, task, rows)
    if target is None:
        return _list_columns(data, sql, delimiter)
    if scheduler is not None:
        _refuse_with_scheduler(
            {
                "--order": order,
                "--group": group,
                "--molecule": molecule,
                "--text": text,
                "--skip-bad": skip_bad or None,
                "--sql": sql,
                "--rows": rows,
                "--time": time,
                "--delimiter": delimiter,
            }
        )
    folder = out if out is not None else Path(f"{_stem(data)}-mercer")
    replaced = refuse_other(folder, target, force)
    with results_folder(folder) as made:
        if scheduler is not None:
            wish = FileQuestion(data, target, tuple(drop or ()), id, task, drop_missing)
            training = _train_on_workers(scheduler, wish, settings, quiet)
        else:
            question, seconds = _question(data, target, settings, sql=sql, delimiter=delimiter, rows=rows, id=id, drop=drop,
                                          task=task, drop_missing=drop_missing, order=order, group=group,
                                          molecule=molecule, text=text, skip_bad=skip_bad)  # fmt: skip
            _say_notes(question, quiet)
            training = _train(question, settings, seconds, quiet)
        metrics = _write(made, training)
    if replaced and not quiet:
        note(f"replaced {replaced}.")
    if as_json:
        print_json(metrics)
    elif not quiet:
        _print(training, metrics, folder)
    return 0


def _check(settings: FitSettings, task: str, rows: int | None) -> None:
    """Raise for wrong options before anything is read, because a long fit must not fail at its end."""
    if task not in TASKS:
        raise InputError(f"--task must be one of {', '.join(TASKS)}; got {task!r}.")
    for name, value in (("--holdout", settings.holdout), ("--coverage", settings.coverage)):
        if not 0 < value < 1:
            raise InputError(f"{name} must be a fraction between 0 and 1, such as 0.2; got {value:g}.")
    if rows is not None and rows < 2:
        raise InputError(f"--rows must be at least 2; got {rows}.")
    if settings.time is not None and not settings.time > 0:
        raise InputError(f"--time must be a number of seconds above 0; got {settings.time:g}.")
    if not 0 <= settings.seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {settings.seed}.")
    if settings.kernel is not None:
        from mercer.kernels.parsing import parse

        parse(settings.kernel)
    if settings.memory is not None:
        from mercer.numeric.memory import parse_bytes

        parse_bytes(settings.memory)


def _refuse_with_scheduler(options: dict[str, Any]) -> None:
    """Raise for options that workers which read files by chunks do not support."""
    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"{name} is not taken together with --scheduler: workers read whole files by chunks. Write the rows to a "
                "Parquet file first, or leave --scheduler out."
            )


def _stem(data: str) -> str:
    """Return the name of the results of a source."""
    name = "stdin" if data == "-" else Path(data).absolute().name
    for suffix in (".gz", *Path(name.removesuffix(".gz")).suffixes[-1:]):
        name = name.removesuffix(suffix)
    return "".join(c if c.isalnum() or c in "._- " else "-" for c in name).strip("-") or "table"


def _list_columns(data: str, sql: str | None, delimiter: str | None) -> int:
    from mercer.inputs.reading import list_table
    from mercer.numeric.memory import budget_bytes
    from mercer.workflow.question import describe_columns, suggested_target

    found = list_table(data, sql, delimiter, budget_bytes(None) // 4)
    print_text("\n".join(describe_columns(found.sample)))
    drawn = len(found.sample)
    about = f"{found.rows:,} row{'s' if found.rows != 1 else ''}" + (
        f" ({drawn:,} of them, drawn from the whole table, are described)" if drawn < found.rows else ""
    )
    query = "" if sql is None else f" --sql {shlex.quote(sql)}"
    example = shlex.quote(suggested_target(found.sample))
    print_text(f"\n{about}. Say which column to predict, e.g.: mercer fit {shlex.quote(data)}{query} --target {example}")
    return 0


def _question(
    data: str, target: str, settings: FitSettings, *, sql: str | None, delimiter: str | None, rows: int | None,
    id: str | None, drop: list[str] | None, task: str, drop_missing: bool, order: str | None, group: str | None,
    molecule: list[str] | None, text: list[str] | None, skip_bad: bool,
) -> tuple[Question, float]:  # fmt: skip
    """Return the question about the table of a source, and the seconds of reading."""
    from mercer.inputs.frames import MOLECULE, TEXT
    from mercer.inputs.reading import holds_sequences, read_table
    from mercer.numeric.memory import budget_bytes
    from mercer.workflow.question import ask, asked_order, dropped

    start = time.perf_counter()
    # a table and what a fit makes of it: two scalings, the training part, a block of the kernel
    table = read_table(
        data, sql, rows=rows, seed=settings.seed, delimiter=delimiter, memory=budget_bytes(settings.memory) // 4
    )
    name = "standard input" if data == "-" else Path(data).name
    if id is None and "id" in table.columns and target != "id" and holds_sequences(data):
        id = "id"
    kinds = {
        column: kind for kind, texts in ((MOLECULE, molecule), (TEXT, text)) for column in dropped(table.columns, texts)
    }
    question = ask(
        name, table, target, drop=dropped(table.columns, drop), id=id, task=task, drop_missing=drop_missing,
        order=asked_order(table.columns, order), group=group, kinds=kinds, skip_bad=skip_bad,
    )  # fmt: skip
    return question, time.perf_counter() - start


def _say_notes(question: Question, quiet: bool) -> None:
    if not quiet:
        for words in question.notes:
            note(f"{words}.")


def _train_on_workers(scheduler: str, wish: FileQuestion, settings: FitSettings, quiet: bool) -> Training:
    from mercer.cli.scheduler import connected
    from mercer.workflow.cluster import train_on_chunks

    with connected(scheduler) as client, progress(not quiet) as tell:
        training = train_on_chunks(wish, settings, client=client, command=_command(), tell=tell)
    _say_notes(training.question, quiet)
    return training


def _command() -> str:
    return shlex.join(["mercer", *sys.argv[1:]])


def _train(question: Question, settings: FitSettings, seconds: float, quiet: bool) -> Training:
    from mercer.workflow.training import train

    with progress(not quiet) as tell:
        return train(question, settings, command=_command(), seconds_read=seconds, tell=tell)


def _write(made: Path, training: Training) -> dict[str, Any]:
    """Write all results into a folder; return the metrics."""
    from mercer.persist import save, write_whole
    from mercer.report.document.training_report import write_report

    question = training.question
    metrics = training.metrics()
    notes = {
        "columns": list(question.names),
        "target": question.target,
        "task": question.task,
        "id": question.id,
        "held_out": metrics["held_out"],
    }
    numbers = question.X.numbers if training.final is not training.model else training.numbers
    named = training.final.renumbered(numbers)  # rows of the file, of which some were left out or held out
    metrics["model_bytes"] = save(named, made / MODEL, notes=notes)
    write_report(training, made / REPORT)
    write_whole(made / METRICS, strict_json(metrics).encode() + b"\n")
    return metrics


def _rows(training: Training) -> str:
    """Return how many rows were fitted and held out, and by which rule."""
    apart = "" if training.question.layout is None else f" ({training.split})"
    part = f"{training.n_fitted:,} fitted ({training.model.result_.route}), {len(training.y_test):,} held out{apart}"
    return f"{part}; the saved model is fitted to all" if training.final is not training.model else part


def _workers(training: Training) -> list[tuple[str, str]]:
    """Return lines on the workers that read the rows, and the limits of the search there."""
    from mercer.numeric.memory import format_bytes

    away = training.elsewhere
    if away is None:
        return []
    tried = ", ".join(attempt.label for attempt in training.model.result_.attempts)
    return [
        ("cluster", f"{away.workers} workers, {away.passes} passes over {away.chunks} chunks ({format_bytes(away.bytes)})"),
        ("limited to", f"{tried} on landmarks, since the rows are not brought together"),
    ]


def _print(training: Training, metrics: dict[str, Any], folder: Path) -> None:
    from mercer.estimators.summary import Summary
    from mercer.numeric.memory import format_bytes
    from mercer.planning import format_seconds

    question, result = training.question, training.model.result_
    left_out = [column for column in result.columns if column.note]
    used = plural(len(result.columns) - len(left_out), "column")
    title = f"{question.data}: {question.target} from {used}, {question.task} "
    lines = [
        *training.lines(),
        *[("left out", f"{column.name}: {column.note}") for column in left_out],
        ("model", "; ".join(f"{attempt.label} ({attempt.weight:.2f})" for attempt in result.chosen)),
        ("rows", _rows(training)),
        *_workers(training),
        *[("note", words) for words in training.notes],
        ("time, memory", f"{format_seconds(sum(training.seconds.values()))}, {format_bytes(training.peak_bytes)} at most"),
        ("written", f"{folder}: {MODEL} ({format_bytes(metrics['model_bytes'])}), {METRICS}, {REPORT}"),
    ]
    print_text(str(Summary(f"{title}({question.reason})", tuple(lines))))
    interval = f" --interval {training.settings.coverage:g}" if question.task == "regression" else ""
    print_text(f"\nNext: mercer predict {shlex.quote(str(folder))} NEW-DATA.csv{interval}")
