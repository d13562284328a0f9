"""Kernels on molecules: substructures that RDKit's fingerprint generators find, unfolded, with their counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Ints
from mercer.inputs import Rows
from mercer.inputs.graphs import as_molecule
from mercer.kernels.base import Derivation
from mercer.kernels.counting.profile import CountingRecipe, CountKernel, Profile
from mercer.kernels.counting.table import FeatureTable, present, table_of_counts, unary_table
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import flag, one_of, whole
from mercer.numeric.encodings import Encoding, Index
from mercer.numeric.threads import cpu_count

#: What is counted.
KINDS = ("circular", "features", "pairs", "torsions")


class Substructures:
    """Identifiers of the substructures of many molecules, and how often each occurs, molecule by molecule."""

    def __init__(self, keys: Ints, counts: Ints, first: Ints) -> None:
        self.keys, self.counts, self.first = keys, counts, first  # (M,), (M,), (n + 1,)

    @classmethod
    def of(cls, prints: list[Any]) -> Substructures:
        """Collect the sparse count fingerprints of RDKit."""
        found = [fingerprint.GetNonzeroElements() for fingerprint in prints]
        first = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
        keys = np.fromiter((key for one in found for key in one), dtype=np.int64, count=int(first[-1]))
        counts = np.fromiter((count for one in found for count in one.values()), dtype=np.int64, count=int(first[-1]))
        return cls(keys, counts, first)

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
    chirality=False, and conformations. Two substructures whose 32-bit identifiers agree by chance count as one.

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
        distance, or paths of four atoms.

    Molecules are SMILES texts, RDKit molecules, or `Graph.from_smiles(text)`.

    >>> k = CircularSubstructures(radius=1).tanimoto()
    >>> k(["CCO", "CCN"]).round(3).tolist()  # doctest: +SKIP
    [[1.0, 0.2], [0.2, 1.0]]
    """

    radius: int = whole(2, at_least=0, keyword=False)
    counts: bool = flag(True)
    chirality: bool = flag(True)
    kind: str = one_of(KINDS, "circular")
    domain = "molecules"
    _quiet = ("counts", "chirality", "kind")

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("substructures", self), lambda: Profile(self._found(rows), CountingRecipe(self._table)))

    def _found(self, rows: Rows) -> Substructures:
        # the same for both values of counts
        key = ("substructure counts", self.kind, self.radius, self.chirality)
        return rows.remember(key, lambda: Substructures.of(self._prints(rows.molecules())))

    def _prints(self, molecules: list[Any]) -> list[Any]:
        return list(self._generator().GetSparseCountFingerprints(tuple(molecules), numThreads=cpu_count()))

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
            times = len(places)
            if not self.counts:
                atoms = tuple(sorted({atom for place in places for atom in place}))
                yield Occurrence(key, atoms, 1.0)
                continue
            for t in range(1, times + 1):
                yield Occurrence(f"{key} x{t}", tuple(sorted({atom for place in places for atom in place})), 1.0)

    def _places(self, item: Any) -> dict[int, list[tuple[int, ...]]]:
        """The atoms of each occurrence of each identifier in one molecule."""
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator

        molecule = as_molecule(item, "x")
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
