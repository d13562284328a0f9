"""Time series as inputs: checked lists of (length, channels) arrays, files in the .ts format, and tables of rows by time."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError, describe
from mercer.inputs.vectors import is_frame

#: Treatments of missing values.
HOLES = ("refuse", "interpolate")


def as_series(data: Any, name: str = "X") -> list[Floats]:
    """Return a collection as a list of (length, channels) arrays of finite numbers.

    A series is a 2-D array whose rows are in the order of time, or a 1-D array of one channel; a collection is a list of
    them, whose lengths may differ, or a 3-D array (n, length, channels).
    """
    if is_frame(data):
        raise InputError(
            f"{name} is a table, not a list of series. mercer.series_of({name}) reads one whose rows are series, and "
            f"mercer.series_of({name}, id, time) one with a row per step."
        )
    items = list(data)
    found: list[Floats] = []
    for position, item in enumerate(items):
        where = f"{name}[{position}]"
        try:
            values = np.asarray(item, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{where} is {describe(item)}, not a series; give an array (length, channels) of numbers."
            ) from None
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[1] == 0:
            raise InputError(
                f"{where} has shape {values.shape}; a series is an array (length, channels), rows in time order."
            )
        if len(values) == 0:
            raise InputError(f"{where} is a series of length 0; leave it out.")
        if found and values.shape[1] != found[0].shape[1]:
            raise InputError(
                f"{where} has {_channels(values.shape[1])}, but {name}[0] has {found[0].shape[1]}; all series need as many."
            )
        if not np.isfinite(values).all():
            step, channel = np.argwhere(~np.isfinite(values))[0].tolist()
            raise InputError(
                f"{where} has {values[step, channel]} at step {step}, channel {channel}; fill holes first, for example by "
                "mercer.interpolated(series), or leave the series out."
            )
        found.append(np.ascontiguousarray(values))
    return found


def _channels(count: int) -> str:
    return "1 channel" if count == 1 else f"{count} channels"


def interpolated(series: Sequence[Any]) -> list[Floats]:
    """Return series with missing values replaced by linear interpolation in the same channel.

    Before the first and after the last known value the nearest one is repeated. A channel without a known value is an error.

    >>> interpolated([[1.0, float("nan"), 3.0, float("nan")]])[0].ravel().tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    filled = []
    for position, item in enumerate(series):
        try:
            values = np.array(item, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"series[{position}] is {describe(item)}; give an array (length, channels) of numbers, NaN for holes."
            ) from None
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise InputError(f"series[{position}] has shape {values.shape}; a series is an array (length, channels).")
        steps = np.arange(len(values))
        for channel in range(values.shape[1]):
            known = np.isfinite(values[:, channel])
            if not known.any():
                raise InputError(
                    f"series[{position}], channel {channel} has no known value; leave the series or channel out."
                )
            values[~known, channel] = np.interp(steps[~known], steps[known], values[known, channel])
        filled.append(values)
    return filled


def joined_steps(series: list[Floats]) -> tuple[Floats, Ints]:  # -> (steps, channels), (n + 1,)
    """Return the steps of all series in one array, and the start of each series."""
    first = np.concatenate([[0], np.cumsum([len(one) for one in series])]).astype(np.int64)
    return np.concatenate(series), first


def channels_of(series: list[Floats], channels: Sequence[int | str], name: str) -> list[Floats]:
    """Return the series restricted to some channels, given by number."""
    width = series[0].shape[1]
    wrong = [c for c in channels if isinstance(c, str) or not -width <= c < width]
    if wrong:
        raise InputError(f"{name}: series have the channels 0 … {width - 1}; there is no channel {wrong[0]!r}.")
    chosen = [int(c) for c in channels]
    return [one[:, chosen] for one in series]


def is_series(data: Any) -> bool:
    """Whether a collection can only be a list of series: a 3-D array, or a list of 2-D arrays."""
    if isinstance(data, np.ndarray):
        return data.ndim == 3
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(np.ndim(item) == 2 for item in data[:1])


