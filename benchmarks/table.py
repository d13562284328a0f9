"""Results as Markdown tables, for the file and for the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]

COLUMNS = (
    "row",
    "mercer",
    "peer",
    "peer time",
    "ratio",
    "target",
    "verdict",
    "difference",
    "quality (mercer / peer)",
    "peak MB (mercer / peer)",
    "% of limit",
    "run",
)
NOTES = """\
Times are medians, ± the interquartile range; ratio is peer time / mercer time, share its inverse. Difference is the
largest between the two results. Peak is what one cold run in a fresh process adds to its inputs. The limit is the least
time the machine could need for the work of the row: max(flops / GEMM rate + exps / exp rate, bytes / stream rate); the
word behind it is its largest part. Rows that miss their target stay in."""


def markdown(results: Record) -> str:
    """The whole file of a group."""
    rows = results["rows"].values()
    parts = [
        f"# Benchmarks: {results['group']}",
        NOTES,
        rows_table(rows),
        "What the rows run:\n\n" + "\n".join(f"- `{row['name']}`: {row['title']}" for row in rows),
        "## Runs",
        runs_table(results["runs"]),
    ]
    return "\n\n".join(parts) + "\n"


def rows_table(rows: Iterable[Record]) -> str:
    """One line per row and peer."""
    return _table(COLUMNS, [line for row in rows for line in _lines(row)])


def _lines(row: Record) -> list[list[str]]:
    ours, first = row["mercer"], True
    lines = []
    for peer in row["peers"] or [None]:
        name = None if peer is None else peer["name"]
        claims = [c for c in row["claims"] if c["peer"] == name or (first and c["peer"] is None)]
        other = peer or {}
        lines.append(
            [
                f"`{row['name']}`" if first else "",
                _time(ours) if first else "",
                name or "-",
                "-" if peer is None else _time(peer),
                _factor(other.get("ratio")),
                "<br>".join(c["text"] for c in claims) or "-",
                "<br>".join(_verdict(c) for c in claims) or "-",
                _difference(other),
                _quality(ours, other),
                f"{_megabytes(ours)} / {_megabytes(other)}" if peer is not None else _megabytes(ours),
                _of_limit(row) if first else "",
                str(row.get("run", "")) if first else "",
            ]
        )
        first = False
    return lines


def _verdict(claim: Record) -> str:
    words = {"met": "met", "missed": "**MISSED**", "open": "open", "void": "**VOID: results differ**"}
    value = claim["value"]
    return words[claim["verdict"]] + ("" if value is None else f" ({value:.3g})")


def _time(one: Record) -> str:
    if "missing" in one:
        return str(one["missing"])
    if "error" in one:
        return f"**{one['error'].replace('|', '/')}**"
    if "median" not in one:
        return "-"
    return f"{seconds(one['median'])} ±{100 * one['spread']:.0f}%"


def seconds(value: float) -> str:
    """Seconds with three digits and the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _difference(peer: Record) -> str:
    if "agreement" not in peer:
        return "-"
    text = f"{peer['agreement']:.1e}"
    return text if peer.get("agrees", True) else f"**{text}**"


def _quality(ours: Record, peer: Record) -> str:
    left, right = ours.get("quality", {}), peer.get("quality", {})
    cells = [f"{key} {_number(left.get(key))} / {_number(right.get(key))}" for key in {**left, **right}]
    return "<br>".join(cells) or "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _megabytes(one: Record) -> str:
    value = one.get("peak_bytes")
    return "-" if value is None else f"{value / 1e6:.0f}"


def _of_limit(row: Record) -> str:
    share = row["mercer"].get("of_limit")
    return "-" if share is None else f"{100 * share:.0f}% ({row['limit']['bound_by']})"


def runs_table(runs: dict[str, Record]) -> str:
    """One column per run: what it ran on, and what that can do."""
    lines = [
        _line("date", runs, lambda run: run["date"]),
        _line("command", runs, lambda run: f"`{run['command']}`"),
        *_constant_lines(runs),
        _line("versions", runs, lambda run: ", ".join(f"{k} {v}" for k, v in run["versions"].items())),
    ]
    for key in ("cpu", "threads", "system", "python", "blas", "load"):
        lines.append(_line(key, runs, lambda run, key=key: str(run["machine"].get(key))))
    lines.append(_line("memory", runs, lambda run: f"{(run['machine']['memory_bytes'] or 0) / 2**30:.1f} GiB"))
    return _table(["run", *runs], lines)


def _constant_lines(runs: dict[str, Record]) -> list[list[str]]:
    lines = []
    for dtype in ("float32", "float64"):
        lines.append(_line(f"GEMM {dtype}", runs, lambda run, t=dtype: f"{run['constants']['gemm'][t] / 1e9:.0f} Gflop/s"))
    for dtype in ("float32", "float64"):
        lines.append(
            _line(
                f"exp {dtype}",
                runs,
                lambda run, t=dtype: f"{run['constants']['exp'][t] / 1e9:.2f} G/s ({run['constants']['exp_by'][t]})",
            )
        )
    for key, name in (("read", "read"), ("write", "write"), ("copy", "copy"), ("touch", "first write to fresh memory")):
        lines.append(_line(name, runs, lambda run, k=key: f"{run['constants'][k] / 1e9:.1f} GB/s"))
    return lines


def _line(name: str, runs: dict[str, Record], cell: Any) -> list[str]:
    return [name, *[cell(run) for run in runs.values()]]


def _table(header: Iterable[str], lines: list[list[str]]) -> str:
    """Cells padded to their column, so that the source reads as well as the page."""
    grid = [list(header), *lines]
    widths = [max(3, *(len(line[i]) for line in grid)) for i in range(len(grid[0]))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in [grid[0], rule, *grid[1:]]
    )
