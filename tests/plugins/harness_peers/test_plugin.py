"""What other tools bring is named without importing any of them."""

import subprocess
import sys

from harness.host import discover
from harness.signature import read_docstring, read_parameters
from harness_peers.plugin import harness_learners

TOOLS = ("liblinear", "omikuji", "pecos", "vowpalwabbit", "torch", "sklearn")


def test_nothing_of_another_tool_is_imported_in_the_host():
    code = "import sys; from harness.host import discover; discover(); print([t for t in %r if t in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code % (TOOLS,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parameters_and_words_are_told_by_the_source_alone():
    for spec in harness_learners():
        assert read_parameters(spec.load) is not None, spec.name
        told = read_docstring(spec.load)
        for name in read_parameters(spec.load):
            assert f"    {name} : " in f"    {told}" or f"\n{name} : " in told, f"{spec.name}: {name} is not explained"


def test_each_is_found_by_its_name():
    names = {entry.spec.name for entry in discover().learners}
    assert {spec.name for spec in harness_learners()} <= names
