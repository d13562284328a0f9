"""Memory and approximate time of the decompositions of KernelPCA, and their order."""

from __future__ import annotations

from mercer.errors import InputError, check_choice
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.low_rank import rows_drawn
from mercer.grams.products import FEATURE_ROWS
from mercer.kernels.base import Kernel
from mercer.linalg.lanczos import BLOCK_SIZE as VECTORS
from mercer.planning import Route, Shape, entry_rate, gemm_rate

SOLVERS = ("auto", "eigh", "lanczos", "landmarks", "primal")
#: Solver names of scikit-learn, and the names used here.
TRANSLATED = {"dense": "eigh", "arpack": "lanczos", "randomized": "lanczos"}

#: Landmarks of the automatic route, as many as the budget allows.
LANDMARKS = (2000, 1000, 500, 250, 100)

#: A dense eigenproblem runs at about this share of the speed of a matrix product: half of it is limited by memory.
#: Row: pca-*.
EIGH_SHARE = 0.15

#: Up to this many rows the dense eigenproblem takes milliseconds. Row: pca-32-n300.
DENSE_ROWS = 400


def check_solver(solver: object) -> str:
    """The name of a solver, or an error that names the one to write."""
    if solver in TRANSLATED:
        raise InputError(f"KernelPCA: eigen_solver={solver!r} is called {TRANSLATED[str(solver)]!r} here.")
    return check_choice("KernelPCA", "eigen_solver", solver, SOLVERS)


def basis_size(n: int, q: int) -> int:
    """The vectors that Lanczos holds."""
    return min(n, q + max(2 * q, 10 * VECTORS)) + VECTORS


def pca_routes(shape: Shape, q: int, solver: str, held: int, n_landmarks: int | None) -> dict[Route, int]:
    """The routes for q components, best first, each with its number of landmarks (0 where there are none).

    `held` is the bytes of a value of the Gram matrix that Lanczos would hold.
    """
    n, offered = shape.n, []
    exact = [_lanczos(shape, q, held), _eigh(shape)]
    if n <= DENSE_ROWS or 3 * q >= n or exact[1].seconds <= exact[0].seconds:
        exact.reverse()
    if solver == "eigh":
        offered = [_eigh(shape)]
    elif solver == "lanczos":
        offered = [_lanczos(shape, q, held), _tiles(shape, q)]
    elif solver == "primal":
        offered = [_primal(shape, q)]
    elif solver == "auto":
        small = shape.n_features is not None and shape.n_features < n
        explicit = [_primal(shape, q)] if small and _primal(shape, q).seconds < exact[0].seconds else []
        offered = explicit + exact
    found = dict.fromkeys(offered, 0)
    if solver in ("auto", "landmarks"):
        wanted = LANDMARKS if n_landmarks is None else (n_landmarks,)
        counts = sorted({min(n, max(m, q)) for m in wanted}, reverse=True)
        found |= {_landmarks(shape, q, m): m for m in counts}
    return found


def landmarks_on_chunks(n: int, n_components: int | None, n_landmarks: int | None) -> int:
    """Return the number of landmarks for rows in chunks: the given one or 1000, and at least the number of components."""
    return min(n, max(1000 if n_landmarks is None else n_landmarks, n_components or 1))


def landmarks_route(shape: Shape, m: int, solver: str, rows: ChunkedRows, kernel: Kernel) -> Route:
    """The one route for rows in chunks: landmarks."""
    if solver not in ("auto", "landmarks"):
        raise InputError(f"KernelPCA: eigen_solver={solver!r} needs all rows at once; on chunks it is 'landmarks'.")
    if rows.once:
        raise InputError("KernelPCA goes through the rows twice after its landmarks are drawn; an iterator is read once.")
    n, most = float(shape.n), max(rows.lengths or (1,))
    drawn = rows_drawn(shape.n, m)
    seconds = 2.0 * n * m * (2.0 * (shape.width + m) / gemm_rate() + 0.5 / entry_rate())
    needed = 16 * most * shape.width + max(24 * 2**23 + 48 * m * m, 8 * drawn * (m + shape.width) + 24 * m * m)
    reason = f"{m} landmarks, {len(rows.lengths or ())} chunks"
    return Route("landmarks", needed, seconds, reason, False, rows.passes_before(kernel) + 3)


def _gram_seconds(shape: Shape) -> float:
    n = float(shape.n)
    return n * n * (2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()) / 2.0


def _eigh(shape: Shape) -> Route:
    n = float(shape.n)
    seconds = _gram_seconds(shape) + 4.0 * n**3 / (EIGH_SHARE * gemm_rate())
    return Route("eigh", int(4 * n * n * shape.itemsize), seconds, "all eigenpairs of the centered Gram matrix")


def _lanczos(shape: Shape, q: int, held: int) -> Route:
    n, m = float(shape.n), float(basis_size(shape.n, q))
    seconds = _gram_seconds(shape) + (2.0 * n * n * m + 8.0 * n * m * m) / (0.5 * gemm_rate())
    needed = int(held * n * n + 16 * n * m)
    return Route("lanczos", needed, seconds, f"{q} of {shape.n} eigenpairs by products with the Gram matrix")


def _tiles(shape: Shape, q: int) -> Route:
    n, m = float(shape.n), float(basis_size(shape.n, q))
    seconds = _gram_seconds(shape) * m / VECTORS + 8.0 * n * m * m / gemm_rate()
    needed = int(12 * n * m + 8 * n * (shape.width + 8))
    return Route("lanczos-tiles", needed, seconds, "products in tiles: the Gram matrix is computed again in every step")


def _primal(shape: Shape, q: int) -> Route:
    if shape.n_features is None:
        raise InputError(
            "KernelPCA: eigen_solver='primal' needs a kernel with finitely many features that are the same for all rows, "
            "as Linear() or Polynomial() on few columns; take eigen_solver='auto'."
        )
    n, D = float(shape.n), float(shape.n_features)
    seconds = (2.0 * n * D * D + 25.0 * D**3) / gemm_rate()
    needed = int(16 * D * D + 16 * FEATURE_ROWS * D + 24 * n * q)
    return Route("primal", needed, seconds, f"{shape.n_features} explicit features against {shape.n} rows")


def _landmarks(shape: Shape, q: int, m: int) -> Route:
    n = float(shape.n)
    values = n * m * (2.0 * shape.width / gemm_rate() + 0.5 / entry_rate())
    seconds = values + 4.0 * n * m * m / (0.5 * gemm_rate())
    held = 8.0 * n * m + 32.0 * m * m + 40.0 * n * q  # the factor, small matrices, projections
    passing = 6 * 8 * 64 * n + 2 * shape.itemsize * n * (shape.width + 2)  # a round of candidates, encoded rows
    needed = int(held + passing)
    reason = f"{m} landmarks drawn by randomly pivoted Cholesky stand for {shape.n} rows"
    return Route("landmarks", needed, seconds, reason, exact=m >= shape.n)
