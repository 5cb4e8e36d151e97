"""Registers the metrics by name; computes nothing."""

from collections.abc import Iterable
from functools import partial

from harness import MetricSpec, hookimpl

_share = partial(MetricSpec, unit="share", shown=False)
_precision = partial(MetricSpec, unit="share", labels="several")
_cost = partial(MetricSpec, direction="lower", depth=0)
_time = partial(_cost, unit="seconds", timed=True)

RANKING = [
    MetricSpec(
        name="r1",
        compute="harness_metrics.ranking:r1",
        title="R1",
        summary="share of rows whose first class is a true one",
        labels="one",
    ),
    MetricSpec(
        name="r5",
        compute="harness_metrics.ranking:r5",
        title="R5",
        summary="share of rows with a true class among the first five",
        depth=5,
        labels="one",
    ),
    _share(
        name="r10",
        compute="harness_metrics.ranking:r10",
        title="R10",
        summary="share of rows with a true class among the first ten",
        depth=10,
    ),
    _share(
        name="rk",
        compute="harness_metrics.ranking:rk",
        title="R{k}",
        summary="share of rows with a true class among the first k: r3 is rk(k=3)",
        always=False,
        parameters={"k": 1},
        short="r{k}",
        depth_parameter="k",
    ),
    _precision(
        name="p1",
        compute="harness_metrics.ranking:p1",
        title="P@1",
        summary="share of rows whose first class is a true one, as R1",
    ),
    _precision(
        name="p3",
        compute="harness_metrics.ranking:p3",
        title="P@3",
        summary="share of the first three classes that are true",
        depth=3,
    ),
    _precision(
        name="p5",
        compute="harness_metrics.ranking:p5",
        title="P@5",
        summary="share of the first five classes that are true",
        depth=5,
    ),
    _share(
        name="precision",
        compute="harness_metrics.ranking:precision",
        title="P@{k}",
        summary="share of the first k classes that are true: p2 is precision(k=2)",
        always=False,
        parameters={"k": 1},
        short="p{k}",
        depth_parameter="k",
    ),
    _share(
        name="recall",
        compute="harness_metrics.ranking:recall",
        title="recall@{k}",
        summary="share of a row's labels among the first k: recall5 is recall(k=5)",
        always=False,
        parameters={"k": 1},
        short="recall{k}",
        depth_parameter="k",
    ),
    _share(
        name="ndcg",
        compute="harness_metrics.ranking:ndcg",
        title="nDCG@{k}",
        summary="normalised discounted cumulative gain of the first k: ndcg5 is ndcg(k=5)",
        always=False,
        parameters={"k": 1},
        short="ndcg{k}",
        depth_parameter="k",
    ),
    _share(
        name="accuracy",
        compute="harness_metrics.ranking:accuracy",
        title="accuracy",
        summary="share of rows whose first class is a true one",
    ),
    _share(
        name="error",
        compute="harness_metrics.ranking:error",
        title="error",
        summary="share of rows whose first class is not a true one",
        direction="lower",
    ),
    _share(
        name="mrr",
        compute="harness_metrics.ranking:mrr",
        title="MRR",
        summary="mean of 1/rank of the true class, 0 beyond the depth; Cai and Hofmann's precision",
        depth=1000,
        always=False,
        parameters={"depth": 1000},
        depth_parameter="depth",
    ),
    _share(
        name="macro_f1",
        compute="harness_metrics.ranking:macro_f1",
        title="macro F1",
        summary="mean of the classes' F1, over the classes of the test truth",
    ),
    _share(
        name="macro_f1_lshtc",
        compute="harness_metrics.ranking:macro_f1_lshtc",
        title="macro F1 (LSHTC)",
        summary="F1 of macro precision and macro recall, over the classes of the test truth",
    ),
    _share(
        name="micro_f1",
        compute="harness_metrics.ranking:micro_f1",
        title="micro F1",
        summary="F1 over all pairs of row and class, predicting the first class alone",
    ),
    _share(
        name="balanced_accuracy",
        compute="harness_metrics.ranking:balanced_accuracy",
        title="balanced acc.",
        summary="mean of the classes' recall, over the classes of the test truth",
    ),
    _share(
        name="coverage",
        compute="harness_metrics.ranking:coverage",
        title="coverage",
        summary="share of the classes of the test truth that are predicted at least once",
    ),
]

TREE = [
    _share(
        name="tree_loss",
        compute="harness_metrics.taxonomy:tree_loss",
        title="tree loss",
        summary="mean cost of the nodes on just one of the paths to the true and the predicted class",
        direction="lower",
        unit="count",
        parameters={"costs": 0.5},
        shown=True,
    ),
    _share(
        name="tree_error",
        compute="harness_metrics.taxonomy:tree_error",
        title="tree error",
        summary="mean number of edges between the true and the predicted class",
        direction="lower",
        unit="count",
    ),
    _share(
        name="parent_accuracy",
        compute="harness_metrics.taxonomy:parent_accuracy",
        title="parent acc.",
        summary="share of rows whose predicted class has the parent of a true one",
    ),
    _share(
        name="level_accuracy",
        compute="harness_metrics.taxonomy:level_accuracy",
        title="level {level} acc.",
        summary="share of rows right at a level of the tree, 1 below the root: level2 is level_accuracy(level=2)",
        always=False,
        parameters={"level": 1},
        short="level{level}",
    ),
    _share(
        name="hp",
        compute="harness_metrics.taxonomy:hp",
        title="hP",
        summary="hierarchical precision: share of the predicted nodes that are true",
    ),
    _share(
        name="hr",
        compute="harness_metrics.taxonomy:hr",
        title="hR",
        summary="hierarchical recall: share of the true nodes that are predicted",
    ),
    _share(
        name="hf",
        compute="harness_metrics.taxonomy:hf",
        title="hF",
        summary="hierarchical F1: harmonic mean of hP and hR",
    ),
]

