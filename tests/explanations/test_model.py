"""Whole models on strings: weights equal the sums over training rows, profiles add up, and a planted motif is found."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from tests.explanations.test_explain import DNA, KERNELS, TARGET, THREE

import mercer
from mercer import Gaussian, Kernel, Spectrum, WeightedDegree, explain
from mercer.errors import CapabilityError, InputError
from mercer.explanations.model import DRAWN, logo


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_profile_and_intercept_are_the_mean_decision(kernel: Kernel) -> None:
    model = mercer.KernelRidge(kernel, alpha=0.5, fit_intercept=True).fit(DNA, TARGET)
    found: Any = explain(model)
    assert found.rows == len(DNA) and found.profile.shape == (max(map(len, DNA)), 4) and found.letters == tuple("ACGT")
    size = 1.0 + abs(found.intercept) + np.abs(found.profile).sum()
    assert abs(found.profile.sum() + found.intercept - model.predict(DNA).mean()) <= 1e-10 * size


def test_weights_are_sums_over_the_training_rows() -> None:
    kernel = Spectrum(2, shortest=1)
    model = mercer.KernelRidge(kernel, alpha=0.5).fit(DNA, TARGET)
    weights = dict(zip(kernel.feature_names(DNA), kernel.feature_map(DNA).T @ np.ravel(model.dual_coef_), strict=True))
    features = dict(zip(kernel.feature_names(DNA), kernel.feature_map(DNA).toarray().T, strict=True))
    for one in explain(model).motifs:
        assert one.weight == pytest.approx(weights[one.name], abs=1e-12)
        assert one.spread == pytest.approx(abs(weights[one.name]) * features[one.name].std(), abs=1e-7)
        assert one.share == pytest.approx((features[one.name] > 0).mean())


def test_a_planted_motif_and_its_place_are_found() -> None:
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(120)]
    strings[::2] = [text[:8] + "TATA" + text[12:] for text in strings[::2]]
    model = mercer.SVC(WeightedDegree(4).normalized(), C=10.0).fit(strings, ["box", "none"] * 60)
    found: Any = explain(model, target="box")
    assert found.motifs[0].name.endswith(("@9", "@10", "@11")) and found.motifs[0].weight > 0
    assert set(np.argsort(-found.places())[:4].tolist()) == {8, 9, 10, 11} and "places with" in str(found)
    drawn = ElementTree.fromstring(found.svg())
    letters = [node.text for node in drawn.iter() if node.tag.endswith("text")]
    assert {"T", "A"} <= set(letters) and "<svg" in found.html() and found.svg() in found._repr_html_()


def test_long_profiles_and_tokens_are_drawn() -> None:
    profile = np.random.default_rng(0).normal(size=(DRAWN + 30, 3))
    ElementTree.fromstring(logo(profile, tuple("abc"), 400))
    model = mercer.KernelRidge(Spectrum(1), alpha=0.5).fit([["big", "cat"], ["big", "dog"], ["dog"]], [1.0, 0.0, -1.0])
    found: Any = explain(model)
    assert set(found.letters) == {"big", "cat", "dog"} and {one.name for one in found.motifs} == {"big", "cat", "dog"}
    ElementTree.fromstring(found.svg())


def test_what_has_no_features_is_named() -> None:
    with pytest.raises(CapabilityError, match=r"has no named features.*give a row"):
        explain(mercer.KernelRidge(Gaussian(1.0)).fit([[0.0], [1.0]], [0.0, 1.0]))
    several = mercer.KernelRidgeClassifier(Spectrum(2)).fit(DNA, THREE)
    with pytest.raises(InputError, match="several outputs"):
        explain(several)
    assert explain(several, target="y").label == "class 'y'"
