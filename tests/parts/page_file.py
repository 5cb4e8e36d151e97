"""A page's file, taken apart again."""

import base64
import gzip
import json
import re


def scripts_of(text):
    """The type and the content of each script."""
    return re.findall(r"<script type=\"([^\"]*)\"[^>]*>(.*?)</script>", text, re.DOTALL)


def content_of(text):
    """The data inside."""
    (packed,) = [script for kind, script in scripts_of(text) if kind == "application/octet-stream"]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
