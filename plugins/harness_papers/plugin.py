"""Registers experiments by name, those of the papers with published numbers and our own, without reading them."""

from collections.abc import Iterable

from harness import ExperimentSpec, hookimpl

KDD = "KDD 2008 (Madani and Huang)"
FLAT = "flat techniques 2010 (Madani and Huang)"
LOM = "LOMtree, NIPS 2015 (Choromanska and Langford)"
HSVM = "hierarchical SVM, CIKM 2004 (Cai and Hofmann)"
EXPERIMENTS = {
    "kdd2008-table1": f"{KDD}, table 1: flat learners on six datasets",
    "kdd2008-table2": f"{KDD}, table 2: OOZ without one of its parts",
    "kdd2008-figure6": f"{KDD}, figure 6: R1 by pass",
    "kdd2008-figure7": f"{KDD}, figure 7: EMA's learning rate",
    "kdd2008-figure8": f"{KDD}, figure 8: OOZ's learning rate",
    "kdd2008-web-stand-in": f"{KDD}, table 1: a synthetic stand-in for its private web data",
    "flat2010-table1": f"{FLAT}, table 1: tf against tf-idf",
    "flat2010-figure3": f"{FLAT}, figure 3: passes and degree limits",
    "flat2010-figure4a": f"{FLAT}, figure 4(a): accuracy and tree loss by pass",
    "flat2010-figure4b": f"{FLAT}, figure 4(b): sparsification",
    "flat2010-committee": f"{FLAT}: committees of twelve",
    "flat2010-oversampling": f"{FLAT}: oversampling of rare classes",
    "flat2010-cost": f"{FLAT}: edges and time a pass, on a synthetic stand-in of the challenge's size",
    "lomtree-tables": f"{LOM}, tables 2 to 4: time and error of trees and one-against-all",
    "lomtree-figure": f"{LOM}, the figure of time against the number of classes",
    "hsvm2004-synthetic": f"{HSVM}, the synthetic table",
    "hsvm2004-wipo": f"{HSVM}, WIPO-alpha by section",
    "kdd2008-rivals": f"{KDD}, section 3.2: how many rivals may lose",
    "kdd2008-sources": f"{KDD}: sources of weight that it leaves to be tried",
    "kdd2008-two-classes": f"{KDD}: OOZ for two classes, a perceptron with bounded weights",
    "flat2010-dryrun": f"{FLAT}: all flat learners on the challenge's dry run",
    "flat2010-committee-size": f"{FLAT}: the size of a committee against accuracy",
    "flat2010-sparsify-passes": f"{FLAT}: weights dropped at the end, or after each pass",
    "hsvm2004-few-examples": f"{HSVM}: few examples a class, flat against hierarchical",
    "newsgroups-bydate": "SVMs and trees on 20 newsgroups in the split of its archive",
    "dryrun-class-tree": "SVMs and perceptrons without and with the class tree, on the LSHTC challenge's dry run",
    "pa-variants": "PA, PA-I and PA-II",
    "winnow-variants": "Winnow with one rate and two, by value, balanced, beside the perceptron",
    "field": "every available learner, built-in and external, on every available dataset, within eight hours",
    "pa-steps": "the printed step of PA-II against the exact one",
}
PUBLISHED = {
    "kdd2008-table1",
    "flat2010-table1",
    "flat2010-figure3",
    "flat2010-cost",
    "lomtree-tables",
    "hsvm2004-synthetic",
    "hsvm2004-wipo",
}
"""Experiments with a file of published numbers. The others reproduce figures or statements; see their files."""

MEASURED = {"field"}
"""Experiments whose results are included in the package for `harness suggest`, written by benchmarks/field.py."""


@hookimpl
def harness_experiments() -> Iterable[ExperimentSpec]:
    """Return the experiments of the papers."""
    return [
        ExperimentSpec(
            name=name,
            resource=f"harness_papers:experiments/{name}.toml",
            summary=summary,
            published=f"harness_papers:published/{name}.csv" if name in PUBLISHED else "",
            measured=f"harness_papers:measured/{name}.csv" if name in MEASURED else "",
        )
        for name, summary in EXPERIMENTS.items()
    ]
