"""Density of code: comprehensions, ternaries, walruses and lambdas per 100 lines.

`python tests/parts/density.py harness/tables plugins` prints each file, the densest first, and the total.
"""

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

PROSE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
FOLDED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.NamedExpr, ast.Lambda)


@dataclass(frozen=True)
class Density:
    """Counts of one file, or of several."""

    lines: int
    folded: int

    @property
    def per_hundred(self):
        return 100 * self.folded / max(self.lines, 1)


def sources_below(*folders):
    """Return Python files without kernels, which consist of loops."""
    found = []
    for folder in map(Path, folders):
        files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
        found += [path for path in files if "kernels" not in path.parts]
    return found


def density_of(path):
    text = path.read_text()
    tree = ast.parse(text)
    folded = sum(isinstance(node, FOLDED) for node in ast.walk(tree))
    return Density(len(code_lines(text, tree)), folded)


def code_lines(text, tree):
    """Return the numbers of lines with code: no blank lines, comments, or string statements."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in PROSE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return lines


def total(densities):
    return Density(sum(one.lines for one in densities), sum(one.folded for one in densities))


if __name__ == "__main__":
    measured = {path: density_of(path) for path in sources_below(*sys.argv[1:])}
    for path, density in sorted(measured.items(), key=lambda item: -item[1].per_hundred):
        print(f"{density.per_hundred:6.1f}  {density.folded:4} in {density.lines:4}  {path}")
    all_edges = total(measured.values())
    print(f"{all_edges.per_hundred:6.1f}  {all_edges.folded:4} in {all_edges.lines:4}  in all")
