"""Kernels on molecules: substructures that RDKit's fingerprint generators find, unfolded, with their counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.inputs import Rows
from mercer.inputs.graphs import as_molecule, check_atoms
from mercer.kernels.base import ATOM, Derivation, Kernel
from mercer.kernels.counting.profile import CountingRecipe, CountKernel, Profile
from mercer.kernels.counting.table import FeatureTable, present, table_of_counts, unary_table
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import flag, one_of, whole
from mercer.kernels.operators import node
from mercer.kernels.stationary import Exponential
from mercer.kernels.views import View
from mercer.numeric.encodings import Encoding, Index
from mercer.numeric.threads import cpu_count
from mercer.numeric.tiles import row_blocks

#: What is counted.
KINDS = ("circular", "features", "pairs", "torsions")

#: Those that take long for large molecules, which are refused.
LIMITED = ("pairs", "torsions")

#: Identifiers of substructures and their counts in one molecule.
SparseCounts = tuple[Array, Array]

#: Texts whose substructures or descriptors are kept, per setting: folds and candidates ask for the same molecules again.
KEPT_TEXTS = 50_000

#: Texts that are molecules of RDKit at the same time: one takes ten times the memory of its counts.
READ_TEXTS = 1024

_KEPT: dict[Hashable, dict[str, Any]] = {}


def kept_per_molecule(setting: Hashable, rows: Rows, make: Callable[[list[Any]], list[Any]], limited: str = "") -> list[Any]:
    """Return what `make` computes for each molecule; for SMILES texts that were asked for before, as it was then.

    `limited` is not empty if large molecules take so long that they are refused: the words for the message.
    """
    items = rows.items("molecules")

    def checked(molecules: list[Any], places: Iterable[int]) -> list[Any]:
        for place, molecule in zip(places, molecules, strict=True) if limited else ():
            check_atoms(molecule, f"{rows.name}[{place}]", limited)
        return make(molecules)

    if not all(isinstance(item, str) for item in items):
        molecules = rows.molecules()
        return checked(molecules, range(len(molecules)))
    kept = _KEPT.setdefault(setting, {})
    new: dict[str, int] = {}
    for place, text in enumerate(items):
        if text not in kept:
            new.setdefault(text, place)
    texts, places = list(new), list(new.values())
    found: dict[str, Any] = {}
    for part in row_blocks(len(texts), READ_TEXTS):
        molecules = [as_molecule(text, f"{rows.name}[{new[text]}]") for text in texts[part]]
        found.update(zip(texts[part], checked(molecules, places[part]), strict=True))
    result = [found[text] if text in found else kept[text] for text in items]
    if len(kept) + len(found) > KEPT_TEXTS:
        _KEPT[setting] = kept = {}
    kept.update(list(found.items())[:KEPT_TEXTS])
    return result


def _sparse(found: dict[int, int]) -> SparseCounts:
    keys = np.fromiter(found.keys(), dtype=np.int64, count=len(found))
    return keys, np.fromiter(found.values(), dtype=np.int32, count=len(found))


class Substructures:
    """Identifiers of the substructures of many molecules, and how often each occurs, molecule by molecule."""

    def __init__(self, keys: Ints, counts: Ints, first: Ints) -> None:
        self.keys, self.counts, self.first = keys, counts, first  # (M,), (M,), (n + 1,)

    @classmethod
    def of(cls, found: list[SparseCounts]) -> Substructures:
        """Collect the counts of molecules."""
        first = np.concatenate([[0], np.cumsum([len(keys) for keys, _ in found])]).astype(np.int64)
        keys = np.concatenate([keys for keys, _ in found]).astype(np.int64)
        return cls(keys, np.concatenate([counts for _, counts in found]).astype(np.int32), first)

    def __len__(self) -> int:
        return len(self.first) - 1

    def take(self, rows: Index) -> Substructures:
        chosen = np.arange(len(self))[rows]
        sizes = np.diff(self.first)[chosen]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(int(first[-1])) + np.repeat(self.first[chosen] - first[:-1], sizes)
        return Substructures(self.keys[places], self.counts[places], first)

    def align(self, other: Substructures) -> tuple[Substructures, Substructures]:
        return self, other

    def joined(self, other: Substructures) -> Substructures:
        first = np.concatenate([self.first, other.first[1:] + self.first[-1]])
        return Substructures(np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts]), first)

    def table(self) -> FeatureTable:
        """Counts of every identifier that occurs."""
        return table_of_counts(self.keys, self.counts, self.first, int)


@dataclass(frozen=True, repr=False)
class CircularSubstructures(CountKernel):
    """The substructures that two molecules have in common.

    k(x, z) = sum_s min(c_s(x), c_s(z)) with c_s(x) the number of occurrences of the substructure s in x; with counts=False
    the number of substructures in common. Substructures are the neighborhoods of atoms up to `radius` bonds (Rogers and
    Hahn 2010), as RDKit finds and numbers them, without folding. `.tanimoto()` of it is the similarity that chemists use.

    What it cannot see: how substructures are placed in the molecule beyond their radius, mirror images with
    chirality=False, conformations, and isotopes whose mass differs by less than 1 from that of the element, such as 13C.
    Two substructures whose 32-bit identifiers agree by chance count as one. A salt is the union of its parts. A dummy
    atom, *, is an element of its own.

    Parameters
    ----------
    radius : int >= 0, default 2
        Number of bonds around an atom, for kinds "circular" and "features"; ECFP4 has radius 2.
    counts : bool, default True
        Count repeated substructures. False: only whether each occurs.
    chirality : bool, default True
        Tell stereo-isomers apart, where the molecule states its stereo-centers.
    kind : "circular", "features", "pairs" or "torsions"
        Neighborhoods labeled by elements or by the role of atoms (donor, acceptor, aromatic, …), pairs of atoms with their
        distance, or paths of four atoms. The last two are for molecules of at most 1,000 atoms.

    Molecules are SMILES texts, RDKit molecules, or `Graph.from_smiles(text)`.

    >>> k = CircularSubstructures(radius=1).tanimoto()
    >>> k(["CCO", "CCN"]).round(3).tolist()  # doctest: +SKIP
    [[1.0, 0.2], [0.2, 1.0]]
    """

    radius: int = whole(2, at_least=0, at_most=100, keyword=False)
    counts: bool = flag(True)
    chirality: bool = flag(True)
    kind: str = one_of(KINDS, "circular")
    domain = "molecules"
    _quiet = ("counts", "chirality", "kind")

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("substructures", self), lambda: Profile(self._found(rows), CountingRecipe(self._table)), True)

    def _found(self, rows: Rows) -> Substructures:
        # the same for both values of counts
        key = ("substructure counts", self.kind, self.radius, self.chirality)
        limited = f"{self.kind} are counted in molecules" if self.kind in LIMITED else ""
        return rows.remember(key, lambda: Substructures.of(kept_per_molecule(key, rows, self._prints, limited)))

    def _prints(self, molecules: list[Any]) -> list[SparseCounts]:
        prints = self._generator().GetSparseCountFingerprints(tuple(molecules), numThreads=cpu_count())
        return [_sparse(one.GetNonzeroElements()) for one in prints]

    def _generator(self) -> Any:
        from rdkit.Chem import rdFingerprintGenerator

        if self.kind == "pairs":
            return rdFingerprintGenerator.GetAtomPairGenerator(includeChirality=self.chirality)
        if self.kind == "torsions":
            return rdFingerprintGenerator.GetTopologicalTorsionGenerator(includeChirality=self.chirality)
        invariants = rdFingerprintGenerator.GetMorganFeatureAtomInvGen() if self.kind == "features" else None
        return rdFingerprintGenerator.GetMorganGenerator(
            radius=self.radius, includeChirality=self.chirality, atomInvariantsGenerator=invariants
        )

    def _table(self, found: Substructures) -> FeatureTable:
        table = found.table()
        return unary_table(table) if self.counts else present(table)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        """Every substructure of a molecule with the atoms it covers; atoms of repeated ones share them."""
        for key, places in self._places(item).items():
            atoms = tuple(sorted({atom for place in places for atom in place}))
            features = [f"{key} x{t}" for t in range(1, len(places) + 1)] if self.counts else [key]
            for feature in features:
                yield Occurrence(feature, atoms, 1.0, places[0])

    def _places(self, item: Any) -> dict[int, list[tuple[int, ...]]]:
        """The atoms of each occurrence of each identifier in one molecule."""
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator

        molecule = as_molecule(item, "x")
        check_atoms(molecule, "x", "explanations are of molecules")
        output = rdFingerprintGenerator.AdditionalOutput()
        if self.kind == "torsions":
            output.AllocateBitPaths()
        else:
            output.AllocateBitInfoMap()
        self._generator().GetSparseCountFingerprint(molecule, additionalOutput=output)
        if self.kind == "torsions":
            return {key: [tuple(path) for path in paths] for key, paths in output.GetBitPaths().items()}
        info = output.GetBitInfoMap()
        if self.kind == "pairs":
            return {key: [tuple(pair) for pair in pairs] for key, pairs in info.items()}
        distance = Chem.GetDistanceMatrix(molecule)
        return {
            key: [tuple(np.flatnonzero(distance[atom] <= radius).tolist()) for atom, radius in centers]
            for key, centers in info.items()
        }

    def _derivation(self) -> Derivation:
        because = (
            "<phi(x), phi(z)> with phi_(s,t)(x) = 1 if the substructure s occurs at least t times in x: "
            "sum_t [a >= t] [b >= t] = min(a, b)"
            if self.counts
            else "<phi(x), phi(z)> with phi_s(x) = 1 if the substructure s occurs in x"
        )
        return Derivation("explicit features", because)


#: What `k.descriptors()` computes of a molecule, with the value and the spread that are typical of drugs.
DESCRIPTORS = {
    "logP (Crippen)": (2.5, 1.5),
    "root of molar refractivity": (9.0, 2.0),
    "root of polar surface": (7.5, 2.5),
    "log of mass": (5.7, 0.4),
    "root of hydrogen donors": (1.0, 0.6),
    "root of hydrogen acceptors": (2.0, 0.7),
    "root of rotatable bonds": (2.0, 0.9),
    "rings": (3.0, 1.5),
    "share of aromatic atoms": (0.4, 0.25),
    "share of sp3 carbon": (0.4, 0.25),
    "root of heavy atoms": (5.0, 1.2),
    "charge": (0.0, 0.5),
    "root of halogens": (0.5, 0.7),
}


def _described(molecules: list[Any]) -> list[Floats]:
    center, spread = np.array(list(DESCRIPTORS.values())).T
    return [(np.array(_descriptors(molecule)) - center) / spread for molecule in molecules]


def _descriptors(molecule: Any) -> list[float]:
    from rdkit import Chem
    from rdkit.Chem import rdMolDescriptors

    rd, atoms = rdMolDescriptors, list(molecule.GetAtoms())
    heavy = max(molecule.GetNumHeavyAtoms(), 1)
    logp, refractivity = rd.CalcCrippenDescriptors(molecule)
    roots = (
        max(refractivity, 0.0), rd.CalcTPSA(molecule), rd.CalcNumHBD(molecule), rd.CalcNumHBA(molecule),
        rd.CalcNumRotatableBonds(molecule), heavy, sum(atom.GetAtomicNum() in (9, 17, 35, 53) for atom in atoms),
    )  # fmt: skip
    refraction, polar, donors, acceptors, rotatable, size, halogens = (float(value) ** 0.5 for value in roots)
    return [
        logp, refraction, polar, float(np.log(max(rd.CalcExactMolWt(molecule), 1.0))), donors, acceptors, rotatable,
        float(rd.CalcNumRings(molecule)), sum(atom.GetIsAromatic() for atom in atoms) / heavy,
        rd.CalcFractionCSP3(molecule), size, float(Chem.GetFormalCharge(molecule)), halogens,
    ]  # fmt: skip


@node
@dataclass(frozen=True, repr=False)
class Described(View):
    """k(d(x), d(z)): a kernel on vectors for descriptors of molecules, such as logP, mass, polar surface and rings.

    Each is divided by a spread that is typical of drugs, so that one length scale suits all of them; `DESCRIPTORS` names
    them. RDKit computes them.

    >>> from mercer import Gaussian
    >>> k = Gaussian(5.0).descriptors()
    >>> k(["CCO", "CCN", "c1ccccc1"]).round(2)[0].tolist()  # doctest: +SKIP
    [1.0, 0.98, 0.86]
    """

    inner: Kernel = field(metadata={"child": True})

    def width(self) -> None:
        return None

    def _views(self) -> frozenset[str]:
        return frozenset({"molecules"})

    def view(self, rows: Rows) -> Rows:
        def computed() -> Rows:
            return Rows(np.array(kept_per_molecule("descriptors", rows, _described)), f"descriptors of {rows.name}")

        return rows.remember("descriptors", computed, by_row=True)

    def _derivation(self) -> Derivation:
        return Derivation("k(phi(x), phi(z))", f"phi(x) is {len(DESCRIPTORS)} descriptors of a molecule", (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.descriptors()"


def molecule_kernel() -> Kernel:
    """Return the mean of Tanimoto similarities over several kinds of substructures, plus a share of descriptors.

    On assays the mean is better than each of them, and equal weights are better than weights by marginal likelihood.
    """
    return _similar() + 0.3 * Exponential(10.0).descriptors()


def _similar() -> Kernel:
    kinds = [CircularSubstructures(3, kind=kind) for kind in KINDS]
    return reduce(lambda a, b: a + b, (1.0 / len(kinds) * kernel.tanimoto() for kernel in kinds))


def size_kernel() -> Kernel:
    """Return similarity by substructures, plus what grows with a molecule: counts of small substructures, descriptors.

    Properties such as solubility depend on size, which every normalized similarity divides out.
    """
    return _similar() + 0.03 * CircularSubstructures(1) + 1.5 * Exponential(10.0).descriptors()
