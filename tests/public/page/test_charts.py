"""Chart templates: committed as altair writes them, for the Vega-Lite version in the page."""

import json

import altair
import vl_convert

from chart_templates import TEMPLATES, as_text
from internals import VEGA_LITE


def test_the_committed_templates_equal_those_written_by_altair():
    assert TEMPLATES.read_text(encoding="utf-8") == as_text(), "python tests/parts/chart_templates.py"


def test_the_page_contains_the_vega_lite_version_of_the_templates():
    for template in json.loads(TEMPLATES.read_text(encoding="utf-8")).values():
        assert f"/vega-lite/v{VEGA_LITE}." in template["$schema"]
    assert altair.SCHEMA_VERSION.startswith(f"v{VEGA_LITE}.")
    assert VEGA_LITE in vl_convert.get_vegalite_versions()


def test_every_template_compiles_to_vega():
    for template in json.loads(TEMPLATES.read_text(encoding="utf-8")).values():
        assert vl_convert.vegalite_to_vega(template, vl_version=VEGA_LITE)["marks"]
