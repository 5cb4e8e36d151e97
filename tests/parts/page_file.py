"""Parser for a page's file."""

import base64
import gzip
import json
import re


def scripts_of(text):
    """Return type and content of each script."""
    return re.findall(r"<script type=\"([^\"]*)\"[^>]*>(.*?)</script>", text, re.DOTALL)


def content_of(text):
    """Return the embedded data."""
    (packed,) = [script for kind, script in scripts_of(text) if kind == "application/octet-stream"]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
