"""Published areas under the ROC curve of gapped k-mer kernels, and the settings that gave them.

Read in the tables that come with FastSK (Blakely, Collins, Singh, Qi 2020): `results/spreadsheets/
performance_results_summary.csv` and `evaluations/all_params.csv` of its repository. g is the length of the windows, m the
number of free letters, so that p = g - m letters have to agree. FastSK trains a linear SVM (balanced classes, Platt's
sigmoid by five folds) on the *rows* of the normalized kernel matrix as features, not an SVM with the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One data set: window g, free letters m, penalty C, and the areas that were published."""

    g: int
    m: int
    C: float
    fastsk: float | None
    gkmsvm: float | None = None
    gakco: float | None = None


EP300 = Setting(11, 5, 1.0, 0.9533, 0.9524, 0.9502)

#: 2.1 has no published setting. 3.50 has a setting and no published area.
SCOP: dict[str, Setting] = {
    "1.1": Setting(8, 4, 0.01, 0.8531, 0.2720, 0.8297),
    "1.34": Setting(6, 2, 0.001, 1.0, 0.9951, 0.9968),
    "2.19": Setting(8, 4, 0.01, 0.8951, 0.3088, 0.8218),
    "2.31": Setting(15, 10, 0.01, 0.9998, 0.6286, 0.9975),
    "2.34": Setting(6, 0, 10.0, 0.9713, 0.6677, 0.8276),
    "2.41": Setting(10, 6, 100.0, 0.9210, 0.3603, 0.8215),
    "2.8": Setting(12, 8, 100.0, 0.8862, 0.2944, 0.8855),
    "3.19": Setting(9, 2, 0.001, 0.9890, 0.5974, 0.9913),
    "3.25": Setting(15, 9, 100.0, 0.9629, 0.3419, 0.7441),
    "3.33": Setting(5, 1, 1.0, 0.9956, 0.9062, 0.9161),
    "3.50": Setting(14, 9, 100.0, None),
}
