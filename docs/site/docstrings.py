"""Docstrings of this project, as the reader of numpy's style expects them: `name : what it is` has no type in it.

Types stand in the signature, and nowhere else.
"""

import re

import griffe

PARAMETER = re.compile(r"^(\w+) : (.+)$", re.MULTILINE)


class PlainParameters(griffe.Extension):
    """Puts what is said of a parameter below its name, where numpy's style has it."""

    def on_object(self, *, obj, **kwargs):
        docstring = obj.docstring
        if docstring is None or "\nParameters\n-" not in docstring.value:
            return
        before, heading, rest = docstring.value.partition("\nParameters\n-")
        docstring.value = before + heading + PARAMETER.sub(r"\1\n    \2", rest)
