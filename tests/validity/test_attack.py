"""The prover under random attack; 100,000 tries by `make show-attack`."""

import pytest
from tests.validity import attack


def test_no_false_answer_in_a_thousand_tries():
    counts = attack.attack(1_000, seed=1)
    assert counts["edge: valid"] > 50 and counts["edge: invalid"] > 50 and counts["tainted: invalid"] > 50


@pytest.mark.slow
def test_no_false_answer_in_a_hundred_thousand_tries():
    counts = attack.attack(100_000, seed=0)
    print("\n".join(f"{name:<22} {count}" for name, count in sorted(counts.items())))
    assert sum(counts.values()) == 100_000
