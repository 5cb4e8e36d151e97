"""What this plugin brings, by name only: nothing of another tool is imported here, nor anywhere in the host."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl
from harness.contract import Ability

LIBLINEAR = ("liblinear-official>=2.43",)
OMIKUJI = ("omikuji>=0.5",)
PECOS = ("libpecos>=1.2", "numpy<2")
VOWPAL = ("vowpalwabbit>=9.10",)
SEVERAL: frozenset[Ability] = frozenset({"multilabel"})


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    return [*_presets(), *_liblinear(), *_omikuji(), *_pecos(), *_vowpal()]


def _presets() -> list[LearnerSpec]:
    presets = "harness_peers.presets"
    return [
        LearnerSpec(
            name="linear-svc",
            load=f"{presets}:LinearSVC",
            kind="flat",
            summary="scikit-learn's LinearSVC: a support vector machine for each class",
        ),
        LearnerSpec(
            name="sgd-hinge",
            load=f"{presets}:SGDHinge",
            kind="flat",
            summary="scikit-learn's SGDClassifier, hinge loss",
        ),
        LearnerSpec(
            name="sgd-log",
            load=f"{presets}:SGDLog",
            kind="flat",
            summary="scikit-learn's SGDClassifier, logistic loss",
        ),
        LearnerSpec(
            name="complement-nb",
            load=f"{presets}:ComplementNB",
            kind="flat",
            summary="scikit-learn's ComplementNB: naive Bayes for uneven classes",
            needs=frozenset({"nonnegative"}),
        ),
        LearnerSpec(
            name="logistic",
            load=f"{presets}:Logistic",
            kind="flat",
            summary="scikit-learn's LogisticRegression: one softmax over all classes",
        ),
        LearnerSpec(
            name="centroid",
            load=f"{presets}:Centroid",
            kind="flat",
            summary="scikit-learn's NearestCentroid: the class whose mean is nearest",
        ),
        LearnerSpec(
            name="knn",
            load=f"{presets}:KNN",
            kind="flat",
            summary="scikit-learn's KNeighborsClassifier, by cosine",
        ),
        LearnerSpec(
            name="dummy",
            load=f"{presets}:Dummy",
            kind="other",
            summary="scikit-learn's DummyClassifier: classes by how frequent they are",
        ),
    ]


def _liblinear() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="liblinear-l2",
            load="harness_peers.linear:L2SVC",
            kind="flat",
            summary="LIBLINEAR: L2-loss support vector machines, one against the rest",
            environment=LIBLINEAR,
        ),
        LearnerSpec(
            name="liblinear-cs",
            load="harness_peers.linear:CrammerSinger",
            kind="flat",
            summary="LIBLINEAR: the multi-class machine of Crammer and Singer",
            environment=LIBLINEAR,
        ),
    ]


def _omikuji() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="omikuji-parabel",
            load="harness_peers.omikuji_trees:Parabel",
            kind="tree",
            summary="Omikuji's Parabel: balanced trees of labels",
            supports=SEVERAL,
            deterministic=False,
            environment=OMIKUJI,
        ),
        LearnerSpec(
            name="omikuji-bonsai",
            load="harness_peers.omikuji_trees:Bonsai",
            kind="tree",
            summary="Omikuji's Bonsai: shallow trees of labels",
            supports=SEVERAL,
            deterministic=False,
            environment=OMIKUJI,
        ),
    ]


def _pecos() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="pecos-xr-linear",
            load="harness_peers.pecos_linear:XRLinear",
            kind="tree",
            summary="PECOS's XR-Linear: a tree of label clusters with linear rankers",
            supports=SEVERAL,
            environment=PECOS,
        ),
        LearnerSpec(
            name="pecos-ovr",
            load="harness_peers.pecos_linear:OneVersusRest",
            kind="flat",
            summary="PECOS without a tree: a linear model for each label",
            supports=SEVERAL,
            environment=PECOS,
        ),
    ]


def _vowpal() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="vw-oaa",
            load="harness_peers.vowpal:OneAgainstAll",
            kind="flat",
            summary="Vowpal Wabbit's one against all",
            environment=VOWPAL,
        ),
        LearnerSpec(
            name="vw-log-multi",
            load="harness_peers.vowpal:LogMulti",
            kind="tree",
            summary="Vowpal Wabbit's online tree of logarithmic depth",
            environment=VOWPAL,
        ),
        LearnerSpec(
            name="vw-recall-tree",
            load="harness_peers.vowpal:RecallTree",
            kind="tree",
            summary="Vowpal Wabbit's recall tree: a few candidates by a tree",
            environment=VOWPAL,
        ),
    ]
