"""Clusters, projections and thinning: numbers behind the claims.

    python -m benchmarks.structure million     # k-means of 1,000,000 rows in chunks: memory beside 100,000 rows
    python -m benchmarks.structure starts      # inertia of the default fit beside 20 random starts, and the time of both
    python -m benchmarks.structure clusters    # adjusted Rand index on strings and graphs, beside spectral clustering
    python -m benchmarks.structure correlations  # held-out correlation: chosen alpha beside fixed ones, three sets
    python -m benchmarks.structure thinning    # distance of means over n for four distributions, beside random rows; seconds
    python -m benchmarks.structure coreset     # ridge on 2,000 of 100,000 rows: thinned beside random ones
    python -m benchmarks.structure race        # kernel CCA and k-means beside kernlab (R) and the formulas in NumPy

Each part ends with one line and exit code 1 if a bound is missed. Seeds are fixed.
"""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer import Gaussian, GramOperator, KernelCCA, KernelKMeans, KernelRidge, Spectrum, WeightedDegree, WeisfeilerLehman

SCRIPT = Path(__file__).with_name("kernlab.R")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ROWS, CHUNK, CENTERS, WIDTH = 1_000_000, 50_000, 5, 10


def million() -> int:
    """Fit k-means to chunks in new processes and compare their peaks of memory."""
    found = []
    for n in (ROWS // 10, ROWS):
        command = [sys.executable, "-m", "benchmarks.structure", f"rows-{n}"]
        seconds, peak, score = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        print(f"{n:,} rows: {seconds:.1f} s, peak {peak:.0f} MB, adjusted Rand index {score:.4f}", flush=True)
        found.append((peak, score))
    more = found[1][0] - found[0][0]
    held = 24 * (ROWS - ROWS // 10) / 2**20  # labels, weights and distances of rows
    return _verdict(more < 100 + held and min(score for _, score in found) > 0.99, f"ten times the rows add {more:.0f} MB")


def _chunks(n: int) -> Callable[[], Iterator[Any]]:
    def parts() -> Iterator[Any]:
        for start in range(0, n, CHUNK):
            rng = np.random.default_rng(start)
            yield _centers()[rng.integers(CENTERS, size=CHUNK)] + rng.normal(size=(CHUNK, WIDTH))

    return parts


def _centers() -> Any:
    return 4.0 * np.random.default_rng(1).normal(size=(CENTERS, WIDTH))


def rows(n: int) -> int:
    """Fit n rows in chunks; print seconds, the peak of memory in MB, and the agreement with the truth."""
    start = time.perf_counter()
    model = KernelKMeans(Gaussian(10.0), CENTERS, n_init=3).fit(mercer.chunks(_chunks(n)))
    seconds = time.perf_counter() - start
    truth = np.concatenate([np.random.default_rng(s).integers(CENTERS, size=CHUNK) for s in range(0, n, CHUNK)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, peak, adjusted_rand_score(truth[:100_000], model.labels_[:100_000]))
    return 0


def starts() -> int:
    """Compare the default fit with the best of 20 random starts on Gram matrices of real and drawn rows."""
    from mercer.estimators.clusters.lloyd import lloyd

    rng = np.random.default_rng(0)
    letters = np.load(DATA / "cls_letter.npz")["X"][:2000].astype(np.float64)
    blobs = np.concatenate([rng.normal(size=(60, 5)) + 5.0 * rng.normal(size=5) for _ in range(25)])
    sets = {"digits": (load_digits().data, 10), "letters": (letters, 26), "blobs": (blobs, 25)}
    good = True
    for name, (X, k) in sets.items():
        kernel = Gaussian("median").resolve(X)
        K, ones = np.asarray(kernel(X)), np.ones(len(X))
        ours, seconds = _timed(lambda X=X, k=k, kernel=kernel: KernelKMeans(kernel, k).fit(X).inertia_)
        seeds = [rng.choice(len(X), k, replace=False) for _ in range(20)]
        runs, spent = _timed(lambda K=K, ones=ones, seeds=seeds: [lloyd(K, ones, s, 300, 1e-6).inertia for s in seeds])
        print(f"{name}: {ours:.4f} in {seconds:.2f} s; best of 20 random {min(runs):.4f} in {spent:.2f} s", flush=True)
        good &= ours <= min(runs) * (1 + 1e-9) and seconds <= 1.1 * spent
    return _verdict(good, "the default fit has no larger inertia than 20 random starts, in no more time")


def clusters() -> int:
    """Adjusted Rand index of kernel k-means, its spectral form and scikit-learn's spectral clustering, on the same Gram."""
    sets: dict[str, tuple[Any, Any, Any]] = {
        "splice": (*_strings("splice", 900), WeightedDegree(4).normalized()),
        "sms": (*_strings("sms_spam", 800), Spectrum(3).normalized()),
        "MUTAG": (*_graphs("MUTAG"), WeisfeilerLehman(2).normalized()),
        "PROTEINS": (*_graphs("PROTEINS"), WeisfeilerLehman(2).normalized()),
    }
    good = True
    for name, (X, y, kernel) in sets.items():
        k, K = len(set(y)), np.asarray(kernel(X))
        theirs = adjusted_rand_score(y, SpectralClustering(k, affinity="precomputed", random_state=0).fit(K).labels_)
        plain, spectral = (adjusted_rand_score(y, KernelKMeans(kernel, k, spectral=s).fit(X).labels_) for s in (False, True))
        print(f"{name}: k-means {plain:.3f}, spectral {spectral:.3f}; scikit-learn's spectral {theirs:.3f}", flush=True)
        good &= max(plain, spectral) >= theirs - 0.01
    return _verdict(good, "clusters agree with the classes as well as those of spectral clustering")


def _strings(name: str, n: int) -> tuple[Any, Any]:
    """Return n random strings of a set, equally many of each class if there are two, and their classes."""
    read = json.loads(gzip.decompress((DATA / f"str_{name}.json.gz").read_bytes()))
    labels, rng = np.array(read["labels"]), np.random.default_rng(0)
    if labels.max() == 1:
        places = np.concatenate([rng.permutation(np.flatnonzero(labels == c))[: n // 2] for c in (0, 1)])
    else:
        places = rng.permutation(len(labels))[:n]
    return [read["strings"][i] for i in places], labels[places].tolist()


def _graphs(name: str) -> tuple[Any, Any]:
    read = json.loads(gzip.decompress((DATA / f"graph_{name}.json.gz").read_bytes()))
    parts = zip(read["n_nodes"], read["edges"], read["node_labels"], strict=True)
    return [mercer.Graph(n, edges, node_labels=labels) for n, edges, labels in parts], read["graph_labels"]


def correlations() -> int:
    """Held-out correlation of the chosen penalty beside fixed ones."""
    digits, cancer = load_digits().images, load_breast_cancer().data
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    rng = np.random.default_rng(0)
    t = rng.uniform(-2.0, 2.0, size=(600, 2))
    noise = rng.normal(size=(4, 600, 2))
    sets = {
        "halves of digits": [digits[:, :, :4].reshape(-1, 32), digits[:, :, 4:].reshape(-1, 32)],
        "means and worst": [cancer[:, :10], cancer[:, 20:]],
        "curves": [np.c_[t + 0.3 * noise[0], noise[1]], np.c_[np.sin(2.0 * t) + 0.3 * noise[2], noise[3]]],
    }
    fixed = (1e-5, 1e-3, 1e-1, 1.0)
    table = []
    for name, views in sets.items():
        order = np.random.default_rng(1).permutation(len(views[0]))[:900]
        half = len(order) // 2
        train, test = [v[order[:half]] for v in views], [v[order[half:]] for v in views]
        models = [KernelCCA(Gaussian("median"), 2, alpha=a).fit(train) for a in ("auto", *fixed)]
        table.append([model.score(test) for model in models])
        others = ", ".join(f"{a:g}: {s:.3f}" for a, s in zip(fixed, table[-1][1:], strict=True))
        print(f"{name}: chosen {models[0].alpha_:.2g}: {table[-1][0]:.3f}; {others}", flush=True)
    means, each = np.mean(table, axis=0), all(row[0] >= max(row[1:]) - 1e-9 for row in table)  # ties: the same penalty
    return _verdict(
        bool(each and means[0] > means[1:].max()), f"mean {means[0]:.3f} chosen, {means[1:].max():.3f} best fixed"
    )


def _ring(rng: np.random.Generator, n: int) -> Any:
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return 3.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(n, 2))


#: Distributions with light tails, for which the rate is n^(-1/2) up to logarithms, and one with heavy tails.
DRAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "mixture": lambda rng, n: rng.normal(size=(n, 2)) + 5.0 * rng.integers(0, 2, size=(n, 2)),
    "uniform": lambda rng, n: rng.uniform(-2.0, 2.0, size=(n, 4)),
    "ring": _ring,
    "heavy tails": lambda rng, n: rng.standard_t(3, size=(n, 2)),
}
SIZES, REPEATS, SLOPE = (256, 1024, 4096, 16384), 5, -0.44


def thinning() -> int:
    """Distances of means of sqrt(n) rows over n, their slopes on a logarithmic scale, and seconds."""
    kernel, good = Gaussian(1.5), True
    for name, draw in DRAWS.items():
        ours, random = distances_over_n(kernel, draw)
        slopes = [float(np.polyfit(np.log(SIZES), np.log(values), 1)[0]) for values in (ours, random)]
        pairs = ", ".join(f"{n}: {a:.5f} / {b:.5f}" for n, a, b in zip(SIZES, ours, random, strict=True))
        print(f"{name}: thinned / random {pairs}; slopes {slopes[0]:.2f}, {slopes[1]:.2f}", flush=True)
        good &= all(a < b for a, b in zip(ours, random, strict=True))
        good &= slopes[0] <= (slopes[1] - 0.1 if name == "heavy tails" else SLOPE)
    sizes = (2**14, 2**16, 2**18)
    spent = [_timed(lambda n=n: mercer.thin(np.random.default_rng(0).normal(size=(n, 2)), int(np.sqrt(n)), kernel))[1]
             for n in sizes]  # fmt: skip
    growth = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
    print("seconds at 16,384, 65,536 and 262,144 rows: " + ", ".join(f"{s:.2f}" for s in spent))
    return _verdict(good and growth < 1.3, f"slopes <= {SLOPE} for four distributions (random -0.25); time n^{growth:.2f}")


def distances_over_n(kernel: Any, draw: Any) -> tuple[list[float], list[float]]:
    """Return mean distances of sqrt(n) thinned and of sqrt(n) random rows from all, for every n."""
    ours, random = [], []
    for n in SIZES:
        here, there, m = [], [], int(np.sqrt(n))
        for seed in range(REPEATS):
            X = draw(np.random.default_rng([n, seed]), n)
            means = np.asarray(GramOperator(kernel, X) @ np.full(n, 1.0 / n))
            here.append(_distance(kernel, X, means, mercer.thin(X, m, kernel, random_state=seed)))
            picks = [np.random.default_rng(s).choice(n, m, replace=False) for s in range(REPEATS)]
            there += [_distance(kernel, X, means, places) for places in picks]
        ours.append(float(np.mean(here)))
        random.append(float(np.mean(there)))
    return ours, random


def _distance(kernel: Any, X: Any, means: Any, places: Any) -> float:
    inner = float(np.mean(np.asarray(kernel(X[places]))))
    return float(np.sqrt(max(inner - 2.0 * float(means[places].mean()) + float(means.mean()), 0.0)))


def coreset() -> int:
    """Ridge regression of elevation in covtype on 2,000 of 100,000 rows."""
    table = np.load(DATA / "cls_covtype.npz")["X"].astype(np.float64)
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        picked = table[rng.choice(len(table), 110_000, replace=False)]
        X, y = picked[:, 1:], (picked[:, 0] - picked[:, 0].mean()) / picked[:, 0].std()
        spread = X.std(axis=0)
        X = X / np.where(spread > 0, spread, 1.0) * np.r_[np.ones(9), np.full(44, 0.3)]
        train, test = slice(0, 100_000), slice(100_000, None)
        kernel = Gaussian("median").resolve(X[train])
        chosen = {"thinned": mercer.thin(X[train], 2000, kernel), "random": rng.choice(100_000, 2000, replace=False)}
        found = {}
        for name, places in chosen.items():
            model = KernelRidge(kernel, alpha=0.1, fit_intercept=True).fit(X[places], y[places])
            found[name] = float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
        print(f"seed {seed}: RMSE {found['thinned']:.4f} thinned, {found['random']:.4f} random", flush=True)
        errors.append(list(found.values()))
    thinned, random = np.mean(errors, axis=0)
    return _verdict(bool(thinned < random), f"RMSE {thinned:.4f} thinned, {random:.4f} random")


def race() -> int:
    """Beside kernlab for R if Rscript finds it, and beside the formulas of the textbook in NumPy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    Y = np.sin(X[:, :3]) + 0.3 * rng.normal(size=(700, 3))
    kernel = Gaussian(3.0)
    KernelCCA(kernel, 2, alpha=0.1).fit([X[:50], Y[:50]])
    ours = min(_timed(lambda: KernelCCA(kernel, 2, alpha=0.1).fit([X, Y]))[1] for _ in range(3))
    theirs = _timed(lambda: plain_cca(np.asarray(kernel(X)), np.asarray(kernel(Y)), 0.1))[1]
    digits = load_digits().data
    wide = Gaussian("median").resolve(digits)
    KernelKMeans(wide, 10, n_init=1).fit(digits[:100])
    seeds = rng.choice(len(digits), 10, replace=False)
    fast = min(_timed(lambda: KernelKMeans(wide, 10, init=seeds, tol=0.0).fit(digits))[1] for _ in range(3))
    slow = _timed(lambda: plain_k_means(np.asarray(wide(digits)), seeds))[1]
    print(f"kernel CCA, 700 rows: {ours:.3f} s; k-means, 1,797 rows: {fast:.3f} s")
    times = {"plain NumPy": (theirs / ours, slow / fast)}
    found = kernlab(X, Y, kernel, digits, wide)
    if found is not None:
        inertia = KernelKMeans(wide, 10, init=seeds, tol=0.0).fit(digits).inertia_
        times["kernlab"] = (found[0] / ours, found[1] / fast)
        print(
            f"kernlab with {found[3]}: kcca {found[0]:.2f} s, kkmeans {found[1]:.2f} s; "
            f"inertia {inertia:.1f}, kernlab {found[2]:.1f}"
        )
    words = "; ".join(f"{name}: CCA {a:.0f}x, k-means {b:.0f}x" for name, (a, b) in times.items())
    return _verdict(min(min(pair) for pair in times.values()) >= 10, words)


def kernlab(X: Any, Y: Any, kernel: Any, digits: Any, wide: Any) -> tuple[float, float, float, str] | None:
    """Return seconds of kernlab's kcca and kkmeans, the inertia of its clusters, and the library of linear algebra.

    None if R or kernlab is missing.
    """
    if shutil.which("Rscript") is None:
        return None
    widths = [1.0 / (2.0 * k.length_scale**2) for k in (kernel, wide)]
    with tempfile.TemporaryDirectory() as folder:
        for name, values in {"x": X, "y": Y, "digits": digits, "numbers": [[*widths, 0.1]]}.items():
            np.savetxt(Path(folder) / f"{name}.csv", values, delimiter=",")
        done = subprocess.run(["Rscript", str(SCRIPT), folder], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"kernlab was not run: {done.stderr.strip()[-200:]}")
            return None
        *seconds, library = done.stdout.split()
        first, _, second = map(float, seconds)
        labels = np.loadtxt(Path(folder) / "labels.csv", dtype=int) - 1
    K = np.asarray(wide(digits))
    members = np.eye(labels.max() + 1)[labels]
    inertia = np.trace(K) - float(np.sum(np.diagonal(members.T @ K @ members) / members.sum(axis=0)))
    return first, second, inertia, library


def plain_cca(K: Any, L: Any, alpha: float) -> Any:
    """Kernel CCA as one generalized problem of all coefficients, by a general solver."""
    n = len(K)
    H = np.eye(n) - 1.0 / n
    K, L = H @ K @ H, H @ L @ H
    A = np.block([[np.zeros((n, n)), K @ L], [L @ K, np.zeros((n, n))]])
    ridge = [M @ M + alpha * np.trace(M) * M + 1e-8 * np.eye(n) for M in (K, L)]
    return la.eig(A, la.block_diag(*ridge))


def plain_k_means(K: Any, seeds: Any) -> Any:
    """Kernel k-means with a loop over rows and clusters."""
    labels = np.array([int(np.argmin([K[s, s] - 2 * K[i, s] for s in seeds])) for i in range(len(K))])
    while True:
        new = labels.copy()
        own = [np.flatnonzero(labels == c) for c in range(len(seeds))]
        inner = [K[np.ix_(rows, rows)].mean() for rows in own]
        for i in range(len(K)):
            new[i] = int(np.argmin([inner[c] - 2.0 * K[i, own[c]].mean() for c in range(len(seeds))]))
        if np.array_equal(new, labels):
            return labels
        labels = new


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def _verdict(good: bool, words: str) -> int:
    print(f"{'PASS' if good else 'FAIL'}: {words}")
    return int(not good)


PARTS = {part.__name__: part for part in (million, starts, clusters, correlations, thinning, coreset, race)}


def main(names: list[str]) -> int:
    """Run one part."""
    if len(names) == 1 and names[0].startswith("rows-"):
        return rows(int(names[0].removeprefix("rows-")))
    if len(names) != 1 or names[0] not in PARTS:
        print(__doc__)
        return 2
    return PARTS[names[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
