"""ONNX graphs of table models against predict."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mercer
from mercer.errors import CapabilityError

pd = pytest.importorskip("pandas")
pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
NAMES = [f"city {i}" for i in range(40)]


def frame(n, holes=False, rng=RNG):
    """Numbers, categories, ordered levels and booleans."""
    found = pd.DataFrame({
        "u": rng.normal(size=n),
        "v": rng.exponential(size=n),
        "c": rng.choice(["a", "b", "d"], n),
        "flag": rng.random(n) < 0.5,
        "size": pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True),
        "city": rng.choice(NAMES, n),
    })  # fmt: skip
    if holes:
        found.loc[rng.random(n) < 0.2, "v"] = np.nan
        found.loc[rng.random(n) < 0.2, "c"] = None
    return found


def target(X):
    return X["u"] * np.where(X["flag"], 1.0, 2.0) + np.nan_to_num(X["v"]) + (X["c"] == "a") + 0.1 * RNG.normal(size=len(X))


def evaluated(model, new, dtype="float64"):
    session = runtime.InferenceSession(
        mercer.to_onnx(model, dtype=dtype).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feed = {}
    for given in session.get_inputs():
        cells = new[given.name]
        texts = np.array(["" if cell is None or cell != cell else str(cell) for cell in cells], dtype=object)
        feed[given.name] = (texts if given.type == "tensor(string)" else cells.to_numpy().astype(dtype))[:, None]
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))


def agree(model, new, dtype="float64"):
    found = evaluated(model, new, dtype)
    numbers = new.select_dtypes("float").astype(dtype).astype("float64")  # float32: predict on the same rounded values
    same = new.assign(**{name: numbers[name] for name in numbers})
    wanted = model.predict_proba(same) if hasattr(model, "classes_") else model.predict(same)
    key = "probabilities" if hasattr(model, "classes_") else "prediction"
    np.testing.assert_allclose(found[key], wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    if "label" in found:
        clear = np.diff(np.sort(wanted, axis=1)[:, -2:])[:, 0] > 1e-9
        assert (found["label"] == model.predict(same))[clear].all()


K, C = mercer.Laplacian(2.0), 1.0 * mercer.Categorical() + 1.0
COLUMNS = K.on("u") * K.on("v") * C.on("c") * C.on("city") + 0.5 * mercer.Linear().on("size") + 1.0


@pytest.mark.parametrize(
    ("model", "holes"),
    [
        (mercer.TableRegressor(kernel=COLUMNS), False),
        (mercer.TableRegressor(kernel=COLUMNS), True),
        (mercer.TableClassifier(kernel=COLUMNS), True),
        pytest.param(mercer.TableRegressor(random_state=0), False, marks=pytest.mark.slow),
        pytest.param(mercer.TableRegressor(random_state=0), True, marks=pytest.mark.slow),
        pytest.param(mercer.TableClassifier(random_state=0), True, marks=pytest.mark.slow),
    ],
    ids=["columns", "columns with holes", "classes", "search", "search with holes", "search of classes"],
)
def test_predictions_of_tables(model, holes):
    X = frame(120, holes)
    y = target(X)
    model.fit(X, np.where(y > 1, "many", "few") if "Classifier" in type(model).__name__ else np.exp(y))
    new = frame(300, holes)
    new.loc[0, "c"], new.loc[1, "city"] = "new", "new"  # unseen levels
    new.loc[2, "u"] = np.nan  # a hole where training had none
    new.loc[3, "city"] = None
    agree(model, new)
    agree(model, new, "float32")


@pytest.mark.parametrize(
    ("rule", "kernel"), [("standard", mercer.PowerExponential(2.0, power=1.4)), ("quantile", mercer.Matern(1.5))]
)
def test_every_scaling_of_candidates(rule, kernel, monkeypatch):
    """The graph of each scaling, whatever the search would choose; knots of quantiles fill several blocks."""
    from mercer.estimators.tables import candidates

    one = [candidates.Candidate("one", rule, "given", kernel, "none")]
    monkeypatch.setattr("mercer.estimators.tables.fitting.candidates", lambda width, mixed: one)
    X = frame(100, True)
    model = mercer.TableRegressor(random_state=0).fit(X, target(X))
    assert {member.scaling for member in model.members_} == {rule}
    new = frame(200, True)
    new.loc[0, "u"], new.loc[1, "u"] = 100.0, -100.0  # outside of the knots
    agree(model, pd.concat([X, new]))


def test_a_transformed_target():
    X = frame(80)[["u", "c"]]
    model = mercer.TableRegressor(kernel=mercer.Gaussian(1.0)).fit(X, np.exp(3 * X["u"]))
    from dataclasses import replace

    from mercer.estimators.tables.targets import YEO_JOHNSON, transform_of

    for y in (np.exp(3 * X["u"]), -np.exp(X["u"]), X["u"] * 1.0):
        transform = transform_of(YEO_JOHNSON, np.asarray(y)[:, None])
        agree(model.with_members([replace(m, transform=transform) for m in model.members_]), frame(100)[["u", "c"]])
        for power in (0.0, 2.0):
            other = replace(transform, power=np.array([power]))
            agree(model.with_members([replace(m, transform=other) for m in model.members_]), frame(100)[["u", "c"]])


def test_what_cannot_be_exported_is_named():
    X = frame(40).drop(columns="city")
    X["when"] = pd.date_range("2026-01-01", periods=40)
    model = mercer.TableRegressor(kernel=K.on("u") * K.on("when"), order=False).fit(X, RNG.normal(size=40))
    with pytest.raises(CapabilityError, match="column 'when' holds dates"):
        mercer.to_onnx(model)
    X = pd.DataFrame({"u": RNG.normal(size=30), "c": [True, "True"] * 15})
    with pytest.raises(CapabilityError, match="two levels with the text 'True'"):
        mercer.to_onnx(mercer.TableRegressor(kernel=mercer.Gaussian(1.0)).fit(X, X["u"]))
    with pytest.raises(NotFittedError):
        mercer.to_onnx(mercer.TableRegressor())


def test_logistic_members_and_costs():
    """Members whose scores are log-odds, and labels of the smallest expected cost."""
    from dataclasses import replace

    X = frame(80)[["u", "c"]]
    y = np.where(X["u"] > 0.3, "many", "few")
    model = mercer.TableClassifier(kernel=mercer.Gaussian(1.0), scoring=[[0.0, 1.0], [5.0, 0.0]]).fit(X, y)
    linked = [replace(member, transform=replace(member.transform, link=True)) for member in model.members_]
    for each in (model, model.with_members(linked)):
        found = evaluated(each, X)
        np.testing.assert_allclose(found["probabilities"], each.predict_proba(X), rtol=0, atol=1e-9)
        assert (found["label"] == each.predict(X)).all()
    P = model.predict_proba(X)
    assert (model.predict(X) != model.classes_[P.argmax(axis=1)]).any()  # costs decide
