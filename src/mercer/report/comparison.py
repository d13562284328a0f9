"""A comparison of two tables as one picture: the null distribution and the columns that carry the difference."""

from __future__ import annotations

import io

from mercer.report.drawing import BLUE, GRAY, VERMILLION, many_axes, pyplot
from mercer.report.twosample import NullDisplay
from mercer.workflow.comparison import Comparison

#: Columns drawn, at most, and letters of their names.
SHOWN, LETTERS = 15, 30


def comparison_picture(found: Comparison, kind: str) -> bytes:
    """The picture as a file of that kind: "png", "pdf" or "svg"."""
    plt = pyplot()
    shown = found.columns[:SHOWN]
    figure, axes = many_axes(None, 1, 2, (10.0, 1.8 + 0.26 * len(shown)))
    NullDisplay.from_result(found.result, ax=axes[0, 0])
    ax = axes[0, 1]
    colors = [VERMILLION if column.pvalue <= found.level else GRAY for column in shown]
    shares = [0.0 if column.share != column.share else 100.0 * column.share for column in shown]
    ax.barh(range(len(shown)), shares, color=colors)
    ax.set_yticks(range(len(shown)), [_plain(column.name) for column in shown])
    ax.invert_yaxis()
    for row, column in enumerate(shown):
        ax.annotate(f" p = {column.pvalue:.2g}", (shares[row], row), va="center", fontsize=8, color=BLUE)
    ax.set(xlabel="share of the difference, %", title="columns")
    figure.suptitle(
        _plain(f"{found.names[0]} and {found.names[1]}: " + ("differ" if found.differ else "no difference found"), 90)
    )
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=130)
    plt.close(figure)
    return stream.getvalue()


def _plain(words: str, longest: int = LETTERS) -> str:
    """Words as they are, not as formulas, and not too many."""
    short = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return "".join(c if c.isprintable() else "?" for c in short).replace("$", r"\$")
