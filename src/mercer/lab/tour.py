"""The guided tour: one page per lecture, each with a state to start from and one thing to try."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.errors import InputError, shown
from mercer.lab.state import DrawnPoints, LabState, NamedData


@dataclass(frozen=True)
class Lesson:
    """A page of the tour: plain text, no markup."""

    name: str
    title: str
    chapter: str  # path from docs/lectures
    text: str
    task: str  # the one thing to try
    state: LabState


def _page(name: str, title: str, chapter: str, text: str, task: str, **state: object) -> Lesson:
    return Lesson(name, title, chapter, text, task, LabState(tour=name, **state))  # type: ignore[arg-type]


_THREE = DrawnPoints(((-2.0, 0.0, 0), (0.0, 0.0, 1), (2.0, 0.0, 0), (-1.0, 1.5, 0), (1.0, 1.5, 1)))

_PAGES = (
    _page(
        "ridge", "Ridge, from least squares to the dual", "01-ridge.md",
        "The height of a point is its target. The curve minimizes the squared differences plus alpha times the squared "
        "norm of the function: a small alpha follows every point, a large one pulls the curve to zero.",
        "Move the slider of alpha from one end to the other, then drag one point far away and watch who follows.",
        algorithm="ridge", data=NamedData("sine", 25), kernel="Polynomial(degree=5, offset=1.0)", parameters={"alpha": 0.1},
        view="spectrum",
    ),
    _page(
        "kernel-trick", "The kernel trick and its price", "02-kernel-trick.md",
        "Circles are not separable by a line. The quadratic kernel is an inner product of x1², x2² and x1 x2, where they "
        "are: the algorithm has not changed, only the inner product.",
        "Set the degree to 1, look at the errors, and put it back to 2.",
        algorithm="svm", data=NamedData("circles", 60), kernel="Polynomial(degree=2, offset=1.0)", parameters={"C": 100.0},
    ),
    _page(
        "kernel", "What a kernel is", "03-what-is-a-kernel.md",
        "A kernel is symmetric, and all its Gram matrices have no negative eigenvalue. The hyperbolic tangent is popular "
        "and is no kernel: two or three points show it, exactly.",
        "Press “break it”: the points of the counter-example come into the picture, and the spectrum has a negative "
        "eigenvalue.",
        algorithm="mean", data=_THREE, kernel="Tanh(scale=1.0, offset=-1.0)", view="spectrum",
    ),
    _page(
        "closure", "Closure rules", "04-closure.md",
        "Sums, products, exponentials and normalizations of kernels are kernels, and the expression carries its proof. "
        "Differences are not.",
        "Build exp of a linear kernel and normalize it with the buttons: compare the picture with that of a Gaussian. "
        "Then subtract a block.",
        algorithm="svm", data=NamedData("circles", 60), kernel="Linear()", parameters={"C": 10.0},
    ),
    _page(
        "geometry", "Geometry of feature space", "05-geometry.md",
        "Lengths, angles and distances in feature space are kernel values. The Gram matrix shows them: bright where two "
        "points are alike. Normalizing puts all points on a sphere.",
        "Press “normalized” below the kernel and watch the diagonal of the Gram matrix become constant.",
        algorithm="mean", data=NamedData("blobs", 60), kernel="Polynomial(degree=2, offset=1.0)", view="gram",
    ),
    _page(
        "means", "Class means and novelty", "06-means-and-balls.md",
        "The simplest classifier of feature space: which class mean is nearer? With a narrow Gaussian it follows the "
        "shape of the classes. One mean alone, with a ball around it, tells what is novel.",
        "Change the algorithm to the novelty ball, and drag a point out of the crowd until it is called novel.",
        algorithm="mean", data=NamedData("moons", 60), kernel="Gaussian(length_scale=0.6)", view="margins",
    ),
    _page(
        "perceptron", "The perceptron and Novikoff's theorem", "07-perceptron.md",
        "Start with nothing; whenever a point lies on the wrong side, add it. The ringed point is wrong next. If a "
        "margin γ exists, there are at most (R/γ)² corrections, in any dimension.",
        "Press “step” until the classes are separated, then compare the number of corrections with the bound on the "
        "right.",
        algorithm="perceptron", data=NamedData("line", 40), kernel="Linear()", view="mistakes",
    ),
    _page(
        "neighbors", "Nearest neighbors", "08-neighbors.md",
        "A kernel gives distances, so that neighbors can vote in feature space. For a Gaussian they are the neighbors of "
        "the plane; other kernels have others.",
        "Set k to 1, then to 25. Then write Polynomial(degree=3, offset=0.0).normalized(): neighbors by angle.",
        algorithm="knn", data=NamedData("moons", 60), kernel="Gaussian(length_scale=1.0)", parameters={"k": 5},
    ),
    _page(
        "strings", "Strings and graphs", "09-strings-and-graphs.md",
        "The data are never touched outside k(x, z), so they need not be vectors. Words are compared by the substrings "
        "that they share, and shown by their first two kernel components.",
        "Write “havana” into the box “a new word”, and see where it lies and what it is called. Then change p.",
        algorithm="svm", data=NamedData("fruit"), kernel="Spectrum(p=2).normalized()", parameters={"C": 10.0},
        query="havana",
    ),
    _page(
        "two-samples", "The difference of feature means", "10-two-samples.md",
        "Are these two samples of one distribution? Their means agree, and only their spread differs: a linear kernel "
        "cannot see that. The witness shows where a Gaussian sees it.",
        "Write Linear() for the kernel and look at the p-value; then put Gaussian(length_scale=1.0) back.",
        algorithm="mmd", data=NamedData("spread", 80), kernel="Gaussian(length_scale=1.0)", view="null",
    ),
    _page(
        "pca", "Kernel PCA", "11-kernel-pca.md",
        "The directions of largest variance in feature space, drawn as level lines. A line leads from each point to the "
        "pre-image of its projection, a dot: noise across the arc is taken away.",
        "Raise the number of components kept: the lines become shorter, and the noise comes back.",
        algorithm="pca", data=NamedData("arc", 60), kernel="Gaussian(length_scale=1.5)",
        parameters={"components": 2, "shown": 1},
        view="spectrum",
    ),
    _page(
        "function-space", "The reproducing kernel Hilbert space", "12-function-space.md",
        "The fit is a sum of k(x_i, ·) with one coefficient per point, and its norm is a measure of roughness. A Matern "
        "kernel of small nu has rough functions, a Gaussian smooth ones.",
        "Turn nu from 0.5 to 5 and watch the curve between the points, and its norm.",
        algorithm="ridge", data=NamedData("tent", 12), kernel="Matern(nu=0.5, length_scale=1.0)",
        parameters={"alpha": 0.001},
        view="spectrum",
    ),
    _page(
        "cross-validation", "Choosing alpha and the length scale", "13-cross-validation.md",
        "The picture on the right is the leave-one-out error over penalty and width, computed exactly. Dark is small.",
        "Drag the white point on it to a corner, then into the dark valley, and look at the curve each time.",
        algorithm="ridge", data=NamedData("sine", 40), kernel="Gaussian(length_scale=0.1)",
        parameters={"alpha": 1e-4}, view="loo",
    ),
    _page(
        "gp", "Gaussian processes", "14-gaussian-processes.md",
        "The mean is ridge regression, and the band says where it knows little: it opens in the gap, and beyond the ends.",
        "Put a point into the gap. Then press “best parameters” and see what the likelihood says of width and noise.",
        algorithm="gp", data=NamedData("gap", 24), kernel="1.0 * Gaussian(length_scale=0.6)",
        parameters={"noise": 0.03}, view="loo",
    ),
    _page(
        "random-features", "Bochner's theorem and random features", "15-random-features.md",
        "A stationary kernel is an average of cosines; D random ones stand for it. The thin line is the exact fit.",
        "Raise D from 2 to 200, and draw again: at which D do you stop seeing a difference?",
        algorithm="features", data=NamedData("sine", 40), kernel="Gaussian(length_scale=0.6)",
        parameters={"alpha": 0.1, "D": 12},
        view="spectrum",
    ),
    _page(
        "universality", "Universal kernels and random labels", "16-universality.md",
        "These labels are random: there is nothing to learn. A narrow Gaussian learns them all the same, without an "
        "error.",
        "Widen the kernel until errors appear; then look at the margins, and compare the two pictures.",
        algorithm="svm", data=NamedData("random", 60), kernel="Gaussian(length_scale=0.2)",
        parameters={"C": 10000.0}, view="margins",
    ),
    _page(
        "support-vectors", "Optimal hyperplanes, margins, support vectors", "17-support-vectors.md",
        "Among all separating functions the one of largest margin. Only the ringed points decide it: the others could be "
        "taken away without changing anything.",
        "Drag a point that has no ring: nothing changes. Then drag one that has. Then lower C.",
        algorithm="svm", data=NamedData("line", 40), kernel="Linear()", parameters={"C": 1000.0}, view="margins",
    ),
    _page(
        "structured", "Kernels on structured objects", "18-structured-objects.md",
        "Sequences, and with the same algorithms graphs: only the kernel changes. Half of these genes hold TATAAT "
        "somewhere, and gaps are allowed for.",
        "Write Subsequence(p=4, decay=0.3).normalized() for the kernel. For molecules write SMILES into the box, and "
        "WeisfeilerLehman(iterations=2) for the kernel (extra “graphs”).",
        algorithm="svm", data=NamedData("genes", 24), kernel="Spectrum(p=4).normalized()", parameters={"C": 10.0},
        query="CCCTATAATCCC",
    ),
    _page(
        "clusters", "Clusters in feature space", "../structure.md",
        "Centers are means of feature vectors, and a point belongs to the nearest one. No labels are used: the colors of "
        "the points only show what was found. The ringed points are nearest to their centers.",
        "Move the slider of spectral clustering to 1: the rings become the clusters. Then look at the silhouettes.",
        algorithm="kmeans", data=NamedData("circles", 240, 3), kernel="Gaussian(length_scale=0.25)",
        parameters={"clusters": 2, "spectral": 0}, view="silhouettes",
    ),
    _page(
        "discriminants", "Directions that separate classes", "../structure.md",
        "Fisher's discriminant in feature space: class means far apart, compared with the spread within classes. The "
        "picture on the right shows the points along that direction.",
        "Move the penalty to its smallest value: the classes move apart, and the boundary becomes ragged.",
        algorithm="discriminant", data=NamedData("moons", 60), kernel="Gaussian(length_scale=0.8)",
        parameters={"penalty": 0.01}, view="projections",
    ),
)  # fmt: skip

PAGES: dict[str, Lesson] = {page.name: page for page in _PAGES}


def page_state(name: str) -> LabState:
    """The state that a page of the tour begins with."""
    if name not in PAGES:
        raise InputError(f"tour must be one of {', '.join(PAGES)}; got {shown(name[:60])}.")
    return PAGES[name].state


__all__ = ["PAGES", "Lesson", "page_state"]
