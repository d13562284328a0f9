"""Pictures against their definitions, written out with plain matrices."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.errors import InputError, MercerError
from mercer.lab.pictures import CELLS, along, grid, kernel_of, picture, rows_of
from mercer.lab.samples import RECIPES, arrays, kind_of, texts
from mercer.lab.state import ALGORITHMS, PLANE, WORDS, DrawnPoints, LabState, NamedData, Words
from mercer.lab.tour import page_state

GAUSS = "Gaussian(length_scale=0.8)"


def curve(algorithm: str, n: int = 30, **parameters: float) -> LabState:
    return LabState(data=NamedData("sine", n), kernel=GAUSS, algorithm=algorithm, parameters=parameters)


def plane(algorithm: str, name: str = "moons", n: int = 40, kernel: str = GAUSS, **parameters: float) -> LabState:
    return LabState(data=NamedData(name, n), kernel=kernel, algorithm=algorithm, parameters=parameters)


def line(state: LabState, role: str) -> np.ndarray:
    found = [one for one in picture(state).lines if one.role == role]
    assert len(found) == 1 and len(found[0].pieces) >= 1
    return found[0].pieces[0][1]


@pytest.mark.parametrize("name", RECIPES)
def test_data_lie_in_the_square_and_are_the_same_every_time(name: str) -> None:
    if RECIPES[name].kind == WORDS:
        assert texts(NamedData(name))[0] == texts(NamedData(name))[0]
        return
    P, c = arrays(NamedData(name, 50))
    assert P.shape == (50, 2) and np.abs(P).max() <= 3.0 and c.min() >= 0
    assert np.array_equal(P, arrays(NamedData(name, 50))[0])
    if name not in ("tent", "airfoil", "penguins"):
        assert not np.array_equal(P, arrays(NamedData(name, 50, 1))[0])


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_takes_its_data_and_refuses_others(algorithm: str, recipe: str) -> None:
    kernel = "Spectrum(p=2).normalized()" if RECIPES[recipe].kind == WORDS else GAUSS
    state = LabState(data=NamedData(recipe, 30), algorithm=algorithm, kernel=kernel)
    if kind_of(state.data) not in ALGORITHMS[algorithm].takes:
        with pytest.raises(InputError, match="takes"):
            picture(state)
        return
    try:
        found = picture(state)
    except InputError as error:  # some samples have one class, some three
        assert "two classes" in str(error) or "two samples" in str(error)
    else:
        assert len(found.places) == len(rows_of(state)) and found.facts


def test_ridge_is_the_formula() -> None:
    state = curve("ridge", alpha=0.2)
    P, _ = arrays(state.data)
    k = mercer.Gaussian(0.8)
    coef = np.linalg.solve(k(P[:, :1]) + 0.2 * np.eye(len(P)), P[:, 1])
    assert np.allclose(line(state, "fit"), k(along(), P[:, :1]) @ coef)


def test_leave_one_out_error_is_by_leaving_out() -> None:
    state = curve("ridge", n=12, alpha=0.2)
    P, _ = arrays(state.data)
    squares = []
    for i in range(len(P)):
        rest = np.delete(P, i, axis=0)
        model = mercer.KernelRidge(mercer.Gaussian(0.8), alpha=0.2).fit(rest[:, :1], rest[:, 1])
        squares.append((P[i, 1] - model.predict(P[i : i + 1, :1])[0]) ** 2)
    assert dict(picture(state).facts)["leave-one-out error"] == f"{np.sqrt(np.mean(squares)):.4g}"


def test_process_is_the_formula() -> None:
    state = curve("gp", noise=0.1)
    P, _ = arrays(state.data)
    k = mercer.Gaussian(0.8)
    G, Z = np.linalg.inv(k(P[:, :1]) + 0.1 * np.eye(len(P))), k(along(), P[:, :1])
    std = np.sqrt(1.0 - np.einsum("ij,jk,ik->i", Z, G, Z))
    band = picture(state).band
    assert band is not None
    assert np.allclose(band[1], Z @ G @ P[:, 1] - 2 * std, atol=1e-6)
    assert np.allclose(band[2], Z @ G @ P[:, 1] + 2 * std, atol=1e-6)


def test_many_random_features_are_the_exact_fit() -> None:
    few, many = (curve("features", alpha=1.0, D=D) for D in (4, 400))
    gaps = [float(np.abs(line(state, "fit") - line(state, "exact")).max()) for state in (few, many)]
    assert gaps[1] < 0.1 * gaps[0] and gaps[1] < 0.1
    assert np.allclose(line(many, "exact"), line(curve("ridge", alpha=1.0), "fit"))


def test_machine_and_its_marks() -> None:
    state = plane("svm", C=5.0)
    X, c = arrays(state.data)
    model = mercer.SVC(mercer.Gaussian(0.8), C=5.0).fit(X, c)
    found = picture(state)
    assert found.surface is not None
    assert np.allclose(found.surface, np.clip(model.decision_function(grid()[1]), -2, 2).reshape(CELLS, CELLS))
    assert found.marked.tolist() == model.support_.tolist()


def test_contours_lie_where_the_function_is_zero() -> None:
    found = picture(plane("mean"))
    X, c = arrays(NamedData("moons", 40))
    model = mercer.NearestMean(mercer.Gaussian(0.8)).fit(X, c)
    [boundary] = found.lines
    scale = np.abs(model.decision_function(grid()[1])).max()
    for x, y in boundary.pieces:
        assert np.abs(model.decision_function(np.column_stack([x, y]))).max() < 0.01 * scale


@pytest.mark.parametrize("steps", [0, 1, 7, 5000])
def test_perceptron_is_rosenblatts_loop(steps: int) -> None:
    state = plane("perceptron", "line", kernel="Linear()", steps=steps)
    X, c = arrays(state.data)
    signs, w = np.where(c == 1, 1.0, -1.0), np.zeros(3)
    Z, done = np.column_stack([X, np.ones(len(X))]), 0
    for _ in range(1000):
        before = done
        for i in range(len(Z)):
            if done < steps and signs[i] * (Z[i] @ w) <= 0:
                w, done = w + signs[i] * Z[i], done + 1
        if done == before:
            break
    found = picture(state)
    G = grid()[1]
    assert found.surface is not None
    assert np.allclose(found.surface.ravel(), G @ w[:2] + w[2])
    wrong = [i for i in range(len(Z)) if signs[i] * (Z[i] @ w) <= 0]
    assert (len(wrong) == 0) == ("separated after" in dict(found.facts)["state"]) == (steps == 5000)
    assert set(found.marked.tolist()) <= set(wrong)


def test_regions_of_three_classes() -> None:
    for algorithm in ("svm", "mean", "knn"):
        state = plane(algorithm, "blobs")
        found = picture(state)
        assert found.surface is None and found.regions is not None and set(np.unique(found.regions)) == {0, 1, 2}


def test_neighbors_of_the_plane() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    state = plane("knn", kernel="Linear()", k=3)
    X, c = arrays(state.data)
    theirs = KNeighborsClassifier(3).fit(X, c).predict_proba(grid()[1])[:, 1]
    found = picture(state)
    assert found.surface is not None
    assert np.mean(np.isclose(found.surface.ravel(), 2 * theirs - 1)) > 0.999  # ties of distances aside
    assert picture(plane("knn", n=4, k=25)).facts


def test_ball_is_the_distance_to_the_mean() -> None:
    state = plane("ball", "arc", quantile=1.0)
    X, _ = arrays(state.data)
    k = mercer.Gaussian(0.8)
    found, G = picture(state), grid()[1]
    assert found.surface is not None
    squares = 1.0 - 2.0 * k(G, X).mean(axis=1) + k(X).mean()
    order = np.argsort(found.surface.ravel())
    assert np.all(np.diff(squares[order]) < 1e-9)  # farther is lower
    assert len(found.marked) == 0


def test_component_is_that_of_linear_pca() -> None:
    state = plane("pca", "arc", kernel="Linear()", components=1, shown=1)
    X, _ = arrays(state.data)
    centered = X - X.mean(axis=0)
    direction = np.linalg.svd(centered)[2][0]
    expected = (grid()[1] - X.mean(axis=0)) @ direction
    found = picture(state)
    assert found.surface is not None and found.arrows is not None
    sign = np.sign(found.surface.ravel() @ expected)
    assert np.allclose(sign * found.surface.ravel(), expected, atol=1e-8)
    on_line = X.mean(axis=0) + np.outer(centered @ direction, direction)
    assert np.allclose(found.arrows[1], on_line, atol=1e-2)


def test_witness_is_the_difference_of_means() -> None:
    state = plane("mmd", "spread", n=60)
    X, c = arrays(state.data)
    k, G = mercer.Gaussian(0.8), grid()[1]
    found = picture(state)
    assert found.surface is not None
    expected = k(G, X[c == 1]).mean(axis=1) - k(G, X[c == 0]).mean(axis=1)
    assert np.allclose(found.surface.ravel(), expected, atol=1e-10)
    assert float(dict(found.facts)["p-value"]) < 0.05
    blind = picture(plane("mmd", "spread", n=60, kernel="Linear()"))
    assert float(dict(blind.facts)["p-value"]) > 0.05


def test_clusters_are_those_of_k_means() -> None:
    state = plane("kmeans", "blobs", n=60, kernel="Linear()", clusters=3)
    X, _ = arrays(state.data)
    found = picture(state)
    model = mercer.KernelKMeans(mercer.Linear(), 3).fit(X)
    assert found.regions is not None and np.array_equal(found.regions.ravel(), model.predict(grid()[1]))
    assert sorted(model.labels_[found.marked]) == [0, 1, 2]  # one point beside each center
    assert float(dict(found.facts)["agreement with the classes (adjusted Rand index)"]) > 0.8
    assert picture(plane("kmeans", n=3, clusters=4)).facts and picture(plane("kmeans", clusters=1)).facts
    page = page_state("clusters")
    assert float(dict(picture(page).facts)["agreement with the classes (adjusted Rand index)"]) < 0.2
    rings = picture(page.setting(spectral=1))
    assert dict(rings.facts)["agreement with the classes (adjusted Rand index)"] == "1"


def test_discriminant_is_that_of_linear_discriminant_analysis() -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    state = plane("discriminant", "line", n=60, kernel="Linear()", penalty=1e-7)
    X, c = arrays(state.data)
    found = picture(state)
    theirs = LinearDiscriminantAnalysis().fit(X, c).decision_function(grid()[1])
    assert found.surface is not None
    assert np.allclose(found.surface.ravel(), theirs, atol=1e-3 * np.abs(theirs).max())
    assert "penalty by leave-one-out" in dict(found.facts)


def test_words_are_classified_and_placed() -> None:
    state = LabState(data=NamedData("fruit"), kernel="Spectrum(p=2).normalized()", algorithm="svm", query="havana")
    found = picture(state)
    assert dict(found.facts)["the class of 'havana'"] == "0"
    assert found.labels[0] == "banana" and found.extra is not None and np.abs(found.places).max() <= 3.0
    run = picture(state.having(algorithm="perceptron", parameters={"steps": 5000}))
    assert dict(run.facts)["errors on the points"] == "0 of 10"
    assert "separated" in dict(run.facts)["state"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (LabState(data=DrawnPoints(())), "two classes are needed, and there is 0"),
        (LabState(data=DrawnPoints(((0.0, 0.0, 0), (1.0, 1.0, 0)))), "two classes are needed, and there is 1"),
        (LabState(data=DrawnPoints((), "curve"), algorithm="ridge"), "a curve needs two points"),
        (LabState(data=DrawnPoints(()), algorithm="ball"), "two points are needed"),
        (LabState(data=NamedData("blobs"), algorithm="mmd"), "two samples are the classes 0 and 1"),
        (LabState(data=NamedData("blobs"), algorithm="perceptron"), "takes two classes"),
        (LabState(data=Words((("a", 0),))), "three words are needed"),
        (LabState(kernel="Gaussian(length_scale=0.0)"), "length_scale must be"),
        (LabState(kernel="Spectrum(p=2)"), "a kernel on strings takes a list of strings"),
        (LabState(data=NamedData("sine"), kernel="Gaussian([1.0, 2.0, 3.0])", algorithm="ridge"), "column"),
    ],
)
def test_what_cannot_be_computed_is_said(state: LabState, words: str) -> None:
    with pytest.raises(MercerError) as refused:
        picture(state)
    assert words in str(refused.value)


def test_median_becomes_a_number() -> None:
    state = plane("svm", kernel='Gaussian(length_scale="median")')
    assert isinstance(kernel_of(state).get_params()["length_scale"], float)
    assert picture(state).facts
    assert kind_of(state.data) == PLANE
