"""The file: one HTML text that holds everything, allows its own scripts by their hashes, and loads nothing."""

import base64
import hashlib
import re
import subprocess
import sys

import pytest

from harness.page import Page
from html_page import Page as ParsedPage
from page_file import content_of, scripts_of

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--[data]-->"


@pytest.fixture(scope="module")
def text(part_of, trials_of):
    part = part_of([*trials_of(HOSTILE, 0.9, 1.0), *trials_of("pa", 0.8, 1.0, dataset=HOSTILE)])
    return Page((part,), title=HOSTILE).render()


def test_what_is_in_the_page_can_be_read_back(text):
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


def test_the_policy_allows_the_scripts_and_the_style_of_this_file_and_nothing_else(text):
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
    """In a process of its own: here the packages are at hand, and stay imported."""
    program = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from harness.errors import HarnessError\n"
        "from harness.page import Page\n"
        "try:\n    Page(()).render()\n"
        "except HarnessError as error:\n    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "manyclass-harness[page]"' in ended.stdout
    assert "vl_convert" in ended.stdout
