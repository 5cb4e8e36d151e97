"""The page file: one HTML file with everything inside, scripts allowed by hash, and no requests."""

import base64
import hashlib
import re
import subprocess
import sys

import pytest

from html_page import Page as ParsedPage
from internals import Page, expand_imports
from messages import assert_names
from page_file import content_of, scripts_of

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--[data]-->"


@pytest.fixture(scope="module")
def text(part_of, trials_of):
    part = part_of([*trials_of(HOSTILE, 0.9, 1.0), *trials_of("pa", 0.8, 1.0, dataset=HOSTILE)])
    return Page((part,), title=HOSTILE).render()


def test_the_content_of_the_page_can_be_read_back(text):
    content = content_of(text)
    (part,) = content["page"]["parts"]
    assert {line["title"] for line in part["lines"]} == {HOSTILE, "pa"}
    assert content["scales"]["bytes"][0] == [1e9, " GB"]
    assert set(content["charts"]) == {"pareto", "bars", "series", "ranks"}


def test_no_name_becomes_a_tag(text):
    assert len(scripts_of(text)) == 3
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert ParsedPage(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)).texts["h1"] == [HOSTILE]


def test_the_content_policy_allows_only_scripts_and_style_of_this_file(text):
    attributes = ParsedPage(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)).attributes
    (policy,) = [value for tag, name, value in attributes if (tag, name) == ("meta", "content") and "-src" in value]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    runs = [script for kind, script in scripts_of(text) if kind == "module"]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert rules["script-src"].split() == [hash_of(script) for script in runs]
    assert rules["style-src"].split() == [hash_of(style)]
    assert "unsafe" not in policy
    assert "http" not in policy


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_same_results_give_the_same_file(part_of, trials_of, text):
    part = part_of([*trials_of(HOSTILE, 0.9, 1.0), *trials_of("pa", 0.8, 1.0, dataset=HOSTILE)])
    assert Page((part,), title=HOSTILE).render() == text


def test_a_missing_extra_is_named():
    """Run in a separate process, because the packages are installed and imported here."""
    program = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from harness.errors import HarnessError\n"
        "from internals import Page\n"
        "try:\n    Page(()).render()\n"
        "except HarnessError as error:\n    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", expand_imports(program)], capture_output=True, text=True, check=True)
    assert_names(ended.stdout, "manyclass-harness[page]")
    assert "vl_convert" in ended.stdout
