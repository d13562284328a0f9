"""JavaScript: a fitted model as one file without dependencies, for browsers, Node.js and other engines."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.errors import CapabilityError
from mercer.export.formula import Symbol, in_order, of_two
from mercer.export.scorers import Scorer, scorer

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

#: The part of the file that is the same for all models.
BODY = """\
function values(x) {
  if (!Array.isArray(x) && !ArrayBuffer.isView(x)) throw new TypeError("x must be an array of " + WIDTH + " numbers");
  if (x.length !== WIDTH) throw new RangeError("x has " + x.length + " entries; the model has " + WIDTH + " columns");
  for (const a of x) if (!Number.isFinite(a)) throw new RangeError("x holds " + a + "; every entry must be a finite number");
  const y = CENTER === null ? x : Array.from(x, (a, j) => (a - CENTER[j]) / SPREAD[j]);
  const total = INTERCEPT.slice();
  for (let i = 0; i < ROWS.length; i++) {
    const k = kernel(y, ROWS[i]);
    for (let t = 0; t < total.length; t++) total[t] += COEF[i][t] * k;
  }
  return total;
}
function argmax(list) {
  let best = 0;
  for (let i = 1; i < list.length; i++) if (list[i] > list[best]) best = i;
  return best;
}
function votes(f) {
  const won = CLASSES.map(() => 0), sure = CLASSES.map(() => 0);
  for (let i = 0, p = 0; i < CLASSES.length; i++) for (let j = i + 1; j < CLASSES.length; j++, p++) {
    won[f[p] >= 0 ? i : j] += 1; sure[i] += f[p]; sure[j] -= f[p];
  }
  return BREAK_TIES ? won.map((w, c) => w + sure[c] / (3 * (Math.abs(sure[c]) + 1))) : won;
}
function probabilities(f) {
  if (PROBABILITY === "softmax") {
    const top = Math.max(...f), e = f.map((v) => Math.exp(TEMPERATURE * (v - top))), sum = e.reduce((a, b) => a + b, 0);
    return e.map((v) => v / sum);
  }
  const g = SLOPES === null ? TEMPERATURE * f[0] : f[0] * (f[0] < 0 ? SLOPES[0] : SLOPES[1]);
  return [1 / (1 + Math.exp(g)), 1 / (1 + Math.exp(-g))];
}
/** Score one row, an array of numbers. */
function predict(x) {
  const f = values(x);
  if (KIND === "components") return { components: f };
  if (KIND === "numbers") return { prediction: f.length === 1 ? f[0] : f };
  if (KIND === "novelty") return { label: f[0] < 0 ? -1 : 1, decision: f[0] };
  const best = KIND === "votes" ? argmax(votes(f)) : f.length === 1 ? (f[0] > 0 ? 1 : 0) : argmax(f);
  const found = { label: CLASSES[best], decision: f.length === 1 ? f[0] : f };
  if (PROBABILITY) found.probabilities = probabilities(f);
  return found;
}
if (typeof module !== "undefined" && module.exports) module.exports = { predict };
else if (typeof globalThis !== "undefined") globalThis.mercerModel = { predict };
"""


def to_javascript(model: Any) -> str:
    """Return a fitted model as the text of a JavaScript file without dependencies, with one function, `predict(row)`.

    It returns an object with `prediction` for numbers, `label`, `decision` and, where the model has them in closed form,
    `probabilities` for classes, `components` for KernelPCA; the mean of a Gaussian process. `require("./model.js").predict`
    in Node.js, `mercerModel.predict` after a script tag in a page. The model has to be on vectors.

    >>> import numpy as np, mercer
    >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
    >>> text = mercer.to_javascript(mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.1).fit(X, np.sin(X[:, 0])))
    >>> text.splitlines()[1]
    '// Gaussian(length_scale=1.0)'
    """
    found = scorer(model)
    if found.kind == "process":
        found = _mean_only(found)
    return "\n".join(
        [f"// {found.name}, exported by mercer", f"// {found.kernel}", '"use strict";', _data(found), _kernel(found), BODY]
    )


def _mean_only(found: Scorer) -> Scorer:
    """The mean of a Gaussian process as an expansion."""
    forms = found.forms
    assert forms is not None
    t = forms.n_targets
    if len(forms.beta) > 1:
        raise CapabilityError('GaussianProcessRegressor(mean="linear") cannot be exported to JavaScript; use ONNX.')
    coef, intercept = forms.solved[:, :t], np.zeros(t)
    if len(forms.beta):
        coef, intercept = coef - forms.solved[:, t:] @ forms.beta, forms.beta[0]
    return replace(found, kind="numbers", coef=coef * forms.scale, intercept=intercept * forms.scale + forms.center)


def _data(found: Scorer) -> str:
    classes = None if found.classes is None else np.asarray(found.classes).tolist()
    constants = {
        "KIND": found.kind, "WIDTH": found.width, "ROWS": found.rows.tolist(), "COEF": found.coef.tolist(),
        "INTERCEPT": found.intercept.tolist(), "CLASSES": classes, "PROBABILITY": found.probability,
        "SLOPES": None if found.slopes is None else found.slopes.tolist(), "TEMPERATURE": found.temperature,
        "BREAK_TIES": found.break_ties, "CENTER": None if found.center is None else found.center.tolist(),
        "SPREAD": None if found.spread is None else found.spread.tolist(),
    }  # fmt: skip
    return "\n".join(f"const {name} = {json.dumps(value)};" for name, value in constants.items())


def _kernel(found: Scorer) -> str:
    """The kernel as a function of two arrays, one line per operation."""
    names: dict[int, str] = {}
    lines: list[str] = []
    last = of_two(found.kernel, found.width)
    for symbol in in_order(last):
        name = _leaf(symbol)
        if name is None:
            parts = [names[id(arg)] for arg in symbol.args]
            text = f" {INFIX[symbol.op]} ".join(parts) if symbol.op in INFIX else f"Math.{symbol.op}({', '.join(parts)})"
            if symbol.op == "div" and symbol.args[1].op != "const":  # a norm, which may be 0: so is the value then
                text = f"{parts[1]} === 0 ? 0 : {text}"
            name = f"t{len(lines)}"
            lines.append(f"  const {name} = {text};")
        names[id(symbol)] = name
    return "\n".join(["function kernel(x, z) {", *lines, f"  return {names[id(last)]};", "}"])


def _leaf(symbol: Symbol) -> str | None:
    if symbol.op == "const":
        return f"({float(symbol.value)!r})"
    return f"{symbol.op}[{symbol.index}]" if symbol.op in ("x", "z") else None
