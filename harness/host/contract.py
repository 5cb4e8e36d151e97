"""The contract between the harness and its plugins.

A plugin is a module that implements some of the five hooks at the end of this file. The harness finds it by an entry
point of an installed package in the group `harness`, or in a folder that is given as `--plugins-dir`. A hook returns
specs: `LearnerSpec`, `DatasetSpec`, `RepresentationSpec`, `MetricSpec` or `ExperimentSpec`. A spec names code as
"module:name", and the harness imports this code only when it is used. Commands that list or complete names therefore
stay fast, and a broken learner cannot break the other ones.

A learner is a scikit-learn classifier: keyword-only parameters, `fit(X, y)`, `classes_`, `predict(X)`. The protocols
below (`Ranks`, `Scores`, `HasIndexSize`, ...) are optional. Each one that a learner implements adds columns to tables.

Import the specs, `Dataset`, `Outcome` and `hookimpl` from `harness`. This module does not import numpy at run time.

Examples
--------
>>> from harness import LearnerSpec, hookimpl
>>> @hookimpl
... def harness_learners():
...     return [LearnerSpec(name="nearest-mean", load="my_package.learner:NearestMean", kind="flat")]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import pluggy

from harness.host.taxonomy import Taxonomy as Taxonomy  # noqa: PLC0414 (a part of the contract)
from harness.syntax.expression import Params
from harness.syntax.values import Fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

CONTRACT = "1.0"
"""Version of this contract, major.minor; docs/how-to/write-a-plugin.md has its promise."""
Kind = Literal["flat", "tree", "both", "other"]
"""flat: all classes compete at once. tree: a path of decisions leads to a class. both: both kinds. other: unknown."""
Need = Literal["nonnegative", "taxonomy", "dense", "text"]
"""Requirement of a learner. nonnegative: no value of `X` is below 0. taxonomy: the data has one, and `fit` takes it as
`taxonomy=`. dense: `X` is a dense array instead of a `csr_array`. text: `X` holds texts instead of numbers."""
Ability = Literal["multilabel", "text"]
"""Optional ability of a learner. multilabel: it fits rows with several labels. text: it takes texts, where given."""
Takes = Literal["text", "counts"]
"""Input of a representation. text: texts. counts: rows of numbers."""
Gives = Literal["counts", "vectors", "same"]
"""Output of a representation. counts: numbers that are never negative. vectors: any numbers. same: as its input."""
Direction = Literal["higher", "lower"]
"""Direction in which the values of a metric are better."""
Unit = Literal["share", "seconds", "bytes", "count"]
"""Unit of a metric, which decides the format of its values in tables. share: a number from 0 to 1."""
KINDS: tuple[str, ...] = get_args(Kind)
FACTS = ("rows", "features", "classes", "nonzeros", "taxonomy_depth")
"""Keys that `DatasetSpec.facts` may have."""

Labels = Any
"""Labels of rows: an array of class positions, or for multi-label data a sparse indicator matrix, rows x classes."""
AfterPass = Callable[[int], None]
"""Callback of `fit(X, y, after_pass=f)`. `fit` calls it after each pass over the data, as f(1), f(2), ..."""


# -- specs, which hooks return ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LearnerSpec:
    """A learner that users can name, and the class that implements it.

    Raises
    ------
    SpecError
        If a field has a wrong value. The message names the field and the expected value. All other specs raise it too.

    Examples
    --------
    >>> LearnerSpec(name="pa", load="harness_index.pa:PA", kind="flat", supports=frozenset({"multilabel"})).name
    'pa'
    """

    name: str
    """The name that users type. Lower case letters, digits, `-`, `_` and `.`."""
    load: str
    """The class, as "module:Class"."""
    kind: Kind = "other"
    """"flat", "tree", "both" or "other": see `Kind`. Tables show it."""
    summary: str = ""
    """One line for `harness list learners`."""
    needs: frozenset[Need] = frozenset()
    """Requirements on the data, checked before training: see `Need`."""
    supports: frozenset[Ability] = frozenset()
    """Optional abilities: see `Ability`."""
    preload: tuple[str, ...] = ()
    """Modules to import once, before trials are forked. They must not start threads or draw random numbers then."""
    parameters: Params | None = None
    """Parameters and their defaults. None: read them from the source of the class, without importing it."""
    paper_params: Params = field(default_factory=dict)
    """Parameter values in the paper that describes the learner, shown beside the defaults."""
    tune: Mapping[str, list[Any]] = field(default_factory=dict)
    """Grid for `--tune auto`: a few values of each parameter, such as {"C": [0.3, 1, 3]}."""
    wraps: str = ""
    """Name of the parameter that takes another learner, for learners such as `committee(pa)`; empty for others."""
    wraps_several: bool = False
    """True if that parameter takes a list, as in `blend(pa, label-tree)`."""
    deterministic: bool = True
    """False if two fits with the same `random_state` may differ; `harness check` then does not compare them."""
    environment: tuple[str, ...] = ()
    """Requirements as pip takes them. Trials then run in a separate virtual environment with these packages."""

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
        fields.grid("tune", self.parameters)
        fields.flags("wraps_several", "deterministic")
        fields.requirements("environment")


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """A source file of a dataset, which `harness data fetch` downloads or `harness data import` copies."""

    name: str
    """Name of the file in the data home."""
    urls: tuple[str, ...] = ()
    """Download addresses, tried in this order. Empty if users have to provide the file themselves."""
    sha256: str | None = None
    """Checksum of the downloaded file; None if it is not known."""


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A dataset that users can name, and the function that loads it.

    The harness calls the loader in a separate process, with the parameters as keyword arguments. The loader must return
    a `Dataset`. The harness stores it, and calls the loader again only if the version of the plugin or of the loader,
    the parameters or the stamp change.

    Examples
    --------
    >>> DatasetSpec(name="digits", load="harness_vectors.digits:load_digits", representation="raw").version
    1
    """

    name: str
    """The name that users type. Lower case letters, digits, `-`, `_` and `.`."""
    load: str
    """The loader, as "module:function"."""
    summary: str = ""
    """One line for `harness list datasets`."""
    representation: str = "tfidf"
    """Default of `--representation` for this dataset."""
    licence: str = ""
    """Terms of use of the data."""
    citation: str = ""
    """Publication or source to cite."""
    stamp: str | None = None
    """"module:function" that quickly returns a text which identifies the raw content, such as a checksum. It takes the
    parameters of the loader, or none. If the text changes, the dataset is loaded again."""
    version: int = 1
    """Version of the loader. Increase it when the loader returns something else for the same raw content."""
    parameters: Params | None = None
    """Parameters and their defaults. None: read them from the source of the loader, without importing it."""
    files: tuple[RawFile, ...] = ()
    """Files to download or import. Loader and stamp then need a parameter `source`: a path; None for the data home."""
    obtain: str = ""
    """Which files to get, and where, for datasets whose files users have to provide themselves."""
    facts: Mapping[str, int] = field(default_factory=dict)
    """Expected counts with the default parameters, such as {"rows": 1797}. Keys are those of `FACTS`."""
    opens: tuple[str, ...] = ()
    """User files that the loader reads, as parameter `path`: ".csv" (an ending), "/" (folders), "hf:" (addresses)."""
    recognises: str | None = None
    """"module:function" that takes a path and returns whether its content has this format, if the ending is unknown."""
    wraps: str = ""
    """Name of the parameter that takes another dataset, already loaded, for datasets such as `subsample(icd10cm)`."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.name()
        fields.target("load")
        fields.texts("summary", "representation", "licence", "citation", "obtain", "wraps")
        fields.target("stamp", optional=True)
        fields.target("recognises", optional=True)
        fields.integers("version")
        fields.mapping("parameters", optional=True)
        fields.sequences("files", "opens")
        fields.counts("facts", FACTS)


@dataclass(frozen=True, kw_only=True)
class RepresentationSpec:
    """A representation that users can name: a scikit-learn transformer of the rows, applied before the learner.

    Each trial fits it on the training rows only, with `fit(texts, y)` or `fit(X, y)`. Models can store a class that has
    `save(path)` and the class method `load(path)`; the base class `harness.sdk.saving.Saved` provides both.

    Examples
    --------
    >>> RepresentationSpec(name="words", load="harness_representations.words:Words", takes="text", gives="counts").takes
    'text'
    """

    name: str
    """The name that users type. Lower case letters, digits, `-`, `_` and `.`."""
    load: str
    """The transformer, as "module:Class"."""
    takes: Takes = "counts"
    """Input: "text", or "counts" for rows of numbers. Texts are turned into counts by `Dataset.counting` if needed."""
    gives: Gives = "same"
    """Output: "counts" if no number is ever negative, "vectors" for any numbers, "same" if it is as the input."""
    summary: str = ""
    """One line for `harness list representations`."""
    parameters: Params | None = None
    """Parameters and their defaults. None: read them from the source of the class, without importing it."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.target("load")
        fields.texts("name", "summary")
        fields.one_of("takes", get_args(Takes))
        fields.one_of("gives", get_args(Gives))
        fields.mapping("parameters", optional=True)


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A metric that users can name, or a family of metrics with parameters.

    `compute` is a pure function of an `Outcome`. It returns a number, or None if the metric is not defined for it.

    Examples
    --------
    >>> MetricSpec(name="rk", compute="my_metrics:recall_at", parameters={"k": 5}, short="r{k}").direction
    'higher'
    """

    name: str
    """The name that users type. Lower case letters, digits, `-`, `_` and `.`."""
    compute: str
    """The function, as "module:function"."""
    title: str = ""
    """Heading of the column. In the title of a family, `{k}` is replaced by the value of the parameter `k`."""
    symbol: str = ""
    """Symbol of the metric in the literature, shown beside published numbers."""
    summary: str = ""
    """One line for `harness list metrics`."""
    direction: Direction = "higher"
    """"higher" if higher values are better, else "lower"."""
    unit: Unit = "share"
    """Unit of the value, which decides how tables format it."""
    depth: int = 1
    """Number of ranks per row that the metric reads; 0 if it reads none."""
    timed: bool = False
    """True if the value depends on the machine. Values from two machines are never averaged."""
    shown: bool = True
    """True if tables show the metric by default."""
    labels: Literal["any", "one", "several"] = "any"
    """Number of labels a row in data for which tables show the metric by default."""
    always: bool = True
    """True if every trial computes the metric; set False for metrics that need time or deep ranks. A third-party metric
    that is not `shown` is computed on request only."""
    single: bool = False
    """True if the trial must time predictions of single rows."""
    confidence: bool = False
    """True if the metric reads `Outcome.confidence`. The trial then trains a second time to calibrate it."""
    parameters: Params = field(default_factory=dict)
    """For a family: keyword arguments of `compute` and their defaults. Users set them as in `rk(k=7)`."""
    short: str = ""
    """For a family: pattern of short names with one whole number. With "r{k}", users can write r7 for rk(k=7)."""
    depth_parameter: str = ""
    """For a family: name of the parameter that sets `depth`."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.target("compute")
        fields.texts("name", "title", "symbol", "summary", "short", "depth_parameter")
        fields.one_of("direction", get_args(Direction))
        fields.one_of("unit", get_args(Unit))
        fields.one_of("labels", ("any", "one", "several"))
        fields.integers("depth")
        fields.flags("timed", "shown", "always", "single", "confidence")
        fields.mapping("parameters")


