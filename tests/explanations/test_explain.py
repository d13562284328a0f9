"""Explanations add up, equal slow twins, name what they cannot explain, and point at what is known to matter."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import (
    AllSubstrings,
    Constant,
    GappedSpectrum,
    Gaussian,
    Kernel,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
    explain,
)
from mercer.errors import CapabilityError, InputError
from mercer.explanations.strings import feature_weights, weights_by_occurrence
from mercer.inputs import Rows

rng = np.random.default_rng(0)
DNA = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(6, 25, 40)]
NEW = ["".join(rng.choice(list("ACGT"), n)) for n in (0, 1, 5, 17, 30)]
TARGET = rng.normal(size=40)
TWO, THREE = np.arange(40) % 2, np.array(["x", "y", "z"])[np.arange(40) % 3]


def lengths(X: Any) -> Any:
    return [1.0 + len(x) for x in X]


def capitals(X: Any) -> Any:
    return [x.upper() for x in X]


KERNELS: list[Kernel] = [
    Spectrum(3),
    Spectrum(2, presence=True),
    Spectrum(3, shortest=1, weights=(0.5, 1.0, 2.0)),
    Spectrum(3, reverse_complement=True),
    Mismatch(3, mismatches=1, alphabet="ACGT"),
    Mismatch(3, mismatches=1, alphabet="ACGT", reverse_complement=True),
    GappedSpectrum(2, gaps=2),
    GappedSpectrum(2, gaps=1, reverse_complement=True),
    WeightedDegree(3),
    WeightedDegree(2, shift=2).tanimoto(),
    AllSubstrings(0.5, longest=4),
    Spectrum(2).normalized(),
    2.0 * Spectrum(2) + GappedSpectrum(2, gaps=1).normalized() + 3.0,
    (0.5 * Mismatch(2, alphabet="ACGT") + WeightedDegree(2) + Constant(2.0)).normalized(),
    Spectrum(2).weighted(lengths).normalized() + Spectrum(1).map(capitals),
]


def decision(model: Any, x: Any) -> float:
    value = model.decision_function([x]) if hasattr(model, "decision_function") else model.predict([x])
    return float(np.ravel(value)[0])


def assert_adds_up(found: Any, value: float) -> None:
    size = 1.0 + abs(found.intercept) + sum(abs(one.contribution) for one in found.substrings)
    assert abs(found.contributions.sum() + found.intercept - value) <= 1e-10 * size
    assert found.value == pytest.approx(value, abs=1e-10 * size)
    assert sum(one.contribution for one in found.substrings) == pytest.approx(found.contributions.sum(), abs=1e-10 * size)
    assert len(found.contributions) == len(found.text)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_parts_add_up_for_every_kernel(kernel: Kernel) -> None:
    model = mercer.KernelRidge(kernel, alpha=0.5, fit_intercept=True).fit(DNA, TARGET)
    for x in [*NEW, DNA[3]]:
        assert_adds_up(explain(model, x), decision(model, x))


MODELS: dict[str, Any] = {
    "ridge": (mercer.KernelRidge(alpha=0.5), TARGET),
    "ridge cv": (mercer.KernelRidgeCV(param_grid={"0__0__p": [2, 3]}), TARGET),
    "classes": (mercer.KernelRidgeClassifier(), TWO),
    "means": (mercer.NearestMean(), TWO),
    "perceptron": (mercer.KernelPerceptron(random_state=0, fit_intercept=True), TWO),
    "last perceptron": (mercer.KernelPerceptron(random_state=0, average=False), TWO),
    "svc": (mercer.SVC(C=0.5), TWO),
    "nu svc": (mercer.NuSVC(nu=0.3), TWO),
    "svr": (mercer.SVR(C=0.5), TARGET),
    "one class": (mercer.OneClassSVM(), None),
    "process": (mercer.GaussianProcessRegressor(noise=0.1), TARGET),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_for_every_model(name: str) -> None:
    model, y = MODELS[name]
    model = model.set_params(kernel=(Spectrum(2) + WeightedDegree(2) + Constant(1.0)).normalized()).fit(DNA, y)
    for x in NEW[3:]:
        assert_adds_up(explain(model, x), decision(model, x))


@pytest.mark.parametrize(
    "model", [mercer.KernelRidgeClassifier(), mercer.NearestMean(), mercer.KernelPerceptron(random_state=0, max_iter=5)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classes_of_several(model: Any) -> None:
    model = model.set_params(kernel=Spectrum(2).normalized()).fit(DNA, THREE)
    values = model.decision_function([DNA[1]])[0]
    for c, label in enumerate(model.classes_):
        found = explain(model, DNA[1], target=label)
        assert_adds_up(found, values[c])
        assert found.label == f"class {str(label)!r}"
    assert explain(model, DNA[1]).label == f"class {str(model.predict([DNA[1]])[0])!r}"


def test_pairs_of_classes() -> None:
    model = mercer.SVC(Spectrum(2).normalized(), C=5.0).fit(DNA, THREE)
    pairs = mercer.SVC(Spectrum(2).normalized(), C=5.0, decision_function_shape="ovo").fit(DNA, THREE)
    for x in NEW[2:]:
        xy, xz, yz = pairs.decision_function([x])[0]
        assert_adds_up(explain(model, x, target=("x", "y")), xy)
        assert_adds_up(explain(pairs, x, target=("z", "x")), -xz)
        assert_adds_up(explain(model, x, target=("y", "z")), yz)
        assert explain(model, x).label.startswith(f"class {str(model.predict([x])[0])!r} against")
    for wrong in ("x", ("x", "x"), ("x", "q")):
        with pytest.raises(InputError, match="a pair \\(for, against\\) of 'x', 'y', 'z'"):
            explain(model, "ACGT", target=wrong)


def test_two_classes_are_two_sides() -> None:
    model = mercer.KernelRidgeClassifier(Spectrum(2)).fit(DNA, np.where(TWO, "b", "a"))
    mine, other, default = (explain(model, DNA[0], target=target) for target in ("a", "b", None))
    assert np.array_equal(mine.contributions, -other.contributions) and mine.value == -other.value
    assert default.label == other.label == "class 'b'"
    with pytest.raises(InputError, match="one of the classes 'a', 'b'; got 'c'"):
        explain(model, DNA[0], target="c")


def test_several_targets() -> None:
    Y = np.column_stack([TARGET, 2.0 * TARGET])
    model = mercer.KernelRidge(Spectrum(2), alpha=0.5).fit(DNA, Y)
    assert np.allclose(explain(model, DNA[0], target=1).contributions, 2.0 * explain(model, DNA[0], target=0).contributions)
    for wrong in (None, 2, -1, "a", True):
        with pytest.raises(InputError, match="2 targets; choose one by number"):
            explain(model, DNA[0], target=wrong)


# -- slow twins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Spectrum(3), Mismatch(3, alphabet="ACGT"), Spectrum(3, reverse_complement=True)], ids=str
)
def test_letters_share_the_kernel_values_of_their_windows(kernel: Any) -> None:
    """phi(x) is the sum of phi(window), so the part of a window is f(window): no feature is looked at."""
    model = mercer.KernelRidge(kernel, alpha=0.5).fit(DNA, TARGET)
    x = NEW[-1]
    parts = np.zeros(len(x))
    for i in range(len(x) - 2):
        parts[i : i + 3] += model.predict([x[i : i + 3]])[0] / 3
    assert np.allclose(explain(model, x).contributions, parts, atol=1e-12)


def test_kept_letters_share_and_free_ones_do_not() -> None:
    model = mercer.KernelRidge(GappedSpectrum(2, gaps=1), alpha=0.5).fit(DNA, TARGET)
    x, a = NEW[-1], model.dual_coef_
    parts = np.zeros(len(x))
    for i in range(len(x) - 2):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            same = [sum(z[j + p] == x[i + p] and z[j + q] == x[i + q] for j in range(len(z) - 2)) for z in DNA]
            parts[[i + p, i + q]] += a @ same / 2
    assert np.allclose(explain(model, x).contributions, parts, atol=1e-12)


def test_places_share_where_strings_are_aligned() -> None:
    model = mercer.KernelRidge(WeightedDegree(2), alpha=0.5).fit(DNA, TARGET)
    x, a = NEW[-1], model.dual_coef_
    parts = np.zeros(len(x))
    for i in range(len(x)):
        parts[i] += 2 / 3 * sum(c for c, z in zip(a, DNA, strict=True) if z[i : i + 1] == x[i])
        if i + 1 < len(x):
            parts[i : i + 2] += sum(c for c, z in zip(a, DNA, strict=True) if z[i : i + 2] == x[i : i + 2]) / 6
    found = explain(model, x)
    assert np.allclose(found.contributions, parts, atol=1e-12)
    assert f"{x[3:5]}@4" in {one.name for one in found.substrings}


def test_presence_is_shared_among_the_places() -> None:
    model = mercer.KernelRidge(Spectrum(1, presence=True), alpha=0.5).fit(DNA, TARGET)
    found = explain(model, "AACA")
    once = {one.name: one for one in explain(model, "AC").substrings}
    assert found.substrings[0].count in (1, 3)
    assert {one.name: one.contribution for one in found.substrings} == pytest.approx(
        {name: one.contribution for name, one in once.items()}
    )
    assert found.contributions[0] == found.contributions[1] == found.contributions[3]


@pytest.mark.parametrize("kernel", KERNELS[:9], ids=str)
def test_weights_from_tables_equal_weights_from_places(kernel: Kernel) -> None:
    [known], [here] = kernel._summands(Rows(DNA)), kernel._summands(Rows([DNA[5]]))
    a = np.random.default_rng(1).normal(size=len(DNA))
    wanted = list({one.feature for one in kernel._occurrences(DNA[5]) or ()})
    fast, slow = feature_weights(known, here, a, wanted), weights_by_occurrence(known, a, wanted)
    assert np.allclose(fast, slow, atol=1e-12)
    names = known.kernel.feature_names(DNA)
    exact = dict(zip(names, kernel.feature_map(DNA).T @ a, strict=True))
    assert np.allclose(fast, [exact[feature] for feature in wanted], atol=1e-12)


def test_many_rows_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mercer.KernelRidge(GappedSpectrum(2, gaps=1)).fit(DNA, TARGET)
    whole = explain(model, NEW[3]).contributions
    monkeypatch.setattr("mercer.explanations.strings.CHUNK", 7)
    assert np.allclose(explain(model, NEW[3]).contributions, whole, atol=1e-12)


letters = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(letters, min_size=2, max_size=6), letters)
def test_any_letters(strings: list[str], x: str) -> None:
    model = mercer.KernelRidge(Spectrum(2) + Spectrum(1, presence=True)).fit(strings, np.arange(len(strings)))
    found = explain(model, x)
    assert_adds_up(found, decision(model, x))
    assert str(found) and found.html()


def test_tokens() -> None:
    texts = [["free", "call", "now"], ["call", "me", "now"], ["see", "you", "now", "now"], [3, "call", "you", "me"]]
    model = mercer.KernelRidge(Spectrum(2) + Spectrum(1) + GappedSpectrum(2, gaps=1)).fit(texts, [1.0, 0.0, 0.0, 1.0])
    found = explain(model, ["call", "me", 3, "now"])
    assert_adds_up(found, float(model.predict([["call", "me", 3, "now"]])[0]))
    assert {"call me", "call", "3", "call · 3"} <= {one.name for one in found.substrings}
    assert "4 tokens" in str(found)


def test_a_column_of_a_table() -> None:
    frame = pandas.DataFrame({"dna": DNA, "n": TARGET})
    model = mercer.KernelRidge(Spectrum(2).on("dna")).fit(frame, TARGET)
    found = explain(model, frame.iloc[[2]])
    assert found.text == DNA[2]
    assert found.value == pytest.approx(model.predict(frame.iloc[[2]])[0])
    with pytest.raises(InputError, match="give one row as a table"):
        explain(model, DNA[2])
    both = mercer.KernelRidge(Spectrum(2).on("dna") + Gaussian(1.0).on("n")).fit(frame, TARGET)
    by_column = explain(both, frame.iloc[[2]])  # a table of which one column is text: columns are what it has in common
    assert by_column.names == ("dna", "n")
    assert by_column.base + by_column.contributions.sum() == pytest.approx(both.predict(frame.iloc[[2]])[0])
    other = frame.assign(second=DNA[::-1])
    two = mercer.KernelRidge(Spectrum(2).on("dna") + Spectrum(2).on("second")).fit(other, TARGET)
    with pytest.raises(InputError, match="is about another object"):
        explain(two, other.iloc[[2]])


# -- refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "term"),
    [
        (Subsequence(2), "Subsequence(p=2, decay=0.5) has no features"),
        (Spectrum(2) + Subsequence(2), "Subsequence(p=2, decay=0.5) (a term of "),
        (Spectrum(2) * Spectrum(3), "Spectrum(p=2, presence=False) * Spectrum(p=3, presence=False) has no features"),
        (Spectrum(2).normalized().exp() + Spectrum(2), "Spectrum(p=2, presence=False).normalized().exp() (a term of "),
    ],
    ids=str,
)
def test_a_refusal_names_the_term(kernel: Kernel, term: str) -> None:
    model = mercer.KernelRidge(kernel).fit(DNA, TARGET)
    with pytest.raises(CapabilityError) as caught:
        explain(model, DNA[0])
    assert term in str(caught.value) and "Spectrum, Mismatch, GappedSpectrum" in str(caught.value)


def test_what_is_no_sum_over_features_is_refused() -> None:
    ball = mercer.NoveltyBall(Spectrum(2)).fit(DNA)
    with pytest.raises(InputError, match="NoveltyBall: this decision is not of the form"):
        explain(ball, DNA[0])
    voted = mercer.KernelPerceptron(Spectrum(2), average="voted", random_state=0, max_iter=3)
    with pytest.warns(), pytest.raises(InputError, match="KernelPerceptron: this decision is not of the form"):
        explain(voted.fit(DNA, np.arange(40) * 7 % 11 > 4), DNA[0])
    near = mercer.KernelKNeighborsClassifier(Spectrum(2)).fit(DNA, TWO)
    with pytest.raises(InputError, match=r"explain takes a fitted model of the form.*got KernelKNeighborsClassifier"):
        explain(near, DNA[0])


def test_what_comes_in_is_checked() -> None:
    with pytest.raises(InputError, match="got KernelRidge"):
        explain(mercer.KernelRidge(Spectrum(2)), DNA[0])
    with pytest.raises(InputError, match="got int 3"):
        explain(3, DNA[0])
    model = mercer.KernelRidge(Spectrum(2)).fit(DNA, TARGET)
    for wrong in (DNA[:2], 3, b"ACGT"):
        with pytest.raises(InputError, match="give one string"):
            explain(model, wrong)
    vectors = mercer.KernelRidge(mercer.Exponential(1.0)).fit([[1.0, 0.0], [2.0, 1.0]], [1.0, 2.0])
    with pytest.raises(CapabilityError, match=r"Exponential\(length_scale=1.0\) on 2 columns is not a product"):
        explain(vectors, [1.0, 0.0])


def test_a_model_that_was_saved_explains_the_same(tmp_path: Path) -> None:
    model = mercer.SVC(Spectrum(2).normalized(), C=1.0).fit(DNA, TWO)
    mercer.save(model, tmp_path / "m.mercer")
    again = explain(mercer.load(tmp_path / "m.mercer"), DNA[0])
    assert np.array_equal(again.contributions, explain(model, DNA[0]).contributions)


# -- what is known to matter --------------------------------------------------------------------------------------------


def test_a_planted_motif_is_found() -> None:
    draw = np.random.default_rng(3)
    strings = ["".join(draw.choice(list("ACGT"), 40)) for _ in range(200)]
    planted = [s[:20] + "TATAAT" + s[26:] if i % 2 else s for i, s in enumerate(strings)]
    model = mercer.KernelRidgeClassifier(Spectrum(4).normalized(), alpha=0.1).fit(planted, np.arange(200) % 2)
    x = strings[0][:10] + "TATAAT" + strings[0][16:]
    found = explain(model, x)
    assert set(np.argsort(found.contributions)[-4:]) <= set(range(10, 16))
    assert {one.name for one in found.top(3)} == {"TATA", "ATAA", "TAAT"}


def test_splice_sites_are_where_biologists_know_them(shared_data: Path) -> None:
    """An exon ends before GT, at the middle of the string; nobody told the model."""
    with gzip.open(shared_data / "str_splice.json.gz") as file:
        data = json.load(file)
    order = np.random.default_rng(0).permutation(len(data["strings"]))[:500]
    strings, labels = [data["strings"][i] for i in order], np.array(data["labels"])[order]
    model = mercer.KernelRidgeClassifier(WeightedDegree(4).normalized(), alpha=0.3).fit(strings, labels)
    ends = [s for s, c in zip(strings, labels, strict=True) if c == 0][:40]
    mean = np.mean([explain(model, s, target=0).contributions for s in ends], axis=0)
    assert set(np.argsort(mean)[-2:]) == {30, 31}
    assert sum(s[30:32] == "GT" for s in ends) > 38
