"""Kernels on strings: Gram matrices on real DNA against every peer that has them, gapped k-mers, many strings at once."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.agreement import relative
from benchmarks.row import Claim, Peer, Row

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
Strings = list[str]
Array = NDArray[Any]


def strings(name: str, n: int | None = None, letters: str | None = None) -> Strings:
    """The strings of a set in their order, at most n; with `letters`, only those made of these alone."""
    with gzip.open(DATA / f"str_{name}.json.gz") as file:
        found: Strings = json.load(file)["strings"]
    if letters is not None:
        found = [string for string in found if set(string) <= set(letters)]
    return found[:n]


# -- the spectrum kernel against scikit-learn's counts ------------------------------------------------------------------


def counted(found: Strings, p: int) -> Any:  # -> (n, substrings) CSR
    """Counts of substrings by scikit-learn."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer="char", ngram_range=(p, p), lowercase=False, dtype=np.float64)
    return counter.fit_transform(found)


def sparse_product(found: Strings, p: int) -> Array:
    """The Gram matrix by one sparse product."""
    Z = counted(found, p)
    return (Z @ Z.T).toarray()


def dense_product(found: Strings, p: int) -> Array:
    """The Gram matrix by one dense product on all cores: faster than the sparse one where substrings are few."""
    Z = counted(found, p).toarray()
    return Z @ Z.T


def spectrum(name: str, p: int = 6, n: int | None = None) -> Row:
    """The Gram matrix of a whole set, from strings to numbers."""

    def ours(found: Strings) -> Array:
        import mercer

        return mercer.Spectrum(p)(found)

    modules = ("sklearn.feature_extraction.text",)
    return Row(
        name=f"spectrum-{name.replace('_', '-')}-p{p}",
        title=f"Spectrum({p}) on {name}, the Gram matrix from strings, against CountVectorizer and a product",
        data=partial(strings, name, n),
        mercer=ours,
        peers=(
            Peer(name="sparse product", run=partial(sparse_product, p=p), modules=modules, package="scikit-learn"),
            Peer(name="dense product", run=partial(dense_product, p=p), modules=modules, package="scikit-learn"),
        ),
        claims=(Claim(measure="ratio", at_least=3.0, peer="sparse product"),),
        agreement=relative,
        tolerance=0.0,  # sums of whole numbers: no rounding
        repeats=5,
    )


# -- against the string-kernel packages ---------------------------------------------------------------------------------


def strkernels(p: int = 3, n: int | None = None) -> Row:
    """The whole splice set against strkernels, which takes about a minute."""

    def ours(found: Strings) -> Array:
        import mercer

        # all lengths 1 … p: what strkernels calls the spectrum kernel of order p
        return mercer.Spectrum(p, shortest=1).normalized()(found)

    def theirs(found: Strings) -> Array:
        from strkernels import SpectrumStringKernel

        array = np.array(found)
        return SpectrumStringKernel(order=p)(array, array)

    return Row(
        name=f"strkernels-spectrum-splice-p{p}",
        title=f"splice strings of A, C, G, T: substrings of lengths 1 … {p}, normalized, against strkernels (C)",
        # strkernels ignores substrings with other letters without a warning: both get strings without such letters
        data=partial(strings, "splice", n, "ACGT"),
        mercer=ours,
        peers=(Peer(name="strkernels", run=theirs, modules=("strkernels",), package="strkernels"),),
        claims=(Claim(measure="ratio", at_least=100.0),),
        agreement=relative,
        tolerance=1e-12,
        repeats=1,
        memory=False,
        long=True,
    )


def strkernel(p: int = 6, n: int | None = 500) -> Row:
    """Counts by the package strkernel, in Python, and a product."""

    def ours(found: Strings) -> Array:
        import mercer

        return mercer.Spectrum(p)(found)

    def theirs(found: Strings) -> Array:
        from strkernel.gappy_kernel import gappypair_kernel

        Z = gappypair_kernel(found, p)  # without gaps: counts of substrings of length p
        return (Z @ Z.T).toarray()

    return Row(
        name=f"strkernel-spectrum-splice-p{p}",
        title=f"Spectrum({p}) on {n or 'all'} splice strings of A, C, G, T, against strkernel (Python)",
        data=partial(strings, "splice", n, "ACGT"),
        mercer=ours,
        peers=(Peer(name="strkernel", run=theirs, modules=("strkernel.gappy_kernel",), package="strkernel"),),
        agreement=relative,
        tolerance=0.0,
        repeats=3,
    )


def subsequence(p: int = 3, n: int = 300, decay: float = 0.5) -> Row:
    """Gap-weighted subsequences of lengths 1 … p, as strkernels adds them up."""

    def ours(found: Strings) -> Array:
        import mercer

        terms = [mercer.Subsequence(q, decay=decay) for q in range(1, p + 1)]
        return sum(terms[1:], start=terms[0])(found)

    def theirs(found: Strings) -> Array:
        from strkernels import SubsequenceStringKernel

        array = np.array(found)
        return SubsequenceStringKernel(normalizer=None, maxlen=p, ssk_lambda=decay)(array, array)

    return Row(
        name=f"strkernels-subsequence-splice-p{p}",
        title=f"subsequences of lengths 1 … {p}, decay {decay:g}, on {n} splice strings, against strkernels (C)",
        data=partial(strings, "splice", n),
        mercer=ours,
        peers=(Peer(name="strkernels", run=theirs, modules=("strkernels",), package="strkernels"),),
        agreement=relative,
        tolerance=1e-12,
        repeats=3,
    )


