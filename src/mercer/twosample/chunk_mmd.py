"""`mmd_test` on rows that come in chunks: the relabelings, the statistic and the p-value of the rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.grams.chunks.rows import resolved
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import check_symmetric
from mercer.twosample.chunk_blocks import by_chunk_blocks
from mercer.twosample.chunk_forms import ChunkForms, ChunkMatrices, check_signs
from mercer.twosample.chunk_samples import open_samples
from mercer.twosample.procedure import Settings, check, choose_labels, choose_way, run
from mercer.twosample.result import MMDTestResult
from mercer.twosample.units import InUnits, refuse_underflow


def by_chunks(X: Any, Y: Any, given: tuple[Kernel, ...], chosen: Settings, random_state: Any) -> MMDTestResult:
    """The test on two samples of which one or both come in chunks; no kernels means the default collection."""
    seeded = isinstance(random_state, (int, np.integer))
    samples = open_samples(X, Y, given, f"mmd_test {given!r} {chosen!r} {random_state!r}", seeded)
    check(chosen, samples)
    rng = np.random.default_rng(random_state)
    kernels = tuple(resolved(one, samples.rows) for one in given) or samples.default_kernels(rng)
    seed = int(rng.integers(2**63))
    if choose_way(chosen, samples, len(kernels)) == "features":
        found = by_chunk_blocks(samples, kernels if given else None, chosen, rng, seed)
    else:
        check_signs(samples.m, samples.n, chosen.n_permutations, len(kernels))
        matrices = ChunkMatrices(kernels, samples.rows)
        check_symmetric(matrices.ends(32))
        scaled = InUnits(matrices)
        refuse_underflow(kernels, scaled.diag(), Rows(samples.rows.head.X))
        labels = choose_labels(chosen.resampling, samples.m, samples.n)
        forms = ChunkForms(scaled, samples.rows, labels)
        found = run(samples, scaled, labels, chosen, rng, seed, f"all pairs of rows, {samples.words}", forms)
    samples.rows.close()
    return found
