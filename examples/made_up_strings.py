"""Made-up strings in the form of the real sets, for a clone without them: what the scripts print then is about these."""

from __future__ import annotations

from typing import Any

import numpy as np

HAM = ["ok", "see", "you", "at", "home", "later", "i", "will", "call", "when", "the", "train", "lunch", "tomorrow", "thanks"]
SPAM = ["free", "win", "prize", "claim", "now", "call", "txt", "urgent", "cash", "reply", "offer", "voucher", "winner"]


def letters(rng: np.random.Generator, alphabet: str, length: int, motifs: dict[int, str] | None = None) -> str:
    """Random letters with motifs planted at their places, one letter of each changed now and then."""
    text = rng.choice(list(alphabet), length)
    for place, motif in (motifs or {}).items():
        text[place : place + len(motif)] = list(motif)
        if rng.random() < 0.3:
            text[place + rng.integers(len(motif))] = rng.choice(list(alphabet))
    return "".join(text)


def _motifs(rng: np.random.Generator, alphabet: str) -> dict[int, str]:
    """The motifs of a protein family at places that vary, with almost half of their letters changed."""
    return {
        int(place + rng.integers(-10, 10)): "".join(
            letter if rng.random() > 0.45 else rng.choice(list(alphabet)) for letter in motif
        )
        for place, motif in ((20, "GWSKLGAC"), (60, "HPDTVEYF"))
    }


def classes(rng: np.random.Generator, length: int, n: int, motifs: dict[str, dict[int, str]]) -> dict[str, Any]:
    """n strings of DNA per class."""
    strings = [letters(rng, "acgt", length, of) for of in motifs.values() for _ in range(n)]
    return {"strings": strings, "labels": np.repeat(np.arange(len(motifs)), n).tolist(), "label_names": list(motifs)}


def made_up(name: str) -> dict[str, Any]:
    """A set with the keys of the real one of this name."""
    rng = np.random.default_rng(0)
    if name == "promoters":
        return classes(rng, 57, 53, {"none": {}, "promoter": {14: "ttgaca", 38: "tataat"}})
    if name == "splice":
        return classes(rng, 60, 200, {"EI": {28: "aggtaagt"}, "IE": {18: "tttttttttcag"}, "N": {}})
    if name == "sms_spam":
        kinds = rng.random(900) < 0.2
        words = [rng.choice(SPAM + HAM[:12] if spam else HAM + SPAM[3:5], rng.integers(4, 15)) for spam in kinds]
        return {
            "strings": [" ".join(w) for w in words],
            "labels": kinds.astype(int).tolist(),
            "label_names": ["ham", "spam"],
        }
    if name == "scop_homology":
        member = rng.random(700) < 0.12
        amino = "ACDEFGHIKLMNPQRSTVWY"
        strings = [letters(rng, amino, 90, _motifs(rng, amino) if is_one else None) for is_one in member]
        task = {
            "train": list(range(500)),
            "train_labels": member[:500].astype(int).tolist(),
            "test": list(range(500, 700)),
            "test_labels": member[500:].astype(int).tolist(),
        }
        return {"strings": strings, "tasks": {"1.34": task}}
    raise KeyError(name)
