"""Quality of `GaussianProcessRegressor` on real tables: test RMSE, negative log predictive density, 95 % intervals.

    python -m benchmarks.gp_quality                      # every reg_* set; about 40 minutes on two cores, resumable
    python -m benchmarks.gp_quality --sets pol,energy    # some of them
    python -m benchmarks.gp_quality --show               # the table from what is on disk

Protocol: the published 90/10 test folds where a set has them (`test_fold`), else random 90/10 splits by seed; the first k of
the ten, k named in the table: 10 below 2000 rows, 2 for kin40k and protein, 1 for the others. All training rows are used
up to 50,000, and at most 10,000 test rows (this cuts srtm, flights and keggundirected). Columns and target are
standardized on the training rows. The kernel is the one of Gaussian, Matern 3/2 and Exponential, each with a length scale
per column, that has the highest evidence on 500 training rows; the fit on all rows starts there, with tol=0.1, and
everything else is the estimator's default: exact up to 10,000 rows, above that near rows (vecchia) for up to ten columns and
inducing rows otherwise. RMSE is in units of the standard deviation of the target over all rows, and the density is that of
the target in these units. Intervals include the noise. Every fold is saved as it ends, and a second start goes on from
there. The exit code is 1 when kin40k or protein exceed the published RMSE of SGPR.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gp_published import PROTOCOLS, PUBLISHED, sgpr_error
from benchmarks.results import write_whole
from benchmarks.ridge_quality import DATA, QUALITY, load, split, standardized

COVERAGE, BOUNDS = 0.95, (0.92, 0.98)
#: Rows on which kernels are compared, and training and test rows at most.
COMPARED, CUT, TESTED = 500, 50_000, 10_000
#: The lower bound of the noise, as a share of the variance of the target.
LEAST_NOISE = 1.001e-8
#: Must not exceed the published error of SGPR.
PROMISED = ("kin40k", "protein")

#: Folds of each set; the quick ones first, then the promised ones.
SETS = {
    **dict.fromkeys(("yacht", "energy", "concrete", "airfoil", "wine"), 10),
    **dict.fromkeys(PROMISED, 2),
    **dict.fromkeys(("california_housing", "sml", "pol", "elevators", "bike", "parkinsons", "srtm_n43e006", "flights"), 1),
    **dict.fromkeys(("kin8nm", "pumadyn32nm", "power_plant", "keggdirected", "keggundirected"), 1),
}

Array = NDArray[Any]
Record = dict[str, Any]


def kernels(d: int) -> list[Any]:
    """The kernels that evidence chooses from, with a length scale per column."""
    from mercer import Exponential, Gaussian, Matern

    scales = (float(np.sqrt(2.0 * d)),) * d
    return [Gaussian(scales), Matern(nu=1.5, length_scale=scales), Exponential(scales)]


def best_kernel(X: Array, y: Array) -> Any:
    """The kernel of highest evidence on the first rows, fitted there: a start for the fit on all rows."""
    from mercer import GaussianProcessRegressor

    rows = slice(0, COMPARED)  # the split has shuffled them
    fits = [
        GaussianProcessRegressor(k, n_restarts=1, tol=0.1, verbose=False).fit(X[rows], y[rows]) for k in kernels(X.shape[1])
    ]
    return max(fits, key=lambda fit: fit.log_marginal_likelihood_value_).kernel_


def measure(X: Array, y: Array, train: Array, test: Array) -> Record:
    """One fit and what it is worth on the test rows."""
    from mercer import GaussianProcessRegressor

    scaled, new = standardized(X[train], X[test])
    target, truth = standardized(y[train], y[test])
    start = time.perf_counter()
    kernel = best_kernel(scaled, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that many rows leave the exact route is in the table
        model = GaussianProcessRegressor(kernel, n_restarts=0, tol=0.1, verbose=False).fit(scaled, target)
    seconds = time.perf_counter() - start
    mean, std = model.predict(new, return_std=True, include_noise=True)
    unit = float(y[train].std() / y.std())  # from units of the training target to units of the whole one
    error = (truth - mean) / std
    density = 0.5 * error**2 + np.log(std * unit) + 0.5 * np.log(2.0 * np.pi)
    return {
        "rmse": unit * float(np.sqrt(np.mean((truth - mean) ** 2))),
        "nlpd": float(np.mean(density)),
        "inside": int(np.count_nonzero(np.abs(error) <= 1.959964)),
        "half": float(np.mean(np.abs(error) <= 0.67449)),
        "scale": float(np.sqrt(np.mean(error**2))),
        "kurtosis": float(np.mean(error**4) / np.mean(error**2) ** 2),
        "tested": len(test),
        "trained": len(train),
        "route": model.route_.solver,
        "kernel": next(name for name in ("Gaussian", "Matern", "Exponential") if name in str(model.kernel_)),
        "noise": float(np.mean(model.noise_)),
        "seconds": seconds,
        "predict_seconds": time.perf_counter() - start - seconds,
    }


def thinned(test: Array) -> Array:
    """At most TESTED test rows, evenly over the set, which may be sorted."""
    return test[:: -(-len(test) // TESTED)]


def work(names: Sequence[str], folds: int, results: Record, folder: Path, rows: int) -> Iterator[tuple[str, int, Record]]:
    """Measure what is missing, the first fold of every set first; yields (set, fold, record) as each ends."""
    for fold in range(folds):
        for name in names:
            known = results["sets"].get(name, {}).get("folds", {}).get(str(fold), {})
            if fold >= SETS[name] or "kurtosis" in known:  # records without it are of an older form, and are made again
                continue
            X, y, marks = load(name, folder)
            train, test = split(len(y), marks, fold, rows)
            found = measure(X, y, train, thinned(test))
            entry = results["sets"].setdefault(name, {"rows": len(y), "columns": X.shape[1], "folds": {}})
            entry["splits"] = "random" if marks is None else "published"
            entry["folds"][str(fold)] = found
            yield name, fold, found


def pooled(entry: Record) -> Record:
    """Means over the folds, and coverage over all test rows."""
    folds = list(entry["folds"].values())
    return {
        "rmse": float(np.mean([fold["rmse"] for fold in folds])),
        "spread": float(np.std([fold["rmse"] for fold in folds])),
        "nlpd": float(np.mean([fold["nlpd"] for fold in folds])),
        "coverage": sum(fold["inside"] for fold in folds) / sum(fold["tested"] for fold in folds),
        "trained": max(fold["trained"] for fold in folds),
        "seconds": float(np.median([fold["seconds"] for fold in folds])),
        "routes": sorted({f"{fold['route']}, {fold['kernel']}" for fold in folds}),
    }


def line(name: str, entry: Record) -> str:
    """One set as a row of the table."""
    found = pooled(entry)
    published = "; ".join(p.text for p in PUBLISHED.get(name, ())) or "none for this target or split"
    covered = f"{found['coverage']:.1%}" + ("" if BOUNDS[0] <= found["coverage"] <= BOUNDS[1] else " MISS")
    return (
        f"| {name} | {entry['rows']:,} x {entry['columns']} | {len(entry['folds'])} {entry['splits']} | "
        f"{found['trained']:,} | "
        f"{' / '.join(found['routes'])} | {found['rmse']:.3f} ± {found['spread']:.3f} | {found['nlpd']:.2f} | {covered} | "
        f"{found['seconds']:.0f} | {published} |"
    )


HEAD = (
    "| set | rows x columns | folds | trained on | route, kernel | RMSE / std(y) | NLPD | 95 % intervals cover | fit, s | "
    "published: method, RMSE / std(y), NLPD (source) |\n|" + "---|" * 10
)


def explanation(entry: Record) -> str:
    """Why intervals miss: what the errors, divided by the standard deviations that the model gave, look like."""
    folds = [fold for fold in entry["folds"].values() if "kurtosis" in fold]
    if not folds:
        return "measured before errors were looked at more closely; measure again"
    half, kurtosis, scale = (float(np.mean([fold[key] for fold in folds])) for key in ("half", "kurtosis", "scale"))
    told = f"errors / std have standard deviation {scale:.2f}, kurtosis {kurtosis:.1f} (1 and 3 if the model is right), "
    told += f"and 50 % intervals hold {half:.0%}: "
    if all(fold["noise"] <= LEAST_NOISE for fold in folds):
        return told + "the target has no noise, and intervals are not narrower than the smallest noise that can be fitted"
    if kurtosis > 6 and half > 0.55:
        few = "errors are large on a few rows and small on the others, and one noise for all of them is"
        wide = pooled(entry)["coverage"] > BOUNDS[1]
        return told + f"{few} {'too large for most' if wide else 'too small for the few'}"
    if scale > 1.1:
        return told + "test errors are larger than the model expects from its training rows"
    return told + "intervals are too wide throughout" if half > 0.55 else told + "the tails are heavier than normal ones"


def markdown(results: Record, names: Sequence[str] = tuple(SETS)) -> str:
    """The whole page."""
    known = [name for name in names if name in results["sets"]]
    lines = [line(name, results["sets"][name]) for name in known]
    about = (__doc__ or "").split("\n\n")[2].strip()
    misses = [name for name in known if not BOUNDS[0] <= pooled(results["sets"][name])["coverage"] <= BOUNDS[1]]
    told = [f"- {name}: {explanation(results['sets'][name])}." for name in misses] or ["None."]
    notes = (
        "\\* quoted from memory, not checked in the source. bike keeps the two columns whose sum is the count, as the "
        "papers do. yacht has the logarithm of the papers' target, wine has alcohol in place of quality: no published "
        "error applies. In protein 7 % of the rows have an exact twin with the same target, so that the noise comes out "
        "small; in the first fold one test row has a twin 3.5 standard deviations away, and it alone adds 3 to the NLPD."
    )
    sources = "\n".join(f"- {key}: {text}." for key, text in PROTOCOLS.items())
    parts = ["# Quality of GaussianProcessRegressor", about, HEAD + "\n" + "\n".join(lines), notes]
    parts += ["Sources and protocols of the published numbers:\n\n" + sources]
    return "\n\n".join([*parts, "Sets whose intervals miss 92-98 %:\n\n" + "\n".join(told)]) + "\n"


def broken(results: Record) -> list[str]:
    """The promised sets whose error exceeds SGPR's."""
    found = []
    for name in PROMISED:
        limit = sgpr_error(name)
        if name in results["sets"] and limit is not None and pooled(results["sets"][name])["rmse"] > limit:
            found.append(name)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gp_quality", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas between them; default: all")
    parser.add_argument("--folds", type=int, default=10, help="largest number of folds per set")
    parser.add_argument("--rows", type=int, default=CUT, help="training rows at most")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the reg_*.npz files")
    parser.add_argument("--out", type=Path, default=QUALITY, help="folder for gp_quality.json and .md")
    parser.add_argument("--show", action="store_true", help="print the table of what is on disk and measure nothing")
    options = parser.parse_args(arguments)
    path = options.out / "gp_quality.json"
    results: Record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": options.rows, "sets": {}}
    names = [name for name in options.sets.split(",") if name]
    if not options.show:
        for name, fold, found in work(names, options.folds, results, options.data, options.rows):
            cover = found["inside"] / found["tested"]
            told = f"RMSE {found['rmse']:.4f}, NLPD {found['nlpd']:.3f}, intervals cover {cover:.1%}"
            print(f"{name} fold {fold}: {told}, {found['route']} {found['kernel']}, {found['seconds']:.0f} s", flush=True)
            save(results, options.out)
        save(results, options.out)  # nothing was missing, but the page may have changed
    print(markdown(results))
    missed = broken(results)
    print("FAIL: " + ", ".join(missed) if missed else "PASS: kin40k and protein are no worse than SGPR, where measured")
    return 1 if missed else 0


def save(results: Record, out: Path) -> None:
    """Write the record and the page, each whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "gp_quality.json", json.dumps(results, indent=1) + "\n")
    write_whole(out / "gp_quality.md", markdown(results))


if __name__ == "__main__":
    sys.exit(main())
