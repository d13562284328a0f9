"""Substructures of molecules: equal to RDKit's own counts and similarities, and readable from every form of a molecule."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import CircularSubstructures, Graph, KernelRidge, parse
from mercer.errors import InputError
from mercer.kernels import molecules
from mercer.kernels.molecules import DESCRIPTORS, KINDS
from mercer.testing import check_kernel

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed (extra graphs)")

SMILES = ["CCO", "CCN", "c1ccccc1O", "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "C*"]
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "mol_moleculeace.json.gz"


def prints_of(kernel: CircularSubstructures, smiles: list[str]) -> list[dict[int, int]]:
    """RDKit's own unfolded counts, made one molecule at a time."""
    from rdkit.Chem import rdFingerprintGenerator

    makers: dict[str, Any] = {
        "circular": lambda: rdFingerprintGenerator.GetMorganGenerator(
            radius=kernel.radius, includeChirality=kernel.chirality
        ),
        "features": lambda: rdFingerprintGenerator.GetMorganGenerator(
            radius=kernel.radius,
            includeChirality=kernel.chirality,
            atomInvariantsGenerator=rdFingerprintGenerator.GetMorganFeatureAtomInvGen(),
        ),
        "pairs": lambda: rdFingerprintGenerator.GetAtomPairGenerator(includeChirality=kernel.chirality),
        "torsions": lambda: rdFingerprintGenerator.GetTopologicalTorsionGenerator(includeChirality=kernel.chirality),
    }
    maker = makers[kernel.kind]()
    return [maker.GetSparseCountFingerprint(Chem.MolFromSmiles(text)).GetNonzeroElements() for text in smiles]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("chirality", [True, False])
def test_values_are_sums_over_rdkit_counts(kind: str, counts: bool, chirality: bool) -> None:
    kernel = CircularSubstructures(2, counts=counts, chirality=chirality, kind=kind)
    prints = prints_of(kernel, SMILES)

    def twin(x: dict[int, int], z: dict[int, int]) -> int:
        return sum(min(x[s], z[s]) if counts else 1 for s in x.keys() & z.keys())

    expected = [[twin(x, z) for z in prints] for x in prints]
    assert kernel(SMILES).tolist() == expected
    assert kernel(SMILES[:3], SMILES[3:]).tolist() == [row[3:] for row in expected[:3]]
    features = kernel.feature_map(SMILES)
    assert (features @ features.T).toarray().tolist() == expected
    assert len(kernel.feature_names(SMILES)) == features.shape[1]


@pytest.mark.skipif(not SHARED.is_file(), reason="the shared data are not here")
@pytest.mark.parametrize("counts", [True, False])
def test_tanimoto_equals_rdkit_on_five_thousand_molecules(counts: bool) -> None:
    from rdkit import DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    data = json.loads(gzip.decompress(SHARED.read_bytes()))
    smiles = [text for assay in data.values() for text in assay["smiles"]][:5000]
    maker = rdFingerprintGenerator.GetMorganGenerator(radius=2, includeChirality=True)
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    make = maker.GetSparseCountFingerprint if counts else maker.GetSparseFingerprint
    prints = [make(molecule) for molecule in molecules]
    K = CircularSubstructures(2, counts=counts).tanimoto()(smiles[:40], smiles)
    for row in range(40):
        assert K[row].tolist() == list(DataStructs.BulkTanimotoSimilarity(prints[row], prints))


def test_a_molecule_has_several_forms() -> None:
    kernel = CircularSubstructures(2)
    texts = SMILES[:5]
    forms: list[Any] = [[Chem.MolFromSmiles(text) for text in texts], [Graph.from_smiles(text) for text in texts]]
    forms.append(np.array(texts, dtype=object))
    for form in forms:
        assert np.array_equal(kernel(form), kernel(texts))
    assert pickle.loads(pickle.dumps(forms[1][3])).smiles == texts[3]


def test_stereo_isomers_are_told_apart_on_request() -> None:
    left, right = SMILES[3:5]
    assert CircularSubstructures(2).tanimoto()([left, right])[0, 1] < 1.0
    assert CircularSubstructures(2, chirality=False).tanimoto()([left, right])[0, 1] == 1.0


@pytest.mark.parametrize(
    "kernel",
    [
        CircularSubstructures(),
        CircularSubstructures(1, counts=False).tanimoto(),
        0.5 * CircularSubstructures(2).tanimoto() + CircularSubstructures(2, kind="pairs").normalized(),
    ],
)
def test_laws(kernel: Any) -> None:
    check_kernel(kernel, SMILES)
    assert kernel.certificate().status == "valid" and parse(repr(kernel)) == kernel


def test_places_of_substructures_cover_their_atoms() -> None:
    molecule = "CC(=O)Oc1ccccc1C(=O)O"
    for kind in KINDS:
        kernel = CircularSubstructures(2, kind=kind)
        found = list(kernel._occurrences(molecule))
        assert sorted(str(one.feature) for one in found) == sorted(map(str, kernel.feature_names([molecule])))
        assert all(0 <= atom < 13 for one in found for atom in one.positions)


