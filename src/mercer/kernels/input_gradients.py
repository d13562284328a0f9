"""The gradient of k(y, x) in y, for kernels that are functions of distances and inner products.

For these, and for sums, products and functions of them, the gradient lies in the plane of the two points:

    grad_y k(y, x) = M (P x + Q y)      and      grad_y k(y, y) = M (R y)

with one number P, Q per pair, R per point, and M = diag(1 / length_scale^2) for one length scale per column, else the
identity. That is all that a pre-image by fixed-point iteration needs: where the gradient of an expansion vanishes, M does
not matter. One rule per node, beside each other, because the rules only make sense together.
"""

from __future__ import annotations

from functools import reduce, singledispatch
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import CapabilityError
from mercer.kernels.algebra import Pointwise, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.stationary import Exponential, Gaussian, Matern, RationalQuadratic, Stationary
from mercer.kernels.vectors import Constant, Linear, Polynomial
from mercer.numeric.encodings import Encoding

Plane = tuple[Any, Any]  # P and Q, (n, m) each, or 0

#: The result for a term without such a gradient.
NONE = frozenset({"none"})


def differentiable(kernel: Kernel) -> bool:
    """Whether the gradient in an argument is known: every term has one, and they share one M.

    >>> from mercer import Gaussian, Laplacian, Linear
    >>> differentiable(Gaussian(1.0) * Linear() + 2.0), differentiable(Laplacian(1.0))
    (True, False)
    """
    metrics = _metrics(kernel)
    return not metrics & NONE and len(metrics) <= 1


def input_gradient(kernel: Kernel, pair: Pair) -> tuple[Array, Array]:
    """P and Q of a tile, (n, m) each: grad_y k(y, x) = M (P x + Q y) for its rows y and columns x."""
    if not differentiable(kernel):
        raise CapabilityError(f"{kernel} has no gradient in its argument that is known here.")
    P, Q = _plane(kernel, pair)
    return np.broadcast_to(P, pair.shape), np.broadcast_to(Q, pair.shape)


def diagonal_gradient(kernel: Kernel, encoding: Encoding) -> Any:
    """R of every point, (n,) or 0: grad_y k(y, y) = M (R y)."""
    return _radius(kernel, encoding)


@singledispatch
def _metrics(kernel: Kernel) -> frozenset[Any]:
    return NONE


@singledispatch
def _plane(kernel: Kernel, pair: Pair) -> Plane:
    raise CapabilityError(f"{kernel} has no gradient in its argument.")  # pragma: no cover - see `differentiable`


@singledispatch
def _radius(kernel: Kernel, encoding: Encoding) -> Any:
    return 0.0  # stationary kernels and constants: k(y, y) does not move


@_metrics.register(Gaussian)
@_metrics.register(Exponential)
@_metrics.register(Matern)
@_metrics.register(RationalQuadratic)
def _(kernel: Any) -> frozenset[Any]:
    return frozenset({kernel.length_scale if isinstance(kernel.length_scale, tuple) else "one"})


@_plane.register
def _(kernel: Stationary, pair: Pair) -> Plane:
    s = kernel._distances(pair) * kernel._factor()
    P = kernel._slope(s, pair.block(kernel)) * (-2.0 * kernel._factor())
    return P, -P


@_metrics.register(Linear)
@_metrics.register(Polynomial)
def _(kernel: Any) -> frozenset[Any]:
    return frozenset({"one"})


@_plane.register
def _(kernel: Linear, pair: Pair) -> Plane:
    return 1.0, 0.0


@_radius.register
def _(kernel: Linear, encoding: Encoding) -> Any:
    return 2.0


@_plane.register
def _(kernel: Polynomial, pair: Pair) -> Plane:
    return kernel.degree * (pair.inner() + kernel.offset) ** (kernel.degree - 1), 0.0


@_radius.register
def _(kernel: Polynomial, encoding: Encoding) -> Any:
    return 2.0 * kernel.degree * (encoding.norms() + kernel.offset) ** (kernel.degree - 1)


@_metrics.register
def _(kernel: Constant) -> frozenset[Any]:
    return frozenset()


@_plane.register
def _(kernel: Constant, pair: Pair) -> Plane:
    return 0.0, 0.0


@_metrics.register(Sum)
@_metrics.register(Product)
@_metrics.register(Scaled)
@_metrics.register(Pointwise)
def _(kernel: Any) -> frozenset[Any]:
    return frozenset().union(*[_metrics(child) for child in kernel.children])


@_plane.register
def _(kernel: Scaled, pair: Pair) -> Plane:
    P, Q = _plane(kernel.inner, pair)
    return kernel.scale * P, kernel.scale * Q


@_radius.register
def _(kernel: Scaled, encoding: Encoding) -> Any:
    return kernel.scale * _radius(kernel.inner, encoding)


@_plane.register
def _(kernel: Sum, pair: Pair) -> Plane:
    planes = [_plane(term, pair.part(i)) for i, term in enumerate(kernel.terms)]
    return sum(P for P, _ in planes), sum(Q for _, Q in planes)


@_radius.register
def _(kernel: Sum, encoding: Encoding) -> Any:
    return sum(_radius(term, part) for term, part in zip(kernel.terms, encoding, strict=True))


@_plane.register
def _(kernel: Product, pair: Pair) -> Plane:
    planes = [_plane(term, pair.part(i)) for i, term in enumerate(kernel.terms)]
    values = [pair.part(i).block(term) for i, term in enumerate(kernel.terms)]
    return _product_rule([P for P, _ in planes], values), _product_rule([Q for _, Q in planes], values)


@_radius.register
def _(kernel: Product, encoding: Encoding) -> Any:
    parts = list(zip(kernel.terms, encoding, strict=True))
    return _product_rule([_radius(term, part) for term, part in parts], [term._diag(part) for term, part in parts])


def _product_rule(slopes: list[Any], values: list[Any]) -> Any:
    return sum(reduce(np.multiply, [v for j, v in enumerate(values) if j != i], s) for i, s in enumerate(slopes))


@_plane.register
def _(kernel: Pointwise, pair: Pair) -> Plane:
    P, Q = _plane(kernel.inner, pair)
    slope = kernel._slope(pair.block(kernel.inner))
    return slope * P, slope * Q


@_radius.register
def _(kernel: Pointwise, encoding: Encoding) -> Any:
    return kernel._slope(kernel.inner._diag(encoding)) * _radius(kernel.inner, encoding)
