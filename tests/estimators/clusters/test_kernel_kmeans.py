"""Kernel k-means: equal to scikit-learn's on explicit features, on any input, and the number of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_samples
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, Graph, KernelKMeans, Linear, Polynomial, Spectrum, WeisfeilerLehman
from mercer.errors import CapabilityError, InputError
from mercer.estimators.clusters import description, kernel_kmeans
from mercer.estimators.clusters.lloyd import best_partition, lloyd, membership, plus_plus
from mercer.estimators.clusters.spectral import SpectralEmbedding, spectral_embedding

RNG = np.random.default_rng(0)
BLOBS = np.concatenate([RNG.normal(size=(40, 3)) + center for center in ([0, 0, 0], [6, 0, 0], [0, 6, 0])])
TRUTH = np.repeat([0, 1, 2], 40)


DRAWS = "random starts of repeated and of weighted rows differ; with given starts the results are equal, tested below"
EXCUSED = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWS for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [KernelKMeans(n_clusters=3), KernelKMeans(Linear(), n_clusters=2, n_init=2)],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Linear() + 1.0], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_k_means_on_explicit_features(kernel: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, new, weights = rng.normal(size=(70, 2)), rng.normal(size=(30, 2)), rng.uniform(0.5, 2.0, 70)
    seeds = rng.choice(70, 4, replace=False)
    phi = np.asarray(kernel.feature_map(X))
    theirs = KMeans(4, init=phi[seeds], n_init=1, tol=0.0, max_iter=500).fit(phi, sample_weight=weights)
    ours = KernelKMeans(kernel, 4, init=seeds, tol=0.0, max_iter=500).fit(X, sample_weight=weights)
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    features = np.asarray(kernel.feature_map(new))
    assert np.array_equal(ours.predict(new), theirs.predict(features))
    assert np.allclose(ours.transform(new), theirs.transform(features), rtol=1e-8, atol=1e-7)
    assert ours.score(new) == pytest.approx(theirs.score(features), rel=1e-8)


def test_weights_count_as_copies() -> None:
    weights = RNG.integers(1, 4, len(BLOBS))
    seeds = np.array([0, 45, 100])
    copies = np.repeat(np.arange(len(BLOBS)), weights)
    weighted = KernelKMeans(Gaussian(2.0), 3, init=seeds, tol=0.0).fit(BLOBS, sample_weight=weights)
    places = [int(np.flatnonzero(copies == s)[0]) for s in seeds]
    copied = KernelKMeans(Gaussian(2.0), 3, init=places, tol=0.0).fit(BLOBS[copies])
    assert weighted.inertia_ == pytest.approx(copied.inertia_, rel=1e-9)
    assert np.array_equal(weighted.labels_[copies], copied.labels_) and np.allclose(weighted.sizes_, copied.sizes_)


def test_inertia_is_its_definition_and_seeding_beats_random_starts() -> None:
    K = Gaussian(2.0)(BLOBS)
    ones = np.ones(len(K))
    found = best_partition(K, ones, 3, 5, 100, 0.0, np.random.default_rng(1))
    members = membership(found.labels, ones, 3)
    distances = np.diagonal(K) - 2 * (K @ members)[np.arange(len(K)), found.labels]
    distances = distances + np.diagonal(members.T @ K @ members)[found.labels]
    assert found.inertia == pytest.approx(distances.sum(), rel=1e-10)
    rng = np.random.default_rng(2)
    random = [lloyd(K, ones, rng.choice(len(K), 3, replace=False), 100, 0.0).inertia for _ in range(20)]
    seeded = [lloyd(K, ones, plus_plus(K, ones, 3, rng), 100, 0.0).inertia for _ in range(20)]
    assert np.mean(seeded) <= np.mean(random) and min(seeded) <= min(random) + 1e-9


def test_rings_need_a_kernel() -> None:
    rng = np.random.default_rng(3)
    angle, radius = rng.uniform(0, 2 * np.pi, 200), np.repeat([1.0, 4.0], 100)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.1 * rng.normal(size=(200, 2))
    truth = np.repeat([0, 1], 100)
    radial = Linear().map(lambda X: np.sum(np.asarray(X) ** 2, axis=1, keepdims=True))
    assert adjusted_rand_score(truth, KernelKMeans(Linear(), 2).fit_predict(rings)) < 0.2
    assert adjusted_rand_score(truth, KernelKMeans(radial, 2).fit_predict(rings)) == 1.0


@pytest.mark.parametrize("truth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_number_of_clusters_is_found(truth: int, seed: int) -> None:
    rng = np.random.default_rng(10 * truth + seed)
    angle = 2 * np.pi * np.arange(truth) / truth
    centers = 8.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.concatenate([center + rng.normal(size=(50, 2)) for center in centers])
    assert KernelKMeans(Linear(), "auto", random_state=seed).fit(X).n_clusters_ == truth


def test_strings_and_graphs_are_clustered(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list(letters), 15)) for letters in ("ab", "cd") for _ in range(15)]
    model = KernelKMeans(Spectrum(2).normalized(), 2).fit(words)
    assert adjusted_rand_score(np.repeat([0, 1], 15), model.labels_) == 1.0
    assert model.predict(["abab", "dcdc"]).tolist() == [model.labels_[0], model.labels_[-1]]
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(4, 10)]
    graphs += [Graph(n, [(0, i) for i in range(1, n)]) for n in range(4, 10)]
    shapes = KernelKMeans(WeisfeilerLehman(1).normalized(), 2).fit(graphs)
    assert adjusted_rand_score(np.repeat([0, 1], 6), shapes.labels_) > 0.5
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(words), model.predict(words)) and np.array_equal(loaded.labels_, model.labels_)


def test_many_rows_go_through_landmarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_kmeans, "LANDMARKS", 30)
    monkeypatch.setattr(kernel_kmeans, "VALUES", 2**6)
    with pytest.warns(UserWarning, match="so landmarks is taken"):
        model = KernelKMeans(Gaussian(3.0), 3, memory="100 KB").fit(BLOBS)
    assert model.route_.solver == "landmarks" and adjusted_rand_score(TRUTH, model.labels_) == 1.0
    assert adjusted_rand_score(TRUTH, model.predict(BLOBS)) == 1.0
    with pytest.warns(UserWarning, match="so landmarks is taken"):
        assert KernelKMeans(Gaussian(3.0), "auto", memory="100 KB").fit(BLOBS).n_clusters_ == 3
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(BLOBS), model.predict(BLOBS))


@pytest.mark.parametrize("spectral", [False, True])
def test_new_rows_are_told_apart_by_kernel_values(spectral: bool) -> None:
    kernel = Gaussian(3.0)
    model = KernelKMeans(kernel, 3, spectral=spectral).fit(BLOBS[::2])
    given = KernelKMeans(mercer.Precomputed(), 3, spectral=spectral).fit(kernel(BLOBS[::2]))
    values = np.asarray(kernel(BLOBS[1::2], BLOBS[::2]))
    assert np.array_equal(given.predict(values), model.predict(BLOBS[1::2]))
    assert np.array_equal(given.predict(kernel(BLOBS[::2])), model.labels_)
    if not spectral:
        with pytest.raises(InputError, match=r"k\(x, x\) of new objects"):
            given.transform(values[:9])


def test_no_cluster_stays_empty() -> None:
    X = np.array([[0.0], [0.0], [0.0], [10.0], [10.1], [20.0]])
    assert len(np.unique(KernelKMeans(Linear(), 4, init=[0, 1, 2, 3]).fit(X).labels_)) == 4


@pytest.mark.parametrize("settings", [{}, {"spectral": True}], ids=str)
def test_fewer_distinct_rows_than_clusters(settings: dict[str, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="only 2 of 3 clusters have rows, because fewer rows differ"):
        model = KernelKMeans(Gaussian(0.2), 3, **settings).fit([[0.0]] * 4 + [[1.0]] * 3)
    assert len(set(model.labels_[:4])) == len(set(model.labels_[4:])) == 1 and model.labels_[0] != model.labels_[6]
    with pytest.warns(ConvergenceWarning, match="only 1 of 3 clusters have rows"):
        assert KernelKMeans(Linear() + 1.0, 3).fit(np.zeros((5, 2))).inertia_ == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": "many"}, 'n_clusters must be a whole number >= 1 or "auto"; got str'),
        ({"n_clusters": 500}, "only 120 rows have weight"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1.0}, "tol must be"),
        ({"init": "random"}, "init must be 'k-means"),
        ({"init": [0, 1]}, "init must hold 3 row numbers from 0 to 119"),
        ({"init": [0, 1, 120]}, "init must hold 3 row numbers"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"kernel": Linear(), "n_clusters": 3, **change}
    with pytest.raises(InputError, match=words):
        KernelKMeans(**given).fit(BLOBS)


def test_chunks_give_the_same_clusters_as_rows_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_kmeans, "LANDMARKS", 30)
    monkeypatch.setattr(kernel_kmeans, "VALUES", 2**6)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, len(BLOBS))
    model = KernelKMeans(Gaussian(3.0), 3, memory="100 KB")
    with pytest.warns(UserWarning, match="so landmarks is taken"):
        whole = KernelKMeans(Gaussian(3.0), 3, memory="100 KB").fit(BLOBS, sample_weight=weights)
    chunked = model.fit(mercer.chunks(BLOBS, sample_weight=weights, rows=25))
    assert np.array_equal(chunked.labels_, whole.labels_) and chunked.route_.passes > 3
    assert chunked.inertia_ == pytest.approx(whole.inertia_, rel=1e-10)
    assert np.allclose(chunked.sizes_, whole.sizes_, rtol=1e-12)
    assert np.allclose(chunked.transform(BLOBS), whole.transform(BLOBS), atol=1e-7)


def test_all_rows_as_landmarks_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_kmeans, "VALUES", 2**6)
    seeds = [100, 3, 50]
    exact = KernelKMeans(Linear(), 3, init=seeds, tol=0.0).fit(BLOBS)
    landmarks = KernelKMeans(Linear(), 3, init=seeds, tol=0.0).fit(mercer.chunks(BLOBS, rows=50))
    assert np.array_equal(exact.labels_, landmarks.labels_)
    assert landmarks.inertia_ == pytest.approx(exact.inertia_, rel=1e-8)
    assert landmarks.route_.solver == "landmarks" and len(landmarks.X_fit_) == 3


def test_spectral_clusters_and_new_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    angle, radius = rng.uniform(0, 2 * np.pi, 200), np.repeat([1.0, 4.0], 100)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.1 * rng.normal(size=(200, 2))
    truth = np.repeat([0, 1], 100)
    model = KernelKMeans(Gaussian(0.6), 2, spectral=True).fit(rings[::2])
    assert adjusted_rand_score(truth[::2], model.labels_) == 1.0
    assert adjusted_rand_score(truth[1::2], model.predict(rings[1::2])) == 1.0
    assert np.array_equal(model.predict(rings[::2]), model.labels_)
    theirs = SpectralClustering(2, affinity="precomputed", random_state=0).fit(Gaussian(0.6)(rings[::2]))
    assert adjusted_rand_score(theirs.labels_, model.labels_) == 1.0
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(rings), model.predict(rings))


def test_spectral_coordinates_are_steps_of_the_walk_over_copies() -> None:
    weights = RNG.integers(1, 3, 40)
    copies = np.repeat(np.arange(40), weights)
    K = np.asarray(Gaussian(2.0)(BLOBS[:40]))
    coef, axes = spectral_embedding(K, weights.astype(float), 3)
    between = K[np.ix_(copies, copies)].copy()
    np.fill_diagonal(between, 0.0)  # the walk does not stay
    walk = between / between.sum(axis=1, keepdims=True)
    values = np.sort(np.linalg.eigvals(walk).real)[::-1][:3]
    extended = np.linalg.inv(np.diag(K @ weights)) @ K  # one step from any row
    for c, value in enumerate(values):
        # axes = extended W e / value, so e, the eigenvector, is found from coef = W e / (degrees value)
        e = coef[:, c] * value / weights
        assert np.allclose(walk @ e[copies], value * e[copies], atol=1e-10)
        assert np.allclose(extended @ (weights * e) / value, axes[:, c], atol=1e-10)
    embedding = SpectralEmbedding(coef, weights.astype(float), np.zeros((3, 1)))
    assert np.allclose(embedding(Gaussian(2.0), BLOBS[:7], BLOBS[:40]), axes[:7], atol=1e-10)


def test_a_row_without_similar_rows_is_no_spectral_cluster() -> None:
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc", "xyz"]
    model = KernelKMeans(Spectrum(2).normalized(), 2, spectral=True).fit(words)
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:6])) == 1 and model.labels_[0] != model.labels_[3]
    with pytest.raises(InputError, match="no two rows that are similar"):
        KernelKMeans(Spectrum(2).normalized(), 2, spectral=True).fit(["ab", "cd", "ef"])


def test_spectral_needs_similarities() -> None:
    with pytest.raises(InputError, match="similarities >= 0"):
        KernelKMeans(Linear(), 2, spectral=True).fit(BLOBS)
    with pytest.raises(InputError, match="needs the Gram matrix of all rows"):
        KernelKMeans(Gaussian(1.0), 2, spectral=True).fit(mercer.chunks(BLOBS, rows=30))
    with pytest.raises(InputError, match="an iterator is read once"):
        KernelKMeans(Gaussian(1.0), 2).fit(mercer.chunks(iter([BLOBS])))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2)], ids=repr)
def test_silhouettes_are_those_of_distances_in_feature_space(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = KernelKMeans(kernel, 3).fit(BLOBS)
    distances = mercer.geometry.distances(np.asarray(kernel(BLOBS)))
    np.fill_diagonal(distances, 0.0)
    theirs = silhouette_samples(distances, model.labels_, metric="precomputed")
    monkeypatch.setattr(description, "VALUES", 7 * len(BLOBS))  # several blocks
    # squares of distances carry the rounding of kernel values, and their roots its root
    rounding = np.sqrt(len(BLOBS) * np.finfo(float).eps * np.abs(kernel.diag(BLOBS)).max())
    assert np.abs(model.silhouette_samples(BLOBS) - theirs).max() <= 10 * rounding / distances[distances > 0].mean()


def test_silhouettes_of_single_rows_equal_rows_and_spectral_clusters() -> None:
    X = np.array([[0.0], [0.1], [9.0]])
    model = KernelKMeans(Linear(), 2).fit(X)
    found = model.silhouette_samples(X)
    assert found[2] == 0.0 and (found[:2] > 0.9).all()
    pairs = np.array([[0.0], [0.0], [1.0], [1.0]])
    assert KernelKMeans(Linear(), 2).fit(pairs).silhouette_samples(pairs).tolist() == [1.0] * 4
    with pytest.raises(InputError, match="all rows are in one cluster"):
        model.silhouette_samples(X[:2])
    spectral = KernelKMeans(Gaussian(3.0), 3, spectral=True).fit(BLOBS)
    assert spectral.silhouette_samples(BLOBS).mean() > 0.7


def test_nearest_rows_are_those_of_least_distance() -> None:
    model = KernelKMeans(Gaussian(2.0), 3).fit(BLOBS)
    distances = model.transform(BLOBS)
    for cluster, places in enumerate(model.nearest_rows(BLOBS, 4)):
        inside = np.flatnonzero(model.labels_ == cluster)
        assert sorted(places) == sorted(inside[np.argsort(distances[inside, cluster])[:4]])
        assert (np.diff(distances[places, cluster]) >= 0).all()
    assert [len(places) for places in model.nearest_rows(BLOBS[:2], 4)].count(0) >= 1


def test_names_of_clusters_of_tables_strings_and_graphs() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1], 30)
    table = pd.DataFrame({"weight": 10.0 * truth + rng.normal(size=60), "noise": rng.normal(size=60)})
    table["color"] = np.where(truth, "red", "blue")
    table.loc[3, "color"] = None
    model = KernelKMeans(mercer.frame_kernel(table), 2).fit(table)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    names = model.cluster_names(table)
    assert "high weight" in names[model.labels_[-1]] and "color = red" in names[model.labels_[-1]]
    assert "low weight" in names[model.labels_[0]] and not any("noise" in name for name in names)
    graphs = [Graph(4, [(0, 1), (1, 2), (2, 3)], "CCCC")] * 3 + [Graph(4, [(0, 1), (0, 2), (0, 3)], "NOOO")] * 3
    shapes = KernelKMeans(mercer.VertexHistogram().normalized(), 2).fit(graphs)
    assert sorted(shapes.cluster_names(graphs, 1)) in (["many C", "many N"], ["many C", "many O"])
    assert KernelKMeans(Linear(), 1).fit(BLOBS).cluster_names(BLOBS) == ["nothing in particular"]
    strings = KernelKMeans(mercer.Subsequence(2), 2).fit(["ab", "ba", "cd"])
    with pytest.raises(CapabilityError, match="counts nothing"):
        strings.cluster_names(["ab"])