@dataclass(frozen=True, kw_only=True)
class ExperimentSpec:
    """A ready-made experiment that users can name, such as the tables of a paper."""

    name: str
    """The name that users type. Lower case letters, digits, `-`, `_` and `.`."""
    resource: str
    """The experiment file, as "package:file.toml": "harness_papers:kdd2008/table1.toml"."""
    summary: str = ""
    """One line for `harness list experiments`."""
    published: str = ""
    """Published numbers, as "package:file.csv", for `harness table --against published`."""
    measured: str = ""
    """Numbers measured with the harness, as "package:file.csv", for `harness suggest`."""

    def __post_init__(self) -> None:
        fields = Fields(self)
        fields.name()
        fields.file("resource")
        fields.texts("summary")
        fields.file("published", optional=True)
        fields.file("measured", optional=True)


# -- data, which loaders return and metrics receive -------------------------------------------------------------------


@dataclass(frozen=True)
class TableLayout:
    """Columns and format of the table file that a dataset was read from.

    A model stores its layout, and `harness predict` reads other files in the same way.
    """

    format: str = ""
    """"csv", "tsv", "jsonl", "parquet" or "lines"; empty for tables from elsewhere, such as the Hugging Face Hub."""
    delimiter: str | None = None
    """Column delimiter of CSV and TSV."""
    header: bool = True
    """True if the first line has the names of the columns."""
    encoding: str | None = None
    """Encoding that the user set; None if it was detected."""
    text: tuple[str, ...] = ()
    """Names of the text columns, in the order in which their texts are joined."""
    label: str = ""
    """Name of the label column."""

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> TableLayout:
        """Return the layout from a JSON object.

        Parameters
        ----------
        plain : mapping of str to object
            The fields of the layout.
        """
        return cls(**{**plain, "text": tuple(map(str, plain["text"]))})


