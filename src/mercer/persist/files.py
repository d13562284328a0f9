"""Model files: written completely or not at all, and read without running code.

A model file holds plain data only: a text (JSON) and a list of arrays. It is a zip archive in the layout of skops, written
and read here without that package: `schema.json` describes the data, and each array is a .npy member. `load` rejects a file
that names any other type. It then rebuilds the model from the text by the tables of `packing`: registered classes by name
(`mercer.registry`), kernels through `mercer.parse`, and functions by the names given to `mercer.register`.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import InputError, MissingExtraError
from mercer.writing import write_whole

FORMAT, VERSION = "mercer model", 1

#: The file of the model in a folder that `mercer fit` writes.
IN_FOLDER = "model.mercer"

#: Nodes that a model file may contain: the name of a node of skops, and the module and class that it builds.
PLAIN = {
    "DictNode": ("builtins", "dict"),
    "ListNode": ("builtins", "list"),
    "JsonNode": ("builtins", "str"),  # strings and numbers
    "TypeNode": ("builtins", "str"),  # the type of a dictionary's keys
    "NdArrayNode": ("numpy", "ndarray"),
}


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> int:
    """Write a fitted model to a file, completely or not at all; return the size of the file in bytes.

    Functions inside a kernel are saved by the name given to `mercer.register`. `notes` are plain values of your own that
    `load_with_notes` returns. scikit-learn's Pipeline and StandardScaler around a model are saved too.

    >>> import tempfile, numpy as np, mercer
    >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
    >>> model = mercer.KernelRidge(alpha=0.1).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = save(model, folder + "/sine.mercer")
    ...     again = load(folder + "/sine.mercer")
    >>> bool(np.all(again.predict(X) == model.predict(X)))
    True
    """
    content = to_bytes(model, notes)
    write_whole(path, content)
    return len(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file written by `save`, or of a folder written by `mercer fit`; no code in it is run.

    A function inside a kernel must be registered under its name before: `mercer.register(name, function)`.
    """
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the model of a file and the notes saved beside it."""
    try:
        if Path(path).is_dir() and (Path(path) / IN_FOLDER).is_file():  # of mercer fit
            path = Path(path) / IN_FOLDER
        if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
            raise InputError(f"{path}: this is a device or a pipe, not a model file; give a file written by mercer.save.")
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the name and the folder.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None
    return from_bytes(content, str(path))


def to_bytes(model: Any, notes: Mapping[str, Any] | None = None) -> bytes:
    """Return the content of a model file."""
    from importlib.metadata import version

    from mercer.persist.packing import Packer  # deferred: it imports much of scikit-learn

    packer = Packer()
    body = {"model": packer.pack(model, type(model).__name__), "notes": packer.pack(dict(notes or {}), "notes")}
    text = json.dumps({**body, "lists": packer.lists})
    document = {"format": FORMAT, "version": VERSION, "mercer": version("mercer"), "text": text, "arrays": packer.arrays}
    return written(document)


def from_bytes(content: bytes, name: str = "the file") -> tuple[Any, dict[str, Any]]:
    """Return the model and the notes in the content of a model file."""
    document = _document(content, name)
    try:
        kind, version, text, arrays = (document[key] for key in ("format", "version", "text", "arrays"))
    except Exception:  # plain data of another shape
        raise _damaged(name) from None
    if kind != FORMAT:
        raise _foreign(name)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _damaged(name)
    if version > VERSION:
        raise InputError(
            f"{name}: written by mercer {document.get('mercer')} in format {version}, and this mercer reads formats up to "
            f"{VERSION}. Install a newer mercer to read it."
        )
    return _rebuilt(text, arrays, name)


def written(document: Mapping[str, Any]) -> bytes:
    """The content of a file that holds a dictionary of texts, numbers and lists of arrays; equal data give equal bytes."""
    members: list[bytes] = []
    numbers = count(1)  # skops takes two nodes of one number for the same object

    def node(value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            keys = [_node("TypeNode", next(numbers)) for _ in value]
            content = {key: node(item) for key, item in value.items()}
            return _node(
                "DictNode", next(numbers), content=content, key_types=_node("ListNode", next(numbers), content=keys)
            )
        if isinstance(value, list):
            return _node("ListNode", next(numbers), content=[node(item) for item in value])
        if isinstance(value, np.ndarray):
            stream = io.BytesIO()
            np.save(stream, value, allow_pickle=False)
            members.append(stream.getvalue())
            return _node("NdArrayNode", next(numbers), type="numpy", file=f"{len(members)}.npy")
        return _node("JsonNode", next(numbers), content=json.dumps(value), is_json=True)

    schema = json.dumps({**node(dict(document)), "protocol": 2, "_skops_version": "0.13.0"})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for number, member in enumerate(members, 1):
            archive.writestr(zipfile.ZipInfo(f"{number}.npy"), member)
        archive.writestr(zipfile.ZipInfo("schema.json"), schema)
    return stream.getvalue()


def _node(loader: str, number: int, **parts: Any) -> dict[str, Any]:
    module, kind = PLAIN[loader]
    return {"__class__": kind, "__module__": module, "__loader__": loader, **parts, "__id__": number}


def _rebuilt(text: str, arrays: list[Any], name: str) -> tuple[Any, dict[str, Any]]:
    from mercer.persist.packing import unpack

    try:
        body = json.loads(text)
        if body["model"]["is"] != "estimator":
            raise InputError("holds no estimator.")
        return unpack(body["model"], body["lists"], arrays), unpack(body["notes"], body["lists"], arrays)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except MissingExtraError:
        raise
    except Exception:
        raise _damaged(name) from None


def _document(content: bytes, name: str) -> Any:
    """Return the plain data of a file, and raise InputError before building anything if it names another type."""
    if not content.startswith(b"PK"):
        raise InputError(
            f"{name}: not a mercer model file; nothing in it was run. Models are written by mercer fit and mercer.save."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if any(item.compress_type != zipfile.ZIP_STORED for item in archive.infolist()):
                raise _foreign(name)  # mercer's files are not compressed, so no content can be larger than the file
            if sum(item.file_size for item in archive.infolist()) > len(content):
                raise _foreign(name)  # overlapping entries
            if "schema.json" not in archive.namelist():  # a zip archive of something else
                raise _foreign(name)
            schema = json.loads(archive.read("schema.json"))
            members = [node["file"] for node in _nodes(schema) if "file" in node]
            if not _is_plain(schema) or len(set(members)) < len(members):  # each member is read once, however large
                raise _foreign(name)
            return _value(schema, archive)
    except InputError:
        raise
    except Exception:  # a damaged file can fail in any way; whatever it is, there is no model in it
        raise _damaged(name) from None


def _is_plain(node: Any) -> bool:
    """Whether a node and all nodes inside are of the types in `PLAIN`."""
    if not isinstance(node, dict):
        return False
    loader = node.get("__loader__")
    if not isinstance(loader, str) or PLAIN.get(loader) != (node.get("__module__"), node.get("__class__")):
        return False
    if loader == "NdArrayNode":  # the other type is a list of objects
        return node.get("type") == "numpy"
    if loader == "DictNode":
        return _is_plain(node["key_types"]) and all(_is_plain(item) for item in node["content"].values())
    return loader != "ListNode" or all(_is_plain(item) for item in node["content"])


def _value(node: dict[str, Any], archive: zipfile.ZipFile) -> Any:
    """The plain data of a node that `_is_plain`."""
    match node["__loader__"]:
        case "DictNode":
            return {key: _value(item, archive) for key, item in node["content"].items()}
        case "ListNode":
            return [_value(item, archive) for item in node["content"]]
        case "NdArrayNode":
            return np.load(io.BytesIO(archive.read(node["file"])), allow_pickle=False)
        case "JsonNode":
            return json.loads(node["content"])
    raise InputError("holds a type where a value belongs.")


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all nodes of the schema of a skops file."""
    waiting = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _foreign(name: str) -> InputError:
    return InputError(
        f"{name}: holds more than the numbers and names of a mercer model; it was not loaded, and nothing was run."
    )


def _damaged(name: str) -> InputError:
    return InputError(f"{name}: the file is damaged or cut short. Copy it again, or save the model again.")