def weighted_degree(p: int = 5, n: int | None = 1000) -> Row:
    """Substrings at equal places, normalized: factors of the weights do not matter."""

    def ours(found: Strings) -> Array:
        import mercer

        return mercer.WeightedDegree(p).normalized()(found)

    def theirs(found: Strings) -> Array:
        from strkernels import WeightedDegreeStringKernel

        array = np.array(found)
        return WeightedDegreeStringKernel(degree=p)(array, array)

    return Row(
        name=f"strkernels-weighted-degree-splice-p{p}",
        title=f"WeightedDegree({p}), normalized, on {n or 'all'} splice strings, against strkernels (C)",
        data=partial(strings, "splice", n),
        mercer=ours,
        peers=(Peer(name="strkernels", run=theirs, modules=("strkernels",), package="strkernels"),),
        agreement=relative,
        tolerance=1e-12,
        repeats=3,
    )


# -- gapped k-mers ------------------------------------------------------------------------------------------------------


def gapped(g: int, k: int = 6, n: int | None = None, long: bool = True) -> Row:
    """The exact gapped k-mer kernel; a few strings by the slow definition beside it, for agreement."""

    def ours(found: Strings) -> Array:
        import mercer

        return mercer.GappedSpectrum(k, gaps=g - k)(found)

    return Row(
        name=f"gapped-ep300-g{g}-k{k}",
        title=f"GappedSpectrum({k}, gaps={g - k}) on tfbs_ep300: windows of {g} letters, all choices of {k}; exact",
        data=partial(strings, "tfbs_ep300", n),
        mercer=ours,
        quality=partial(gapped_errors, g, k),
        claims=(Claim(measure="values that differ", at_most=0.0),),
        agreement=None,
        repeats=1,
        long=long,
    )


def gapped_errors(g: int, k: int, found: Strings, K: Array) -> dict[str, float]:
    """How many of some entries differ from sums over pairs of windows: common letters choose k."""
    from math import comb

    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(found), (30, 2))
    wrong = 0
    for i, j in pairs:
        A, B = (np.lib.stride_tricks.sliding_window_view(_codes(found[row]), g) for row in (i, j))
        same = (A[:, None, :] == B[None, :, :]).sum(axis=2)  # (windows, windows)
        wrong += K[i, j] != sum(comb(matches, k) * int((same == matches).sum()) for matches in range(k, g + 1))
    return {"values that differ": float(wrong), "strings": float(len(found))}


def _codes(string: str) -> Array:
    return np.array([ord(letter) for letter in string])


# -- many strings -------------------------------------------------------------------------------------------------------

MOTIF, LENGTH = "TATAAT", 100


def planted(n: int, seed: int = 0) -> tuple[Strings, Array]:
    """Random DNA of length 100; half of the strings hold TATAAT, one of its letters changed at random."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    codes = letters[rng.integers(0, 4, (n, LENGTH))]
    labels = np.arange(n) % 2
    motif = np.frombuffer(MOTIF.encode(), dtype=np.uint8)
    for row in np.flatnonzero(labels):
        place, changed = rng.integers(0, LENGTH - len(MOTIF)), motif.copy()
        changed[rng.integers(0, len(MOTIF))] = letters[rng.integers(0, 4)]
        codes[row, place : place + len(MOTIF)] = changed
    return [bytes(row).decode() for row in codes], labels


def many(n: int = 100_000, p: int = 5) -> Row:
    """Explicit features of many strings and ridge on them: memory grows with the letters, not with n^2."""
    tested = n // 10

    def ours(data: tuple[Strings, Array]) -> Array:
        import mercer

        found, labels = data
        Z = mercer.Spectrum(p).feature_map(found)
        model = mercer.KernelRidgeClassifier(mercer.Linear(), alpha=10.0, solver="primal", verbose=False)
        return model.fit(Z[tested:], labels[tested:]).predict(Z[:tested])

    def theirs(data: tuple[Strings, Array]) -> Array:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import RidgeClassifier

        found, labels = data
        Z = CountVectorizer(analyzer="char", ngram_range=(p, p), lowercase=False, dtype=np.float64).fit_transform(found)
        model = RidgeClassifier(alpha=10.0, solver="sparse_cg", tol=1e-10)  # to the end, as the primal solver goes
        return model.fit(Z[tested:], labels[tested:]).predict(Z[:tested])

    return Row(
        name=f"strings-n{n}",
        title=f"{n:,} strings of length {LENGTH}: Spectrum({p}) features, ridge on 90 % of them, classes of the rest",
        data=partial(planted, n),
        mercer=ours,
        peers=(
            Peer(
                name="scikit-learn",
                run=theirs,
                modules=("sklearn.linear_model", "sklearn.feature_extraction.text"),
                package="scikit-learn",
            ),
        ),
        claims=(Claim(measure="peak_bytes", at_most=1e9),),  # the Gram matrix would have 80 GB
        agreement=lambda mine, other: float((mine != other).mean()),
        tolerance=1e-3,
        quality=lambda data, found: {"accuracy %": 100.0 * float((found == data[1][:tested]).mean())},
        repeats=1,
        long=True,
    )


ROWS = [
    spectrum("splice"),
    spectrum("tfbs_ep300"),
    strkernel(),
    subsequence(),
    weighted_degree(),
    strkernels(),
    *(gapped(g) for g in (7, 8, 9, 10, 11, 12)),
    many(),
]