def test_models_of_molecules_are_saved(tmp_path: Path) -> None:
    y = np.arange(5.0)
    for rows in (SMILES[:5], [Graph.from_smiles(text) for text in SMILES[:5]]):
        model = KernelRidge(CircularSubstructures(2).tanimoto(), alpha=0.1).fit(rows, y)
        mercer.save(model, tmp_path / "model")
        assert np.array_equal(mercer.load(tmp_path / "model").predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "not a valid SMILES"),
        ("C(", r"X\[1\]: 'C\(' is not a valid SMILES"),
        ("C" * 30_000, "30000 characters; at most 20000"),
        (3.5, r"X\[1\] is .* not a molecule. Give SMILES text"),
        (Graph(2, [(0, 1)]), "other graphs have too little chemistry"),
    ],
)
def test_what_is_no_molecule_is_named(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        CircularSubstructures()(["CCO", value])
    with pytest.raises(InputError, match="without atoms"):
        CircularSubstructures()([Chem.Mol()])


@pytest.mark.parametrize("kind", ["pairs", "torsions"])
def test_pairs_and_paths_of_large_molecules_are_refused(kind: str) -> None:
    kernel, large = CircularSubstructures(kind=kind), "C" * 1001
    assert kernel(["CCO", "C" * 200])[1, 1] > 0
    for X in (["CCO", large], [Chem.MolFromSmiles(text) for text in ("CCO", large)]):
        with pytest.raises(InputError, match=rf"X\[1\] has 1,001 atoms; {kind} are counted in molecules of at most 1,000"):
            kernel(X)


def test_explanations_of_large_molecules_are_refused() -> None:
    model = KernelRidge(CircularSubstructures(1)).fit(["CCO", "CCN", "CCC"], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="explanations are of molecules of at most 1,000 atoms"):
        mercer.explain(model, "C" * 1001)


def test_what_isotopes_are() -> None:
    k = CircularSubstructures(2).tanimoto()
    assert k(["[13CH4]", "C"])[0, 1] == 1.0  # as RDKit's invariants of atoms have it
    assert k(["[14CH4]", "C"])[0, 1] == 0.0 and k(["[2H]C", "C"])[0, 1] < 1.0
    assert k(["CC(=O)[O-]", "CC(=O)O"])[0, 1] < 1.0


def test_descriptors_are_rdkits_in_typical_spreads() -> None:
    from rdkit.Chem import rdMolDescriptors

    texts = ["CCO", "c1ccccc1Cl", "CC(=O)[O-].[Na+]", "[H][H]", "CCCCCCCCCCCC"]
    phi = mercer.Linear().descriptors().feature_map(texts)
    assert phi.shape == (5, len(DESCRIPTORS))
    for row, text in zip(phi, texts, strict=True):
        molecule = Chem.MolFromSmiles(text)
        values = dict(zip(DESCRIPTORS, row, strict=True))
        center, spread = DESCRIPTORS["logP (Crippen)"]
        np.testing.assert_allclose(
            values["logP (Crippen)"] * spread + center,
            rdMolDescriptors.CalcCrippenDescriptors(molecule)[0],
            rtol=1e-9,
            atol=1e-9,
        )
        center, spread = DESCRIPTORS["log of mass"]
        mass = np.log(rdMolDescriptors.CalcExactMolWt(molecule))
        np.testing.assert_allclose(values["log of mass"] * spread + center, mass, rtol=1e-9)
    k = mercer.Gaussian(5.0).descriptors()
    assert mercer.parse(str(k)) == k and "13 descriptors of a molecule" in str(k.certificate())
    np.testing.assert_allclose(k(texts), mercer.Gaussian(5.0)(phi), rtol=1e-12)


def test_kept_substructures_are_those_of_a_first_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, texts = mercer.CircularSubstructures(2, kind="pairs"), ["CCO", "CCN", "CCO", "c1ccccc1"]
    monkeypatch.setattr(molecules, "_KEPT", {})
    first = kernel(texts)
    np.testing.assert_array_equal(kernel([*texts, "CCCl"])[:4, :4], first)  # some are known, one is new
    monkeypatch.setattr(molecules, "KEPT_TEXTS", 2)
    monkeypatch.setattr(molecules, "_KEPT", {})
    np.testing.assert_array_equal(kernel(texts), first)
    assert all(len(kept) <= 2 for kept in molecules._KEPT.values())


@pytest.mark.parametrize("text", ["", "  ", "C1CC", "C" * 20_001])
def test_empty_and_unreadable_molecules_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"X\[1\]"):
        mercer.CircularSubstructures()(["CCO", text])


def test_salts_dummy_atoms_and_long_chains_are_molecules() -> None:
    k = mercer.CircularSubstructures(1).tanimoto()
    salt, acid = "CC(=O)[O-].[Na+]", "CC(=O)[O-]"
    values = k([salt, acid, "*CCO", "CCO", "C" * 10_000])
    assert 0.0 < values[0, 1] < 1.0 and 0.0 < values[2, 3] < 1.0 and values[4, 4] == 1.0
