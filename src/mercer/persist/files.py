"""Model files: written whole or not at all, and read without ever running code.

A model file is a skops file that holds plain data only: a text (JSON) and a list of arrays. `load` refuses a file that
names any other type before skops builds anything, and then rebuilds the model from the text by the tables of `packing`:
classes by name from a list of our own, kernels through `mercer.parse`, functions by the names given to
`mercer.register`. An estimator joins by registering itself, and the values it holds (`mercer.registry`).
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mercer.errors import InputError, MissingExtraError
from mercer.writing import write_whole

FORMAT, VERSION = "mercer model", 1

#: All that a model file may be made of: skops' own node, and the type it builds. skops itself trusts far more.
PLAIN = frozenset(
    {
        ("DictNode", "builtins", "dict"),
        ("ListNode", "builtins", "list"),
        ("JsonNode", "builtins", "str"),  # strings and numbers
        ("TypeNode", "builtins", "str"),  # the type of a dictionary's keys
        ("NdArrayNode", "numpy", "ndarray"),
    }
)


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> int:
    """Write a fitted model to a file, whole or not at all; return the size of the file in bytes.

    Functions inside a kernel are saved by the name given to `mercer.register`. `notes` are facts of your own beside the
    model: plain values, for `load_with_notes`. scikit-learn's Pipeline and StandardScaler around a model are saved too.

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
    """Return the model of a file written by `save`; nothing in the file is ever run.

    A function inside a kernel must be registered under its name before: `mercer.register(name, function)`.
    """
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the model of a file and the notes saved beside it."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the name and the folder.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None
    return from_bytes(content, str(path))


def to_bytes(model: Any, notes: Mapping[str, Any] | None = None) -> bytes:
    """The content of a model file."""
    skops = _skops("saving")
    from importlib.metadata import version

    from mercer.persist.packing import Packer  # it knows half of scikit-learn, which `import mercer` must not wait for

    packer = Packer()
    body = {"model": packer.pack(model, type(model).__name__), "notes": packer.pack(dict(notes or {}), "notes")}
    text = json.dumps({**body, "lists": packer.lists})
    document = {"format": FORMAT, "version": VERSION, "mercer": version("mercer"), "text": text, "arrays": packer.arrays}
    return bytes(skops.dumps(document))


def from_bytes(content: bytes, name: str = "the file") -> tuple[Any, dict[str, Any]]:
    """The model and the notes in the content of a model file."""
    skops = _skops("loading")
    _refuse_all_but_plain_data(content, name)
    try:
        if skops.get_untrusted_types(data=content):  # the second lock
            raise _foreign(name)
        document = skops.loads(content, trusted=[])
        kind, version, text, arrays = (document[key] for key in ("format", "version", "text", "arrays"))
    except InputError:
        raise
    except Exception:  # a damaged file can fail in any way; whatever it is, there is no model in it
        raise _damaged(name) from None
    if kind != FORMAT:
        raise _foreign(name)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _damaged(name)
    if version > VERSION:
        raise InputError(
            f"{name}: written by mercer {document.get('mercer')} in format {version}, and this mercer reads formats up to "
            f"{VERSION}: pip install --upgrade mercer"
        )
    return _rebuilt(text, arrays, name)


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


def _refuse_all_but_plain_data(content: bytes, name: str) -> None:
    """Read the plan of a skops file, and nothing else, and refuse every type that is not plain data."""
    if not content.startswith(b"PK"):
        raise InputError(
            f"{name}: not a mercer model file; nothing in it was run. Models are written by mercer fit and mercer.save."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if any(item.compress_type != zipfile.ZIP_STORED for item in archive.infolist()):
                raise _foreign(name)  # ours are not compressed, so that no file is larger inside than outside
            if sum(item.file_size for item in archive.infolist()) > len(content):
                raise _foreign(name)  # entries that share their bytes
            schema = json.loads(archive.read("schema.json"))
        members = [node["file"] for node in _nodes(schema) if "file" in node]
        plain = _is_plain(schema) and len(set(members)) == len(members)  # each member is read once, however large
    except InputError:
        raise
    except KeyError:  # a zip archive of something else
        raise _foreign(name) from None
    except Exception:
        raise _damaged(name) from None
    if not plain:
        raise _foreign(name)


def _is_plain(node: Any) -> bool:
    if not isinstance(node, dict) or (node.get("__loader__"), node.get("__module__"), node.get("__class__")) not in PLAIN:
        return False
    if node["__loader__"] == "NdArrayNode":  # the other type is a list of objects
        return node.get("type") == "numpy"
    if node["__loader__"] == "DictNode":
        return _is_plain(node["key_types"]) and all(_is_plain(item) for item in node["content"].values())
    return node["__loader__"] != "ListNode" or all(_is_plain(item) for item in node["content"])


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """All nodes of the plan of a skops file."""
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


def _skops(verb: str) -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtraError(f'{verb} a model needs the package skops: pip install "mercer[cli]"') from None
    return skops.io
