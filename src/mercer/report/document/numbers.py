"""Numbers for people: as many digits as a reader uses, no more."""

from __future__ import annotations

import math
import re

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{3,}(?:e[+-]?\d+)?|(?<![\w.])-?\d+e[+-]?\d+")

_NESTED = re.compile(r"\[\[[^\]]*\](?:, \[[^\]]*\])*\]")


def human(value: float, digits: int = 3) -> str:
    """A number with some significant digits: 1,234 and 0.0123 as they are, 1.2 × 10⁻⁷ where zeros would hide it.

    >>> human(1234.567), human(0.012345), human(0.0), human(1.25e-7, 2), human(float("inf"))
    ('1,235', '0.0123', '0', '1.2 × 10⁻⁷', '∞')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    exponent = math.floor(math.log10(size))
    if -4 <= exponent < 7:
        decimals = max(0, digits - 1 - math.floor(math.log10(float(f"{size:.{digits - 1}e}"))))
        text = f"{size:,.{decimals}f}"
        return sign + (text.rstrip("0").rstrip(".") if "." in text else text)
    mantissa, power = f"{size:.{digits - 1}e}".split("e")
    front = f"{float(mantissa):g}"
    times = "" if front == "1" else f"{front} × "
    return f"{sign}{times}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share: float) -> str:
    """A share as a percentage: 93.4 %, 100 %, 0.02 %."""
    if math.isnan(share):
        return "–"
    value = 100.0 * share
    return f"{value:.1f}".removesuffix(".0") + " %" if value >= 0.95 or value == 0 else f"{human(value, 1)} %"


def between(low: float, high: float, digits: int = 3) -> str:
    """An interval."""
    return f"{human(low, digits)} to {human(high, digits)}"


def rounded(text: str, digits: int = 3, longest: int = 600) -> str:
    """A kernel or a formula with its numbers rounded, matrices as their size, and cut where it is very long.

    >>> rounded("Matern(nu=1.5, length_scale=(8.105520553117337, 0.00012345678))")
    'Matern(nu=1.5, length_scale=(8.11, 0.000123))'
    """
    text = _NESTED.sub(_size, text)
    text = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.{digits}g}", text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _size(found: re.Match[str]) -> str:
    """A nested list by its size; those that a few numbers fill are left as they are."""
    rows = found[0].count("[") - 1
    columns = (found[0].count(",") + 1) // rows
    return found[0] if rows * columns <= 4 else f"[a {rows} × {columns} matrix]"
