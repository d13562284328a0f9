"""`mercer export MODEL`: a saved model as an ONNX graph or a JavaScript file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.output import MODEL, note
from mercer.errors import InputError
from mercer.writing import umask, write_whole

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A file that mercer.save wrote, or the folder of mercer fit.", show_default=False),
]
Onnx = Annotated[
    Path | None, typer.Option("--onnx", metavar="FILE", help="Write an ONNX graph to this file.", show_default=False)
]
Js = Annotated[
    Path | None,
    typer.Option("--js", metavar="FILE", help="Write a JavaScript file without dependencies.", show_default=False),
]
Single = Annotated[bool, typer.Option("--float32", help="The input of the ONNX graph is float32; it computes in float64.")]


def export(model: ModelFile, onnx: Onnx = None, js: Js = None, float32: Single = False) -> int:
    """Write a fitted model on vectors, or a table model (ONNX), for use outside Python; what cannot be exported is named."""
    from mercer.export import to_javascript, to_onnx
    from mercer.persist import load

    if onnx is None and js is None:
        raise InputError("mercer export needs --onnx FILE, --js FILE, or both.")
    fitted = load(model / MODEL if model.is_dir() else model)
    contents = []
    if onnx is not None:
        contents.append((onnx, to_onnx(fitted, dtype="float32" if float32 else "float64").SerializeToString()))
    if js is not None:
        contents.append((js, to_javascript(fitted).encode()))
    for path, content in contents:
        write_whole(path, content, 0o666 & ~umask())
        note(f"{type(fitted).__name__} written to {path}, {len(content):,} bytes", word="")
    return 0