def read_ts(path: str | os.PathLike[str], *, holes: str = "refuse") -> tuple[list[Floats], Array]:
    """Read a file in the .ts format of the time series archives: series and their labels.

    Channels are separated by colons, values by commas, and the label follows the last colon. "?" is a missing value.

    Parameters
    ----------
    path : the file, plain or compressed by gzip
    holes : "refuse" or "interpolate"
        What to do with missing values: raise, or fill them as `mercer.interpolated` does.

    Returns
    -------
    series : list of (length, channels) arrays
    labels : (n,) array of texts, or of numbers for files with @targetLabel

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.ts")
    ...     _ = file.write_text("@classLabel true a b\\n@data\\n1,2,3:4,5,6:a\\n7,8:9,10:b\\n")
    ...     series, labels = read_ts(file)
    >>> [one.shape for one in series], labels.tolist()
    ([(3, 2), (2, 2)], ['a', 'b'])
    """
    if holes not in HOLES:
        raise InputError(f"read_ts: holes must be 'refuse' or 'interpolate'; got {describe(holes)}.")
    lines = _text(path).splitlines()
    begin = next((number for number, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if begin is None:
        raise InputError(f"{path}: there is no line '@data'; a .ts file has one between its header and its series.")
    header = [line.strip().lower().split() for line in lines[:begin] if line.strip().startswith("@")]
    facts = {words[0]: words[1:] for words in header if words}
    labeled = facts.get("@classlabel", ["false"])[:1] == ["true"]
    numeric = facts.get("@targetlabel", ["false"])[:1] == ["true"]
    if facts.get("@timestamps", ["false"])[:1] == ["true"]:
        raise InputError(
            f"{path}: series with time stamps are not read; make time a channel, or give mercer.series_of a table."
        )
    series, labels = [], []
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        if not line.strip() or line.startswith("#"):
            continue
        *channels, last = line.strip().split(":") if labeled or numeric else [*line.strip().split(":"), ""]
        series.append(_channels_of(channels, path, number, holes))
        labels.append(last.strip())
    if not series:
        raise InputError(f"{path}: there are no series below '@data'.")
    filled = interpolated(series) if holes == "interpolate" else series
    try:
        return as_series(filled, os.fspath(path)), np.array(labels, dtype=np.float64 if numeric else None)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: a target is not a number ({error}).") from None


def _channels_of(channels: list[str], path: Any, number: int, holes: str) -> Floats:
    columns = []
    for text in channels:
        try:
            columns.append([np.nan if cell.strip() == "?" else float(cell) for cell in text.split(",")])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}; values are numbers separated by commas.") from None
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise InputError(
            f"{path}, line {number}: channels of lengths {sorted(lengths)}; the channels of a series are equally long."
        )
    return np.array(columns).T


def _text(path: str | os.PathLike[str]) -> str:
    try:
        content = Path(path).read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; give a file in it.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8.") from None
    except (EOFError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}.") from None


def series_of(
    frame: Any, id: Any = None, time: Any = None, values: Any = None, *, holes: str = "refuse"
) -> tuple[list[Floats], Array]:
    """Return the series of a table with one row per step, or, without `time`, with one row per series.

    Parameters
    ----------
    frame : data frame
    id : the column that says to which series a row belongs; series come in the order of their first row. In a wide table it
        is optional, and series are numbered without it
    time : the column that orders the steps; it must increase within each series
    values : the columns that are channels, or the steps of a wide table in order; by default all others
    holes : "refuse" or "interpolate"
        In a wide table, holes after the last known value end the series; only the others are holes.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"patient": [1, 1, 2], "day": [0, 1, 0], "pulse": [60.0, 62.0, 80.0]})
    >>> series, patients = series_of(frame, "patient", "day")
    >>> [one.ravel().tolist() for one in series], patients.tolist()
    ([[60.0, 62.0], [80.0]], [1, 2])
    >>> wide = pd.DataFrame({"day 0": [60.0, 80.0], "day 1": [62.0, None]})
    >>> [one.ravel().tolist() for one in series_of(wide)[0]]
    [[60.0, 62.0], [80.0]]
    """
    if not is_frame(frame):
        raise InputError(f"series_of takes a data frame; got {describe(frame)}.")
    if holes not in HOLES:
        raise InputError(f"series_of: holes must be 'refuse' or 'interpolate'; got {describe(holes)}.")
    columns = list(frame.columns)
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"series_of: the table has two columns {twice!r}; rename one.")
    keyed = [column for column in (id, time) if column is not None]
    several = [values] if isinstance(values, str) or np.isscalar(values) else values
    chosen = [column for column in columns if column not in keyed] if several is None else list(several)
    for column in (*keyed, *chosen):
        if column not in columns:
            raise InputError(f"series_of: the table has no column {column!r}; it has {', '.join(map(repr, columns))}.")
    if not chosen:
        raise InputError("series_of: no column is left for the values; name them by values=.")
    table = np.column_stack([_numbers(frame[column], column) for column in chosen])
    if len(table) == 0:
        raise InputError("series_of: the table has no rows.")
    if time is None:
        names = np.arange(len(table)) if id is None else np.asarray(frame[id])
        if len(set(names.tolist())) < len(names):
            raise InputError(
                f"series_of: the column {id!r} repeats values. Give time=, the column that orders the rows of a series, or "
                "leave out id= if each row is a series."
            )
        series = [_known_part(row, name) for row, name in zip(table, names, strict=True)]
    elif id is None:
        raise InputError("series_of: time= needs id=, the column that says to which series a row belongs.")
    else:
        series, names = _steps_of_series(np.asarray(frame[id]), np.asarray(frame[time]), time, table)
    filled = interpolated(series) if holes == "interpolate" else series
    return as_series(filled, "series"), names


def _numbers(column: Any, name: Any) -> Floats:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"series_of: column {name!r} holds values that are not numbers ({error}).") from None


def _known_part(row: Floats, name: Any) -> Floats:  # (steps,) -> (length, 1)
    """Return a row of a wide table up to its last known value."""
    known = np.flatnonzero(~np.isnan(row))
    if len(known) == 0:
        raise InputError(f"series_of: series {name!r} has no known value; leave its row out.")
    return row[: known[-1] + 1, None]


def _steps_of_series(keys: Array, times: Array, time: Any, table: Floats) -> tuple[list[Floats], Array]:
    """Return the series of a long table in the order of their first rows, and their keys."""
    try:
        names, first, group = np.unique(keys, return_index=True, return_inverse=True)
    except TypeError:
        raise InputError("series_of: the column of series mixes types, or has holes; every row needs a series.") from None
    order = np.argsort(group, kind="stable")
    series = np.split(np.arange(len(keys))[order], np.cumsum(np.bincount(group))[:-1])
    found = np.argsort(first)
    for number in found:
        rows = series[number]
        step = next((i for i in range(1, len(rows)) if not times[rows[i]] > times[rows[i - 1]]), None)
        if step is not None:
            now, before = times[rows[step]], times[rows[step - 1]]
            known = now == now and before == before  # NaN and NaT are not equal to themselves
            what = "repeats a time" if now == before else "is not sorted by time" if known else "has a row without a time"
            raise InputError(
                f"series_of: series {names[number]!r} {what} ({time} = {now!r} in row {int(rows[step])}, after {before!r}); "
                "sort the table, and keep one row per time."
            )
    return [table[series[number]] for number in found], names[found]
