"""Geometry in feature space from kernel values only, and the functions of the space.

`vectors` has lengths, angles, means and projections of points w = sum_i a_i phi(x_i); `functions` the same vectors as
functions f(x) = <f, k(x, .)>; `spectrum` has the eigenfunctions of a kernel.
"""

from mercer.geometry.functions import Representer, representer
from mercer.geometry.spectrum import Eigenfunctions, eigenfunctions, gaussian_eigenfunctions
from mercer.geometry.vectors import center, distance, distances, inner, mean_norm, norm, normalize, projection, spread

__all__ = [
    "Eigenfunctions",
    "Representer",
    "center",
    "distance",
    "distances",
    "eigenfunctions",
    "gaussian_eigenfunctions",
    "inner",
    "mean_norm",
    "norm",
    "normalize",
    "projection",
    "representer",
    "spread",
]
