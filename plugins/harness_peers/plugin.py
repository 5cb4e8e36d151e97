"""What this plugin brings, by name only: nothing of another tool is imported here, nor anywhere in the host."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl
from harness.contract import Ability

FASTTEXT = ("fasttext-wheel==0.9.2",)  # 0.9.3 learns from memory that nobody has set, unless it has ten threads
HICLASS = ("hiclass>=5",)
LIBLINEAR = ("liblinear-official>=2.43",)
LIBMULTILABEL = ("libmultilabel>=0.10",)
LIGHTGBM = ("lightgbm>=4.6",)
NAPKINXC = ("napkinxc>=0.7",)
OMIKUJI = ("omikuji>=0.5",)
PECOS = ("libpecos>=1.2", "numpy<2")
TRANSFORMERS = ("transformers>=4.50", "torch>=2.5")
VOWPAL = ("vowpalwabbit>=9.10",)
XGBOOST = ("xgboost-cpu>=3",)
SEVERAL: frozenset[Ability] = frozenset({"multilabel"})
TEXTS_TOO: frozenset[Ability] = frozenset({"multilabel", "text"})


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    several_tools = [*_fasttext(), *_libmultilabel(), *_napkinxc(), *_omikuji(), *_pecos(), *_vowpal()]
    return [*_presets(), *_liblinear(), *_boosting(), _hiclass(), *several_tools, _transformer()]


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
        LearnerSpec(
            name="vw-plt",
            load="harness_peers.vowpal:LabelTree",
            kind="tree",
            summary="Vowpal Wabbit's probabilistic label tree",
            supports=SEVERAL,
            environment=VOWPAL,
        ),
    ]


def _napkinxc() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="napkinxc-plt",
            load="harness_peers.napkinxc_models:PLT",
            kind="tree",
            summary="napkinXC's probabilistic label tree",
            supports=SEVERAL,
            environment=NAPKINXC,
        ),
        LearnerSpec(
            name="napkinxc-hsm",
            load="harness_peers.napkinxc_models:HSM",
            kind="tree",
            summary="napkinXC's hierarchical softmax",
            environment=NAPKINXC,
        ),
        LearnerSpec(
            name="napkinxc-ovr",
            load="harness_peers.napkinxc_models:OneVersusRest",
            kind="flat",
            summary="napkinXC without a tree: a linear classifier for each class",
            environment=NAPKINXC,
        ),
    ]


def _fasttext() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="fasttext",
            load="harness_peers.fasttext_models:Softmax",
            kind="flat",
            summary="fastText: averaged vectors of words, a softmax over all classes",
            supports=TEXTS_TOO,
            deterministic=False,
            environment=FASTTEXT,
        ),
        LearnerSpec(
            name="fasttext-hs",
            load="harness_peers.fasttext_models:HierarchicalSoftmax",
            kind="tree",
            summary="fastText with its hierarchical softmax",
            supports=TEXTS_TOO,
            deterministic=False,
            environment=FASTTEXT,
        ),
    ]


def _hiclass() -> LearnerSpec:
    return LearnerSpec(
        name="hiclass-per-parent",
        load="harness_peers.hiclass_parents:PerParent",
        kind="tree",
        summary="HiClass: a classifier at each parent node of the class tree",
        needs=frozenset({"taxonomy"}),
        environment=HICLASS,
    )


def _libmultilabel() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="libmultilabel-tree",
            load="harness_peers.libmultilabel_linear:Tree",
            kind="tree",
            summary="LibMultiLabel's tree of label clusters with linear models",
            supports=SEVERAL,
            deterministic=False,
            environment=LIBMULTILABEL,
        ),
        LearnerSpec(
            name="libmultilabel-ovr",
            load="harness_peers.libmultilabel_linear:OneVersusRest",
            kind="flat",
            summary="LibMultiLabel without a tree: a linear model for each label",
            supports=SEVERAL,
            deterministic=False,
            environment=LIBMULTILABEL,
        ),
    ]


def _boosting() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="lightgbm",
            load="harness_peers.lightgbm_trees:LightGBM",
            kind="flat",
            summary="LightGBM: boosted decision trees, one for each class in each round",
            environment=LIGHTGBM,
        ),
        LearnerSpec(
            name="xgboost",
            load="harness_peers.xgboost_trees:XGBoost",
            kind="flat",
            summary="XGBoost: boosted decision trees, one for each class in each round",
            supports=SEVERAL,
            environment=XGBOOST,
        ),
    ]


def _transformer() -> LearnerSpec:
    return LearnerSpec(
        name="transformer",
        load="harness_peers.transformer:Transformer",
        kind="flat",
        summary="a pretrained transformer from a folder, fine-tuned on the texts",
        needs=frozenset({"text"}),
        preload=("harness_peers.transformer",),
        environment=TRANSFORMERS,
    )
