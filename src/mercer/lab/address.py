"""Conversion of a state to the query of an address, and back. An address is validated, and no code in it is run.

    ?algorithm=svm&C=10&kernel=Gaussian(length_scale%3D0.5)&data=moons-100-0

So addresses can be read and written by hand. Drawn points are two bytes per coordinate and one per class
in base64, words a list with the class as the first digit: `words=0banana,1kiwi`.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from urllib.parse import parse_qsl, quote

from mercer.errors import InputError, shown
from mercer.lab.samples import RECIPES
from mercer.lab.state import BOX, CURVE, DIGITS, MAX_POINTS, PLANE, Data, DrawnPoints, LabState, NamedData, Words
from mercer.lab.tour import page_state

#: Longer addresses are refused before they are read.
MAX_ADDRESS = 20_000

#: Parts of an address at most.
MAX_PARTS = 40

_POINT = struct.Struct(">HHB")
_SCALE = 10**DIGITS


def to_query(state: LabState) -> str:
    """Return the query of a state, the part of its address after the question mark."""
    parts = {"tour": state.tour, "algorithm": state.algorithm}
    parts |= {name: f"{value:.6g}" for name, value in state.parameters.items()}
    parts |= {"kernel": state.kernel, **_data_part(state.data), "view": state.view, "query": state.query}
    said = [(name, value) for name, value in parts.items() if value or (name == "query" and state.tour)]
    return "&".join(f"{name}={quote(value, safe='(),.*')}" for name, value in said)


def from_query(text: str) -> LabState:
    """Return the state of an address; `tour=NAME` is the start of that page, and further parts change it."""
    if len(text) > MAX_ADDRESS:
        raise InputError(f"the address of a page has at most {MAX_ADDRESS} characters; this one has {len(text)}.")
    given: dict[str, str] = {}
    try:
        pairs = parse_qsl(text.lstrip("?"), keep_blank_values=True, max_num_fields=MAX_PARTS)
    except ValueError:
        raise InputError(f"the address of a page has at most {MAX_PARTS} parts.") from None
    for name, value in pairs:
        if name in given:
            raise InputError(f"the address says {shown(name)} twice.")
        given[name] = value
    start = LabState()
    if given.get("tour"):
        start = page_state(given["tour"])
    given.pop("tour", None)
    changes: dict[str, object] = {
        name: given.pop(name) for name in ("kernel", "algorithm", "view", "query") if name in given
    }
    data = _read_data(given)
    if data is not None:
        changes["data"] = data
    changed = start.having(**changes)
    known = {one.name for one in changed.asks.parameters}
    unknown = sorted(set(given) - known)
    if unknown:
        listed = ", ".join(
            ["tour", "algorithm", "kernel", "data", "points", "curve", "words", "view", "query", *sorted(known)]
        )
        raise InputError(f"the address says {shown(unknown[0])}, which is nothing here; it may say {listed}.")
    return changed.setting(**{name: _number(name, value) for name, value in given.items()})


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"the address: {name} must be a number; got {shown(text[:40])}.")
    return value


def _data_part(data: Data) -> dict[str, str]:
    if isinstance(data, NamedData):
        return {"data": f"{data.name}-{data.n}-{data.seed}"}
    if isinstance(data, Words):
        return {"words": ",".join(f"{label}{word}" for word, label in data.words)}
    raw = b"".join(_POINT.pack(round((x + BOX) * _SCALE), round((y + BOX) * _SCALE), c) for x, y, c in data.points)
    return {"points" if data.kind == PLANE else "curve": base64.urlsafe_b64encode(raw).decode().rstrip("=") or "none"}


def _read_data(given: dict[str, str]) -> Data | None:
    """Remove the part with the data from an address and return the data."""
    named = [name for name in ("data", "points", "curve", "words") if name in given]
    if len(named) > 1:
        raise InputError(f"the address says its data {len(named)} times: {', '.join(named)}.")
    if not named:
        return None
    text = given.pop(named[0])
    if named[0] == "data":
        return _read_recipe(text)
    if named[0] == "words":
        return Words(tuple(_read_word(item) for item in text.split(",") if item))
    return _read_points(text, PLANE if named[0] == "points" else CURVE)


def _read_recipe(text: str) -> NamedData:
    name, *numbers = text.split("-")
    if name not in RECIPES or len(numbers) > 2 or not all(n.isascii() and n.isdigit() and len(n) < 7 for n in numbers):
        raise InputError(f"the address: data is NAME-SIZE-SEED with a name of {', '.join(RECIPES)}; got {shown(text[:60])}.")
    recipe = NamedData(name, *map(int, numbers))
    if not 2 <= recipe.n <= MAX_POINTS:
        raise InputError(f"the address: {name} has 2 to {MAX_POINTS} points; got {recipe.n}.")
    return recipe


def _read_word(item: str) -> tuple[str, int]:
    if not item[0].isascii() or not item[0].isdigit():
        raise InputError(f"the address: a word has its class, a digit, in front; got {shown(item[:60])}.")
    return item[1:], int(item[0])


def _read_points(text: str, kind: str) -> DrawnPoints:
    if text == "none":
        return DrawnPoints((), kind)
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the address: its points are damaged (no base64); take the whole link.") from None
    if len(raw) % _POINT.size:
        raise InputError("the address: its points are damaged (cut off); take the whole link.")
    found = [(x / _SCALE - BOX, y / _SCALE - BOX, c) for x, y, c in _POINT.iter_unpack(raw)]
    if any(max(abs(x), abs(y)) > BOX + 1e-9 for x, y, _ in found):
        raise InputError(f"the address: a point lies outside |x|, |y| <= {BOX:g}.")
    return DrawnPoints(tuple(found), kind)
