"""The pictures beside the main one, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.lab.samples import arrays
from mercer.lab.state import DrawnPoints, LabState, NamedData
from mercer.lab.views import PENALTIES, SETTINGS, at_point, view


def test_gram_is_sorted_by_class() -> None:
    state = LabState(data=NamedData("moons", 20), kernel="Linear()")
    X, c = arrays(state.data)
    order = np.argsort(c, kind="stable")
    assert np.allclose(view(state).image, X[order] @ X[order].T)


def test_spectrum_shows_a_negative_eigenvalue() -> None:
    good = view(LabState(view="spectrum"))
    assert good.dots is not None and not good.lines[0].pieces and "hold 99 %" in good.words
    bad = view(LabState(kernel="Tanh(scale=1.0, offset=-1.0)", view="spectrum", algorithm="mean"))
    assert bad.lines[0].pieces and "negative eigenvalue" in bad.words


@pytest.mark.parametrize("algorithm", ["ridge", "gp", "features"])
def test_surface_is_leaving_out_one_by_one(algorithm: str) -> None:
    state = LabState(data=NamedData("sine", 10), kernel="Gaussian(length_scale=0.5)", algorithm=algorithm, view="loo")
    found = view(state)
    assert found.image is not None and found.image.shape == (SETTINGS, PENALTIES)
    P, _ = arrays(state.data)
    left, right, bottom, top = found.extent
    for row, at in ((0, 0), (8, 12), (16, 24), (5, 3)):
        width = 10 ** (bottom + (top - bottom) * row / (SETTINGS - 1))
        alpha = 10 ** (left + (right - left) * at / (PENALTIES - 1))
        squares = []
        for i in range(len(P)):
            rest = np.delete(P, i, axis=0)
            model = mercer.KernelRidge(mercer.Gaussian(width), alpha=alpha).fit(rest[:, :1], rest[:, 1])
            squares.append((P[i, 1] - model.predict(P[i : i + 1, :1])[0]) ** 2)
        assert found.image[row, at] == pytest.approx(0.5 * np.log10(np.mean(squares)), abs=1e-3)


def test_a_point_of_the_surface_sets_both_numbers() -> None:
    state = LabState(data=NamedData("sine", 10), kernel="2.0 * Gaussian(length_scale=0.5)", algorithm="ridge", view="loo")
    changed = at_point(state, -2.0, 0.0)
    assert changed.parameters["alpha"] == pytest.approx(0.01)
    assert changed.kernel == "2.0 * Gaussian(length_scale=1.0)"
    assert view(changed).chosen == pytest.approx((-2.0, 0.0))
    far = at_point(state, 99.0, -99.0)
    assert far.parameters["alpha"] == 100.0 and "0.05" in far.kernel
    none = at_point(state.having(kernel="Linear()"), -1.0, 5.0)
    assert none.kernel == "Linear()" and view(none).image is not None


def test_margins_are_counted() -> None:
    state = LabState(data=NamedData("random", 30), kernel="Linear()", view="margins")
    X, c = arrays(state.data)
    values = mercer.SVC(mercer.Linear(), C=10.0).fit(X, c).decision_function(X)
    signed = np.sort(np.where(c == 1, values, -values))
    found = view(state)
    assert found.dots is not None and np.allclose(found.dots[1], signed)
    assert found.words.startswith(f"{int(np.sum(signed <= 0))} of 30")
    three = view(state.having(data=NamedData("blobs", 30)))
    assert three.words.startswith("0 of 30")


def test_mistakes_stay_below_the_bound() -> None:
    state = LabState(
        data=NamedData("line", 40), kernel="Linear()", algorithm="perceptron", parameters={"steps": 3}, view="mistakes"
    )
    found = {line.role: line.pieces[0] for line in view(state).lines}
    times, counts = found["exact"]
    assert np.all(np.diff(times) >= 0) and counts[-1] <= found["bound"][1][0]
    assert found["fit"][1].tolist() == [0, 1, 2, 3]
    # rows come in their order: a row is presented at times row + 1, row + 1 + n, …
    X, c = arrays(state.data)
    model = mercer.KernelPerceptron(
        mercer.Linear(), fit_intercept=True, shuffle=False, average=False, stopping="mistakes"
    ).fit(X, c)
    assert ((times[1:-1].astype(int) - 1) % 40).tolist() == model.mistakes_.tolist()
    open_end = view(state.having(data=NamedData("random", 30)))
    assert "no bound" in open_end.words


def test_null_distribution() -> None:
    found = view(LabState(data=NamedData("spread", 60), algorithm="mmd", view="null"))
    assert "499 relabelings" in found.words


def test_projections_count_every_row() -> None:
    state = LabState(data=NamedData("moons", 40), algorithm="discriminant", view="projections")
    found = view(state)
    assert sum(line.pieces[0][1].sum() / 2 for line in found.lines) == 40
    assert "standard deviations" in found.words
    assert "% of the variance" in view(state.having(data=NamedData("blobs", 40))).words


def test_silhouettes_are_sorted_by_cluster() -> None:
    found = view(LabState(data=NamedData("blobs", 40), algorithm="kmeans", view="silhouettes", parameters={"clusters": 3}))
    assert found.dots is not None and len(found.dots[0]) == 40 and (np.diff(found.dots[0]) >= 1).all()
    assert (found.dots[1] <= 1.0).all() and found.words.startswith("mean")
    with pytest.raises(InputError, match="all rows are in one cluster"):
        view(LabState(data=NamedData("blobs", 40), algorithm="kmeans", view="silhouettes", parameters={"clusters": 1}))


def test_a_view_that_is_not_there() -> None:
    with pytest.raises(InputError, match="has no view 'loo'"):
        view(LabState(view="loo"))
    with pytest.raises(InputError, match="there are no rows"):
        view(LabState(data=DrawnPoints(())))
