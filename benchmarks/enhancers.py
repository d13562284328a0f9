"""`python -m benchmarks.enhancers`: accuracy on the independent test of DNA enhancers, beside published methods.

2,968 strings of 200 letters to learn from and 400 to test, with the published division. Kernels and penalties are chosen by
leave-one-out errors of kernel ridge on 1,500 of the training strings: all kernels whose squared error is within one standard
error of the smallest. Their ridges are then fitted to all training strings and their predictions averaged; the test strings
are read once. The list of kernels, lengths and widths were found on the same training strings.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

import mercer
from mercer import GappedSpectrum, Spectrum

DATA = Path(__file__).parents[2] / "shared" / "data"
OUT = Path(__file__).parent / "quality" / "enhancers.json"

ALPHAS = (0.1, 0.3, 1.0, 3.0)
CHOSEN_ON = 1500

#: The accuracy that the claim asks for, in percent.
ASKED = 79.0

#: Accuracies on the independent test, in percent, as the publications state them.
PUBLISHED = {"2L": 73.0, "EL": 74.8, "ECNN": 76.9, "RD": 78.8, "5Step": 79.0, "DCSA": 82.5}


def kernels() -> dict[str, mercer.Kernel]:
    """Substrings on both strands: plain, with gaps, as Gaussian kernels on their counts (exp(4 k)), and sums."""
    few = (4.0 * GappedSpectrum(3, gaps=2, reverse_complement=True).normalized()).exp().normalized()
    more = (4.0 * GappedSpectrum(4, gaps=2, reverse_complement=True).normalized()).exp().normalized()
    long = GappedSpectrum(6, gaps=4, reverse_complement=True).normalized()
    return {
        "substrings of 4": Spectrum(4, reverse_complement=True).normalized(),
        "substrings of 5": Spectrum(5, reverse_complement=True).normalized(),
        "3 letters of 5, Gaussian": few,
        "4 letters of 6, Gaussian": more,
        "6 letters of 10": long,
        "3 of 5, Gaussian, and 6 of 10": 0.5 * few + 0.5 * long,
        "3 of 5 and 4 of 6, Gaussian": 0.5 * few + 0.5 * more,
    }


def main() -> None:
    """Choose, fit, test and print."""
    with gzip.open(DATA / "str_enhancers.json.gz") as file:
        found = json.load(file)
    known, asked = found["enhancer.cv"] + found["non.cv"], found["enhancer.ind"] + found["non.ind"]
    y = np.repeat([1.0, -1.0], [len(found["enhancer.cv"]), len(found["non.cv"])])
    truth = np.repeat([1.0, -1.0], [len(found["enhancer.ind"]), len(found["non.ind"])])
    part = np.random.default_rng(0).permutation(len(y))[:CHOSEN_ON]
    errors, spreads, alphas = {}, {}, {}
    for name, kernel in kernels().items():
        model = mercer.KernelRidgeCV(kernel, alphas=ALPHAS, fit_intercept=True).fit([known[i] for i in part], y[part])
        alphas[name], residuals = model.best_alpha_, model.loo_residuals_
        errors[name] = float(np.mean(residuals**2))
        spreads[name] = float(np.std(residuals**2)) / len(residuals) ** 0.5
        right = float(np.mean(np.sign(y[part] - residuals) == y[part]))
        print(f"{name:30s} leave-one-out: squared error {errors[name]:.4f}, accuracy {100 * right:.1f} %", flush=True)
    best = min(errors, key=errors.__getitem__)
    chosen = [name for name, error in errors.items() if error <= errors[best] + spreads[best]]
    final = [mercer.KernelRidge(kernels()[name], alpha=alphas[name], fit_intercept=True).fit(known, y) for name in chosen]
    predictions = np.mean([model.predict(asked) for model in final], axis=0)
    accuracy = 100.0 * float(np.mean(np.sign(predictions) == truth))
    listed = ", ".join(f"{name} {value}" for name, value in PUBLISHED.items())
    verdict = "met" if accuracy >= ASKED else "NOT REACHED"
    print(f"enhancers: {accuracy:.2f} % of {len(truth)} test strings by the mean of {', '.join(map(repr, chosen))} "
          f"(published: {listed}); {ASKED:.1f} % asked for: {verdict}")  # fmt: skip
    OUT.write_text(json.dumps({"errors": errors, "chosen": chosen, "accuracy": accuracy}, indent=1) + "\n")


if __name__ == "__main__":
    main()
