"""Run a fast part of the tests with other BLAS kernels, instruction sets, threads and orders: `make test-cpus`.

    python scripts/test_cpus.py [--only NAME] [--list] PYTEST ARGUMENTS

A tolerance that holds on one machine only fails here. A setting that this processor cannot run is named and left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
TWO_THREADS = dict.fromkeys(ONE_THREAD, "2")
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Setting:
    """Environment of one run, the flag of the processor that it needs, and the NumPy features that it switches off."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    needs: str = ""
    without: tuple[str, ...] = ()


SETTINGS = (
    Setting("haswell", {"OPENBLAS_CORETYPE": "Haswell"}, needs="avx2"),
    Setting("skylakex", {"OPENBLAS_CORETYPE": "SkylakeX"}, needs="avx512f"),
    Setting("zen", {"OPENBLAS_CORETYPE": "Zen"}, needs="avx2"),
    Setting("numpy-without-avx512", without=("X86_V4", "AVX512")),
    Setting("numpy-baseline", without=("X86_V3", "X86_V4", "AVX", "FMA")),
    Setting("numba-generic", {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}),
    Setting("one-thread", ONE_THREAD),
    Setting("two-threads", TWO_THREADS),
    *(Setting(f"order-{seed}", {"MERCER_TEST_ORDER": str(seed)}) for seed in SEEDS),
)


def processor_flags() -> set[str]:
    """The flags of this processor, empty if the system does not state them."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def numpy_features(beginnings: tuple[str, ...]) -> str:
    """The features that NumPy chooses at run time, on this processor, whose names begin so."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:  # NumPy 1
        from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    return " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name) and name.startswith(beginnings))


def environment(setting: Setting) -> dict[str, str] | None:
    """The variables of a setting; None if this processor cannot run it or has nothing to switch off."""
    if setting.needs and setting.needs not in processor_flags():
        return None
    found = dict(setting.environment)
    if setting.without:
        found["NPY_DISABLE_CPU_FEATURES"] = numpy_features(setting.without)
        if not found["NPY_DISABLE_CPU_FEATURES"]:
            return None
    if "NUMBA_CPU_NAME" in found:
        found["NUMBA_CACHE_DIR"] = str(ROOT / "build" / "cpus")
    return found


def main(words: list[str] | None = None) -> int:
    """Run the tests once per setting; return the number of settings that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="name of a setting")
    parser.add_argument("--list", action="store_true", help="print the settings and run nothing")
    args, rest = parser.parse_known_args(words)
    failed = []
    chosen = [setting for setting in SETTINGS if not args.only or setting.name in args.only]
    for setting in chosen:
        variables = environment(setting)
        if args.list or variables is None:
            print(f"{setting.name}: {'left out, not possible on this processor' if variables is None else variables}")
            continue
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *rest], cwd=ROOT, env={**os.environ, **variables}
        ).returncode
        print(f"{setting.name}: {'passed' if code == 0 else f'failed with exit code {code}'}", flush=True)
        failed += [setting.name] * (code != 0)
    print(f"{len(chosen)} settings, {len(failed)} failed" + (f": {', '.join(failed)}" if failed else ""))
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
