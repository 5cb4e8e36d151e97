"""Registers classifiers of scikit-learn by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl

PRESETS = "harness_sklearn.presets"


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the built-in learners of this family."""
    return [
        LearnerSpec(
            name="linear-svc",
            load=f"{PRESETS}:LinearSVC",
            kind="flat",
            summary="scikit-learn's LinearSVC: a support vector machine for each class",
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="sgd-hinge",
            load=f"{PRESETS}:SGDHinge",
            kind="flat",
            summary="scikit-learn's SGDClassifier, hinge loss",
            tune={"alpha": [1e-06, 1e-05, 0.0001, 0.001]},
        ),
        LearnerSpec(
            name="sgd-log",
            load=f"{PRESETS}:SGDLog",
            kind="flat",
            summary="scikit-learn's SGDClassifier, logistic loss",
            tune={"alpha": [1e-06, 1e-05, 0.0001, 0.001]},
        ),
        LearnerSpec(
            name="complement-nb",
            load=f"{PRESETS}:ComplementNB",
            kind="flat",
            summary="scikit-learn's ComplementNB: naive Bayes for uneven classes",
            needs=frozenset({"nonnegative"}),
            tune={"alpha": [0.03, 0.1, 0.3, 1.0]},
        ),
        LearnerSpec(
            name="logistic",
            load=f"{PRESETS}:Logistic",
            kind="flat",
            summary="scikit-learn's LogisticRegression: one softmax over all classes",
            tune={"C": [0.1, 1.0, 10.0, 100.0]},
        ),
        LearnerSpec(
            name="centroid",
            load=f"{PRESETS}:Centroid",
            kind="flat",
            summary="scikit-learn's NearestCentroid: the class whose mean is nearest",
        ),
        LearnerSpec(
            name="knn",
            load=f"{PRESETS}:KNN",
            kind="flat",
            summary="scikit-learn's KNeighborsClassifier, by cosine",
            tune={"n_neighbors": [1, 3, 5, 15]},
        ),
        LearnerSpec(
            name="dummy",
            load=f"{PRESETS}:Dummy",
            kind="other",
            summary="scikit-learn's DummyClassifier: classes by how frequent they are",
        ),
    ]
