"""`mercer denoise`: arrays and folders of PNG files in and out, the picture, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.workflow.denoising import add_noise, parse_noise
from mercer.workflow.images import Images, read_images, write_images


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clean images to learn from, others with noise, and the truth of these."""
    X = load_digits().images.astype(np.float32) / 16.0
    X = X[np.random.default_rng(0).permutation(len(X))]
    clean, truth = X[:150], X[150:170]
    return clean, add_noise(truth, "gaussian", 0.25, np.random.default_rng(1)), truth


def test_arrays(digits: Any, tmp_path: Path) -> None:
    clean, noisy, truth = digits
    np.save(tmp_path / "clean.npy", clean)
    np.savez(tmp_path / "noisy.npz", X=noisy)
    for name in ("out.npy", "both.png"):  # links are followed, and what they lead to keeps its permissions
        (tmp_path / f"true-{name}").write_bytes(b"old")
        (tmp_path / f"true-{name}").chmod(0o600)
        (tmp_path / name).symlink_to(tmp_path / f"true-{name}")
    result = invoke(
        "denoise", tmp_path / "noisy.npz", "--clean", tmp_path / "clean.npy", "--out", tmp_path / "out.npy",
        "--picture", tmp_path / "both.png", "--model", tmp_path / "m.mercer",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    for name in ("out.npy", "both.png"):
        assert (tmp_path / name).is_symlink() and (tmp_path / f"true-{name}").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "true-both.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob(".mercer-*"))
    assert "20 images written" in result.stderr and "noise gaussian 0.2" in result.stderr
    found = np.load(tmp_path / "out.npy")
    assert found.shape == (20, 8, 8)
    assert np.square(found - truth).mean() < 0.6 * np.square(noisy - truth).mean()
    assert (tmp_path / "both.png").stat().st_size > 3000
    model = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_allclose(model.denoise(noisy.reshape(20, -1)), found.reshape(20, -1), atol=1e-4)


def test_folders_of_png(digits: Any, tmp_path: Path) -> None:
    clean, noisy, truth = digits
    for name, pictures in (("clean", clean[:60]), ("noisy", np.clip(noisy[:4], 0, 1))):
        names = tuple(f"{i}.png" for i in range(len(pictures)))
        write_images(tmp_path / name, Images(pictures.reshape(len(pictures), -1), (8, 8), names, True))
    places = (tmp_path / "noisy", "--clean", tmp_path / "clean", "--out", tmp_path / "out")
    result = invoke("denoise", *places, "--noise", "0.25")
    assert result.exit_code == 0, result.stderr
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["0.png", "1.png", "2.png", "3.png"]
    back = read_images(tmp_path / "out")
    assert back.shape == (8, 8) and np.abs(back.rows - truth[:4].reshape(4, -1)).mean() < 0.2


def test_what_is_refused(digits: Any, tmp_path: Path) -> None:
    clean, noisy, _ = digits
    np.save(tmp_path / "clean.npy", clean)
    np.save(tmp_path / "small.npy", noisy[:, :4])
    np.savez(tmp_path / "two.npz", a=noisy, b=noisy)
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "nan.npy", np.full((3, 8, 8), np.nan))
    (tmp_path / "empty").mkdir()
    good = tmp_path / "clean.npy"
    for given, words in (
        ("small.npy", "make them equal"),
        ("two.npz", "name one with --key"),
        ("text.npy", "expected numbers"),
        ("nan.npy", "NaN"),
        ("empty", "no .png files"),
        ("none.npy", "cannot be read"),
        ("x.txt", "images come as"),
    ):
        result = invoke("denoise", tmp_path / given, "--clean", good, "--out", tmp_path / "o.npy")
        assert result.exit_code == 64 and words in result.stderr, (given, result.stderr)
    assert invoke("denoise", good, "--clean", good, "--out", tmp_path / "o.csv").exit_code == 64
    assert invoke("denoise", good, "--clean", good, "--out", tmp_path / "no" / "o.npy").exit_code == 64
    assert invoke("denoise", good, "--clean", good, "--out", tmp_path / "o.npy", "--picture", "p.txt").exit_code == 64
    bad = invoke("denoise", good, "--clean", good, "--out", tmp_path / "o.npy", "--noise", "salt")
    assert bad.exit_code == 64 and "speckle:0.4" in bad.stderr
    assert not (tmp_path / "o.npy").exists()


def test_noise_is_read_and_made() -> None:
    assert parse_noise(None) == ("gaussian", None) and parse_noise("gaussian") == ("gaussian", None)
    assert parse_noise("0.5") == ("gaussian", 0.5) and parse_noise("speckle:0.4") == ("speckle", 0.4)
    X, rng = np.linspace(0.0, 1.0, 5000).reshape(50, 100), np.random.default_rng(0)
    assert np.std(add_noise(X, "gaussian", 0.3, rng) - X) == pytest.approx(0.3, rel=0.05)
    speckled = add_noise(X, "speckle", 0.4, rng)
    assert np.mean(speckled != X) == pytest.approx(0.4, abs=0.03) and set(speckled[speckled != X]) <= {0.0, 1.0}


def test_flat_rows_keep_their_form(tmp_path: Path) -> None:
    rows = np.arange(12.0).reshape(2, 6)
    np.save(tmp_path / "r.npy", rows)
    images = read_images(tmp_path / "r.npy", shape=(2, 3))
    assert images.shape == (2, 3) and images.pictures.shape == (2, 2, 3)
    write_images(tmp_path / "s.npz", images)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npz")["X"], rows)
    with pytest.raises(ValueError, match="not 4 x 4"):
        read_images(tmp_path / "r.npy", shape=(4, 4))
