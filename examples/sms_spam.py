"""Spam among text messages

Spam among text messages, by the substrings of raw characters; and which characters gave it away.

    python examples/sms_spam.py [--rows N] [--out FOLDER]

Nothing is cleaned: capitals, digits, punctuation and misspellings are what spam is recognized by. Messages that occur
more than once stay on one side of the split.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import f1_score, precision_score, recall_score
from string_data import arguments, labeled, write_page
from string_pictures import draw_scores

from mercer import SVC, Spectrum, explain


def main() -> None:
    options = arguments(__doc__, rows=3000).parse_args()
    messages, labels = labeled("sms_spam", options.data, options.rows)
    first = {message: i for i, message in reversed(list(enumerate(messages)))}
    kept = sorted(first.values())  # each message once
    messages, labels = [messages[i] for i in kept], labels[kept]
    cut = len(messages) * 2 // 3
    model = SVC(Spectrum(4, shortest=1).normalized(), C=10.0, verbose=False).fit(messages[:cut], labels[:cut])
    tested, truth = messages[cut:], labels[cut:] == "spam"
    said = model.predict(tested) == "spam"
    print(f"{cut} messages to learn from, {len(tested)} to test, {truth.sum()} of them spam")
    scored = {"F1": f1_score, "precision": precision_score, "recall": recall_score}
    print(", ".join(f"{name} {score(truth, said):.3f}" for name, score in scored.items()) + "\n")
    scores = model.decision_function(tested)
    shown = {
        "the clearest spam": int(scores.argmax()),
        "spam that was missed": int(np.where(truth & ~said, scores, np.inf).argmin()),
    }
    found = [explain(model, tested[i]) for i in shown.values()]
    for heading, one in zip(shown, found, strict=True):
        print(f"{heading}:\n{one}\n")
    draw_scores(options.out, "sms_spam", scores, truth, ("ham", "spam"))
    write_page(options.out, "sms_spam", found, list(shown), "Spam among text messages")


if __name__ == "__main__":
    main()
