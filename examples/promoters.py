"""Promoters of E. coli, letter by letter

Which stretches of E. coli DNA are promoters? Leave-one-out, with everything chosen inside.

    python examples/promoters.py [--out FOLDER]

106 strings of 57 letters, half of them promoters. The strings are aligned at the start of the gene, so `WeightedDegree`
compares what stands at the same place. Every string is predicted by a model that never saw it: the degree and the
penalty are chosen, and the model fitted, on the 105 others. Then a promoter is taken apart letter by letter; the marks
gather where biologists know the two boxes near positions -35 and -10.
"""

from __future__ import annotations

import numpy as np
from string_data import arguments, labeled, write_page
from string_pictures import draw_letters

from mercer import KernelRidgeClassifier, WeightedDegree, explain

DEGREES = [1, 2, 3, 4, 5, 6]


def model() -> KernelRidgeClassifier:
    """Kernel ridge whose penalty and degree are the best by leave-one-out, in closed form."""
    kernel = WeightedDegree(3).normalized()
    return KernelRidgeClassifier(
        kernel, alpha="loo", alphas=np.logspace(-3, 1, 9), param_grid={"0__degree": DEGREES}, verbose=False
    )


def nested(strings: list[str], labels: np.ndarray, tested: int) -> tuple[int, list[int]]:
    """Errors on the first `tested` strings, each left out of everything, and the degrees that were chosen."""
    errors, degrees = 0, []
    for i in range(tested):
        rest = [j for j in range(len(strings)) if j != i]
        fitted = model().fit([strings[j] for j in rest], labels[rest])
        errors += int(fitted.predict([strings[i]])[0] != labels[i])
        degrees.append(fitted.kernel_.get_params()["0__degree"])
    return errors, degrees


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tested", type=int, default=106, help="how many strings are left out in turn")
    options = parser.parse_args()
    strings, labels = labeled("promoters", options.data)
    errors, degrees = nested(strings, labels, options.tested)
    chosen = ", ".join(f"degree {d} ({degrees.count(d)} times)" for d in sorted(set(degrees)))
    print(f"{errors} errors in {options.tested} strings, each predicted without it; chosen inside: {chosen}\n")
    fitted = model().fit(strings, labels)
    decisions = fitted.decision_function(strings)
    shown = [int(decisions.argmax()), int(decisions.argmin())]
    found = [explain(fitted, strings[i]) for i in shown]
    print("the clearest promoter (the gene begins after letter 50):")
    print(found[0])
    headings = [f"{labels[i]}: the {word} decision" for i, word in zip(shown, ("highest", "lowest"), strict=True)]
    draw_letters(options.out, "promoters", found, headings)
    write_page(options.out, "promoters", found, headings, "Promoters of E. coli")


if __name__ == "__main__":
    main()
