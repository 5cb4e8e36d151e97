"""Learners from other tools are registered without importing those tools."""

import subprocess
import sys

from harness_peers.plugin import harness_learners
from internals import discover, expand_imports, read_docstring, read_parameters

TOOLS = ("liblinear", "omikuji", "pecos", "vowpalwabbit", "torch", "sklearn")


def test_no_other_tool_is_imported_in_the_host():
    code = expand_imports(
        "import sys\nfrom internals import discover\ndiscover(); print([t for t in %r if t in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code % (TOOLS,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parameters_and_descriptions_are_read_from_source_without_import():
    for spec in harness_learners():
        assert read_parameters(spec.load) is not None, spec.name
        docstring = read_docstring(spec.load)
        for name in read_parameters(spec.load):
            assert f"    {name} : " in f"    {docstring}" or f"\n{name} : " in docstring, (
                f"{spec.name}: {name} is not explained"
            )


def test_each_learner_is_found_by_name():
    names = {entry.spec.name for entry in discover().learners}
    assert {spec.name for spec in harness_learners()} <= names
