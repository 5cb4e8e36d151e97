"""What online learners share: training in passes or batches, ranking, growing, saving. A learner adds its update.

It stands beside the kernels for plugins to build on; the host itself never imports it.
"""

from harness.online import rules
from harness.online.classifier import OnlineClassifier

__all__ = ["OnlineClassifier", "rules"]
