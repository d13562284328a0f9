"""Read and write images as rows of numbers: arrays in .npy and .npz files, and folders of PNG files."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MissingExtraError, install_command


@dataclass(frozen=True)
class Images:
    """Images as rows, and what is needed to write others in the same form."""

    rows: Array  # (n, h w)
    shape: tuple[int, int]  # of one image
    names: tuple[str, ...]  # file names, for a folder; empty for an array
    stacked: bool  # whether the array had the shape (n, h, w)

    def like(self, rows: Array) -> Images:
        """Return other rows as images of the same form."""
        return replace(self, rows=rows)

    @property
    def pictures(self) -> Array:  # (n, h, w)
        """Return the rows as images."""
        return self.rows.reshape(-1, *self.shape)


def read_images(path: Path, key: str | None = None, shape: tuple[int, int] | None = None) -> Images:
    """Read a .npy or .npz file, or all PNG files of a folder; `key` names the array of an .npz file."""
    if path.is_dir():
        return _read_folder(path)
    if path.suffix not in (".npy", ".npz"):
        raise InputError(f"{path}: images come as .npy, .npz, or a folder of .png files.")
    return _as_images(path, _array(path, key), shape)


def write_images(path: Path, images: Images) -> None:
    """Write images as .npy, as .npz with the array X, or as PNG files in a folder, each file completely or not at all."""
    from mercer.writing import umask, write_whole

    mode = 0o666 & ~umask()
    if path.suffix == ".npy" or path.suffix == ".npz":
        stream, values = io.BytesIO(), images.pictures if images.stacked else images.rows
        if path.suffix == ".npy":
            np.save(stream, values, allow_pickle=False)
        else:
            np.savez_compressed(stream, X=values)
        write_whole(path, stream.getvalue(), mode)
        return
    path.mkdir(parents=True, exist_ok=True)
    names = images.names or tuple(f"{i:05d}.png" for i in range(len(images.rows)))
    low, high = (0.0, 1.0) if images.names else (float(images.rows.min()), float(images.rows.max()))
    for name, picture in zip(names, images.pictures, strict=True):
        stream = io.BytesIO()
        _image_module().imsave(stream, np.clip(picture, low, high), cmap="gray", vmin=low, vmax=high, format="png")
        write_whole(path / name, stream.getvalue(), mode)


def _array(path: Path, key: str | None) -> Array:
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as arrays ({error}).") from None
    if isinstance(loaded, np.ndarray):
        return loaded
    names = list(loaded)
    wanted = key if key is not None else ("X" if "X" in names else names[0] if len(names) == 1 else None)
    if wanted is None or wanted not in names:
        raise InputError(f"{path}: holds the arrays {', '.join(names)}; name one with --key.")
    return np.asarray(loaded[wanted])


def _as_images(path: Path, values: Array, shape: tuple[int, int] | None) -> Images:
    if values.dtype.kind not in "fiu" or values.ndim not in (2, 3) or len(values) == 0:
        got = f"{values.dtype} {values.shape}"
        raise InputError(f"{path}: expected numbers of shape (n, height, width) or (n, pixels); got {got}.")
    numbers = values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"{path}: has NaN or infinite pixels.")
    if values.ndim == 3:
        return Images(numbers.reshape(len(values), -1), (values.shape[1], values.shape[2]), (), True)
    side = round(values.shape[1] ** 0.5)
    guessed = (side, side) if side * side == values.shape[1] else (1, values.shape[1])
    if shape is not None and shape[0] * shape[1] != values.shape[1]:
        raise InputError(f"{path}: rows have {values.shape[1]} pixels, not {shape[0]} x {shape[1]}.")
    return Images(numbers, shape or guessed, (), False)


def _read_folder(path: Path) -> Images:
    files = sorted(path.glob("*.png"))
    if not files:
        raise InputError(f"{path}: has no .png files.")
    pictures = [_gray(_image_module().imread(file)) for file in files]
    for file, picture in zip(files, pictures, strict=True):
        if picture.shape != pictures[0].shape:
            raise InputError(f"{file}: has {picture.shape} pixels, {files[0].name} {pictures[0].shape}; make them equal.")
    stack = np.stack(pictures)
    height, width = stack.shape[1:]
    return Images(stack.reshape(len(stack), -1), (height, width), tuple(file.name for file in files), True)


def _gray(picture: Array) -> Array:  # (h, w) or (h, w, 3 or 4), 0 … 1
    values = np.asarray(picture, dtype=np.float32)
    return values if values.ndim == 2 else np.asarray(values[..., :3] @ np.array([0.299, 0.587, 0.114], np.float32))


def _image_module() -> Any:
    try:
        import matplotlib.image
    except ImportError:
        raise MissingExtraError(f"PNG files need matplotlib, which is not installed: {install_command('plots')}") from None
    return matplotlib.image
