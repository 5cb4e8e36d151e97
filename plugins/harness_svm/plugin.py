"""Registers the learners of this plugin by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the built-in learners of this family."""
    return [
        LearnerSpec(
            name="svm",
            load="harness_svm.ovr:SVM",
            kind="flat",
            summary="one linear support vector machine for each class against the rest",
            supports=frozenset({"multilabel"}),
            preload=("harness_svm.ovr",),
            paper_params={"C": 1.0},
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="crammer-singer",
            load="harness_svm.crammer_singer:CrammerSinger",
            kind="flat",
            summary="multi-class support vector machine: all classes in one problem",
            preload=("harness_svm.crammer_singer",),
            paper_params={"C": 1.0},
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="hsvm",
            load="harness_svm.hierarchical:HSVM",
            kind="tree",
            summary="hierarchical support vector machine: classes share the weights of the nodes above them",
            needs=frozenset({"taxonomy"}),
            preload=("harness_svm.hierarchical",),
            paper_params={"C": 1.0},
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="topdown-svm",
            load="harness_svm.topdown_svm:TopDownSVM",
            kind="tree",
            summary="support vector machines at each node of the class tree choose among its children",
            needs=frozenset({"taxonomy"}),
            supports=frozenset({"multilabel"}),
            preload=("harness_svm.topdown_svm",),
            tune={"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="topdown-perceptron",
            load="harness_svm.topdown_perceptron:TopDownPerceptron",
            kind="tree",
            summary="committees of perceptrons at each node of the class tree choose among its children",
            needs=frozenset({"taxonomy"}),
            supports=frozenset({"multilabel"}),
            preload=("harness_svm.topdown_perceptron",),
            paper_params={"passes": 20, "members": 10},
            tune={"passes": [3, 5, 10, 20]},
        ),
        LearnerSpec(
            name="label-tree",
            load="harness_svm.label_tree:LabelTree",
            kind="tree",
            summary="support vector machines in a tree of clusters of classes, searched by a beam",
            paper_params={"trees": 3, "fanout": 2, "leaf_classes": 100, "beam": 10},
            supports=frozenset({"multilabel"}),
            preload=("harness_svm.label_tree",),
            tune={"C": [0.5, 1.0, 2.0, 5.0]},
        ),
    ]
