"""Registers the wrappers of other tools by name. The tools are imported by trials only."""

from __future__ import annotations

from harness import Ability, LearnerSpec, hookimpl

FASTTEXT = ("fasttext-wheel==0.9.2",)  # 0.9.3 reads uninitialised memory unless it has ten threads
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
    """Return the built-in learners of this family."""
    several_tools = [*_fasttext(), *_libmultilabel(), *_napkinxc(), *_omikuji(), *_pecos(), *_vowpal()]
    return [*_liblinear(), *_boosting(), _hiclass(), *several_tools, _transformer()]


def _liblinear() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="liblinear-l2",
            load="harness_peers.linear:L2SVC",
            kind="flat",
            summary="LIBLINEAR: L2-loss support vector machines, one against the rest",
            environment=LIBLINEAR,
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="liblinear-cs",
            load="harness_peers.linear:CrammerSinger",
            kind="flat",
            summary="LIBLINEAR: the multi-class machine of Crammer and Singer",
            environment=LIBLINEAR,
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
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
            tune={"linear_c": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="omikuji-bonsai",
            load="harness_peers.omikuji_trees:Bonsai",
            kind="tree",
            summary="Omikuji's Bonsai: shallow trees of labels",
            supports=SEVERAL,
            deterministic=False,
            environment=OMIKUJI,
            tune={"linear_c": [0.3, 1.0, 3.0, 10.0]},
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
            tune={"Cp": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="pecos-ovr",
            load="harness_peers.pecos_linear:OneVersusRest",
            kind="flat",
            summary="PECOS without a tree: a linear model for each label",
            supports=SEVERAL,
            environment=PECOS,
            tune={"Cp": [0.3, 1.0, 3.0, 10.0]},
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
            tune={"passes": [1, 10], "learning_rate": [0.5, 2.0]},
        ),
        LearnerSpec(
            name="vw-log-multi",
            load="harness_peers.vowpal:LogMulti",
            kind="tree",
            summary="Vowpal Wabbit's online tree of logarithmic depth",
            environment=VOWPAL,
            tune={"passes": [1, 10], "learning_rate": [0.5, 2.0]},
        ),
        LearnerSpec(
            name="vw-recall-tree",
            load="harness_peers.vowpal:RecallTree",
            kind="tree",
            summary="Vowpal Wabbit's recall tree: a few candidates by a tree",
            environment=VOWPAL,
            tune={"passes": [1, 10], "learning_rate": [0.5, 2.0]},
        ),
        LearnerSpec(
            name="vw-plt",
            load="harness_peers.vowpal:LabelTree",
            kind="tree",
            summary="Vowpal Wabbit's probabilistic label tree",
            supports=SEVERAL,
            environment=VOWPAL,
            tune={"passes": [1, 10], "learning_rate": [0.5, 2.0]},
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
            tune={"liblinear_c": [1.0, 3.0, 10.0, 30.0]},
        ),
        LearnerSpec(
            name="napkinxc-hsm",
            load="harness_peers.napkinxc_models:HSM",
            kind="tree",
            summary="napkinXC's hierarchical softmax",
            environment=NAPKINXC,
            tune={"liblinear_c": [1.0, 3.0, 10.0, 30.0]},
        ),
        LearnerSpec(
            name="napkinxc-ovr",
            load="harness_peers.napkinxc_models:OneVersusRest",
            kind="flat",
            summary="napkinXC without a tree: a linear classifier for each class",
            environment=NAPKINXC,
            tune={"liblinear_c": [1.0, 3.0, 10.0, 30.0]},
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
            tune={"lr": [0.1, 1.0], "epoch": [5, 25]},
        ),
        LearnerSpec(
            name="fasttext-hs",
            load="harness_peers.fasttext_models:HierarchicalSoftmax",
            kind="tree",
            summary="fastText with its hierarchical softmax",
            supports=TEXTS_TOO,
            deterministic=False,
            environment=FASTTEXT,
            tune={"lr": [0.1, 1.0], "epoch": [5, 25]},
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
            tune={"c": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="libmultilabel-ovr",
            load="harness_peers.libmultilabel_linear:OneVersusRest",
            kind="flat",
            summary="LibMultiLabel without a tree: a linear model for each label",
            supports=SEVERAL,
            deterministic=False,
            environment=LIBMULTILABEL,
            tune={"c": [0.3, 1.0, 3.0, 10.0]},
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
            tune={"learning_rate": [0.03, 0.1], "min_data_in_leaf": [1, 20]},
        ),
        LearnerSpec(
            name="xgboost",
            load="harness_peers.xgboost_trees:XGBoost",
            kind="flat",
            summary="XGBoost: boosted decision trees, one for each class in each round",
            supports=SEVERAL,
            environment=XGBOOST,
            tune={"learning_rate": [0.1, 0.3], "max_depth": [3, 6]},
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
        tune={"learning_rate": [2e-05, 3e-05, 5e-05, 0.0001]},
    )
