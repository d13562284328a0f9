"""`mercer denoise NOISY --clean CLEAN`: denoise images by kernel PCA, and draw noisy and denoised images."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.output import note
from mercer.errors import InputError

Noisy = Annotated[
    Path,
    typer.Argument(metavar="NOISY", help="Noisy images: .npy, .npz, or a folder of .png files.", show_default=False),
]
Clean = Annotated[
    Path,
    typer.Option(metavar="CLEAN", help="Clean images of the same kind and size to learn from.", show_default=False),
]
Out = Annotated[
    Path,
    typer.Option(metavar="PATH", help="Where the images go: .npy, .npz, or a folder for .png files.", show_default=False),
]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also draw noisy and denoised images side by side.", show_default=False)
]
Noise = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:LEVEL",
        help="gaussian:0.5 (standard deviation) or speckle:0.4 (share of pixels); Gaussian noise is measured if not given.",
        show_default=False,
    ),
]
Key = Annotated[str | None, typer.Option(metavar="NAME", help="The array of an .npz file.", show_default=False)]
Model = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also save the model, for mercer.load.", show_default=False)
]


def denoise(
    noisy: Noisy,
    clean: Clean,
    out: Out,
    picture: Picture = None,
    noise: Noise = None,
    key: Key = None,
    model: Model = None,
) -> int:
    """Denoise images by kernel PCA, learned from clean ones.

    The length scale, the number of components and the pre-image method are chosen on a part of the clean images, to which
    noise of the same strength is added.
    """
    from mercer.workflow.denoising import denoise_rows
    from mercer.workflow.images import read_images, write_images

    _check_places(out, picture)
    given, known = read_images(noisy, key), read_images(clean, key)
    if given.shape != known.shape:
        raise InputError(f"{noisy} has images of {given.shape} pixels, {clean} of {known.shape}; make them equal.")
    found = denoise_rows(given.rows, known.rows, noise)
    write_images(out, given.like(found.rows))
    chosen = found.model
    note(
        f"{len(found.rows)} images written to {out}; noise {found.noise}; {chosen.kernel_}, {chosen.n_components} "
        f"components, pre-images by {chosen.preimage}, gain {chosen.gain:g}",
        word="",
    )
    if model is not None:
        from mercer.persist import save

        save(chosen, model)
    if picture is not None:
        from mercer.report.pca import ImagesDisplay
        from mercer.writing import umask, write_whole

        lines = {"noisy": given.pictures, "denoised": given.like(found.rows).pictures}
        stream = io.BytesIO()
        ImagesDisplay(lines).plot().figure_.savefig(stream, dpi=120, format=picture.suffix[1:])
        write_whole(picture, stream.getvalue(), 0o666 & ~umask())
    return 0


def _check_places(out: Path, picture: Path | None) -> None:
    """Raise if an output path cannot be written, before the work begins."""
    if out.suffix and out.suffix not in (".npy", ".npz"):
        raise InputError(f"--out {out}: give a .npy or .npz file, or a folder for .png files.")
    if out.is_file() and not out.suffix:
        raise InputError(f"--out {out}: this is a file, not a folder.")
    if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
        raise InputError(f"--picture {picture}: give a .png, .pdf or .svg file.")
    for place in (out, picture):
        if place is not None and not place.absolute().parent.is_dir():
            raise InputError(f"{place}: there is no folder {place.absolute().parent}.")
