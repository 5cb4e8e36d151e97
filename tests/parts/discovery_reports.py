"""A working plugin, and its discovery report."""

GOOD = """
from harness import LearnerSpec, hookimpl

@hookimpl
def harness_learners():
    return [LearnerSpec(name="{name}", load="somewhere:Thing", kind="flat", summary="a thing")]
"""
BUILT_IN = "manyclass-harness"


def report_of(catalog, plugin):
    (report,) = [report for report in catalog.plugins if report.origin.plugin == plugin]
    return report


def names(entries, distribution=None):
    return [entry.spec.name for entry in entries if distribution in (None, entry.origin.distribution)]
