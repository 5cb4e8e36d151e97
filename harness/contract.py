"""What a plugin promises and what it gets: five specs for registration, and the data that flows.

A spec checks itself when it is made. Nothing here imports numpy at run time: listing and completion stay fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from harness.params import Params
from harness.spec_fields import Fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

Labels = Any
"""Class positions, one per row (1-D integers); or, for multi-label data, a sparse indicator matrix, rows x classes."""

Kind = Literal["flat", "tree", "other"]
"""Flat: every class competes at once. Tree: classes are reached by a path. Other: nobody has said."""
Need = Literal["nonnegative", "taxonomy", "dense", "text"]
Ability = Literal["multilabel", "text"]
Takes = Literal["text", "counts"]
"""What a representation is fitted on: texts, or rows of numbers."""
Gives = Literal["counts", "vectors", "same"]
"""Counts are never negative, vectors may be; the same: as what was taken."""
Direction = Literal["higher", "lower"]
Unit = Literal["share", "seconds", "bytes", "count"]
KINDS: tuple[str, ...] = get_args(Kind)
FACTS = ("rows", "features", "classes", "nonzeros", "taxonomy_depth")


# -- what the hooks return -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LearnerSpec:
    """A learner, named but not imported: `load` is "module:Class", a scikit-learn style classifier."""

    name: str
    load: str
    kind: Kind = "other"
    summary: str = ""
    needs: frozenset[Need] = frozenset()
    """What the data must have, or how it must arrive; checked before any training."""
    supports: frozenset[Ability] = frozenset()
    """What it takes beyond numbers with one label a row: several labels; texts as they are, where the data has any."""
    preload: tuple[str, ...] = ()
    """All that its fork server imports ahead, so that trials start warm: no threads, no random numbers drawn."""
    parameters: Params | None = None
    """Defaults by name. Left out, they are read from the source of the class without importing it."""
    paper_params: Params = field(default_factory=dict)
    """What the learner's paper uses, for the parameters that it names a value of: shown beside the defaults."""
    wraps: str = ""
    """The parameter that holds another learner, for one that is built round any: `committee(pa)`."""
    deterministic: bool = True
    """Whether two fits with one `random_state` are the same; where they are not, no check asks for it."""
    environment: tuple[str, ...] = ()
    """Packages that its module imports, as pip takes them: its trials run in an environment that is built with them."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.target("load")
        fields.one_of("kind", KINDS)
        fields.texts("name", "summary", "wraps")
        fields.subset("needs", get_args(Need))
        fields.subset("supports", get_args(Ability))
        fields.sequences("preload")
        fields.mapping("parameters", optional=True)
        fields.params("paper_params", self.parameters)
        fields.flags("deterministic")
        fields.requirements("environment")


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """A file that a data set is made from: its name in the data home, where it can be had, what it must hash to."""

    name: str
    urls: tuple[str, ...] = ()
    """Tried in turn; none means that only the user can bring it."""
    sha256: str | None = None
    """Of the file as it is served; None where nobody has vouched for one."""


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A data set, named but not read: `load` is "module:function", which gives a `Dataset`."""

    name: str
    load: str
    summary: str = ""
    representation: str = "tfidf"
    """What a run uses unless told otherwise, as `--representation` takes it."""
    licence: str = ""
    citation: str = ""
    stamp: str | None = None
    """"module:function" that names the raw content cheaply, by the parameters; if that changes, it is parsed anew."""
    version: int = 1
    """Raised by the plugin's author whenever the loader reads the same raw content differently."""
    parameters: Params | None = None
    files: tuple[RawFile, ...] = ()
    """What it is made from, where it is fetched or imported. Loader and stamp take `source`, to read instead."""
    obtain: str = ""
    """What to get and from whom, in words, for the user who brings the files."""
    facts: Mapping[str, int] = field(default_factory=dict)
    """What must be found with the default parameters, by the names in FACTS."""
    opens: tuple[str, ...] = ()
    """What of the user's it reads, as `path`: ".csv" by the ending, "/" folders, "hf:" addresses; see `recognises`."""
    recognises: str | None = None
    """"module:function" that tells from a path if the content is its own, where ending and parameters do not decide."""
    wraps: str = ""
    """The parameter that gets another data set, loaded, for one made from any: `subsample(icd10cm)`."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.name()
        fields.target("load")
        fields.texts("summary", "representation", "licence", "citation", "obtain", "wraps")
        fields.target("stamp", optional=True)
        fields.target("recognises", optional=True)
        fields.whole_numbers("version")
        fields.mapping("parameters", optional=True)
        fields.sequences("files", "opens")
        fields.counts("facts", FACTS)


@dataclass(frozen=True, kw_only=True)
class RepresentationSpec:
    """A representation, named but not imported: `load` is "module:Class", a scikit-learn style transformer.

    It is fitted on the training part of a trial with `fit(texts or X, y)`; `transform` gives rows as learners see them.
    One with `save(path)` and a class method `load(path)` can be kept in a model (`harness.sdk.representation`).
    """

    name: str
    load: str
    takes: Takes = "counts"
    """Where it takes counts and the data set has texts, these are counted first, as the data set says."""
    gives: Gives = "same"
    summary: str = ""
    parameters: Params | None = None
    """Defaults by name. Left out, they are read from the source of the class without importing it."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.target("load")
        fields.texts("name", "summary")
        fields.one_of("takes", get_args(Takes))
        fields.one_of("gives", get_args(Gives))
        fields.mapping("parameters", optional=True)


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A metric: `compute` is "module:function", a pure function of an `Outcome` that gives a number or None."""

    name: str
    compute: str
    title: str = ""
    """The column's heading; for a family with {parameter} where a parameter's value stands."""
    summary: str = ""
    direction: Direction = "higher"
    unit: Unit = "share"
    depth: int = 1
    """How many ranks a row the metric must see."""
    timed: bool = False
    """Whether the value depends on the machine, so that two machines never share a column by accident."""
    shown: bool = True
    """Whether tables show it unless asked for other columns."""
    always: bool = True
    """Whether every trial computes it; one that costs time or deep ranks waits until it is asked for."""
    single: bool = False
    """Whether the trial must time the ranking of rows one at a time."""
    confidence: bool = False
    """Whether the trial must train once more, on a part of its training rows, to calibrate `Outcome.confidence`."""
    parameters: Params = field(default_factory=dict)
    """For a family: what `compute` takes by keyword, with defaults; `name(parameter=value)` sets them."""
    short: str = ""
    """For a family: a pattern with one parameter that is a whole number: with "r{k}", r7 is rk(k=7)."""
    depth_parameter: str = ""
    """For a family: the parameter that is the depth, where one is."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.target("compute")
        fields.texts("name", "title", "summary", "short", "depth_parameter")
        fields.one_of("direction", get_args(Direction))
        fields.one_of("unit", get_args(Unit))
        fields.whole_numbers("depth")
        fields.flags("timed", "shown", "always", "single", "confidence")
        fields.mapping("parameters")


