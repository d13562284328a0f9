"""Kernel PCA: the directions of largest variance in feature space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_number, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.pca import decompositions
from mercer.estimators.pca.decompositions import Components
from mercer.estimators.pca.denoising import tune_denoising
from mercer.estimators.pca.preimages import Preimages, PreimageSearch, choose_method
from mercer.estimators.pca.routes import check_solver, landmarks_on_chunks, landmarks_route, pca_routes
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.products import from_features
from mercer.inputs import is_float32, like, take
from mercer.kernels.base import Kernel
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape, choose_route
from mercer.registry import estimator

#: From this tolerance on Lanczos holds the Gram matrix in float32: half the memory, and products twice as fast.
#: Row: pca-32-n5000.
LOOSE = 1e-7


@estimator
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Find orthonormal directions f_1, f_2, … of largest variance in feature space, and project on them.

    f_l = sum_i alpha_li (phi(x_i) - mean) where n lambda_l alpha_l = K~ alpha_l for the centered Gram matrix K~, scaled by
    1 / sqrt(n lambda_l) so that ||f_l|| = 1. A point x has the coordinates <phi(x) - mean, f_l>, with the mean of the
    training rows. `eigenvalues_` are n lambda_l; the variance of a projected training component is eigenvalues_ / n.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    n_components : int, optional
        None keeps every component with an eigenvalue above zero (none at all for constant data). Components beyond the
        rank have eigenvalue 0 and project everything on 0.
    eigen_solver : "auto", "eigh", "lanczos", "landmarks" or "primal"
        "auto" takes explicit features where they are few, else the cheaper of a full decomposition and Lanczos, and
        landmarks, announced by a warning, where the Gram matrix exceeds the memory budget.
    tol : float, default 0.0
        Largest ||K~ v - value v|| / largest value of a Lanczos eigenpair; 0 is 1e-10 (1e-6 for float32 data).
    max_iter : int, optional
        Most vectors that Lanczos multiplies.
    n_landmarks : int, optional
        Landmarks of that route; by default as many as fit the budget, up to 2000.
    remove_zero_eig : bool, default False
        Leave out components with eigenvalue 0.
    preimage : "auto", "fixed-point", "neighbors", "ridge", "edits" or "candidates"
        How `inverse_transform` and `denoise` go back to the input space; see docs/kernel-pca.md.
    gain : float, default 1.0
        `denoise` multiplies the inner products <phi(x), f_l> by it. Noise of variance s^2 per column takes a factor of about
        (1 + s^2 / length_scale^2)^(-d/2) from every value of a Gaussian kernel; a gain above 1 gives it back.
    regularization : float, default 1e-4
        Pull of the fixed point towards the nearest training rows, relative to that of the target.
    n_neighbors : int, default 10
        Training rows that "neighbors" combines.
    fit_inverse_transform : bool, default False
        True makes the learned map ("ridge") the automatic method and fits it at once, as scikit-learn does.
    alpha : float, default 1.0
        Ridge penalty of the learned map.
    random_state : int or RandomState, optional
        Seed of landmarks and of the first vectors of Lanczos; None gives the same draws every time.
    memory : bytes or text such as "4 GB", optional
    verbose : bool or None

    Attributes
    ----------
    eigenvalues_, eigenvectors_ (n, q), dual_coef_ (coefficients of the directions on X_fit_), explained_variance_
    (eigenvalues_ / n), explained_variance_ratio_, X_fit_ (the training rows, or the landmarks), residual_ (largest
    relative residual of an eigenpair; for landmarks the share of the trace of K that they miss), kernel_, route_,
    n_features_in_.

    >>> import numpy as np
    >>> from mercer import KernelPCA, Linear
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    >>> model = KernelPCA(Linear(), n_components=2).fit(X)
    >>> model.eigenvalues_.round(12).tolist()  # sums of squares along the two axes
    [8.0, 2.0]
    >>> bool(np.allclose(model.transform(X).var(axis=0), model.explained_variance_))
    True
    """

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows a d",
        "_components": "a Components",
        "_components.coef": "float (a, q)",
        "_components.primal": "None | float (_, q+1)",
        "eigenvalues_": "float (q,)",
        "dual_coef_": "float (a, q)",
        "eigenvectors_": "absent | float (_, q)",
        "explained_variance_": "absent | real (q,)",
        "explained_variance_ratio_": "absent | real (q,)",
        "residual_": "absent | real",
        "_learned": "absent | each _: a LearnedMap",
    }

    kernel_: Kernel

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        n_components: int | None = None,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        max_iter: int | None = None,
        n_landmarks: int | None = None,
        remove_zero_eig: bool = False,
        preimage: str = "auto",
        gain: float = 1.0,
        regularization: float = 1e-4,
        n_neighbors: int = 10,
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        random_state: Any = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_landmarks = n_landmarks
        self.remove_zero_eig = remove_zero_eig
        self.preimage = preimage
        self.gain = gain
        self.regularization = regularization
        self.n_neighbors = n_neighbors
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------------------------------

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPCA:
        """Find the directions; a weight counts as that many copies of its row, y is ignored."""
        fitted: KernelPCA = self._fit(X, None, sample_weight)
        return fitted

    def _choose_route(self, data: TrainingSet) -> Route:
        if data.chunked:
            return super()._choose_route(data)
        if self.fit_inverse_transform:
            choose_method(data.kernel, data.X, "ridge", True)  # what has no way back is refused before the work
        shape = replace(self._shape(data.X), n=len(self._weighty(data)))
        return choose_route(self._routes(shape), self.memory, type(self).__name__)

    def _weighty(self, data: TrainingSet) -> Array:
        """The rows of weight above zero."""
        kept = np.flatnonzero(data.counted > 0)
        if len(kept) < data.n and data.kernel.given:
            raise InputError("KernelPCA: with kernel values (Precomputed) every sample weight must be > 0; drop such rows.")
        return kept

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[Components, Any, Array]:
        if data.chunked:
            m = landmarks_on_chunks(data.n, self.n_components, self.n_landmarks)
            q = m if self.n_components is None else min(self.n_components, m)
            found, anchors = decompositions.by_landmark_chunks(
                data.kernel, data.X, q, m=m, seed=self._seed(), progress=meter
            )
            return found, anchors, np.arange(0)
        kept = self._weighty(data)
        rows, w = data.X if len(kept) == data.n else take(data.X, kept), data.counted[kept]
        m = self._offered(replace(self._shape(data.X), n=len(kept))).get(route, 0)
        found, anchors = self._decomposed(data.kernel, rows, w, route.solver, m, meter)
        return found, anchors, kept

    def _store(self, data: TrainingSet, solution: tuple[Components, Any, Array]) -> None:
        found, anchors, kept = solution
        own = isinstance(anchors, np.ndarray) and anchors is data.X  # X stays the caller's
        self.X_fit_ = anchors.copy() if own else anchors
        self._keep(found, kept, 0 if data.chunked else data.n)  # chunks keep no vector with an entry per row
        if self.fit_inverse_transform:
            self.preimages(self._components.inner[:1] - self._components.offset, method="ridge")

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the coordinates of the training rows, (n, q)."""
        self.fit(X, sample_weight=sample_weight)
        if sample_weight is not None or self.route_.passes:
            return self.transform(X)
        values = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        return like(values, X)

    def transform(self, X: Any) -> Array:
        """Return the coordinates <phi(x) - mean, f_l> of rows, (n, q)."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        return like(self._inner(new)[:, :-1] - self._components.offset, new)

    @property
    def offset_(self) -> Floats:
        """<mean, f_l>, (q,): transform(x) is k(x, X_fit_) dual_coef_ - offset_."""
        check_is_fitted(self)
        return self._components.offset

    # -- back to the input space -------------------------------------------------------------------------------------

    def inverse_transform(self, X: Any, method: str | None = None) -> Any:
        """Return a pre-image of every row of coordinates, (n, q): the y whose phi(y) is nearest to the point they name."""
        return self.preimages(X, method=method).points

    def denoise(self, X: Any, method: str | None = None, n_components: int | None = None) -> Any:
        """Return y* = argmin ||phi(y) - P phi(x)||^2 for every row, P the projection on the first components.

        The target is mean + sum_l <gain phi(x) - mean, f_l> f_l; the fixed-point iteration starts from x itself.
        """
        check_is_fitted(self)
        offset = self._components.offset
        coordinates = self.gain * (np.asarray(self.transform(X), dtype=np.float64) + offset) - offset
        return self.preimages(coordinates, method=method, start=X, n_components=n_components).points

    def preimages(
        self,
        X: Any,
        *,
        method: str | None = None,
        start: Any = None,
        candidates: Any = None,
        n_components: int | None = None,
    ) -> Preimages:
        """Return pre-images of coordinates with the feature-space error reached and the method used, point by point.

        `start` gives the rows to start from (the noisy ones, when denoising), `candidates` further objects to choose
        from, for strings, graphs and tables. Only the first `n_components` coordinates count, if that is given.
        """
        check_is_fitted(self)
        search = PreimageSearch(
            self.kernel_, self.X_fit_, self._components, self._learned, self.alpha, self.regularization, self.n_neighbors,
            self.verbose,
        )  # fmt: skip
        targets = search.targets(X, n_components)
        chosen = choose_method(self.kernel_, self.X_fit_, method or self.preimage, self.fit_inverse_transform)
        began, further = (None if rows is None else self._read(rows, reset=False) for rows in (start, candidates))
        return search.find(targets, chosen, began, further)

    def score_samples(self, X: Any) -> Floats:
        """Return minus the reconstruction error ||phi(x) - P phi(x)||^2: the lower, the more novel (Hoffmann 2007)."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        inner, found = self._inner(new), self._components
        squared = np.asarray(self.kernel_.diag(new), dtype=np.float64) - 2.0 * inner[:, -1] + found.mean_square
        return -np.maximum(squared - ((inner[:, :-1] - found.offset) ** 2).sum(axis=1), 0.0)

    def tune_denoising(
        self,
        X: Any,
        clean: Any,
        noisy: Any,
        *,
        length_scales: Any = None,
        n_components: Any = None,
        methods: Any = ("fixed-point", "neighbors"),
        gains: Any = (1.0, 1.25, 1.5, 2.0),
    ) -> KernelPCA:
        """Return a fitted copy with the length scale, number of components, pre-image and gain that denoise best.

        The model is fitted on X; the mean squared error between `clean` rows and the denoised `noisy` ones decides.
        Neither may be rows of X. `denoising_results_` of the result lists every setting with its error.
        """
        return tune_denoising(self, self._given_kernel(), X, clean, noisy, length_scales, n_components, methods, gains)

    # -- how it is done ----------------------------------------------------------------------------------------------

    def _inner(self, new: Any) -> Floats:  # -> (n, q + 1)
        """<phi(x), f_l> and, as the last column, <phi(x), mean>."""
        found = self._components
        if found.primal is not None:
            return from_features(self.kernel_, new, found.primal)
        return np.asarray(GramOperator(self.kernel_, new, self.X_fit_) @ np.column_stack([found.coef, found.mean_coef]))

    def _decomposed(self, kernel: Kernel, X: Any, w: Array, solver: str, m: int, meter: Meter) -> tuple[Components, Any]:
        q = self._asked(len(w))
        if solver == "eigh":
            return decompositions.by_eigh(kernel, X, w, q, meter), X
        if solver == "primal":
            return decompositions.by_features(kernel, X, w, q), X
        if solver == "landmarks":
            return decompositions.by_landmarks(kernel, X, w, q, m=m, seed=self._seed(), progress=meter)
        held = 0 if solver == "lanczos-tiles" else self._held(is_float32(X))
        return decompositions.by_lanczos(
            kernel, X, w, q, tol=self.tol, max_iter=self.max_iter, held=held, seed=self._seed(), progress=meter
        ), X

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _keep(self, found: Components, kept: Array, n: int) -> None:
        positive = found.values > 0
        if self.n_components is None or self.remove_zero_eig:
            found = found.cut(positive)
        self._components = found
        self.eigenvalues_, self.dual_coef_ = found.values, found.coef
        self.eigenvectors_ = np.zeros((n, len(found.values)))
        self.eigenvectors_[kept] = found.vectors
        self.explained_variance_ = found.values / found.weight
        self.explained_variance_ratio_ = found.values / found.total if found.total > 0 else np.zeros_like(found.values)
        self.residual_ = found.residual
        self._learned: list[Any] = []

    def with_coefficients(
        self, kernel: Kernel, X: Any, values: Array, vectors: Array, columns: int, names: Any
    ) -> KernelPCA:  # (n rows), (q,), (n, q)
        """Set the fitted attributes from the eigenpairs that scikit-learn computed, and return self."""
        self._begin_read_in(kernel, columns, names)
        self.X_fit_ = X
        self._keep(decompositions.from_eigenpairs(kernel, X, values, vectors), np.arange(len(vectors)), len(vectors))
        return self

    def _asked(self, n: int) -> int:
        return n if self.n_components is None else min(self.n_components, n)

    def _held(self, single: bool) -> int:
        return 4 if single or self.tol >= LOOSE else 8

    def _offered(self, shape: Shape) -> dict[Route, int]:
        q, solver = self._asked(shape.n), check_solver(self.eigen_solver)
        return pca_routes(shape, q, solver, self._held(shape.itemsize == 4), self.n_landmarks)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return tuple(self._offered(shape))

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        m = landmarks_on_chunks(shape.n, self.n_components, self.n_landmarks)
        return (landmarks_route(shape, m, check_solver(self.eigen_solver), rows, self._given_kernel()),)

    def _check_parameters(self) -> None:
        numbers = {"n_components": self.n_components, "n_landmarks": self.n_landmarks, "max_iter": self.max_iter}
        for name, value in numbers.items():
            if value is not None:
                check_whole("KernelPCA", name, value, 1)
        check_whole("KernelPCA", "n_neighbors", self.n_neighbors, 1)
        sizes = {"tol": self.tol, "alpha": self.alpha, "gain": self.gain, "regularization": self.regularization}
        for name, size in sizes.items():
            check_number("KernelPCA", name, size, "a finite number >= 0", lambda v: 0 <= v < np.inf)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _summary(self) -> Summary:
        share = float(self.explained_variance_ratio_.sum())
        lines = (
            ("kernel", str(self.kernel_)),
            ("components", f"{len(self.eigenvalues_)}, {100 * share:.3g} % of the variance in feature space"),
            ("eigenvalues", ", ".join(f"{value:.4g}" for value in self.eigenvalues_[:5])),
            ("residual", f"{self.residual_:.1e}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"explained": share, "components": len(self.eigenvalues_)})
