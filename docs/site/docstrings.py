"""Docstrings for mkdocstrings: a parameter written as `name : meaning`, on one line, has no type.

Types are in the signature. A parameter with an indented description below it is numpydoc, and is left unchanged.
"""

import re

import griffe

ONE_LINE_PARAMETER = re.compile(r"^(\w+) : (.+)$(?!\n[ \t]+\S)", re.MULTILINE)


class PlainParameters(griffe.Extension):
    """Move the meaning of a one-line parameter below its name, where numpydoc expects it."""

    def on_object(self, *, obj, **kwargs):
        docstring = obj.docstring
        if docstring is None or "\nParameters\n-" not in docstring.value:
            return
        before, heading, rest = docstring.value.partition("\nParameters\n-")
        docstring.value = before + heading + ONE_LINE_PARAMETER.sub(r"\1\n    \2", rest)
