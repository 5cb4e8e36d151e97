"""Side results of the papers that need more than trials; writes their folders in results/.

    python benchmarks/details.py [NAME...]

disagreement     share of test rows whose class changes from pass to pass (flat techniques 2010)
hsvm-dual        dual objective by sweep, and share of support vectors (Cai and Hofmann 2004)
lomtree-nodes    J, purity, entropy and its bound by number of nodes; depth against accuracy (LOMtree, NIPS 2015)
mistake-bounds   mistakes of perceptron and Winnow beside their bounds (lecture notes)

Each folder gets numbers.csv, table.md and figure.svg. The datasets must be available (`harness data list`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sources import represented

from harness.data.arrays import open_dataset
from harness.data.split import draw_split
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import preparer, resolve_dataset
from harness.host.contract import Dataset
from harness.host.discovery import Session
from harness.syntax.split import parse_split
from harness_index import OOZ
from harness_prototype import PA, Perceptron
from harness_svm import HSVM, CrammerSinger
from harness_tree import LOMtree
from harness_tree.statistics import entropy_bound

OUT = Path(__file__).resolve().parent.parent / "results"
SEEDS = (0, 1, 2)
Detail = tuple[pd.DataFrame, Figure]


def open_by_name(name: str) -> Dataset:
    """Open a dataset of the catalog; parse it if it is not cached."""
    session = Session()
    header = preparer(session)(resolve_dataset(parse_dataset(name), session.catalog))
    return open_dataset(Path(header.folder))


def split_rows(data: Dataset, representation: str, share: float, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return X and y of the training rows and of the test rows."""
    train, test = draw_split(parse_split(f"holdout:{share}"), data.rows, seed, data.splits, data.y)
    X_train, X_test = represented(data, representation, train, test)
    return X_train, data.y[train], X_test, data.y[test]


# -- disagreement ----------------------------------------------------------------------------------------------------


def disagreement() -> Detail:
    """Measure the share of test rows whose predicted class differs from the pass before."""
    learners: dict[str, Callable[[int], Any]] = {
        "pa": lambda seed: PA(C=1.0, passes=10, random_state=seed),
        "perceptron": lambda seed: Perceptron(passes=10, random_state=seed),
        "ooz": lambda seed: OOZ(beta=0.05, delta=0.1, d=100, passes=10, random_state=seed),
    }
    rows = []
    for name in ("newsgroups", "lshtc1-dryrun"):
        data = open_by_name(name)
        for seed in SEEDS:
            parts = split_rows(data, "tfidf", 0.2, seed)
            for learner, make in learners.items():
                rows += _changes(name, learner, make(seed), parts, seed)
    frame = pd.DataFrame(rows)
    means = frame.groupby(["dataset", "learner", "pass"], as_index=False)[["changed", "r1"]].mean()
    figure, axes = _panels(means["dataset"].unique())
    for (dataset, learner), lines in means.dropna().groupby(["dataset", "learner"]):
        axes[dataset].plot(lines["pass"], lines["changed"], marker=".", label=learner)
    _label(axes, "pass", "share of test rows with another class")
    return means, figure


def _changes(dataset: str, learner: str, model: Any, parts: tuple[Any, ...], seed: int) -> list[dict[str, Any]]:
    X, y, X_test, y_test = parts
    before: list[NDArray[Any]] = []
    rows = []

    def after_pass(number: int) -> None:
        named = model.predict(X_test)
        changed = float((named != before[-1]).mean()) if before else math.nan
        before.append(named)
        r1 = float((named == y_test).mean())
        row = {"dataset": dataset, "learner": learner, "seed": seed, "pass": number, "changed": changed, "r1": r1}
        rows.append(row)

    model.fit(X, y, after_pass=after_pass)
    return rows


# -- dual objective --------------------------------------------------------------------------------------------------


