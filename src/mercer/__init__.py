"""mercer: kernel methods. Write down a kernel once, and every kernel algorithm runs on it.

>>> import mercer
>>> k = 2.0 * mercer.Gaussian(length_scale=1.5) + mercer.Linear()
>>> k.certificate().status
'valid'
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from mercer import errors as errors
from mercer import geometry as geometry
from mercer.gram import GramOperator as GramOperator
from mercer.gram import gram as gram
from mercer.inputs import Graph as Graph
from mercer.kernels.base import Kernel as Kernel
from mercer.kernels.frequencies import Cosines as Cosines
from mercer.kernels.frequencies import SpectralMixture as SpectralMixture
from mercer.kernels.frequencies import from_spectral as from_spectral
from mercer.kernels.functions import Function as Function
from mercer.kernels.functions import Precomputed as Precomputed
from mercer.kernels.graphs import EdgeHistogram as EdgeHistogram
from mercer.kernels.graphs import Graphlet as Graphlet
from mercer.kernels.graphs import RandomWalk as RandomWalk
from mercer.kernels.graphs import ShortestPath as ShortestPath
from mercer.kernels.graphs import VertexHistogram as VertexHistogram
from mercer.kernels.graphs import WeisfeilerLehman as WeisfeilerLehman
from mercer.kernels.graphs import WLOptimalAssignment as WLOptimalAssignment
from mercer.kernels.matern import Matern as Matern
from mercer.kernels.names import register as register
from mercer.kernels.periodic import Periodic as Periodic
from mercer.kernels.stationary import Exponential as Exponential
from mercer.kernels.stationary import Gaussian as Gaussian
from mercer.kernels.stationary import Laplacian as Laplacian
from mercer.kernels.stationary import RationalQuadratic as RationalQuadratic
from mercer.kernels.strings.all_substrings import AllSubstrings as AllSubstrings
from mercer.kernels.strings.gapped import GappedSpectrum as GappedSpectrum
from mercer.kernels.strings.gapped import Mismatch as Mismatch
from mercer.kernels.strings.spectrum import Spectrum as Spectrum
from mercer.kernels.strings.subsequence import Subsequence as Subsequence
from mercer.kernels.strings.weighted_degree import WeightedDegree as WeightedDegree
from mercer.kernels.text import parse as parse
from mercer.kernels.vectors import Bilinear as Bilinear
from mercer.kernels.vectors import Constant as Constant
from mercer.kernels.vectors import Linear as Linear
from mercer.kernels.vectors import Polynomial as Polynomial
from mercer.kernels.vectors import Tanh as Tanh
from mercer.plan import plan as plan

if TYPE_CHECKING:
    from mercer import testing as testing
    from mercer.estimators.features.nystroem import Nystroem as Nystroem
    from mercer.estimators.features.random_fourier import RandomFourierFeatures as RandomFourierFeatures
    from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor as GaussianProcessRegressor
    from mercer.estimators.means.nearest_mean import NearestMean as NearestMean
    from mercer.estimators.means.novelty_ball import NoveltyBall as NoveltyBall
    from mercer.estimators.neighbors.kernel_neighbors import KernelKNeighborsClassifier as KernelKNeighborsClassifier
    from mercer.estimators.neighbors.kernel_neighbors import KernelKNeighborsRegressor as KernelKNeighborsRegressor
    from mercer.estimators.pca.kernel_pca import KernelPCA as KernelPCA
    from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from mercer.estimators.ridge.kernel_ridge import KernelRidge as KernelRidge
    from mercer.estimators.ridge.kernel_ridge_classifier import KernelRidgeClassifier as KernelRidgeClassifier
    from mercer.estimators.ridge.kernel_ridge_cv import KernelRidgeCV as KernelRidgeCV
    from mercer.estimators.svm.nu_svc import NuSVC as NuSVC
    from mercer.estimators.svm.nu_svr import NuSVR as NuSVR
    from mercer.estimators.svm.one_class_svm import OneClassSVM as OneClassSVM
    from mercer.estimators.svm.svc import SVC as SVC
    from mercer.estimators.svm.svc_cv import SVCCV as SVCCV
    from mercer.estimators.svm.svr import SVR as SVR
    from mercer.explanations import explain as explain
    from mercer.inputs.sequences import read_fasta as read_fasta
    from mercer.inputs.sequences import read_lines as read_lines
    from mercer.inputs.tu import read_tu as read_tu
    from mercer.persist import load as load
    from mercer.persist import save as save
    from mercer.twosample import hsic_test as hsic_test
    from mercer.twosample import mmd_test as mmd_test
    from mercer.validity.counterexamples import find_counterexample as find_counterexample
    from mercer.validity.grams import check_gram as check_gram
    from mercer.validity.grams import repair as repair

__version__ = "0.1.0"

__all__ = [
    "AllSubstrings",
    "Bilinear",
    "Constant",
    "Cosines",
    "EdgeHistogram",
    "Exponential",
    "Function",
    "GappedSpectrum",
    "Gaussian",
    "GaussianProcessRegressor",
    "GramOperator",
    "Graph",
    "Graphlet",
    "Kernel",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsRegressor",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "Laplacian",
    "Linear",
    "Matern",
    "Mismatch",
    "NearestMean",
    "NoveltyBall",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "RandomFourierFeatures",
    "RandomWalk",
    "RationalQuadratic",
    "SVC",
    "SVCCV",
    "SVR",
    "ShortestPath",
    "SpectralMixture",
    "Spectrum",
    "Subsequence",
    "Tanh",
    "VertexHistogram",
    "WLOptimalAssignment",
    "WeightedDegree",
    "WeisfeilerLehman",
    "__version__",
    "check_gram",
    "errors",
    "explain",
    "find_counterexample",
    "from_spectral",
    "geometry",
    "gram",
    "hsic_test",
    "load",
    "mmd_test",
    "parse",
    "plan",
    "read_fasta",
    "read_lines",
    "read_tu",
    "register",
    "repair",
    "save",
    "testing",
]

# Kernels and the Gram engine are loaded at once, the rest when it is first asked for: a program that checks a kernel does
# not wait for every estimator.
_LATER = {
    "GaussianProcessRegressor": "mercer.estimators.gp.gaussian_process",
    "KernelKNeighborsClassifier": "mercer.estimators.neighbors.kernel_neighbors",
    "KernelKNeighborsRegressor": "mercer.estimators.neighbors.kernel_neighbors",
    "KernelPCA": "mercer.estimators.pca.kernel_pca",
    "KernelPerceptron": "mercer.estimators.perceptron.kernel_perceptron",
    "KernelRidge": "mercer.estimators.ridge.kernel_ridge",
    "KernelRidgeCV": "mercer.estimators.ridge.kernel_ridge_cv",
    "KernelRidgeClassifier": "mercer.estimators.ridge.kernel_ridge_classifier",
    "NearestMean": "mercer.estimators.means.nearest_mean",
    "NoveltyBall": "mercer.estimators.means.novelty_ball",
    "NuSVC": "mercer.estimators.svm.nu_svc",
    "NuSVR": "mercer.estimators.svm.nu_svr",
    "Nystroem": "mercer.estimators.features.nystroem",
    "OneClassSVM": "mercer.estimators.svm.one_class_svm",
    "RandomFourierFeatures": "mercer.estimators.features.random_fourier",
    "SVC": "mercer.estimators.svm.svc",
    "SVCCV": "mercer.estimators.svm.svc_cv",
    "SVR": "mercer.estimators.svm.svr",
    "check_gram": "mercer.validity.grams",
    "explain": "mercer.explanations",
    "find_counterexample": "mercer.validity.counterexamples",
    "hsic_test": "mercer.twosample",
    "load": "mercer.persist",
    "mmd_test": "mercer.twosample",
    "read_fasta": "mercer.inputs.sequences",
    "read_lines": "mercer.inputs.sequences",
    "read_tu": "mercer.inputs.tu",
    "repair": "mercer.validity.grams",
    "save": "mercer.persist",
    "testing": "mercer",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    if _LATER[name] == "mercer":
        return _import_module(f"mercer.{name}")
    value = getattr(_import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
