"""Which language is a surname from?

Surnames of eighteen languages, told apart by short substrings.

    python examples/names_by_language.py [--rows N] [--out FOLDER]

"<" and ">" mark the ends of a name, so that "ov>" is another substring than "ov" in the middle. A name that occurs in
several languages cannot be right for all of them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from string_data import arguments, labeled, write_page
from string_pictures import draw_shares

from mercer import KernelRidgeClassifier, Spectrum, explain

SHOWN = ["Kowalczyk", "Papadopoulos", "Fitzgerald", "Yamamoto", "Rossellini", "Grigorovich"]


def main() -> None:
    options = arguments(__doc__, rows=6000).parse_args()
    names, languages = labeled("names_language", options.data, options.rows)
    marked = [f"<{name}>" for name in names]
    cut = len(marked) * 3 // 4
    kernel = Spectrum(4, shortest=1).normalized()
    model = KernelRidgeClassifier(kernel, alpha=0.3, verbose=False).fit(marked[:cut], languages[:cut])
    predicted, truth = model.predict(marked[cut:]), languages[cut:]
    print(f"{cut} names to learn from, {len(truth)} to test, {len(model.classes_)} languages")
    print(f"accuracy {np.mean(predicted == truth):.2%}; always saying {Counter(truth).most_common(1)[0][0]} "
          f"{max(Counter(truth).values()) / len(truth):.2%}")  # fmt: skip
    wrong = Counter((str(a), str(b)) for a, b in zip(truth, predicted, strict=True) if a != b)
    print("most often taken for another: " + ", ".join(f"{a} for {b} ({n})" for (a, b), n in wrong.most_common(4)) + "\n")
    found = [explain(model, f"<{name}>") for name in SHOWN]
    for name, one in zip(SHOWN, found, strict=True):
        top = ", ".join(f"{part.name} {part.contribution:+.2f}" for part in one.top(4))
        print(f"{name:>14}: {one.label.removeprefix('class '):<12} {top}")
    draw_shares(options.out, "names_by_language", truth, predicted)
    write_page(options.out, "names_by_language", found, SHOWN, "Surnames by language")


if __name__ == "__main__":
    main()
