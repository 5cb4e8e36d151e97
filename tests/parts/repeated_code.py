"""Find code that is written twice: runs of six or more lines with the same shape and mostly the same names.

What is declared rather than done does not count: docstrings, imports, fields, headers of functions, `self.name = name`.
"""

import ast
import io
import keyword
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

FEWEST_LINES = 6
LEAST_SHARE = 0.75
"""Share of the names, numbers and texts that are the same in both places."""
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class CodeLine:
    """A line of a file: its shape, with a mark for each name, number and text, and these words."""

    path: object
    number: int
    shape: str
    words: tuple[str, ...]


def find_repeated(paths):
    """Return the pairs of runs of lines that say the same, each run with its file and numbers, the longest first."""
    files = [code_lines(path, path.read_text()) for path in paths]
    places = defaultdict(list)
    for file in files:
        for start in range(len(file) - FEWEST_LINES + 1):
            places[tuple(line.shape for line in file[start : start + FEWEST_LINES])].append((file, start))
    found, seen = [], set()
    for alike in places.values():
        for (one, i), (two, j) in combinations(alike, 2):
            if (id(one), i, id(two), j) not in seen and (one is not two or j - i >= FEWEST_LINES):
                pairs = extend(one, i, two, j)
                first, other = one.index(pairs[0][0]), two.index(pairs[0][1])
                seen.update((id(one), first + n, id(two), other + n) for n in range(len(pairs)))
                if share_of_words(pairs) >= LEAST_SHARE:
                    found.append(pairs)
    return [describe(pairs) for pairs in sorted(found, key=len, reverse=True)]


def extend(one, i, two, j):
    """Return the pairs of lines of the same shape around these places; runs in one file do not overlap."""
    pairs = []
    while i and j and one[i - 1].shape == two[j - 1].shape:
        i, j = i - 1, j - 1
    while i < len(one) and j < len(two) and one[i].shape == two[j].shape:
        pairs.append((one[i], two[j]))
        i, j = i + 1, j + 1
    most = next((n for n, (line, _) in enumerate(pairs) if line is pairs[0][1]), len(pairs))
    return pairs[:most]


def share_of_words(pairs):
    words = [(a, b) for one, two in pairs for a, b in zip(one.words, two.words, strict=True)]
    return sum(a == b for a, b in words) / max(1, len(words))


def describe(pairs):
    (first, other), (last, end) = pairs[0], pairs[-1]
    return f"{first.path}:{first.number}-{last.number} ~ {other.path}:{other.number}-{end.number}"


def code_lines(path, text):
    """Return the lines of a file that do something."""
    declared = declarations(ast.parse(text))
    tokens = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in declared:
            tokens[token.start[0]].append(token)
    lines = []
    for number in sorted(tokens):
        words = tuple(token.string for token in tokens[number] if is_word(token))
        shape = " ".join("_" if is_word(token) else token.string for token in tokens[number])
        if any(map(str.isalnum, shape.replace("_", "a"))):
            lines.append(CodeLine(path, number, shape, words))
    return lines


def is_word(token):
    if token.type == tokenize.NAME:
        return not keyword.iskeyword(token.string)
    return token.type in (tokenize.NUMBER, tokenize.STRING)


def declarations(tree):
    """Return the numbers of the lines of imports, texts that are not values, headers of functions, and `self.a = a`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                found.update(range(node.lineno, node.end_lineno + 1))
            case ast.FunctionDef():
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found.update(range(first, node.body[0].lineno))
            case ast.AnnAssign(value=None):
                found.update(range(node.lineno, node.end_lineno + 1))
            case ast.Assign([ast.Attribute(attr=name)], ast.Name(value)) if name == value:
                found.update(range(node.lineno, node.end_lineno + 1))
    return found
