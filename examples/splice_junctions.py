"""Where exons begin and end

Where does an exon end, where does it begin? Three classes of DNA strings, aligned at the place in question.

    python examples/splice_junctions.py [--rows N] [--out FOLDER]

60 letters round a place in a primate gene: the end of an exon (EI), its beginning (IE), or neither (N). A model with
`WeightedDegree` learns from two thirds of the strings; the letters that speak for a junction are shown.
"""

from __future__ import annotations

import numpy as np
from string_data import arguments, labeled, write_page
from string_pictures import draw_letters

from mercer import KernelRidgeClassifier, WeightedDegree, explain


def main() -> None:
    options = arguments(__doc__, rows=2400).parse_args()
    strings, labels = labeled("splice", options.data, options.rows)
    # a string that occurs twice must not be on both sides
    half = sorted(set(strings))
    test = set(np.random.default_rng(1).permutation(half)[: len(half) // 3].tolist())
    inside = np.array([string in test for string in strings])
    train = [string for string in strings if string not in test]
    model = KernelRidgeClassifier(
        WeightedDegree(4).normalized(),
        alpha="loo",
        alphas=np.logspace(-2, 1, 4),
        param_grid={"0__degree": [4, 8]},
        verbose=False,
    )
    model.fit(train, labels[~inside])
    tested = [string for string in strings if string in test]
    predicted = model.predict(tested)
    print(f"{len(train)} strings to learn from, {len(tested)} to test")
    print(f"kernel {model.kernel_}, alpha {model.best_alpha_:g}, by leave-one-out")
    truth = labels[inside]
    print(f"accuracy {np.mean(predicted == truth):.2%}; the largest class alone {np.mean(truth == 'N'):.2%}\n")
    print(f"{'':6}" + "".join(f"{'said ' + name:>10}" for name in model.classes_))
    for name in model.classes_:
        print(f"{name:6}" + "".join(f"{np.sum(predicted[truth == name] == said):>10}" for said in model.classes_))
    found = []
    for name in ("EI", "IE"):
        scores = model.decision_function(tested)[:, list(model.classes_).index(name)]
        found.append(explain(model, tested[int(scores.argmax())], target=name))
        print(f"\n{found[-1]}")
    headings = ["exon, then intron", "intron, then exon"]
    draw_letters(options.out, "splice_junctions", found, headings)
    write_page(options.out, "splice_junctions", found, headings, "Splice junctions")


if __name__ == "__main__":
    main()
