"""Commands that print a table or a verdict: `make show-NAME` runs one, `make show` lists them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Show:
    """What a name prints, and the commands that do so, as words after `python`."""

    what: str
    commands: tuple[list[str], ...]


def _modules(what: str, *modules: str) -> Show:
    return Show(what, tuple(["python", "-m", *module.split()] for module in modules))


#: Parts of benchmarks.structure.
PARTS = ("starts", "clusters", "correlations", "thinning", "coreset", "race", "million")

SHOWS = {
    "attack": _modules(
        "100,000 random attacks on the prover, 10,000 with cancellation; false answers",
        "tests.validity.attack",
    ),
    "forged": _modules(
        "30,000 forged model files; counts errors of other kinds", "pytest -q -s -m slow tests/persist/test_forged.py"
    ),
    "gp": _modules("errors, densities and interval coverage of Gaussian processes on real tables", "benchmarks.gp_quality"),
    "graphs": _modules("accuracy of graph kernels on real sets beside published ones", "benchmarks.graph_quality"),
    "house": _modules("files, code lines, getattr calls and foreign private attributes of the source", "benchmarks.house"),
    "independence": _modules("level and power of ci_test over draws with fixed seeds", "benchmarks.ci_level"),
    "dependence": _modules(
        "speed and levels of the tests of dependence, and causal graphs, beside causal-learn",
        "benchmarks.dependence speed",
        "benchmarks.dependence graphs",
        "benchmarks.dependence level",
        "benchmarks.dependence stein",
    ),
    "lab": _modules("milliseconds from an event to the new picture of the lab, in Chromium", "benchmarks.lab_speed"),
    "large": _modules("memory and time of fits on millions of rows", "benchmarks.large_memory", "benchmarks.large_plan"),
    "drift": _modules(
        "run length, delay and memory of DriftMonitor",
        "benchmarks.drift run-length",
        "benchmarks.drift delay",
        "benchmarks.drift memory",
    ),
    "memory": _modules("peak memory of a large Gram matrix and of K @ v without K", "benchmarks.memory"),
    "mmd": _modules("level and power of the two-sample tests, thousands of draws", "pytest -s -q -m slow tests/twosample"),
    "odd": _modules("300 odd tables; counts foreign errors, hangs and memory above plan", "tests.inputs.odd_tables"),
    "molecules": _modules("test errors on twenty assays of MoleculeACE beside published ones", "benchmarks.molecules ace"),
    "novelty": _modules(
        "NoveltyDetector on thirty sets beside 26 published detectors; false discoveries in batches",
        "benchmarks.novelty_quality",
        "benchmarks.novelty_quality discoveries",
    ),
    "structure": _modules(
        "clusters, correlations, thinning and coresets: rates, inertia, agreement, memory, races",
        *(f"benchmarks.structure {part}" for part in PARTS),
    ),
    "pace": _modules("seconds of one plan in several processes on a busy machine", "benchmarks.plan_pace"),
    "pca": _modules("denoising, features and novelty scores of kernel PCA beside published ones", "benchmarks.pca_quality"),
    "plan": _modules("memory estimates of plan against the measured peak, for every route", "benchmarks.plan_memory"),
    "probabilities": _modules(
        "leave-one-out against refits, races and log-loss of probability models",
        "benchmarks.probabilities loo",
        "benchmarks.probabilities race",
        "benchmarks.probabilities logistic",
        "benchmarks.probabilities scores",
    ),
    "proofs": Show("proofs and counterexamples for a set of expressions", (["python", "examples/is_it_a_kernel.py"],)),
    "ridge": _modules("test errors and interval coverage of ridge regression on real tables", "benchmarks.ridge_quality"),
    "small-coverage": _modules("coverage of 90 % intervals with 20 to 60 rows, simulated", "benchmarks.small_coverage"),
    "shell": _modules(
        "mercer fit and predict on real tables and large files", "benchmarks.shell_quality", "benchmarks.shell_large"
    ),
    "strings": _modules("errors and areas of string kernels beside published ones", "benchmarks.string_quality"),
    "svm": _modules("SVC beside LIBSVM on real data: objectives, predictions, test errors", "benchmarks.svm_quality"),
    "tables": _modules(
        "table models beside tuned gradient boosting on real tables",
        "benchmarks.table_quality",
        "benchmarks.table_quality --task classification",
        "benchmarks.table_mixed",
        "benchmarks.table_categories",
    ),
    "walk": _modules("files that a call passes through, in order", "benchmarks.walk"),
}


def main(names: Sequence[str]) -> int:
    """Run the commands of each name, or list all names if there is none. Return the first exit code that is not 0."""
    unknown = [name for name in names if name not in SHOWS]
    if unknown or not names:
        print("\n".join(f"make show-{name:10} {show.what}" for name, show in SHOWS.items()))
        if unknown:
            print(f"There is no show-{unknown[0]}.", file=sys.stderr)
        return 2 if unknown else 0
    for name in names:
        for command in SHOWS[name].commands:
            code = subprocess.run([sys.executable, *command[1:]], check=False).returncode
            if code:
                return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