@dataclass(frozen=True)
class Dataset:
    """Rows with labels, as a loader returns them.

    Rows are texts, counts or raw features. A dataset has `X`, or `texts`, or both. Loaders do not fit or normalise
    anything: representations do that in each trial, on the training rows only.

    Examples
    --------
    >>> import numpy as np
    >>> Dataset(X=None, texts=["night nurse", "welder"], y=np.array([0, 1]), class_names=("2231", "7212")).rows
    2
    """

    X: csr_array | None
    """Rows of numbers, rows x features; None if the rows are texts only."""
    y: Labels
    """Class positions, one for each row. For multi-label data a sparse indicator matrix, rows x classes."""
    class_names: tuple[str, ...]
    """Name of each class. Class position 0 is the first name."""
    taxonomy: Taxonomy | None = None
    """Tree of the classes; None if the data has none."""
    splits: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)
    """Fixed splits by name, each a pair: positions of the training rows, positions of the test rows."""
    found: str = ""
    """One line on what the loader read, with counts."""
    texts: Iterable[str] | None = None
    """Text of each row. It is iterated once, so a generator is enough; learners get the stored `harness.sdk.Texts`."""
    counting: str = ""
    """Representation that turns the texts into counts, if the chosen representation takes counts."""
    groups: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Columns for splits by group, by name: a number for each row, equal for rows of the same group."""
    times: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Columns for splits by time, by name: a number for each row, larger for later rows."""
    revision: str = ""
    """Version of the data at its source, such as a commit, or a version and a checksum."""
    table: TableLayout | None = None
    """Columns and format of the table file that was read; None for other sources. Not part of the fingerprint."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.y.shape[0])


@dataclass(frozen=True)
class Outcome:
    """The result of a finished trial, from which metrics are computed.

    Metrics must not change its arrays. Optional fields are None if the learner or the data does not provide them.
    """

    truth: Labels
    """Labels of the test rows."""
    ranks: NDArray[np.int32]
    """Positions of the best classes of each test row, best first; -1 pads rows with fewer classes."""
    n_classes: int
    """Number of classes of the dataset."""
    train_class_counts: NDArray[np.int64]
    """Number of training rows of each class."""
    n_train: int
    """Number of training rows."""
    fit_seconds: float
    """Wall time of training."""
    fit_cpu_seconds: float
    """CPU time of training."""
    rank_seconds: float | None
    """Wall time of ranking all test rows to the depth of `ranks`; None for points of a curve."""
    predict_seconds: float | None = None
    """Wall time of predicting one class for each test row."""
    index_size: int | None = None
    """Number of stored weights that are not 0."""
    index_bytes: int | None = None
    """Memory of the fitted index in bytes."""
    edges_per_feature: float | None = None
    """Edges read per active feature to predict one class for each row."""
    rank_edges_per_feature: float | None = None
    """Edges read per active feature to compute `ranks`."""
    peak_bytes: int | None = None
    """Peak memory of the trial in bytes."""
    taxonomy: Taxonomy | None = None
    """Tree of the classes; None if the data has none."""
    single_seconds: NDArray[np.float64] | None = None
    """Wall time of predicting a single row, for some of the test rows; None unless a metric has `single`."""
    known_depth: int | None = None
    """Largest number of ranks per row that the learner supports; None if it has no limit."""
    places: NDArray[np.int32] | None = None
    """Rank of each class in `ranks`; tied classes share the worst rank of the tie. None without scores or ties."""
    scores: NDArray[np.float32] | None = None
    """Scores of the first two classes of each row, 0 for a missing class; None if the learner has no scores."""
    confidence: NDArray[np.float32] | None = None
    """Calibrated probability that the first class is right; None unless a metric has `confidence`."""


# -- protocols, which learners and representations implement ----------------------------------------------------------


class Learner(Protocol):
    """A learner: a scikit-learn classifier, with `fit(X, y)`, `predict(X)` and, once fitted, `classes_`.

    `fit` may have further keyword arguments: `taxonomy`, `after_pass` and `staged`. See `Need`, `AfterPass`, `Stages`.
    """

    def fit(self, X: Any, y: Any) -> Any: ...

    def predict(self, X: Any) -> Any: ...


class Transformer(Protocol):
    """A representation: a scikit-learn transformer, with `fit(X, y)` and `transform(X)`.

    With `feature_spans(text)`, an array of rows (column, start, stop), explanations can point at the text.
    """

    def fit(self, X: Any, y: Any) -> Any: ...

    def transform(self, X: Any) -> Any: ...


@runtime_checkable
class Ranks(Protocol):
    """`rank(X, k)` returns the positions in `classes_` of the k best classes of each row, best first.

    The result has k columns; -1 pads rows with fewer classes. Without `rank`, a trial sorts the scores that the learner
    returns from `decision_function` or `predict_proba`. A learner without these gets one rank per row, by `predict`.
    """

    def rank(self, X: Any, k: int) -> Any: ...


@runtime_checkable
class Scores(Protocol):
    """`scores(X, ranks)` returns the scores of the classes that `rank` returned, in the same shape.

    Higher scores are better, so no score in a row exceeds the one before it. The score of a padding -1 is 0.
    """

    def scores(self, X: Any, ranks: Any) -> Any: ...


class Explains(Protocol):
    """`contributions(X, ranks)` returns why classes scored what they did: a sparse matrix of parts, and biases.

    The matrix is rows * k x features. Its row `i * k + j` has what each feature of row i adds to the score of rank j,
    and `bias[i, j]` is the rest of that score. Both are 0 for a padding -1.
    """

    def contributions(self, X: Any, ranks: Any) -> tuple[Any, Any]: ...


@runtime_checkable
class HasIndexSize(Protocol):
    """`index_size_` is the number of stored weights that are not 0."""

    index_size_: int


@runtime_checkable
class HasIndexBytes(Protocol):
    """`index_bytes_` is the memory of the fitted index in bytes."""

    index_bytes_: int


@runtime_checkable
class TouchesEdges(Protocol):
    """`edges_touched(X, k)` returns the edges read to find the k best classes of the rows, per active feature.

    An edge is a stored weight of a feature. The active features of a row are its values that are not 0.
    """

    def edges_touched(self, X: Any, k: int = 1) -> float: ...


@runtime_checkable
class Stages(Protocol):
    """`stage(X, y)` returns the training rows in the input format of an external tool, such as the path of a file.

    A trial calls it before the clock starts, and passes the result to `fit` as `staged=`. Converting the rows then does
    not count as training time.
    """

    def stage(self, X: Any, y: Any) -> Any: ...


# -- hooks -----------------------------------------------------------------------------------------------------------

PROJECT = "harness"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Decorator that marks a function of a plugin as one of the hooks below."""


@hookspec
def harness_learners() -> Iterable[LearnerSpec]:
    """Return the learners that the plugin registers."""
    raise NotImplementedError


@hookspec
def harness_datasets() -> Iterable[DatasetSpec]:
    """Return the datasets that the plugin registers."""
    raise NotImplementedError


@hookspec
def harness_metrics() -> Iterable[MetricSpec]:
    """Return the metrics that the plugin registers."""
    raise NotImplementedError


@hookspec
def harness_experiments() -> Iterable[ExperimentSpec]:
    """Return the ready-made experiments that the plugin registers."""
    raise NotImplementedError


@hookspec
def harness_representations() -> Iterable[RepresentationSpec]:
    """Return the representations that the plugin registers."""
    raise NotImplementedError
