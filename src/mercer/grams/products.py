"""k(X, Z) @ A by the cheaper of two methods: explicit features if they are few, otherwise tiles of the Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.grams import GramOperator
from mercer.grams.chunks.operator import ChunkOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.numeric.threads import Progress
from mercer.planning import Route, Shape, entry_rate, gemm_rate

#: Rows of explicit features computed at a time.
FEATURE_ROWS = 2048


def product(kernel: Kernel, X: Any, Z: Any, A: Array, explicit: bool, progress: Progress | None = None) -> Floats:
    """Return k(X, Z) @ A for A (m,) or (m, r); explicit=True goes through the features. Chunks X have themselves as Z."""
    if isinstance(X, ChunkedRows):
        return _of_chunks(kernel, X, A, explicit, progress)
    if explicit:
        return from_features(kernel, X, to_features(kernel, Z, A))
    return np.asarray(GramOperator(kernel, X, None if Z is X else Z, progress=progress) @ A)


def _of_chunks(kernel: Kernel, rows: ChunkedRows, A: Array, explicit: bool, progress: Progress | None) -> Floats:
    if not explicit:
        return ChunkOperator(kernel, rows, progress) @ A
    (coef,) = rows.sum(_chunk_to_features, kernel, each=rows.split(A), progress=progress)
    return rows.column(_chunk_from_features, kernel, coef, progress=progress)


def _chunk_to_features(chunk: Chunk, A: Array, kernel: Kernel) -> tuple[Floats]:
    return (to_features(kernel, chunk.X, A),)


def _chunk_from_features(chunk: Chunk, kernel: Kernel, coef: Array) -> Floats:
    return from_features(kernel, chunk.X, coef)


def to_features(kernel: Kernel, Z: Any, A: Array) -> Floats:  # (m, r) -> (D, r)
    """Return the coordinates of the vectors sum_i A_ij phi(z_i), phi(Z)' A."""
    parts = [np.asarray(block.T @ A[rows], dtype=np.float64) for rows, block in feature_blocks(kernel, Z)]
    return np.asarray(np.sum(parts, axis=0))


def from_features(kernel: Kernel, X: Any, coef: Array) -> Floats:  # (D, r) -> (n, r)
    """Return <phi(x), w> for vectors w given by their coordinates."""
    return np.concatenate([np.asarray(weighed(block, coef), dtype=np.float64) for _, block in feature_blocks(kernel, X)])


def weighed(Z: Any, coef: Array) -> Any:  # (n, D), (D, *r) -> (n, *r)
    """Return Z coef; raise if the numbers of weights and features differ."""
    check_weights(coef, Z.shape[1])
    return Z @ coef


def check_weights(coef: Array, features: int) -> None:
    """Raise if a model has another number of weights than features."""
    if len(coef) != features:
        raise InputError(f"the model has {len(coef)} weights for {features} features; it was damaged or changed.")


def feature_blocks(kernel: Kernel, X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield explicit features of blocks of rows."""
    rows = Rows(X)
    for start in range(0, len(rows), FEATURE_ROWS):
        part = slice(start, min(start + FEATURE_ROWS, len(rows)))
        block = kernel.feature_map(rows.take(part).data)
        yield part, sp.csr_array(block) if sp.issparse(block) else block


def product_routes(shape: Shape) -> tuple[Route, ...]:
    """Return the routes: explicit features if they are fewer than the rows, otherwise tiles of the Gram matrix."""
    n, offered = float(shape.n), []
    if shape.n_features is not None and shape.n_features < shape.n:
        D = float(shape.n_features)
        reason = f"{shape.n_features} explicit features against {shape.n} rows"
        offered.append(Route("primal", int(16 * FEATURE_ROWS * D), 8 * n * D / gemm_rate(), reason))
    seconds = n * n * (2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()) / 2.0
    needed = int(8 * n * (shape.width + 8))
    offered.append(Route("dual", needed, seconds, "one pass over the Gram matrix in tiles, which is never stored"))
    return tuple(offered)


def chunk_product_routes(shape: Shape, passes: int) -> tuple[Route, ...]:
    """Return the same routes for rows in chunks, which the model keeps, after `passes` other passes."""
    # rows brought together; then the diagonal, and products: by features two passes, by pairs of chunks one that holds them
    found = product_routes(shape)
    rows = 8 * shape.n * shape.width
    return tuple(
        replace(route, bytes=route.bytes + rows, passes=passes + (4 if route.solver == "primal" else 3)) for route in found
    )
