"""Predictions on molecules taken apart by atoms: parts add up, also through Tanimoto, and a planted group is found."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import polars as pl
import pytest

import mercer
from mercer import CircularSubstructures, Constant, Exponential, Graph, Spectrum, explain
from mercer.errors import CapabilityError, InputError
from mercer.estimators.tables.object_explanation import by_objects
from mercer.explanations import ColumnExplanation, ModelExplanation, MoleculeExplanation, StringExplanation
from mercer.kernels.molecules import KINDS, molecule_kernel, size_kernel

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed (extra graphs)")

GROUPS = ("O", "N", "(=O)O", "c1ccccc1", "C#N", "F", "S", "OC", "(C)C")
SMILES = [f"{'C' * length}{group}" for length in range(1, 7) for group in GROUPS]
y = np.array([text.count("C") - 3.0 * text.count("N") for text in SMILES])
NEW = ["CCCCN", "c1ccccc1C(=O)O", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "[He]"]
KERNELS = [
    *[CircularSubstructures(2, kind=kind).tanimoto() for kind in KINDS],
    CircularSubstructures(1, counts=False).normalized() + Constant(2.0),
    CircularSubstructures(2),
    (CircularSubstructures(1) + 0.5 * CircularSubstructures(kind="pairs")).tanimoto(),
    molecule_kernel(),
    size_kernel(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_parts_add_up_for_every_kernel(kernel: Any) -> None:
    model = mercer.KernelRidge(kernel, alpha=0.1, fit_intercept=True).fit(SMILES, y)
    for text in NEW:
        found: Any = explain(model, text)
        assert isinstance(found, MoleculeExplanation) and found.smiles == text
        assert found.contributions.shape == (Chem.MolFromSmiles(text).GetNumAtoms(),) == (len(found.atoms),)
        size = 1.0 + abs(found.intercept) + abs(found.descriptors) + sum(abs(one.contribution) for one in found.features)
        total = found.intercept + found.descriptors + found.contributions.sum()
        assert abs(total - model.predict([text])[0]) <= 1e-10 * size
        assert abs(sum(one.contribution for one in found.features) - found.contributions.sum()) <= 1e-10 * size


def test_weights_of_tanimoto_are_those_at_the_molecule() -> None:
    """The slow twin: w_s(x) = sum_i a_i phi_s(x_i) / (k_ii + k_xx - k_ix), and each part is w_s phi_s."""
    inner, x = CircularSubstructures(1), "CCCCN"
    model = mercer.KernelRidge(inner.tanimoto(), alpha=0.1).fit(SMILES, y)
    features = inner.feature_map([*SMILES, x]).toarray()
    names = inner.feature_names([*SMILES, x])
    K = features @ features.T
    union = np.diag(K)[:-1] + K[-1, -1] - K[-1, :-1]
    weights = (np.ravel(model.dual_coef_) / union) @ features[:-1]
    found: Any = explain(model, x)
    assert found.contributions.sum() == pytest.approx(float(weights @ features[-1]), abs=1e-12)
    nitrogen = Chem.MolFromSmiles(x)
    places = {str(one.feature): one.positions for one in inner.occurrences(nitrogen) or ()}
    twin = np.zeros(5)
    for name, weight, here in zip(names, weights, features[-1], strict=True):
        if here:
            twin[list(places[str(name)])] += weight / len(places[str(name)])
    np.testing.assert_allclose(found.contributions, twin, atol=1e-12)


def test_a_planted_group_is_found_and_drawn() -> None:
    model = mercer.KernelRidge(CircularSubstructures(1).tanimoto(), alpha=0.01, fit_intercept=True).fit(SMILES, y)
    found: Any = explain(model, "CCCCCN")
    assert int(np.argmin(found.contributions)) == 5 and found.atoms[5] == "N"
    assert any("N" in one.name and one.contribution < 0 for one in found.top(3))
    picture = ElementTree.fromstring(found.svg())
    titles = [node.text or "" for node in picture.iter() if node.tag.endswith("title")]
    assert len([title for title in titles if title.startswith("atom ")]) == 6
    assert "atom 5 (N)" in str(found) and "<table>" in found._repr_html_()
    pairs: Any = explain(mercer.KernelRidge(CircularSubstructures(kind="pairs")).fit(SMILES, y), "CCO.[Na+]")
    assert {"C … O, 2 bonds apart", "CC"} <= {one.name for one in pairs.features}


def test_every_form_of_a_molecule() -> None:
    model = mercer.KernelRidge(CircularSubstructures(1).tanimoto(), alpha=0.1)
    expected: Any = explain(model.fit(SMILES, y), "CCN")
    for form in (Chem.MolFromSmiles, Graph.from_smiles):
        found: Any = explain(model.fit([form(text) for text in SMILES], y), form("CCN"))
        np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-12)
    with pytest.raises(InputError, match="'C1CC' is not a valid SMILES"):
        explain(model.fit(SMILES, y), "C1CC")
    mixed = mercer.KernelRidge(CircularSubstructures(1) + Spectrum(2), alpha=0.1).fit(SMILES, y)
    with pytest.raises(InputError, match="about another object"):
        explain(mixed, "CCN")


def test_rows_whose_counts_were_made_with_others() -> None:
    model = mercer.TableRegressor(random_state=0, time=5).fit(pl.DataFrame({"smiles": SMILES}), y)
    inputs = model.new_inputs(pl.DataFrame({"smiles": SMILES[:8]}))
    values = model.scores(inputs)[:, 0]  # counts all eight
    rows = np.array([1, 5])
    found: Any = by_objects(model, {rule: table.take(rows) for rule, table in inputs.items()}, None)
    assert [one.smiles for one in found] == [SMILES[1], SMILES[5]]
    for one, value in zip(found, values[rows], strict=True):
        assert one.intercept + one.descriptors + one.contributions.sum() == pytest.approx(value, rel=1e-6, abs=1e-8)


def test_the_whole_model() -> None:
    kernel = CircularSubstructures(1).tanimoto() + Exponential(5.0).descriptors()
    model = mercer.KernelRidge(kernel, alpha=0.1).fit(SMILES, y)
    found: Any = explain(model)
    assert isinstance(found, ModelExplanation) and found.rows == len(SMILES) and found.profile.size == 0
    assert any("N" in one.name and one.weight < 0 for one in found.top(5)) and found.svg() == ""
    spreads = [one.spread for one in found.motifs]
    assert spreads == sorted(spreads, reverse=True) and "feature" in str(found) and "<table>" in found.html()


def test_rows_without_a_molecule_leave_the_atoms_of_others() -> None:
    frame = pl.DataFrame({"smiles": [*SMILES[:7], None, *SMILES[8:]]})
    model = mercer.TableRegressor(random_state=0).fit(frame, y)
    found: Any = explain(model, frame[3:4])
    assert isinstance(found, MoleculeExplanation)
    total = found.intercept + found.descriptors + found.contributions.sum()
    assert total == pytest.approx(model.predict(frame[3:4])[0], rel=1e-6, abs=1e-8)
    assert isinstance(explain(model, frame[7:8]), ColumnExplanation) and isinstance(explain(model), ModelExplanation)


def test_table_models_show_atoms_and_letters() -> None:
    frame = pl.DataFrame({"smiles": SMILES})
    model = mercer.TableRegressor(random_state=0).fit(frame, np.exp(y / 3.0))  # skewed: transforms are tried
    for row in (0, 10, 30):
        found: Any = explain(model, frame[row : row + 1])
        assert isinstance(found, MoleculeExplanation)
        total = found.intercept + found.descriptors + found.contributions.sum()
        assert total == pytest.approx(model.predict(frame[row : row + 1])[0], rel=1e-6, abs=1e-8)
    assert isinstance(explain(model), ModelExplanation)
    words = pl.DataFrame({"text": [f"{'good' if i % 2 else 'bad'} thing number {i * i}" for i in range(60)]})
    labels = ["yes" if i % 2 else "no" for i in range(60)]
    classes = mercer.TableClassifier(random_state=0, time=5).fit(words, labels)
    found = explain(classes, words[1:2], target="yes")
    assert isinstance(found, StringExplanation) and found.value == pytest.approx(
        classes.scores(classes.new_inputs(words[1:2]))[0, 1], abs=1e-8
    )
    top = explain(classes, target="yes")
    assert isinstance(top, ModelExplanation) and any(set(one.name) <= set("good ") for one in top.top(5))
    x = np.random.default_rng(0).normal(size=60)
    two = words.with_columns(pl.Series("x", x))
    columns = mercer.TableRegressor(random_state=0, time=5).fit(two, 3.0 * x + np.arange(60) % 2)
    assert isinstance(explain(columns, two[:1]), ColumnExplanation)
    with pytest.raises(CapabilityError, match="single column of text, graphs or molecules"):
        explain(columns)
