"""Promise and truth of `mercer fit` on tables in time and in groups.

python -m benchmarks.table_promise            # dated tables: score and interval of held-out rows, score of later rows
python -m benchmarks.table_promise --groups   # strong group effects: twenty simulations, scores of new groups
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.inputs.tables import Table
from mercer.workflow.question import FitSettings, ask
from mercer.workflow.training import Training, scores_of, train

SHARED = "../shared/data"

#: Rows of a table, drawn in their order, and rows of them that are fitted; the later ones are the truth.
ROWS, FITTED = 2000, 1400

#: A short search: the claim is about the split, not about the best model.
SETTINGS = FitSettings(time=4.0)


def electricity(n: int = ROWS, seed: int = 0) -> Table:
    """Return prices that go up or down: a class that follows a slow process, which a date column gives away."""
    rng = np.random.default_rng(seed)
    level, demand = np.zeros(n), np.zeros(n)
    for i in range(1, n):
        level[i] = 0.97 * level[i - 1] + 0.24 * rng.standard_normal()
        demand[i] = 0.8 * demand[i - 1] + 0.6 * rng.standard_normal()
    up = level + 0.4 * demand + 0.2 * rng.standard_normal(n) > 0
    date = np.datetime64("2023-01-01") + (np.arange(n) * 30).astype("timedelta64[m]")
    return Table({"date": date, "demand": demand, "noise": rng.standard_normal(n), "class": np.where(up, "UP", "DOWN")})


def tables() -> Iterator[tuple[str, Table, str, Any]]:
    """Yield name, table, target and the order that is asked for; None: the rule of `mercer fit` decides."""
    from mercer.inputs.reading import read_table

    yield "electricity (simulated)", electricity(), "class", None
    storms = read_table(f"{SHARED}/tables/dplyr_storms.csv.gz")
    names = [name for name in storms.columns if name not in ("rownames", "category", "status")]
    yield "storms", _drawn(storms[names]), "wind", ["year", "month", "day", "hour"]
    for name in ("bike", "sml"):
        with np.load(f"{SHARED}/reg_{name}.npz") as data:
            X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
        columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
        yield name, _drawn(Table({**columns, "y": y})), "y", True


def _drawn(table: Table) -> Table:
    rows = np.sort(np.random.default_rng(0).choice(len(table), min(ROWS, len(table)), replace=False))
    found: Table = table[rows]
    return Table({name: found[name].to_numpy() for name in found.columns})


def reached(training: Training, later: Table) -> float:
    """Return the first score of the saved model on later rows."""
    model, target = training.final, later[training.question.target].to_numpy()
    X = later[list(training.question.names)]
    if training.classes is None:
        return scores_of(target, model.predict(X), None)[0].value
    return scores_of(target, model.predict_proba(X), training.classes)[0].value


def dated() -> None:
    """Print promise and truth of the dated tables."""
    for name, table, target, order in tables():
        share = int(len(table) * FITTED / ROWS)
        training = train(ask(name, table[np.arange(share)], target, order=order), SETTINGS)
        random = train(ask(name, table[np.arange(share)], target, order=False), SETTINGS)
        later = table[np.arange(share, len(table))]
        score, truth = training.scores[0], reached(training, later)
        holds = score.low <= truth <= score.high
        said = " ".join(training.notes)
        word = "holds" if holds else "a note said so" if "may change again" in said else "BROKEN"
        other = random.scores[0]
        print(
            f"{name}: {score.measure} promised {score.value:.4g} ({score.low:.4g} to {score.high:.4g}), "
            f"reached {truth:.4g}, {word}; rows at random promise {other.value:.4g} ({other.low:.4g} to {other.high:.4g}), "
            f"reached {reached(random, later):.4g}",
            flush=True,
        )


def grouped(runs: int = 20) -> None:
    """Print how often the promise for new groups holds, by groups and by rows at random."""
    kept = {"groups": 0, "rows": 0}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(260), 6)
        own = rng.standard_normal((260, 4))
        x = rng.standard_normal(len(groups))
        y = np.sin(x) + 1.5 * rng.standard_normal(260)[groups] + 0.2 * rng.standard_normal(len(groups))
        signature = own[groups] + 0.01 * rng.standard_normal((len(groups), 4))
        columns = {"x": x, **{f"s{i}": signature[:, i] for i in range(4)}, "group": groups.astype(str), "y": y}
        table = Table({name: np.asarray(cells) for name, cells in columns.items()})
        known = np.flatnonzero(groups < 60)
        settings = FitSettings(kernel="Laplacian('median')", seed=seed)
        for word, group in (("groups", "group"), ("rows", None)):
            drop = () if group else ("group",)
            training = train(
                ask("groups", table[known], "y", drop=drop, group=group, order=None if group else False), settings
            )
            truth = reached(training, table[np.flatnonzero(groups >= 60)])
            kept[word] += training.scores[0].low <= truth <= training.scores[0].high
    print(f"new groups: the interval contains the truth in {kept['groups']} of {runs} runs; rows at random: {kept['rows']}")


def main() -> None:
    """Run the requested part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", action="store_true")
    if parser.parse_args().groups:
        grouped()
    else:
        dated()


if __name__ == "__main__":
    main()
