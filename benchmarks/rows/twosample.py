"""Two-sample tests: against hyppo, against the same idea in plain NumPy, and the aggregated test against its limit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.row import Claim, Peer, Row, Work

PERMUTATIONS = 1000
#: the length scale hyppo finds by its median heuristic on these data is about this; both sides get the same number
SCALE = 2.0


def samples(n: int, d: int, shift: float) -> dict[str, Any]:
    """Two normal samples, the second moved a little: a p-value that is neither 1 nor the smallest there is."""
    rng = np.random.default_rng(n + d)
    return {"X": rng.standard_normal((n, d)), "Y": rng.standard_normal((n, d)) + shift}


def ours(data: dict[str, Any], **options: Any) -> float:
    """The p-value of one Gaussian kernel."""
    import mercer

    kernel = mercer.Gaussian(SCALE)
    return float(mercer.mmd_test(data["X"], data["Y"], kernel, PERMUTATIONS, 0, **options).pvalue)


def hyppo(data: dict[str, Any]) -> float:
    """hyppo's permutation test with the same kernel; its default would be a chi-square approximation."""
    from hyppo.ksample import MMD

    test = MMD(compute_kernel="rbf", gamma=0.5 / SCALE**2)
    return float(test.test(data["X"], data["Y"], reps=PERMUTATIONS, auto=False, random_state=0)[1])


def plain(data: dict[str, Any]) -> float:
    """The honest bar: one Gram matrix, all permutations as one product, in NumPy and nothing else."""
    Z = np.concatenate([data["X"], data["Y"]])
    m, total = len(data["X"]), len(Z)
    n = total - m
    norms = (Z * Z).sum(axis=1)
    K = norms[:, None] + norms[None, :] - 2.0 * (Z @ Z.T)
    K *= -0.5 / SCALE**2
    np.exp(K, out=K)
    np.fill_diagonal(K, 0.0)
    rng = np.random.default_rng(0)
    V = np.zeros((total, PERMUTATIONS + 1))
    V[:m] = 1.0
    V[:, 1:] = rng.permuted(V[:, 1:], axis=0)
    KV = K @ V
    within, across = (V * KV).sum(axis=0), KV.sum(axis=0)
    everything = K.sum()
    other = everything - 2.0 * across + within
    values = within / (m * (m - 1)) + other / (n * (n - 1)) - 2.0 * (across - within) / (m * n)
    return float((values >= values[0] - 1e-12).mean())


def aggregated(data: dict[str, Any], permutations: int) -> Any:
    """Twenty kernels, one level."""
    import mercer

    return mercer.mmd_test(data["X"], data["Y"], n_permutations=permutations, random_state=0)


def pvalue(_: Any, result: Any) -> dict[str, float]:
    """The p-value beside the time."""
    return {"p": float(getattr(result, "pvalue", result))}


def single_work(n: int, d: int, relabeled: int) -> Work:
    """Half of a Gram matrix of 2n rows, and half of an n x n (swaps) or 2n x 2n (permutations) form per relabeling."""
    entries = 2.0 * n * n
    return Work(dtype="float32", flops=entries * 2 * d + relabeled**2 * float(PERMUTATIONS), exps=entries)


def race(resampling: str, peer: Peer, least: float, repeats: int, long: bool) -> Row:
    """One kernel, 500 + 500 rows, d = 5, 1000 relabelings, against one peer: hyppo takes minutes, the other milliseconds."""
    n, d = 500, 5
    return Row(
        name=f"mmd-500-{resampling}-{peer.name.split()[0]}",
        title=f"MMD test, 500 + 500 rows, d = 5, 1000 {resampling}, one Gaussian kernel",
        data=partial(samples, n, d, 0.03),
        mercer=partial(ours, resampling=resampling),
        peers=(peer,),
        claims=(Claim(measure="ratio", at_least=least, peer=peer.name),),
        # Monte Carlo: four standard errors of a difference of two shares of 1000 at p = 0.2
        tolerance=0.07,
        work=single_work(n, d, n if resampling == "swaps" else 2 * n),
        quality=pvalue,
        repeats=repeats,
        long=long,
    )


def collection(n: int, d: int, permutations: int, published: str, long: bool) -> Row:
    """The aggregated default; `published` is a time from the literature to print beside ours."""
    kernels, entries = 20, 2.0 * n * n
    return Row(
        name=f"mmd-aggregated-{n}-d{d}",
        title=f"aggregated test, {n} + {n} rows, d = {d}, 20 kernels, {permutations} swaps; published: {published}",
        data=partial(samples, n, d, 0.02),
        mercer=partial(aggregated, permutations=permutations),
        agreement=None,
        # l2 distances by a product, l1 distances at two slots a column, one exponential per kernel and entry, all swaps
        work=Work(dtype="float32", flops=entries * 6 * d + kernels * float(n) ** 2 * permutations, exps=entries * kernels),
        quality=pvalue,
        repeats=3,
        long=long,
    )


def million() -> dict[str, Any]:
    """A million rows on each side, the first column of the second one per cent wider."""
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((10**6, 10), dtype=np.float32) for _ in range(2))
    Y[:, 0] *= 1.01
    return {"X": X, "Y": Y}


PLAIN = Peer(name="plain NumPy", run=plain, modules=("numpy",), package="numpy")
HYPPO = Peer(name="hyppo", run=hyppo, modules=("hyppo.ksample",), package="hyppo")

ROWS = [
    *(race(resampling, PLAIN, 1.5, repeats=15, long=False) for resampling in ("swaps", "permutations")),
    *(race(resampling, HYPPO, 300.0, repeats=3, long=True) for resampling in ("swaps", "permutations")),
    collection(500, 10, 2000, "MMD-FUSE, 2000 permutations, JAX on CPU 2.95 s", long=False),
    collection(5000, 100, 4000, "MMDAgg with B1 + B2 = 4000, NumPy 43.1 s, JAX on CPU 14.9 s", long=True),
    Row(
        name="mmd-million",
        title="aggregated test, 10^6 + 10^6 rows, d = 10, blocks of rows and random frequencies, 999 relabelings",
        data=million,
        mercer=partial(aggregated, permutations=999),
        agreement=None,
        claims=(Claim(measure="peak_bytes", at_most=2e9),),
        quality=pvalue,
        repeats=1,
        long=True,
    ),
]