@dataclass(frozen=True, kw_only=True)
class ExperimentSpec:
    """A ready-made experiment: `resource` is "package:file.toml"."""

    name: str
    resource: str
    summary: str = ""
    published: str = ""
    """"package:file.csv" with the numbers that were published of it, for `harness table --against published`."""
    measured: str = ""
    """"package:file.csv" with what came of it here, for `harness suggest`."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.name()
        fields.file("resource")
        fields.texts("summary")
        fields.file("published", optional=True)
        fields.file("measured", optional=True)


# -- what a data set gives -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taxonomy:
    """A class tree. `parent[node]` is -1 at the root; a class may sit at an inner node."""

    parent: NDArray[np.int64]
    class_node: NDArray[np.int64]
    node_names: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """The number of edges from the root to the deepest node."""
        deepest, above = 0, self.parent[self.parent >= 0]
        while above.size:
            deepest, above = deepest + 1, self.parent[above]
            above = above[above >= 0]
        return deepest


@dataclass(frozen=True)
class Dataset:
    """Rows of texts, counts or raw features, their labels and class names; nothing fitted, nothing normalised."""

    X: csr_array | None
    """None where the rows are texts."""
    y: Labels
    class_names: tuple[str, ...]
    taxonomy: Taxonomy | None = None
    splits: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)
    """Fixed splits by name: positions of the training rows and of the test rows."""
    found: str = ""
    """What the loader met, in a line: counts that a reader can compare with the data set's own description."""
    texts: Iterable[str] | None = None
    """The text of each row, read once; the host keeps them and gives `harness.sdk.Texts` back."""
    counting: str = ""
    """The representation that comes before one that takes counts: for texts, how their words are told apart."""
    groups: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    times: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """By a column's name, a number for each row, which equal values share, and of times the later the larger."""
    revision: str = ""
    """Which state of the data this is, in the words of whoever keeps it: a commit, a version and a checksum."""

    @property
    def rows(self) -> int:
        return int(self.y.shape[0])


@dataclass(frozen=True)
class Outcome:
    """All that a finished trial knows. `truth` and `ranks` hold class positions; -1 in `ranks` is padding."""

    truth: Labels
    ranks: NDArray[np.int32]
    n_classes: int
    train_class_counts: NDArray[np.int64]
    n_train: int
    fit_seconds: float
    fit_cpu_seconds: float
    rank_seconds: float
    """Seconds of ranking all test rows, as deep as `ranks`."""
    predict_seconds: float | None = None
    """Seconds of naming one class for each test row."""
    index_size: int | None = None
    index_bytes: int | None = None
    edges_per_feature: float | None = None
    """Edges read per active feature for one class a row."""
    rank_edges_per_feature: float | None = None
    """Edges read per active feature for the ranking."""
    peak_bytes: int | None = None
    taxonomy: Taxonomy | None = None
    single_seconds: NDArray[np.float64] | None = None
    """Wall seconds of predicting some test rows one at a time; None unless a metric asked for it."""
    known_depth: int | None = None
    """How many ranks a row the learner can tell; None for as many as it is asked for."""
    places: NDArray[np.int32] | None = None
    """In the shape of `ranks`: the rank with ties at their worst, where scores are known and tie; else None."""
    scores: NDArray[np.float32] | None = None
    """What the first and the second class of each row score, 0 for one that is not there; None where none is told."""
    confidence: NDArray[np.float32] | None = None
    """How sure the first class is, calibrated on training rows held out; None unless a metric asked."""
