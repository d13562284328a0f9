"""100,000 peptides: time and memory of predict, beside CountVectorizer + LinearSVC."""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import mercer

LETTERS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
TRAINED, ASKED = 3000, 100_000


def peptides(n: int, seed: int) -> list[str]:
    """Random peptides of 8 to 30 letters."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(LETTERS, rng.integers(8, 31))) for _ in range(n)]


def main(rivals: bool) -> None:
    """Print one line for each model."""
    X, new = peptides(TRAINED, 0), peptides(ASKED, 1)
    y = np.array([text.count("K") + text.count("R") > text.count("D") + text.count("E") for text in X])
    models = {
        "SVC, Spectrum(3)": mercer.SVC(mercer.Spectrum(3).normalized()),
        "SVC, GappedSpectrum(3, gaps=1)": mercer.SVC(mercer.GappedSpectrum(3, gaps=1).normalized()),
        "KernelRidge, Spectrum(3)": mercer.KernelRidge(mercer.Spectrum(3).normalized()),
    }
    if rivals:
        counts = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)
        models["CountVectorizer + LinearSVC"] = make_pipeline(counts, LinearSVC())
    for name, model in models.items():
        model.fit(X, y.astype(float) if "Ridge" in name else y)
        model.predict(new[:2000])  # compiled loops are loaded
        start = time.perf_counter()
        model.predict(new)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(f"{name}: {ASKED:,} peptides predicted in {seconds:.2f} s; peak of the process {peak:.0f} MB")


if __name__ == "__main__":
    main("--alone" not in sys.argv)