def hsvm_dual() -> Detail:
    """Measure the dual objective after each sweep, as a share of the last one, and the share of support vectors."""
    data = open_by_name("newsgroups")
    X, y, X_test, y_test = split_rows(data, "tfidf", 0.8, 0)
    rows = []
    for name, model in (
        ("crammer-singer", CrammerSinger(C=1.0, tol=0.001, max_sweeps=200, trace=True, random_state=0)),
        ("hsvm", HSVM(C=1.0, tol=0.001, max_sweeps=200, trace=True, random_state=0)),
    ):
        extra = {"taxonomy": data.taxonomy} if name == "hsvm" else {}
        model.fit(X, y, **extra)
        error = float((model.predict(X_test) != y_test).mean())
        for sweep, value in enumerate(model.dual_, start=1):
            share = float(value / model.dual_[-1])
            support = float(model.support_share_)
            row = {"learner": name, "sweep": sweep, "dual": float(value), "share of the last": share}
            rows.append(row | {"support share": support, "test error": error})
    frame = pd.DataFrame(rows)
    figure, axes = _panels(["newsgroups, a fifth of it"])
    (axis,) = axes.values()
    for name, lines in frame.groupby("learner"):
        axis.plot(lines["sweep"], 1 - lines["share of the last"] + 1e-9, label=name)
    axis.set_yscale("log")
    _label(axes, "sweep", "distance of the dual to its last value")
    last = frame.groupby("learner", as_index=False).last()
    return last, figure


# -- tree nodes ------------------------------------------------------------------------------------------------------


def lomtree_nodes() -> Detail:
    """Measure G of the training rows by number of nodes beside its bound, and depth, J, purity and test error."""
    rows = []
    figure, axes = _panels(["isolet", "newsgroups"])
    for name, representation in (("isolet", "tf"), ("newsgroups", "tfidf")):
        data = open_by_name(name)
        X, y, X_test, y_test = split_rows(data, representation, 0.1, 0)
        n_classes = len(data.class_names)
        for size in (n_classes - 1, 2 * n_classes, 4 * n_classes, 8 * n_classes):
            model = LOMtree(T=size, eta=0.1, passes=10, random_state=0).fit(X, y)
            found = model.statistics()
            row = {
                "dataset": name,
                "T": size,
                "nodes": found.nodes.size,
                "depth": found.depth,
                "mean depth": found.mean_depth,
                "mean J": found.objective,
                "impurity": found.impurity,
                "G": found.quality,
                "test error": float((model.predict(X_test) != y_test).mean()),
            }
            rows.append(row)
        curve = found.quality_by_nodes()
        axes[name].plot(curve, label="G of the tree")
        bound = entropy_bound(np.arange(curve.size), max(found.edge, 1e-6), n_classes, start=curve[0])
        axes[name].plot(bound, linestyle="--", label="bound with the tree's least J / 2")
    _label(axes, "splits, the heaviest first", "G: mean entropy of a leaf (nats)")
    return pd.DataFrame(rows), figure


# -- mistakes --------------------------------------------------------------------------------------------------------


def mistake_bounds() -> Detail:
    """Count mistakes until a pass has none: few relevant features suit Winnow, few active ones the perceptron."""
    rows = []
    for n_features in (64, 128, 256, 512, 1024):
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            relevant = _dense_rows(rng, n_features, n_relevant=4)
            sparse = _sparse_rows(rng, n_features, n_active=4)
            for case, (X, y, bounds) in {"few relevant features": relevant, "few active features": sparse}.items():
                winnow = _winnow_mistakes if case == "few relevant features" else _balanced_winnow_mistakes
                for learner, count in (("perceptron", _perceptron_mistakes), ("winnow", winnow)):
                    row = {"case": case, "features": n_features, "learner": learner, "mistakes": count(X, y)}
                    rows.append(row | {"bound": bounds[learner]})
    frame = pd.DataFrame(rows)
    means = frame.groupby(["case", "features", "learner"], as_index=False).mean()
    figure, axes = _panels(means["case"].unique())
    for (case, learner), lines in means.groupby(["case", "learner"]):
        axes[case].plot(lines["features"], lines["mistakes"], marker=".", label=learner)
        axes[case].plot(lines["features"], lines["bound"], linestyle=":", label=f"{learner}, bound")
        axes[case].set_xscale("log")
        axes[case].set_yscale("log")
    _label(axes, "features", "mistakes")
    return means, figure


Rows = tuple[NDArray[np.float64], NDArray[np.bool_], dict[str, float]]


def _dense_rows(rng: np.random.Generator, n_features: int, n_relevant: int) -> Rows:
    """Return rows with half of all features active, labelled by a disjunction of a few relevant ones."""
    X = (rng.random((600, n_features)) < 0.5).astype(np.float64)
    X[rng.random(600) < 0.5, :n_relevant] = 0
    y = np.asarray(X[:, :n_relevant].any(axis=1))
    # Novikoff with the separator w = 1 on relevant features, threshold 1/2, taken in as a feature of value 1.
    most_active = X.sum(axis=1).max() + 1
    margin = 0.5 / math.sqrt(n_relevant + 0.25)
    return X, y, {"perceptron": most_active / margin**2, "winnow": 2 + 3 * n_relevant * (math.log2(n_features) + 1)}


