"""List the files whose code changed since a commit, ignoring docstrings, comments and string literals.

`python benchmarks/words_only.py BASE [PATH ...]` compares the working tree with the commit BASE. A commit that changes
words only prints no file and exits with 0. Names of functions, arguments and variables count as code.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys

TEXT = "text"


class _WithoutWords(ast.NodeTransformer):
    """Removes docstrings and replaces every string literal by the same text."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(TEXT) if isinstance(node.value, str | bytes) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Keep the expressions of an f-string, in any order of words around them."""
        self.generic_visit(node)
        return ast.JoinedStr([part for part in node.values if isinstance(part, ast.FormattedValue)])

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop docstrings: expressions that are a single string."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        self.generic_visit(node)
        return node


def code_of(source: str) -> str:
    """Return the code of a module without its words, as a text to compare.

    Examples
    --------
    >>> code_of('def f():\\n    "Do it."\\n    raise ValueError("no")') == code_of('def f(): raise ValueError("never")')
    True
    >>> code_of("f(1)") == code_of("f(2)")
    False
    """
    return ast.dump(_WithoutWords().visit(ast.parse(source)))


def changed_files(base: str, paths: list[str]) -> list[str]:
    """Return the Python files whose code differs from that of a commit; new and deleted files included."""
    names = _git("diff", "--name-only", "--no-renames", base, "--", *(paths or ["."])).splitlines()
    changed = []
    for name in names:
        if name.endswith(".py") and _code_at(base, name) != _code_here(name):
            changed.append(name)
    return changed


def _code_at(base: str, name: str) -> str | None:
    found = subprocess.run(["git", "show", f"{base}:{name}"], capture_output=True, text=True, check=False)
    return code_of(found.stdout) if found.returncode == 0 else None


def _code_here(name: str) -> str | None:
    try:
        with open(f"{_git('rev-parse', '--show-toplevel').strip()}/{name}", encoding="utf-8") as file:
            return code_of(file.read())
    except FileNotFoundError:
        return None


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("paths", nargs="*")
    given = parser.parse_args()
    found = changed_files(given.base, given.paths)
    for file in found:
        print(file)
    sys.exit(1 if found else 0)
