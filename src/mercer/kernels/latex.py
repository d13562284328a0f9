"""Kernels as LaTeX formulas, for notebooks: one rule per class."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from mercer.kernels.algebra import Exp, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.base import POWER, PRODUCT, Kernel
from mercer.kernels.frequencies import Periodic
from mercer.kernels.functions import name_of
from mercer.kernels.operators import node
from mercer.kernels.stationary import Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.vectors import Bilinear, Constant, Linear, Polynomial, Tanh
from mercer.kernels.views import Mapped, On
from mercer.kernels.wrappers import Centered, Normalized, Tanimoto, Weighted

DOT = r"\langle x, z \rangle"


@node
def repr_latex(kernel: Kernel) -> str:
    """k(x, z) = … between dollar signs."""
    return f"$k(x, z) = {latex(kernel)}$"


@node
def repr_html(kernel: Kernel) -> str:
    """The text of a kernel, its formula and its free parameters."""
    rows = "".join(
        f"<tr><td>{html.escape(path)}</td><td>{value:.6g}</td></tr>"
        for path, value in zip(kernel.theta_names, kernel.theta_values, strict=True)
    )
    table = f"<table><tr><th>parameter</th><th>value</th></tr>{rows}</table>" if rows else ""
    formula = html.escape(repr_latex(kernel), quote=False)
    return f"<div><code>{html.escape(repr(kernel))}</code><p>{formula}</p>{table}</div>"


@singledispatch
def latex(kernel: Any) -> str:
    """The formula of a kernel; its name and parameters if no formula is known."""
    fields = [(f.name, getattr(kernel, f.name)) for f in dataclasses.fields(kernel)]
    shown = ", ".join(rf"\mathtt{{{_plain(name)}}}={_value(value)}" for name, value in fields)
    inside = rf"\left[{shown}\right]" if shown else ""
    return rf"\mathrm{{{type(kernel).__name__}}}{inside}(x, z)"


def _plain(text: str) -> str:
    return "".join("\\" + c if c in "_%&#{}$" else rf"\{c}{{}}" if c in "^~" else c for c in text if c != "\\")


def _value(value: Any) -> str:
    return (
        _number(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else rf"\text{{{_plain(str(value))}}}"
    )


def _number(value: float) -> str:
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    digits, power = text.split("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}"


def _inside(kernel: Kernel, at_least: int) -> str:
    text = latex(kernel)
    return text if kernel._precedence >= at_least else rf"\left({text}\right)"


def _scaled_difference(scale: Any, norm: str) -> tuple[str, str]:
    """The distance and the length scale beside it; with one per column the columns are divided first."""
    if isinstance(scale, tuple):
        return norm.replace("x - z", r"L^{-1}(x - z)"), ""
    return norm, r"\ell_\mathrm{median}" if isinstance(scale, str) else _number(scale)


def _where(scale: Any) -> str:
    return rf",\quad L = \mathrm{{diag}}({', '.join(map(_number, scale))})" if isinstance(scale, tuple) else ""


@latex.register
def _(kernel: Linear) -> str:
    return DOT


@latex.register
def _(kernel: Bilinear) -> str:
    B = kernel.B.array
    if len(B) > 4:
        return rf"x^\top B z,\quad B \in \mathbb{{R}}^{{{len(B)} \times {len(B)}}}"
    rows = r" \\ ".join(" & ".join(_number(v) for v in row) for row in B)
    return rf"x^\top \begin{{pmatrix}} {rows} \end{{pmatrix}} z"


@latex.register
def _(kernel: Polynomial) -> str:
    if kernel.offset == 0:
        return rf"{DOT}^{{{kernel.degree}}}"
    return rf"\left({DOT} + {_number(kernel.offset)}\right)^{{{kernel.degree}}}"


@latex.register
def _(kernel: Tanh) -> str:
    return rf"\tanh\left({_number(kernel.scale)} {DOT} + {_number(kernel.offset)}\right)"


@latex.register
def _(kernel: Constant) -> str:
    return _number(kernel.value)


@latex.register
def _(kernel: Gaussian) -> str:
    norm, scale = _scaled_difference(kernel.length_scale, r"\|x - z\|")
    below = rf"2 \cdot {scale}^2" if scale else "2"
    return rf"\exp\left(-\frac{{{norm}^2}}{{{below}}}\right)" + _where(kernel.length_scale)


@latex.register
def _(kernel: Exponential) -> str:
    norm, scale = _scaled_difference(kernel.length_scale, r"\|x - z\|")
    inside = rf"\frac{{{norm}}}{{{scale}}}" if scale else norm
    return rf"\exp\left(-{inside}\right)" + _where(kernel.length_scale)


@latex.register
def _(kernel: Laplacian) -> str:
    norm, scale = _scaled_difference(kernel.length_scale, r"\|x - z\|_1")
    inside = rf"\frac{{{norm}}}{{{scale}}}" if scale else norm
    return rf"\exp\left(-{inside}\right)" + _where(kernel.length_scale)


@latex.register
def _(kernel: Matern) -> str:
    norm, scale = _scaled_difference(kernel.length_scale, r"\|x - z\|")
    nu = _number(kernel.nu)
    r = rf"\sqrt{{2 \cdot {nu}}} \, {norm}" + (rf" / {scale}" if scale else "")
    return rf"\frac{{2^{{1 - {nu}}}}}{{\Gamma({nu})}} r^{{{nu}}} K_{{{nu}}}(r),\quad r = {r}" + _where(kernel.length_scale)


@latex.register
def _(kernel: RationalQuadratic) -> str:
    norm, scale = _scaled_difference(kernel.length_scale, r"\|x - z\|")
    shape = _number(kernel.shape)
    below = rf"2 \cdot {shape}" + (rf" \cdot {scale}^2" if scale else "")
    return rf"\left(1 + \frac{{{norm}^2}}{{{below}}}\right)^{{-{shape}}}" + _where(kernel.length_scale)


@latex.register
def _(kernel: Periodic) -> str:
    scale = kernel.length_scale
    below = (
        r"\ell_k^2"
        if isinstance(scale, tuple)
        else r"\ell_\mathrm{median}^2"
        if isinstance(scale, str)
        else rf"{_number(scale)}^2"
    )
    where = rf",\quad \ell = ({', '.join(map(_number, scale))})" if isinstance(scale, tuple) else ""
    sine = rf"\sin^2\left(\pi (x_k - z_k) / {_number(kernel.period)}\right)"
    return rf"\exp\left(-2 \sum_k \frac{{{sine}}}{{{below}}}\right)" + where


@latex.register
def _(kernel: Sum) -> str:
    return " + ".join(_inside(term, PRODUCT) for term in kernel.terms)


@latex.register
def _(kernel: Product) -> str:
    return r" \cdot ".join(_inside(term, PRODUCT) for term in kernel.terms)


@latex.register
def _(kernel: Scaled) -> str:
    return rf"{_number(kernel.scale)} \, {_inside(kernel.inner, POWER)}"


@latex.register
def _(kernel: Power) -> str:
    return rf"\left({latex(kernel.inner)}\right)^{{{kernel.power}}}"


@latex.register
def _(kernel: PolynomialOf) -> str:
    inner = rf"\left({latex(kernel.inner)}\right)"
    powers: list[Callable[[], str]] = [lambda: "", lambda: rf" \, {inner}"]
    terms = []
    for p, c in enumerate(kernel.coefficients):
        if c > 0:
            terms.append(_number(c) + (powers[p]() if p < 2 else rf" \, {inner}^{{{p}}}"))
    return " + ".join(terms) or "0"


@latex.register
def _(kernel: Exp) -> str:
    return rf"\exp\left({latex(kernel.inner)}\right)"


@latex.register
def _(kernel: Normalized) -> str:
    return rf"\frac{{h(x, z)}}{{\sqrt{{h(x, x) \, h(z, z)}}}},\quad h(x, z) = {latex(kernel.inner)}"


@latex.register
def _(kernel: Tanimoto) -> str:
    return rf"\frac{{h(x, z)}}{{h(x, x) + h(z, z) - h(x, z)}},\quad h(x, z) = {latex(kernel.inner)}"


@latex.register
def _(kernel: Centered) -> str:
    phi = r"\langle \varphi(x) - \bar\varphi, \varphi(z) - \bar\varphi \rangle"
    return rf"{phi},\quad \langle \varphi(x), \varphi(z) \rangle = {latex(kernel.inner)}"


@latex.register
def _(kernel: On) -> str:
    columns = ", ".join(_plain(str(column)) for column in kernel.columns)
    return rf"\left.{latex(kernel.inner)}\right|_{{\text{{columns {columns}}}}}"


@latex.register
def _(kernel: Mapped) -> str:
    name = rf"\mathrm{{{_plain(name_of(kernel.phi))}}}"
    return rf"h({name}(x), {name}(z)),\quad h(x, z) = {latex(kernel.inner)}"


@latex.register
def _(kernel: Weighted) -> str:
    name = rf"\mathrm{{{_plain(name_of(kernel.f))}}}"
    return rf"{name}(x) \, \left({latex(kernel.inner)}\right) \, {name}(z)"