def _sparse_rows(rng: np.random.Generator, n_features: int, n_active: int) -> Rows:
    """Return rows with few active features, all relevant: the sum of their signs is the class."""
    signs = rng.choice([-1.0, 1.0], n_features)
    X = np.zeros((600, n_features))
    for row in X:
        row[rng.choice(n_features, n_active - 1, replace=False)] = 1
    votes = X @ signs
    keep = votes != 0
    X, votes = X[keep], votes[keep]
    # Novikoff with w = the signs: a row has n_active - 1 features and the constant one; the margin is 1 / |w|. Winnow's
    # bound is for disjunctions and does not apply here.
    return X, votes > 0, {"perceptron": n_active * (n_features + 1.0), "winnow": math.nan}


def _perceptron_mistakes(X: NDArray[np.float64], y: NDArray[np.bool_], most_passes: int = 400) -> int:
    """Count the mistakes of the perceptron with a constant feature."""
    X = np.column_stack([X, np.ones(len(X))])
    w, mistakes = np.zeros(X.shape[1]), 0
    for _ in range(most_passes):
        before = mistakes
        for x, is_true in zip(X, y, strict=True):
            if (x @ w > 0) != is_true:
                w += x if is_true else -x
                mistakes += 1
        if mistakes == before:
            break
    return mistakes


def _winnow_mistakes(X: NDArray[np.float64], y: NDArray[np.bool_], most_passes: int = 400) -> int:
    """Count the mistakes of Winnow with alpha = 2 and the number of features as threshold."""
    w, mistakes = np.ones(X.shape[1]), 0
    for _ in range(most_passes):
        before = mistakes
        for x, is_true in zip(X, y, strict=True):
            if (x @ w >= X.shape[1]) != is_true:
                w[x > 0] *= 2.0 if is_true else 0.5
                mistakes += 1
        if mistakes == before:
            break
    return mistakes


def _balanced_winnow_mistakes(X: NDArray[np.float64], y: NDArray[np.bool_], most_passes: int = 400) -> int:
    """Count the mistakes of balanced Winnow with alpha = 2 and a constant feature."""
    X = np.column_stack([X, np.ones(len(X))])
    plus, minus, mistakes = np.ones(X.shape[1]), np.ones(X.shape[1]), 0
    for _ in range(most_passes):
        before = mistakes
        for x, is_true in zip(X, y, strict=True):
            if (x @ (plus - minus) > 0) != is_true:
                active = x > 0
                factor = 2.0 if is_true else 0.5
                plus[active] *= factor
                minus[active] /= factor
                mistakes += 1
        if mistakes == before:
            break
    return mistakes


# -- writing ---------------------------------------------------------------------------------------------------------

DETAILS: dict[str, Callable[[], Detail]] = {
    "disagreement": disagreement,
    "hsvm-dual": hsvm_dual,
    "lomtree-nodes": lomtree_nodes,
    "mistake-bounds": mistake_bounds,
}


def _panels(titles: Any) -> tuple[Figure, dict[str, Any]]:
    mpl.rcParams["svg.hashsalt"] = "harness"  # makes the file reproducible
    figure = Figure(figsize=(5 * len(titles), 3.6), layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False)[0]
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
    return figure, dict(zip(titles, axes, strict=True))


def _label(axes: dict[str, Any], x: str, y: str) -> None:
    for axis in axes.values():
        axis.set_xlabel(x)
        axis.legend()
    next(iter(axes.values())).set_ylabel(y)


def main() -> None:
    parser = argparse.ArgumentParser(description="Side results of the papers.")
    parser.add_argument("names", nargs="*", choices=[*DETAILS, []], help=f"of {', '.join(DETAILS)}; default: all")
    for name in parser.parse_args().names or DETAILS:
        frame, figure = DETAILS[name]()
        folder = OUT / name
        folder.mkdir(parents=True, exist_ok=True)
        frame.to_csv(folder / "numbers.csv", index=False, float_format="%.6g")
        (folder / "table.md").write_text(frame.to_markdown(index=False, floatfmt=".4g") + "\n")
        figure.savefig(folder / "figure.svg", metadata={"Date": None})
        print(f"{name}\n{frame.to_string(index=False)}\n")


if __name__ == "__main__":
    main()
