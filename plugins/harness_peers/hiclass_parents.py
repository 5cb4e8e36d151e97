"""HiClass: a classifier at each parent node of the class tree of the data.

Nothing is staged. Timed as training: computing the paths of the classes, and learning. Timed as prediction: `predict`,
and reading the class from the path.
"""

from __future__ import annotations

import pickle
from typing import Any, ClassVar, Self

import numpy as np
from hiclass import LocalClassifierPerParentNode
from networkx import DiGraph
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from harness import Taxonomy
from harness.sdk.threads import allowed_threads
from harness_peers.peer import SavedAsFiles, rows_of

TRUSTED = frozenset({"hiclass.ConstantClassifier.ConstantClassifier"})
"""Types in saved models that skops does not know; it knows the classifiers of scikit-learn."""


class PerParent(SavedAsFiles, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """HiClass's LocalClassifierPerParentNode: from the root down, one classifier chooses among the children of a node.

    It predicts a single class per row, since its probabilities depend on the other rows of the same call.

    When to use
    -----------
    A meaningful class tree, if mistakes should stay within a branch.

    References
    ----------
    Miranda, Koehnecke, Renard, HiClass: a Python library for local hierarchical classification compatible with
    scikit-learn, JMLR 24, 2023.

    Parameters
    ----------
    local_classifier : estimator, default=None
        Classifier of each node. None means scikit-learn's LogisticRegression.
    replace_classifiers : bool, default=True
        If True, a node with a single child has no classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of HiClass.
    index_bytes_ : int
        Bytes of the tree with its classifiers, as pickle writes them.

    Examples
    --------
    >>> import numpy as np
    >>> from harness import Taxonomy
    >>> from harness_peers.hiclass_parents import PerParent
    >>> X = np.eye(4)
    >>> y = np.array([0, 1, 2, 3])
    >>> taxonomy = Taxonomy(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([3, 4, 5, 6]))
    >>> PerParent().fit(X, y, taxonomy=taxonomy).predict(X)
    array([0, 1, 2, 3])
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_", "_leaves"})
    model_: Any
    classes_: NDArray[Any]
    _leaves: dict[str, int]

    def __init__(self, *, local_classifier: Any = None, replace_classifiers: bool = True) -> None:
        self.local_classifier = local_classifier
        self.replace_classifiers = replace_classifiers

    def fit(self, X: Any, y: Any, *, taxonomy: Taxonomy) -> Self:
        """Train the classifiers of all nodes with training rows below them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        taxonomy : Taxonomy
            Tree of the classes.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        self.classes_, position = np.unique(y, return_inverse=True)
        paths = paths_to(self.classes_, taxonomy)
        self.model_ = LocalClassifierPerParentNode(
            local_classifier=self.local_classifier,
            replace_classifiers=self.replace_classifiers,
            n_jobs=allowed_threads(),
        )
        self.model_.fit(rows_of(rows), paths[position])
        self._leaves = {str(path[path != ""][-1]): place for place, path in enumerate(paths)}
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        check_is_fitted(self)
        rows = rows_of(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))
        found = np.asarray(self.model_.predict(rows)).reshape(-1, self._depth)
        ends = [path[path != ""][-1] for path in found]
        return self.classes_[[self._leaves[end] for end in ends]]

    def _save_model(self, path: str) -> None:
        """Write the tree and its classifiers by skops: HiClass writes no files of its own."""
        tree = self.model_.hierarchy_
        place = {name: number for number, name in enumerate(tree.nodes)}
        found = {
            "names": [str(name) for name in place],
            "edges": [[place[parent], place[child]] for parent, child in tree.edges],
            "classifiers": {str(place[name]): one["classifier"] for name, one in tree.nodes.items() if one},
            "root": place[self.model_.root_],
            "separator": self.model_.separator_,
            "levels": self._depth,
            "dtype": self.model_.dtype_.str,
            "leaves": self._leaves,
        }
        _skops().dump(found, f"{path}.skops")

    def _load_model(self, path: str) -> None:
        skops, file = _skops(), f"{path}.skops"
        unknown = set(skops.get_untrusted_types(file=file)) - TRUSTED
        if unknown:
            raise ValueError(f"its classifiers have types that are not trusted: {', '.join(sorted(unknown))}")
        found = skops.load(file, trusted=sorted(TRUSTED))
        names, tree = found["names"], DiGraph()
        for number, name in enumerate(names):
            known = found["classifiers"].get(str(number))
            tree.add_node(name, **({} if known is None else {"classifier": known}))
        tree.add_edges_from((names[parent], names[child]) for parent, child in found["edges"])
        model = LocalClassifierPerParentNode(n_jobs=allowed_threads())
        model._create_logger()
        model.hierarchy_, model.root_, model.separator_ = tree, names[found["root"]], found["separator"]
        model.max_levels_, model.dtype_ = found["levels"], np.dtype(found["dtype"])
        self.model_, self._leaves = model, found["leaves"]

    @property
    def _depth(self) -> int:
        return int(self.model_.max_levels_)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the tree with its classifiers, as pickle writes them."""
        return len(pickle.dumps(self.model_.hierarchy_))


def _skops() -> Any:
    try:
        import skops.io  # noqa: PLC0415 (an extra, to save models)
    except ImportError as error:
        raise ValueError("skops is not installed: pip install 'manyclass-harness[skops]'") from error
    return skops.io


def paths_to(classes: NDArray[Any], taxonomy: Taxonomy) -> NDArray[Any]:
    """Return the path of each class: the names of the nodes from below the root, padded by "".

    A class at an inner node gets a leaf below the node, since a node with children is never predicted.
    """
    has_children = np.zeros(taxonomy.parent.size, dtype=bool)
    has_children[taxonomy.parent[taxonomy.parent >= 0]] = True
    paths = []
    for label in classes:
        node = int(taxonomy.class_node[label])
        path = [f"class {label}"] if has_children[node] else []
        while taxonomy.parent[node] >= 0:
            path.append(f"node {node}")
            node = int(taxonomy.parent[node])
        paths.append(path[::-1])
    depth = max(map(len, paths))
    return np.array([path + [""] * (depth - len(path)) for path in paths], dtype=object).astype(str)