TAIL = [
    _share(
        name="r1_frequent",
        compute="harness_metrics.tail:r1_frequent",
        title="R1 frequent",
        summary="R1 over rows of classes with more than 100 training rows",
        parameters={"more_than": 100},
    ),
    _share(
        name="r1_rare",
        compute="harness_metrics.tail:r1_rare",
        title="R1 rare",
        summary="R1 over rows of classes with fewer than 20 training rows",
        parameters={"fewer_than": 20},
    ),
    _share(
        name="psp",
        compute="harness_metrics.tail:psp",
        title="PSP@{k}",
        summary="propensity-scored precision at k: psp3 is psp(k=3)",
        always=False,
        parameters={"k": 1, "a": 0.55, "b": 1.5},
        short="psp{k}",
        depth_parameter="k",
    ),
    _share(
        name="psndcg",
        compute="harness_metrics.tail:psndcg",
        title="PSnDCG@{k}",
        summary="propensity-scored nDCG at k: psndcg3 is psndcg(k=3)",
        always=False,
        parameters={"k": 1, "a": 0.55, "b": 1.5},
        short="psndcg{k}",
        depth_parameter="k",
    ),
]

COST = [
    _time(
        name="train",
        compute="harness_metrics.cost:train",
        title="train",
        summary="time of fit by the clock",
    ),
    _time(
        name="train_cpu",
        compute="harness_metrics.cost:train_cpu",
        title="train CPU",
        summary="processor time of fit, all threads together",
        shown=False,
    ),
    _time(
        name="predict",
        compute="harness_metrics.cost:predict",
        title="per prediction",
        summary="time to name one class for a row by the clock, all rows at once",
    ),
    _time(
        name="rank",
        compute="harness_metrics.cost:rank",
        title="per ranking",
        summary="time to rank the classes of a row, as deep as the metrics ask, all rows at once",
        shown=False,
    ),
    _time(
        name="predict_one",
        compute="harness_metrics.cost:predict_one",
        title="one prediction",
        summary="time to name one class for a row alone: the median",
        shown=False,
        always=False,
        single=True,
    ),
    _time(
        name="predict_one_p99",
        compute="harness_metrics.cost:predict_one_p99",
        title="one prediction, 99%",
        summary="time to name one class for a row alone: the 99th percentile",
        shown=False,
        always=False,
        single=True,
    ),
    MetricSpec(
        name="rows_per_second",
        compute="harness_metrics.cost:rows_per_second",
        title="rows/s",
        summary="training rows by the second of fit",
        unit="count",
        depth=0,
        timed=True,
        shown=False,
    ),
    _cost(
        name="index",
        compute="harness_metrics.cost:index",
        title="index size",
        symbol="|I|",
        summary="stored non-zero weights",
        unit="count",
    ),
    _cost(
        name="index_bytes",
        compute="harness_metrics.cost:index_bytes",
        title="index bytes",
        summary="memory that the fitted index takes",
        unit="bytes",
        shown=False,
    ),
    _cost(
        name="edges",
        compute="harness_metrics.cost:edges",
        title="edges read",
        symbol="e",
        summary="edges read per active feature while naming one class",
        unit="count",
    ),
    _cost(
        name="rank_edges",
        compute="harness_metrics.cost:rank_edges",
        title="edges read, ranking",
        summary="edges read per active feature while ranking",
        unit="count",
        shown=False,
    ),
    _cost(
        name="peak",
        compute="harness_metrics.cost:peak",
        title="peak memory",
        summary="most memory that the process held during fit and ranking",
        unit="bytes",
        timed=True,  # not a time, but page sizes and allocators differ between machines
        shown=False,
    ),
]

CONFIDENCE = [
    _share(
        name="automatic",
        compute="harness_metrics.confidence:automatic",
        title="automatic at {accuracy}",
        summary="share of rows, most confident first, that can be automated at this accuracy",
        parameters={"accuracy": 0.95},
    ),
    _share(
        name="aurc",
        compute="harness_metrics.confidence:aurc",
        title="AURC",
        summary="area under risk and coverage: mean error of the surest rows, over all shares of them",
        direction="lower",
    ),
    _share(
        name="ece",
        compute="harness_metrics.confidence:ece",
        title="ECE",
        summary="expected calibration error of a confidence calibrated on held-out training rows",
        direction="lower",
        always=False,
        confidence=True,
        parameters={"bins": 15},
    ),
    _share(
        name="log_loss",
        compute="harness_metrics.confidence:log_loss",
        title="log loss",
        summary="mean of -ln p of the true class, from a confidence calibrated on held-out training rows",
        direction="lower",
        unit="count",
        always=False,
        confidence=True,
    ),
]


@hookimpl
def harness_metrics() -> Iterable[MetricSpec]:
    """Return metrics of accuracy, also in the class tree and on rare classes, then of confidence, then of cost."""
    return [*RANKING, *TREE, *TAIL, *CONFIDENCE, *COST]
