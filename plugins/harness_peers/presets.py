"""Former module of the scikit-learn presets, under which older saved models look for their classes."""

from __future__ import annotations

from harness.sdk import lazy_names

_CLASSES = ("KNN", "Centroid", "ComplementNB", "Dummy", "LinearSVC", "Logistic", "SGDHinge", "SGDLog")

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_CLASSES, "harness_sklearn.presets"))
