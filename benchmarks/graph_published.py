"""Published accuracies of support vector machines with graph kernels, in percent, with their deviation over repeats.

P-WL: Rieck, Bock, Borgwardt 2019 (ten repeats of 10 folds, C and h chosen inside). TUD: Morris et al. 2020 (the same, C
and h chosen on a validation split). Survey: Borgwardt et al. 2020. Protocols differ in how C and h are chosen, and in the
labels of graphs that have none.
"""

from __future__ import annotations

#: set -> kernel -> (accuracy, standard deviation over repeats or None, source)
PUBLISHED: dict[str, dict[str, tuple[float, float | None, str]]] = {
    "MUTAG": {"WL": (87.26, 1.42, "P-WL")},
    "PTC_MR": {"WL": (63.12, 1.44, "P-WL")},
    "ENZYMES": {"WL": (50.8, None, "TUD"), "WLOA": (56.4, None, "TUD")},
    "PROTEINS": {"WL": (72.6, None, "TUD"), "WLOA": (73.4, None, "TUD")},
    "NCI1": {"WL": (84.2, None, "TUD"), "WLOA": (85.0, None, "TUD")},
    "DD": {"WL": (77.7, None, "survey"), "WLOA": (77.8, None, "survey")},
    "IMDB-BINARY": {"WL": (72.4, None, "TUD"), "WLOA": (73.3, None, "TUD")},
    "REDDIT-BINARY": {"WL": (73.3, None, "TUD"), "WLOA": (88.3, None, "TUD")},
}

#: The highest number for the plain Weisfeiler-Lehman kernel in any of these papers, for comparison.
HIGHEST = {
    "MUTAG": (87.26, "P-WL"), "PTC_MR": (63.12, "P-WL"), "ENZYMES": (54.3, "survey"), "PROTEINS": (76.11, "P-WL"),
    "NCI1": (85.58, "P-WL"), "DD": (79.45, "P-WL"), "IMDB-BINARY": (72.4, "TUD"), "REDDIT-BINARY": (78.0, "survey"),
}  # fmt: skip
